/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: what is alike in every view that makes its own rows. */
#ifndef KMT_ANALYSIS_OWN_ROWS_H
#define KMT_ANALYSIS_OWN_ROWS_H

#include <stddef.h>

struct kmt_analysis_in;
struct kmt_column;
struct kmt_report;

struct kmt_own_view {
	const char *name;
	const struct kmt_column *columns;
	size_t n_columns;
	const char *sort;	/* as kmt_report_sort() takes it; NULL: as the rows were made */
	int (*add_rows)(const struct kmt_analysis_in *in, struct kmt_report *r);
};

/* A report with summary, quality and notes, its rows, and these sorted. */
int kmt_own_rows_run(const struct kmt_analysis_in *in, const struct kmt_own_view *view,
		 struct kmt_report **ret_report);

#endif
