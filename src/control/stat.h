/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files below trace_stat/: each is a row of stats.def, an analysis that is
 * made when the file is opened and shown as text, the same for as long as it is
 * open. It is made for awk:
 *
 *	allocs frees live live_bytes type site
 *	  1000     0 1000    2048000 K    load_msg+0x4b
 *	     7     7    0          0 K    mod_get+0x20[mymod]
 */
#ifndef KMT_CONTROL_STAT_H
#define KMT_CONTROL_STAT_H

#include <stddef.h>

struct kmt_buf;
struct kmt_report;

struct kmt_stat_file {
	const char *name;	/* of the file; NULL ends the table */
	const char *analysis;	/* of 'stat --by'; NULL: kmt_stat_losses() */
	const char *sort;	/* as of --sort, "key" or "key:asc"; NULL: the analysis's own order */
	const char *columns;	/* "key title=key ...": the report's keys, under other titles */
	/*
	 * The whole text of the file, with its header line, from all rows of the
	 * analysis in its own order. The report may be changed, and is freed by the
	 * caller; NULL: nothing was traced yet. 0 or a negative errno, then 'out' is as
	 * it was.
	 */
	int (*text)(const struct kmt_stat_file *f, struct kmt_report *r, struct kmt_buf *out);
};

extern const struct kmt_stat_file kmt_stat_files[];	/* in the order of stats.def */
extern const size_t kmt_n_stat_files;

/*
 * Of most rows: sorted, a line of titles, aligned columns without a blank inside,
 * whole numbers in bytes and nanoseconds, "-" for what is unknown, nothing cut. Texts
 * start below their title, numbers end there. -EINVAL: the report has no such column.
 */
int kmt_stat_table(const struct kmt_stat_file *f, struct kmt_report *r, struct kmt_buf *out);

/* Lines "reason: N" as a report with the columns events and reason. 0 or -ENOMEM. */
int kmt_stat_losses(const char *overruns, struct kmt_report **ret_report);

#endif
