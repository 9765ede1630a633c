// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "core/observer.h"

#include "unit/model.h"
#include "unit/stream.h"

static struct kmt_session *new_session(const struct kmt_session_opts *opts)
{
	struct kmt_session *s = NULL;

	assert_int_equal(kmt_session_new(opts, &s), 0);
	return s;
}

static void feed(struct kmt_session *s, const struct kmt_event *ev)
{
	struct kmt_sink sink = kmt_session_sink(s);

	assert_int_equal(sink.event(sink.ctx, ev), 0);
}


static struct kmt_event alloc_at(uint64_t addr, uint64_t req, uint64_t given)
{
	return (struct kmt_event){ .op = KMT_OP_ALLOC, .type = KMT_TYPE_KMALLOC, .addr = addr,
				   .call_site = 0xffffffff81000010, .bytes_req = req,
				   .bytes_alloc = given, .node = -1, .real_node = -1 };
}

static struct kmt_event free_at(uint64_t addr)
{
	return (struct kmt_event){ .op = KMT_OP_FREE, .type = KMT_TYPE_KMALLOC, .addr = addr,
				   .call_site = 0xffffffff81000020, .node = -1, .real_node = -1 };
}

/* ---- known answers --------------------------------------------------------- */

/* 1000 messages of 1048 bytes in a 2 KiB cache, then all freed. */
static void test_messages(void **state)
{
	struct kmt_session *s = new_session(NULL);
	struct kmt_counts c;

	for (int i = 0; i < 1000; i++) {
		struct kmt_event ev = alloc_at(ADDR + i * 2048, 1048, 2048);

		feed(s, &ev);
	}
	assert_int_equal(kmt_session_n_sites(s), 1);
	kmt_session_total(s, &c);
	assert_int_equal(c.allocs, 1000);
	assert_int_equal(kmt_counts_live(&c), 1000);
	assert_int_equal(kmt_counts_live_req(&c), 1048000);
	assert_int_equal(kmt_counts_live_alloc(&c), 2048000);
	for (int i = 0; i < 1000; i++) {
		struct kmt_event ev = free_at(ADDR + i * 2048);

		ev.cpu = i % 2;
		feed(s, &ev);
	}
	kmt_session_total(s, &c);
	assert_int_equal(c.frees, 1000);
	assert_int_equal(c.cross_cpu_frees, 500);
	assert_int_equal(c.temporary, 0);	/* no times, no lifetimes */
	assert_int_equal(kmt_counts_live(&c), 0);
	assert_int_equal(kmt_counts_live_alloc(&c), 0);
	assert_int_equal(c.peak_bytes, 2048000);
	assert_int_equal(kmt_session_peak(s), 2048000);
	assert_int_equal(kmt_session_n_free_sites(s), 1);
	assert_int_equal(kmt_session_free_site(s, 0)->frees, 1000);
	kmt_session_free(s);
}

static void test_null_failure_unknown(void **state)
{
	struct kmt_session *s = new_session(NULL);
	struct kmt_event fail = alloc_at(0, 100, 128), null = free_at(0), zero = free_at(16);
	struct kmt_event unknown = free_at(ADDR), empty = alloc_at(16, 0, 0);
	struct kmt_quality q;

	feed(s, &fail);
	feed(s, &null);
	feed(s, &zero);
	feed(s, &empty);
	feed(s, &unknown);
	kmt_session_quality(s, &q);
	assert_int_equal(q.events, 5);
	assert_int_equal(q.failed_allocations, 1);
	assert_int_equal(q.null_frees, 3);
	assert_int_equal(q.frees_before_start, 1);
	assert_int_equal(kmt_session_n_sites(s), 1);
	assert_int_equal(kmt_session_site(s, 0)->counts.failures, 1);
	assert_int_equal(kmt_session_site(s, 0)->counts.allocs, 0);
	assert_int_equal(kmt_session_site(s, 0)->counts.bytes_alloc, 0);
	kmt_session_free(s);
}

