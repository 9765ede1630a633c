// SPDX-License-Identifier: GPL-2.0-only
/* The screen with a terminal, a clock and data of the tests' own: keys in, cells out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/err.h"
#include "core/session.h"
#include "report/report.h"
#include "tui/tui.h"
#include "unit/fake_term.h"

#define SEC	UINT64_C(1000000000)
#define HEAD	5	/* the row of the titles */

/* What the view 'site' shows, and a little that only the detail has. */
static const struct kmt_column columns[] = {
	{ "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, false, false },
	{ "net_bytes_per_s", "NET/S", KMT_UNIT_BYTES_PER_S, true, false },
	{ "live_objects", "OBJS", KMT_UNIT_COUNT, false, false },
	{ "allocs_per_s", "ALLOC/S", KMT_UNIT_COUNT_PER_S, true, false },
	{ "age_p50_ns", "AGE P50", KMT_UNIT_NS, false, false },
	{ "temporary", "TEMPORARY", KMT_UNIT_COUNT, true, false },
	{ "waste_bytes", "WASTE", KMT_UNIT_BYTES, false, false },
	{ "untraced_frees", "UNTRACED", KMT_UNIT_COUNT, true, false },
	{ "module", "MODULE", KMT_UNIT_TEXT, true, false },
	{ "site", "SITE", KMT_UNIT_TEXT, false, true },
	{ "gfp", "GFP", KMT_UNIT_TEXT, true, false },
	{ "lifetimes_log2", "LIFETIMES", KMT_UNIT_LIST, true, false },
	{ "sizes", "SIZES", KMT_UNIT_LIST, true, false },
};
enum { LIVE, NET, OBJS, RATE, AGE, TEMPORARY, WASTE, UNTRACED, MODULE, SITE, GFP, LIFETIMES, SIZES,
       N_COLUMNS };

struct world {
	struct fake_term f;
	struct kmt_tui_data data;
	struct kmt_tui *tui;
	uint64_t now;
	int64_t live, lost;		/* what the next reports say */
	int64_t bytes[4];		/* live of each row */
	char calls[256];		/* r: read, m: mark, s: report since the mark, a: of all */
	int read_error, report_error;
	uint64_t sought;
	char analysis[32];
	int n_rows;
};

static void note(struct world *w, char what)
{
	size_t n = strlen(w->calls);

	if (n + 1 < sizeof(w->calls))
		w->calls[n] = what;
}

static uint64_t now_of(void *ctx)
{
	return ((struct world *)ctx)->now;
}

static int read_data(void *ctx)
{
	struct world *w = ctx;

	note(w, 'r');
	return w->read_error;
}

static void mark(void *ctx)
{
	note(ctx, 'm');
}

static void add_row(struct kmt_report *r, const char *site, int64_t live, int64_t objects,
		    int64_t untraced)
{
	struct kmt_row *row = kmt_report_row(r);

	kmt_cell_int(&row->cells[LIVE], live);
	kmt_cell_int(&row->cells[NET], -live / 2);
	kmt_cell_int(&row->cells[OBJS], objects);
	kmt_cell_int(&row->cells[RATE], objects * 3);
	kmt_cell_int(&row->cells[UNTRACED], untraced);
	kmt_cell_text(&row->cells[MODULE], "vmlinux");
	kmt_cell_text(&row->cells[SITE], site);
	kmt_cell_text(&row->cells[GFP], "GFP_KERNEL");
	kmt_cell_text(&row->cells[LIFETIMES], "0\n10\n0\n5");
	kmt_cell_text(&row->cells[SIZES], "64:30\n2048:10");
}

static void add_fields(const struct world *w, struct kmt_report *r)
{
	kmt_fields_int(&r->summary, "live_bytes_allocated", "live, given", KMT_UNIT_BYTES, w->live);
	kmt_fields_int(&r->summary, "allocs", "allocations", KMT_UNIT_COUNT, 3000);
	kmt_fields_int(&r->summary, "peak_bytes_allocated", "peak", KMT_UNIT_BYTES, 8192);
	kmt_fields_text(&r->quality, "mode", "mode", "counted");
	kmt_fields_int(&r->quality, "lost_total", "lost, all reasons", KMT_UNIT_COUNT, w->lost);
	r->quality.v[r->quality.n - 1].alarm = w->lost != 0;
	kmt_fields_int(&r->quality, "lost_ring", "ring buffer full", KMT_UNIT_COUNT, w->lost);
	r->quality.v[r->quality.n - 1].alarm = w->lost != 0;
	kmt_fields_int(&r->quality, "untraced_frees", "untraced frees", KMT_UNIT_COUNT, w->lost);
	kmt_report_note(r, "a note that proves nothing");
	r->window_ns = 2 * SEC;
}

static int report(void *ctx, const char *analysis, bool since_mark, struct kmt_report **ret)
{
	static const char *const names[] = { "load_msg+0x41", "mas_alloc+0x30", "evil\033[2J", "z" };
	struct world *w = ctx;
	struct kmt_report *r;

	note(w, since_mark ? 's' : 'a');
	snprintf(w->analysis, sizeof(w->analysis), "%s", analysis);
	if (w->report_error && strcmp(analysis, "cache"))
		return kmt_err(w->report_error, "no such table here");
	assert_int_equal(kmt_report_new("top", analysis, columns, N_COLUMNS, &r), 0);
	for (int i = 0; i < w->n_rows; i++)
		add_row(r, names[i % 4], w->bytes[i % 4], 10 + i, i == 1 ? 7 : 0);
	add_fields(w, r);
	assert_int_equal(kmt_report_sort(r, "live_bytes_allocated"), 0);
	*ret = r;
	return 0;
}

static int save(void *ctx, char *said, size_t size)
{
	snprintf(said, size, "written: x.kmt");
	return 0;
}

static int seek(void *ctx, uint64_t at)
{
	struct world *w = ctx;

	w->sought = w->data.at_ns = at;
	return 0;
}

static void open_world(struct world *w, int rows, int cols, bool utf8)
{
	memset(w, 0, sizeof(*w));
	fake_init(&w->f, rows, cols, utf8);
	w->data = (struct kmt_tui_data){ .ctx = w, .title = "host", .interval_ns = SEC,
					 .now = now_of, .read = read_data, .mark = mark,
					 .report = report, .save = save };
	w->now = 100 * SEC;
	w->live = 4096;
	w->n_rows = 3;
	w->bytes[0] = 2048000;
	w->bytes[1] = 4096;
	w->bytes[2] = 1024;
}

static void begin(struct world *w)
{
	assert_int_equal(kmt_tui_new(&w->f.term, &w->data, kmt_tui_view_of("site"), &w->tui), 0);
	assert_int_equal(kmt_tui_step(w->tui), 0);
}

static void end(struct world *w)
{
	kmt_tui_free(w->tui);
}

/* Keys, and then time enough for a drawing, but not for a reading. */
static void press(struct world *w, const char *keys)
{
	while (*keys)
		fake_press(&w->f, *keys++);
	w->now += SEC / 4;
	assert_int_equal(kmt_tui_step(w->tui), 0);
}

static void press_key(struct world *w, int key)
{
	fake_press(&w->f, key);
	press(w, "");
}

static void line_is(struct world *w, int row, const char *want)
{
	assert_string_equal(w->f.line[row], want);
}

/* The row and column where a text stands. */
static bool find(struct world *w, const char *text, int *ret_row, int *ret_col)
{
	for (int r = 0; r < w->f.rows; r++) {
		const char *at = strstr(w->f.line[r], text);

		if (at) {
			*ret_row = r;
			*ret_col = (int)(at - w->f.line[r]);
			return true;
		}
	}
	return false;
}

static void has(struct world *w, const char *text)
{
	int r, c;

	if (!find(w, text, &r, &c))
		fail_msg("'%s' is not on the screen", text);
}

static void has_not(struct world *w, const char *text)
{
	int r, c;

	assert_false(find(w, text, &r, &c));
}

static bool is_reverse(struct world *w, const char *text)
{
	int r = 0, c = 0;

	assert_true(find(w, text, &r, &c));
	return w->f.shown_attr[r][c] & KMT_ATTR_REVERSE;
}

/* ---- tests ---- */

static void test_table(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	assert_string_equal(w.calls, "mrs");
	line_is(&w, 0, "kmemtrace top: host  counts of the last 2.00s  mode counted");
	line_is(&w, 2, "live 4.0 KiB  allocs 1500/s");
	line_is(&w, 4, "[1 Sites] 2 Caches 3 Suspects 4 Pages 5 Who 6 Modules 7 Both 8 Waste 9 Stacks");
	/*
	 * Widths: 7, 11, 4, 7, 7, 9, 5, 8, 7 and the name's 14, with the blanks 88. There
	 * are 78: the module goes (80), and the untraced frees (71).
	 */
	line_is(&w, HEAD, "    LIVEv       NET/S OBJS ALLOC/S AGE P50 TEMPORARY WASTE SITE");
	line_is(&w, HEAD + 1,
		"> 2.0 MiB -1000 KiB/s   10    30/s       -         -     - load_msg+0x41");
	line_is(&w, HEAD + 2,
		" !4.0 KiB  -2.0 KiB/s   11    33/s       -         -     - mas_alloc+0x30");
	/* what drives terminals does not come through */
	has(&w, "evil\\x1b[2J");
	assert_true(w.f.shown_attr[HEAD + 2][1] & KMT_ATTR_REVERSE);
	assert_false(w.f.shown_attr[HEAD + 1][1] & KMT_ATTR_REVERSE);
	end(&w);
}

static void test_losses(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	line_is(&w, 1, "lost 0  untraced frees 0");
	assert_false(is_reverse(&w, "lost 0"));
	w.lost = 12;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	line_is(&w, 1, "lost 12  untraced frees 12  ring buffer full 12");
	assert_true(is_reverse(&w, "lost 12"));
	assert_true(is_reverse(&w, "untraced frees 12"));
	assert_true(is_reverse(&w, "ring buffer full 12"));
	end(&w);
}

static void test_sort(void **state)
{
	struct world w;

	open_world(&w, 24, 80, true);
	begin(&w);
	/* the mark is a character of its own: U+25BC; reversed U+25B2 */
	assert_int_equal(w.f.shown[HEAD][8], 0x25bc);
	press(&w, "r");
	assert_int_equal(w.f.shown[HEAD][8], 0x25b2);
	has(&w, "SITE");
	assert_non_null(strstr(w.f.line[HEAD + 1], "evil"));
	press(&w, ">");	/* by NET/s, the greatest first: least live here */
	assert_non_null(strstr(w.f.line[HEAD], "NET/S?"));
	assert_non_null(strstr(w.f.line[HEAD + 1], "evil"));
	press(&w, "<<");	/* from the first to the last, the name: ascending */
	assert_non_null(strstr(w.f.line[HEAD], "SITE?"));
	assert_non_null(strstr(w.f.line[HEAD + 1], "evil"));
	assert_non_null(strstr(w.f.line[HEAD + 2], "load_msg"));
	press(&w, "r");
	assert_non_null(strstr(w.f.line[HEAD + 1], "mas_alloc"));
	/* it stays when there are new numbers */
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_non_null(strstr(w.f.line[HEAD + 1], "mas_alloc"));
	end(&w);
}

static void test_filter(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "/MSG");
	line_is(&w, 23, "filter: MSG");
	assert_int_equal(w.f.cursor_row, 23);
	has(&w, "mas_alloc");
	press_key(&w, KMT_KEY_ENTER);
	assert_int_equal(w.f.cursor_row, -1);
	has(&w, "load_msg");
	has_not(&w, "mas_alloc");
	line_is(&w, 23, "? help  1 rows  filter: MSG");
	press(&w, "/");
	for (int i = 0; i < 3; i++)
		press_key(&w, KMT_KEY_BACKSPACE);
	press(&w, "live<1M");
	press_key(&w, KMT_KEY_ENTER);
	has_not(&w, "load_msg");
	has(&w, "mas_alloc");
	press(&w, "/");
	press(&w, "(");
	press_key(&w, KMT_KEY_ENTER);	/* "live<1M(" is no size */
	has(&w, "'1M('");
	has(&w, "load_msg");
	press(&w, "/nothing");
	press_key(&w, KMT_KEY_ENTER);
	has(&w, "no row passes the filter");
	press(&w, "/x");
	press_key(&w, KMT_KEY_ESCAPE);	/* the old one stays */
	has(&w, "no row passes the filter");
	end(&w);
}

