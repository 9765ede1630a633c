/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_CORE_QUALITY_H
#define KMT_CORE_QUALITY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"

/*
 * How far to trust the numbers. Copied into every report and shown by every
 * renderer, also when all is zero.
 */
struct kmt_quality {
	char	 source[24];		/* "bpf", "tracefs", "legacy", ... */
	char	 mode[12];		/* "counted", "streamed" */
	char	 kernel[72];		/* release of the traced kernel, "" unknown */
	char	 functions[80];		/* by what the silent paths were seen; "" unknown */
	uint64_t window_ns;		/* how long was looked; 0 unknown */
	uint64_t events;		/* allocations, frees and failures seen */
	uint64_t lost[KMT_LOSS_MAX];	/* by reason */
	bool	 lost_unknown;		/* a loss of unknown size is in there, counted as 1 */
	uint64_t recursion_misses;	/* program runs the kernel skipped */
	uint64_t misses_untold;		/* programs whose skipped runs this kernel does not count */
	uint64_t frees_before_start;	/* frees of objects that were not tracked */
	uint64_t given_up_before_start;	/* given up to RCU, and not tracked or given up before */
	uint64_t untraced_frees;	/* allocations at a live address */
	uint64_t failed_allocations;
	uint64_t null_frees;		/* kfree(NULL), kfree(ZERO_SIZE_PTR) */
	uint64_t filtered;		/* events a filter rejected */
	uint64_t own;			/* kmemtrace's own events, left out */
	uint64_t sample_bytes;		/* mean bytes between samples, 0 = every event */
	uint64_t table_bytes;		/* memory of the in-kernel tables and rings */
	uint64_t objects_capacity;	/* rows of the live-object table, 0 = none */
	uint64_t clock_resolution_ns;	/* of ages and lifetimes */
	bool	 hashed_addresses;	/* what addresses are called is the kernel's %p hash of them */
	char	 first_bad[104];	/* where unreadable input begins, and what is wrong; "" */
};

/*
 * What was lost, all reasons: 'lost_total' of a report, what --strict and the limit
 * 'lost' are about. Not the runs that the kernel skipped because an interrupt found
 * the same program running: a busy machine always has some, nobody knows what they
 * would have counted, and they have a number and a limit of their own.
 */
uint64_t kmt_quality_lost(const struct kmt_quality *q);

#endif
