// SPDX-License-Identifier: GPL-2.0-only
#include "core/older.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

#define MAX_CACHES	65536	/* only keeps a wrong file from taking all memory */

struct query {
	const struct kmt_older_table *t;
	const char *cache;
};

static bool is_row(const void *ctx, size_t i)
{
	const struct query *q = ctx;
	const char *name = q->t->v[i].cache;

	return name && q->cache ? !strcmp(name, q->cache) : name == q->cache;
}

void kmt_older_done(struct kmt_older_table *t)
{
	free(t->v);
	kmt_index_done(&t->index);
}

static size_t find(const struct kmt_older_table *t, const char *cache)
{
	const struct query q = { t, cache };

	return kmt_index_find(&t->index, kmt_hash_str(0, cache), is_row, &q);
}

const struct kmt_older *kmt_older_find(const struct kmt_older_table *t, const char *cache)
{
	size_t i = find(t, cache);

	return i == KMT_INDEX_NONE ? NULL : &t->v[i];
}

static int grow(struct kmt_older_table *t)
{
	size_t cap = t->cap ? t->cap * 2 : 64;
	struct kmt_older *v = reallocarray(t->v, cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	t->v = v;
	t->cap = cap;
	return 0;
}

int kmt_older_get(struct kmt_older_table *t, struct kmt_arena *arena, const char *cache,
		  struct kmt_older **ret)
{
	size_t i = find(t, cache);
	const char *name = NULL;

	if (i == KMT_INDEX_NONE && cache && t->n >= MAX_CACHES) {
		cache = NULL;
		i = find(t, cache);
	}
	if (i == KMT_INDEX_NONE) {
		if (t->n == t->cap && grow(t))
			return kmt_err(-ENOMEM, "out of memory");
		if (cache)
			name = kmt_arena_str(arena, cache);
		if ((cache && !name) || kmt_index_add(&t->index, kmt_hash_str(0, cache), t->n))
			return kmt_err(-ENOMEM, "out of memory");
		i = t->n++;
		t->v[i] = (struct kmt_older){ .cache = name };
	}
	*ret = &t->v[i];
	return 0;
}
