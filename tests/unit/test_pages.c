// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages given back otherwise than they were taken, against a model that knows
 * of each page frame which block it belongs to, and nothing of buddies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/observer.h"
#include "core/session.h"
#include "source/pages.h"

#define PAGE 4096u

static struct kmt_event event(enum kmt_op op, uint64_t pfn, int order, uint64_t site)
{
	struct kmt_event ev = {
		.op = op, .type = KMT_TYPE_PAGES, .order = order, .migratetype = -1, .node = -1,
		.real_node = -1, .addr = pfn * PAGE, .call_site = site,
	};

	if (op == KMT_OP_ALLOC)
		ev.bytes_req = ev.bytes_alloc = (uint64_t)PAGE << order;
	return ev;
}

static void feed(struct kmt_session *s, enum kmt_op op, uint64_t pfn, int order, uint64_t site)
{
	struct kmt_sink sink = kmt_session_sink(s);
	struct kmt_event ev = event(op, pfn, order, site);

	assert_int_equal(sink.event(sink.ctx, &ev), 0);
}

static const struct kmt_counts *counts(const struct kmt_session *s)
{
	return &kmt_session_site(s, 0)->counts;
}

/* Order 3 at frame 8, freed page by page: one block, freed once, bytes as they go. */
static void test_page_by_page(void **state)
{
	struct kmt_session *s = NULL;

	assert_int_equal(kmt_session_new(NULL, &s), 0);
	feed(s, KMT_OP_ALLOC, 8, 3, 1);
	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(kmt_counts_live(counts(s)), 1);
		assert_int_equal(kmt_counts_live_alloc(counts(s)), (8 - i) * PAGE);
		feed(s, KMT_OP_FREE, 8 + i * 5 % 8, 0, 2);	/* 8 13 10 15 12 9 14 11 */
	}
	assert_int_equal(counts(s)->frees, 1);
	assert_int_equal(kmt_counts_live_alloc(counts(s)), 0);
	assert_int_equal(kmt_counts_live_req(counts(s)), 0);
	kmt_session_free(s);
}

static int count_object(void *ctx, const struct kmt_object *o)
{
	uint64_t *bytes = ctx;

	assert_true(o->bytes_req == o->bytes_alloc);
	*bytes += o->bytes_alloc;
	return 0;
}

/* alloc_pages_exact() of 5 pages: order 3, of which frames 13..15 go back at once. */
static void test_tail(void **state)
{
	struct kmt_session *s = NULL;
	uint64_t bytes = 0;

	assert_int_equal(kmt_session_new(NULL, &s), 0);
	feed(s, KMT_OP_ALLOC, 8, 3, 1);
	for (uint64_t pfn = 13; pfn < 16; pfn++)
		feed(s, KMT_OP_FREE, pfn, 0, 2);
	assert_int_equal(kmt_counts_live_alloc(counts(s)), 5 * PAGE);
	assert_int_equal(kmt_session_each_object(s, count_object, &bytes), 0);
	assert_int_equal(bytes, 5 * PAGE);
	/* frame 12 is handed out again although nobody saw it freed */
	feed(s, KMT_OP_ALLOC, 12, 0, 3);
	assert_int_equal(kmt_counts_live_alloc(counts(s)), 4 * PAGE);
	assert_int_equal(counts(s)->untraced_frees, 0);
	/* and the rest in one block: that was the last part of it */
	feed(s, KMT_OP_ALLOC, 8, 2, 3);
	assert_int_equal(counts(s)->untraced_frees, 1);
	assert_int_equal(kmt_counts_live(counts(s)), 0);
	kmt_session_free(s);
}

/* Two blocks that are freed as one (their merge was not seen): both end. */
static void test_merged(void **state)
{
	struct kmt_session *s = NULL;
	struct kmt_quality q;

	assert_int_equal(kmt_session_new(NULL, &s), 0);
	feed(s, KMT_OP_ALLOC, 16, 1, 1);
	feed(s, KMT_OP_ALLOC, 18, 0, 1);
	feed(s, KMT_OP_FREE, 16, 2, 2);
	feed(s, KMT_OP_FREE, 16, 2, 2);	/* nothing there any more */
	assert_int_equal(kmt_session_site(s, 0)->counts.frees, 1);
	assert_int_equal(kmt_session_site(s, 1)->counts.frees, 1);
	kmt_session_quality(s, &q);
	assert_int_equal(q.frees_before_start, 1);
	kmt_session_free(s);
}

/* ---- random streams against frames ---- */

#define FRAMES	256
#define BLOCKS	20000

struct model {
	int block[FRAMES];		/* number of the block + 1, 0 = free */
	unsigned left[BLOCKS];		/* pages of it that are live */
	uint64_t site[BLOCKS];
	int n;
	uint64_t frees[3], untraced[3], allocs[3], unknown;
};

