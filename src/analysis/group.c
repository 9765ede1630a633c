// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "core/sat.h"
#include "core/session.h"

void kmt_groups_done(struct kmt_groups *g)
{
	free(g->v);
	free(g->of);
	free(g->members);
	kmt_arena_done(&g->labels);
	*g = (struct kmt_groups){ 0 };
}

void kmt_window_counts(const struct kmt_analysis_in *in, const struct kmt_site *site,
		       struct kmt_counts *ret)
{
	*ret = site->counts;
	if (in->interval_ns)
		kmt_counts_sub(ret, &site->base);
}

uint64_t kmt_given_bytes(const struct kmt_site *site, uint64_t n)
{
	const struct kmt_counts *c = &site->counts;
	unsigned __int128 sum = 0;

	if (site->key.size && site->key.size < UINT32_MAX)
		sum = (unsigned __int128)n * site->key.size;
	else if (c->allocs)
		sum = (unsigned __int128)n * c->bytes_alloc / c->allocs;
	return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

static bool same_str(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_site(const struct kmt_site_key *a, const struct kmt_site_key *b)
{
	if (a->type != b->type || a->n_ips != b->n_ips)
		return false;
	if (a->n_ips)
		return !memcmp(a->ips, b->ips, a->n_ips * sizeof(*a->ips));
	return a->call_site == b->call_site && same_str(a->call_site_name, b->call_site_name);
}

/* Without a name all that is known of a cache is the size of its objects. */
static bool same_cache(const struct kmt_site_key *a, const struct kmt_site_key *b)
{
	return same_str(a->cache, b->cache) && a->cache_inferred == b->cache_inferred &&
	       (a->cache || (a->size == b->size && a->type == b->type));
}

static const char *const layers[KMT_LAYERS] = { "slab", "pages", "percpu", "vmalloc", "other" };

unsigned kmt_layer_of(const struct kmt_site_key *key)
{
	switch (key->type) {
	case KMT_TYPE_KMALLOC:
	case KMT_TYPE_CACHE:
		return 0;
	case KMT_TYPE_PAGES:
		return 1;
	case KMT_TYPE_PERCPU:
		return 2;
	case KMT_TYPE_VMALLOC:
		return 3;
	}
	return 4;
}

const char *kmt_layer_text(unsigned layer)
{
	return layers[layer < KMT_LAYERS ? layer : KMT_LAYERS - 1];
}

static bool same_task(const struct kmt_site_key *a, const struct kmt_site_key *b)
{
	return a->by_task == b->by_task && a->tgid == b->tgid && kmt_layer_of(a) == kmt_layer_of(b);
}

static bool same_cgroup(const struct kmt_site_key *a, const struct kmt_site_key *b)
{
	return a->by_cgroup == b->by_cgroup && a->cgroup == b->cgroup &&
	       kmt_layer_of(a) == kmt_layer_of(b);
}

static uint64_t hash_of(const struct kmt_site_key *k, unsigned by)
{
	uint64_t h = by;

	if (by & KMT_GROUP_SITE) {
		h = kmt_hash_mix(h, k->type);
		h = k->n_ips ? h : kmt_hash_str(kmt_hash_mix(h, k->call_site), k->call_site_name);
		for (uint32_t i = 0; i < k->n_ips; i++)
			h = kmt_hash_mix(h, k->ips[i]);
	}
	if (by & KMT_GROUP_CACHE)
		h = kmt_hash_mix(kmt_hash_str(h, k->cache), k->cache ? 0 : k->size);
	if (by & KMT_GROUP_TASK)
		h = kmt_hash_mix(h, k->tgid);
	if (by & KMT_GROUP_CGROUP)
		h = kmt_hash_mix(h, k->cgroup);
	if (by & KMT_GROUP_SIZE)
		h = kmt_hash_mix(h, k->size);
	if (by & KMT_GROUP_MIGRATETYPE)
		h = kmt_hash_mix(h, (uint8_t)k->migratetype);
	return h;
}

struct query {
	const struct kmt_group *v;
	const struct kmt_site_key *key;
	unsigned by;
};

static bool is_group(const void *ctx, size_t i)
{
	const struct query *q = ctx;
	const struct kmt_site_key *k = &q->v[i].first->key;

	return (!(q->by & KMT_GROUP_SITE) || same_site(k, q->key)) &&
	       (!(q->by & KMT_GROUP_CACHE) || same_cache(k, q->key)) &&
	       (!(q->by & KMT_GROUP_TASK) || same_task(k, q->key)) &&
	       (!(q->by & KMT_GROUP_CGROUP) || same_cgroup(k, q->key)) &&
	       (!(q->by & KMT_GROUP_SIZE) || k->size == q->key->size) &&
	       (!(q->by & KMT_GROUP_MIGRATETYPE) || k->migratetype == q->key->migratetype);
}

static void add_site(const struct kmt_analysis_in *in, struct kmt_group *g,
		     const struct kmt_site *site)
{
	struct kmt_counts window;

	kmt_window_counts(in, site, &window);
	kmt_counts_add(&g->window, &window);
	kmt_counts_add(&g->now, &site->counts);
	g->gfp |= site->gfp;
	g->mixed_types |= site->key.type != g->first->key.type;
	for (int i = 0; i < KMT_LIFETIMES; i++)
		g->lifetimes[i] += kmt_sat_sub(site->lifetimes[i],
					       in->interval_ns ? site->lifetimes_base[i] : 0);
	g->n++;
}

static int find_groups(const struct kmt_analysis_in *in, unsigned by, struct kmt_groups *g,
		       struct kmt_index *ix)
{
	size_t n = kmt_session_n_sites(in->session);

	for (size_t i = 0; i < n; i++) {
		const struct kmt_site *site = kmt_session_site(in->session, i);
		struct query q = { .v = g->v, .key = &site->key, .by = by };
		uint64_t hash = hash_of(&site->key, by);
		size_t at = kmt_index_find(ix, hash, is_group, &q);

		if (at == KMT_INDEX_NONE) {
			int err = kmt_index_add(ix, hash, g->n);

			if (err)
				return err;
			at = g->n++;
			g->v[at].first = site;
		}
		g->of[i] = at;
		add_site(in, &g->v[at], site);
	}
	return 0;
}

static void list_members(struct kmt_groups *g, size_t n_sites)
{
	size_t start = 0;

	for (size_t i = 0; i < g->n; i++) {
		g->v[i].start = start;
		start += g->v[i].n;
		g->v[i].n = 0;
	}
	for (size_t i = 0; i < n_sites; i++) {
		struct kmt_group *to = &g->v[g->of[i]];

		g->members[to->start + to->n++] = i;
	}
}

static int alloc_groups(size_t n, struct kmt_groups *g)
{
	*g = (struct kmt_groups){
		.v = calloc(n + 1, sizeof(*g->v)), .of = calloc(n + 1, sizeof(*g->of)),
		.members = calloc(n + 1, sizeof(*g->members)),
	};
	return g->v && g->of && g->members ? 0 : kmt_err(-ENOMEM, "out of memory");
}

int kmt_groups_make(const struct kmt_analysis_in *in, unsigned by, struct kmt_groups *ret)
{
	size_t n = kmt_session_n_sites(in->session);
	struct kmt_index ix = { 0 };
	struct kmt_groups g;
	int err = alloc_groups(n, &g);

	if (!err)
		err = find_groups(in, by, &g, &ix);
	kmt_index_done(&ix);
	if (err) {
		kmt_groups_done(&g);
		return err;
	}
	list_members(&g, n);
	*ret = g;
	return 0;
}

/* ---- by label ---- */

struct label_query {
	const struct kmt_group *v;
	const char *label;
	unsigned layer;
};

static bool has_label(const void *ctx, size_t i)
{
	const struct label_query *q = ctx;

	return same_str(q->v[i].label, q->label) &&
	       kmt_layer_of(&q->v[i].first->key) == q->layer;
}

/* The group of a call site, made if it is the first of its label. */
static int group_of_site(const struct kmt_analysis_in *in, kmt_label_fn *label,
			 const struct kmt_site *site, struct kmt_groups *g, struct kmt_index *ix,
			 uint32_t *ret)
{
	struct kmt_buf text _cleanup_(kmt_buf_done) = { 0 };
	struct label_query q = { .v = g->v, .layer = kmt_layer_of(&site->key) };
	uint64_t hash;
	size_t at;
	int err = label(in, &site->key, &text);

	if (!err && text.error)
		err = kmt_err(text.error, "out of memory");
	if (err)
		return err;
	q.label = text.len ? kmt_buf_str(&text) : NULL;
	hash = kmt_hash_str(q.layer, q.label);
	at = kmt_index_find(ix, hash, has_label, &q);
	if (at == KMT_INDEX_NONE) {
		if (q.label)
			q.label = kmt_arena_str(&g->labels, q.label);
		if (text.len && !q.label)
			return kmt_err(-ENOMEM, "out of memory");
		err = kmt_index_add(ix, hash, g->n);
		if (err)
			return err;
		at = g->n++;
		g->v[at].first = site;
		g->v[at].label = q.label;
	}
	g->v[at].n_sites++;
	*ret = at;
	return 0;
}

static int find_labels(const struct kmt_analysis_in *in, kmt_label_fn *label,
		       const struct kmt_groups *sites, struct kmt_groups *g)
{
	_cleanup_free_ uint32_t *to = calloc(sites->n + 1, sizeof(*to));
	struct kmt_index ix = { 0 };
	int err = to ? 0 : kmt_err(-ENOMEM, "out of memory");

	for (size_t i = 0; i < sites->n && !err; i++)
		err = group_of_site(in, label, sites->v[i].first, g, &ix, &to[i]);
	kmt_index_done(&ix);
	for (size_t i = 0; i < kmt_session_n_sites(in->session) && !err; i++) {
		g->of[i] = to[sites->of[i]];
		add_site(in, &g->v[g->of[i]], kmt_session_site(in->session, i));
	}
	return err;
}

int kmt_groups_by_label(const struct kmt_analysis_in *in, kmt_label_fn *label,
			struct kmt_groups *ret)
{
	size_t n = kmt_session_n_sites(in->session);
	struct kmt_groups sites, g;
	int err = kmt_groups_make(in, KMT_GROUP_SITE, &sites);

	if (err)
		return err;
	err = alloc_groups(n, &g);
	if (!err)
		err = find_labels(in, label, &sites, &g);
	kmt_groups_done(&sites);
	if (err) {
		kmt_groups_done(&g);
		return err;
	}
	list_members(&g, n);
	*ret = g;
	return 0;
}
