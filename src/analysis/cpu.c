// SPDX-License-Identifier: GPL-2.0-only
/*
 * By CPU: what was allocated and freed there in the window, and what is live that was
 * allocated there. A CPU that frees more than it allocates consumes what others make.
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
#include "core/session.h"
#include "symbol/nodes.h"

extern const struct kmt_analysis kmt_analysis_cpu;

enum { LIVE, OBJECTS, RCU, RCU_BYTES, ALLOCS, FREES, UNTRACED, CROSS, GIVEN, FREED, NODE, CPU, ALLOC_RATE, FREE_RATE,
       REQUESTED, TEMPORARY, LAYER };

static const struct kmt_column columns[] = {
	[LIVE]	     = { "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[OBJECTS]    = { "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[RCU]	     = KMT_COLUMN_RCU(KMT_IF_ANY),
	[RCU_BYTES]  = KMT_COLUMN_RCU_BYTES,
	[ALLOCS]     = { "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[FREES]	     = { "frees", "FREES", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[UNTRACED]   = KMT_COLUMN_UNTRACED(KMT_IF_ANY),
	[CROSS]	     = { "cross_cpu_frees", "CROSS-CPU", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[GIVEN]	     = { "bytes_allocated", "GIVEN", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[FREED]	     = { "bytes_freed", "FREED", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[NODE]	     = { "node", "NODE", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[CPU]	     = { "cpu", "CPU", KMT_UNIT_COUNT, KMT_SHOWN, true },
	[ALLOC_RATE] = { "allocs_per_s", "ALLOC/S", KMT_UNIT_COUNT_PER_S, KMT_HIDDEN, false },
	[FREE_RATE]  = { "frees_per_s", "FREE/S", KMT_UNIT_COUNT_PER_S, KMT_HIDDEN, false },
	[REQUESTED]  = { "bytes_requested", "REQUESTED", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[TEMPORARY]  = { "temporary", "TEMPORARY", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[LAYER]	     = { "layer", "LAYER", KMT_UNIT_TEXT, KMT_HIDDEN, false },
};

struct walk {
	const struct kmt_analysis_in *in;
	struct kmt_places places;
};

static void cleanup_walk(struct walk *w)
{
	kmt_places_done(&w->places);
}

static int on_object(void *ctx, const struct kmt_object *o)
{
	struct walk *w = ctx;
	uint8_t type = kmt_session_site(w->in->session, o->site)->key.type;
	struct kmt_place *p;

	p = kmt_places_at(&w->places, o->cpu, kmt_places_layer(type));
	if (!p)
		return kmt_err(-ENOMEM, "out of memory");
	kmt_places_add_object(p, o);
	return 0;
}

static int take_counts(struct walk *w)
{
	struct kmt_snap_cpu c;

	for (size_t i = 0; kmt_session_cpu_at(w->in->session, i, w->in->interval_ns, &c); i++) {
		struct kmt_place *p;

		if (!kmt_cpu_counts_any(&c.counts))
			continue;
		p = kmt_places_at(&w->places, c.cpu == KMT_CPU_NONE ? -1 : (int64_t)c.cpu,
				  kmt_places_layer(c.type));
		if (!p)
			return kmt_err(-ENOMEM, "out of memory");
		kmt_cpu_counts_add(&p->window, &c.counts);
	}
	return 0;
}

static void fill_counts(const struct kmt_analysis_in *in, const struct kmt_cpu_counts *c,
			bool has_objects, struct kmt_cell *cells)
{
	kmt_cell_int(&cells[ALLOCS], kmt_cell_value(c->allocs));
	kmt_cell_int(&cells[REQUESTED], kmt_cell_value(c->bytes_req));
	kmt_cell_int(&cells[GIVEN], kmt_cell_value(c->bytes_alloc));
	kmt_places_rate(in, c->allocs, &cells[ALLOC_RATE]);
	if (!has_objects)
		return;
	kmt_cell_int(&cells[FREES], kmt_cell_value(c->frees));
	kmt_cell_int(&cells[CROSS], kmt_cell_value(c->cross_cpu_frees));
	kmt_cell_int(&cells[FREED], kmt_cell_value(c->bytes_freed));
	kmt_cell_int(&cells[TEMPORARY], kmt_cell_value(c->temporary));
	kmt_places_rate(in, c->frees, &cells[FREE_RATE]);
}

static int add_row(const struct kmt_analysis_in *in, const struct kmt_place *p, int64_t cpu,
		   unsigned layer, struct kmt_report *r)
{
	bool has_objects = kmt_session_has_objects(in->session);
	struct kmt_row *row = kmt_report_row(r);
	int node = cpu < 0 ? -1 : kmt_nodes_of_cpu(in->nodes, (uint32_t)cpu);

	if (!row)
		return -ENOMEM;
	if (has_objects && cpu >= 0) {
		kmt_cell_int(&row->cells[LIVE], kmt_cell_value(p->live_bytes));
		kmt_cell_int(&row->cells[OBJECTS], kmt_cell_value(p->live_objects));
		kmt_cell_int(&row->cells[RCU], kmt_cell_value(p->awaiting));
		kmt_cell_int(&row->cells[RCU_BYTES], kmt_cell_value(p->bytes_awaiting));
	}
	if (has_objects && cpu < 0)
		kmt_cell_int(&row->cells[UNTRACED], kmt_cell_value(p->untraced));
	if (kmt_session_has_cpus(in->session))
		fill_counts(in, &p->window, has_objects, row->cells);
	if (node >= 0)
		kmt_cell_int(&row->cells[NODE], node);
	if (cpu >= 0)
		kmt_cell_int(&row->cells[CPU], cpu);
	return kmt_cell_text(&row->cells[LAYER], kmt_layer_text(layer));
}

static int add_notes(const struct kmt_analysis_in *in, bool has_unknown, struct kmt_report *r)
{
	int err = 0;

	if (r->n_rows && !kmt_session_has_cpus(in->session))
		return kmt_report_note(r, "on which CPUs it was allocated and freed was not kept here: "
				       "what is live is by the CPU that allocated it");
	if (has_unknown)
		err = kmt_report_note(r, "frees by another kind of call (kfree() of a cache's object, "
				      "bulk frees) and those that no event told are counted, but "
				      "not by CPU: the row without one");
	return err;
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	bool has_unknown = false;
	_cleanup_(cleanup_walk) struct walk w = { .in = in };
	int err = kmt_session_each_object(in->session, on_object, &w);

	if (!err)
		err = take_counts(&w);
	if (!err && kmt_session_has_objects(in->session))
		err = kmt_places_add_untraced(&w.places, in);
	for (size_t i = 0; i < w.places.n && !err; i++) {
		unsigned layer;
		int64_t cpu;
		const struct kmt_place *p = kmt_places_each(&w.places, i, &cpu, &layer);

		if (p)
			err = add_row(in, p, cpu, layer, r);
		has_unknown |= p && cpu < 0;
	}
	return err ? err : add_notes(in, has_unknown, r);
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_own_view view = {
		.name = "cpu", .columns = columns, .n_columns = KMT_N(columns),
		.sort = "live_bytes_allocated", .add_rows = add_rows,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_cpu = {
	.name = "cpu",
	.aliases = { "cpus" },
	.help = "by CPU: what was allocated and freed there, and lives on",
	.needs = KMT_NEEDS_CPUS | KMT_NEEDS_NODES,
	.run = run,
};