static uint64_t rnd(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* 1: some page of the range was live. */
static int model_end(struct model *m, unsigned pfn, unsigned pages, uint64_t *ended)
{
	int found = 0;

	for (unsigned i = pfn; i < pfn + pages; i++) {
		int b = m->block[i] - 1;

		if (b < 0)
			continue;
		found = 1;
		m->block[i] = 0;
		if (!--m->left[b])
			ended[m->site[b]]++;
	}
	return found;
}

static void model_alloc(struct model *m, unsigned pfn, unsigned pages, uint64_t site)
{
	model_end(m, pfn, pages, m->untraced);
	for (unsigned i = pfn; i < pfn + pages; i++)
		m->block[i] = m->n + 1;
	m->left[m->n] = pages;
	m->site[m->n++] = site;
	m->allocs[site]++;
}

static void compare(const struct kmt_session *s, const struct model *m)
{
	struct kmt_counts sum[3] = { 0 };
	uint64_t live[3] = { 0 }, bytes = 0, all = 0;

	for (size_t i = 0; i < kmt_session_n_sites(s); i++)
		kmt_counts_add(&sum[kmt_session_site(s, i)->key.call_site - 1],
			       &kmt_session_site(s, i)->counts);
	for (int i = 0; i < FRAMES; i++)
		if (m->block[i]) {
			live[m->site[m->block[i] - 1]] += PAGE;
			all += PAGE;
		}
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sum[i].allocs, m->allocs[i]);
		assert_int_equal(sum[i].frees, m->frees[i]);
		assert_int_equal(sum[i].untraced_frees, m->untraced[i]);
		assert_int_equal(kmt_counts_live_alloc(&sum[i]), live[i]);
		assert_int_equal(kmt_counts_live_req(&sum[i]), live[i]);
	}
	assert_int_equal(kmt_session_each_object(s, count_object, &bytes), 0);
	assert_int_equal(bytes, all);
}

static void run(uint64_t seed, int lost_percent)
{
	struct kmt_session *s = NULL;
	struct kmt_quality q;
	static struct model m;

	memset(&m, 0, sizeof(m));
	assert_int_equal(kmt_session_new(NULL, &s), 0);
	for (int step = 0; step < 10000; step++) {
		int order = rnd(&seed) % 5;
		unsigned pages = 1u << order, pfn = rnd(&seed) % (FRAMES / pages) * pages;
		bool busy = false;

		for (unsigned i = pfn; i < pfn + pages; i++)
			busy |= m.block[i];
		/* mostly as a kernel does: allocate what is free, free what is not */
		if (busy == (rnd(&seed) % 100 < (unsigned)lost_percent)) {
			model_alloc(&m, pfn, pages, step % 3);
			feed(s, KMT_OP_ALLOC, pfn + FRAMES, order, 1 + step % 3);
		} else {
			m.unknown += !model_end(&m, pfn, pages, m.frees);
			feed(s, KMT_OP_FREE, pfn + FRAMES, order, 9);
		}
		if (step % 64 == 0)
			compare(s, &m);
	}
	compare(s, &m);
	kmt_session_quality(s, &q);
	assert_int_equal(q.frees_before_start, m.unknown);
	assert_int_equal(q.lost[KMT_LOSS_OBJECTS], 0);
	kmt_session_free(s);
}

/*
 * With frees of larger ranges than blocks a range may hold parts of blocks that
 * reach out of it; buddies never do, so model and session must agree on all.
 */
static void test_random(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		run(seed * 0x9e3779b97f4a7c15u, seed % 2 ? 0 : 10);
}

/* A full table loses parts, and says so; nothing else goes wrong. */
static void test_full(void **state)
{
	const struct kmt_session_opts o = { .max_objects = 3 };
	struct kmt_session *s = NULL;
	struct kmt_quality q;

	assert_int_equal(kmt_session_new(&o, &s), 0);
	feed(s, KMT_OP_ALLOC, 8, 3, 1);
	feed(s, KMT_OP_FREE, 8, 0, 1);	/* parts of 1, 2, 4 and the block's own entry: one too many */
	assert_int_equal(kmt_counts_live_alloc(counts(s)), 6 * PAGE);
	kmt_session_quality(s, &q);
	assert_int_equal(q.lost[KMT_LOSS_OBJECTS], 1);
	kmt_session_free(s);
}

/* ---- what sources leave out ---- */

static bool pass(struct kmt_pages *p, enum kmt_op op, uint64_t pfn, int order, uint64_t gfp)
{
	struct kmt_event ev = event(op, pfn, order, 1);

	ev.gfp = gfp;
	return kmt_pages_pass(p, &ev);
}

static void test_user_pages(void **state)
{
	struct kmt_pages *p = NULL;

	assert_int_equal(kmt_pages_new(false, &p), 0);
	assert_true(pass(p, KMT_OP_ALLOC, 8, 2, 0xcc0));
	assert_false(pass(p, KMT_OP_ALLOC, 12, 0, 0x100cca));	/* GFP_HIGHUSER_MOVABLE */
	assert_false(pass(p, KMT_OP_FREE, 12, 0, 0));
	assert_true(pass(p, KMT_OP_FREE, 10, 0, 0));	/* a part of the first */
	assert_false(pass(p, KMT_OP_FREE, 10, 0, 0));
	assert_true(pass(p, KMT_OP_FREE, 8, 1, 0));
	/* frame 11 was freed without an event and is a process's now */
	assert_false(pass(p, KMT_OP_ALLOC, 11, 0, 0x100cca));
	assert_false(pass(p, KMT_OP_FREE, 11, 0, 0));
	kmt_pages_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_by_page),
		cmocka_unit_test(test_tail),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_user_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
