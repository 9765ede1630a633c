// SPDX-License-Identifier: GPL-2.0-only
/* Who is who: children of followed processes, and ourselves. */
#include "bpf/maps.bpf.h"
#include "bpf/compat.bpf.h"
#include "bpf/own.bpf.h"

__u64 kmt_follow_lost = 0;	/* children the set had no room for */

/* Loaded with --follow only. */
SEC("?raw_tp/sched_process_fork")
int kmt_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (struct task_struct *)ctx->args[0];
	struct task_struct *child = (struct task_struct *)ctx->args[1];
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid), one = 1;

	if (from == to || !bpf_map_lookup_elem(&kmt_tgids, &from))
		return 0;
	if (bpf_map_update_elem(&kmt_tgids, &to, &one, BPF_ANY))
		__sync_fetch_and_add(&kmt_follow_lost, 1);
	return 0;
}

/*
 * Run once by hand (BPF_PROG_TEST_RUN): our process as the kernel numbers it,
 * which is not what getpid() says inside a pid namespace; and where its memory
 * begins (bpf/page_cache.bpf.h).
 */
SEC("?raw_tp")
int kmt_whoami(void *ctx)
{
	__u64 linear = 0, vmemmap = 0;

	kmt_own_tgid = bpf_get_current_pid_tgid() >> 32;
	kmt_own_start = kmt_process_start();
	if (!kmt_at_linear || !kmt_at_vmemmap)
		return 0;
	bpf_probe_read_kernel(&linear, sizeof(linear), (void *)kmt_at_linear);
	bpf_probe_read_kernel(&vmemmap, sizeof(vmemmap), (void *)kmt_at_vmemmap);
	kmt_linear = linear;
	kmt_vmemmap = linear ? vmemmap : 0;
	return 0;
}