/* An address handed out again closes the old object against the old object's site. */
static void test_untraced_free(void **state)
{
	struct kmt_session *s = new_session(NULL);
	struct kmt_event first = alloc_at(ADDR, 200, 256), second = alloc_at(ADDR, 50, 256);
	const struct kmt_counts *a, *b;
	struct kmt_quality q;

	second.call_site = 0xffffffff81000099;
	feed(s, &first);
	feed(s, &second);
	a = &kmt_session_site(s, 0)->counts;
	b = &kmt_session_site(s, 1)->counts;
	assert_int_equal(a->untraced_frees, 1);
	assert_int_equal(a->bytes_req_freed, 200);
	assert_int_equal(kmt_counts_live(a), 0);
	assert_int_equal(kmt_counts_live_alloc(a), 0);
	assert_int_equal(b->untraced_frees, 0);
	assert_int_equal(kmt_counts_live(b), 1);
	assert_int_equal(kmt_counts_live_req(b), 50);
	assert_int_equal(kmt_session_peak(s), 256);	/* never two at a time */
	kmt_session_quality(s, &q);
	assert_int_equal(q.untraced_frees, 1);
	kmt_session_free(s);
}

static void test_kfree_of_cache_object(void **state)
{
	struct kmt_session *s = new_session(NULL);
	struct kmt_event ev = alloc_at(ADDR, 256, 256), fr = free_at(ADDR);

	ev.type = KMT_TYPE_CACHE;
	ev.cache = "skbuff_small_head";
	feed(s, &ev);
	feed(s, &fr);
	assert_int_equal(kmt_session_site(s, 0)->counts.frees, 1);
	assert_string_equal(kmt_session_site(s, 0)->key.cache, "skbuff_small_head");
	assert_int_equal(kmt_session_site(s, 0)->key.object_size, 256);
	kmt_session_free(s);
}

/* Lifetimes: 2047 ns, 2048 ns, 1 ms - 1, 1 ms, an hour, and a clock that steps back. */
static void test_lifetimes(void **state)
{
	static const struct { uint64_t ns; int bucket; bool temporary; } life[] = {
		{ 0, 0, true }, { 2047, 0, true }, { 2048, 1, true },
		{ 999999, 9, true },		/* 976 units: 512..1023 */
		{ 1000000, 9, false },
		{ UINT64_C(3600000000000), 31, false },	/* 3.5e9 units: from 2^31 on */
		{ UINT64_C(1) << 40, 30, false },	/* 2^30 units */
		{ UINT64_C(1) << 41, 31, false },
		{ UINT64_C(1) << 63, 31, false },
		{ -UINT64_C(500), 0, true },	/* freed 500 ns before it was allocated */
	};
	const int n = sizeof(life) / sizeof(life[0]);

	for (int i = 0; i < n; i++) {
		struct kmt_session *s = new_session(NULL);
		struct kmt_event ev = alloc_at(ADDR, 8, 8), fr = free_at(ADDR);

		ev.has_time = fr.has_time = true;
		ev.ts_ns = 1000000;
		fr.ts_ns = ev.ts_ns + life[i].ns;
		feed(s, &ev);
		feed(s, &fr);
		for (int b = 0; b < KMT_LIFETIMES; b++)
			assert_int_equal(kmt_session_site(s, 0)->lifetimes[b], b == life[i].bucket);
		assert_int_equal(kmt_session_site(s, 0)->counts.temporary, life[i].temporary);
		kmt_session_free(s);
	}
}

