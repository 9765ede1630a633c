/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What needs more than plain loads, stores and adds. The programs are compiled
 * twice: as they are, and with KMT_HASHED for kernels whose BPF cannot compare
 * and swap, nor fetch what it adds to: Linux commit 5ffa25502b5a "bpf: Add
 * instructions for atomic_[cmp]xchg" (in v5.12). There the kernel's own hash
 * maps decide, whose every operation is atomic.
 */
#ifndef KMT_BPF_CLAIM_BPF_H
#define KMT_BPF_CLAIM_BPF_H

#include "bpf/maps.bpf.h"

/* A row of a table as a number of its own: a table has less than 2^24 rows. */
#define KMT_CLAIM_SITE	(1u << 24)
#define KMT_CLAIM_CACHE	(2u << 24)
#define KMT_CLAIM_STACK	(3u << 24)

#ifdef KMT_HASHED

/*
 * An entry of kmt_claims is there while somebody looks once more whether the
 * row is free, and writes its key. Who comes meanwhile does not wait (it may
 * have interrupted the claimer) but reads from the entry what the key will be.
 */
static __noinline __u64 kmt_claim(__u64 *slot, __u64 key, __u32 id)
{
	__u64 mine = key, was, *theirs;

	if (!slot)
		return ~key;
	if (!bpf_map_update_elem(&kmt_claims, &id, &mine, BPF_NOEXIST)) {
		was = *(volatile __u64 *)slot;
		if (!was)
			*(volatile __u64 *)slot = key;
		bpf_map_delete_elem(&kmt_claims, &id);
		return was;
	}
	theirs = bpf_map_lookup_elem(&kmt_claims, &id);
	was = theirs ? *theirs : 0;
	/* written meanwhile: entries are reused, so the row itself is better evidence */
	if (*(volatile __u64 *)slot)
		return *(volatile __u64 *)slot;
	return was ? was : ~key;	/* not to be known now: taken by another */
}

/* Only who describes a row and who finds a new flag come here; one lost bit comes again. */
#define kmt_set_bits(p, bits)	do { *(volatile __u32 *)(p) |= (bits); } while (0)

#else

/* Write 'key' to a free slot: 0 = it is ours, else what stands there. */
static __always_inline __u64 kmt_claim(__u64 *slot, __u64 key, __u32 id)
{
	return __sync_val_compare_and_swap(slot, 0, key);
}

#define kmt_set_bits(p, bits)	__sync_fetch_and_or(p, bits)

#endif

#endif
