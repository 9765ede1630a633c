// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who held the memory when the footprint was highest.
 *
 * Copying all rows at each new peak would cost as much as there are rows, and
 * while memory grows each allocation is a new peak. So peaks are numbered, and a
 * row settles what it held at the last of them only when it changes again:
 *
 *   peak no.          1        2  3
 *   row's changes  ──x──────x──────────x─►   at the third: a row that has not
 *                                            changed since peak 3 held then
 *                                            what it still holds
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/rows.h"
#include "analysis/summary.h"
#include "base/err.h"
#include "core/event.h"
#include "core/observer.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_peak;

struct held {
	uint64_t bytes, requested, objects;
};

struct row {
	struct held now, at_peak;
	uint64_t seen;		/* the last peak when this row last changed */
};

struct state {
	struct row *v;
	size_t n;
	uint64_t peak_no, peak;	/* its number, and how high it was */
	uint64_t first_ns, peak_ns;
	bool has_time;
};

static int grow(struct state *st, size_t need)
{
	size_t n = st->n ? st->n : 256;
	struct row *v;

	if (need <= st->n)
		return 0;
	while (n < need)
		n *= 2;
	v = reallocarray(st->v, n, sizeof(*v));
	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	memset(v + st->n, 0, (n - st->n) * sizeof(*v));
	st->v = v;
	st->n = n;
	return 0;
}

/* Row i has changed: if a peak has passed since its last change, that was its part in it. */
static int change(struct state *st, const struct kmt_session *s, size_t i)
{
	const struct kmt_counts *c = &kmt_session_site(s, i)->counts;
	struct row *r;
	int err = grow(st, i + 1);

	if (err)
		return err;
	r = &st->v[i];
	if (r->seen < st->peak_no)
		r->at_peak = r->now;
	r->seen = st->peak_no;
	r->now = (struct held){ .bytes = kmt_counts_live_alloc(c),
				.requested = kmt_counts_live_req(c),
				.objects = kmt_counts_live(c) };
	return 0;
}

static void look_for_peak(struct state *st, const struct kmt_session *s)
{
	uint64_t peak = kmt_session_peak(s), now = kmt_session_now(s);

	if (!st->has_time && now) {
		st->first_ns = now;
		st->has_time = true;
	}
	if (peak <= st->peak)
		return;
	st->peak = peak;
	st->peak_no++;
	st->peak_ns = now;
}

static int on_alloc(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		    size_t site)
{
	int err = change(state, s, site);

	look_for_peak(state, s);
	return err;
}

static int on_free(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		   const struct kmt_object *o)
{
	int err = change(state, s, o->site);

	look_for_peak(state, s);
	return err;
}

static int on_snapshot(void *state, const struct kmt_session *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < kmt_session_n_sites(s); i++)
		err = change(state, s, i);
	look_for_peak(state, s);
	return err;
}

static void done(void *state)
{
	free(((struct state *)state)->v);
}

static const struct kmt_observer observer = {
	.state_size = sizeof(struct state),
	.on_alloc = on_alloc,
	.on_free = on_free,
	.on_snapshot = on_snapshot,
	.done = done,
};

/* What a row held at the peak. */
static struct held held_at_peak(const struct state *st, size_t i)
{
	if (i >= st->n)
		return (struct held){ 0 };
	return st->v[i].seen < st->peak_no ? st->v[i].now : st->v[i].at_peak;
}

/* ---- the view ---- */

static const struct kmt_column columns[] = {
	{ "at_peak_bytes_allocated", "AT PEAK", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "at_peak_percent", "%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	{ "at_peak_objects", "OBJS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "at_peak_bytes_requested", "AT PEAK REQ", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "live_bytes_allocated", "LIVE NOW", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "live_objects", "OBJS NOW", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	{ "peak_bytes_allocated", "OWN PEAK", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMNS_SITE,
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },
	{ "object_size", "SIZE", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "aliases", "ALIASES", KMT_UNIT_LIST, KMT_HIDDEN, false },
	{ "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	{ "gfp", "GFP", KMT_UNIT_TEXT, KMT_HIDDEN, false },
};

static struct held of_group(const struct kmt_row_source *s)
{
	const struct state *st = s->ctx;
	struct held sum = { 0 };

	for (size_t i = 0; i < s->g->n; i++) {
		struct held h = held_at_peak(st, s->groups->members[s->g->start + i]);

		sum.bytes = kmt_sat_add(sum.bytes, h.bytes);
		sum.requested = kmt_sat_add(sum.requested, h.requested);
		sum.objects = kmt_sat_add(sum.objects, h.objects);
	}
	return sum;
}

static bool wants(const struct kmt_row_source *s)
{
	return of_group(s).objects != 0;
}

static int fill(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	const struct state *st = s->ctx;
	struct held h;

	if (strncmp(key, "at_peak_", 8))
		return 0;
	h = of_group(s);
	if (!strcmp(key, "at_peak_bytes_allocated"))
		kmt_cell_int(cell, kmt_cell_value(h.bytes));
	else if (!strcmp(key, "at_peak_bytes_requested"))
		kmt_cell_int(cell, kmt_cell_value(h.requested));
	else if (!strcmp(key, "at_peak_objects"))
		kmt_cell_int(cell, kmt_cell_value(h.objects));
	else if (!strcmp(key, "at_peak_percent") && st->peak)
		kmt_cell_percent(cell, 100.0 * (double)h.bytes / (double)st->peak);
	return 1;
}

static int add_summary(const struct state *st, struct kmt_report *r)
{
	bool known = st->peak_no && st->has_time;
	int err = kmt_fields_int(&r->summary, "peak_at_ns", "peak was at", KMT_UNIT_NS,
				 known ? kmt_cell_value(kmt_sat_sub(st->peak_ns, st->first_ns)) : 0);

	if (!err)
		r->summary.v[r->summary.n - 1].cell.is_null = !known;
	return err;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct state nothing;
	const struct state *st = kmt_session_observed(in->session, &observer);
	const struct kmt_rows_view view = {
		.name = "peak", .by = KMT_GROUP_SITE | KMT_GROUP_CACHE, .columns = columns,
		.n_columns = KMT_N(columns), .sort = "at_peak_bytes_allocated", .wants = wants,
		.fill = fill, .ctx = (void *)(st ? st : &nothing),
	};
	struct kmt_report *r = NULL;
	int err = kmt_rows_run(in, &view, &r);

	if (!err)
		err = add_summary(view.ctx, r);
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret_report = r;
	return 0;
}

const struct kmt_analysis kmt_analysis_peak = {
	.name = "peak",
	.help = "who held the memory when the footprint was highest",
	.needs = KMT_NEEDS_OBJECTS,
	.observer = &observer,
	.run = run,
};
