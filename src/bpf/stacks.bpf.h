/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BPF_STACKS_BPF_H
#define KMT_BPF_STACKS_BPF_H

#include "bpf/sites.bpf.h"

static __always_inline struct kmt_stack *kmt_stack_slot(void *base, __u32 i)
{
	return (struct kmt_stack *)(base + kmt_at_stacks) + (i & kmt_stacks_mask);
}

/* Row of a stack + 1, claimed if it is new; 0 = table full. */
static __noinline __u32 kmt_stack_intern(struct kmt_stack_scratch *s, __u32 depth)
{
	__u64 key = depth;
	void *base = kmt_base();
	__u32 at;

	if (!s || !base)
		return 0;
	for (int i = 0; i < KMT_STACK_DEPTH; i++) {
		if (i >= depth)
			break;
		key = (key ^ s->ip[i]) * 0x9e3779b97f4a7c15ull;
		key ^= key >> 29;
	}
	key = key ? key : 1;
	at = key >> 16;
	for (int i = 0; i < KMT_PROBES; i++) {
		__u32 row = (at + i) & kmt_stacks_mask;
		struct kmt_stack *st = kmt_stack_slot(base, row);

		if (st->key == key)
			return row + 1;
		if (st->key || kmt_claim(&st->key, key, KMT_CLAIM_STACK | row)) {
			if (st->key == key)
				return row + 1;
			continue;
		}
		for (int j = 0; j < KMT_STACK_DEPTH; j++)
			st->ip[j] = s->ip[j];
		st->depth = depth;
		return row + 1;
	}
	return 0;
}

/*
 * The current kernel stack, interned: row + 1, 0 when it cannot be had. The
 * scratch is one per CPU and program: a program never interrupts itself.
 */
static __always_inline __u32 kmt_stack_get(void *ctx, __u32 cpu, __u32 prog)
{
	__u32 slot = cpu * KMT_PROG_MAX + prog;
	struct kmt_stack_scratch *s = bpf_map_lookup_elem(&kmt_scratch, &slot);
	long n;

	if (!s)
		return 0;
	n = bpf_get_stack(ctx, s->ip, sizeof(s->ip), 0);
	if (n <= 0)
		return 0;
	return kmt_stack_intern(s, (__u32)n / 8);
}

#endif
