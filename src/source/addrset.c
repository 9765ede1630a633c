// SPDX-License-Identifier: GPL-2.0-only
#include "source/addrset.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAP 1024

void kmt_addrset_init(struct kmt_addrset *s, size_t max)
{
	*s = (struct kmt_addrset){ .max = max };
}

void kmt_addrset_done(struct kmt_addrset *s)
{
	free(s->slot);
	*s = (struct kmt_addrset){ .max = s->max };
}

static size_t home(const struct kmt_addrset *s, uint64_t v)
{
	v *= 0x9e3779b97f4a7c15ULL;
	return (v ^ v >> 32) & (s->cap - 1);
}

/* Slot that holds v, or the empty slot where it belongs. */
static size_t find(const struct kmt_addrset *s, uint64_t v)
{
	size_t i = home(s, v);

	while (s->slot[i] && s->slot[i] != v)
		i = (i + 1) & (s->cap - 1);
	return i;
}

static int grow(struct kmt_addrset *s)
{
	struct kmt_addrset bigger = { .cap = s->cap ? s->cap * 2 : FIRST_CAP, .max = s->max,
				      .n = s->n };

	bigger.slot = calloc(bigger.cap, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < s->cap; i++)
		if (s->slot[i])
			bigger.slot[find(&bigger, s->slot[i])] = s->slot[i];
	free(s->slot);
	*s = bigger;
	return 0;
}

int kmt_addrset_add(struct kmt_addrset *s, uint64_t v)
{
	size_t i;

	if (kmt_addrset_has(s, v))
		return 0;
	if (s->n >= s->max)
		return -ENOSPC;
	/* at most 3/4 full, so that a search always meets an empty slot soon */
	if (s->n + 1 > s->cap / 4 * 3) {
		int err = grow(s);

		if (err)
			return err;
	}
	i = find(s, v);
	s->slot[i] = v;
	s->n++;
	return 1;
}

bool kmt_addrset_has(const struct kmt_addrset *s, uint64_t v)
{
	return v && s->n && s->slot[find(s, v)] == v;
}

bool kmt_addrset_del(struct kmt_addrset *s, uint64_t v)
{
	size_t hole;

	if (!v || !s->n)
		return false;
	hole = find(s, v);
	if (s->slot[hole] != v)
		return false;
	/* close the gap: members behind it must stay reachable from their home */
	for (size_t i = (hole + 1) & (s->cap - 1); s->slot[i]; i = (i + 1) & (s->cap - 1)) {
		size_t want = home(s, s->slot[i]);

		if (((i - want) & (s->cap - 1)) < ((i - hole) & (s->cap - 1)))
			continue;
		s->slot[hole] = s->slot[i];
		hole = i;
	}
	s->slot[hole] = 0;
	s->n--;
	return true;
}

size_t kmt_addrset_bytes(const struct kmt_addrset *s)
{
	return s->cap * sizeof(*s->slot);
}
