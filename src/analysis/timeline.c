// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the footprint went over time. The time is cut into slots; when they are
 * all used, two become one and each is twice as long, so that a run of any
 * length takes the same memory:
 *
 *   | a | b | c | d |   ──►   |  a+b  |  c+d  |       |       |
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/live_rows.h"
#include "analysis/own_rows.h"
#include "analysis/summary.h"
#include "base/err.h"
#include "core/event.h"
#include "core/observer.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_timeline;

#define SLOTS		60		/* as many lines */
#define EVENTS_SLOT_NS	1000000ull	/* the shortest */
#define COUNTED_SLOT_NS	100000000ull	/* counts are read ten times a second */

struct flow {
	uint64_t allocs, frees, bytes_allocated, bytes_freed;
	uint64_t untraced_frees, given_up;	/* of the frees */
};

struct layer_slot {
	struct flow flow;
	uint64_t live_bytes, live_objects;	/* at its end */
	uint64_t peak_bytes;			/* in it */
	bool seen;				/* something happened: else as before */
};

struct slot {
	struct layer_slot layers[KMT_LAYERS];
};

struct state {
	struct slot v[SLOTS];
	struct kmt_live_rows live;
	bool started;
	uint64_t start_ns, width_ns, now_ns;
	struct slot *now;		/* its slot, up to this time: saves a division per event */
	uint64_t now_end_ns;
	struct flow counted[KMT_LAYERS];	/* at the last snapshot */
};

static void add_flow(struct flow *to, const struct flow *f)
{
	to->allocs = kmt_sat_add(to->allocs, f->allocs);
	to->frees = kmt_sat_add(to->frees, f->frees);
	to->bytes_allocated = kmt_sat_add(to->bytes_allocated, f->bytes_allocated);
	to->bytes_freed = kmt_sat_add(to->bytes_freed, f->bytes_freed);
	to->untraced_frees = kmt_sat_add(to->untraced_frees, f->untraced_frees);
	to->given_up = kmt_sat_add(to->given_up, f->given_up);
}

static struct flow sub_flow(const struct flow *f, const struct flow *since)
{
	return (struct flow){
		.allocs = kmt_sat_sub(f->allocs, since->allocs),
		.frees = kmt_sat_sub(f->frees, since->frees),
		.bytes_allocated = kmt_sat_sub(f->bytes_allocated, since->bytes_allocated),
		.bytes_freed = kmt_sat_sub(f->bytes_freed, since->bytes_freed),
		.untraced_frees = kmt_sat_sub(f->untraced_frees, since->untraced_frees),
		.given_up = kmt_sat_sub(f->given_up, since->given_up),
	};
}

static struct layer_slot join_layer(const struct layer_slot *a, const struct layer_slot *b)
{
	struct layer_slot sum = b->seen ? *b : *a;

	sum.flow = a->flow;
	add_flow(&sum.flow, &b->flow);
	sum.peak_bytes = a->peak_bytes > b->peak_bytes ? a->peak_bytes : b->peak_bytes;
	return sum;
}

static struct slot join(const struct slot *a, const struct slot *b)
{
	struct slot sum;

	for (int i = 0; i < KMT_LAYERS; i++)
		sum.layers[i] = join_layer(&a->layers[i], &b->layers[i]);
	return sum;
}

/* The slot of a time that is not before the last one. */
static struct slot *slot_at(struct state *st, uint64_t ns)
{
	uint64_t i;

	while ((ns - st->start_ns) / st->width_ns >= SLOTS) {
		for (i = 0; i < SLOTS / 2; i++)
			st->v[i] = join(&st->v[2 * i], &st->v[2 * i + 1]);
		memset(st->v + SLOTS / 2, 0, sizeof(*st->v) * (SLOTS / 2));
		st->width_ns *= 2;
	}
	i = (ns - st->start_ns) / st->width_ns;
	st->now_end_ns = kmt_sat_add(st->start_ns, (i + 1) * st->width_ns);
	return &st->v[i];
}

/*
 * The session's time never goes back, so neither do the slots. Before any time is
 * known there is nowhere to put anything.
 */
static struct slot *slot_now(struct state *st, const struct kmt_session *s, uint64_t width_ns)
{
	uint64_t now = kmt_session_now(s);

	if (!now)
		return NULL;
	if (!st->started) {
		st->started = true;
		st->start_ns = now;
		st->width_ns = width_ns;
	}
	st->now_ns = now;
	if (now >= st->now_end_ns)
		st->now = slot_at(st, now);
	return st->now;
}

