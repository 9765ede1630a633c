// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/rows.h"
#include "base/err.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_cgroup;

#define COLUMNS(survivors) {							\
	KMT_COLUMNS_MAIN(survivors, KMT_SHOWN, KMT_HIDDEN, KMT_HIDDEN),		\
	{ "cgroup", "CGROUP", KMT_UNIT_TEXT, KMT_SHOWN, true },			\
	{ "cgroup_id", "ID", KMT_UNIT_COUNT, KMT_HIDDEN, false },		\
	{ "caches", "CACHES", KMT_UNIT_LIST, KMT_HIDDEN, false },		\
	KMT_COLUMNS_MORE,							\
}

static const struct kmt_column columns[] = COLUMNS(false);
static const struct kmt_column survivor_columns[] = COLUMNS(true);

static const struct kmt_rows_view view = {
	.name = "cgroup", .by = KMT_GROUP_CGROUP, .columns = columns,
	.survivor_columns = survivor_columns, .n_columns = KMT_N(columns),
};

/* No event names a cgroup; the programs in the kernel can be told to count by it. */
static bool is_by_cgroup(const struct kmt_session *s)
{
	size_t n = kmt_session_n_sites(s);

	for (size_t i = 0; i < n; i++)
		if (kmt_session_site(s, i)->key.by_cgroup)
			return true;
	return !n;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	if (!is_by_cgroup(in->session))
		return kmt_err(-ENOTSUP, "events do not say in which cgroup a task was: count by it, "
			       "'stat --by cgroup'");
	return kmt_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_cgroup = {
	.name = "cgroup",
	.aliases = { "cgroups" },
	.help = "by the cgroup (v2) of the task that allocated; counted mode only",
	.needs = KMT_NEEDS_CGROUPS,
	.run = run,
};
