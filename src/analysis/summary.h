/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: what every view says besides its table. */
#ifndef KMT_ANALYSIS_SUMMARY_H
#define KMT_ANALYSIS_SUMMARY_H

#include <stdint.h>

struct kmt_analysis_in;
struct kmt_report;

/*
 * Fill in kernel, window, summary, quality and the notes that follow from
 * losses, untraced frees, guessed names and books that do not balance.
 */
int kmt_summary_fill(const struct kmt_analysis_in *in, struct kmt_report *r);

/* A count as a cell's integer: what is above its range stays at its end. */
int64_t kmt_cell_value(uint64_t v);

#endif