/* Sizes at and beyond 2^32 and 2^63: no wrap, nothing negative, free gives all back. */
static void test_borders(void **state)
{
	static const uint64_t size[] = { UINT32_MAX, UINT64_C(1) << 32, INT64_MAX,
					 UINT64_C(1) << 63, UINT64_MAX };
	struct kmt_session *s;
	struct kmt_counts c;

	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		struct kmt_event ev = alloc_at(ADDR, size[i], size[i]), fr = free_at(ADDR);

		s = new_session(NULL);
		feed(s, &ev);
		kmt_session_total(s, &c);
		assert_true(kmt_counts_live_alloc(&c) == size[i]);
		assert_true(kmt_counts_live_req(&c) == size[i]);
		feed(s, &fr);
		kmt_session_total(s, &c);
		assert_true(kmt_counts_live_alloc(&c) == 0);
		assert_true(kmt_session_peak(s) == size[i]);
		kmt_session_free(s);
	}
	s = new_session(NULL);
	for (int i = 0; i < 4; i++) {
		struct kmt_event ev = alloc_at(ADDR + i * 8, UINT64_C(3) << 62, UINT64_C(3) << 62);

		feed(s, &ev);
	}
	kmt_session_total(s, &c);
	assert_true(c.bytes_alloc == UINT64_MAX);
	assert_true(kmt_session_peak(s) == UINT64_MAX);
	kmt_session_free(s);
}

static void test_counts(void **state)
{
	struct kmt_counts a = { .allocs = 5, .frees = 7, .bytes_req = 10, .bytes_req_freed = 11,
				.bytes_alloc = UINT64_MAX, .peak_bytes = 9 };
	struct kmt_counts since = { .allocs = 2, .frees = 9, .bytes_alloc = 1, .peak_bytes = 4 };
	struct kmt_counts sum = a;

	assert_int_equal(kmt_counts_live(&a), 0);
	assert_int_equal(kmt_counts_live_req(&a), 0);
	kmt_counts_add(&sum, &since);
	assert_int_equal(sum.allocs, 7);
	assert_true(sum.bytes_alloc == UINT64_MAX);
	assert_int_equal(sum.peak_bytes, 13);
	kmt_counts_sub(&a, &since);
	assert_int_equal(a.allocs, 3);
	assert_int_equal(a.frees, 0);	/* 7 - 9 */
	assert_true(a.bytes_alloc == UINT64_MAX - 1);
	assert_int_equal(a.peak_bytes, 9);
}

static void test_mark(void **state)
{
	struct kmt_session *s = new_session(NULL);
	struct kmt_event a = alloc_at(ADDR, 10, 16), b = alloc_at(ADDR + 16, 12, 16);
	struct kmt_event fr = free_at(ADDR);
	struct kmt_counts c;

	feed(s, &a);
	feed(s, &fr);
	kmt_session_mark(s);
	feed(s, &b);
	c = kmt_session_site(s, 0)->counts;
	kmt_counts_sub(&c, &kmt_session_site(s, 0)->base);
	assert_int_equal(c.allocs, 1);
	assert_int_equal(c.frees, 0);
	assert_int_equal(c.bytes_req, 12);
	assert_int_equal(kmt_session_free_site(s, 0)->base, 1);
	kmt_session_free(s);
}

