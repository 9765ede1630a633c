/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_ARENA_H
#define KMT_BASE_ARENA_H

#include <stddef.h>

struct kmt_arena_block;

/* Memory for many small things that all die together. Zero-initialised is empty. */
struct kmt_arena {
	struct kmt_arena_block *blocks;
};

void kmt_arena_done(struct kmt_arena *a);
/* Aligned for any type; NULL = no memory. */
void *kmt_arena_alloc(struct kmt_arena *a, size_t size);
void *kmt_arena_copy(struct kmt_arena *a, const void *data, size_t size);
char *kmt_arena_str(struct kmt_arena *a, const char *s);

#endif
