/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_HASH_H
#define KMT_BASE_HASH_H

#include <stdint.h>

/* Multiplicative hash: 2^64 / golden ratio. The upper bits are the good ones. */
static inline uint64_t kmt_hash_mul(uint64_t v)
{
	return v * UINT64_C(0x9e3779b97f4a7c15);
}

/* Take one more value into a hash; all bits of the result are good. */
static inline uint64_t kmt_hash_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v ^ v >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return h ^ h >> 32;
}

/* Take a string (NULL allowed, and different from "") into a hash. */
static inline uint64_t kmt_hash_str(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return kmt_hash_mix(h, s ? 1 : 2);
}

#endif
