// SPDX-License-Identifier: GPL-2.0-only
/* How long the objects of each site live: percentiles and a strip of 32 buckets. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/hist.h"
#include "analysis/names.h"
#include "analysis/rows.h"
#include "analysis/summary.h"
#include "base/buf.h"
#include "base/cleanup.h"

extern const struct kmt_analysis kmt_analysis_site_lifetimes;

static const struct kmt_column columns[] = {
	{ "lifetimes", "ENDED", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "lifetime_p50_ns", "P50", KMT_UNIT_NS, KMT_SHOWN, false },
	{ "lifetime_p90_ns", "P90", KMT_UNIT_NS, KMT_HIDDEN, false },
	{ "lifetime_p99_ns", "P99", KMT_UNIT_NS, KMT_SHOWN, false },
	{ "lifetimes_log2", "LIFETIMES", KMT_UNIT_LIST, KMT_HIDDEN, false },
	{ "strip", KMT_HIST_SCALE, KMT_UNIT_TEXT, KMT_SHOWN, false },
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMN_UNTRACED(KMT_HIDDEN),
	{ "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMNS_RCU(KMT_HIDDEN),
	{ "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	{ "caches", "CACHES", KMT_UNIT_LIST, KMT_HIDDEN, false },
	KMT_COLUMNS_SITE,
};

static int fill_strip(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };
	int err;

	kmt_hist_strip(s->g->lifetimes, &b);
	err = kmt_name_take(&b, cell);
	return err ? err : 1;
}

static int fill(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	static const struct {
		const char *key;
		unsigned percent;
	} percentiles[] = {
		{ "lifetime_p50_ns", 50 }, { "lifetime_p90_ns", 90 }, { "lifetime_p99_ns", 99 },
	};
	uint64_t ns;

	if (!strcmp(key, "strip"))
		return fill_strip(s, cell);
	if (!strcmp(key, "lifetimes")) {
		kmt_cell_int(cell, kmt_cell_value(kmt_hist_total(s->g->lifetimes)));
		return 1;
	}
	for (size_t i = 0; i < KMT_N(percentiles); i++) {
		if (strcmp(key, percentiles[i].key))
			continue;
		if (kmt_hist_percentile(s->g->lifetimes, percentiles[i].percent, &ns))
			kmt_cell_int(cell, kmt_cell_value(ns));
		return 1;
	}
	return 0;
}

static bool wants(const struct kmt_row_source *s)
{
	return kmt_hist_total(s->g->lifetimes);
}

static const struct kmt_rows_view view = {
	.name = "site,lifetimes", .by = KMT_GROUP_SITE, .columns = columns,
	.n_columns = KMT_N(columns), .sort = "lifetimes", .wants = wants, .fill = fill,
};

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	return kmt_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_site_lifetimes = {
	.name = "site,lifetimes",
	.help = "how long the objects of each call site lived",
	.needs = KMT_NEEDS_OBJECTS,
	.run = run,
};
