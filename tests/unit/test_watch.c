// SPDX-License-Identifier: GPL-2.0-only
/*
 * The views that watch the run: peak and timeline against hand calculations, and
 * against a slow model that copies everything at every event.
 */
#include "unit/world.h"

#include <stdlib.h>

#include "unit/model.h"
#include "unit/stream.h"

#include "analysis/analysis.h"
#include "base/fmt.h"
#include "core/snapshot.h"

#define MS	UINT64_C(1000000)

static void open_watched(struct world *w, struct kmt_session_opts opts, const char *view)
{
	open_world(w, opts);
	watch(w, view);
}

/* ---- by hand ------------------------------------------------------------------- */

/*
 *	 live of	mas_alloc  load_msg	sum
 *	 1.0 s		      256	  0	256
 *	 1.1 s		      256      2048    2304
 *	 1.2 s			0      2048    2048
 *	 1.3 s			0      4096    4096	the peak
 *	 1.4 s			0      2048    2048
 *	 1.5 s		      256      2048    2304
 */
static void test_peak(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "peak");
	alloc(&w, MAS_ALLOC, "maple_node", 0x1000, 200, 256, 1000 * MS);
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", 0x2000, 1048, 2048, 1100 * MS);
	release(&w, 0x1000, 0, 1200 * MS);
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", 0x3000, 1048, 2048, 1300 * MS);
	release(&w, 0x3000, 0, 1400 * MS);
	alloc(&w, MAS_ALLOC, "maple_node", 0x4000, 200, 256, 1500 * MS);
	run(&w, "peak");
	assert_int_equal(w.r->n_rows, 1);
	is_text(&w, 0, "site", "load_msg+0x10");
	is_int(&w, 0, "at_peak_bytes_allocated", 4096);
	is_int(&w, 0, "at_peak_bytes_requested", 2096);
	is_int(&w, 0, "at_peak_objects", 2);
	is_int(&w, 0, "live_bytes_allocated", 2048);
	assert_true(cell(&w, 0, "at_peak_percent")->d == 100.0);
	field_is(&w.r->summary, "peak_bytes_allocated", 4096);
	field_is(&w.r->summary, "peak_at_ns", 300 * MS);
	/* a later peak is made of both */
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", 0x3000, 1048, 2048, 1600 * MS);
	run(&w, "peak");
	assert_int_equal(w.r->n_rows, 2);
	is_int(&w, 0, "at_peak_bytes_allocated", 4096);
	is_int(&w, 1, "at_peak_bytes_allocated", 256);
	field_is(&w.r->summary, "peak_at_ns", 600 * MS);
	close_world(&w);
}

/* Sums that reach the end of 64 bits stay there. */
static void test_peak_ends(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "peak");
	alloc(&w, LOAD_MSG, "a", 0x1000, 1, UINT64_C(1) << 32, MS);
	alloc(&w, MAS_ALLOC, "b", 0x2000, 1, UINT64_C(1) << 63, MS);
	alloc(&w, IN_MODULE, "c", 0x3000, 1, UINT64_C(1) << 63, MS);
	run(&w, "peak");
	assert_int_equal(w.r->n_rows, 3);
	is_int(&w, 0, "at_peak_bytes_allocated", INT64_MAX);
	is_int(&w, 1, "at_peak_bytes_allocated", INT64_MAX);
	is_int(&w, 2, "at_peak_bytes_allocated", INT64_C(1) << 32);
	close_world(&w);
}

static void snapshot(struct world *w, uint64_t now, uint64_t allocs1, uint64_t frees1,
		     uint64_t allocs2, uint64_t frees2)
{
	const struct kmt_snap_site sites[] = {
		{ .key = { .type = KMT_TYPE_CACHE, .call_site = LOAD_MSG, .cache = "a", .size = 100 },
		  .counts = { .allocs = allocs1, .frees = frees1, .bytes_req = allocs1 * 90,
			      .bytes_alloc = allocs1 * 100, .bytes_req_freed = frees1 * 90,
			      .bytes_alloc_freed = frees1 * 100 }, .index = 0 },
		{ .key = { .type = KMT_TYPE_CACHE, .call_site = MAS_ALLOC, .cache = "b", .size = 10 },
		  .counts = { .allocs = allocs2, .frees = frees2, .bytes_req = allocs2 * 10,
			      .bytes_alloc = allocs2 * 10, .bytes_req_freed = frees2 * 10,
			      .bytes_alloc_freed = frees2 * 10 }, .index = 1 },
	};
	const struct kmt_snapshot snap = { .now_ns = now, .sites = sites, .n_sites = 2 };

	assert_int_equal(w->sink.snapshot(w->sink.ctx, &snap), 0);
}

