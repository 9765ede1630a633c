// SPDX-License-Identifier: GPL-2.0-only
/* What is given up to RCU: the session's books, snapshots, filters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/filter.h"
#include "core/session.h"
#include "core/snapshot.h"
#include "source/legacy_filter.h"
#include "source/select.h"
#include "source/source.h"

#define ADDR UINT64_C(0xffff888100000000)

static struct kmt_session *new_session(void)
{
	struct kmt_session *s = NULL;

	assert_int_equal(kmt_session_new(NULL, &s), 0);
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

#define SECOND UINT64_C(1000000000)

static void feed_at(struct kmt_session *s, struct kmt_event ev, enum kmt_op op, uint64_t ns)
{
	ev.op = op;
	ev.has_time = true;
	ev.ts_ns = ns;
	feed(s, &ev);
}

struct waits {
	uint64_t live, awaiting, last;
};

static int count_waits(void *ctx, const struct kmt_object *o)
{
	struct waits *w = ctx;

	*(o->awaiting ? &w->awaiting : &w->live) += 1;
	w->last = o->awaiting ? o->birth_ns : w->last;
	return 0;
}

/* live, awaiting, awaiting bytes: in the books and in the walk of objects. */
static void is_waiting(struct kmt_session *s, uint64_t live, uint64_t awaiting)
{
	struct waits w = { 0 };
	struct kmt_counts c;

	assert_int_equal(kmt_session_settle(s), 0);
	kmt_session_total(s, &c);
	assert_int_equal(kmt_counts_live(&c), live);
	assert_int_equal(kmt_counts_live_alloc(&c), live * 64);
	assert_int_equal(c.awaiting, awaiting);
	assert_int_equal(c.bytes_awaiting, awaiting * 64);
	assert_int_equal(kmt_session_each_object(s, count_waits, &w), 0);
	assert_int_equal(w.live, live);
	assert_int_equal(w.awaiting, awaiting);
}

/*
 * Three objects of 50 bytes in 64, allocated at 1 s and given up at 2 s: one is
 * freed at 3 s, one's address handed out again at 4 s, of one nothing is heard.
 */
static void test_rcu(void **state)
{
	struct kmt_session *s = new_session();
	struct kmt_event a[3], by = free_at(ADDR);
	const struct kmt_site *site;
	struct kmt_quality q;

	for (int i = 0; i < 3; i++) {
		a[i] = alloc_at(ADDR + i * 64, 50, 64);
		feed_at(s, a[i], KMT_OP_ALLOC, SECOND);
	}
	is_waiting(s, 3, 0);
	for (int i = 0; i < 3; i++) {
		struct kmt_event up = free_at(ADDR + i * 64);

		up.cpu = 1;
		feed_at(s, up, KMT_OP_GIVE_UP, 2 * SECOND);
	}
	is_waiting(s, 0, 3);
	site = kmt_session_site(s, 0);
	assert_int_equal(site->counts.frees, 3);
	assert_int_equal(site->counts.given_up, 3);
	assert_int_equal(site->counts.cross_cpu_frees, 3);
	assert_int_equal(site->counts.bytes_req_freed, 150);
	assert_int_equal(site->lifetimes[19], 3);	/* 2^19 * 1.024 us = 0.54 s, to 1.07 s */
	by.call_site = 0xffffffff81000030;		/* the worker that frees */
	feed_at(s, by, KMT_OP_FREE, 3 * SECOND);
	is_waiting(s, 0, 2);
	feed_at(s, a[1], KMT_OP_ALLOC, 4 * SECOND);
	is_waiting(s, 1, 1);
	feed_at(s, free_at(0), KMT_OP_FREE, 32 * SECOND);	/* time goes on: 30 s of waiting */
	is_waiting(s, 1, 1);
	feed_at(s, free_at(0), KMT_OP_FREE, 32 * SECOND + 1);
	is_waiting(s, 1, 0);
	feed_at(s, free_at(0), KMT_OP_FREE, 42 * SECOND);
	is_waiting(s, 1, 0);
	/* one free for each, told to nobody a second time */
	assert_int_equal(site->counts.frees, 3);
	assert_int_equal(site->counts.untraced_frees, 0);
	assert_int_equal(kmt_session_n_free_sites(s), 1);
	assert_int_equal(kmt_session_free_site(s, 0)->frees, 3);
	/* and a free that comes very late is known all the same */
	feed_at(s, free_at(ADDR + 128), KMT_OP_FREE, 50 * SECOND);
	is_waiting(s, 1, 0);
	kmt_session_quality(s, &q);
	assert_int_equal(q.frees_before_start, 0);
	assert_int_equal(q.untraced_frees, 0);
	assert_int_equal(q.events, 3 + 3 + 1 + 1 + 3 + 1);
	kmt_session_free(s);
}

