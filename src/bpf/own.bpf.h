/* SPDX-License-Identifier: GPL-2.0-only */
/* Is it the tool itself that runs? */
#ifndef KMT_BPF_OWN_BPF_H
#define KMT_BPF_OWN_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/maps.bpf.h"

/* When the process that runs began; 0: unknown. */
static __noinline __u64 kmt_process_start(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task(), *leader = NULL;
	__u64 start = 0;

	bpf_core_read(&leader, sizeof(leader), &task->group_leader);
	if (leader)
		bpf_core_read(&start, sizeof(start), &leader->start_time);
	return start;
}

/*
 * A reader of a session can be killed before it says that it sleeps, and its number
 * be given to another process: that one began later.
 */
static __always_inline int kmt_is_own(void)
{
	return unlikely(*(volatile __u32 *)&kmt_awake) &&
	       bpf_get_current_pid_tgid() >> 32 == kmt_own_tgid &&
	       (!kmt_own_start || kmt_process_start() == kmt_own_start);
}

#endif