static void test_losses(void **state)
{
	struct kmt_session *s = new_session(NULL);
	struct kmt_sink sink = kmt_session_sink(s);
	struct kmt_quality q = { .source = "bpf", .lost = { [KMT_LOSS_RING] = 7 }, .events = 3,
				 .recursion_misses = 2, .filtered = 11 };
	struct kmt_lost ring = { .reason = KMT_LOSS_RING, .events = 5, .cpu = 1, .ts_ns = 99 };
	struct kmt_lost input = { .reason = KMT_LOSS_INPUT };
	struct kmt_lost wrong = { .reason = (enum kmt_loss)77 };

	assert_int_equal(sink.lost(sink.ctx, &ring), 0);
	kmt_session_quality(s, &q);
	assert_int_equal(q.lost[KMT_LOSS_RING], 5);
	assert_false(q.lost_unknown);
	/* the source's own number covers what it told */
	q = (struct kmt_quality){ .source = "bpf", .lost = { [KMT_LOSS_RING] = 7 }, .events = 3,
				  .recursion_misses = 2, .filtered = 11 };
	kmt_session_set_quality(s, &q);
	assert_int_equal(sink.lost(sink.ctx, &input), 0);
	kmt_session_quality(s, &q);
	assert_string_equal(q.source, "bpf");
	assert_int_equal(q.lost[KMT_LOSS_RING], 7);
	assert_int_equal(q.lost[KMT_LOSS_INPUT], 1);
	assert_true(q.lost_unknown);
	assert_int_equal(q.events, 3);
	assert_int_equal(q.filtered, 11);
	/* what the kernel skipped has a number of its own */
	assert_int_equal(kmt_quality_lost(&q), 7 + 1);
	assert_int_equal(q.recursion_misses, 2);
	assert_int_equal(sink.lost(sink.ctx, &wrong), -EINVAL);
	assert_int_equal(kmt_session_now(s), 99);
	kmt_session_free(s);
}

/* ---- random streams against the model -------------------------------------- */

static void compare_site(const struct kmt_site *is, const struct kmt_site *want)
{
	assert_memory_equal(&is->counts, &want->counts, sizeof(is->counts));
	assert_memory_equal(is->lifetimes, want->lifetimes, sizeof(is->lifetimes));
	assert_true(is->gfp == want->gfp);
	assert_int_equal(is->key.type, want->key.type);
	assert_int_equal(is->key.size, want->key.size);
	assert_true(model_same(is->key.cache, want->key.cache));
}

struct seen {
	const struct model *m;
	int n;
};

static int see_object(void *ctx, const struct kmt_object *o)
{
	struct seen *seen = ctx;

	for (int i = 0; i < seen->m->n_objects; i++) {
		const struct model_object *want = &seen->m->object[i];

		if (want->addr == o->addr && want->site == (int)o->site) {
			assert_true(want->req == o->bytes_req && want->alloc == o->bytes_alloc);
			assert_true(want->birth == o->birth_ns && want->cpu == o->cpu);
			assert_true(want->awaiting == o->awaiting);
			assert_true(!o->awaiting || model_waits(seen->m, want));
			seen->n++;
			return 0;
		}
	}
	fail_msg("an object that is not live");
	return 1;
}

/* Rows come into being in the same order on both sides. */
static void compare(struct kmt_session *s, struct model *m)
{
	struct seen seen = { .m = m };
	struct kmt_counts total, live = { 0 };
	struct kmt_quality q;
	int shown = model_settle(m), n_live = 0;

	assert_int_equal(kmt_session_settle(s), 0);
	assert_int_equal(kmt_session_settle(s), 0);	/* twice is once */
	for (int i = 0; i < m->n_objects; i++)
		n_live += !m->object[i].awaiting;

	assert_int_equal(kmt_session_n_sites(s), m->n_sites);
	for (int i = 0; i < m->n_sites; i++) {
		compare_site(kmt_session_site(s, i), &m->site[i]);
		kmt_counts_add(&live, &m->site[i].counts);
	}
	assert_int_equal(kmt_session_n_free_sites(s), m->n_free_sites);
	for (int i = 0; i < m->n_free_sites; i++) {
		assert_true(kmt_session_free_site(s, i)->frees == m->free_site[i].frees);
		assert_true(kmt_session_free_site(s, i)->call_site == m->free_site[i].call_site);
	}
	kmt_session_total(s, &total);
	assert_true(kmt_counts_live(&total) == (uint64_t)n_live);
	assert_true(kmt_counts_live_alloc(&total) == model_live(m, -1));
	assert_true(total.allocs == m->allocs && total.frees == m->frees);
	assert_true(kmt_session_peak(s) == m->peak);
	assert_true(kmt_session_now(s) == m->now);
	assert_int_equal(kmt_session_each_object(s, see_object, &seen), 0);
	assert_int_equal(seen.n, shown);
	kmt_session_quality(s, &q);
	assert_true(q.events == m->events);
	assert_true(q.frees_before_start == m->unknown && q.null_frees == m->nulls);
	assert_true(q.given_up_before_start == m->unknown_given);
	assert_true(q.untraced_frees == m->untraced && q.failed_allocations == m->failures);
	assert_true(q.lost[KMT_LOSS_OBJECTS] == m->no_object);
	assert_true(q.lost[KMT_LOSS_SITES] == m->no_site);
	assert_true(q.window_ns == m->now - m->first);
}

