// SPDX-License-Identifier: GPL-2.0-only
#include "base/index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"

void kmt_index_done(struct kmt_index *ix)
{
	free(ix->slots);
	*ix = (struct kmt_index){ 0 };
}

/* The tag is all that is kept of a hash, so the place must follow from it. */
static uint32_t tag_of(uint64_t hash)
{
	return hash >> 32 ^ hash;
}

static size_t place_of(const struct kmt_index *ix, uint32_t tag)
{
	return kmt_hash_mul(tag) >> 32 & ix->mask;
}

size_t kmt_index_find(const struct kmt_index *ix, uint64_t hash,
		      bool (*is)(const void *ctx, size_t element), const void *ctx)
{
	uint32_t tag = tag_of(hash);

	if (!ix->slots)
		return KMT_INDEX_NONE;
	for (size_t i = place_of(ix, tag); ix->slots[i]; i = (i + 1) & ix->mask) {
		size_t element = (uint32_t)ix->slots[i] - 1u;

		if (ix->slots[i] >> 32 == tag && is(ctx, element))
			return element;
	}
	return KMT_INDEX_NONE;
}

static void put(struct kmt_index *ix, uint64_t slot)
{
	size_t i = place_of(ix, slot >> 32);

	while (ix->slots[i])
		i = (i + 1) & ix->mask;
	ix->slots[i] = slot;
}

static int grow(struct kmt_index *ix)
{
	size_t slots = ix->slots ? (ix->mask + 1) * 2 : 64;
	struct kmt_index bigger = { .slots = calloc(slots, sizeof(*bigger.slots)),
				    .mask = slots - 1, .n = ix->n };

	if (!bigger.slots)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; ix->slots && i <= ix->mask; i++)
		if (ix->slots[i])
			put(&bigger, ix->slots[i]);
	free(ix->slots);
	*ix = bigger;
	return 0;
}

int kmt_index_add(struct kmt_index *ix, uint64_t hash, size_t element)
{
	if (element >= KMT_INDEX_MAX)
		return kmt_err(-E2BIG, "table full");
	if (!ix->slots || (ix->n + 1) * 4 > (ix->mask + 1) * 3) {
		int err = grow(ix);

		if (err)
			return err;
	}
	put(ix, (uint64_t)tag_of(hash) << 32 | (element + 1));
	ix->n++;
	return 0;
}
