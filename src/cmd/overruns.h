/* SPDX-License-Identifier: GPL-2.0-only */
/* What was lost, missed or left out, as the file 'overruns' of a tracer says it. */
#ifndef KMT_CMD_OVERRUNS_H
#define KMT_CMD_OVERRUNS_H

struct kmt_buf;
struct kmt_quality;

/* "lost_ring: 0" and so on, a line for each reason that there is. */
void kmt_overruns_print(const struct kmt_quality *q, struct kmt_buf *out);

#endif