/* What kmt_event.shape promises, by comparing everything it stands for. */
#define SHAPES 4096
struct shaper {
	struct kmt_event ev[SHAPES];
	uint32_t n;
};

static bool same_shape(const struct kmt_event *a, const struct kmt_event *b)
{
	if (a->n_ips != b->n_ips || (a->n_ips && memcmp(a->ips, b->ips, a->n_ips * sizeof(*a->ips))))
		return false;
	return a->op == b->op && a->type == b->type && a->call_site == b->call_site &&
	       model_same(a->call_site_name, b->call_site_name) && model_same(a->cache, b->cache) &&
	       a->cache_inferred == b->cache_inferred && a->bytes_alloc == b->bytes_alloc &&
	       a->gfp == b->gfp;
}

static void give_shape(struct shaper *sh, struct kmt_event *ev)
{
	for (uint32_t i = 0; i < sh->n; i++) {
		if (same_shape(&sh->ev[i], ev)) {
			ev->shape = i + 1;
			return;
		}
	}
	if (sh->n == SHAPES)	/* an event without one is as good */
		return;
	sh->ev[sh->n++] = *ev;
	ev->shape = sh->n;
}

/* An observer that keeps books of its own. */
struct watcher {
	uint64_t allocs, frees, untraced, live, live_bytes;
};

static int watch_alloc(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		       size_t site)
{
	struct watcher *w = state;

	assert_true(site < kmt_session_n_sites(s));
	assert_int_equal(kmt_session_site(s, site)->key.type, ev->type);
	w->allocs++;
	w->live_bytes += ev->bytes_alloc;
	return 0;
}

static int watch_free(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		      const struct kmt_object *o)
{
	struct watcher *w = state;

	assert_true(o->addr == ev->addr && o->site < kmt_session_n_sites(s));
	*(ev->op != KMT_OP_ALLOC ? &w->frees : &w->untraced) += 1;
	w->live_bytes -= o->bytes_alloc;
	return 0;
}

static const struct kmt_observer watcher = {
	.state_size = sizeof(struct watcher), .on_alloc = watch_alloc, .on_free = watch_free,
};

static void compare_watcher(const struct kmt_session *s, const struct model *m)
{
	const struct watcher *w = kmt_session_observed(s, &watcher);

	assert_non_null(w);
	assert_true(w->allocs == m->allocs && w->frees == m->frees && w->untraced == m->untraced);
	if (!m->no_object)	/* what was not tracked does not end */
		assert_true(w->live_bytes == model_live(m, -1));
}