static void test_pause(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, " ");
	has(&w, "[paused]");
	memset(w.calls, 0, sizeof(w.calls));
	for (int i = 0; i < 20; i++) {
		w.now += SEC;
		assert_int_equal(kmt_tui_step(w.tui), 0);
	}
	assert_string_equal(w.calls, "");
	press(&w, ">r");	/* can be looked at otherwise meanwhile */
	assert_string_equal(w.calls, "");
	press(&w, "p");
	assert_string_equal(w.calls, "mrs");
	has_not(&w, "[paused]");
	end(&w);
}

static void test_since(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "c");
	assert_string_equal(w.calls, "mrsa");
	has(&w, "counts of all 2.00s");
	press(&w, "b");	/* read, report, mark, and a report from there */
	assert_string_equal(w.calls, "mrsarams");
	has(&w, "counts of the baseline's 2.00s");
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_string_equal(w.calls, "mrsaramsrs");	/* the mark stays where it is */
	press(&w, "b");
	has(&w, "counts of the last 2.00s");
	end(&w);
}

/* Keys come as fast as they like: four drawings a second, and none for nothing. */
static void test_rate(void **state)
{
	struct world w;
	int shows;

	open_world(&w, 24, 80, false);
	begin(&w);
	shows = w.f.shows;
	for (int i = 0; i < 40; i++) {
		w.now += SEC / 20;
		if (i < 20)
			fake_press(&w.f, 'r');
		assert_int_equal(kmt_tui_step(w.tui), 0);
	}
	/* 4 in the first second; then one for the reading at 1 s and one for that at 2 s */
	assert_in_range(w.f.shows - shows, 5, 6);
	end(&w);
}

