// SPDX-License-Identifier: GPL-2.0-only
#include "core/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "core/sat.h"
#include "core/site_table.h"

uint64_t kmt_counts_live(const struct kmt_counts *c)
{
	uint64_t n = kmt_sat_sub(c->allocs, c->frees);

	return kmt_sat_sub(kmt_sat_sub(n, c->untraced_frees), c->untracked);
}

uint64_t kmt_counts_live_req(const struct kmt_counts *c)
{
	return kmt_sat_sub(kmt_sat_sub(c->bytes_req, c->bytes_req_freed), c->bytes_req_untracked);
}

uint64_t kmt_counts_live_alloc(const struct kmt_counts *c)
{
	return kmt_sat_sub(kmt_sat_sub(c->bytes_alloc, c->bytes_alloc_freed),
			   c->bytes_alloc_untracked);
}

/* Every counter; the peak and what awaits RCU are none. */
#define FOR_COUNTS(OP)								\
	OP(allocs) OP(frees) OP(failures) OP(bytes_req) OP(bytes_alloc)		\
	OP(bytes_req_freed) OP(bytes_alloc_freed) OP(cross_cpu_frees)		\
	OP(temporary) OP(untraced_frees) OP(untracked)				\
	OP(bytes_req_untracked) OP(bytes_alloc_untracked) OP(given_up)

void kmt_counts_add(struct kmt_counts *to, const struct kmt_counts *c)
{
#define OP(name) to->name = kmt_sat_add(to->name, c->name);
	FOR_COUNTS(OP)
	OP(peak_bytes) OP(awaiting) OP(bytes_awaiting)
#undef OP
}

void kmt_counts_sub(struct kmt_counts *to, const struct kmt_counts *since)
{
#define OP(name) to->name = kmt_sat_sub(to->name, since->name);
	FOR_COUNTS(OP)
#undef OP
}