static void run_stream(struct stream st, struct kmt_session_opts opts, int steps)
{
	struct model *m = calloc(1, sizeof(*m));
	struct shaper *shaper = st.shapes ? calloc(1, sizeof(*shaper)) : NULL;
	struct kmt_session *s = new_session(&opts);
	struct kmt_quality q;
	uint64_t sum;

	assert_int_equal(kmt_session_observe(s, &watcher), 0);
	assert_int_equal(kmt_session_observe(s, &watcher), 0);

	/* the documented defaults */
	m->opts = opts;
	m->opts.temporary_ns = opts.temporary_ns ? opts.temporary_ns : 1000000;
	m->opts.max_objects = opts.max_objects ? opts.max_objects : 16 << 20;
	m->opts.max_sites = opts.max_sites ? opts.max_sites : 1 << 20;
	st.clock = 1000000;
	for (int i = 0; i < steps; i++) {
		struct kmt_event ev = next_event(&st);

		if (shaper)
			give_shape(shaper, &ev);
		feed(s, &ev);
		model_event(m, &ev);
		if (i % 5003 == 0)
			compare(s, m);
	}
	compare(s, m);
	compare_watcher(s, m);
	/* nothing gets lost on the way, unless a table of rows is full */
	kmt_session_quality(s, &q);
	sum = m->allocs + m->frees + m->waits_freed + q.frees_before_start +
	      q.given_up_before_start + q.failed_allocations + q.null_frees;
	if (!q.lost[KMT_LOSS_SITES])
		assert_true(q.events == sum);
	/* and the stream was worth it */
	assert_true(m->untraced && m->unknown && m->failures && m->nulls && m->mismatched);
	assert_true(st.no_times || m->steps_back);
	if (st.rcu_percent)
		assert_true(m->given_up && m->waits_freed && m->waits_reused && m->given_up_twice);
	if (st.rcu_percent && !st.no_times && st.addresses >= 100)
		assert_true(m->over);
	kmt_session_free(s);
	free(shaper);
	free(m);
}

#define OPTS(...) (struct kmt_session_opts){ __VA_ARGS__ }

static void test_model(void **state)
{
	run_stream((struct stream){ 1, 0, 120, 50, false, false, 0 }, OPTS(), 120000);
	run_stream((struct stream){ 2, 0, 30, 30, false, false, 0 }, OPTS(.temporary_ns = 20000), 100000);
	run_stream((struct stream){ 3, 0, 400, 60, true, false, 0 }, OPTS(), 100000);
}

static void test_model_keys(void **state)
{
	run_stream((struct stream){ 4, 0, 120, 50, false, false, 0 }, OPTS(.by_stack = true), 100000);
	run_stream((struct stream){ 5, 0, 120, 50, false, false, 0 }, OPTS(.by_task = true), 100000);
}

static void test_model_shapes(void **state)
{
	run_stream((struct stream){ 10, 0, 120, 50, false, true, 0 }, OPTS(), 60000);
	run_stream((struct stream){ 11, 0, 120, 50, false, true, 0 }, OPTS(.by_stack = true), 60000);
	run_stream((struct stream){ 12, 0, 120, 50, false, true, 0 }, OPTS(.by_task = true), 60000);
	run_stream((struct stream){ 13, 0, 120, 50, false, true, 0 }, OPTS(.max_sites = 20), 60000);
}

static void test_model_full(void **state)
{
	run_stream((struct stream){ 6, 0, 300, 45, false, false, 0 }, OPTS(.max_objects = 64), 100000);
	run_stream((struct stream){ 7, 0, 4, 45, false, false, 0 }, OPTS(.max_objects = 1), 20000);
	run_stream((struct stream){ 8, 0, 120, 50, false, false, 0 }, OPTS(.max_sites = 20), 100000);
	run_stream((struct stream){ 9, 0, 120, 40, false, false, 0 },
		   OPTS(.max_sites = 9, .max_objects = 50), 100000);
}

static void test_model_rcu(void **state)
{
	run_stream((struct stream){ 14, 0, 120, 50, false, false, 50 }, OPTS(), 120000);
	run_stream((struct stream){ 15, 0, 120, 50, false, true, 30 }, OPTS(), 60000);
	run_stream((struct stream){ 16, 0, 400, 60, true, false, 30 }, OPTS(), 60000);
	run_stream((struct stream){ 17, 0, 300, 45, false, false, 40 },
		   OPTS(.max_objects = 64, .by_stack = true), 60000);
	run_stream((struct stream){ 18, 0, 120, 50, false, false, 40 },
		   OPTS(.max_sites = 20, .by_task = true), 60000);
}