/* Counted: what each held at the reading whose sum was the highest. */
static void test_peak_counted(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "peak");
	snapshot(&w, 1000 * MS, 10, 0, 0, 0);		/* 1000 + 0 */
	snapshot(&w, 1100 * MS, 20, 8, 50, 0);		/* 1200 + 500: the peak */
	snapshot(&w, 1200 * MS, 30, 14, 60, 55);	/* 1600 + 50 */
	run(&w, "peak");
	assert_int_equal(w.r->n_rows, 2);
	is_int(&w, 0, "at_peak_bytes_allocated", 1200);
	is_int(&w, 0, "at_peak_bytes_requested", 1080);
	is_int(&w, 0, "at_peak_objects", 12);
	is_int(&w, 1, "at_peak_bytes_allocated", 500);
	field_is(&w.r->summary, "peak_at_ns", 100 * MS);
	close_world(&w);
}

/* Slots of a millisecond from the first event on; then of two, of four, ... */
static void test_timeline(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "timeline");
	alloc(&w, LOAD_MSG, "a", 0x1000, 90, 100, 5 * MS);
	alloc(&w, LOAD_MSG, "a", 0x2000, 90, 100, 5 * MS + 500000);
	release(&w, 0x1000, 0, 8 * MS);
	run(&w, "timeline");
	assert_int_equal(w.r->n_rows, 4);
	is_int(&w, 0, "at_ns", 0);
	is_int(&w, 0, "allocs", 2);
	is_int(&w, 0, "allocs_per_s", 2000);
	is_int(&w, 0, "live_bytes_allocated", 200);
	is_int(&w, 0, "live_objects", 2);
	is_int(&w, 1, "at_ns", 1 * MS);
	is_int(&w, 1, "allocs", 0);
	is_int(&w, 1, "live_bytes_allocated", 200);
	is_int(&w, 3, "frees", 1);
	is_int(&w, 3, "bytes_freed", 100);
	is_int(&w, 3, "live_bytes_allocated", 100);
	is_int(&w, 3, "live_objects", 1);
	is_int(&w, 3, "peak_bytes_allocated", 100);
	assert_true(cell(&w, 3, "live_percent")->d == 50.0);
	/* no time has passed in the last one, so there is no rate */
	is_null(&w, 3, "frees_per_s");
	/* 60 ms after the start the sixty of 1 ms are used up: slots of 2 ms, the 31st is there */
	release(&w, 0x2000, 0, 65 * MS);
	run(&w, "timeline");
	assert_int_equal(w.r->n_rows, 31);
	is_int(&w, 0, "allocs", 2);
	is_int(&w, 0, "allocs_per_s", 1000);
	is_int(&w, 1, "at_ns", 2 * MS);
	is_int(&w, 1, "frees", 1);
	is_int(&w, 29, "live_objects", 1);
	is_int(&w, 30, "live_objects", 0);
	close_world(&w);
}

static void test_timeline_counted(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "timeline");
	snapshot(&w, 1000 * MS, 10, 0, 0, 0);
	snapshot(&w, 1100 * MS, 20, 8, 50, 0);
	snapshot(&w, 1300 * MS, 30, 14, 60, 55);
	run(&w, "timeline");
	assert_int_equal(w.r->n_rows, 4);
	is_int(&w, 0, "allocs", 10);
	is_int(&w, 1, "allocs", 60);
	is_int(&w, 1, "allocs_per_s", 600);
	is_int(&w, 2, "allocs", 0);
	is_int(&w, 3, "allocs", 20);
	/* without objects nothing is known of frees by site and of what is live */
	is_null(&w, 1, "live_bytes_allocated");
	close_world(&w);
}

