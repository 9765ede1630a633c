// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/rows.h"

extern const struct kmt_analysis kmt_analysis_cache;

#define COLUMNS(survivors) {							\
	KMT_COLUMNS_MAIN(survivors, KMT_SHOWN, KMT_HIDDEN, KMT_HIDDEN),		\
	KMT_COLUMNS_CACHE(survivors, KMT_SHOWN),				\
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },			\
	KMT_COLUMNS_MORE,							\
}

static const struct kmt_column columns[] = COLUMNS(false);
static const struct kmt_column survivor_columns[] = COLUMNS(true);

static const struct kmt_rows_view view = {
	.name = "cache", .by = KMT_GROUP_CACHE, .columns = columns,
	.survivor_columns = survivor_columns, .n_columns = KMT_N(columns),
};

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	return kmt_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_cache = {
	.name = "cache",
	.aliases = { "caches" },
	.help = "by slab cache, with aliases and the balance against slabinfo",
	.needs = KMT_NEEDS_NO_KEY,
	.run = run,
};
