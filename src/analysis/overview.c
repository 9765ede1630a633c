// SPDX-License-Identifier: GPL-2.0-only
/* The view 'summary': the first to blame, on one screen. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/names.h"
#include "analysis/own_rows.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_overview;

#define _cleanup_groups_ _cleanup_(kmt_groups_done)

#define TOP 5		/* rows of each list */

enum { LIST, RANK, LIVE, OBJS, RCU, RCU_BYTES, ALLOCS, UNTRACED, TEMPORARY, WASTE, SITE, MODULE,
       TYPE, CACHE };

static const struct kmt_column columns[] = {
	[LIST]	    = { "top", "TOP", KMT_UNIT_TEXT, KMT_SHOWN, false },
	[RANK]	    = { "rank", "RANK", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[LIVE]	    = { "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[OBJS]	    = { "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[RCU]	    = KMT_COLUMN_RCU(KMT_IF_ANY),
	[RCU_BYTES] = KMT_COLUMN_RCU_BYTES,
	[ALLOCS]    = { "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[UNTRACED]  = KMT_COLUMN_UNTRACED(KMT_IF_ANY),
	[TEMPORARY] = { "temporary", "TEMP", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[WASTE]	    = { "waste_bytes", "WASTE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[SITE]	    = { "site", "SITE", KMT_UNIT_TEXT, KMT_SHOWN, true },
	[MODULE]    = { "module", "MODULE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	[TYPE]	    = { "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	[CACHE]	    = { "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },
};

static const struct list {
	const char *name;
	int column;
	bool needs_objects;
} lists[] = {
	{ "live", LIVE, true },
	{ "allocs", ALLOCS, false },
	{ "temporary", TEMPORARY, true },
	{ "waste", WASTE, true },
};

static uint64_t value(const struct kmt_group *g, int column)
{
	switch (column) {
	case LIVE: return kmt_counts_live_alloc(&g->now);
	case OBJS: return kmt_counts_live(&g->now);
	case RCU: return g->now.awaiting;
	case RCU_BYTES: return g->now.bytes_awaiting;
	case ALLOCS: return g->window.allocs;
	case UNTRACED: return g->window.untraced_frees;
	case TEMPORARY: return g->window.temporary;
	default: return kmt_sat_sub(kmt_counts_live_alloc(&g->now), kmt_counts_live_req(&g->now));
	}
}

struct order {
	const struct kmt_groups *groups;
	int column;
};

/* The greatest first; of equal ones that which was seen first. */
static int greater(const void *pa, const void *pb, void *arg)
{
	const struct order *o = arg;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
	uint64_t va = value(&o->groups->v[a], o->column), vb = value(&o->groups->v[b], o->column);

	return va != vb ? (va < vb ? 1 : -1) : (a > b) - (a < b);
}

static int add_row(const struct kmt_analysis_in *in, const struct kmt_group *g,
		   const struct list *list, int rank, struct kmt_report *r)
{
	bool objects = kmt_session_has_objects(in->session);
	char type[2] = { kmt_type_letter(g->first->key.type) };
	struct kmt_row *row = kmt_report_row(r);
	int err;

	if (!row)
		return -ENOMEM;
	kmt_cell_int(&row->cells[RANK], rank);
	for (int c = LIVE; c <= WASTE; c++)
		if (objects || c == ALLOCS)
			kmt_cell_int(&row->cells[c], kmt_cell_value(value(g, c)));
	err = kmt_cell_text(&row->cells[LIST], list->name);
	if (!err && !g->mixed_types)
		err = kmt_cell_text(&row->cells[TYPE], type);
	if (!err)
		err = kmt_name_key(in, &g->first->key, &row->cells[SITE], &row->cells[MODULE]);
	return err ? err : kmt_name_cache(&g->first->key, &row->cells[CACHE]);
}

static int add_list(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		    const struct list *list, size_t *v, struct kmt_report *r)
{
	struct order o = { .groups = groups, .column = list->column };
	int err = 0;

	for (size_t i = 0; i < groups->n; i++)
		v[i] = i;
	qsort_r(v, groups->n, sizeof(*v), greater, &o);
	for (size_t i = 0; i < groups->n && i < TOP && !err; i++) {
		const struct kmt_group *g = &groups->v[v[i]];

		if (!value(g, list->column))
			break;
		err = add_row(in, g, list, (int)i + 1, r);
	}
	return err;
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	_cleanup_groups_ struct kmt_groups groups = { 0 };
	_cleanup_free_ size_t *v = NULL;
	bool objects = kmt_session_has_objects(in->session);
	int err = kmt_groups_make(in, KMT_GROUP_SITE | KMT_GROUP_CACHE, &groups);

	if (err)
		return err;
	v = calloc(groups.n + 1, sizeof(*v));
	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; i < KMT_N(lists) && !err; i++)
		if (objects || !lists[i].needs_objects)
			err = add_list(in, &groups, &lists[i], v, r);
	return err;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_own_view view = {
		.name = "summary", .columns = columns, .n_columns = KMT_N(columns),
		.add_rows = add_rows,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_overview = {
	.name = "summary",
	.help = "the first five by live memory, allocations, temporary ones, waste",
	.run = run,
};
