/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: what every view says of the module that was followed. */
#ifndef KMT_ANALYSIS_UNLOAD_H
#define KMT_ANALYSIS_UNLOAD_H

struct kmt_analysis_in;
struct kmt_report;

/* When it came and went and what survives it: summary and notes. Nothing without a module. */
int kmt_unload_fill(const struct kmt_analysis_in *in, struct kmt_report *r);

#endif