static void test_size(void **state)
{
	struct world w;

	open_world(&w, 23, 80, false);
	begin(&w);
	line_is(&w, 0, "80x23 is too small: 80x24, or q");
	line_is(&w, 5, "");
	w.f.rows = 60;
	w.f.cols = 200;
	press_key(&w, KMT_KEY_RESIZE);
	assert_non_null(strstr(w.f.line[HEAD], "UNTRACED MODULE  SITE"));
	line_is(&w, 59, "? help  3 rows");
	w.f.rows = 3;
	w.f.cols = 79;
	press_key(&w, KMT_KEY_RESIZE);
	line_is(&w, 0, "79x3 is too small: 80x24, or q");
	end(&w);
}

static void test_cursor(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press_key(&w, KMT_KEY_DOWN);
	assert_non_null(strstr(w.f.line[HEAD + 2], ">!4.0 KiB"));
	/* the row goes to the top: the cursor goes with it */
	w.bytes[1] = 4096000;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_non_null(strstr(w.f.line[HEAD + 1], ">!3.9 MiB"));
	/* on the first place it stays there */
	w.bytes[1] = 1;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_non_null(strstr(w.f.line[HEAD + 1], "load_msg"));
	assert_int_equal(w.f.line[HEAD + 1][0], '>');
	press_key(&w, KMT_KEY_END);
	assert_int_equal(w.f.line[HEAD + 3][0], '>');
	press_key(&w, KMT_KEY_HOME);
	assert_int_equal(w.f.line[HEAD + 1][0], '>');
	end(&w);
}