/* From the first nanosecond to the last that there is, and back. */
static void test_time_ends(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "timeline");
	watch(&w, "leaks");
	alloc(&w, LOAD_MSG, "a", 0x1000, 90, 100, 1);
	alloc(&w, LOAD_MSG, "a", 0x2000, 90, 100, UINT64_C(1) << 63);
	alloc(&w, LOAD_MSG, "a", 0x3000, 90, 100, UINT64_MAX);
	release(&w, 0x3000, 0, 5);
	run(&w, "timeline");
	/* slots of 2^39 ms: the first with 2^64 ns / 60 or more; 34 of them begin before the end */
	assert_int_equal(w.r->n_rows, 34);
	is_int(&w, 0, "allocs", 1);
	is_int(&w, 16, "allocs", 1);
	is_int(&w, 33, "allocs", 1);
	is_int(&w, 33, "frees", 1);
	is_int(&w, 33, "live_bytes_allocated", 200);
	run(&w, "leaks");
	field_is(&w.r->summary, "windows", 9);
	close_world(&w);
}

static void test_no_times(void **state)
{
	struct kmt_event ev = { .op = KMT_OP_ALLOC, .addr = 0x1000, .bytes_alloc = 8 };
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "timeline");
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	run(&w, "timeline");
	assert_int_equal(w.r->n_rows, 0);
	assert_true(has_note(&w, "no times"));
	close_world(&w);
}

/*
 * Sixteen windows of a second, and four sites whose caches' books balance (or not):
 *   load_msg   40 objects more in each second, none freed
 *   mas_alloc  the same, but the kernel's own count says that nothing is left
 *   mod_get    200 objects in the second second, then none
 *   free_msg   each second 50 more, and all of them freed in the next
 */
static void leak(struct world *w)
{
	uint64_t a = 0x100000, b = 0x200000, c = 0x300000, d = 0x400000;

	set_slabs(w, HEAD LINE("a", "1000", "100", "40") LINE("b", "1000", "100", "40")
		  LINE("c", "1000", "100", "40") LINE("d", "1000", "100", "40"),
		  HEAD LINE("a", "1640", "100", "40") LINE("b", "1000", "100", "40")
		  LINE("c", "1200", "100", "40") LINE("d", "1050", "100", "40"));
	for (uint64_t t = 0; t < 16; t++) {
		uint64_t ns = (10 + t) * 1000 * MS;

		for (int i = 0; i < 40; i++) {
			alloc(w, LOAD_MSG, "a", a += 256, 90, 100, ns);
			alloc(w, MAS_ALLOC, "b", b += 256, 90, 100, ns);
		}
		for (int i = 0; i < 200 && t == 1; i++)
			alloc(w, IN_MODULE, "c", c += 256, 90, 100, ns);
		for (int i = 0; i < 50; i++)
			alloc(w, FREE_MSG, "d", d += 256, 90, 100, ns);
		for (int i = 0; i < 50 && t; i++)
			release(w, d - (50 + i) * 256, 0, ns + 500 * MS);
	}
}

