// SPDX-License-Identifier: GPL-2.0-only
#include "source/kmalloc_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kmt/wire.h"
#include "symbol/gfp.h"
#include "symbol/slabs.h"

static const struct {
	uint32_t size;
	const char *name;
} usual[] = {
	{ 8, "kmalloc-8" }, { 16, "kmalloc-16" }, { 32, "kmalloc-32" }, { 64, "kmalloc-64" },
	{ 96, "kmalloc-96" }, { 128, "kmalloc-128" }, { 192, "kmalloc-192" },
	{ 256, "kmalloc-256" }, { 512, "kmalloc-512" }, { 1024, "kmalloc-1k" },
	{ 2048, "kmalloc-2k" }, { 4096, "kmalloc-4k" }, { 8192, "kmalloc-8k" },
};

#define N_USUAL (sizeof(usual) / sizeof(usual[0]))

struct kmt_kmalloc_names {
	uint64_t largest;
	size_t n;
	struct {
		char *name;
		uint64_t size;
		unsigned family;
	} v[];
};

void kmt_kmalloc_gfp_from(const struct kmt_gfp_names *names, struct kmt_kmalloc_gfp *ret)
{
	ret->account = kmt_gfp_mask(names, "__GFP_ACCOUNT");
	ret->reclaimable = kmt_gfp_mask(names, "__GFP_RECLAIMABLE");
	ret->dma = kmt_gfp_mask(names, "__GFP_DMA");
}

/* The kernel's order (kmalloc_type()): DMA, then reclaimable, then accounted. */
unsigned kmt_kmalloc_gfp_family(const struct kmt_kmalloc_gfp *g, uint64_t gfp)
{
	if (gfp & g->dma)
		return KMT_GFP_DMA;
	if (gfp & g->reclaimable)
		return KMT_GFP_RECLAIM;
	return gfp & g->account ? KMT_GFP_CGROUP : KMT_GFP_NORMAL;
}

/*
 * Linux commit 494c1dfe855e "mm: memcg/slab: create a new set of kmalloc-cg-<n>
 * caches" (in v5.14); before it, accounted kmallocs came from kmalloc-<n>.
 */
int kmt_kmalloc_family(const char *name)
{
	/* longest prefix first: all families but one begin with "kmalloc-" */
	static const struct { const char *prefix; int family; } prefixes[] = {
		{ "kmalloc-cg-", KMT_GFP_CGROUP },
		{ "kmalloc-rcl-", KMT_GFP_RECLAIM },
		{ "dma-kmalloc-", KMT_GFP_DMA },
		{ "kmalloc-", KMT_GFP_NORMAL },
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i].prefix);

		/* "kmalloc-rnd-05-64" has a kmalloc prefix but no plain size behind it */
		if (!strncmp(name, prefixes[i].prefix, len))
			return name[len] >= '1' && name[len] <= '9' ? prefixes[i].family : -1;
	}
	return -1;
}

static int add(struct kmt_kmalloc_names *k, const char *name, uint64_t size, unsigned family)
{
	k->v[k->n].name = strdup(name);
	if (!k->v[k->n].name)
		return kmt_err_errno(-ENOMEM, "kmalloc names");
	k->v[k->n].size = size;
	k->v[k->n++].family = family;
	if (size > k->largest)
		k->largest = size;
	return 0;
}

int kmt_kmalloc_names_new(const struct kmt_slabs *slabs, struct kmt_kmalloc_names **ret)
{
	size_t n = slabs ? kmt_slabs_count(slabs) : 0;
	struct kmt_kmalloc_names *k = calloc(1, sizeof(*k) + (n + N_USUAL) * sizeof(k->v[0]));
	int err = 0;

	if (!k)
		return kmt_err_errno(-ENOMEM, "kmalloc names");
	for (size_t i = 0; !err && i < n; i++) {
		const struct kmt_slab *s = kmt_slabs_at(slabs, i);
		int family = kmt_kmalloc_family(s->name);

		if (family >= 0)
			err = add(k, s->name, s->object_size, family);
	}
	n = k->n ? 0 : N_USUAL;
	for (size_t i = 0; !err && i < n; i++)
		err = add(k, usual[i].name, usual[i].size, KMT_GFP_NORMAL);
	if (err) {
		kmt_kmalloc_names_free(k);
		return err;
	}
	*ret = k;
	return 0;
}

void kmt_kmalloc_names_free(struct kmt_kmalloc_names *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->n; i++)
		free(k->v[i].name);
	free(k);
}

const char *kmt_kmalloc_name(const struct kmt_kmalloc_names *k, uint64_t bytes_alloc,
			     unsigned family)
{
	const char *plain = NULL;

	if (!k)
		return NULL;
	for (size_t i = 0; i < k->n; i++) {
		if (k->v[i].size != bytes_alloc)
			continue;
		if (k->v[i].family == family)
			return k->v[i].name;
		if (k->v[i].family == KMT_GFP_NORMAL)
			plain = k->v[i].name;
	}
	/* kernels without the family's own caches use the plain ones */
	return plain || bytes_alloc <= k->largest ? plain : "kmalloc-large";
}