/* 100 rows, 17 of them on the screen. */
static void test_scroll(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	w.n_rows = 100;
	begin(&w);
	line_is(&w, 23, "? help  100 rows");
	press_key(&w, KMT_KEY_END);
	assert_int_equal(w.f.line[22][0], '>');
	press_key(&w, KMT_KEY_PAGE_UP);
	assert_int_equal(w.f.line[HEAD + 1][0], '>');
	press_key(&w, KMT_KEY_PAGE_UP);
	assert_int_equal(w.f.line[HEAD + 1][0], '>');
	press_key(&w, KMT_KEY_DOWN);
	assert_int_equal(w.f.line[HEAD + 2][0], '>');
	end(&w);
}

static void test_detail(void **state)
{
	struct world w;

	open_world(&w, 60, 200, false);
	begin(&w);
	press_key(&w, KMT_KEY_ENTER);
	has(&w, "site                   load_msg+0x41");
	has(&w, "gfp                    GFP_KERNEL");
	has(&w, "live_objects                       10");
	has(&w, "lifetimes of what was freed");
	/* entry 1: below 2 * 2.048 us, 10 of them, the longest bar; entry 3: half as many */
	has(&w, "below 4.10us         10 ##############################");
	has(&w, "below 16.4us          5 ###############");
	has_not(&w, "below 2.05us");
	has(&w, "64 B         30 ##############################");
	has(&w, "2.0 KiB         10 ##########");
	press(&w, "B");
	has(&w, "2048000");
	press_key(&w, KMT_KEY_ESCAPE);
	has(&w, "SITE");
	press(&w, "n");
	has(&w, "note: a note that proves nothing");
	press(&w, "?");
	has(&w, "1 Sites");
	has(&w, "leave");
	end(&w);
}