static void test_leaks(void **state)
{
	struct world w;
	size_t row;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "leaks");
	leak(&w);
	w.in.tail_percent = 10;
	run(&w, "leaks");
	/* 15.5 s from the first event to the last, a tenth of it is the tail */
	field_is(&w.r->summary, "survivor_age_ns", 1550 * MS);
	field_is(&w.r->summary, "suspects", 1);
	/* 1 ms * 2^10: the first power with which 15.5 s are at most sixteen windows */
	field_is(&w.r->summary, "windows", 16);
	field_is(&w.r->summary, "window_length_ns", 1024 * MS);
	assert_int_equal(w.r->n_rows, 3);
	is_text(&w, 0, "state", "suspect");
	is_text(&w, 0, "site", "load_msg+0x10");
	is_null(&w, 0, "reason");
	/* the ages are 0.5, 1.5, 2.5, ... 15.5 s: all but the first two count */
	is_int(&w, 0, "surviving_objects", 14 * 40);
	is_int(&w, 0, "surviving_bytes", 14 * 4000);
	is_int(&w, 0, "age_min_ns", 2500 * MS);
	is_int(&w, 0, "age_max_ns", 15500 * MS);
	/*
	 * The first floor is nothing, that of a later window what was live when it
	 * began. Window k begins at 1.024 k s, with the objects of the seconds 0 to k:
	 * the last one, k = 15, with those of 16 seconds, 15.36 s after the start.
	 */
	is_int(&w, 0, "windows_grown", 15);
	is_int(&w, 0, "windows_shrunk", 0);
	is_int(&w, 0, "growth_bytes_per_s", 16 * 4000 * 1000 / (15 * 1024));
	assert_string_equal(w.r->rows[0].detail[0],
			    "560 survive, grew in 15 of 16 windows, books balanced");
	row = row_of(&w, "site", "mas_alloc+0x30");
	is_text(&w, row, "state", "surviving");
	is_text(&w, row, "reason", "books off by 640");
	row = row_of(&w, "site", "mod_get+0x20 [mymod]");
	is_text(&w, row, "state", "surviving");
	is_text(&w, row, "reason", "grew in 1 of 16 windows");
	close_world(&w);
}

/* An age above the tail; no tail at all; books that nobody could compare. */
static void test_leaks_ages(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "leaks");
	leak(&w);
	w.in.min_age_ns = 15000 * MS;
	w.in.tail_percent = 10;
	run(&w, "leaks");
	assert_int_equal(w.r->n_rows, 2);
	is_int(&w, 0, "surviving_objects", 40);
	w.in.min_age_ns = 0;
	w.in.tail_percent = 0;
	run(&w, "leaks");
	assert_int_equal(w.r->n_rows, 4);
	is_int(&w, 0, "surviving_objects", 640);
	is_text(&w, row_of(&w, "cache", "d"), "reason", "grew in 1 of 16 windows");
	w.in.slabs_end = NULL;
	run(&w, "leaks");
	field_is(&w.r->summary, "suspects", 0);
	assert_non_null(strstr(cell(&w, row_of(&w, "cache", "a"), "reason")->text,
			       "books not comparable"));
	close_world(&w);
}

/* An interval in which nothing happened: what is live, and the books of it, are older. */
static void test_leaks_interval(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "leaks");
	leak(&w);
	kmt_session_mark(w.session);
	w.in.interval_ns = 1000 * MS;
	run(&w, "leaks");
	field_is(&w.r->summary, "suspects", 1);
	is_text(&w, 0, "state", "suspect");
	is_text(&w, 0, "site", "load_msg+0x10");
	is_text(&w, row_of(&w, "site", "mas_alloc+0x30"), "reason", "books off by 640");
	close_world(&w);
}

/*
 * Three objects more in each of 16 seconds, and one address that is handed out again and
 * again without a free. Books without bounds may be off by two slabs, 80 objects: all 49
 * may be gone. With six more in each second 97 survive, which is too many for that.
 */
static void test_leaks_untraced(void **state)
{
	for (int more = 3; more <= 6; more += 3) {
		uint64_t a = 0x100000;
		struct world w;

		open_watched(&w, (struct kmt_session_opts){ 0 }, "leaks");
		set_slabs(&w, HEAD LINE("a", "1000", "100", "40"), HEAD LINE("a", "1040", "100", "40"));
		for (uint64_t t = 0; t < 16; t++) {
			for (int i = 0; i < more; i++)
				alloc(&w, LOAD_MSG, "a", a += 256, 90, 100, (10 + t) * 1000 * MS);
			alloc(&w, LOAD_MSG, "a", 0x1000, 90, 100, (10 + t) * 1000 * MS);
		}
		run(&w, "leaks");
		is_int(&w, 0, "untraced_frees", 15);
		is_int(&w, 0, "live_objects", 16 * more + 1);
		is_text(&w, 0, "balance.verdict", "balanced");
		is_text(&w, 0, "state", more == 3 ? "surviving" : "suspect");
		if (more == 3)
			is_text(&w, 0, "reason", "frees may be silent, and the books off by 80");
		close_world(&w);
	}
}

