// SPDX-License-Identifier: GPL-2.0-only
/* Traced against real change of a cache: within which bounds, and what explains the rest. */
#include "unit/world.h"

/*
 * The kernel's bounds instead of the guess. Real change 100; in the worst case 70
 * of the start's and 20 of the end's active objects were free, 5 of the start's
 * and 3 of the end's not counted: the truth lies in 100 - 20 - 5 ... 100 + 70 + 3.
 */
static void test_books_bounds(void **state)
{
	static const struct { uint64_t allocs; const char *text; uint64_t tolerance; } cases[] = {
		{ 74, "off by -26", 25 }, { 75, "balanced", 25 }, { 99, "balanced", 25 },
		{ 100, "balanced", 73 }, { 101, "balanced", 73 }, { 173, "balanced", 73 },
		{ 174, "off by 74", 73 },
	};
	static const char start[] = "memory 1000 2000 0\n70 5 a\n", end[] =
		"memory 1000 18384 0\n20 3 a\n";

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct world w;

		open_world(&w, (struct kmt_session_opts){ 0 });
		for (uint64_t i = 0; i < cases[k].allocs; i++)
			alloc(&w, MAS_ALLOC, "a", 0x100000 + i * 256, 256, 256, 1000 + i);
		set_slabs(&w, HEAD LINE("a", "500", "256", "16"), HEAD LINE("a", "600", "256", "16"));
		assert_int_equal(kmt_slabs_parse_bounds(start, strlen(start), "x", w.start), 0);
		assert_int_equal(kmt_slabs_parse_bounds(end, strlen(end), "x", w.end), 0);
		run(&w, "cache");
		is_text(&w, 0, "balance.verdict", cases[k].text);
		is_int(&w, 0, "balance.tolerance", cases[k].tolerance);
		is_int(&w, 0, "balance.difference", (int64_t)cases[k].allocs - 100);
		is_int(&w, 0, "baseline_objects", 500);
		is_int(&w, 0, "total_objects", 500 + (int64_t)cases[k].allocs);
		is_int(&w, 0, "kernel_objects", 600);
		field_is(&w.r->summary, "slab_memory_change_bytes", 16384);
		field_is(&w.r->summary, "slab_memory_traced_bytes",
			 (int64_t)cases[k].allocs * 256);
		run(&w, "slabinfo");
		is_int(&w, 0, "balance.tolerance", cases[k].tolerance);
		is_int(&w, 0, "total_objects", 500 + (int64_t)cases[k].allocs);
		close_world(&w);
	}
}

#define TAIL " : tunables    0    0    0 : slabdata      1      1      0\n"

/*
 * What the kernel's slabs hold is the cache's as a whole, of the last count: 20 slabs
 * of 8192 bytes, half of whose objects (160 of 320, 512 each) are in use; the site has
 * one of them. A cache that the kernel does not name, and one without slabs.
 */
static void test_books_slabs(void **state)
{
	struct world w;
	size_t i;

	open_world(&w, (struct kmt_session_opts){ 0 });
	alloc(&w, MAS_ALLOC, "a", 0x100000, 500, 512, 1000);
	alloc(&w, MAS_ALLOC, "b", 0x200000, 500, 512, 1000);
	alloc(&w, LOAD_MSG, "gone", 0x300000, 64, 64, 1000);
	alloc(&w, LOAD_MSG, "b", 0x400000, 500, 512, 1000);
	set_slabs(&w, HEAD "a 159 160 512 16 2" TAIL LINE("b", "2", "512", "8"),
		  HEAD "a 160 320 512 16 2" TAIL "b 0 0 512 8 1" TAIL);
	run(&w, "cache");
	i = row_of(&w, "cache", "a");
	is_int(&w, i, "slab_bytes", 20 * 8192);
	assert_true(cell(&w, i, "utilisation_percent")->d == 50);
	i = row_of(&w, "cache", "b");
	is_int(&w, i, "slab_bytes", 0);
	is_null(&w, i, "utilisation_percent");
	i = row_of(&w, "cache", "gone");
	is_null(&w, i, "slab_bytes");
	is_null(&w, i, "utilisation_percent");
	run(&w, "site,cache");
	is_int(&w, row_of(&w, "cache", "a"), "slab_bytes", 20 * 8192);
	run(&w, "site");	/* takes from two caches */
	is_null(&w, row_of(&w, "site", "mas_alloc+0x30"), "slab_bytes");
	run(&w, "slabinfo");
	i = row_of(&w, "cache", "a");
	is_int(&w, i, "slab_bytes", 20 * 8192);
	is_int(&w, i, "memory_bytes", 320 * 512);
	assert_true(cell(&w, i, "utilisation_percent")->d == 50);
	close_world(&w);
}

