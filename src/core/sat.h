/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_CORE_SAT_H
#define KMT_CORE_SAT_H

#include <stdint.h>

/* Sums that stop at the ends of 64 bits: sizes may come from a broken file. */
static inline uint64_t kmt_sat_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t kmt_sat_sub(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

#endif
