/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which events are looked at. Parsed once from the --filter options; the BPF
 * source pushes it into the kernel, the other sources ask kmt_filter_match().
 *
 *   key=GLOB      key: cache, site, module, task      (several: any may match)
 *   cache!=GLOB   leaves caches out                   (none may match)
 *   size=MIN..MAX size>=N size<=N size=N              requested bytes (several: all)
 *   pid=N tgid=N  one thread / one process            (several: any)
 *   cgroup=PATH   tasks in this cgroup v2 directory or below
 *
 * And a module that need not be there yet (--module): whatever it allocates while
 * it is loaded, as often as it is.
 *
 * Expressions with other keys are no event filters: they are conditions on the
 * rows of a view (kmt_report_filter).
 */
#ifndef KMT_CORE_FILTER_H
#define KMT_CORE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

#define KMT_FILTER_MAX 16	/* entries per list */
#define KMT_FILTER_PID_MAX 4194304	/* PID_MAX_LIMIT, include/linux/threads.h */

struct kmt_globs {
	const char *v[KMT_FILTER_MAX];	/* borrowed from the expressions */
	size_t n;
};

struct kmt_filter {
	struct kmt_globs cache, cache_not, site, module, task;
	uint32_t pid[KMT_FILTER_MAX], tgid[KMT_FILTER_MAX];
	size_t n_pid, n_tgid;
	uint64_t size_min, size_max;	/* max 0 = no limit */
	const char *cgroup;		/* path, NULL = none */
	const char *follow_module;	/* as the kernel spells it, NULL = none */
	bool follow;			/* children of pid/tgid too (set by --follow) */
};

/*
 * Take one expression into the filter. 1: taken; 0: not an event filter (a row
 * condition); -EINVAL: malformed (bad glob, bad number, too many), with text.
 * The expression must outlive the filter.
 */
int kmt_filter_add(struct kmt_filter *f, const char *expr);
bool kmt_filter_empty(const struct kmt_filter *f);

/* Does any pattern match? An empty list and a NULL name match nothing. */
bool kmt_globs_match(const struct kmt_globs *g, const char *name);
/* name may carry aliases: '\n'-separated list; true if any of them matches */
bool kmt_globs_match_list(const struct kmt_globs *g, const char *names);

#endif