static void older(struct world *w, const char *cache, unsigned n)
{
	struct kmt_event ev = { .op = KMT_OP_FREE, .type = cache ? KMT_TYPE_CACHE : KMT_TYPE_KMALLOC,
				.call_site = FREE_MSG, .cache = cache, .addr = 0x9000000 };

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(w->sink.event(w->sink.ctx, &ev), 0);
}

/*
 * Frees of objects older than the trace: 100 of 'a', which the kernel has 90
 * less of, while 10 were allocated; 40 whose cache nobody knows, which explain as
 * many of 'b' and not 'c', and never that the kernel has more than was traced.
 */
static void test_books_older(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (uint64_t i = 0; i < 10; i++)
		alloc(&w, MAS_ALLOC, "a", 0x100000 + i * 256, 256, 256, 1000 + i);
	alloc(&w, MAS_ALLOC, "b", 0x200000, 256, 256, 1000);
	alloc(&w, MAS_ALLOC, "c", 0x300000, 256, 256, 1000);
	alloc(&w, MAS_ALLOC, "d", 0x400000, 256, 256, 1000);
	older(&w, "a", 100);
	older(&w, "only", 50);
	older(&w, NULL, 40);
	set_slabs(&w, HEAD LINE("a", "500", "256", "16") LINE("b", "500", "256", "16")
		  LINE("c", "500", "256", "16") LINE("d", "500", "256", "16")
		  LINE("only", "60", "64", "16"),
		  HEAD LINE("a", "410", "256", "16") LINE("b", "429", "256", "16")
		  LINE("c", "428", "256", "16") LINE("d", "573", "256", "16")
		  LINE("only", "10", "64", "16"));
	run(&w, "cache");
	is_int(&w, row_of(&w, "cache", "a"), "balance.traced_net", -90);
	is_int(&w, row_of(&w, "cache", "a"), "older_frees", 100);
	is_int(&w, row_of(&w, "cache", "a"), "balance.difference", 0);
	is_int(&w, row_of(&w, "cache", "a"), "total_objects", 410);
	is_text(&w, row_of(&w, "cache", "a"), "balance.verdict", "balanced");
	is_text(&w, row_of(&w, "cache", "b"), "balance.verdict",
		"not comparable (older objects were freed)");
	is_text(&w, row_of(&w, "cache", "c"), "balance.verdict", "off by 73");
	is_text(&w, row_of(&w, "cache", "d"), "balance.verdict", "off by -72");
	run(&w, "slabinfo");
	is_int(&w, row_of(&w, "cache", "only"), "balance.traced_net", -50);
	is_text(&w, row_of(&w, "cache", "only"), "balance.verdict", "balanced");
	/* what is live is so since the start: an interval without events proves nothing of it */
	kmt_session_mark(w.session);
	w.in.interval_ns = 1000;
	run(&w, "cache");
	is_int(&w, row_of(&w, "cache", "a"), "allocs", 0);
	is_int(&w, row_of(&w, "cache", "a"), "balance.traced_net", -90);
	is_text(&w, row_of(&w, "cache", "a"), "balance.verdict", "balanced");
	is_text(&w, row_of(&w, "cache", "c"), "balance.verdict", "off by 73");
	run(&w, "slabinfo");
	is_int(&w, row_of(&w, "cache", "only"), "balance.traced_net", -50);
	close_world(&w);
}

static int no_objects(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
		      void *cb_ctx)
{
	return 0;
}

