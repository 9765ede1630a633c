/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SOURCE_TASKS_H
#define KMT_SOURCE_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#define KMT_TASK_COMM 16

/*
 * Threads by id, for sources whose events carry only a thread id: from /proc at
 * the start, kept up to date by the task_newtask, task_rename and
 * sched_process_free events of the stream itself.
 */
struct kmt_task {
	uint32_t tid;
	uint32_t tgid;		/* 0 unknown */
	bool	 known;		/* comm is known */
	bool	 followed;	/* selected by pid= or tgid=, or a child of such a task */
	bool	 in_cgroup;	/* as of cgroup_ns */
	bool	 no_cgroup;	/* it could not be asked then */
	uint64_t cgroup_ns;	/* event time of that look, 0 never */
	char	 comm[KMT_TASK_COMM];
};

struct kmt_tasks;

/* root: a prefix of /proc for tests, NULL = none */
int kmt_tasks_new(const char *root, struct kmt_tasks **ret);
void kmt_tasks_free(struct kmt_tasks *t);

/* Read every thread there is now; threads that end meanwhile are skipped. */
int kmt_tasks_scan(struct kmt_tasks *t);
/*
 * The thread, read from /proc if it is new here. Never fails for a live table:
 * what cannot be read stays unknown. NULL = no memory or table full. Valid
 * until the next call.
 */
struct kmt_task *kmt_tasks_get(struct kmt_tasks *t, uint32_t tid);
/* A thread was born: 'thread' = in the parent's process. NULL as above. */
struct kmt_task *kmt_tasks_born(struct kmt_tasks *t, uint32_t parent, uint32_t tid, bool thread,
				const char *comm);
void kmt_tasks_rename(struct kmt_tasks *t, uint32_t tid, const char *comm);
/*
 * The name of thread 'tid', whose row is 'task' (may be NULL); NULL if it is not known.
 * That of a CPU's idle task, number 0 on every CPU, is made into 'idle'.
 */
const char *kmt_task_name(const struct kmt_task *task, uint32_t tid, uint32_t cpu,
			  char idle[KMT_TASK_COMM]);
void kmt_tasks_forget(struct kmt_tasks *t, uint32_t tid);

#endif
