/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside core/ only: live allocations by address. Open addressing with linear
 * probing and backward-shift deletion, so there are no tombstones and a look-up
 * ends at the first hole however long the table has been in use.
 *
 *   home(layer, addr) ─► [ a | b | c | . | ... ]    a, b, c: probed in order
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
	uint64_t bytes_req;
	uint64_t bytes_alloc;
	uint64_t birth_ns;	/* 0 unknown */
	uint32_t site;
	uint32_t cpu : 24;	/* compare with KMT_LIVE_CPU_MASK */
	uint32_t layer : 8;
};
_Static_assert(sizeof(struct kmt_live) == 40, "this is most of the memory of a session");

#define KMT_LIVE_CPU_MASK 0xffffffu

struct kmt_objects {
	struct kmt_live *v;
	size_t mask;		/* slots - 1 */
	size_t n;
	size_t max;		/* live objects at most */
};

/* kmalloc and caches share one layer: kfree() of a cache's object is legal. */
uint8_t kmt_object_layer(uint8_t type);

void kmt_objects_done(struct kmt_objects *o);
/* NULL if the address is not live. Valid until the next insert or remove. */
struct kmt_live *kmt_objects_find(const struct kmt_objects *o, uint8_t layer, uint64_t addr);
/* Insert an address that is not live. false: no room (limit or memory). */
bool kmt_objects_insert(struct kmt_objects *o, const struct kmt_live *live);
/* Remove what kmt_objects_find() returned. */
void kmt_objects_remove(struct kmt_objects *o, struct kmt_live *live);

#endif
