// SPDX-License-Identifier: GPL-2.0-only
#include "core/object.h"

#include <stdlib.h>

#include "base/hash.h"
#include "core/event.h"

#define FIRST_SLOTS 1024

uint8_t kmt_object_layer(uint8_t type)
{
	return type == KMT_TYPE_KMALLOC ? KMT_TYPE_CACHE : type;
}

void kmt_objects_done(struct kmt_objects *o)
{
	free(o->v);
	free(o->large);
	free(o->unused);
	*o = (struct kmt_objects){ 0 };
}

static size_t home(const struct kmt_objects *o, uint8_t layer, uint64_t addr)
{
	/* the hash as a fraction of 1, of the slots: takes the upper, well mixed bits */
	return (size_t)((unsigned __int128)kmt_hash_mul(addr ^ (uint64_t)layer << 56) * o->slots >>
			64);
}

static size_t after(const struct kmt_objects *o, size_t i)
{
	return i + 1 == o->slots ? 0 : i + 1;
}

/* How far slot i lies behind slot 'from'. */
static size_t distance(const struct kmt_objects *o, size_t from, size_t i)
{
	return i >= from ? i - from : i + o->slots - from;
}

void kmt_objects_soon(const struct kmt_objects *o, uint8_t layer, uint64_t addr)
{
	if (o->v)
		__builtin_prefetch(&o->v[home(o, layer, addr)], 1);
}

struct kmt_live *kmt_objects_find(const struct kmt_objects *o, uint8_t layer, uint64_t addr)
{
	if (!o->v)
		return NULL;
	for (size_t i = home(o, layer, addr); o->v[i].addr; i = after(o, i))
		if (o->v[i].addr == addr && o->v[i].layer == layer)
			return &o->v[i];
	return NULL;
}

static void put(struct kmt_objects *o, const struct kmt_live *live)
{
	size_t i = home(o, live->layer, live->addr);

	while (o->v[i].addr)
		i = after(o, i);
	o->v[i] = *live;
}

static bool grow(struct kmt_objects *o)
{
	struct kmt_objects bigger = *o;

	bigger.slots = o->slots ? o->slots + o->slots / 2 : FIRST_SLOTS;
	bigger.v = calloc(bigger.slots, sizeof(*bigger.v));
	if (!bigger.v)
		return false;
	for (size_t i = 0; i < o->slots; i++)
		if (o->v[i].addr)
			put(&bigger, &o->v[i]);
	free(o->v);
	*o = bigger;
	return true;
}

/* The number of an entry for sizes that 32 bits do not hold; -1: no memory. */
static int64_t take_large(struct kmt_objects *o, uint64_t bytes_req, uint64_t bytes_alloc)
{
	size_t i;

	if (!o->n_unused && o->n_large == o->cap_large) {
		size_t cap = o->cap_large ? o->cap_large * 2 : 64;
		struct kmt_large *large = reallocarray(o->large, cap, sizeof(*large));
		uint32_t *unused;

		if (!large)
			return -1;
		o->large = large;
		unused = reallocarray(o->unused, cap, sizeof(*unused));
		if (!unused)
			return -1;
		o->unused = unused;
		o->cap_large = cap;
	}
	i = o->n_unused ? o->unused[--o->n_unused] : o->n_large++;
	o->large[i] = (struct kmt_large){ bytes_req, bytes_alloc };
	return (int64_t)i;
}

static bool set_bytes(struct kmt_objects *o, struct kmt_live *live, uint64_t bytes_req,
		      uint64_t bytes_alloc)
{
	live->is_large = bytes_req > UINT32_MAX || bytes_alloc > UINT32_MAX;
	if (live->is_large) {
		int64_t i = take_large(o, bytes_req, bytes_alloc);

		live->bytes_req = (uint32_t)i;
		return i >= 0;
	}
	live->bytes_req = (uint32_t)bytes_req;
	live->bytes_alloc = (uint32_t)bytes_alloc;
	return true;
}

bool kmt_objects_insert(struct kmt_objects *o, const struct kmt_live *given, uint64_t bytes_req,
			uint64_t bytes_alloc)
{
	struct kmt_live live = *given;

	if (o->n >= o->max)
		return false;
	/* without memory to grow the table may fill up to the last hole but one */
	if ((o->n + 1) * 4 > o->slots * 3 && !grow(o) && o->n + 1 >= o->slots)
		return false;
	if (!set_bytes(o, &live, bytes_req, bytes_alloc))
		return false;
	put(o, &live);
	o->n++;
	return true;
}

/* Fill the hole from behind, so that no probe sequence is cut by it. */
void kmt_objects_remove(struct kmt_objects *o, struct kmt_live *live)
{
	size_t hole = (size_t)(live - o->v);
	size_t i = hole;

	if (live->is_large)
		o->unused[o->n_unused++] = live->bytes_req;
	for (;;) {
		size_t want;

		i = after(o, i);
		if (!o->v[i].addr)
			break;
		want = home(o, o->v[i].layer, o->v[i].addr);
		/* may move only if its home is not between the hole and itself */
		if (distance(o, want, i) >= distance(o, hole, i)) {
			o->v[hole] = o->v[i];
			hole = i;
		}
	}
	o->v[hole] = (struct kmt_live){ 0 };
	o->n--;
}
