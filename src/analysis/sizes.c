// SPDX-License-Identifier: GPL-2.0-only
/*
 * What sizes are asked for: a row for each layer and size class. kmalloc rounds
 * a request up to the class it lies in, so the given size tells it; the objects
 * of a cache all have the size they were asked for with.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/classes.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/hist.h"
#include "analysis/names.h"
#include "analysis/summary.h"
#include "analysis/own_rows.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_sizes;

#define _cleanup_groups_ _cleanup_(kmt_groups_done)

#define BAR 12

enum { TO, ALLOCS, UNTRACED, SHARE, LIVE, RCU, RCU_BYTES, WASTE, BARS, FROM, OBJECTS, REQUESTED,
       GIVEN, WASTE_TOTAL, LAYER, TOP_ALLOCS, TOP_SITE };

static const struct kmt_column columns[] = {
	[TO]	      = { "size_max_bytes", "UP TO", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[ALLOCS]      = { "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[UNTRACED]    = KMT_COLUMN_UNTRACED(KMT_IF_ANY),
	[SHARE]	      = { "allocs_percent", "SHARE%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	[LIVE]	      = { "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[RCU]	      = KMT_COLUMN_RCU(KMT_IF_ANY),
	[RCU_BYTES]   = KMT_COLUMN_RCU_BYTES,
	[WASTE]	      = { "waste_bytes", "WASTE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[BARS]	      = { "bar", "BAR", KMT_UNIT_TEXT, KMT_SHOWN, false },
	[FROM]	      = { "size_min_bytes", "FROM", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[OBJECTS]     = { "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[REQUESTED]   = { "bytes_requested", "REQUESTED", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[GIVEN]	      = { "bytes_allocated", "GIVEN", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[WASTE_TOTAL] = { "waste_total_bytes", "ALL WASTE", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[LAYER]	      = { "layer", "LAYER", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	[TOP_ALLOCS]  = { "top_site_allocs", "OF THE SITE", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[TOP_SITE]    = { "top_site", "MOSTLY", KMT_UNIT_TEXT, KMT_SHOWN, true },
};

/* What one site has of one class; then, merged, all sites together. */
struct part {
	uint64_t from, to;		/* 0, 0: the size is unknown */
	struct kmt_counts window, now;
	uint32_t group;			/* merged: the site with the most allocations */
	uint32_t layer;
	uint64_t top_allocs;
};

static void class_of(const struct kmt_classes *classes, const struct kmt_site_key *key,
		     struct part *p)
{
	struct kmt_class c = { 0 };

	/* pages and the like are not asked for in kmalloc's sizes */
	if (key->type == KMT_TYPE_CACHE && key->object_size)
		kmt_classes_of(classes, key->object_size, &c);
	else if (key->size)
		kmt_classes_giving(classes, key->size, &c);
	p->from = c.from;
	p->to = c.to;
}

static int compare(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	if (a->layer != b->layer)
		return a->layer < b->layer ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

static bool same_class(const struct part *a, const struct part *b)
{
	return a->layer == b->layer && a->to == b->to;
}

/* Merge sorted parts, first by site, and find each class's top site on the way. */
static size_t merge(struct part *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n;) {
		struct part all = v[i];

		memset(&all.window, 0, sizeof(all.window));
		memset(&all.now, 0, sizeof(all.now));
		all.top_allocs = 0;
		while (i < n && same_class(&all, &v[i])) {
			uint32_t group = v[i].group;
			uint64_t allocs = 0;

			for (; i < n && same_class(&all, &v[i]) && v[i].group == group; i++) {
				allocs = kmt_sat_add(allocs, v[i].window.allocs);
				kmt_counts_add(&all.window, &v[i].window);
				kmt_counts_add(&all.now, &v[i].now);
			}
			if (allocs > all.top_allocs) {
				all.top_allocs = allocs;
				all.group = group;
			}
		}
		v[kept++] = all;
	}
	return kept;
}

static void fill_live(const struct part *p, struct kmt_cell *cells)
{
	uint64_t given = kmt_counts_live_alloc(&p->now);

	kmt_cell_int(&cells[LIVE], kmt_cell_value(given));
	kmt_cell_int(&cells[OBJECTS], kmt_cell_value(kmt_counts_live(&p->now)));
	kmt_cell_int(&cells[RCU], kmt_cell_value(p->now.awaiting));
	kmt_cell_int(&cells[RCU_BYTES], kmt_cell_value(p->now.bytes_awaiting));
	kmt_cell_int(&cells[UNTRACED], kmt_cell_value(p->window.untraced_frees));
	kmt_cell_int(&cells[WASTE],
		     kmt_cell_value(kmt_sat_sub(given, kmt_counts_live_req(&p->now))));
}

