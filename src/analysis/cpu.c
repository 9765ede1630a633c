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

static const struct kmt_places_columns shared = {
	.live = LIVE, .objects = OBJECTS, .rcu = RCU, .rcu_bytes = RCU_BYTES, .allocs = ALLOCS,
	.frees = FREES, .given = GIVEN, .freed = FREED, .alloc_rate = ALLOC_RATE,
	.free_rate = FREE_RATE,
};

static int64_t of_cpu(const struct kmt_analysis_in *in, uint32_t cpu)
{
	return cpu;
}

static int64_t of_object(const struct kmt_analysis_in *in, const struct kmt_object *o)
{
	return o->cpu;
}

static const struct kmt_places_how how = { .of_cpu = of_cpu, .of_object = of_object };

static void fill_counts(const struct kmt_analysis_in *in, const struct kmt_place *p,
			struct kmt_cell *cells)
{
	kmt_places_fill_counts(&shared, in, p, cells);
	kmt_cell_int(&cells[REQUESTED], kmt_cell_value(p->window.bytes_req));
	if (!kmt_session_has_objects(in->session))
		return;
	kmt_cell_int(&cells[CROSS], kmt_cell_value(p->window.cross_cpu_frees));
	kmt_cell_int(&cells[TEMPORARY], kmt_cell_value(p->window.temporary));
}

static int add_row(const struct kmt_analysis_in *in, const struct kmt_place *p, int64_t cpu,
		   unsigned layer, struct kmt_report *r)
{
	bool has_objects = kmt_session_has_objects(in->session);
	struct kmt_row *row = kmt_report_row(r);
	int node = cpu < 0 ? -1 : kmt_nodes_of_cpu(in->nodes, (uint32_t)cpu);

	if (!row)
		return -ENOMEM;
	if (has_objects && cpu >= 0)
		kmt_places_fill_live(&shared, p, row->cells);
	if (has_objects && cpu < 0)
		kmt_cell_int(&row->cells[UNTRACED], kmt_cell_value(p->untraced));
	if (kmt_session_has_cpus(in->session))
		fill_counts(in, p, row->cells);
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
	_cleanup_(kmt_places_done) struct kmt_places places = { 0 };
	int err = kmt_places_gather(&places, in, &how);

	for (size_t i = 0; i < places.n && !err; i++) {
		unsigned layer;
		int64_t cpu;
		const struct kmt_place *p = kmt_places_each(&places, i, &cpu, &layer);

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
	.needs = KMT_NEEDS_CPUS | KMT_NEEDS_NODES | KMT_NEEDS_NO_KEY,
	.run = run,
};
