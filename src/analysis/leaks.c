// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may be a leak, with the evidence. Never 'leak': a site is a suspect when
 * its objects survive, what it holds has grown over at least three windows of time
 * and still does, and the books of its cache balance with the kernel's own.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/books.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/rows.h"
#include "analysis/summary.h"
#include "analysis/trend.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fmt.h"
#include "core/quality.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_leaks;

#define MIN_WINDOWS	3	/* that must have grown */
#define FALLS		4	/* for so many that grew one may have shrunk */

static const struct kmt_column columns[] = {
	{ "state", "STATE", KMT_UNIT_TEXT, KMT_SHOWN, false },
	{ "surviving_bytes", "SURVIVING", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "surviving_objects", "SURVIVORS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	{ "growth_bytes_per_s", "GROWTH", KMT_UNIT_BYTES_PER_S, KMT_SHOWN, false },
	{ "windows_grown", "GREW", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	{ "windows_shrunk", "SHRANK", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	{ "age_min_ns", "AGE MIN", KMT_UNIT_NS, KMT_HIDDEN, false },
	{ "age_p50_ns", "AGE P50", KMT_UNIT_NS, KMT_SHOWN, false },
	{ "age_max_ns", "AGE MAX", KMT_UNIT_NS, KMT_HIDDEN, false },
	{ "reason", "REASON", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	{ "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMNS_RCU(KMT_HIDDEN),
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	{ "frees", "FREES", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMN_UNTRACED(KMT_HIDDEN),
	KMT_COLUMNS_SITE,
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },
	KMT_COLUMNS_CACHE(KMT_HIDDEN, KMT_HIDDEN),
	KMT_COLUMNS_MORE,
};

/*
 * What survives is no more than the books may be off by, and not all frees are seen: of
 * objects here addresses were handed out again without one, or nobody looks at the silent
 * paths. All of it may have gone that way.
 */
static bool may_be_gone(const struct kmt_row_source *s, const struct kmt_book *b)
{
	struct kmt_quality q;
	const char *unseen;

	if (s->g->survivors > b->tolerance)
		return false;
	kmt_session_quality(s->in->session, &q);
	unseen = strstr(q.functions, "not seen");
	if (unseen && strstr(unseen, "free"))
		return true;
	for (size_t i = 0; i < s->g->n; i++) {
		size_t row = s->groups->members[s->g->start + i];

		if (kmt_session_site(s->in->session, row)->counts.untraced_frees)
			return true;
	}
	return false;
}

/* Why a group is no suspect; empty if it is one. */
static void find_reason(const struct kmt_row_source *s, const struct kmt_trend *t,
			struct kmt_buf *ret)
{
	const struct kmt_book *b = &s->books->v[s->books->of[s->groups->members[s->g->start]]];
	char at[KMT_FMT_LEN];

	if (!t->windows)
		kmt_buf_puts(ret, "not watched over time");
	else if (t->rose < MIN_WINDOWS)
		kmt_buf_printf(ret, "grew in %u of %u windows", t->rose, t->windows);
	else if (t->fell * FALLS > t->rose)
		kmt_buf_printf(ret, "grew in %u and shrank in %u of %u windows", t->rose, t->fell,
			       t->windows);
	else if ((t->last_rise + 1) * 4 <= t->windows * 3)
		kmt_buf_printf(ret, "has not grown since %s",
			       kmt_fmt_duration(at, (t->last_rise + 1) * t->width_ns));
	else if (b->verdict != KMT_BOOK_BALANCED)
		kmt_buf_printf(ret, "books %s", b->text);
	else if (may_be_gone(s, b))
		kmt_buf_printf(ret, "frees may be silent, and the books off by %" PRIu64, b->tolerance);
}

/* Of the floors: what only came and went does not count. */
static void put_growth(const struct kmt_trend *t, struct kmt_cell *cell)
{
	__int128 grown = (__int128)t->last_floor - t->first_floor;

	if (t->windows < 2)
		return;
	grown = grown * 1000000000 / ((__int128)t->width_ns * (t->windows - 1));
	kmt_cell_int(cell, grown > INT64_MAX ? INT64_MAX : grown < INT64_MIN ? INT64_MIN :
		     (int64_t)grown);
}

static bool is_own(const char *key)
{
	return !strncmp(key, "windows_", 8) || !strcmp(key, "state") || !strcmp(key, "reason") ||
	       !strcmp(key, "growth_bytes_per_s");
}

static int fill(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	_cleanup_buf_ struct kmt_buf reason = { 0 };
	struct kmt_trend t;
	int err = 0;

	if (!is_own(key))
		return 0;
	kmt_trend_of(s->in->session, s->groups->members + s->g->start, s->g->n, &t);
	find_reason(s, &t, &reason);
	if (reason.error)
		return kmt_err(reason.error, "out of memory");
	if (!strcmp(key, "state"))
		err = kmt_cell_text(cell, reason.len ? "surviving" : "suspect");
	else if (!strcmp(key, "reason"))
		err = kmt_cell_text(cell, reason.len ? kmt_buf_str(&reason) : NULL);
	else if (!strcmp(key, "growth_bytes_per_s"))
		put_growth(&t, cell);
	else if (!strcmp(key, "windows_grown") && t.windows)
		kmt_cell_int(cell, t.rose);
	else if (t.windows)
		kmt_cell_int(cell, t.fell);
	return err ? err : 1;
}

/* Under each row of text, in words. */
static int add_evidence(const struct kmt_trend *all, struct kmt_report *r, size_t *ret_suspects)
{
	int state = kmt_report_column(r, "state"), reason = kmt_report_column(r, "reason");
	int grown = kmt_report_column(r, "windows_grown");
	int objects = kmt_report_column(r, "surviving_objects");
	size_t suspects = 0;
	int err = 0;

	for (size_t i = 0; i < r->n_rows && !err; i++) {
		const struct kmt_cell *c = r->rows[i].cells;
		_cleanup_buf_ struct kmt_buf b = { 0 };

		if (!strcmp(c[state].text, "suspect")) {
			suspects++;
			kmt_buf_printf(&b, "%" PRId64 " survive, grew in %" PRId64 " of %u windows, "
				       "books balanced", c[objects].i, c[grown].i, all->windows);
		} else {
			kmt_buf_printf(&b, "no suspect: %s", c[reason].text);
		}
		err = b.error ? kmt_err(b.error, "out of memory") :
		      kmt_row_detail(&r->rows[i], kmt_buf_str(&b));
	}
	*ret_suspects = suspects;
	return err;
}

static int add_summary(const struct kmt_trend *all, uint64_t suspects, uint64_t age_ns,
		       struct kmt_report *r)
{
	struct kmt_fields *f = &r->summary;

	if (kmt_fields_int(f, "suspects", "suspects", KMT_UNIT_COUNT, kmt_cell_value(suspects)) ||
	    kmt_fields_int(f, "survivor_age_ns", "surviving is above", KMT_UNIT_NS,
			   kmt_cell_value(age_ns)) ||
	    kmt_fields_int(f, "windows", "windows of time", KMT_UNIT_COUNT, all->windows))
		return -ENOMEM;
	return kmt_fields_int(f, "window_length_ns", "length of each", KMT_UNIT_NS,
			      kmt_cell_value(all->width_ns));
}

/* --min-age, and no less than the tail: the youngest may only not have been freed yet. */
static uint64_t survivor_age(const struct kmt_analysis_in *in)
{
	struct kmt_quality q;
	uint64_t tail;

	kmt_session_quality(in->session, &q);
	tail = (uint64_t)((double)q.window_ns * in->tail_percent / 100);
	if (in->min_age_ns > tail)
		return in->min_age_ns;
	return tail ? tail : 1;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_rows_view view = {
		.name = "leaks", .by = KMT_GROUP_SITE | KMT_GROUP_CACHE, .columns = columns,
		.survivor_columns = columns, .n_columns = KMT_N(columns),
		.sort = "surviving_bytes", .fill = fill,
	};
	struct kmt_analysis_in old = *in;
	struct kmt_report *r = NULL;
	struct kmt_trend all;
	size_t suspects = 0;
	int err;

	old.min_age_ns = survivor_age(in);
	kmt_trend_of(in->session, NULL, 0, &all);
	err = kmt_rows_run(&old, &view, &r);
	if (!err)
		err = add_evidence(&all, r, &suspects);
	if (!err)
		err = add_summary(&all, suspects, old.min_age_ns, r);
	/* suspects first, then by what survives */
	if (!err)
		err = kmt_report_sort(r, "state:desc");
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret_report = r;
	return 0;
}

const struct kmt_analysis kmt_analysis_leaks = {
	.name = "leaks",
	.aliases = { "suspects" },
	.help = "suspects of leaking, with the evidence",
	.needs = KMT_NEEDS_OBJECTS,
	.observer = &kmt_trend_observer,
	.run = run,
};
