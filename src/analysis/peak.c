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
#include "analysis/live_rows.h"
#include "analysis/rows.h"
#include "analysis/summary.h"
#include "base/err.h"
#include "core/event.h"
#include "core/observer.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_peak;

struct row {
	struct kmt_held at_peak;
	uint64_t seen;		/* the last peak of its layer when this row last changed */
};

struct peak {
	uint64_t no, ns;	/* 0: there was none yet */
	unsigned __int128 bytes;
};

struct state {
	struct kmt_live_rows live;
	struct row *v;		/* as many */
	size_t n;
	struct peak peaks[KMT_LAYERS];
	uint64_t first_ns;
	bool has_time;
};

/* As many as there are live rows. */
static int grow(struct state *st)
{
	struct row *v;

	if (st->live.n == st->n)
		return 0;
	v = reallocarray(st->v, st->live.n, sizeof(*v));
	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	memset(v + st->n, 0, (st->live.n - st->n) * sizeof(*v));
	st->v = v;
	st->n = st->live.n;
	return 0;
}

/* Row i has changed: if a peak has passed since its last change, that was its part in it. */
static int change(struct state *st, const struct kmt_session *s, size_t i)
{
	struct kmt_held before;
	unsigned layer;
	int err = kmt_live_rows_change(&st->live, s, i, &before, &layer);

	if (!err)
		err = grow(st);
	if (err)
		return err;
	if (st->v[i].seen < st->peaks[layer].no)
		st->v[i].at_peak = before;
	st->v[i].seen = st->peaks[layer].no;
	return 0;
}

/* After all rows of this moment have changed. */
static void look_for_peaks(struct state *st, const struct kmt_session *s)
{
	uint64_t now = kmt_session_now(s);

	if (!st->has_time && now) {
		st->first_ns = now;
		st->has_time = true;
	}
	for (int layer = 0; layer < KMT_LAYERS; layer++) {
		struct peak *p = &st->peaks[layer];

		if (st->live.bytes[layer] <= p->bytes)
			continue;
		p->bytes = st->live.bytes[layer];
		p->ns = now;
		p->no++;
	}
}

static int on_alloc(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		    size_t site)
{
	int err = change(state, s, site);

	look_for_peaks(state, s);
	return err;
}

static int on_free(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		   const struct kmt_object *o)
{
	int err = change(state, s, o->site);

	look_for_peaks(state, s);
	return err;
}

static int on_snapshot(void *state, const struct kmt_session *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < kmt_session_n_sites(s); i++)
		err = change(state, s, i);
	look_for_peaks(state, s);
	return err;
}

static void done(void *state)
{
	struct state *st = state;

	free(st->v);
	kmt_live_rows_done(&st->live);
}

static const struct kmt_observer observer = {
	.state_size = sizeof(struct state),
	.on_alloc = on_alloc,
	.on_free = on_free,
	.on_snapshot = on_snapshot,
	.done = done,
};

/* What a row held at its layer's peak. */
static struct kmt_held held_at_peak(const struct state *st, size_t i, unsigned layer)
{
	if (i >= st->n)
		return (struct kmt_held){ 0 };
	return st->v[i].seen < st->peaks[layer].no ? st->live.v[i] : st->v[i].at_peak;
}

/* ---- the view ---- */

