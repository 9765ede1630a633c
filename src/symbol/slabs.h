/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SYMBOL_SLABS_H
#define KMT_SYMBOL_SLABS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_buf;
struct kmt_slabs;

/*
 * Does the cache's memory count as SReclaimable, that is, may the kernel take it back
 * by a shrinker, or as SUnreclaim (SLAB_RECLAIM_ACCOUNT, reclaim_account in sysfs)?
 */
enum kmt_reclaim { KMT_RECLAIM_UNKNOWN, KMT_RECLAIM_NO, KMT_RECLAIM_YES };

/*
 * The kernel's own account of its slab caches: /proc/slabinfo and the alias
 * links of /sys/kernel/slab (merged caches).
 */
struct kmt_slab {
	const char *name;	/* borrowed from the table */
	const char *aliases;	/* other names merged into this cache, '\n' between; "" none */
	uint64_t active_objs;	/* counts free objects in per-CPU hands as active */
	uint64_t num_objs;
	uint32_t object_size;	/* slabinfo's objsize: the stride */
	uint32_t objs_per_slab;
	/*
	 * active_objs is at most so many too high, and so many too low; see
	 * kmt_slabs_count_now(). has_bounds: false, nobody looked (an older
	 * recording, a kernel without these files).
	 */
	uint64_t over_most, under_most;
	bool	 has_bounds;
	enum kmt_reclaim reclaim;
};

/*
 * Bytes of the pages that the cache's slabs are made of; false: not to be told. A slab
 * is 2^order pages and holds as many objects as fit, so these take more than half of it:
 * it is the least power of two that they fit into, whatever the size of a page.
 */
bool kmt_slab_held(const struct kmt_slab *s, uint64_t *ret_bytes);

/* Slab memory of the whole kernel, /proc/meminfo. */
struct kmt_slabs_memory {
	uint64_t reclaimable, unreclaimable;	/* bytes */
	bool	 is_known;
	bool	 is_shrunk;	/* every cache was shrunk before it was counted */
};

/* root: NULL = "" (a prefix for tests). -EACCES when slabinfo is not readable. */
int kmt_slabs_load(const char *root, struct kmt_slabs **ret);
/*
 * The same, to be compared with another moment: with the bounds of each count
 * and the memory, as far as the kernel tells them. Takes about twice as long.
 * After a kmt_slabs_shrink() of the same moment 'is_shrunk' is to be true.
 */
int kmt_slabs_count_now(const char *root, bool is_shrunk, struct kmt_slabs **ret);
/*
 * The same for one who counts often. While no cache came or went since 'before' (NULL:
 * there is none), what is fixed when a cache is made is taken from there: its aliases,
 * the size of its sheaves.
 */
int kmt_slabs_count_again(const char *root, const struct kmt_slabs *before, bool is_shrunk,
			  struct kmt_slabs **ret);
/*
 * Count the caches of a list again, as close to a moment as can be: nothing but
 * /proc/slabinfo and /proc/meminfo is read. The bounds grow by what moved.
 */
int kmt_slabs_recount(const char *root, struct kmt_slabs *s);
/*
 * Have every cache give back what lies in per-CPU hands and in empty slabs.
 * Costs every CPU an interruption for each cache. Returns how many caches did;
 * -EACCES, -ENOENT if none.
 */
int kmt_slabs_shrink(const char *root);
/*
 * A list that is not this machine's, from its stored form: a line for each
 * cache, "active num object_size objs_per_slab NAME[\tALIAS...]". 'what' names
 * the text in errors (-EINVAL, with the line).
 */
int kmt_slabs_parse(const char *text, size_t len, const char *what, struct kmt_slabs **ret);
/* Append the stored form. */
void kmt_slabs_store(const struct kmt_slabs *s, struct kmt_buf *out);
/*
 * The bounds and the memory, in a stored form of their own: "memory
 * RECLAIMABLE UNRECLAIMABLE SHRUNK", then "OVER UNDER NAME" for each cache.
 * Parsing adds them to a list; what the list has not is passed over.
 */
void kmt_slabs_store_bounds(const struct kmt_slabs *s, struct kmt_buf *out);
int kmt_slabs_parse_bounds(const char *text, size_t len, const char *what, struct kmt_slabs *s);
void kmt_slabs_free(struct kmt_slabs *s);
const struct kmt_slabs_memory *kmt_slabs_memory(const struct kmt_slabs *s);
size_t kmt_slabs_count(const struct kmt_slabs *s);
const struct kmt_slab *kmt_slabs_at(const struct kmt_slabs *s, size_t i);
/* No cache has an object: what no running kernel says of itself. False for an empty list. */
bool kmt_slabs_none_active(const struct kmt_slabs *s);
/* By name or by any alias; NULL if unknown. */
const struct kmt_slab *kmt_slabs_find(const struct kmt_slabs *s, const char *name);

#endif
