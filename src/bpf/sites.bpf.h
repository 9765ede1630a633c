/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The site table: fixed size, open addressing. A row is claimed by
 * compare-and-swap of its 64-bit fingerprint and never given up. Two different
 * (who, cache, type) with one fingerprint would share a row: with 16384 rows
 * that happens with a probability of 2^-37.
 */
#ifndef KMT_BPF_SITES_BPF_H
#define KMT_BPF_SITES_BPF_H

#include "bpf/claim.bpf.h"
#include "bpf/compat.bpf.h"
#include "bpf/filter.bpf.h"

#define KMT_PROBES 16

/* What is known about one event; lives on the program's stack. */
struct kmt_alloc {
	__u64 call_site;
	__u64 addr;
	__u64 cache;		/* struct kmem_cache *, 0 unknown */
	__u64 bytes_req;	/* 0: the cache's object size */
	__u64 bytes_alloc;	/* 0: the cache's stride */
	__u64 gfp;
	__u64 who;
	__s32 node;
	__u32 stack;		/* row + 1 */
	__u32 type;
	__u32 free_type;	/* free rows: KMT_WIRE_* of the freeing call */
	__u32 migratetype;	/* pages */
	__u32 bulk;		/* 1: a bulk allocation, whose rows are another program's */
};

/* A sum of two products by odd constants: two pairs agree by chance only, once in 2^64. */
static __always_inline __u64 kmt_mix(__u64 a, __u64 b)
{
	return (a * 0x9e3779b97f4a7c15ull + b * 0xc2b2ae3d27d4eb4full) | 1;
}

/* Where to look first: the upper bits are the mixed ones. */
static __always_inline __u32 kmt_mix_row(__u64 key)
{
	return key >> 40;
}

/*
 * The order in which kmalloc_type() looks at the flags: DMA, reclaimable, then
 * accounted (include/linux/slab.h; KMALLOC_CGROUP since Linux commit
 * 494c1dfe855e "mm: memcg/slab: create a new set of kmalloc-cg-<n> caches", in
 * v5.14).
 */
static __always_inline __u32 kmt_gfp_family(__u64 gfp)
{
	if (kmt_gfp_dma && (gfp & kmt_gfp_dma))
		return KMT_GFP_DMA;
	if (kmt_gfp_reclaimable && (gfp & kmt_gfp_reclaimable))
		return KMT_GFP_RECLAIM;
	if (kmt_gfp_account && (gfp & kmt_gfp_account))
		return KMT_GFP_CGROUP;
	return KMT_GFP_NORMAL;
}

static __always_inline struct kmt_wire_cache *kmt_cache_slot(void *base, __u32 i)
{
	return (struct kmt_wire_cache *)(base + kmt_at_caches) + (i & kmt_caches_mask);
}

/* 'i' has been masked with kmt_sites_mask: the verifier knows its bounds. */
static __always_inline struct kmt_site_row *kmt_site_at(void *base, __u32 i)
{
	return (struct kmt_site_row *)(base + kmt_at_sites) + i;
}

static __always_inline struct kmt_site_row *kmt_site_slot(void *base, __u32 i)
{
	return kmt_site_at(base, i & kmt_sites_mask);
}

/* Row of a cache + 1; a new one is named here, once. 0: table full. */
static __noinline __u32 kmt_cache_row(__u64 cache)
{
	struct kmem_cache *s = (struct kmem_cache *)cache;
	__u32 at = kmt_mix_row(kmt_mix(cache, 0));
	const char *name = NULL;
	void *base = kmt_base();

	if (!base)
		return 0;
	for (int i = 0; i < KMT_PROBES; i++) {
		__u32 row = (at + i) & kmt_caches_mask;
		struct kmt_wire_cache *c = kmt_cache_slot(base, row);

		if (c->ptr == cache)
			return row + 1;
		if (c->ptr || kmt_claim(&c->ptr, cache, KMT_CLAIM_CACHE | row)) {
			if (c->ptr == cache)
				return row + 1;
			continue;
		}
		bpf_core_read(&c->object_size, sizeof(c->object_size), &s->object_size);
		bpf_core_read(&c->size, sizeof(c->size), &s->size);
		bpf_core_read(&name, sizeof(name), &s->name);
		bpf_probe_read_kernel_str(c->name, sizeof(c->name), name);
		c->state = KMT_SITE_READY;
		return row + 1;
	}
	return 0;
}

/*
 * kmem_cache_destroy() has begun: nobody may use the cache any more, and its
 * address may come to be another one's. That one finds no row, and gets one of its
 * own; user space does the same with the rows of the call sites.
 */
