// SPDX-License-Identifier: GPL-2.0-only
/* CPU queues, the merge over CPUs, and what is left out on the way to the sink. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "source/deliver.h"
#include "source/merge.h"
#include "source/tasks.h"

/* steps name only what they need */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define MAX 64

/* A script per CPU, instead of trace pages. */
enum what { ALLOC, FREE, STACK, GAP, PAUSE, BORN };
struct step {
	enum what what;
	uint64_t ts;
	uint64_t addr;		/* GAP: how many; STACK: first frame; BORN: tid */
	uint64_t ctx;
	uint32_t pid;
};

struct world {
	struct kmt_merge merge;
	struct kmt_stream stream[2], *streams[2];
	const struct step *script[2];
	size_t at[2], n[2];
	bool stacks;
	struct kmt_deliver deliver;
	/* what the sink got */
	uint64_t ts[MAX], addr[MAX], ip[MAX], lost_at[MAX], lost_n[MAX];
	uint32_t cpu[MAX];
	size_t n_out, n_lost;
	int sink_error;
};

static int read_step(void *ctx, struct kmt_stream *st)
{
	struct world *w = ctx;
	const struct step *s;
	struct kmt_node *node;

	if (w->at[st->cpu] == w->n[st->cpu]) {
		st->drained = true;
		return 0;
	}
	s = &w->script[st->cpu][w->at[st->cpu]++];
	if (s->what == PAUSE) {
		st->drained = true;
		return 0;
	}
	if (s->what == STACK) {
		const uint64_t ips[] = { 1, 2, s->addr, 100 };	/* two frames of the tracer */

		kmt_cpu_queue_stack(&st->queue, s->ctx, ips, 4);
		return 0;
	}
	node = kmt_cpu_queue_push(&st->queue);
	node->ts_ns = node->ev.ts_ns = s->ts;
	if (s->what == GAP) {
		node->kind = KMT_NODE_LOST;
		node->lost = s->addr;
		return 0;
	}
	if (s->what == BORN) {
		node->kind = KMT_NODE_BORN;
		node->ev.pid = s->pid;
		node->tid = s->addr;
		snprintf(node->text, sizeof(node->text), "child");
		return 0;
	}
	node->ev.op = s->what == FREE ? KMT_OP_FREE : KMT_OP_ALLOC;
	node->ev.addr = s->addr;
	node->ev.call_site = s->addr;
	node->ev.bytes_req = node->ev.bytes_alloc = s->what == FREE ? 0 : 64;
	node->ev.pid = s->pid;
	node->ev.cpu = st->cpu;
	if (w->stacks)
		kmt_cpu_queue_await(&st->queue, s->ctx);
	return 0;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct world *w = ctx;

	assert_in_range(w->n_out, 0, MAX - 1);
	w->ts[w->n_out] = ev->ts_ns;
	w->addr[w->n_out] = ev->addr;
	w->cpu[w->n_out] = ev->cpu;
	w->ip[w->n_out] = ev->n_ips ? ev->ips[0] : 0;
	w->n_out++;
	return w->sink_error;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct world *w = ctx;

	w->lost_at[w->n_lost] = w->n_out;
	w->lost_n[w->n_lost++] = lost->events;
	return 0;
}

static void build(struct world *w, const struct kmt_source_opts *opts)
{
	*w = (struct world){ .stacks = opts->want_stacks };
	assert_int_equal(kmt_deliver_init(&w->deliver, opts), 0);
	for (uint32_t i = 0; i < 2; i++) {
		w->stream[i].cpu = i;
		w->streams[i] = &w->stream[i];
		assert_int_equal(kmt_cpu_queue_init(&w->stream[i].queue, w->stacks), 0);
	}
	w->merge = (struct kmt_merge){ .stream = w->streams, .n = 2, .read = read_step, .ctx = w };
}

static void script(struct world *w, uint32_t cpu, const struct step *s, size_t n)
{
	w->script[cpu] = s;
	w->n[cpu] = n;
	w->at[cpu] = 0;
}
#define SCRIPT(w, cpu, ...) do {							\
	static const struct step steps_[] = { __VA_ARGS__ };				\
	script(w, cpu, steps_, sizeof(steps_) / sizeof(steps_[0]));			\
} while (0)

static int pass(struct world *w, uint64_t bound)
{
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = w };

	return kmt_merge_pass(&w->merge, &w->deliver, &sink, bound);
}

