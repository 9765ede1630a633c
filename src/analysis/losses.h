/* SPDX-License-Identifier: GPL-2.0-only */
/* What was lost and what else was counted, by reason, as fields of a report. */
#ifndef KMT_ANALYSIS_LOSSES_H
#define KMT_ANALYSIS_LOSSES_H

struct kmt_fields;
struct kmt_quality;

/*
 * Add all of enum kmt_loss with their total, and all rows of core/quality.def.
 * What must not be overlooked is marked, what is hardly ever there is shown to
 * people only when it is. -ENOMEM.
 */
int kmt_losses_fill(const struct kmt_quality *q, struct kmt_fields *f);

#endif
