/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What became of each row from one recording to the next.
 *
 *   report A ─┐ rows with the same names,
 *   report B ─┴ offsets left out ──► report of A, B and B - A
 */
#ifndef KMT_ANALYSIS_DIFF_H
#define KMT_ANALYSIS_DIFF_H

struct kmt_report;
struct kmt_buf;

#define KMT_DIFF_SITE	1u	/* rows are matched by the function */
#define KMT_DIFF_CACHE	2u
#define KMT_DIFF_STACK	4u	/* by the functions of the whole stack */

/*
 * Two reports of one view, neither filtered nor limited: rows whose names (the
 * KMT_DIFF_* of 'by') are the same are added up and compared. Sorted by how
 * much the live bytes differ, in either direction. 0 or -ENOMEM.
 */
int kmt_diff_run(const struct kmt_report *a, const struct kmt_report *b, unsigned by,
		 struct kmt_report **ret_report);

/*
 * "func+0x1c [mod]" without what differs from build to build: offsets, and the
 * suffixes of the compiler's copies (.isra.0, .constprop.0, .part.0, .cold,
 * .llvm.N). Appended to 'out'.
 */
void kmt_diff_plain_name(const char *name, struct kmt_buf *out);

#endif
