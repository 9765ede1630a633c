/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who allocates what: the row that everything is counted against.
 *
 *   (type, call site | stack | task | cgroup, cache) ──► kmt_counts
 */
#ifndef KMT_CORE_SITE_H
#define KMT_CORE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

#define KMT_LIFETIMES 32	/* log2 buckets of 1.024 us: [0] < 2.048 us, [31] the rest */

/* All cumulative since the start; bytes are bytes. */
struct kmt_counts {
	uint64_t allocs;		/* successful allocations */
	uint64_t frees;			/* traced frees of this site's objects, given up ones too */
	uint64_t failures;		/* allocations that returned NULL */
	uint64_t bytes_req;		/* requested by those allocations */
	uint64_t bytes_alloc;		/* given to them */
	uint64_t bytes_req_freed;	/* of what was freed, traced and untraced */
	uint64_t bytes_alloc_freed;
	uint64_t cross_cpu_frees;
	uint64_t temporary;
	uint64_t untraced_frees;	/* address handed out again without a traced free */
	uint64_t untracked;		/* allocations the object table had no room for */
	uint64_t bytes_req_untracked;
	uint64_t bytes_alloc_untracked;
	uint64_t peak_bytes;		/* most live given bytes seen */
	uint64_t given_up;		/* of the frees: to a grace period of RCU */
	/* as it is now, not since the start: */
	uint64_t awaiting;		/* given up, memory not yet seen to be free */
	uint64_t bytes_awaiting;	/* given bytes of those */
};

/* All sums stop at the ends of 64 bits: no number wraps, none is negative. */

/* Live = allocated - freed - untraced - untracked. */
uint64_t kmt_counts_live(const struct kmt_counts *c);
uint64_t kmt_counts_live_req(const struct kmt_counts *c);
uint64_t kmt_counts_live_alloc(const struct kmt_counts *c);
/* Peaks are added too: of several rows that is an upper bound. */
void kmt_counts_add(struct kmt_counts *to, const struct kmt_counts *c);
/* to - since, field by field (peak is kept): what happened in an interval. */
void kmt_counts_sub(struct kmt_counts *to, const struct kmt_counts *since);

/*
 * What makes two events belong to one row: type, cache (and whether it is a
 * guess), given size, migratetype, and the task or cgroup, else the stack, else the call site.
 * Strings may be NULL.
 */
struct kmt_site_key {
	uint8_t	 type;			/* enum kmt_type */
	bool	 cache_inferred;	/* from size and gfp flags, not from the kernel */
	int8_t	 migratetype;		/* pages: as in struct kmt_event; 0 for other types */
	uint64_t call_site;
	const char *call_site_name;	/* sources without addresses */
	const uint64_t *ips;		/* keyed by stack: frames, innermost first */
	uint32_t n_ips;
	uint32_t tgid;			/* keyed by task */
	bool	 by_task;
	const char *comm;		/* keyed by task: name when first seen */
	uint64_t cgroup;		/* keyed by cgroup (v2): its number */
	bool	 by_cgroup;
	const char *cgroup_path;	/* below the mount, NULL unknown: it is no more */
	const char *cache;		/* name, NULL unknown */
	uint32_t object_size;		/* requested bytes per object, 0 varies */
	uint32_t size;			/* given bytes per object, 0 unknown */
};

struct kmt_site {
	struct kmt_site_key key;	/* strings and frames owned by the session */
	struct kmt_counts counts;
	struct kmt_counts base;		/* counts at the last kmt_session_mark() */
	uint64_t gfp;
	/* of the untracked: they were in their cache when it was destroyed */
	uint64_t closed;
	uint64_t lifetimes[KMT_LIFETIMES];
	uint64_t lifetimes_base[KMT_LIFETIMES];	/* at the last kmt_session_mark() */
};

struct kmt_free_site {
	uint64_t call_site;
	const char *name;
	uint8_t	 type;
	uint64_t frees;
	uint64_t base;
};

#endif
