/* SPDX-License-Identifier: GPL-2.0-only */
/* The screen with a terminal, a clock and data of the tests' own. */
#ifndef KMT_TESTS_UNIT_TUI_WORLD_H
#define KMT_TESTS_UNIT_TUI_WORLD_H

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

/* no test needs all of it */
#pragma GCC diagnostic ignored "-Wunused-function"

#define SEC	UINT64_C(1000000000)
#define HEAD	5	/* the row of the titles */

/* What the view 'site' shows, and a little that only the detail has. */
static const struct kmt_column columns[] = {
	{ "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, false, false },
	{ "net_bytes_per_s", "NET/S", KMT_UNIT_BYTES_PER_S, true, false },
	{ "live_objects", "OBJS", KMT_UNIT_COUNT, false, false },
	{ "allocs_per_s", "ALLOC/S", KMT_UNIT_COUNT_PER_S, true, false },
	{ "temporary_percent", "TEMP%", KMT_UNIT_PERCENT, true, false },
	{ "waste_percent", "WASTE%", KMT_UNIT_PERCENT, true, false },
	{ "age_p50_ns", "AGE P50", KMT_UNIT_NS, false, false },
	{ "waste_bytes", "WASTE", KMT_UNIT_BYTES, false, false },
	{ "untraced_frees", "UNTRACED", KMT_UNIT_COUNT, true, false },
	{ "module", "MODULE", KMT_UNIT_TEXT, true, false },
	{ "site", "SITE", KMT_UNIT_TEXT, false, true },
	{ "gfp", "GFP", KMT_UNIT_TEXT, true, false },
	{ "lifetimes_log2", "LIFETIMES", KMT_UNIT_LIST, true, false },
	{ "sizes", "SIZES", KMT_UNIT_LIST, true, false },
};
enum { LIVE, NET, OBJS, RATE, TEMPORARY_PC, WASTE_PC, AGE, WASTE, UNTRACED, MODULE, SITE, GFP, LIFETIMES, SIZES,
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
	bool not_counted;		/* by task and by cgroup */
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
	kmt_cell_percent(&row->cells[TEMPORARY_PC], 12.5);
	if (untraced)	/* else unknown */
		kmt_cell_percent(&row->cells[WASTE_PC], 100);
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

/* Any other view's own columns, and no rows. */
static void empty_report(const char *analysis, struct kmt_report **ret)
{
	struct kmt_analysis_in in = { .command = "top" };
	struct kmt_session *s;

	assert_int_equal(kmt_session_new(&(struct kmt_session_opts){ 0 }, &s), 0);
	in.session = s;
	assert_int_equal(kmt_analysis_find(analysis)->run(&in, ret), 0);
	kmt_session_free(s);
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
	if (w->not_counted && (!strcmp(analysis, "task") || !strcmp(analysis, "cgroup")))
		return kmt_err(-ENOTSUP, "no such table here");
	if (strcmp(analysis, "site") && strcmp(analysis, "cache")) {
		empty_report(analysis, ret);
		return 0;
	}
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

#endif