/* Of the part's layer: allocations of all classes, and of the largest. */
struct sums {
	uint64_t allocs, most;
};

static struct sums sum_layer(const struct part *v, size_t n, uint32_t layer)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (v[i].layer != layer)
			continue;
		s.allocs = kmt_sat_add(s.allocs, v[i].window.allocs);
		if (v[i].window.allocs > s.most)
			s.most = v[i].window.allocs;
	}
	return s;
}

static int fill_texts(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		      const struct part *p, uint64_t most, struct kmt_cell *cells)
{
	_cleanup_buf_ struct kmt_buf bar = { 0 };
	int err;

	kmt_hist_bar(p->window.allocs, most, BAR, &bar);
	err = kmt_name_take(&bar, &cells[BARS]);
	if (!err)
		err = kmt_cell_text(&cells[LAYER], kmt_layer_text(p->layer));
	if (err || !p->top_allocs)
		return err;
	kmt_cell_int(&cells[TOP_ALLOCS], kmt_cell_value(p->top_allocs));
	return kmt_name_key(in, &groups->v[p->group].first->key, &cells[TOP_SITE], NULL);
}

static int add_row(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		   const struct part *p, struct sums sums, struct kmt_report *r)
{
	struct kmt_row *row = kmt_report_row(r);
	const struct kmt_counts *w = &p->window;

	if (!row)
		return -ENOMEM;
	if (p->to) {
		kmt_cell_int(&row->cells[FROM], kmt_cell_value(p->from));
		kmt_cell_int(&row->cells[TO], kmt_cell_value(p->to));
	}
	kmt_cell_int(&row->cells[ALLOCS], kmt_cell_value(w->allocs));
	if (sums.allocs)
		kmt_cell_percent(&row->cells[SHARE],
				 100.0 * (double)w->allocs / (double)sums.allocs);
	kmt_cell_int(&row->cells[REQUESTED], kmt_cell_value(w->bytes_req));
	kmt_cell_int(&row->cells[GIVEN], kmt_cell_value(w->bytes_alloc));
	kmt_cell_int(&row->cells[WASTE_TOTAL],
		     kmt_cell_value(kmt_sat_sub(w->bytes_alloc, w->bytes_req)));
	if (kmt_session_has_objects(in->session))
		fill_live(p, row->cells);
	return fill_texts(in, groups, p, sums.most, row->cells);
}

/* A part for each of the session's rows; free() it. */
static int make_parts(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		      struct part **ret, size_t *ret_n)
{
	size_t n = kmt_session_n_sites(in->session);
	struct part *v = calloc(n + 1, sizeof(*v));
	struct kmt_classes classes;

	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	kmt_classes_init(&classes, in->slabs_end ? in->slabs_end : in->slabs_start);
	for (size_t i = 0; i < n; i++) {
		const struct kmt_site *site = kmt_session_site(in->session, i);

		v[i].group = groups->of[i];
		v[i].layer = kmt_layer_of(&site->key);
		v[i].now = site->counts;
		kmt_window_counts(in, site, &v[i].window);
		class_of(&classes, &site->key, &v[i]);
	}
	qsort(v, n, sizeof(*v), compare);
	*ret_n = merge(v, n);
	*ret = v;
	return 0;
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	_cleanup_groups_ struct kmt_groups groups = { 0 };
	_cleanup_free_ struct part *v = NULL;
	size_t n = 0;
	int err = kmt_groups_make(in, KMT_GROUP_SITE, &groups);

	if (!err)
		err = make_parts(in, &groups, &v, &n);
	for (size_t i = 0; i < n && !err; i++)
		if (v[i].window.allocs || kmt_counts_live(&v[i].now) || v[i].now.awaiting)
			err = add_row(in, &groups, &v[i], sum_layer(v, n, v[i].layer), r);
	return err;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_own_view view = {
		.name = "sizes", .columns = columns, .n_columns = KMT_N(columns),
		.add_rows = add_rows,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_sizes = {
	.name = "sizes",
	.help = "what sizes are asked for: a histogram by size class",
	.rows = 1000,	/* a histogram without its end is none */
	.run = run,
};