static void tear_down(struct world *w)
{
	kmt_deliver_done(&w->deliver);
	kmt_cpu_queue_done(&w->stream[0].queue);
	kmt_cpu_queue_done(&w->stream[1].queue);
}

static void test_order(void **state)
{
	struct kmt_source_opts opts = { 0 };
	struct world w;

	build(&w, &opts);
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000 }, { ALLOC, 20, 0x1040 }, { ALLOC, 50, 0x1080 });
	SCRIPT(&w, 1, { ALLOC, 5, 0x2000 }, { ALLOC, 20, 0x2040 }, { ALLOC, 30, 0x2080 },
	       { ALLOC, 60, 0x20c0 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 7);
	for (size_t i = 1; i < w.n_out; i++)
		assert_true(w.ts[i - 1] <= w.ts[i]);
	assert_int_equal(w.n_out, 7);
	assert_int_equal(w.addr[0], 0x2000);
	assert_int_equal(w.addr[6], 0x20c0);
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 0);
	tear_down(&w);
}

/* What is newer than the bound waits, so that a slower CPU can still come before it. */
static void test_order_between_passes(void **state)
{
	struct kmt_source_opts opts = { 0 };
	struct world w;

	build(&w, &opts);
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000 }, { ALLOC, 40, 0x1040 });
	SCRIPT(&w, 1, { ALLOC, 20, 0x2000 }, { PAUSE }, { ALLOC, 35, 0x2040 });
	assert_int_equal(pass(&w, 30), 2);
	assert_int_equal(w.addr[1], 0x2000);
	assert_int_equal(pass(&w, 41), 2);
	assert_int_equal(w.addr[2], 0x2040);
	assert_int_equal(w.addr[3], 0x1040);
	tear_down(&w);
}

static void test_gap_in_place(void **state)
{
	struct kmt_source_opts opts = { 0 };
	struct world w;

	build(&w, &opts);
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000 }, { GAP, 30, 17 }, { ALLOC, 30, 0x1040 });
	SCRIPT(&w, 1, { ALLOC, 20, 0x2000 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 4);
	assert_int_equal(w.n_lost, 1);
	assert_int_equal(w.lost_at[0], 2);	/* behind the two that came before it */
	assert_int_equal(w.lost_n[0], 17);
	tear_down(&w);
}

/* The interrupt's event and stack come between an event and its stack. */
static void test_nested_stacks(void **state)
{
	struct kmt_source_opts opts = { .want_stacks = true };
	struct world w;

	build(&w, &opts);
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000, 1 }, { ALLOC, 11, 0x1040, 2 }, { STACK, 0, 0x1040, 2 },
	       { STACK, 0, 0x1000, 1 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 2);
	assert_int_equal(w.addr[0], 0x1000);
	assert_int_equal(w.ip[0], 0x1000);	/* and begins at the call site */
	assert_int_equal(w.ip[1], 0x1040);
	assert_int_equal(w.stream[0].queue.lost_stacks, 0);
	tear_down(&w);
}

static void test_stack_missing(void **state)
{
	struct kmt_source_opts opts = { .want_stacks = true };
	struct world w;

	build(&w, &opts);
	/* the same thread goes on without having left a stack */
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000, 1 }, { ALLOC, 20, 0x1040, 1 }, { STACK, 0, 0x1040, 1 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 2);
	assert_int_equal(w.ip[0], 0);
	assert_int_equal(w.ip[1], 0x1040);
	assert_int_equal(w.stream[0].queue.lost_stacks, 1);
	tear_down(&w);
}

/* Younger events of other CPUs wait for the one that waits for its stack, for one pass. */
static void test_stack_late(void **state)
{
	struct kmt_source_opts opts = { .want_stacks = true };
	struct world w;

	build(&w, &opts);
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000, 1 }, { PAUSE }, { STACK, 0, 0x1000, 1 });
	SCRIPT(&w, 1, { ALLOC, 12, 0x2000, 1 }, { STACK, 0, 0x2000, 1 });
	assert_int_equal(pass(&w, 20), 0);
	assert_int_equal(pass(&w, 30), 2);
	assert_int_equal(w.ip[0], 0x1000);
	assert_int_equal(w.addr[1], 0x2000);
	/* and when it never comes */
	SCRIPT(&w, 0, { ALLOC, 40, 0x1000, 1 });
	assert_int_equal(pass(&w, 50), 0);
	assert_int_equal(pass(&w, 60), 1);
	assert_int_equal(w.ip[2], 0);
	tear_down(&w);
}