/* ---- snapshots -------------------------------------------------------------- */

static struct kmt_snap_site snap_site(uint32_t index, uint64_t call_site, const char *cache,
				      uint64_t allocs, uint64_t frees)
{
	return (struct kmt_snap_site){
		.key = { .type = KMT_TYPE_CACHE, .call_site = call_site, .cache = cache,
			 .object_size = 50, .size = 64 },
		.counts = { .allocs = allocs, .frees = frees, .bytes_req = allocs * 50,
			    .bytes_alloc = allocs * 64, .bytes_req_freed = frees * 50,
			    .bytes_alloc_freed = frees * 64 },
		.index = index, .gfp = UINT64_C(1) << index % 32, .lifetimes = { [3] = frees },
	};
}

static int give_objects(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
			void *cb_ctx)
{
	const struct kmt_snap_object o[] = {
		{ .addr = ADDR, .bytes_req = 50, .birth_ns = 5, .site = 5000, .cpu = 3 },
		{ .addr = ADDR + 64, .bytes_req = 50, .birth_ns = 6, .site = 77 }, /* not told */
		{ .addr = ADDR + 128, .bytes_req = 50, .birth_ns = 7, .site = 2 },
		{ .addr = ADDR + 192, .bytes_req = 50, .birth_ns = 8, .site = UINT32_MAX },
	};

	for (int i = 0; i < 4; i++) {
		int res = cb(cb_ctx, &o[i]);

		if (res)
			return res;
	}
	return 0;
}

static int add_object(void *ctx, const struct kmt_object *o)
{
	uint64_t *sum = ctx;

	assert_int_equal(o->bytes_alloc, 64);
	assert_int_equal(o->site, o->addr == ADDR ? 1 : 0);
	*sum += o->birth_ns;
	return 0;
}

static int stop_at_once(void *ctx, const struct kmt_object *o)
{
	++*(uint64_t *)ctx;
	return -ECANCELED;
}

static void give(struct kmt_session *s, const struct kmt_snap_site *v, size_t n, uint64_t now)
{
	struct kmt_snap_free_site fr = { .call_site = 0x30, .type = KMT_TYPE_CACHE, .frees = now };
	struct kmt_snapshot snap = { .now_ns = now, .sites = v, .n_sites = n, .free_sites = &fr,
				     .n_free_sites = 1, .each_object = give_objects };
	struct kmt_sink sink = kmt_session_sink(s);

	assert_int_equal(sink.snapshot(sink.ctx, &snap), 0);
}

static void test_snapshots(void **state)
{
	struct kmt_session *s = new_session(NULL);
	char name[16] = "dentry";
	struct kmt_snap_site first[] = { snap_site(2, 0x10, name, 10, 0),
					 snap_site(5000, 0x20, "inode", 5, 0) };
	struct kmt_snap_site second[] = { snap_site(2, 0x10, "dentry", 20, 18),
					  snap_site(5000, 0x20, "inode", 9, 1) };
	uint64_t sum = 0;

	give(s, first, 2, 100);
	name[0] = 'X';	/* borrowed for the call only */
	assert_int_equal(kmt_session_peak(s), 15 * 64);
	kmt_session_mark(s);
	give(s, second, 2, 200);
	assert_int_equal(kmt_session_n_sites(s), 2);
	assert_string_equal(kmt_session_site(s, 0)->key.cache, "dentry");
	assert_int_equal(kmt_session_site(s, 0)->counts.allocs, 20);
	assert_int_equal(kmt_session_site(s, 0)->base.allocs, 10);
	assert_int_equal(kmt_session_site(s, 0)->lifetimes[3], 18);
	/* live 10, then 2: the peak outlives the replacement; total 15, then 10 */
	assert_int_equal(kmt_session_site(s, 0)->counts.peak_bytes, 10 * 64);
	assert_int_equal(kmt_session_site(s, 1)->counts.peak_bytes, 8 * 64);
	assert_int_equal(kmt_session_peak(s), 15 * 64);
	assert_int_equal(kmt_session_free_site(s, 0)->frees, 200);
	assert_int_equal(kmt_session_free_site(s, 0)->base, 100);
	assert_int_equal(kmt_session_now(s), 200);
	assert_true(kmt_session_has_objects(s));
	assert_int_equal(kmt_session_each_object(s, add_object, &sum), 0);
	assert_int_equal(sum, 5 + 7);
	sum = 0;
	assert_int_equal(kmt_session_each_object(s, stop_at_once, &sum), -ECANCELED);
	assert_int_equal(sum, 1);
	kmt_session_free(s);
}

