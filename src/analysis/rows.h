/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: the views whose rows are groups of the session's rows. */
#ifndef KMT_ANALYSIS_ROWS_H
#define KMT_ANALYSIS_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/group.h"

struct kmt_analysis_in;
struct kmt_books;
struct kmt_cell;
struct kmt_column;
struct kmt_report;
struct kmt_site_key;

/* All that a cell can be filled from. */
struct kmt_row_source {
	const struct kmt_analysis_in *in;
	const struct kmt_groups *groups;
	const struct kmt_books *books;
	const struct kmt_group *g;
	const struct kmt_site_key *key;		/* the group's first */
	void *ctx;				/* kmt_rows_view.ctx */
	size_t n_caches;
	bool has_objects;
};

struct kmt_rows_view {
	const char *name;
	unsigned by;			/* KMT_GROUP_* */
	kmt_label_fn *label;		/* instead of 'by'; NULL: by that */
	const char *label_key;		/* the column that shows it */
	const struct kmt_column *columns;
	/* with min_age_ns; as many. NULL: this view shows all objects whatever their age */
	const struct kmt_column *survivor_columns;
	size_t n_columns;
	const char *sort;		/* NULL: what is live or survives */
	/* Is there a row for this group? NULL: for each. */
	bool (*wants)(const struct kmt_row_source *s);
	/*
	 * Fill a column that only this view has. 1: done (or left unknown);
	 * 0: not one of its own. NULL: it has none.
	 */
	int (*fill)(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell);
	void *ctx;			/* for these two */
};

/*
 * Given bytes of the objects that one counter counts in the group's window:
 * 'counter' is its offset in struct kmt_counts.
 */
uint64_t kmt_row_given_bytes(const struct kmt_row_source *s, size_t counter);

/* Group, fill in every column by its key, sort by what is live or survives. */
int kmt_rows_run(const struct kmt_analysis_in *in, const struct kmt_rows_view *view,
		 struct kmt_report **ret_report);

#endif
