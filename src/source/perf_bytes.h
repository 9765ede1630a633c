/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers out of bytes of either byte order; what is not there reads as 0 and is remembered. */
#ifndef KMT_SOURCE_PERF_BYTES_H
#define KMT_SOURCE_PERF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_perf_bytes {
	const unsigned char *p;
	size_t left;
	bool swap;
	bool is_short;		/* more was asked for than there is */
};

uint16_t kmt_perf_u16(struct kmt_perf_bytes *b);
uint32_t kmt_perf_u32(struct kmt_perf_bytes *b);
uint64_t kmt_perf_u64(struct kmt_perf_bytes *b);
/* The next n bytes as they are, NULL if there are fewer. */
const unsigned char *kmt_perf_take(struct kmt_perf_bytes *b, uint64_t n);

#endif
