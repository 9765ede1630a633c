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

/* One more object that is live or awaits RCU here. */
void kmt_places_add_object(struct kmt_place *p, const struct kmt_object *o);
/* Frees that no event told, in the place without a number. 0 or -ENOMEM. */
int kmt_places_add_untraced(struct kmt_places *p, const struct kmt_analysis_in *in);

/* How many per second of the report's window; unknown without one. */
void kmt_places_rate(const struct kmt_analysis_in *in, uint64_t n, struct kmt_cell *cell);
/* The layer of a type of objects. */
unsigned kmt_places_layer(uint8_t type);

#endif
