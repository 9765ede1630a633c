/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files below trace_stat/: each is a row of stats.def, an analysis that is
 * made when the file is opened and shown as text, the same for as long as it is
 * open.
 */
#ifndef KMT_CONTROL_STAT_H
#define KMT_CONTROL_STAT_H

#include <stddef.h>

struct kmt_buf;
struct kmt_report;

struct kmt_stat_file {
	const char *name;	/* of the file; NULL ends the table */
	const char *analysis;	/* of 'stat --by' */
	const char *sort;	/* as of --sort, "key" or "key:asc"; NULL: the analysis's own order */
	const char *columns;	/* as of --columns; NULL: the analysis's own */
	/*
	 * The whole text of the file, with its header line, from all rows of the
	 * analysis in its own order. The report may be changed, and is freed by the
	 * caller. 0 or a negative errno.
	 */
	int (*text)(const struct kmt_stat_file *f, struct kmt_report *r, struct kmt_buf *out);
};

extern const struct kmt_stat_file kmt_stat_files[];	/* in the order of stats.def */
extern const size_t kmt_n_stat_files;

/*
 * Of most rows: sorted, a line of titles that begins with "#", aligned columns,
 * bytes as integers, nothing cut.
 */
int kmt_stat_table(const struct kmt_stat_file *f, struct kmt_report *r, struct kmt_buf *out);

#endif
