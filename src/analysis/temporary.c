// SPDX-License-Identifier: GPL-2.0-only
/* Sites by what they free again at once: the churn that could be spared. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/hist.h"
#include "analysis/rows.h"
#include "analysis/summary.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_temporary;

static const struct kmt_column columns[] = {
	{ "temporary", "TEMPORARY", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "temporary_percent", "TEMP%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	{ "temporary_bytes", "CHURNED", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "lifetime_p50_ns", "P50", KMT_UNIT_NS, KMT_SHOWN, false },
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "frees", "FREES", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMN_UNTRACED(KMT_IF_ANY),
	KMT_COLUMNS_RCU(KMT_HIDDEN),
	{ "bytes_allocated", "GIVEN", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "lifetimes_log2", "LIFETIMES", KMT_UNIT_LIST, KMT_HIDDEN, false },
	{ "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	KMT_COLUMNS_SITE,
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },
	{ "caches", "CACHES", KMT_UNIT_LIST, KMT_HIDDEN, false },
};

static int fill(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	uint64_t p50;

	if (!strcmp(key, "temporary_bytes")) {
		const size_t counter = offsetof(struct kmt_counts, temporary);

		kmt_cell_int(cell, kmt_cell_value(kmt_row_given_bytes(s, counter)));
		return 1;
	}
	if (!strcmp(key, "lifetime_p50_ns")) {
		if (kmt_hist_percentile(s->g->lifetimes, 50, &p50))
			kmt_cell_int(cell, kmt_cell_value(p50));
		return 1;
	}
	return 0;
}

static bool wants(const struct kmt_row_source *s)
{
	return s->g->window.temporary;
}

static const struct kmt_rows_view view = {
	.name = "temporary", .by = KMT_GROUP_SITE, .columns = columns,
	.n_columns = KMT_N(columns), .sort = "temporary", .wants = wants, .fill = fill,
};

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	return kmt_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_temporary = {
	.name = "temporary",
	.help = "call sites by what is freed again at once (see --temporary)",
	.needs = KMT_NEEDS_OBJECTS,
	.run = run,
};
