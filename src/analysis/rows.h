/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: the views whose rows are groups of the session's rows. */
#ifndef KMT_ANALYSIS_ROWS_H
#define KMT_ANALYSIS_ROWS_H

#include <stddef.h>

struct kmt_analysis_in;
struct kmt_column;
struct kmt_report;

struct kmt_rows_view {
	const char *name;
	unsigned by;			/* KMT_GROUP_* */
	const struct kmt_column *columns;
	const struct kmt_column *survivor_columns;	/* with min_age_ns; as many */
	size_t n_columns;
};

/* Group, fill in every column by its key, sort by what is live or survives. */
int kmt_rows_run(const struct kmt_analysis_in *in, const struct kmt_rows_view *view,
		 struct kmt_report **ret_report);

#endif
