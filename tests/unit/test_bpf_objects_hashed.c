// SPDX-License-Identifier: GPL-2.0-only
/* The live-object table on a hash map (KMT_HASHED), against a plain array. */
#define KMT_HASHED
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/snapshot.h"
#include "unit/bpf_shim.h"

enum { OBJECTS = 3000, ROOM = 1000, STEPS = 300000 };

struct known {
	bool live;
	uint64_t what, born;
};

static void tables_new(struct kmt_bpf *ret)
{
	struct kmt_bpf_machine m = {
		.ram_bytes = 8ull << 30, .possible_cpus = 2, .online_cpus = 2, .page_size = 4096,
		.hashed = true,
	};
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .sites = 1024, .objects = ROOM };
	struct kmt_bpf_plan p;

	assert_int_equal(kmt_bpf_make_plan(&o, &m, &p), 0);
	assert_int_equal(p.hashed_objects, ROOM);
	assert_int_equal(shim_tables(&p, ret), 0);
}

static uint32_t rnd(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static uint64_t addr_of(uint32_t i)
{
	return 0xffff888012340000 + i * 64ull;
}

struct reader {
	const struct known *known;
	size_t n;
};

static int on_object(void *ctx, const struct kmt_snap_object *o)
{
	struct reader *r = ctx;
	const struct known *k = &r->known[(o->addr - addr_of(0)) / 64];

	assert_true(k->live);
	assert_int_equal(o->site, k->what >> KMT_WHAT_SITE_SHIFT & KMT_WHAT_SITE_MASK);
	assert_int_equal(o->cpu, k->what >> KMT_WHAT_CPU_SHIFT & KMT_WHAT_CPU_MASK);
	assert_int_equal(o->birth_ns, k->born << KMT_TIME_UNIT_SHIFT);
	r->n++;
	return 0;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	return snap->each_object(snap->objects_ctx, on_object, ctx);
}

/* A third of the objects fit, so all three answers come; what user space reads is what is known. */
static void test_against_model(void **state)
{
	struct known *known = calloc(OBJECTS, sizeof(*known));
	struct reader r = { .known = known };
	struct kmt_sink sink = { .snapshot = on_snapshot, .ctx = &r };
	size_t live = 0, answers[3] = { 0 };
	uint32_t seed = 11;
	struct kmt_bpf b;

	tables_new(&b);
	for (size_t i = 0; i < STEPS; i++) {
		uint32_t at = rnd(&seed) % OBJECTS;
		__u64 now = (uint64_t)rnd(&seed) << 8 | rnd(&seed) % 256, old = 0, born = 0;
		__u64 what = kmt_object_what(rnd(&seed) % 2, rnd(&seed) % 1024, rnd(&seed) % 64,
					     rnd(&seed) % 4096, now);
		struct known *k = &known[at];

		if (rnd(&seed) % 16 < (i * 8 / STEPS % 2 ? 5 : 11)) {
			int res = kmt_object_insert(kmt_base(), addr_of(at), what, now, &old);

			answers[res]++;
			assert_int_equal(res, k->live ? KMT_REPLACED :
					      live < ROOM ? KMT_INSERTED : KMT_NO_ROOM);
			if (res == KMT_REPLACED)
				assert_int_equal(old, k->what);
			live += res == KMT_INSERTED;
			if (res != KMT_NO_ROOM)
				*k = (struct known) { .live = true, .what = what, .born = now };
			continue;
		}
		assert_int_equal(kmt_object_remove(kmt_base(), addr_of(at), &what, &born), k->live);
		if (k->live) {
			assert_int_equal(what, k->what);
			assert_int_equal(born, k->born);
			live--;
		}
		k->live = false;
	}
	assert_true(answers[0] > 1000 && answers[1] > 1000 && answers[2] > 1000);
	assert_int_equal(kmt_bpf_snapshot(&b, &sink), 0);
	assert_int_equal(r.n, live);
	free(known);
	shim_done();
}

/* ---- claims ---- */

/* A claim on which somebody else is at work is told by what he will write, or as taken. */
static void test_claim_of_another(void **state)
{
	uint32_t id = KMT_CLAIM_SITE | 5;
	uint64_t slot = 0, theirs = 77;
	struct kmt_bpf b;

	tables_new(&b);
	assert_int_equal(kmt_claim((__u64 *)&slot, 42, id), 0);
	assert_int_equal(slot, 42);
	assert_int_equal(kmt_claim((__u64 *)&slot, 43, id), 42);
	slot = 0;
	assert_int_equal(bpf_map_update_elem(&kmt_claims, &id, &theirs, BPF_NOEXIST), 0);
	assert_int_equal(kmt_claim((__u64 *)&slot, 43, id), 77);
	slot = 78;	/* written meanwhile */
	assert_int_equal(kmt_claim((__u64 *)&slot, 43, id), 78);
	assert_int_equal(bpf_map_delete_elem(&kmt_claims, &id), 0);
	slot = 0;
	/* as many claims as fit are under way: no row is given out */
	for (id = 100; id < 108; id++)
		assert_int_equal(bpf_map_update_elem(&kmt_claims, &id, &theirs, BPF_NOEXIST), 0);
	assert_int_equal(kmt_claim((__u64 *)&slot, 43, KMT_CLAIM_SITE | 5), ~43ull);
	assert_int_equal(slot, 0);
	shim_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_claim_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
