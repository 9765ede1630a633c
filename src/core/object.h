/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside core/ only: live allocations, and what awaits RCU, by address. Open addressing with linear
 * probing and backward-shift deletion, so there are no tombstones and a look-up
 * ends at the first hole however long the table has been in use.
 *
 *   home(layer, addr) ─► [ a | b | c | . | ... ]    a, b, c: probed in order
 *
 * It grows by half, so that an object takes 43 to 64 bytes.
 *
 * Addresses of slab objects, pages, percpu and vmalloc areas are different
 * layers: the same number in two of them is two objects.
 */
#ifndef KMT_CORE_OBJECT_H
#define KMT_CORE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_live {
	uint64_t addr;		/* 0 = empty */
	uint64_t birth_ns;	/* 0 unknown */
	uint32_t bytes_req;	/* kmt_objects_bytes() knows what these two mean */
	uint32_t bytes_alloc;
	uint32_t site;
	uint32_t cpu : 23;	/* compare with KMT_LIVE_CPU_MASK */
	uint32_t awaiting : 1;	/* given up to RCU, at birth_ns: not live */
	uint32_t layer : 7;
	uint32_t is_large : 1;	/* bytes_req is the number of an entry in 'large' */
};
_Static_assert(sizeof(struct kmt_live) == 32, "this is most of the memory of a session");

#define KMT_LIVE_CPU_MASK 0x7fffffu

/* Sizes of what has 4 GiB or more: few, if any. */
struct kmt_large {
	uint64_t bytes_req;
	uint64_t bytes_alloc;
};

/*
 * Two layers of pages.c. A part of a split page block: bytes_req is the number
 * of the block, its requested bytes are the given ones. And one entry for each
 * split block, with its number as addr: bytes_alloc is what is left of it.
 */
#define KMT_LIVE_PART	126
#define KMT_LIVE_SPLIT	127

struct kmt_objects {
	struct kmt_live *v;
	size_t slots;		/* any number; at most 3/4 of them are in use */
	size_t n;
	size_t max;		/* live objects at most */
	struct kmt_large *large;
	size_t n_large, cap_large;
	uint32_t *unused;	/* entries of 'large' that can be taken again */
	size_t n_unused;
};

/* kmalloc and caches share one layer: kfree() of a cache's object is legal. */
uint8_t kmt_object_layer(uint8_t type);

void kmt_objects_done(struct kmt_objects *o);
/* The address will be looked up within the next hundreds of events. */
void kmt_objects_soon(const struct kmt_objects *o, uint8_t layer, uint64_t addr);
/* NULL if the address is not live. Valid until the next insert or remove. */
struct kmt_live *kmt_objects_find(const struct kmt_objects *o, uint8_t layer, uint64_t addr);
/*
 * Insert an address that is not live; the bytes are those given here. false:
 * no room (limit or memory).
 */
bool kmt_objects_insert(struct kmt_objects *o, const struct kmt_live *live, uint64_t bytes_req,
			uint64_t bytes_alloc);
/* What was requested and given. */
static inline void kmt_objects_bytes(const struct kmt_objects *o, const struct kmt_live *live,
				     uint64_t *ret_req, uint64_t *ret_alloc)
{
	*ret_req = live->is_large ? o->large[live->bytes_req].bytes_req : live->bytes_req;
	*ret_alloc = live->is_large ? o->large[live->bytes_req].bytes_alloc : live->bytes_alloc;
}
/* Remove what kmt_objects_find() returned. */
void kmt_objects_remove(struct kmt_objects *o, struct kmt_live *live);

#endif