/* Grown in three windows at the beginning, and never since. */
static void test_leaks_stopped(void **state)
{
	struct world w;

	open_watched(&w, (struct kmt_session_opts){ 0 }, "leaks");
	for (uint64_t t = 0; t < 4; t++)
		alloc(&w, LOAD_MSG, "a", 0x1000 * (t + 1), 90, 100, (1 + t) * MS);
	alloc(&w, MAS_ALLOC, "b", 0x8000, 90, 100, 16 * MS);
	run(&w, "leaks");
	/* floors 0, 100, 200, 300, 400, 400, ...: the last that rose is the one 4 ms after */
	is_int(&w, row_of(&w, "cache", "a"), "windows_grown", 4);
	is_text(&w, row_of(&w, "cache", "a"), "reason", "has not grown since 5.00ms");
	close_world(&w);
}

/*
 *		 live	allocs	temporary  waste	(temporary is below 1 ms)
 *   load_msg	 4096	     2		0   2000
 *   mas_alloc	    0	     6		6      0
 *   mod_get	  512	     1		0    412
 */
static void test_summary(void **state)
{
	static const char *const want[][2] = {
		{ "live", "load_msg+0x10" }, { "live", "mod_get+0x20 [mymod]" },
		{ "allocs", "mas_alloc+0x30" }, { "allocs", "load_msg+0x10" },
		{ "allocs", "mod_get+0x20 [mymod]" }, { "temporary", "mas_alloc+0x30" },
		{ "waste", "load_msg+0x10" }, { "waste", "mod_get+0x20 [mymod]" },
	};
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (int i = 0; i < 6; i++) {
		alloc(&w, MAS_ALLOC, "maple_node", 0x1000, 256, 256, 10 * MS + i * 1000);
		release(&w, 0x1000, 0, 10 * MS + i * 1000 + 500);
	}
	alloc(&w, IN_MODULE, "c", 0x2000, 100, 512, 20 * MS);
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", 0x3000, 1048, 2048, 20 * MS);
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", 0x4000, 1048, 2048, 20 * MS);
	run(&w, "summary");
	assert_int_equal(w.r->n_rows, 8);
	for (size_t i = 0; i < 8; i++) {
		is_text(&w, i, "top", want[i][0]);
		is_text(&w, i, "site", want[i][1]);
	}
	is_int(&w, 1, "rank", 2);
	is_int(&w, 0, "live_bytes_allocated", 4096);
	is_int(&w, 5, "temporary", 6);
	is_int(&w, 6, "waste_bytes", 2000);
	is_int(&w, 7, "waste_bytes", 412);
	close_world(&w);
}

/* Five of each at most; without objects only what is known without. */
static void test_summary_more(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (uint64_t i = 0; i < 7; i++)
		alloc(&w, LOAD_MSG + i, "a", 0x1000 + i * 64, 64, 64, MS);
	run(&w, "summary");
	assert_int_equal(w.r->n_rows, 10);
	close_world(&w);
	open_world(&w, (struct kmt_session_opts){ 0 });
	snapshot(&w, MS, 10, 3, 20, 0);
	run(&w, "summary");
	assert_int_equal(w.r->n_rows, 2);
	is_text(&w, 0, "top", "allocs");
	is_int(&w, 0, "allocs", 20);
	is_null(&w, 0, "live_bytes_allocated");
	close_world(&w);
}

/* ---- random streams against the model ------------------------------------------- */

#define WATCHED 256	/* sites that the streams here can have */

struct held {
	uint64_t bytes, req, objects;
};

static struct held model_held(const struct model *m, int site)
{
	struct held h = { 0 };

	for (int i = 0; i < m->n_objects; i++) {
		if (m->object[i].site != site)
			continue;
		h.bytes += m->object[i].alloc;
		h.req += m->object[i].req;
		h.objects++;
	}
	return h;
}

