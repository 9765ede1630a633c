/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What fires no event: allocations and frees of many objects in one call, and
 * objects that are given up to a grace period of RCU. Any of them may be other
 * programs' objects, so their rows are written by atomic operations, or are
 * rows of their own.
 */
#ifndef KMT_BPF_BULK_BPF_H
#define KMT_BPF_BULK_BPF_H

#include "bpf/account.bpf.h"

#define KMT_BULK_MAX	1024	/* objects of one call; a page of kfree_rcu() holds 500 */

#ifndef __bpf__
#define KMT_NO_UNROLL
#else
#define KMT_NO_UNROLL _Pragma("clang loop unroll(disable)")
#endif

/*
 * What the objects of one allocation have in common. A program does not
 * interrupt itself and stays on its CPU, and its stack has been interned.
 */
static __always_inline struct kmt_alloc *kmt_bulk_common(__u32 cpu)
{
	__u32 slot = cpu * KMT_PROG_MAX + KMT_PROG_BULK_ALLOC;

	_Static_assert(sizeof(struct kmt_alloc) <= sizeof(struct kmt_stack_scratch), "no room");
	return bpf_map_lookup_elem(&kmt_scratch, &slot);
}

#define KMT_BULK_OWN	2	/* kmt_alloc.bulk: our own, left out one by one */
#define KMT_UNREAD	1ull	/* no address: it could not be read */

/*
 * Global functions: the verifier looks at them once each, instead of once for
 * every turn of the loops below, where no turn may leave anything behind, for
 * the same reason. 0 as address: nothing was had.
 */
__noinline int kmt_bulk_alloc_one(__u64 addr)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct kmt_alloc *common = kmt_bulk_common(cpu);
	void *base = kmt_base();
	struct kmt_cpu *c = kmt_cpu_at(base, cpu);

	if (!c || !common)
		return 0;
	if (unlikely(addr == KMT_UNREAD)) {
		c->count[KMT_PROG_BULK_ALLOC][KMT_CNT_LOST_OBJECTS]++;
		return 0;
	}
	common->addr = addr;
	if (unlikely(common->bulk == KMT_BULK_OWN)) {
		kmt_own_alloc(kmt_flags, c->count[KMT_PROG_BULK_ALLOC], common, 0);
		return 0;
	}
	/* in place: what it finds out about the cache is the same for all of them */
	kmt_alloc_take(base, c, cpu, c->count[KMT_PROG_BULK_ALLOC], common, 0, kmt_flags);
	return 0;
}

__noinline int kmt_bulk_free_one(__u64 addr, __u64 cache, __u64 call_site)
{
	__u32 type = cache ? KMT_WIRE_CACHE : KMT_WIRE_KMALLOC;

	return kmt_on_free(KMT_FREED_BY(type, KMT_PROG_BULK_FREE), KMT_PROG_BULK_FREE, call_site,
			   addr, cache, kmt_flags);
}

/* The same where the kernel can be asked for the cache of an object older than the trace. */
__noinline int kmt_bulk_free_one_ask(__u64 addr, __u64 cache, __u64 call_site)
{
	__u32 type = cache ? KMT_WIRE_CACHE : KMT_WIRE_KMALLOC;

	return kmt_on_free_of(KMT_FREED_BY(type, KMT_PROG_BULK_FREE), KMT_PROG_BULK_FREE,
			      call_site, addr, cache, 1, kmt_flags);
}

/* Objects that nobody looked at. */
static __always_inline void kmt_bulk_lost(__u32 prog, __u64 n)
{
	struct kmt_cpu *c = kmt_cpu_at(kmt_base(), bpf_get_smp_processor_id());

	if (c)
		c->count[prog][KMT_CNT_LOST_OBJECTS] += n;
}

/* Objects of a call that was not seen from its beginning to its end. */
static __always_inline void kmt_bulk_missed(__u64 n)
{
	struct kmt_cpu *c = kmt_cpu_at(kmt_base(), bpf_get_smp_processor_id());

	if (c)
		c->count[KMT_PROG_BULK_ALLOC][KMT_CNT_RECURSION] += n;
}

