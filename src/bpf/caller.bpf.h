/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The call site of an event that names none: the first frame of the kernel
 * stack behind tracing and the allocators, whose address ranges user space
 * wrote to kmt_frames (symbol/frames.c says which functions they are).
 */
#ifndef KMT_BPF_CALLER_BPF_H
#define KMT_BPF_CALLER_BPF_H

#include "bpf/maps.bpf.h"

#define KMT_CALLER_LOOK	24	/* frames looked at */

/*
 * Binary search for the last range that starts below; without a branch, so
 * that the verifier sees one path. Kernel addresses differ by less than 2^63.
 */
static __always_inline int kmt_is_allocator(struct kmt_frame_table *f, __u64 ip)
{
	__u32 at = 0;

	for (__u32 step = KMT_FRAMES / 2; step; step >>= 1) {
		__u32 i = at + step;
		__u64 below;

		barrier_var(i);		/* masked last: older verifiers lose bounds at an OR */
		below = (f->range[i & (KMT_FRAMES - 1)].start - ip) >> 63;

		at += step & -(__u32)below;
	}
	barrier_var(at);
	at &= KMT_FRAMES - 1;
	return ip > f->range[at].start && ip <= f->range[at].end;
}

static __noinline __u64 kmt_first_other(struct kmt_stack_scratch *s, __u32 depth)
{
	__u32 zero = 0;
	struct kmt_frame_table *f = bpf_map_lookup_elem(&kmt_frames, &zero);
	int seen = 0;

	if (!s || !f)
		return 0;
	for (int i = 0; i < KMT_CALLER_LOOK; i++) {
		if (i >= depth)
			break;
		/* before the first of them stand trampolines that have no name */
		if (kmt_is_allocator(f, s->ip[i]))
			seen = 1;
		else if (seen)
			return s->ip[i];
	}
	return 0;
}

/* 0: no stack, or nothing but allocators in it. */
static __always_inline __u64 kmt_caller(void *ctx, __u32 prog)
{
	__u32 slot = bpf_get_smp_processor_id() * KMT_PROG_MAX + prog;
	struct kmt_stack_scratch *s = bpf_map_lookup_elem(&kmt_scratch, &slot);
	long n;

	if (!s)
		return 0;
	n = bpf_get_stack(ctx, s->ip, sizeof(s->ip), 0);
	return n <= 0 ? 0 : kmt_first_other(s, (__u32)n / 8);
}

#endif