/* Does a row of the report show this site of the model? */
static bool row_shows(const struct world *w, size_t row, const struct kmt_site_key *k)
{
	char site[KMT_FMT_LEN], cache[64] = "", type[2] = { kmt_type_letter(k->type) };
	const struct kmt_cell *c = cell(w, row, "cache"), *size = cell(w, row, "object_size");

	kmt_fmt_addr(site, k->call_site);
	if (strcmp(cell(w, row, "site")->text, site))
		return false;
	if (strcmp(cell(w, row, "type")->text, type))
		return false;
	if (!k->cache)
		return c->is_null && size->i == k->size;
	snprintf(cache, sizeof(cache), "%s%s", k->cache, k->cache_inferred ? " (inferred)" : "");
	return !c->is_null && !strcmp(c->text, cache);
}

/* Slab objects, and pages: two layers that are never added up. */
static bool in_layer(const struct kmt_site_key *k, int layer)
{
	return (k->type == KMT_TYPE_PAGES) == (layer == 1);
}

static uint64_t live_in_layer(const struct model *m, int layer)
{
	uint64_t sum = 0;

	for (int i = 0; i < m->n_objects; i++)
		if (m->object[i].pages == (layer == 1))
			sum += m->object[i].alloc;
	return sum;
}

static void compare_peak(struct world *w, const struct model *m, const struct held *at_peak,
			 const uint64_t *peak)
{
	uint64_t shown[2] = { 0 };

	run(w, "peak");
	for (size_t row = 0; row < w->r->n_rows; row++) {
		struct held want = { 0 };

		for (int i = 0; i < m->n_sites; i++) {
			if (!row_shows(w, row, &m->site[i].key))
				continue;
			want.bytes += at_peak[i].bytes;
			want.req += at_peak[i].req;
			want.objects += at_peak[i].objects;
		}
		is_int(w, row, "at_peak_bytes_allocated", (int64_t)want.bytes);
		is_int(w, row, "at_peak_bytes_requested", (int64_t)want.req);
		is_int(w, row, "at_peak_objects", (int64_t)want.objects);
		shown[!strcmp(cell(w, row, "layer")->text, "pages")] += want.bytes;
	}
	assert_true(shown[0] == peak[0] && shown[1] == peak[1]);
}

struct step {
	uint64_t now, allocs, frees, given, freed, live, objects;
	uint64_t *sites, *dips;		/* live bytes of each, after it and at the lowest in it */
};

/* All that is cumulative in the model, and what is live; layer -1: of both. */
static struct step model_step(const struct model *m, int layer)
{
	struct step st = { .now = m->now };

	for (int i = 0; i < m->n_sites; i++) {
		const struct kmt_counts *c = &m->site[i].counts;

		if (layer >= 0 && !in_layer(&m->site[i].key, layer))
			continue;
		st.allocs += c->allocs;
		st.frees += c->frees + c->untraced_frees;
		st.given += c->bytes_alloc;
		st.freed += c->bytes_alloc_freed;
	}
	for (int i = 0; i < m->n_objects; i++) {
		if (layer >= 0 && m->object[i].pages != (layer == 1))
			continue;
		st.live += m->object[i].alloc;
		st.objects++;
	}
	return st;
}

/* What goes without a free is gone before the new object is there. */
static void model_sites(const struct model *m, const struct step *before, struct step *st,
			uint64_t *freed)
{
	st->sites = calloc(WATCHED, sizeof(*st->sites));
	st->dips = calloc(WATCHED, sizeof(*st->dips));
	assert_true(st->sites && st->dips && m->n_sites <= WATCHED);
	for (int i = 0; i < m->n_objects; i++)
		st->sites[m->object[i].site] += m->object[i].alloc;
	for (int i = 0; i < WATCHED; i++) {
		uint64_t was = before->sites ? before->sites[i] : 0;
		uint64_t gone = m->site[i].counts.bytes_alloc_freed - freed[i];

		freed[i] += gone;
		st->dips[i] = was - gone < st->sites[i] ? was - gone : st->sites[i];
	}
}

