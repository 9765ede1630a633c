// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/overruns.h"

#include <inttypes.h>

#include "base/buf.h"
#include "core/quality.h"

void kmt_overruns_print(const struct kmt_quality *q, struct kmt_buf *out)
{
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		kmt_buf_printf(out, "%s: %" PRIu64 "\n", kmt_loss_key(i), q->lost[i]);
	kmt_buf_printf(out, "lost_unknown: %d\n", q->lost_unknown);
	for (int i = 0; i < KMT_COUNT_MAX; i++)
		kmt_buf_printf(out, "%s: %" PRIu64 "\n", kmt_quality_key(i), kmt_quality_get(q, i));
}