static __always_inline int kmt_cache_gone(__u64 cache)
{
	struct kmem_cache *s = (struct kmem_cache *)cache;
	__u32 at = kmt_mix_row(kmt_mix(cache, 0));
	void *base = kmt_base();
	int refcount = 0;

	if (!base || !cache)
		return 0;
	/* one name of several that share it: the others live on */
	bpf_core_read(&refcount, sizeof(refcount), &s->refcount);
	if (refcount > 1)
		return 0;
	for (int i = 0; i < KMT_PROBES; i++) {
		struct kmt_wire_cache *c = kmt_cache_slot(base, (at + i) & kmt_caches_mask);

		if (!c->ptr)
			break;
		if (c->ptr != cache)
			continue;
		c->state = KMT_SITE_GONE;
		barrier();
		c->ptr = cache | 1;
		break;
	}
	return 0;
}

/*
 * The verdict is kept in the site's row for good, so the name comes from the
 * cache itself: its row may only just be filled in by another CPU.
 */
static __noinline int kmt_cache_passes(__u64 cache, __u32 bytes_alloc, __u32 gfp_class)
{
	struct kmem_cache *s = (struct kmem_cache *)cache;
	struct kmt_filter_tables *f = kmt_filter_get();
	char name[KMT_CACHE_NAME_LEN] = "";
	const char *p = NULL;

	if (!f)
		return 0;
	if (!cache)
		return kmt_kmalloc_passes(f, bytes_alloc, gfp_class);
	bpf_core_read(&p, sizeof(p), &s->name);
	bpf_probe_read_kernel_str(name, sizeof(name), p);
	if (f->n_cache && !kmt_any_glob(f->cache, f->n_cache, name, sizeof(name)))
		return 0;
	return !kmt_any_glob(f->cache_not, f->n_cache_not, name, sizeof(name));
}

/* Pages and the like lie in no cache. */
static __always_inline int kmt_no_cache_passes(void)
{
	struct kmt_filter_tables *f = kmt_filter_get();

	return f && !f->n_cache;
}

/* Fill in a row that this CPU just claimed. */
static __noinline int kmt_site_describe(struct kmt_site_row *row, const struct kmt_alloc *a)
{
	struct kmem_cache *s;
	__u8 state = KMT_SITE_READY;
	__u32 flags = kmt_flags;

	if (!row || !a)
		return 0;
	s = (struct kmem_cache *)a->cache;
	row->id.who = a->who;
	row->id.cache = a->cache;
	row->id.call_site = a->call_site;
	row->id.type = a->type;
	/* a vmalloc area may have more */
	row->id.bytes_alloc = a->bytes_alloc > 0xffffffff ? 0xffffffff : a->bytes_alloc;
	row->id.gfp_class = a->type == KMT_WIRE_PAGE ? a->migratetype : kmt_gfp_family(a->gfp);
	row->id.free_type = a->free_type;
	if (a->type == KMT_WIRE_CACHE)
		row->id.bytes_req = a->bytes_req;
	bpf_get_current_comm(row->id.comm, sizeof(row->id.comm));
	if (a->cache) {
		row->id.cache_row = kmt_cache_row(a->cache);
		if (a->type == KMT_WIRE_CACHE) {
			bpf_core_read(&row->id.bytes_req, sizeof(row->id.bytes_req),
				      &s->object_size);
			bpf_core_read(&row->id.bytes_alloc, sizeof(row->id.bytes_alloc), &s->size);
		}
	}
	if (a->type != KMT_WIRE_FREE_SITE) {
		if ((flags & KMT_F_CACHE) && !(a->type > KMT_WIRE_CACHE ? kmt_no_cache_passes() :
					       kmt_cache_passes(a->cache, row->id.bytes_alloc,
								row->id.gfp_class)))
			state = KMT_SITE_EXCLUDED;
		if ((flags & KMT_F_SITE) && !(flags & KMT_F_BY_WHOM) &&
		    !kmt_site_passes(a->call_site))
			state = KMT_SITE_EXCLUDED;
	}
	row->id.state = state;
	return 0;
}

#define KMT_NO_SITE	0xffffffffu
#define KMT_NEW_SITE	0x80000000u	/* the caller must describe it */

/* Not where it was expected: probe on, or claim a free row. Index or KMT_NO_SITE. */
static __noinline __u32 kmt_site_probe(__u64 key)
{
	__u32 at = kmt_mix_row(key);
	void *base = kmt_base();

	if (!base)
		return KMT_NO_SITE;
	for (int i = 0; i < KMT_PROBES; i++) {
		__u32 index = (at + i) & kmt_sites_mask;
		struct kmt_site_row *row = kmt_site_slot(base, index);
		__u64 was;

		was = row->id.key;
		if (was == key)
			return index;
		if (was)
			continue;
		was = kmt_claim(&row->id.key, key, KMT_CLAIM_SITE | index);
		if (!was)
			return index | KMT_NEW_SITE;
		if (was == key)
			return index;
	}
	return KMT_NO_SITE;
}

#endif