/* The floors of a row's windows, each looked for among all steps. */
static void compare_trend(struct world *w, const struct model *m, const struct step *v, size_t n,
			  size_t first, uint64_t last)
{
	uint64_t width = MS, start = v[first].now;
	unsigned windows;

	while ((last - start) / width >= 16)
		width *= 2;
	windows = (last - start) / width + 1;
	run(w, "leaks");
	field_is(&w->r->summary, "windows", windows);
	for (size_t row = 0; row < w->r->n_rows; row++) {
		uint64_t floor[16];
		int rose = 0, fell = 0;

		for (unsigned k = 0; k < windows; k++) {
			floor[k] = 0;
			for (int site = 0; site < m->n_sites; site++) {
				uint64_t lowest = 0;	/* what was live when it began */
				size_t i;

				if (!row_shows(w, row, &m->site[site].key))
					continue;
				for (i = first; i < n && (v[i].now - start) / width < k; i++)
					lowest = v[i].sites[site];
				for (; i < n && (v[i].now - start) / width == k; i++)
					if (v[i].dips[site] < lowest)
						lowest = v[i].dips[site];
				floor[k] += lowest;
			}
			rose += k && floor[k] > floor[k - 1];
			fell += k && floor[k] < floor[k - 1];
		}
		is_int(w, row, "windows_grown", rose);
		is_int(w, row, "windows_shrunk", fell);
	}
}

/* A layer's rows: each slot looks at all steps anew. */
static void compare_slots(struct world *w, const struct step *v, size_t first, size_t n,
			  uint64_t last, uint64_t width, int layer)
{
	uint64_t start = v[first].now, slots = (last - start) / width + 1;

	for (size_t slot = 0; slot < slots; slot++) {
		size_t row = layer * slots + slot;
		struct step sum = { 0 };

		for (size_t i = first; i < n; i++) {
			if (v[i].now > last || (v[i].now - start) / width > slot)
				break;
			if (v[i].allocs != v[i - 1].allocs || v[i].frees != v[i - 1].frees) {
				sum.live = v[i].live;
				sum.objects = v[i].objects;
			}
			if ((v[i].now - start) / width < slot)
				continue;
			sum.allocs += v[i].allocs - v[i - 1].allocs;
			sum.frees += v[i].frees - v[i - 1].frees;
			sum.given += v[i].given - v[i - 1].given;
			sum.freed += v[i].freed - v[i - 1].freed;
		}
		is_text(w, row, "layer", layer ? "pages" : "slab");
		is_int(w, row, "at_ns", (int64_t)(slot * width));
		is_int(w, row, "allocs", (int64_t)sum.allocs);
		is_int(w, row, "frees", (int64_t)sum.frees);
		is_int(w, row, "bytes_allocated", (int64_t)sum.given);
		is_int(w, row, "bytes_freed", (int64_t)sum.freed);
		is_int(w, row, "live_bytes_allocated", (int64_t)sum.live);
		is_int(w, row, "live_objects", (int64_t)sum.objects);
	}
}

static void compare_timeline(struct world *w, struct step *const *v, size_t n)
{
	uint64_t width = MS, last = 0;
	size_t first = n;

	/* what is before any time has no place; steps are those where something was counted */
	for (size_t i = 1; i < n; i++) {
		bool counted = false;

		for (int layer = 0; layer < 2; layer++)
			counted |= v[layer][i].allocs != v[layer][i - 1].allocs ||
				   v[layer][i].frees != v[layer][i - 1].frees;
		if (!v[0][i].now || !counted)
			continue;
		first = first == n ? i : first;
		last = v[0][i].now;
	}
	while ((last - v[0][first].now) / width >= 60)
		width *= 2;
	run(w, "timeline");
	assert_int_equal(w->r->n_rows, 2 * ((last - v[0][first].now) / width + 1));
	compare_slots(w, v[0], first, n, last, width, 0);
	compare_slots(w, v[1], first, n, last, width, 1);
}

