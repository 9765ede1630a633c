// SPDX-License-Identifier: GPL-2.0-only
/*
 * By NUMA node. What is live, by the node its memory lies on; what was done, by the
 * node of the CPU that did it; what allocations asked for, where events say so.
 */
#include <errno.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/own_rows.h"
#include "analysis/places.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/observer.h"
#include "core/session.h"
#include "symbol/nodes.h"

extern const struct kmt_analysis kmt_analysis_node;

enum { LIVE, OBJECTS, RCU, RCU_BYTES, REMOTE, ALLOCS, FREES, UNTRACED, ASKED, PLACED, NODE, ALLOC_RATE, FREE_RATE, GIVEN,
       FREED, LAYER };

static const struct kmt_column columns[] = {
	[LIVE]	     = { "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[OBJECTS]    = { "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[RCU]	     = KMT_COLUMN_RCU(KMT_IF_ANY),
	[RCU_BYTES]  = KMT_COLUMN_RCU_BYTES,
	[REMOTE]     = { "remote_bytes", "REMOTE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[ALLOCS]     = { "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[FREES]	     = { "frees", "FREES", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[UNTRACED]   = KMT_COLUMN_UNTRACED(KMT_IF_ANY),
	[ASKED]	     = { "asked", "ASKED", KMT_UNIT_COUNT, KMT_IF_ANY, false },
	[PLACED]     = { "placed", "PLACED", KMT_UNIT_COUNT, KMT_IF_ANY, false },
	[NODE]	     = { "node", "NODE", KMT_UNIT_COUNT, KMT_SHOWN, true },
	[ALLOC_RATE] = { "allocs_per_s", "ALLOC/S", KMT_UNIT_COUNT_PER_S, KMT_HIDDEN, false },
	[FREE_RATE]  = { "frees_per_s", "FREE/S", KMT_UNIT_COUNT_PER_S, KMT_HIDDEN, false },
	[GIVEN]	     = { "bytes_allocated", "GIVEN", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[FREED]	     = { "bytes_freed", "FREED", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[LAYER]	     = { "layer", "LAYER", KMT_UNIT_TEXT, KMT_HIDDEN, false },
};

/* ---- what events say: since the start, whatever the window ---- */

struct seen {
	struct kmt_places places;
	bool any;
};

static int out_of_memory(void)
{
	return kmt_err(-ENOMEM, "out of memory");
}

static int on_alloc(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		    size_t site)
{
	unsigned layer = kmt_places_layer(ev->type);
	struct seen *seen = state;
	struct kmt_place *p;

	if (ev->node >= 0) {
		p = kmt_places_at(&seen->places, ev->node, layer);
		if (!p)
			return out_of_memory();
		p->asked++;
		seen->any = true;
	}
	if (ev->real_node >= 0) {
		p = kmt_places_at(&seen->places, ev->real_node, layer);
		if (!p)
			return out_of_memory();
		p->placed++;
		seen->any = true;
	}
	return 0;
}

static void seen_done(void *state)
{
	kmt_places_done(&((struct seen *)state)->places);
}

static const struct kmt_observer observer = {
	.state_size = sizeof(struct seen), .on_alloc = on_alloc, .done = seen_done,
};

/* ---- the rows ---- */

struct walk {
	const struct kmt_analysis_in *in;
	struct kmt_places places;
};

static void cleanup_walk(struct walk *w)
{
	kmt_places_done(&w->places);
}

/* What is live, by where its memory lies, if that can be told here. */
static int on_object(void *ctx, const struct kmt_object *o)
{
	struct walk *w = ctx;
	const struct kmt_nodes *nodes = w->in->nodes;
	uint8_t type = kmt_session_site(w->in->session, o->site)->key.type;
	int cpu_node, node;
	struct kmt_place *p;

	/* pages go by frame; percpu and vmalloc areas lie on several nodes */
	node = type == KMT_TYPE_PAGES ? kmt_nodes_of_frame(nodes, o->addr) :
				        kmt_nodes_of(nodes, o->addr);
	cpu_node = kmt_nodes_of_cpu(nodes, o->cpu);
	p = kmt_places_at(&w->places, node, kmt_places_layer(type));
	if (!p)
		return out_of_memory();
	kmt_places_add_object(p, o);
	if (!o->awaiting && node >= 0 && cpu_node >= 0 && cpu_node != node)
		p->remote_bytes += o->bytes_alloc;
	return 0;
}

static int take_counts(struct walk *w)
{
	struct kmt_snap_cpu c;

	for (size_t i = 0; kmt_session_cpu_at(w->in->session, i, w->in->interval_ns, &c); i++) {
		struct kmt_place *p;

		if (!kmt_cpu_counts_any(&c.counts))
			continue;
		p = kmt_places_at(&w->places, c.cpu == KMT_CPU_NONE ? -1 :
				  kmt_nodes_of_cpu(w->in->nodes, c.cpu), kmt_places_layer(c.type));
		if (!p)
			return out_of_memory();
		kmt_cpu_counts_add(&p->window, &c.counts);
	}
	return 0;
}

static int take_seen(struct walk *w, const struct seen *seen)
{
	for (size_t i = 0; seen && i < seen->places.n; i++) {
		unsigned layer;
		int64_t id;
		const struct kmt_place *from = kmt_places_each(&seen->places, i, &id, &layer);
		struct kmt_place *p;

		if (!from)
			continue;
		p = kmt_places_at(&w->places, id, layer);
		if (!p)
			return out_of_memory();
		p->asked = from->asked;
		p->placed = from->placed;
	}
	return 0;
}

static void fill_counts(const struct kmt_analysis_in *in, const struct kmt_cpu_counts *c,
			bool has_objects, struct kmt_cell *cells)
{
	kmt_cell_int(&cells[ALLOCS], kmt_cell_value(c->allocs));
	kmt_cell_int(&cells[GIVEN], kmt_cell_value(c->bytes_alloc));
	kmt_places_rate(in, c->allocs, &cells[ALLOC_RATE]);
	if (!has_objects)
		return;
	kmt_cell_int(&cells[FREES], kmt_cell_value(c->frees));
	kmt_cell_int(&cells[FREED], kmt_cell_value(c->bytes_freed));
	kmt_places_rate(in, c->frees, &cells[FREE_RATE]);
}

static void fill_live(const struct walk *w, const struct kmt_place *p, int64_t node,
		      struct kmt_cell *cells)
{
	if (node < 0)
		kmt_cell_int(&cells[UNTRACED], kmt_cell_value(p->untraced));
	if (!w->in->nodes && node >= 0)
		return;
	kmt_cell_int(&cells[LIVE], kmt_cell_value(p->live_bytes));
	kmt_cell_int(&cells[OBJECTS], kmt_cell_value(p->live_objects));
	kmt_cell_int(&cells[RCU], kmt_cell_value(p->awaiting));
	kmt_cell_int(&cells[RCU_BYTES], kmt_cell_value(p->bytes_awaiting));
	if (node >= 0)
		kmt_cell_int(&cells[REMOTE], kmt_cell_value(p->remote_bytes));
}

static int add_row(const struct walk *w, const struct kmt_place *p, int64_t node, unsigned layer,
		   bool has_events, struct kmt_report *r)
{
	const struct kmt_session *s = w->in->session;
	struct kmt_row *row = kmt_report_row(r);

	if (!row)
		return -ENOMEM;
	if (kmt_session_has_objects(s))
		fill_live(w, p, node, row->cells);
	if (kmt_session_has_cpus(s) && (w->in->nodes || kmt_cpu_counts_any(&p->window)))
		fill_counts(w->in, &p->window, kmt_session_has_objects(s), row->cells);
	if (has_events) {
		kmt_cell_int(&row->cells[ASKED], kmt_cell_value(p->asked));
		kmt_cell_int(&row->cells[PLACED], kmt_cell_value(p->placed));
	}
	if (node >= 0)
		kmt_cell_int(&row->cells[NODE], node);
	return kmt_cell_text(&row->cells[LAYER], kmt_layer_text(layer));
}

static int add_note(const struct kmt_analysis_in *in, bool has_events, struct kmt_report *r)
{
	if (in->nodes || !r->n_rows)
		return 0;
	if (in->no_nodes)
		return kmt_report_note(r, "the NUMA nodes are not known: %s", in->no_nodes);
	return kmt_report_note(r, "a recording does not say on which NUMA node its machine's memory "
			       "and CPUs were%s", has_events ? "; ASKED and PLACED are from events" :
			       "");
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	_cleanup_(cleanup_walk) struct walk w = { .in = in };
	const struct seen *seen = kmt_session_observed(in->session, &observer);
	bool has_events = seen && seen->any;
	int err = kmt_session_each_object(in->session, on_object, &w);

	if (!err)
		err = take_counts(&w);
	if (!err && kmt_session_has_objects(in->session))
		err = kmt_places_add_untraced(&w.places, in);
	if (!err)
		err = take_seen(&w, seen);
	for (size_t i = 0; i < w.places.n && !err; i++) {
		unsigned layer;
		int64_t node;
		const struct kmt_place *p = kmt_places_each(&w.places, i, &node, &layer);

		if (p)
			err = add_row(&w, p, node, layer, has_events, r);
	}
	return err ? err : add_note(in, has_events, r);
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_own_view view = {
		.name = "node", .columns = columns, .n_columns = KMT_N(columns),
		.sort = "live_bytes_allocated", .add_rows = add_rows,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_node = {
	.name = "node",
	.aliases = { "nodes" },
	.help = "by NUMA node: where live memory lies, whose CPUs took it",
	.needs = KMT_NEEDS_CPUS | KMT_NEEDS_NODES,
	.observer = &observer,
	.run = run,
};
