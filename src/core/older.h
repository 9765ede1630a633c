/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside core/ only: frees of slab objects that are not tracked, by cache. They
 * belong to no row, but the kernel's count of their cache falls by them.
 */
#ifndef KMT_CORE_OLDER_H
#define KMT_CORE_OLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/index.h"

struct kmt_older {
	const char *cache;		/* NULL unknown */
	uint64_t counted, own;		/* frees and own allocations of the last snapshot */
	uint64_t events;		/* frees seen as events */
	uint64_t given;			/* of those counted: given up to RCU */
	uint64_t given_mark, mark_ns;	/* the same at an earlier snapshot ... */
	uint64_t settled;		/* ... and what was given up a grace period before that */
};

struct kmt_older_table {
	struct kmt_older *v;
	size_t n, cap;
	struct kmt_index index;
};

void kmt_older_done(struct kmt_older_table *t);
/*
 * The row of a cache, made if it is new (its name is copied into the arena);
 * of too many caches, that of the unknown one. -ENOMEM.
 */
int kmt_older_get(struct kmt_older_table *t, struct kmt_arena *arena, const char *cache,
		  struct kmt_older **ret);
/* NULL: there are none. */
const struct kmt_older *kmt_older_find(const struct kmt_older_table *t, const char *cache);

#endif