static void run_stream(struct stream st, struct kmt_session_opts opts, size_t steps)
{
	struct model *m = calloc(1, sizeof(*m));
	struct held *at_peak = calloc(MODEL_SITES, sizeof(*at_peak));
	struct step *v[2] = { calloc(steps + 1, sizeof(**v)), calloc(steps + 1, sizeof(**v)) };
	uint64_t peak[2] = { 0 };
	struct world w;

	assert_true(m && at_peak && v[0] && v[1]);
	open_watched(&w, opts, "peak");
	assert_int_equal(kmt_session_observe(w.session, kmt_analysis_find("timeline")->observer), 0);
	w.in.symbols = NULL;
	m->opts = opts;
	m->opts.temporary_ns = MS;
	m->opts.max_objects = opts.max_objects ? opts.max_objects : 1 << 20;
	m->opts.max_sites = 1 << 20;
	st.clock = MS;
	for (size_t i = 0; i < steps; i++) {
		struct kmt_event ev = next_event(&st);

		ev.call_site_name = NULL;	/* rows are told apart by the address here */
		assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
		model_event(m, &ev);
		for (int layer = 0; layer < 2; layer++) {
			v[layer][i + 1] = model_step(m, layer);
			if (live_in_layer(m, layer) <= peak[layer])
				continue;
			peak[layer] = live_in_layer(m, layer);
			for (int k = 0; k < m->n_sites; k++)
				if (in_layer(&m->site[k].key, layer))
					at_peak[k] = model_held(m, k);
		}
		if (i % 977 == 0 && peak[0])
			compare_peak(&w, m, at_peak, peak);
	}
	compare_peak(&w, m, at_peak, peak);
	compare_timeline(&w, v, steps + 1);
	assert_true(m->untraced && m->unknown && m->steps_back);
	close_world(&w);
	free(m);
	free(at_peak);
	free(v[0]);
	free(v[1]);
}

static void run_trend(struct stream st, struct kmt_session_opts opts, size_t steps)
{
	struct model *m = calloc(1, sizeof(*m));
	struct step *v = calloc(steps + 1, sizeof(*v));
	uint64_t freed[WATCHED] = { 0 }, last = 0;
	size_t first = 0;
	struct world w;

	assert_true(m && v);
	open_watched(&w, opts, "leaks");
	w.in.symbols = NULL;
	m->opts = opts;
	m->opts.temporary_ns = MS;
	m->opts.max_objects = opts.max_objects ? opts.max_objects : 1 << 20;
	m->opts.max_sites = 1 << 20;
	st.clock = MS;
	for (size_t i = 1; i <= steps; i++) {
		struct kmt_event ev = next_event(&st);

		ev.call_site_name = NULL;
		assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
		model_event(m, &ev);
		v[i] = model_step(m, -1);
		model_sites(m, &v[i - 1], &v[i], freed);
		if (!v[i].now || (v[i].allocs == v[i - 1].allocs && v[i].frees == v[i - 1].frees))
			continue;
		first = first ? first : i;
		last = v[i].now;
	}
	compare_trend(&w, m, v, steps + 1, first, last);
	assert_true(m->untraced && m->unknown);
	for (size_t i = 1; i <= steps; i++) {
		free(v[i].sites);
		free(v[i].dips);
	}
	close_world(&w);
	free(m);
	free(v);
}

static void test_trends(void **state)
{
	run_trend((struct stream){ 31, 0, 60, 50, false, false, 0 }, (struct kmt_session_opts){ 0 },
		  3000);
	run_trend((struct stream){ 32, 0, 220, 20, false, false, 0 }, (struct kmt_session_opts){ 0 },
		  3000);
	run_trend((struct stream){ 33, 0, 200, 40, false, false, 0 },
		  (struct kmt_session_opts){ .max_objects = 50 }, 3000);
}

static void test_streams(void **state)
{
	run_stream((struct stream){ 21, 0, 60, 50, false, false, 0 }, (struct kmt_session_opts){ 0 },
		   20000);
	run_stream((struct stream){ 22, 0, 200, 55, false, false, 0 }, (struct kmt_session_opts){ 0 },
		   20000);
	run_stream((struct stream){ 23, 0, 200, 40, false, false, 0 },
		   (struct kmt_session_opts){ .max_objects = 50 }, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peak),
		cmocka_unit_test(test_peak_ends),
		cmocka_unit_test(test_peak_counted),
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_timeline_counted),
		cmocka_unit_test(test_no_times),
		cmocka_unit_test(test_time_ends),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_summary_more),
		cmocka_unit_test(test_leaks),
		cmocka_unit_test(test_leaks_ages),
		cmocka_unit_test(test_leaks_interval),
		cmocka_unit_test(test_leaks_untraced),
		cmocka_unit_test(test_leaks_stopped),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_trends),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