/* One call's objects. */
struct kmt_bulk_walk {
	const __u64 *p;
	__u64 cache, call_site;
};

/*
 * 'by_loop' is a constant: Linux commit e6f2dd0f8067 "bpf: Add bpf_loop helper"
 * (in v5.17), whose body is verified once; where there is none, each turn is.
 */
#define kmt_bulk_walk(by_loop, step, w, n) do {					\
	if (by_loop) {								\
		bpf_loop((n) < KMT_BULK_MAX ? (n) : KMT_BULK_MAX, step, w, 0);	\
	} else {								\
		KMT_NO_UNROLL							\
		for (__u32 i = 0; i < KMT_BULK_MAX; i++) {			\
			if (i >= (n))						\
				break;						\
			step(i, w);						\
		}								\
	}									\
} while (0)

static long kmt_bulk_alloc_step(__u32 i, struct kmt_bulk_walk *w)
{
	__u64 addr = KMT_UNREAD;

	if (bpf_probe_read_kernel(&addr, sizeof(addr), w->p + i))
		addr = KMT_UNREAD;
	kmt_bulk_alloc_one(addr);
	return 0;
}

/* kmem_cache_alloc_bulk() returned 'n' objects in p[]; 0: it had none. */
static __always_inline int kmt_on_bulk_alloc(void *ctx, struct kmt_alloc *a, const __u64 *p,
					     __u32 n, int by_loop)
{
	struct kmt_bulk_walk w = { .p = p };
	__u32 cpu = bpf_get_smp_processor_id();
	struct kmt_alloc *common = kmt_bulk_common(cpu);
	void *base = kmt_base();
	struct kmt_cpu *c = kmt_cpu_at(base, cpu);

	if (!c || !common)
		return 0;
	a->type = KMT_WIRE_CACHE;
	a->bulk = kmt_is_own() ? KMT_BULK_OWN : 1;
	a->node = -1;
	if (a->bulk != KMT_BULK_OWN &&
	    !kmt_alloc_passes(ctx, base, cpu, c->count[KMT_PROG_BULK_ALLOC], a,
			      KMT_PROG_BULK_ALLOC, 0, kmt_flags))
		return 0;
	*common = *a;
	if (!n)
		return kmt_bulk_alloc_one(0);
	kmt_bulk_walk(by_loop, kmt_bulk_alloc_step, &w, n);
	if (n > KMT_BULK_MAX)
		kmt_bulk_lost(KMT_PROG_BULK_ALLOC, n - KMT_BULK_MAX);
	return 0;
}

static long kmt_bulk_free_step(__u32 i, struct kmt_bulk_walk *w)
{
	__u64 addr = 0;

	bpf_probe_read_kernel(&addr, sizeof(addr), w->p + i);
	kmt_bulk_free_one(addr, w->cache, w->call_site);
	return 0;
}

static long kmt_bulk_free_step_ask(__u32 i, struct kmt_bulk_walk *w)
{
	__u64 addr = 0;

	bpf_probe_read_kernel(&addr, sizeof(addr), w->p + i);
	kmt_bulk_free_one_ask(addr, w->cache, w->call_site);
	return 0;
}

/*
 * kmem_cache_free_bulk(cache or NULL, n, p) is about to free p[]. 'ask': a
 * constant, 1 where the kernel can be asked for a cache.
 */
static __always_inline int kmt_on_bulk_free(__u64 call_site, __u64 cache, const __u64 *p, __u64 n,
					    int by_loop, __u32 ask)
{
	struct kmt_bulk_walk w = { .p = p, .cache = cache, .call_site = call_site };

	if (ask)
		kmt_bulk_walk(by_loop, kmt_bulk_free_step_ask, &w, n);
	else
		kmt_bulk_walk(by_loop, kmt_bulk_free_step, &w, n);
	if (n > KMT_BULK_MAX)
		kmt_bulk_lost(KMT_PROG_BULK_FREE, n - KMT_BULK_MAX);
	return 0;
}

#define KMT_TYPE_RCU	KMT_FREED_BY(KMT_WIRE_KMALLOC, KMT_PROG_RCU_FREE)

