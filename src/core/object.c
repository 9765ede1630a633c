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
	*o = (struct kmt_objects){ 0 };
}

static size_t home(const struct kmt_objects *o, uint8_t layer, uint64_t addr)
{
	/* the upper half is the well mixed one, and more slots than that need 160 GiB */
	return kmt_hash_mul(addr ^ (uint64_t)layer << 56) >> 32 & o->mask;
}

struct kmt_live *kmt_objects_find(const struct kmt_objects *o, uint8_t layer, uint64_t addr)
{
	if (!o->v)
		return NULL;
	for (size_t i = home(o, layer, addr); o->v[i].addr; i = (i + 1) & o->mask)
		if (o->v[i].addr == addr && o->v[i].layer == layer)
			return &o->v[i];
	return NULL;
}

static void put(struct kmt_objects *o, const struct kmt_live *live)
{
	size_t i = home(o, live->layer, live->addr);

	while (o->v[i].addr)
		i = (i + 1) & o->mask;
	o->v[i] = *live;
}

static bool grow(struct kmt_objects *o)
{
	size_t slots = o->v ? (o->mask + 1) * 2 : FIRST_SLOTS;
	struct kmt_objects bigger = { .v = calloc(slots, sizeof(*bigger.v)), .mask = slots - 1,
				      .n = o->n, .max = o->max };

	if (!bigger.v)
		return false;
	for (size_t i = 0; o->v && i <= o->mask; i++)
		if (o->v[i].addr)
			put(&bigger, &o->v[i]);
	free(o->v);
	*o = bigger;
	return true;
}

bool kmt_objects_insert(struct kmt_objects *o, const struct kmt_live *live)
{
	size_t slots = o->v ? o->mask + 1 : 0;

	if (o->n >= o->max)
		return false;
	/* without memory to grow the table may fill up to the last hole but one */
	if ((o->n + 1) * 4 > slots * 3 && !grow(o) && o->n + 1 >= slots)
		return false;
	put(o, live);
	o->n++;
	return true;
}

/* Fill the hole from behind, so that no probe sequence is cut by it. */
void kmt_objects_remove(struct kmt_objects *o, struct kmt_live *live)
{
	size_t hole = (size_t)(live - o->v);
	size_t i = hole;

	for (;;) {
		size_t want;

		i = (i + 1) & o->mask;
		if (!o->v[i].addr)
			break;
		want = home(o, o->v[i].layer, o->v[i].addr);
		/* may move only if its home is not between the hole and itself */
		if (((i - want) & o->mask) >= ((i - hole) & o->mask)) {
			o->v[hole] = o->v[i];
			hole = i;
		}
	}
	o->v[hole] = (struct kmt_live){ 0 };
	o->n--;
}
