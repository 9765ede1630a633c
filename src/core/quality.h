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
	/*
	 * recursion_misses: program runs the kernel skipped; misses_untold: programs whose
	 * skipped runs it does not count; frees_before_start: of objects that were not
	 * tracked; given_up_before_start: to RCU, and not tracked or given up before;
	 * untraced_frees: allocations at a live address; null_frees: kfree(NULL),
	 * kfree(ZERO_SIZE_PTR); filtered: events that a filter rejected; unknown_tasks: of
	 * those, allocations whose task's name, process or cgroup it asked for and nobody
	 * knew; own: ours, left out
	 */
#define QUALITY_COUNT(field, title, text, how) uint64_t field;
#include "core/quality.def"
#undef QUALITY_COUNT
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

/* The rows of quality.def, in their order. */
enum kmt_quality_count {
#define QUALITY_COUNT(field, title, text, how) KMT_COUNT_##field,
#include "core/quality.def"
#undef QUALITY_COUNT
	KMT_COUNT_MAX
};

/* How people see it. */
enum kmt_quality_how { KMT_COUNT_PLAIN, KMT_COUNT_QUIET, KMT_COUNT_ALARM };

/* "recursion_misses": the field's name, and that in every output. */
const char *kmt_quality_key(enum kmt_quality_count i);
const char *kmt_quality_text(enum kmt_quality_count i);
enum kmt_quality_how kmt_quality_how(enum kmt_quality_count i);
uint64_t kmt_quality_get(const struct kmt_quality *q, enum kmt_quality_count i);
void kmt_quality_set(struct kmt_quality *q, enum kmt_quality_count i, uint64_t n);

#endif
