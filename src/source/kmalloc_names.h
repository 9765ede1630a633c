/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which cache a kmalloc came from, where only its event is known: inferred from
 * the given bytes and the gfp flags that choose the family (kmalloc-, -cg-,
 * -rcl-, dma-). Randomised and named bucket caches cannot be told apart, so
 * answers are to be shown as inferred.
 */
#ifndef KMT_SOURCE_KMALLOC_NAMES_H
#define KMT_SOURCE_KMALLOC_NAMES_H

#include <stdint.h>

struct kmt_gfp_names;
struct kmt_slabs;
struct kmt_kmalloc_names;

#define KMT_KMALLOC_FAMILIES 4		/* KMT_GFP_* of kmt/wire.h */

/* The gfp bits that choose a family; 0 = the kernel has no such bit. */
struct kmt_kmalloc_gfp {
	uint64_t account, reclaimable, dma;
};

/* By a kernel's names; all 0 (everything is plain) without them. */
void kmt_kmalloc_gfp_from(const struct kmt_gfp_names *names, struct kmt_kmalloc_gfp *ret);
/* KMT_GFP_* of an allocation. */
unsigned kmt_kmalloc_gfp_family(const struct kmt_kmalloc_gfp *g, uint64_t gfp);

/* Family (KMT_GFP_*) of a slab cache's name, -1 if it is no plain kmalloc cache. */
int kmt_kmalloc_family(const char *name);

/* slabs NULL, or without kmalloc caches: the usual names and sizes. */
int kmt_kmalloc_names_new(const struct kmt_slabs *slabs, struct kmt_kmalloc_names **ret);
void kmt_kmalloc_names_free(struct kmt_kmalloc_names *k);
/* NULL: no such cache; "kmalloc-large": whole pages. Lives as long as k. */
const char *kmt_kmalloc_name(const struct kmt_kmalloc_names *k, uint64_t bytes_alloc,
			     unsigned family);

#endif