/* Unknown, and a second time: like frees of what is not known. NULL is nothing. */
static void test_rcu_unknown(void **state)
{
	struct kmt_session *s = new_session();
	struct waits w = { 0 };
	struct kmt_quality q;

	feed_at(s, free_at(ADDR), KMT_OP_GIVE_UP, SECOND);
	feed_at(s, free_at(ADDR), KMT_OP_FREE, SECOND);
	feed_at(s, free_at(0), KMT_OP_GIVE_UP, SECOND);
	kmt_session_quality(s, &q);
	assert_int_equal(q.frees_before_start, 1);
	assert_int_equal(q.given_up_before_start, 1);
	assert_int_equal(q.null_frees, 1);
	feed_at(s, alloc_at(ADDR, 50, 64), KMT_OP_ALLOC, SECOND);
	feed_at(s, free_at(ADDR), KMT_OP_GIVE_UP, 2 * SECOND);
	feed_at(s, free_at(ADDR), KMT_OP_GIVE_UP, 3 * SECOND);
	is_waiting(s, 0, 1);
	assert_int_equal(kmt_session_each_object(s, count_waits, &w), 0);
	assert_int_equal(w.last, 3 * SECOND);
	kmt_session_quality(s, &q);
	assert_int_equal(q.frees_before_start, 1);
	assert_int_equal(q.given_up_before_start, 2);
	assert_int_equal(kmt_session_site(s, 0)->counts.frees, 1);
	kmt_session_free(s);
}

/* ---- snapshots ---- */

/* Three are given up, at 2 s, 3 s and at an unknown time; one is live. */
static int give_waiting(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
			void *cb_ctx)
{
	int res = 0;

	for (uint64_t i = 0; i < 4 && !res; i++) {
		struct kmt_snap_object o = { .addr = ADDR + i * 64, .bytes_req = 50, .site = 7,
					     .birth_ns = i < 2 ? (2 + i) * SECOND : 0,
					     .awaiting = i < 3 };

		res = cb(cb_ctx, &o);
	}
	return res;
}

static void give_waits(struct kmt_session *s, uint64_t now)
{
	struct kmt_snap_site site = {
		.key = { .type = KMT_TYPE_CACHE, .call_site = 0x10, .cache = "dentry",
			 .object_size = 50, .size = 64 },
		.counts = { .allocs = 10, .frees = 9, .bytes_req = 500, .bytes_alloc = 640,
			    .bytes_req_freed = 450, .bytes_alloc_freed = 576, .given_up = 5,
			    .awaiting = 3, .bytes_awaiting = 3 * 64 },
		.index = 7,
	};
	struct kmt_snapshot snap = { .now_ns = now, .sites = &site, .n_sites = 1,
				     .each_object = give_waiting };
	struct kmt_sink sink = kmt_session_sink(s);

	assert_int_equal(sink.snapshot(sink.ctx, &snap), 0);
}

static void test_snapshot_rcu(void **state)
{
	struct kmt_session *s = new_session();

	give_waits(s, 4 * SECOND);
	is_waiting(s, 1, 3);
	give_waits(s, 32 * SECOND + 1);
	is_waiting(s, 1, 2);
	is_waiting(s, 1, 2);
	give_waits(s, 42 * SECOND);
	is_waiting(s, 1, 1);
	assert_int_equal(kmt_session_site(s, 0)->counts.given_up, 5);
	kmt_session_free(s);
}

/* ---- filters: what ends an object follows its allocation ------------------------ */

static bool pass_select(struct kmt_select *s, enum kmt_op op, uint64_t req)
{
	struct kmt_event ev = alloc_at(ADDR, req, 64);

	ev.op = op;
	return kmt_select_event(s, &ev) == 1;
}

static bool pass_legacy(struct kmt_legacy_filter *lf, enum kmt_op op, uint64_t req)
{
	struct kmt_event ev = alloc_at(ADDR, req, 64);

	ev.op = op;
	return kmt_legacy_filter_event(lf, &ev) == 1;
}

#define CHECK_FILTER(pass, f) do {							\
	assert_true(pass(f, KMT_OP_ALLOC, 50));						\
	assert_true(pass(f, KMT_OP_GIVE_UP, 0));					\
	assert_true(pass(f, KMT_OP_FREE, 0));						\
	assert_false(pass(f, KMT_OP_FREE, 0));						\
	assert_false(pass(f, KMT_OP_GIVE_UP, 0));					\
	assert_true(pass(f, KMT_OP_ALLOC, 50));						\
	assert_true(pass(f, KMT_OP_GIVE_UP, 0));					\
	/* the address is another's now, who does not pass */				\
	assert_false(pass(f, KMT_OP_ALLOC, 10));					\
	assert_false(pass(f, KMT_OP_GIVE_UP, 0));					\
	assert_false(pass(f, KMT_OP_FREE, 0));						\
} while (0)

static void test_filters(void **state)
{
	struct kmt_filter f = { .size_min = 20 };
	struct kmt_source_opts opts = { .filter = &f };
	struct kmt_legacy_filter lf;
	struct kmt_select *s = NULL;

	assert_int_equal(kmt_select_new(&opts, NULL, &s), 0);
	CHECK_FILTER(pass_select, s);
	kmt_select_free(s);
	assert_int_equal(kmt_legacy_filter_init(&lf, &f, NULL), 0);
	CHECK_FILTER(pass_legacy, &lf);
	kmt_legacy_filter_done(&lf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rcu),
		cmocka_unit_test(test_rcu_unknown),
		cmocka_unit_test(test_snapshot_rcu),
		cmocka_unit_test(test_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
