/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SOURCE_BPF_PREEMPT_H
#define KMT_SOURCE_BPF_PREEMPT_H

#include <stdbool.h>

struct bpf_object;
struct btf;

/*
 * May a program on a tracepoint be preempted here? Until Linux commit a46023d5616e
 * "tracing: Guard __DECLARE_TRACE() use of __DO_TRACE_CALL() with SRCU-fast" (in v7.0)
 * no. A task that waits in the middle of a program keeps it from running on that CPU
 * until it goes on, and the kernel skips (and counts) every event of it meanwhile.
 */
bool kmt_bpf_is_preempted(const struct btf *btf);

/*
 * Fill in where the programs switch preemption off and on (bpf/guard.bpf.h): the
 * kernel's functions for that where programs may be preempted, else nothing. To be
 * called once, between open and load. 0 or a negative errno, with text.
 */
int kmt_bpf_preempt_fill(struct bpf_object *obj, const struct btf *btf);

#endif
