// SPDX-License-Identifier: GPL-2.0-only
#include "core/quality.h"

#include "core/sat.h"

uint64_t kmt_quality_lost(const struct kmt_quality *q)
{
	uint64_t sum = 0;

	for (int i = 0; i < KMT_LOSS_MAX; i++)
		sum = kmt_sat_add(sum, q->lost[i]);
	return sum;
}
