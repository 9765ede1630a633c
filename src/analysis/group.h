/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: the session's rows gathered by what a view shows.
 *
 *   kmt_site (type, who, cache, size) ──by site│cache│task──► kmt_group
 */
#ifndef KMT_ANALYSIS_GROUP_H
#define KMT_ANALYSIS_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/site.h"

struct kmt_analysis_in;
struct kmt_buf;

#define KMT_GROUP_SITE	1u
#define KMT_GROUP_CACHE	2u
#define KMT_GROUP_TASK	4u
#define KMT_GROUP_SIZE	8u	/* given bytes per object */
#define KMT_GROUP_MIGRATETYPE 16u
#define KMT_GROUP_CGROUP 32u

struct kmt_group {
	const struct kmt_site *first;	/* names come from here */
	size_t	 start, n;		/* its rows: kmt_groups.members[start .. start + n - 1] */
	bool	 mixed_types;
	const char *label;		/* of kmt_groups_by_label(); NULL unknown */
	size_t	 n_sites;		/* different call sites, there */
	struct kmt_counts window;	/* in the interval, or since the start */
	struct kmt_counts now;		/* since the start: what is live, peaks */
	uint64_t gfp;
	uint64_t lifetimes[KMT_LIFETIMES];
	/* of live objects with a known age, at least min_age_ns old */
	uint64_t survivors, survivor_bytes;
	uint64_t age_min, age_p50, age_max;	/* p50: the lower one of two middles */
};

struct kmt_groups {
	struct kmt_group *v;
	size_t	 n;
	uint32_t *of;		/* session row -> group */
	size_t	*members;	/* session rows, group by group, in the session's order */
	struct kmt_arena labels;
};

/* 'by' is a set of KMT_GROUP_*. 0 or -ENOMEM. */
int kmt_groups_make(const struct kmt_analysis_in *in, unsigned by, struct kmt_groups *ret);
/*
 * The same by a text that 'label' appends for a call site (nothing: unknown), and
 * by layer. 0, -ENOMEM or what label() returned.
 */
typedef int kmt_label_fn(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
			 struct kmt_buf *out);
int kmt_groups_by_label(const struct kmt_analysis_in *in, kmt_label_fn *label,
			struct kmt_groups *ret);
/* Fill in survivors and ages from the live objects. */
int kmt_groups_ages(const struct kmt_analysis_in *in, struct kmt_groups *g);
void kmt_groups_done(struct kmt_groups *g);

/*
 * Memory that lies on other memory: slab objects (of either kind of call),
 * pages, percpu, vmalloc, and whatever else a file calls it. Layers are never
 * added up.
 */
#define KMT_LAYERS 5
unsigned kmt_layer_of(const struct kmt_site_key *key);
const char *kmt_layer_text(unsigned layer);	/* "slab", "pages", ... */

/*
 * Given bytes of n of a row's objects. A row has one given size; only where that
 * is unknown the mean of its allocations must do.
 */
uint64_t kmt_given_bytes(const struct kmt_site *site, uint64_t n);

/* A row's counts in the interval, or since the start. */
void kmt_window_counts(const struct kmt_analysis_in *in, const struct kmt_site *site,
		       struct kmt_counts *ret);

#endif