static uint64_t clip(unsigned __int128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static void see_live(struct layer_slot *slot, const struct kmt_live_rows *l, unsigned layer)
{
	slot->live_bytes = clip(l->bytes[layer]);
	slot->live_objects = clip(l->objects[layer]);
	if (slot->live_bytes > slot->peak_bytes)
		slot->peak_bytes = slot->live_bytes;
	slot->seen = true;
}

/* Something happened to row i: the live rows follow in any case, the slot if there is one. */
static int see(struct state *st, const struct kmt_session *s, size_t i, const struct flow *f)
{
	struct slot *slot = slot_now(st, s, EVENTS_SLOT_NS);
	struct kmt_held before;
	unsigned layer;
	int err = kmt_live_rows_change(&st->live, s, i, &before, &layer);

	if (err || !slot)
		return err;
	add_flow(&slot->layers[layer].flow, f);
	see_live(&slot->layers[layer], &st->live, layer);
	return 0;
}

static int on_alloc(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		    size_t site)
{
	const struct flow f = { .allocs = 1, .bytes_allocated = ev->bytes_alloc };

	return see(state, s, site, &f);
}

static int on_free(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		   const struct kmt_object *o)
{
	const struct flow f = { .frees = 1, .bytes_freed = o->bytes_alloc,
				.untraced_frees = ev->op == KMT_OP_ALLOC,
				.given_up = ev->op == KMT_OP_GIVE_UP };

	return see(state, s, o->site, &f);
}

static void add_counts(struct flow *to, const struct kmt_counts *c)
{
	const struct flow f = { .allocs = c->allocs,
				.frees = kmt_sat_add(c->frees, c->untraced_frees),
				.bytes_allocated = c->bytes_alloc,
				.bytes_freed = c->bytes_alloc_freed,
				.untraced_frees = c->untraced_frees,
				.given_up = c->given_up };

	add_flow(to, &f);
}

/* What had been counted by the last snapshot belongs to the time since the one before. */
static int on_snapshot(void *state, const struct kmt_session *s)
{
	struct state *st = state;
	struct slot *slot = slot_now(st, s, COUNTED_SLOT_NS);
	struct flow all[KMT_LAYERS] = { 0 }, since;
	struct kmt_held before;
	unsigned layer;

	for (size_t i = 0; i < kmt_session_n_sites(s); i++) {
		int err = kmt_live_rows_change(&st->live, s, i, &before, &layer);

		if (err)
			return err;
		add_counts(&all[layer], &kmt_session_site(s, i)->counts);
	}
	for (layer = 0; slot && layer < KMT_LAYERS; layer++) {
		if (!all[layer].allocs)
			continue;
		since = sub_flow(&all[layer], &st->counted[layer]);
		add_flow(&slot->layers[layer].flow, &since);
		see_live(&slot->layers[layer], &st->live, layer);
		st->counted[layer] = all[layer];
	}
	return 0;
}

static void done(void *state)
{
	kmt_live_rows_done(&((struct state *)state)->live);
}

static const struct kmt_observer observer = {
	.state_size = sizeof(struct state),
	.on_alloc = on_alloc,
	.on_free = on_free,
	.on_snapshot = on_snapshot,
	.done = done,
};

/* ---- the view ---- */

enum { LAYER, AT, LENGTH, LIVE, OBJS, ALLOCS_S, FREES_S, ALLOCS, FREES, UNTRACED, GIVEN_UP,
       ALLOCATED, FREED, PEAK, BAR };

#define COLUMNS(hide_layer) {									\
	[LAYER]	    = { "layer", "LAYER", KMT_UNIT_TEXT, hide_layer, false },			\
	[AT]	    = { "at_ns", "AT", KMT_UNIT_NS, KMT_SHOWN, false },				\
	[LENGTH]    = { "slot_ns", "SLOT", KMT_UNIT_NS, KMT_HIDDEN, false },			\
	[LIVE]	    = { "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_SHOWN, false },	\
	[OBJS]	    = { "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_SHOWN, false },		\
	[ALLOCS_S]  = { "allocs_per_s", "ALLOCS/S", KMT_UNIT_COUNT_PER_S, KMT_SHOWN, false },	\
	[FREES_S]   = { "frees_per_s", "FREES/S", KMT_UNIT_COUNT_PER_S, KMT_SHOWN, false },	\
	[ALLOCS]    = { "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_HIDDEN, false },		\
	[FREES]	    = { "frees", "FREES", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	[UNTRACED]  = KMT_COLUMN_UNTRACED(KMT_IF_ANY),						\
	[GIVEN_UP]  = { "given_up_rcu", "TO RCU", KMT_UNIT_COUNT, KMT_IF_ANY, false },		\
	[ALLOCATED] = { "bytes_allocated", "GIVEN", KMT_UNIT_BYTES, KMT_HIDDEN, false },	\
	[FREED]	    = { "bytes_freed", "FREED", KMT_UNIT_BYTES, KMT_HIDDEN, false },		\
	[PEAK]	    = { "peak_bytes_allocated", "PEAK", KMT_UNIT_BYTES, KMT_HIDDEN, false },	\
	[BAR]	    = { "live_percent", "LIVE OF PEAK", KMT_UNIT_BAR, KMT_SHOWN, true },	\
}

static const struct kmt_column columns[] = COLUMNS(KMT_HIDDEN);
static const struct kmt_column layer_columns[] = COLUMNS(KMT_SHOWN);

/* The last slot is as long as time went on in it. */
static uint64_t length_of(const struct state *st, size_t i)
{
	uint64_t in = kmt_sat_sub(st->now_ns, st->start_ns) - i * st->width_ns;

	return in < st->width_ns ? in : st->width_ns;
}

static void put_rate(struct kmt_cell *cell, uint64_t n, uint64_t ns)
{
	unsigned __int128 per_s = (unsigned __int128)n * 1000000000;

	if (!ns)
		return;
	per_s /= ns;
	kmt_cell_int(cell, per_s > INT64_MAX ? INT64_MAX : (int64_t)per_s);
}

/* One layer's part of a report. */
struct part {
	const struct kmt_analysis_in *in;
	const struct state *st;
	unsigned layer;
	uint64_t highest;	/* live bytes in any slot */
};

static int add_slot(const struct part *p, size_t i, const struct layer_slot *slot,
		    struct kmt_report *r)
{
	uint64_t length = length_of(p->st, i);
	struct kmt_row *row = kmt_report_row(r);
	int err = row ? kmt_cell_text(&row->cells[LAYER], kmt_layer_text(p->layer)) : -ENOMEM;

	if (err)
		return err;
	kmt_cell_int(&row->cells[AT], kmt_cell_value(i * p->st->width_ns));
	kmt_cell_int(&row->cells[LENGTH], kmt_cell_value(length));
	put_rate(&row->cells[ALLOCS_S], slot->flow.allocs, length);
	kmt_cell_int(&row->cells[ALLOCS], kmt_cell_value(slot->flow.allocs));
	kmt_cell_int(&row->cells[ALLOCATED], kmt_cell_value(slot->flow.bytes_allocated));
	if (!kmt_session_has_objects(p->in->session))
		return 0;
	put_rate(&row->cells[FREES_S], slot->flow.frees, length);
	kmt_cell_int(&row->cells[FREES], kmt_cell_value(slot->flow.frees));
	kmt_cell_int(&row->cells[UNTRACED], kmt_cell_value(slot->flow.untraced_frees));
	kmt_cell_int(&row->cells[GIVEN_UP], kmt_cell_value(slot->flow.given_up));
	kmt_cell_int(&row->cells[FREED], kmt_cell_value(slot->flow.bytes_freed));
	kmt_cell_int(&row->cells[LIVE], kmt_cell_value(slot->live_bytes));
	kmt_cell_int(&row->cells[OBJS], kmt_cell_value(slot->live_objects));
	kmt_cell_int(&row->cells[PEAK], kmt_cell_value(slot->peak_bytes));
	if (p->highest)
		kmt_cell_percent(&row->cells[BAR],
				 100.0 * (double)slot->live_bytes / (double)p->highest);
	return 0;
}

static int add_layer(const struct kmt_analysis_in *in, const struct state *st, unsigned layer,
		     struct kmt_report *r)
{
	struct part p = { .in = in, .st = st, .layer = layer };
	uint64_t last = (st->now_ns - st->start_ns) / st->width_ns;
	struct layer_slot slot = { 0 };
	bool seen = false;
	int err = 0;

	for (size_t i = 0; i <= last; i++) {
		const struct layer_slot *here = &st->v[i].layers[layer];

		seen |= here->seen;
		p.highest = here->peak_bytes > p.highest ? here->peak_bytes : p.highest;
	}
	for (size_t i = 0; seen && i <= last && !err; i++) {
		if (st->v[i].layers[layer].seen) {
			slot = st->v[i].layers[layer];
		} else {
			/* nothing happened: what was live still is */
			slot.flow = (struct flow){ 0 };
			slot.peak_bytes = slot.live_bytes;
		}
		err = add_slot(&p, i, &slot, r);
	}
	return err;
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	const struct state *st = kmt_session_observed(in->session, &observer);
	int err = 0;

	if (!st || !st->started)
		return kmt_session_n_sites(in->session) && st ?
		       kmt_report_note(r, "the events have no times, so there is no order in time "
				       "to show") : 0;
	for (unsigned layer = 0; layer < KMT_LAYERS && !err; layer++)
		err = add_layer(in, st, layer, r);
	return err;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	const struct kmt_own_view view = {
		.name = "timeline", .n_columns = KMT_N(columns), .add_rows = add_rows,
		.columns = kmt_count_layers(in->session) > 1 ? layer_columns : columns,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_timeline = {
	.name = "timeline",
	.help = "how the footprint went over time",
	.rows = SLOTS * KMT_LAYERS,
	.observer = &observer,
	.run = run,
};
