/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: where things happen, and where what is live comes from or
 * lies: CPUs and NUMA nodes. Layers (slab, pages, ...) are never added up.
 */
#ifndef KMT_ANALYSIS_PLACES_H
#define KMT_ANALYSIS_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "core/cpus.h"

struct kmt_analysis_in;
struct kmt_cell;
struct kmt_object;

struct kmt_place {
	struct kmt_cpu_counts window;	/* of the interval, or since the start */
	uint64_t live_objects, live_bytes;
	uint64_t awaiting, bytes_awaiting;	/* given up to RCU */
	uint64_t untraced;		/* frees that no event told: of no known place */
	uint64_t remote_bytes;		/* of these: allocated by a CPU of another node */
	uint64_t asked, placed;		/* node: of allocations that say so */
};

/* By number and layer; -1 (unknown) is a number too. */
struct kmt_places {
	struct kmt_place *v;
	size_t n;
};

/* A place, made if need be; valid until the next call. NULL: no memory. */
struct kmt_place *kmt_places_at(struct kmt_places *p, int64_t id, unsigned layer);
/* One after the other: is there anything at place i, and whose is it? */
const struct kmt_place *kmt_places_each(const struct kmt_places *p, size_t i, int64_t *ret_id,
					unsigned *ret_layer);
void kmt_places_done(struct kmt_places *p);

/* A view's places; -1: it is not known which. */
struct kmt_places_how {
	int64_t (*of_cpu)(const struct kmt_analysis_in *in, uint32_t cpu);
	int64_t (*of_object)(const struct kmt_analysis_in *in, const struct kmt_object *o);
};

/* All that the session says of them. 0 or -ENOMEM. */
int kmt_places_gather(struct kmt_places *p, const struct kmt_analysis_in *in,
		      const struct kmt_places_how *how);

/* Where a view has the columns that all views of places have. */
struct kmt_places_columns {
	unsigned live, objects, rcu, rcu_bytes, allocs, frees, given, freed, alloc_rate, free_rate;
};

void kmt_places_fill_live(const struct kmt_places_columns *c, const struct kmt_place *p,
			  struct kmt_cell *cells);
/* What was done in the report's window; frees only if objects are followed. */
void kmt_places_fill_counts(const struct kmt_places_columns *c, const struct kmt_analysis_in *in,
			    const struct kmt_place *p, struct kmt_cell *cells);
/* The layer of a type of objects. */
unsigned kmt_places_layer(uint8_t type);

#endif
