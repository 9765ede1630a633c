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

static const struct kmt_places_columns shared = {
	.live = LIVE, .objects = OBJECTS, .rcu = RCU, .rcu_bytes = RCU_BYTES, .allocs = ALLOCS,
	.frees = FREES, .given = GIVEN, .freed = FREED, .alloc_rate = ALLOC_RATE,
	.free_rate = FREE_RATE,
};

static int64_t of_cpu(const struct kmt_analysis_in *in, uint32_t cpu)
{
	return kmt_nodes_of_cpu(in->nodes, cpu);
}

/* What is live, by where its memory lies, if that can be told here. */
static int64_t of_object(const struct kmt_analysis_in *in, const struct kmt_object *o)
{
	uint8_t type = kmt_session_site(in->session, o->site)->key.type;

	/* pages go by frame; percpu and vmalloc areas lie on several nodes */
	return type == KMT_TYPE_PAGES ? kmt_nodes_of_frame(in->nodes, o->addr) :
					kmt_nodes_of(in->nodes, o->addr);
}

static const struct kmt_places_how how = { .of_cpu = of_cpu, .of_object = of_object };

static int take_seen(struct kmt_places *places, const struct seen *seen)
{
	for (size_t i = 0; seen && i < seen->places.n; i++) {
		unsigned layer;
		int64_t id;
		const struct kmt_place *from = kmt_places_each(&seen->places, i, &id, &layer);
		struct kmt_place *p;

		if (!from)
			continue;
		p = kmt_places_at(places, id, layer);
		if (!p)
			return out_of_memory();
		p->asked = from->asked;
		p->placed = from->placed;
	}
	return 0;
}

static void fill_live(const struct kmt_analysis_in *in, const struct kmt_place *p, int64_t node,
		      struct kmt_cell *cells)
{
	if (node < 0)
		kmt_cell_int(&cells[UNTRACED], kmt_cell_value(p->untraced));
	if (!in->nodes && node >= 0)
		return;
	kmt_places_fill_live(&shared, p, cells);
	if (node >= 0)
		kmt_cell_int(&cells[REMOTE], kmt_cell_value(p->remote_bytes));
}

static int add_row(const struct kmt_analysis_in *in, const struct kmt_place *p, int64_t node,
		   unsigned layer, bool has_events, struct kmt_report *r)
{
	const struct kmt_session *s = in->session;
	struct kmt_row *row = kmt_report_row(r);

	if (!row)
		return -ENOMEM;
	if (kmt_session_has_objects(s))
		fill_live(in, p, node, row->cells);
	if (kmt_session_has_cpus(s) && (in->nodes || kmt_cpu_counts_any(&p->window)))
		kmt_places_fill_counts(&shared, in, p, row->cells);
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
	_cleanup_(kmt_places_done) struct kmt_places places = { 0 };
	const struct seen *seen = kmt_session_observed(in->session, &observer);
	bool has_events = seen && seen->any;
	int err = kmt_places_gather(&places, in, &how);

	if (!err)
		err = take_seen(&places, seen);
	for (size_t i = 0; i < places.n && !err; i++) {
		unsigned layer;
		int64_t node;
		const struct kmt_place *p = kmt_places_each(&places, i, &node, &layer);

		if (p)
			err = add_row(in, p, node, layer, has_events, r);
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
	.needs = KMT_NEEDS_CPUS | KMT_NEEDS_NODES | KMT_NEEDS_NO_KEY,
	.observer = &observer,
	.run = run,
};
