// SPDX-License-Identifier: GPL-2.0-only
/* A part of a recording: what comes through, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "core/snapshot.h"
#include "core/window.h"

struct got {
	uint64_t ts[16];
	int n, lost;
};

static int got_event(void *ctx, const struct kmt_event *ev)
{
	struct got *g = ctx;

	g->ts[g->n++] = ev->ts_ns;
	return 0;
}

static int got_lost(void *ctx, const struct kmt_lost *lost)
{
	((struct got *)ctx)->lost++;
	return 0;
}

static void feed(struct kmt_window *w, struct got *g, const uint64_t *ts, size_t n)
{
	struct kmt_sink sink;

	*g = (struct got){ 0 };
	w->next = (struct kmt_sink){ .event = got_event, .lost = got_lost, .ctx = g };
	sink = kmt_window_sink(w);
	for (size_t i = 0; i < n; i++) {
		struct kmt_event ev = { .has_time = ts[i] != 7, .ts_ns = ts[i] };

		assert_int_equal(sink.event(sink.ctx, &ev), 0);
	}
}

#define FEED(w, g, ...) feed(w, g, (const uint64_t[]){ __VA_ARGS__ },				\
			     sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* The start is the first event's time, also when that is 0; until is left out, since is not. */
static void test_first_event(void **state)
{
	struct kmt_window w = { .since_ns = 10, .until_ns = 20 };
	struct got g;

	FEED(&w, &g, 100, 105, 110, 119, 120, 121, 7, 111);
	assert_int_equal(g.n, 3);
	assert_int_equal(g.ts[0], 110);
	assert_int_equal(g.ts[1], 119);
	assert_int_equal(g.ts[2], 111);
	assert_int_equal(w.left_out, 5);
	assert_int_equal(w.no_time, 1);
	w = (struct kmt_window){ .since_ns = 10 };
	FEED(&w, &g, 0, 9, 10, UINT64_MAX);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.ts[0], 10);
}

/* A start that is known; a clock that steps back before it is at it. */
static void test_known_start(void **state)
{
	struct kmt_window w = { .until_ns = 20, .start_ns = 1000, .has_start = true };
	struct got g;

	FEED(&w, &g, 1010, 999, 0, 1019, 1020);
	assert_int_equal(g.n, 4);
	assert_int_equal(w.left_out, 1);
}

static void test_others(void **state)
{
	struct kmt_window w = { .since_ns = 10 };
	struct kmt_lost lost = { .ts_ns = 1 };
	struct kmt_snapshot snap = { 0 };
	struct kmt_sink sink;
	struct got g;

	FEED(&w, &g, 1);
	sink = kmt_window_sink(&w);
	assert_int_equal(sink.lost(sink.ctx, &lost), 0);
	assert_int_equal(g.lost, 1);
	assert_int_equal(sink.snapshot(sink.ctx, &snap), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_event),
		cmocka_unit_test(test_known_start),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
