/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SOURCE_ADDRSET_H
#define KMT_SOURCE_ADDRSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A bounded set of nonzero 64-bit numbers (addresses, hashes): open addressing,
 * grows by doubling up to 'max' members.
 */
struct kmt_addrset {
	uint64_t *slot;		/* 0 = empty */
	size_t cap;		/* power of two, 0 before the first member */
	size_t n;
	size_t max;
};

void kmt_addrset_init(struct kmt_addrset *s, size_t max);
void kmt_addrset_done(struct kmt_addrset *s);
/* Was it new? 1; was it there? 0; -ENOSPC: full; -ENOMEM. No error text. */
int kmt_addrset_add(struct kmt_addrset *s, uint64_t v);
bool kmt_addrset_has(const struct kmt_addrset *s, uint64_t v);
/* True if it was there. */
bool kmt_addrset_del(struct kmt_addrset *s, uint64_t v);
size_t kmt_addrset_bytes(const struct kmt_addrset *s);

#endif
