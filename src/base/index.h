/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_INDEX_H
#define KMT_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A look-up table over the elements of somebody's array: hash -> element
 * number. Elements are never removed. Zero-initialised is empty.
 */
struct kmt_index {
	uint64_t *slots;	/* upper 32 bits: of the hash; lower: element + 1, 0 = free */
	size_t	  mask;		/* slots - 1 */
	size_t	  n;
};

#define KMT_INDEX_NONE	SIZE_MAX
#define KMT_INDEX_MAX	((size_t)UINT32_MAX - 1)

void kmt_index_done(struct kmt_index *ix);

/* The element with this hash that 'is' accepts, KMT_INDEX_NONE if there is none. */
size_t kmt_index_find(const struct kmt_index *ix, uint64_t hash,
		      bool (*is)(const void *ctx, size_t element), const void *ctx);
/* Add an element that is not in yet. 0, -ENOMEM, or -E2BIG above KMT_INDEX_MAX. */
int kmt_index_add(struct kmt_index *ix, uint64_t hash, size_t element);

#endif
