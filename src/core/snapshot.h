/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The books as the kernel side keeps them, handed over whole: cumulative
 * since the start, so a later snapshot replaces an earlier one.
 */
#ifndef KMT_CORE_SNAPSHOT_H
#define KMT_CORE_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpus.h"
#include "core/site.h"

struct kmt_snap_site {
	struct kmt_site_key key;	/* strings borrowed for the call */
	struct kmt_counts counts;
	uint64_t gfp;			/* union of the flags seen */
	uint32_t index;			/* by which objects name this site */
	uint64_t closed;		/* untracked since their cache was destroyed */
	uint64_t lifetimes[KMT_LIFETIMES];
};

struct kmt_snap_free_site {
	uint64_t call_site;
	uint8_t	 type;			/* enum kmt_type of the freeing call */
	uint64_t frees;
};

/*
 * What belongs to no row and changes the kernel's count of a cache: frees of
 * objects that were not tracked (older ones, as a rule, and the tracer's own), and
 * allocations of the tracer's own.
 */
struct kmt_snap_older {
	const char *cache;		/* NULL: it is unknown which */
	uint64_t frees, own_allocs;
	/*
	 * Of these frees: to RCU, where nothing tells when it is over. From a session:
	 * of which it may not be over.
	 */
	uint64_t given_up;
};

struct kmt_snap_object {
	uint64_t addr;
	uint64_t bytes_req;
	uint64_t birth_ns;		/* CLOCK_MONOTONIC, resolution 1.024 us */
	uint32_t site;			/* kmt_snap_site.index */
	uint32_t cpu;
	bool	 awaiting;		/* given up to RCU, at birth_ns: not live */
};

struct kmt_snapshot {
	uint64_t now_ns;
	const struct kmt_snap_site *sites;
	size_t	 n_sites;
	const struct kmt_snap_free_site *free_sites;
	size_t	 n_free_sites;
	const struct kmt_snap_older *older;
	size_t	 n_older;
	bool	 has_older;		/* false: nobody counted them */
	const struct kmt_snap_cpu *cpus;	/* any order; NULL: nobody counted by CPU */
	size_t	 n_cpus;
	/*
	 * Walk the live objects and those that await RCU. Valid until the source is closed, also after
	 * the snapshot call; objects change while it walks if the source still
	 * runs. cb returns nonzero to stop. NULL: objects are not tracked.
	 */
	int (*each_object)(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
			   void *cb_ctx);
	void *objects_ctx;
};

#endif