/* A pane longer than the screen: 24 lines, 5 of the header and the last are taken. */
static void test_pane_scroll(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "?");
	has(&w, "1 Sites      who");
	press_key(&w, KMT_KEY_END);
	has_not(&w, "1 Sites      who");
	has(&w, "proves nothing.");
	press_key(&w, KMT_KEY_UP);
	has_not(&w, "proves nothing.");
	end(&w);
}

static void test_views(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	w.report_error = -ENOTSUP;
	w.live = 8192;
	press(&w, "4");
	has(&w, "[4 Pages]");
	has(&w, "no such table here");
	has(&w, "live 8.0 KiB");	/* what stands above it is known all the same */
	press(&w, "/x");
	press_key(&w, KMT_KEY_ENTER);
	press(&w, "<>r");
	press_key(&w, KMT_KEY_ENTER);
	has(&w, "no such table here");
	w.report_error = 0;
	press(&w, "1");
	assert_string_equal(w.analysis, "site");
	w.report_error = -ENOTSUP;
	press(&w, "9>");	/* a tree */
	has(&w, "these rows have an order of their own");
	w.report_error = 0;
	press(&w, "\t");	/* behind the last comes the first */
	has(&w, "[1 Sites]");
	end(&w);
}

static void test_leave(void **state)
{
	static const int keys[] = { 'q', KMT_KEY_GONE };
	struct world w;

	for (size_t i = 0; i < 2; i++) {
		open_world(&w, 24, 80, false);
		begin(&w);
		fake_press(&w.f, keys[i]);
		assert_int_equal(kmt_tui_step(w.tui), 1);
		end(&w);
	}
	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "/q");	/* typed, not pressed */
	fake_press(&w.f, KMT_KEY_GONE);
	assert_int_equal(kmt_tui_step(w.tui), 1);
	end(&w);
}

