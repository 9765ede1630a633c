/* SPDX-License-Identifier: GPL-2.0-only */
/* Which columns of a text table are shown, in which order and how wide. */
#ifndef KMT_REPORT_LAYOUT_H
#define KMT_REPORT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

struct kmt_layout_column {
	size_t	index;		/* in report->columns */
	size_t	natural;	/* cells the widest value or the title takes */
	size_t	title_width;	/* never narrower */
	size_t	width;		/* what it gets */
	bool	dropped;	/* does not fit, and was not asked for */
};

struct kmt_layout {
	struct kmt_layout_column *v;
	size_t n;
};

/*
 * Defaults: the columns that are not hidden, the frozen ones last. Chosen ones
 * (--columns): exactly those, in that order. 0 or -ENOMEM.
 */
int kmt_layout_init(struct kmt_layout *l, const struct kmt_report *r);
/* How wide they would be: the titles, if there are any, and all rows. 0 or -ENOMEM. */
int kmt_layout_measure(struct kmt_layout *l, const struct kmt_report *r, bool titles,
		       bool exact_bytes);
void kmt_layout_done(struct kmt_layout *l);

/*
 * Fit into 'width', one blank between columns: shrink the frozen columns, then
 * other texts, and then, by default only, drop columns from the right; never
 * the sorted one. What --columns named stays, even if lines get too long, unless
 * the report says that it is only a proposal.
 */
void kmt_layout_fit(struct kmt_layout *l, const struct kmt_report *r, size_t width);

#endif
