/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps a program from interrupting itself on one CPU, which the counters
 * without atomics and the scratch space for stacks rely on. The kernel does it
 * since Linux commit 05b24ff9b2cf "bpf: Prevent bpf program recursion for raw
 * tracepoint probes" (in v6.1); before, an event in an interrupt could come
 * between load and store of a counter. What is skipped is counted, as there.
 * A program runs with preemption off, and an interrupt is over before what it
 * interrupted goes on: plain loads and stores do.
 */
#ifndef KMT_BPF_GUARD_BPF_H
#define KMT_BPF_GUARD_BPF_H

#include "bpf/maps.bpf.h"

static __always_inline __u64 *kmt_guard_counts(__u32 prog)
{
	struct kmt_cpu *c = kmt_cpu_at(kmt_base(), bpf_get_smp_processor_id());

	return c ? c->count[prog] : NULL;
}

/* 0: this CPU is inside this program already, so it must return at once. */
static __always_inline int kmt_enter(__u32 prog)
{
	volatile __u64 *count;

	if (!(kmt_flags & KMT_F_GUARD))
		return 1;
	count = kmt_guard_counts(prog);
	if (!count)
		return 0;
	if (unlikely(count[KMT_CNT_RUNNING])) {
		count[KMT_CNT_RECURSION]++;
		return 0;
	}
	count[KMT_CNT_RUNNING] = 1;
	barrier();
	return 1;
}

static __always_inline void kmt_leave(__u32 prog)
{
	volatile __u64 *count;

	if (!(kmt_flags & KMT_F_GUARD))
		return;
	barrier();
	count = kmt_guard_counts(prog);
	if (count)
		count[KMT_CNT_RUNNING] = 0;
}

/* The body of a program that may need it. */
#define KMT_GUARDED(prog, body)			\
	do {					\
		if (!kmt_enter(prog))		\
			return 0;		\
		body;				\
		kmt_leave(prog);		\
	} while (0)

#endif
