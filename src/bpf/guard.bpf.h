/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps a program from interrupting itself on one CPU, which the counters
 * without atomics and the scratch space for stacks rely on. The kernel does it
 * since Linux commit 05b24ff9b2cf "bpf: Prevent bpf program recursion for raw
 * tracepoint probes" (in v6.1); before, an event in an interrupt could come
 * between load and store of a counter. What is skipped is counted, as there.
 * There a program runs with preemption off, and an interrupt is over before what
 * it interrupted goes on: plain loads and stores do.
 *
 * And keeps it from being preempted, where it may be (source/bpf_preempt.h): the
 * kernel would skip its events until the task that was in it runs again.
 */
#ifndef KMT_BPF_GUARD_BPF_H
#define KMT_BPF_GUARD_BPF_H

#include "bpf/compat.bpf.h"
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

#ifdef __bpf__
static void (*const kmt_call_preempt_off)(void) = (void *)KMT_CALL_PREEMPT_OFF;
static void (*const kmt_call_preempt_on)(void) = (void *)KMT_CALL_PREEMPT_ON;
static void (*const kmt_call_irq_off)(unsigned long *) = (void *)KMT_CALL_IRQ_OFF;
static void (*const kmt_call_irq_on)(unsigned long *) = (void *)KMT_CALL_IRQ_ON;

static struct task_struct *(*const kmt_call_task)(void) = (void *)KMT_CALL_TASK;

#define kmt_preempt_off()	kmt_call_preempt_off()

/* Where every architecture has TIF_NEED_RESCHED, among other things that wait for a task. */
#define KMT_TIF_WAITING		0xff

/*
 * If another task shall run by now it would at once, in the middle of this program, and
 * what we wanted to avoid would happen here. With interrupts off nothing is switched
 * to, and switching them on does not look.
 */
static __always_inline void kmt_preempt_on(void)
{
	struct task_struct *task = kmt_call_task();
	unsigned long flags;

	if (likely(!task || !(task->thread_info.flags & KMT_TIF_WAITING))) {
		kmt_call_preempt_on();
		return;
	}
	kmt_call_irq_off(&flags);
	kmt_call_preempt_on();
	kmt_call_irq_on(&flags);
}
#else
#define kmt_preempt_off()
#define kmt_preempt_on()
#endif

/* The body of a program. */
#define KMT_WHOLE(body)				\
	do {					\
		kmt_preempt_off();		\
		body;				\
		kmt_preempt_on();		\
	} while (0)

/* The same of one that may have to keep itself from being interrupted by itself. */
#define KMT_GUARDED(prog, body)			\
	do {					\
		kmt_preempt_off();		\
		if (kmt_enter(prog)) {		\
			body;			\
			kmt_leave(prog);	\
		}				\
		kmt_preempt_on();		\
	} while (0)

#endif