static bool same_str(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Who: the task or cgroup, else the stack, else the call site. */
static uint64_t hash_key(const struct kmt_site_key *k, bool counted)
{
	uint64_t h = kmt_hash_mix(k->type, (uint64_t)counted << 1 | k->cache_inferred);

	h = kmt_hash_str(h, k->cache);
	h = kmt_hash_mix(h, (uint64_t)(uint8_t)k->migratetype << 32 | k->size);
	if (k->by_task)
		return kmt_hash_mix(h, k->tgid);
	if (k->by_cgroup)
		return kmt_hash_mix(h, k->cgroup);
	if (!k->n_ips)
		return kmt_hash_str(kmt_hash_mix(h, k->call_site), k->call_site_name);
	for (uint32_t i = 0; i < k->n_ips; i++)
		h = kmt_hash_mix(h, k->ips[i]);
	return h;
}

static bool same_who(const struct kmt_site_key *a, const struct kmt_site_key *b)
{
	if (a->by_task || b->by_task)
		return a->by_task == b->by_task && a->tgid == b->tgid;
	if (a->by_cgroup || b->by_cgroup)
		return a->by_cgroup == b->by_cgroup && a->cgroup == b->cgroup;
	if (a->n_ips != b->n_ips)
		return false;
	if (a->n_ips)
		return !memcmp(a->ips, b->ips, a->n_ips * sizeof(*a->ips));
	return a->call_site == b->call_site && same_str(a->call_site_name, b->call_site_name);
}

struct site_query {
	const struct kmt_site_slot *v;
	const struct kmt_site_key *key;
	bool counted;
};

static bool is_site(const void *ctx, size_t i)
{
	const struct site_query *q = ctx;
	const struct kmt_site_key *k = &q->v[i].site.key;

	return k->type == q->key->type && q->v[i].counted == q->counted &&
	       k->cache_inferred == q->key->cache_inferred && k->size == q->key->size &&
	       k->migratetype == q->key->migratetype &&
	       same_str(k->cache, q->key->cache) && same_who(k, q->key);
}

static int copy_str(struct kmt_arena *arena, const char **s)
{
	if (!*s)
		return 0;
	*s = kmt_arena_str(arena, *s);
	return *s ? 0 : kmt_err(-ENOMEM, "out of memory");
}

static int copy_key(struct kmt_arena *arena, struct kmt_site_key *k)
{
	if (copy_str(arena, &k->call_site_name) || copy_str(arena, &k->comm) ||
	    copy_str(arena, &k->cache) || copy_str(arena, &k->cgroup_path))
		return -ENOMEM;
	if (!k->n_ips) {
		k->ips = NULL;
		return 0;
	}
	k->ips = kmt_arena_copy(arena, k->ips, k->n_ips * sizeof(*k->ips));
	return k->ips ? 0 : kmt_err(-ENOMEM, "out of memory");
}

/* Room for one more row; the same for both tables. */
static int reserve(void **v, size_t n, size_t *cap, size_t max, size_t size)
{
	size_t more = *cap ? *cap * 2 : 64;
	void *bigger;

	if (n >= max)
		return -ENOSPC;
	if (n < *cap)
		return 0;
	bigger = reallocarray(*v, more, size);
	if (!bigger)
		return kmt_err(-ENOMEM, "out of memory");
	*v = bigger;
	*cap = more;
	return 0;
}

void kmt_site_table_done(struct kmt_site_table *t)
{
	free(t->v);
	kmt_index_done(&t->index);
}

int kmt_site_table_get(struct kmt_site_table *t, struct kmt_arena *arena,
		       const struct kmt_site_key *given, bool counted, size_t *ret)
{
	struct kmt_site_key key = *given;
	struct site_query q = { .v = t->v, .key = &key, .counted = counted };
	struct kmt_site_slot *slot;
	uint64_t hash;
	size_t i;
	int err;

	if (!key.cache)	/* no name, no guess */
		key.cache_inferred = false;
	hash = hash_key(&key, counted);
	i = kmt_index_find(&t->index, hash, is_site, &q);
	if (i != KMT_INDEX_NONE) {
		*ret = i;
		return 0;
	}
	err = reserve((void **)&t->v, t->n, &t->cap, t->max, sizeof(*t->v));
	if (err)
		return err;
	slot = &t->v[t->n];
	*slot = (struct kmt_site_slot){ .site.key = key, .counted = counted };
	err = copy_key(arena, &slot->site.key);
	if (!err)
		err = kmt_index_add(&t->index, hash, t->n);
	if (err)
		return err;
	*ret = t->n++;
	return 0;
}

void kmt_free_table_done(struct kmt_free_table *t)
{
	free(t->v);
	kmt_index_done(&t->index);
}

struct free_query {
	const struct kmt_free_slot *v;
	const struct kmt_free_site *key;
	bool counted;
};

static bool is_free_site(const void *ctx, size_t i)
{
	const struct free_query *q = ctx;
	const struct kmt_free_site *k = &q->v[i].site;

	return k->type == q->key->type && q->v[i].counted == q->counted &&
	       k->call_site == q->key->call_site && same_str(k->name, q->key->name);
}

int kmt_free_table_get(struct kmt_free_table *t, struct kmt_arena *arena,
		       const struct kmt_free_site *key, bool counted, size_t *ret)
{
	struct free_query q = { .v = t->v, .key = key, .counted = counted };
	uint64_t hash = kmt_hash_mix(kmt_hash_mix(key->type, counted), key->call_site);
	struct kmt_free_slot *slot;
	size_t i;
	int err;

	hash = kmt_hash_str(hash, key->name);
	i = kmt_index_find(&t->index, hash, is_free_site, &q);
	if (i != KMT_INDEX_NONE) {
		*ret = i;
		return 0;
	}
	err = reserve((void **)&t->v, t->n, &t->cap, t->max, sizeof(*t->v));
	if (err)
		return err;
	slot = &t->v[t->n];
	*slot = (struct kmt_free_slot){ .site = *key, .counted = counted };
	slot->site.frees = slot->site.base = 0;
	err = copy_str(arena, &slot->site.name);
	if (!err)
		err = kmt_index_add(&t->index, hash, t->n);
	if (err)
		return err;
	*ret = t->n++;
	return 0;
}