/* The same from a source that counts, with allocations of the tracer's own. */
static void test_books_own(void **state)
{
	const struct kmt_snap_older rows[] = {
		{ .cache = "a", .frees = 30, .own_allocs = 10 }, { .frees = 5 },
		{ .cache = "b", .own_allocs = 7 },
	};
	struct kmt_snapshot snap = { .now_ns = 100, .older = rows, .n_older = 3,
				     .has_older = true, .each_object = no_objects };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	/* cumulative: the second replaces the first */
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	assert_true(kmt_session_has_older(w.session));
	set_slabs(&w, HEAD LINE("a", "100", "8", "16") LINE("b", "0", "8", "16"),
		  HEAD LINE("a", "80", "8", "16") LINE("b", "7", "8", "16"));
	run(&w, "slabinfo");
	is_int(&w, row_of(&w, "cache", "a"), "older_frees", 30);
	is_int(&w, row_of(&w, "cache", "a"), "balance.traced_net", -20);
	is_int(&w, row_of(&w, "cache", "a"), "balance.difference", 0);
	is_int(&w, row_of(&w, "cache", "b"), "balance.traced_net", 7);
	snap.has_older = false;
	snap.n_older = 0;
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	assert_false(kmt_session_has_older(w.session));
	close_world(&w);
}

/*
 * 200 older objects given up to RCU with nothing to tell when they are free: the
 * kernel may have all of them still, or none, and 30 s later none. Tolerance 32.
 */
static void test_books_given_up(void **state)
{
	const uint64_t s = 1000000000;
	const struct kmt_snap_older rows[] = {
		{ .cache = "a", .frees = 200, .given_up = 200 },
		{ .cache = "b", .frees = 200, .given_up = 200 },
		{ .cache = "c", .frees = 200, .given_up = 200 },
	};
	struct kmt_snapshot snap = { .now_ns = s, .older = rows, .n_older = 3,
				     .has_older = true, .each_object = no_objects };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	set_slabs(&w, HEAD LINE("a", "500", "8", "16") LINE("b", "500", "8", "16")
		  LINE("c", "500", "8", "16"),
		  HEAD LINE("a", "300", "8", "16") LINE("b", "532", "8", "16")
		  LINE("c", "533", "8", "16"));
	run(&w, "slabinfo");
	is_text(&w, row_of(&w, "cache", "a"), "balance.verdict", "balanced");
	is_text(&w, row_of(&w, "cache", "b"), "balance.verdict", "balanced");
	is_text(&w, row_of(&w, "cache", "c"), "balance.verdict", "off by -233");
	snap.now_ns = 32 * s;
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	run(&w, "slabinfo");
	is_text(&w, row_of(&w, "cache", "a"), "balance.verdict", "balanced");
	is_text(&w, row_of(&w, "cache", "b"), "balance.verdict", "off by -232");
	close_world(&w);
}

/* Books that balance do so whatever is lost; a miss explains one object and no more. */
static void test_books_lost(void **state)
{
	struct kmt_quality q = { .recursion_misses = 10 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (uint64_t i = 0; i < 100; i++)
		alloc(&w, MAS_ALLOC, "near", 0x100000 + i * 256, 256, 256, 1000 + i);
	for (uint64_t i = 0; i < 100; i++)
		alloc(&w, MAS_ALLOC, "far", 0x200000 + i * 256, 256, 256, 1000 + i);
	for (uint64_t i = 0; i < 100; i++)
		alloc(&w, MAS_ALLOC, "even", 0x300000 + i * 256, 256, 256, 1000 + i);
	set_slabs(&w, HEAD LINE("near", "0", "256", "16") LINE("far", "0", "256", "16")
		  LINE("even", "0", "256", "16"),
		  HEAD LINE("near", "58", "256", "16") LINE("far", "57", "256", "16")
		  LINE("even", "68", "256", "16"));
	kmt_session_set_quality(w.session, &q);
	run(&w, "cache");
	/* tolerance 32 and 10 misses: 42 may be, 43 not */
	is_text(&w, row_of(&w, "cache", "even"), "balance.verdict", "balanced");
	is_text(&w, row_of(&w, "cache", "near"), "balance.verdict",
		"not comparable (events were lost)");
	is_text(&w, row_of(&w, "cache", "far"), "balance.verdict", "off by 43");
	q.lost_unknown = true;
	kmt_session_set_quality(w.session, &q);
	run(&w, "cache");
	is_text(&w, row_of(&w, "cache", "even"), "balance.verdict", "balanced");
	is_text(&w, row_of(&w, "cache", "far"), "balance.verdict",
		"not comparable (events were lost)");
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_books_bounds),
		cmocka_unit_test(test_books_slabs),
		cmocka_unit_test(test_books_lost),
		cmocka_unit_test(test_books_older),
		cmocka_unit_test(test_books_own),
		cmocka_unit_test(test_books_given_up),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
