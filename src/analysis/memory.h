/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: the kernel's slab memory, and how much of its change is traced. */
#ifndef KMT_ANALYSIS_MEMORY_H
#define KMT_ANALYSIS_MEMORY_H

struct kmt_analysis_in;
struct kmt_report;

/*
 * Summary fields slab_memory_* and a note: the change of SReclaimable +
 * SUnreclaim against the given bytes of what was traced and is still there.
 * Nothing where it is unknown, filtered, or no slab objects were looked at.
 */
int kmt_memory_fill(const struct kmt_analysis_in *in, struct kmt_report *r);

#endif