/*
 * An object older than the trace. Where its cache has sheaves, it goes into one
 * of RCU's (__kfree_rcu_sheaf() in mm/slub.c), which is handed out again or
 * flushed when the grace period is over, and nothing fires then. So it counts as
 * freed now, for its cache, and is kept in the table: should the kernel have had
 * no sheaf for it, the free that it sees to is no second one.
 */
static __noinline int kmt_older_given_up(__u64 addr, __u64 cache, __u64 call_site)
{
	__u32 cpu = bpf_get_smp_processor_id(), capacity = 0, site, row;
	struct kmem_cache *s = (struct kmem_cache *)cache;
	void *base = kmt_base();
	struct kmt_cpu *c = kmt_cpu_at(base, cpu);
	__u64 now, what, old = 0;

	if (!c || !cache || !bpf_core_field_exists(s->sheaf_capacity))
		return 0;
	bpf_core_read(&capacity, sizeof(capacity), &s->sheaf_capacity);
	row = capacity ? kmt_cache_row(cache) : 0;
	site = row ? kmt_free_site(base, call_site, KMT_TYPE_RCU) : KMT_NO_SITE;
	if (site == KMT_NO_SITE)
		return 0;
	now = kmt_now(c);
	what = kmt_object_what(KMT_WIRE_KMALLOC, site & kmt_sites_mask, cpu, 0, now) | KMT_WHAT_RCU;
	if (kmt_object_insert(base, addr, what, now, &old) != KMT_INSERTED)
		return 0;
	kmt_count_untracked(cache, 1);
	__sync_fetch_and_add(&kmt_cache_slot(base, row - 1)->older_given, 1);
	return 1;
}

/* The object's own row: freed for whoever counts. 1: may be written to the stream. */
static __always_inline int kmt_close_given_up(void *base, struct kmt_cpu *c, __u32 cpu,
					      __u64 *count, __u64 call_site, __u64 addr,
					      __u64 *ret_cache, __u32 ask)
{
	__u64 what = 0, born = 0;

	if (!kmt_object_give_up(addr, kmt_now(c), &what, &born)) {
		if (ask)
			kmt_older_given_up(addr, kmt_ask_cache(addr), call_site);
		if (kmt_is_own()) {
			count[KMT_CNT_OWN]++;
			return 0;
		}
		count[KMT_CNT_RCU_UNKNOWN]++;
		return !(kmt_flags & KMT_F_FILTER);
	}
	*ret_cache = kmt_site_at(base, kmt_what_site(what))->id.cache;
	if (what & KMT_WHAT_RCU) {	/* again */
		count[KMT_CNT_RCU_UNKNOWN]++;
		return 1;
	}
	kmt_close_object(base, c, cpu, KMT_TYPE_RCU, what, born);
	__sync_fetch_and_add(&kmt_site_at(base, kmt_what_site(what))->cold.rcu_given, 1);
	return 2;
}

/* kvfree_call_rcu() was handed an object: see enum kmt_op in core/event.h. */
static __always_inline int kmt_on_give_up(__u64 call_site, __u64 addr, __u32 ask)
{
	__u32 cpu = bpf_get_smp_processor_id(), flags = kmt_flags;
	void *base = kmt_base();
	struct kmt_cpu *c = kmt_cpu_at(base, cpu);
	__u64 cache = 0, *count;
	int res = 2;

	if (!c)
		return 0;
	count = c->count[KMT_PROG_RCU_FREE];
	if (addr <= 16) {
		count[KMT_CNT_NULL_FREES]++;
		return 0;
	}
	if (flags & KMT_F_TRACK) {
		res = kmt_close_given_up(base, c, cpu, count, call_site, addr, &cache, ask);
	} else if (kmt_is_own()) {
		count[KMT_CNT_OWN]++;
		return 0;
	}
	if (res == 2) {
		if (flags & KMT_F_COUNT)
			kmt_count_free_site(base, c, count, call_site, KMT_TYPE_RCU);
		else
			count[KMT_CNT_FREES]++;
	}
	if (res && (flags & KMT_F_EMIT))
		kmt_emit_end(flags, cpu, count, KMT_REC_RCU, KMT_WIRE_KMALLOC, call_site, addr,
			     cache);
	return 0;
}

#endif