static void test_null_frees(void **state)
{
	struct kmt_source_opts opts = { 0 };
	struct kmt_quality q = { 0 };
	struct world w;

	build(&w, &opts);
	SCRIPT(&w, 0, { FREE, 10, 0 }, { FREE, 11, 16 }, { FREE, 12, 0x1000 }, { ALLOC, 13, 0 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 4);
	kmt_deliver_quality(&w.deliver, &q);
	assert_int_equal(w.n_out, 2);
	assert_int_equal(q.null_frees, 2);
	assert_int_equal(q.failed_allocations, 1);
	assert_int_equal(q.events, 2);
	tear_down(&w);
}

/* A filter passes the frees of what it passed, whoever frees, and no others. */
static void test_filter_frees(void **state)
{
	struct kmt_filter f = { .pid = { 7 }, .n_pid = 1 };
	struct kmt_source_opts opts = { .filter = &f };
	struct kmt_quality q = { 0 };
	struct world w;

	build(&w, &opts);
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000, 0, 7 }, { ALLOC, 11, 0x1040, 0, 8 },
	       { FREE, 12, 0x1040, 0, 7 }, { FREE, 13, 0x1000, 0, 8 }, { FREE, 14, 0x1000, 0, 7 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 5);
	kmt_deliver_quality(&w.deliver, &q);
	assert_int_equal(w.n_out, 2);
	assert_int_equal(w.ts[0], 10);
	assert_int_equal(w.ts[1], 13);
	assert_int_equal(q.filtered, 3);
	tear_down(&w);
}

/* Of whom nobody knows what the filter asks: left out, and told. */
static void test_filter_unknown_tasks(void **state)
{
	/* thread numbers that no process has; the one that is born is "child" */
	static const struct {
		struct kmt_filter f;
		uint64_t out, filtered, unknown;
	} cases[] = {
		{ { .task = { .v = { "child" }, .n = 1 } }, 2, 6, 1 },
		{ { .task = { .v = { "swapper/1" }, .n = 1 } }, 2, 6, 1 },
		{ { .task = { .v = { "nobody" }, .n = 1 } }, 0, 8, 1 },
		{ { .tgid = { 5000008 }, .n_tgid = 1 }, 2, 6, 1 },
		/* 0 is the idle tasks', not that of whoever is not known */
		{ { .tgid = { 0 }, .n_tgid = 1 }, 4, 4, 1 },
		{ { .task = { .v = { "nobody" }, .n = 1 }, .size_min = 100 }, 0, 8, 0 },
		{ { .task = { .v = { "nobody" }, .n = 1 }, .tgid = { 7 }, .n_tgid = 1 }, 0, 8, 1 },
		{ { .task = { .v = { "child" }, .n = 1 }, .tgid = { 7 }, .n_tgid = 1 }, 0, 8, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kmt_source_opts opts = { .filter = &cases[i].f };
		struct kmt_quality q = { 0 };
		struct world w;

		build(&w, &opts);
		SCRIPT(&w, 0, { BORN, 10, 5000008, 0, 5000007 }, { ALLOC, 11, 0x1000, 0, 5000008 },
		       { ALLOC, 12, 0x1040, 0, 5000009 }, { ALLOC, 13, 0x1080, 0, 0 },
		       { FREE, 14, 0x1000 }, { FREE, 15, 0x1040 }, { FREE, 16, 0x1080 });
		SCRIPT(&w, 1, { ALLOC, 17, 0x10c0, 0, 0 }, { FREE, 18, 0x10c0 });
		assert_int_equal(pass(&w, KMT_MERGE_ALL), 9);
		kmt_deliver_quality(&w.deliver, &q);
		assert_int_equal(w.n_out, cases[i].out);
		assert_int_equal(q.filtered, cases[i].filtered);
		assert_int_equal(q.unknown_tasks, cases[i].unknown);
		tear_down(&w);
	}
}

static void test_filter_full(void **state)
{
	struct kmt_filter f = { .pid = { 7 }, .n_pid = 1 };
	struct kmt_source_opts opts = { .filter = &f, .objects = 1 };
	struct kmt_sink sink = { .lost = on_lost };
	struct kmt_quality q = { 0 };
	struct world w;

	build(&w, &opts);
	sink.ctx = &w;
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000, 0, 7 }, { ALLOC, 11, 0x1040, 0, 7 },
	       { ALLOC, 12, 0x1080, 0, 7 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 3);
	assert_int_equal(w.n_out, 3);
	assert_int_equal(kmt_deliver_untracked(&w.deliver, &sink, 12), 0);
	assert_int_equal(w.n_lost, 1);
	assert_int_equal(w.lost_n[0], 2);
	assert_int_equal(kmt_deliver_untracked(&w.deliver, &sink, 12), 0);
	assert_int_equal(w.n_lost, 1);		/* told once */
	kmt_deliver_quality(&w.deliver, &q);
	assert_int_equal(q.lost[KMT_LOSS_OBJECTS], 2);
	tear_down(&w);
}

