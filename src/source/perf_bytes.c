// SPDX-License-Identifier: GPL-2.0-only
#include "source/perf_bytes.h"

#include <byteswap.h>
#include <string.h>

const unsigned char *kmt_perf_take(struct kmt_perf_bytes *b, uint64_t n)
{
	const unsigned char *p = b->p;

	if (n > b->left) {
		b->is_short = true;
		b->left = 0;
		return NULL;
	}
	b->p += n;
	b->left -= n;
	return p;
}

uint16_t kmt_perf_u16(struct kmt_perf_bytes *b)
{
	const unsigned char *p = kmt_perf_take(b, sizeof(uint16_t));
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return b->swap ? bswap_16(v) : v;
}

uint32_t kmt_perf_u32(struct kmt_perf_bytes *b)
{
	const unsigned char *p = kmt_perf_take(b, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return b->swap ? bswap_32(v) : v;
}

uint64_t kmt_perf_u64(struct kmt_perf_bytes *b)
{
	const unsigned char *p = kmt_perf_take(b, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return b->swap ? bswap_64(v) : v;
}
