// SPDX-License-Identifier: GPL-2.0-only
/* Ages of live objects against a model that sorts them. */
#include "unit/world.h"

#define MOST 300

static int compare(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

static void ages_are(const struct world *w, const char *site, uint64_t *ages, size_t n)
{
	size_t row = row_of(w, "site", site);

	qsort(ages, n, sizeof(*ages), compare);
	is_int(w, row, "live_objects", n);
	is_int(w, row, "age_min_ns", (int64_t)ages[0]);
	is_int(w, row, "age_p50_ns", (int64_t)ages[(n - 1) / 2]);
	is_int(w, row, "age_max_ns", (int64_t)ages[n - 1]);
}

/* How the ages follow each other: what sorting by exchange finds easy, and what it does not. */
enum { RANDOM, RISING, FALLING, EQUAL, TWO_VALUES, ORGAN_PIPE, N_KINDS };

static uint64_t age_of(int kind, size_t i, size_t n)
{
	switch (kind) {
	case RISING: return 1 + i;
	case FALLING: return 1 + n - i;
	case EQUAL: return 77;
	case TWO_VALUES: return 5 + 3 * (i % 2);
	case ORGAN_PIPE: return 1 + (i < n / 2 ? i : n - i);
	default: return 1 + (uint64_t)random() % 1000;
	}
}

/* Two sites, whose objects come in turns, so that they have to be sorted out. */
static void one(int kind, size_t n)
{
	static uint64_t a[MOST], b[MOST];
	const uint64_t now = 1000000;
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (size_t i = 0; i < n; i++) {
		a[i] = age_of(kind, i, n);
		b[i] = 2000 + age_of(kind, n - i, n);
		alloc(&w, LOAD_MSG, "kmalloc-64", 0x100000 + i * 64, 64, 64, now - a[i]);
		alloc(&w, MAS_ALLOC, "maple_node", 0x900000 + i * 256, 256, 256, now - b[i]);
	}
	release(&w, 0x10, 0, now);	/* no object: it only says how late it is */
	run(&w, "site");
	ages_are(&w, "load_msg+0x10", a, n);
	ages_are(&w, "mas_alloc+0x30", b, n);
	close_world(&w);
}

static void test_ages(void **state)
{
	srandom(4711);
	for (int kind = 0; kind < N_KINDS; kind++) {
		for (size_t n = 1; n <= 12; n++)
			one(kind, n);
		one(kind, 100);
		one(kind, MOST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ages),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