static void test_errors(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	w.read_error = -EIO;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), -EIO);
	w.read_error = 0;
	w.report_error = -ENOMEM;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), -ENOMEM);
	end(&w);
}

static void test_save(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "w");
	line_is(&w, 23, "written: x.kmt");
	press(&w, "[");
	line_is(&w, 23, "time keys are for recordings: kmemtrace top FILE");
	end(&w);
}

/* 1, 2, 4 of 4: an eighth each of 7 below the highest, which alone has '#'. */
static void test_curve(void **state)
{
	static const int64_t live[] = { 1000, 2000, 4000 };
	struct world w;

	open_world(&w, 24, 80, false);
	w.live = live[0];
	begin(&w);
	line_is(&w, 3, "live  #  peak 8.0 KiB");
	for (int i = 1; i < 3; i++) {
		w.live = live[i];
		w.now += SEC;
		assert_int_equal(kmt_tui_step(w.tui), 0);
	}
	/* 1 + 7/4 = 2 -> '.', 1 + 14/4 = 4 -> '-' */
	line_is(&w, 3, "live  .-#  peak 8.0 KiB");
	end(&w);
}

static void test_recording(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	w.data.seek = seek;
	w.data.save = NULL;
	w.data.at_ns = w.data.length_ns = 50 * SEC;
	w.data.notice = "damaged at offset 7";
	begin(&w);
	has(&w, "at 50.0s of 50.0s");
	line_is(&w, 23, "damaged at offset 7");
	press(&w, "[");	/* a fiftieth, and a nanosecond for what the division left */
	assert_int_equal(w.sought, 49 * SEC - 1);
	has(&w, "at 49.0s of 50.0s");
	press_key(&w, KMT_KEY_RIGHT);
	assert_int_equal(w.sought, 50 * SEC);
	press(&w, "{");
	assert_int_equal(w.sought, 1);
	press(&w, "[");
	assert_int_equal(w.sought, 1);
	press(&w, " ");	/* plays: as long as it lasted */
	for (int i = 0; i < 10; i++) {
		w.now += SEC;
		assert_int_equal(kmt_tui_step(w.tui), 0);
	}
	assert_in_range(w.sought, 10 * SEC, 11 * SEC);
	w.now += 60 * SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_int_equal(w.sought, 50 * SEC);
	w.sought = 0;
	w.now += 60 * SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_int_equal(w.sought, 0);	/* and stops at the end */
	press(&w, "w");
	line_is(&w, 23, "this is a recording already");
	end(&w);
}

/* Every view has an analysis, and that has the view's columns. */
static void test_columns(void **state)
{
	for (size_t i = 0; kmt_tui_views[i]; i++) {
		const struct kmt_analysis *a = kmt_analysis_find(kmt_tui_views[i]->analysis);
		struct kmt_session *s;
		struct kmt_analysis_in in = { .command = "top" };
		struct kmt_report *r = NULL;

		assert_non_null(a);
		assert_string_equal(a->name, kmt_tui_views[i]->analysis);
		assert_int_equal(kmt_session_new(&(struct kmt_session_opts){ 0 }, &s), 0);
		in.session = s;
		assert_int_equal(a->run(&in, &r), 0);
		if (kmt_tui_view_choose(kmt_tui_views[i], r))
			fail_msg("%s: %s", a->name, kmt_err_text());
		assert_true(r->shown_may_drop);
		assert_int_equal(kmt_tui_views[i]->has_order, a->own_order);
		kmt_report_free(r);
		kmt_session_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_scroll),
		cmocka_unit_test(test_detail),
		cmocka_unit_test(test_pane_scroll),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_save),
		cmocka_unit_test(test_curve),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