#define COLUMNS(hide_layer) {									\
	{ "layer", "LAYER", KMT_UNIT_TEXT, hide_layer, false },					\
	{ "at_peak_bytes_allocated", "AT PEAK", KMT_UNIT_BYTES, KMT_SHOWN, false },		\
	{ "at_peak_percent", "%", KMT_UNIT_PERCENT, KMT_SHOWN, false },				\
	{ "at_peak_objects", "OBJS", KMT_UNIT_COUNT, KMT_SHOWN, false },			\
	{ "at_peak_bytes_requested", "AT PEAK REQ", KMT_UNIT_BYTES, KMT_HIDDEN, false },	\
	{ "peak_at_ns", "PEAK AT", KMT_UNIT_NS, KMT_HIDDEN, false },				\
	{ "live_bytes_allocated", "LIVE NOW", KMT_UNIT_BYTES, KMT_SHOWN, false },		\
	{ "live_objects", "OBJS NOW", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	KMT_COLUMNS_RCU(KMT_IF_ANY),								\
	KMT_COLUMN_UNTRACED(KMT_IF_ANY),							\
	{ "peak_bytes_allocated", "OWN PEAK", KMT_UNIT_BYTES, KMT_HIDDEN, false },		\
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_HIDDEN, false },				\
	KMT_COLUMNS_SITE,									\
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },					\
	{ "object_size", "SIZE", KMT_UNIT_BYTES, KMT_HIDDEN, false },				\
	{ "aliases", "ALIASES", KMT_UNIT_LIST, KMT_HIDDEN, false },				\
	{ "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },					\
	{ "gfp", "GFP", KMT_UNIT_TEXT, KMT_HIDDEN, false },					\
}

static const struct kmt_column columns[] = COLUMNS(KMT_HIDDEN);
static const struct kmt_column layer_columns[] = COLUMNS(KMT_SHOWN);

static struct kmt_held of_group(const struct kmt_row_source *s)
{
	const struct state *st = s->ctx;
	unsigned layer = kmt_layer_of(s->key);
	struct kmt_held sum = { 0 };

	for (size_t i = 0; i < s->g->n; i++) {
		struct kmt_held h = held_at_peak(st, s->groups->members[s->g->start + i], layer);

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

static int fill_at_peak(const struct kmt_row_source *s, const char *what, struct kmt_cell *cell)
{
	const struct state *st = s->ctx;
	const struct peak *p = &st->peaks[kmt_layer_of(s->key)];
	struct kmt_held h = of_group(s);

	if (!strcmp(what, "bytes_allocated"))
		kmt_cell_int(cell, kmt_cell_value(h.bytes));
	else if (!strcmp(what, "bytes_requested"))
		kmt_cell_int(cell, kmt_cell_value(h.requested));
	else if (!strcmp(what, "objects"))
		kmt_cell_int(cell, kmt_cell_value(h.objects));
	else if (p->bytes)
		kmt_cell_percent(cell, 100.0 * (double)h.bytes / (double)p->bytes);
	return 1;
}

static int fill(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	const struct state *st = s->ctx;
	unsigned layer = kmt_layer_of(s->key);
	int err;

	if (!strncmp(key, "at_peak_", 8))
		return fill_at_peak(s, key + 8, cell);
	if (!strcmp(key, "layer")) {
		err = kmt_cell_text(cell, kmt_layer_text(layer));
		return err ? err : 1;
	}
	if (strcmp(key, "peak_at_ns"))
		return 0;
	if (st->has_time && st->peaks[layer].no)
		kmt_cell_int(cell, kmt_cell_value(kmt_sat_sub(st->peaks[layer].ns, st->first_ns)));
	return 1;
}

/* One layer has one moment; several have no moment in common. */
static int add_summary(const struct state *st, struct kmt_report *r)
{
	const struct peak *only = NULL;
	unsigned n = 0;
	int err;

	for (int layer = 0; layer < KMT_LAYERS; layer++) {
		if (!st->peaks[layer].no)
			continue;
		only = &st->peaks[layer];
		n++;
	}
	if (n != 1 || !st->has_time)
		only = NULL;
	err = kmt_fields_int(&r->summary, "peak_at_ns", "peak was at", KMT_UNIT_NS,
			     only ? kmt_cell_value(kmt_sat_sub(only->ns, st->first_ns)) : 0);
	if (!err)
		r->summary.v[r->summary.n - 1].cell.is_null = !only;
	return err;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct state nothing;
	const struct state *st = kmt_session_observed(in->session, &observer);
	const struct kmt_rows_view view = {
		.name = "peak", .by = KMT_GROUP_SITE | KMT_GROUP_CACHE,
		.columns = kmt_count_layers(in->session) > 1 ? layer_columns : columns,
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
