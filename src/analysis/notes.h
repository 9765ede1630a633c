/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: sentences for the reader. */
#ifndef KMT_ANALYSIS_NOTES_H
#define KMT_ANALYSIS_NOTES_H

struct kmt_analysis_in;
struct kmt_quality;
struct kmt_report;

int kmt_notes_fill(const struct kmt_analysis_in *in, const struct kmt_quality *q,
		   struct kmt_report *r);

#endif
