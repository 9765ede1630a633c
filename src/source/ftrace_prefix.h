/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside source/ only: what stands before an event in ftrace's text, that of
 * trace-cmd and of perf script. Since 2008 columns came and went:
 *
 *	comm-12 [001] 5.000001:                     2.6.27, noirq-info, trace-cmd
 *	comm-12 (   12) [001] d.h1. 5.000001:       flags since 3.2, tgid with record-tgid
 *	comm-12   1d.h1. 5000001us+:                latency-format
 *	comm 12 1 0 00000000 00000003 [1b] 5.001ms (+0.001ms):   and verbose
 *	comm 12/13 [001] 5.000001:                  perf script
 *
 * It is read from the right, because comm may hold anything.
 */
#ifndef KMT_SOURCE_FTRACE_PREFIX_H
#define KMT_SOURCE_FTRACE_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/words.h"

struct kmt_lost;

#define KMT_FTRACE_COMM	64

struct kmt_ftrace_prefix {
	struct kmt_word comm;	/* less than KMT_FTRACE_COMM bytes, no NUL */
	struct kmt_word flags;	/* irq flags and preempt count; no length: not printed */
	bool	 has_task;
	bool	 has_cpu;
	bool	 has_time;	/* else the clock is none, or counts something else */
	uint32_t cpu;
	uint32_t pid;
	uint32_t tgid;		/* 0 unknown */
	uint64_t ts_ns;
};

/* 'text' is the line up to the colon before the event's name, without it. */
bool kmt_ftrace_prefix_parse(struct kmt_word text, struct kmt_ftrace_prefix *ret);
/* The task's name in 'out', which has KMT_FTRACE_COMM bytes; NULL if ftrace did not know it. */
const char *kmt_ftrace_comm(const struct kmt_ftrace_prefix *pre, char *out, size_t size);
/*
 * "CPU:3 [LOST 17 EVENTS]", "CPU:3 [LOST EVENTS]", trace-cmd's "CPU:3 [17 EVENTS
 * DROPPED]", "[MISSED EVENTS]". Events is 0 where the number is unknown.
 */
bool kmt_ftrace_lost_parse(struct kmt_word line, struct kmt_lost *ret);

#endif