/* Two of the source's rows with one key are one row; events are kept apart. */
static void test_snapshot_merges_and_mixes(void **state)
{
	struct kmt_session *s = new_session(NULL);
	struct kmt_snap_site twice[] = { snap_site(1, 0x10, "dentry", 4, 1),
					 snap_site(2, 0x10, "dentry", 6, 2) };
	struct kmt_event ev = alloc_at(ADDR, 50, 64);
	struct kmt_counts c;

	ev.type = KMT_TYPE_CACHE;
	ev.call_site = 0x10;
	ev.cache = "dentry";
	feed(s, &ev);
	give(s, twice, 2, 10);
	give(s, twice, 2, 20);
	assert_int_equal(kmt_session_n_sites(s), 2);
	assert_int_equal(kmt_session_site(s, 0)->counts.allocs, 1);
	assert_int_equal(kmt_session_site(s, 1)->counts.allocs, 10);
	assert_int_equal(kmt_session_site(s, 1)->counts.peak_bytes, 7 * 64);
	assert_int_equal(kmt_session_site(s, 1)->gfp, 6);
	kmt_session_total(s, &c);
	assert_int_equal(kmt_counts_live(&c), 8);
	assert_int_equal(kmt_session_peak(s), 8 * 64);
	kmt_session_free(s);
}

static void test_snapshot_without_objects(void **state)
{
	struct kmt_session *s = new_session(&(struct kmt_session_opts){ .max_sites = 1 });
	struct kmt_snap_site v[] = { snap_site(0, 0x10, "a", 4, 0), snap_site(1, 0x20, "b", 3, 0) };
	struct kmt_snap_site far = snap_site(UINT32_MAX, 0x10, "a", 4, 0);
	struct kmt_snapshot snap = { .now_ns = 1, .sites = v, .n_sites = 2 };
	struct kmt_sink sink = kmt_session_sink(s);
	struct kmt_quality q;
	uint64_t n = 0;

	assert_true(kmt_session_has_objects(s));
	assert_int_equal(sink.snapshot(sink.ctx, &snap), 0);
	assert_int_equal(sink.snapshot(sink.ctx, &snap), 0);
	assert_false(kmt_session_has_objects(s));
	assert_int_equal(kmt_session_each_object(s, stop_at_once, &n), 0);
	assert_int_equal(kmt_session_n_sites(s), 1);
	kmt_session_quality(s, &q);
	assert_int_equal(q.lost[KMT_LOSS_SITES], 3);	/* said twice, counted once */
	snap.sites = &far;
	snap.n_sites = 1;
	assert_int_equal(sink.snapshot(sink.ctx, &snap), -EINVAL);
	kmt_session_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_null_failure_unknown),
		cmocka_unit_test(test_untraced_free),
		cmocka_unit_test(test_kfree_of_cache_object),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_mark),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_model_keys),
		cmocka_unit_test(test_model_shapes),
		cmocka_unit_test(test_model_full),
		cmocka_unit_test(test_model_rcu),
		cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_snapshot_merges_and_mixes),
		cmocka_unit_test(test_snapshot_without_objects),
	};

	kmt_session_free(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
