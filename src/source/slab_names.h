/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which cache an object of kmem_cache_alloc() came from, whose event tells only
 * two sizes: that of the object and that of its place in the slab. Where just
 * one cache has both, or just one has the second, that is it; an answer is to be
 * shown as inferred.
 */
#ifndef KMT_SOURCE_SLAB_NAMES_H
#define KMT_SOURCE_SLAB_NAMES_H

#include <stdint.h>

struct kmt_slabs;
struct kmt_slab_names;

/* root: a prefix of /sys for tests, NULL = none. Borrows the names of 'slabs'. */
int kmt_slab_names_new(const struct kmt_slabs *slabs, const char *root,
		       struct kmt_slab_names **ret);
void kmt_slab_names_free(struct kmt_slab_names *n);
/* NULL: none, or several. */
const char *kmt_slab_name(const struct kmt_slab_names *n, uint64_t bytes_req,
			  uint64_t bytes_alloc);

#endif