static void test_follow(void **state)
{
	/* thread numbers that no process has: above pid_max's limit */
	struct kmt_filter f = { .pid = { 5000007 }, .n_pid = 1, .follow = true };
	struct kmt_source_opts opts = { .filter = &f };
	struct world w;

	build(&w, &opts);
	SCRIPT(&w, 0, { BORN, 10, 5000008, 0, 5000007 }, { ALLOC, 11, 0x1000, 0, 5000008 },
	       { BORN, 12, 5000009, 0, 5000008 }, { ALLOC, 13, 0x1040, 0, 5000009 },
	       { BORN, 14, 5000010, 0, 5000011 }, { ALLOC, 15, 0x1080, 0, 5000010 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 6);
	assert_int_equal(w.n_out, 2);
	assert_int_equal(w.addr[1], 0x1040);
	tear_down(&w);
}

/* What we allocate is left out, and its free too; what others made is not. */
static void test_own(void **state)
{
	struct kmt_source_opts opts = { 0 };
	struct kmt_quality q = { 0 };
	struct step steps[] = {
		{ ALLOC, 10, 0x1000, 0, getpid() }, { ALLOC, 11, 0x1040, 0, 5000007 },
		{ FREE, 12, 0x1000, 0, 5000007 }, { FREE, 13, 0x1040, 0, getpid() },
		/* an own object that went without an event: its address is another's now */
		{ ALLOC, 14, 0x1080, 0, getpid() }, { ALLOC, 15, 0x1080, 0, 5000007 },
		{ FREE, 16, 0x1080, 0, 5000007 },
	};
	struct world w;

	build(&w, &opts);
	kmt_deliver_refresh_own(&w.deliver);
	script(&w, 0, steps, sizeof(steps) / sizeof(steps[0]));
	assert_int_equal(pass(&w, KMT_MERGE_ALL), 7);
	kmt_deliver_quality(&w.deliver, &q);
	assert_int_equal(w.n_out, 4);
	assert_int_equal(w.ts[0], 11);
	assert_int_equal(w.ts[1], 13);
	assert_int_equal(w.ts[2], 15);
	assert_int_equal(w.ts[3], 16);
	assert_int_equal(q.own, 3);
	tear_down(&w);
}

static void test_sink_error(void **state)
{
	struct kmt_source_opts opts = { 0 };
	struct world w;

	build(&w, &opts);
	w.sink_error = -EPIPE;
	SCRIPT(&w, 0, { ALLOC, 10, 0x1000 }, { ALLOC, 20, 0x1040 });
	assert_int_equal(pass(&w, KMT_MERGE_ALL), -EPIPE);
	assert_int_equal(w.n_out, 1);
	tear_down(&w);
}

static void test_site_filter_needs_symbols(void **state)
{
	struct kmt_filter f = { .site = { .v = { "x" }, .n = 1 } };
	struct kmt_source_opts opts = { .filter = &f };
	struct kmt_deliver d;

	assert_int_equal(kmt_deliver_init(&d, &opts), -EINVAL);
	assert_non_null(strstr(kmt_err_text(), "symbols"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_between_passes),
		cmocka_unit_test(test_gap_in_place),
		cmocka_unit_test(test_nested_stacks),
		cmocka_unit_test(test_stack_missing),
		cmocka_unit_test(test_stack_late),
		cmocka_unit_test(test_null_frees),
		cmocka_unit_test(test_filter_frees),
		cmocka_unit_test(test_filter_unknown_tasks),
		cmocka_unit_test(test_filter_full),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_sink_error),
		cmocka_unit_test(test_site_filter_needs_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
