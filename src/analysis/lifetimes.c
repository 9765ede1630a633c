// SPDX-License-Identifier: GPL-2.0-only
/* How long objects live, all sites together: a row for each layer and bucket. */
#include <errno.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/hist.h"
#include "analysis/names.h"
#include "analysis/summary.h"
#include "analysis/own_rows.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_lifetimes;

#define _cleanup_groups_ _cleanup_(kmt_groups_done)

#define BAR 18

enum { FROM, TO, FREES, SHARE, CUMULATIVE, BARS, LAYER, TOP_FREES, TOP_SITE };

static const struct kmt_column columns[] = {
	[FROM]	     = { "lifetime_min_ns", "FROM", KMT_UNIT_NS, KMT_SHOWN, false },
	[TO]	     = { "lifetime_max_ns", "BELOW", KMT_UNIT_NS, KMT_SHOWN, false },
	[FREES]	     = { "frees", "FREES", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[SHARE]	     = { "frees_percent", "SHARE%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	[CUMULATIVE] = { "cumulative_percent", "SUM%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	[BARS]	     = { "bar", "BAR", KMT_UNIT_TEXT, KMT_SHOWN, false },
	[LAYER]	     = { "layer", "LAYER", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	[TOP_FREES]  = { "top_site_frees", "OF THE SITE", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[TOP_SITE]   = { "top_site", "MOSTLY", KMT_UNIT_TEXT, KMT_SHOWN, true },
};

/* All sites of a layer. */
struct all {
	const struct kmt_groups *groups;
	unsigned layer;
	uint64_t n[KMT_LIFETIMES];
	uint64_t total, most;
	unsigned first, last;	/* buckets that are not empty, and what lies between */
};

static bool is_in(const struct all *all, const struct kmt_group *g)
{
	return kmt_layer_of(&g->first->key) == all->layer;
}

static void sum_up(const struct kmt_groups *groups, unsigned layer, struct all *ret)
{
	*ret = (struct all){ .groups = groups, .layer = layer, .first = KMT_LIFETIMES };
	for (size_t i = 0; i < groups->n; i++)
		if (is_in(ret, &groups->v[i]))
			kmt_hist_add(ret->n, groups->v[i].lifetimes);
	ret->total = kmt_hist_total(ret->n);
	for (unsigned i = 0; i < KMT_LIFETIMES; i++) {
		if (!ret->n[i])
			continue;
		if (ret->first == KMT_LIFETIMES)
			ret->first = i;
		ret->last = i;
		if (ret->n[i] > ret->most)
			ret->most = ret->n[i];
	}
}

/* The site that most of a bucket's objects belong to; of equal ones the first. */
static const struct kmt_group *top_of(const struct all *all, unsigned bucket)
{
	const struct kmt_group *top = NULL;

	for (size_t i = 0; i < all->groups->n; i++) {
		const struct kmt_group *g = &all->groups->v[i];

		if (is_in(all, g) && g->lifetimes[bucket] &&
		    (!top || g->lifetimes[bucket] > top->lifetimes[bucket]))
			top = g;
	}
	return top;
}

static int add_row(const struct kmt_analysis_in *in, const struct all *all, unsigned bucket,
		   uint64_t so_far, struct kmt_report *r)
{
	const struct kmt_group *top = top_of(all, bucket);
	_cleanup_buf_ struct kmt_buf bar = { 0 };
	struct kmt_row *row = kmt_report_row(r);
	uint64_t to;
	int err;

	if (!row)
		return -ENOMEM;
	kmt_cell_int(&row->cells[FROM], kmt_cell_value(kmt_hist_from(bucket)));
	if (kmt_hist_to(bucket, &to))
		kmt_cell_int(&row->cells[TO], kmt_cell_value(to));
	kmt_cell_int(&row->cells[FREES], kmt_cell_value(all->n[bucket]));
	kmt_cell_percent(&row->cells[SHARE], 100.0 * (double)all->n[bucket] / (double)all->total);
	kmt_cell_percent(&row->cells[CUMULATIVE], 100.0 * (double)so_far / (double)all->total);
	kmt_hist_bar(all->n[bucket], all->most, BAR, &bar);
	err = kmt_name_take(&bar, &row->cells[BARS]);
	if (!err)
		err = kmt_cell_text(&row->cells[LAYER], kmt_layer_text(all->layer));
	if (err || !top)
		return err;
	kmt_cell_int(&row->cells[TOP_FREES], kmt_cell_value(top->lifetimes[bucket]));
	return kmt_name_key(in, &top->first->key, &row->cells[TOP_SITE], NULL);
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	_cleanup_groups_ struct kmt_groups groups = { 0 };
	int err = kmt_groups_make(in, KMT_GROUP_SITE, &groups);

	for (unsigned layer = 0; layer < KMT_LAYERS && !err; layer++) {
		struct all all;
		uint64_t so_far = 0;

		sum_up(&groups, layer, &all);
		for (unsigned i = all.first; i < KMT_LIFETIMES && i <= all.last && !err; i++) {
			so_far = kmt_sat_add(so_far, all.n[i]);
			err = add_row(in, &all, i, so_far, r);
		}
	}
	return err;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_own_view view = {
		.name = "lifetimes", .columns = columns, .n_columns = KMT_N(columns),
		.add_rows = add_rows,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_lifetimes = {
	.name = "lifetimes",
	.help = "how long objects lived: a histogram over all sites",
	.needs = KMT_NEEDS_OBJECTS,
	.rows = 1000,	/* a histogram without its end is none */
	.run = run,
};
