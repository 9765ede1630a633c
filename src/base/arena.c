// SPDX-License-Identifier: GPL-2.0-only
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536

struct kmt_arena_block {
	struct kmt_arena_block *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

void kmt_arena_done(struct kmt_arena *a)
{
	while (a->blocks) {
		struct kmt_arena_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
}

void *kmt_arena_alloc(struct kmt_arena *a, size_t size)
{
	struct kmt_arena_block *b = a->blocks;
	size_t want;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!b || b->size - b->used < size) {
		want = size > BLOCK_BYTES ? size : BLOCK_BYTES;
		b = malloc(sizeof(*b) + want);
		if (!b)
			return NULL;
		*b = (struct kmt_arena_block){ .next = a->blocks, .size = want };
		a->blocks = b;
	}
	b->used += size;
	return b->data + b->used - size;
}

void *kmt_arena_copy(struct kmt_arena *a, const void *data, size_t size)
{
	void *copy = kmt_arena_alloc(a, size);

	return copy ? memcpy(copy, data, size) : NULL;
}

char *kmt_arena_str(struct kmt_arena *a, const char *s)
{
	return kmt_arena_copy(a, s, strlen(s) + 1);
}
