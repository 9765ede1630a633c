/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to an allocation and to a free, whatever tracer saw it. */
#ifndef KMT_BPF_ACCOUNT_BPF_H
#define KMT_BPF_ACCOUNT_BPF_H

#include "bpf/clock.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/own.bpf.h"
#include "bpf/page_cache.bpf.h"
#include "bpf/stacks.bpf.h"
#ifdef KMT_HASHED
#include "bpf/objects_hash.bpf.h"
#else
#include "bpf/objects.bpf.h"
#endif

/* 'index' has been masked with kmt_sites_mask. */
static __always_inline struct kmt_site_cpu *kmt_hot(struct kmt_cpu *c, __u32 index)
{
	return (struct kmt_site_cpu *)(c + 1) + index;
}

/* The part of the key that is not 'who': the cache, or for kmalloc bucket size and family. */
static __always_inline __u64 kmt_alloc_what(const struct kmt_alloc *a)
{
	/* before 6.0 the event does not name the cache, but has both sizes */
	if (a->type == KMT_WIRE_CACHE)
		return a->cache ? a->cache | a->bulk : a->bytes_alloc << 32 | a->bytes_req << 8 | 3;
	if (a->type == KMT_WIRE_PAGE)
		return a->bytes_alloc << 8 | a->type << 4 | (a->migratetype & 3) << 2 | 1;
	if (a->type != KMT_WIRE_KMALLOC)
		return a->bytes_alloc << 8 | a->type << 4 | 1;
	return a->bytes_alloc << 8 | kmt_gfp_family(a->gfp) << 2 | 1;
}

/*
 * An object that is not in the table: older than the trace, as a rule, or our
 * own. Its cache's count in the kernel changes all the same. Several programs
 * write here.
 */
static __noinline int kmt_count_untracked(__u64 cache, __u32 is_free)
{
	__u32 row = kmt_cache_row(cache);
	void *base = kmt_base();
	struct kmt_wire_cache *w;

	if (!base || !row)
		return 0;
	w = kmt_cache_slot(base, row - 1);
	__sync_fetch_and_add(is_free ? &w->older_frees : &w->own_allocs, 1);
	return 0;
}

/* core.bpf.c: what the kernel says, where it can be asked; 0: it is no object of a cache. */
__u64 kmt_ask_cache(__u64 addr);

/*
 * The cache of an object whose event names none, 0 = not to be had. 'given': its
 * stride, 0 unknown. 'ask': a constant, 1 where the kernel can be asked.
 */
static __always_inline __u64 kmt_cache_of(__u64 addr, __u64 given, __u32 ask)
{
	return ask ? kmt_ask_cache(addr) : kmt_page_cache(addr, given);
}

static __always_inline __u32 kmt_log2(__u64 v)
{
	__u32 n = 0;

	if (v >> 31)	/* 36 minutes and more share the last bucket */
		return KMT_LIFETIME_BUCKETS - 1;
	if (v >> 16) { n += 16; v >>= 16; }
	if (v >> 8) { n += 8; v >>= 8; }
	if (v >> 4) { n += 4; v >>= 4; }
	if (v >> 2) { n += 2; v >>= 2; }
	return n + (v >> 1);
}

static __always_inline __u64 *kmt_lifetime_slot(void *base, __u32 cpu, __u32 site, __u64 age)
{
	__u64 shard = kmt_times(cpu & kmt_shard_mask, kmt_shard_stride);
	struct kmt_lifetimes *table = base + kmt_at_lifetimes + shard;

	return &table[site].n[kmt_log2(age) & (KMT_LIFETIME_BUCKETS - 1)];
}

static __always_inline __u32 kmt_what_site(__u64 what)
{
	return what >> KMT_WHAT_SITE_SHIFT & kmt_sites_mask;
}

/* The address was live already: its free fired no event. Close it against its own site. */
static __noinline int kmt_untraced_free(__u64 what)
{
	void *base = kmt_base();
	struct kmt_site_row *row;

	if (!base)
		return 0;
	row = kmt_site_at(base, kmt_what_site(what));
	__sync_fetch_and_add(&row->cold.untraced_frees, 1);
	__sync_fetch_and_add(&row->cold.slack_untraced, what >> KMT_WHAT_SLACK_SHIFT);
	return 0;
}

/* The wait of what was given up is over: its free was counted then. */
static __noinline int kmt_rcu_end(__u64 what)
{
	void *base = kmt_base();

	if (base)
		__sync_fetch_and_add(&kmt_site_at(base, kmt_what_site(what))->cold.rcu_ended, 1);
	return 0;
}

/*
 * An address was handed out to ourselves: what is known of it is over, as at any
 * allocation, or our free would be taken for the old object's. 1: that was live.
 */
static __noinline int kmt_own_took(__u64 key)
{
	__u64 what = 0, born = 0;
	void *base = kmt_base();

	if (!base || !kmt_object_remove(base, key, &what, &born))
		return 0;
	if (what & KMT_WHAT_RCU) {
		kmt_rcu_end(what);
		return 0;
	}
	kmt_untraced_free(what);
	return 1;
}

static __always_inline void kmt_own_alloc(__u32 flags, __u64 *count, const struct kmt_alloc *a,
					  __u32 ask_cache)
{
	__u64 cache = a->cache;

	count[KMT_CNT_OWN]++;
	if (!(flags & KMT_F_TRACK) || !a->addr)
		return;
	if (kmt_own_took(kmt_object_key(a->type, a->addr)))
		count[KMT_CNT_UNTRACED_FREES]++;
	if (!cache && a->type == KMT_WIRE_KMALLOC)
		cache = kmt_cache_of(a->addr, a->bytes_alloc, ask_cache);
	if (cache)
		kmt_count_untracked(cache, 0);
}

static __noinline int kmt_lost_object(struct kmt_site_row *row, __u64 slack)
{
	if (!row)
		return 0;
	__sync_fetch_and_add(&row->cold.lost_objects, 1);
	__sync_fetch_and_add(&row->cold.slack_lost, slack);
	return 0;
}

static __always_inline void kmt_track_alloc(void *base, struct kmt_cpu *c, __u32 cpu, __u64 *count,
					    struct kmt_site_row *row, __u32 index,
					    const struct kmt_alloc *a)
{
	__u64 now = kmt_now(c), old = 0, slack = 0, what;
	int res = KMT_NO_ROOM;

	/* a cache's waste per object is constant and kept with the cache */
	if (a->type != KMT_WIRE_CACHE)
		slack = a->bytes_alloc - a->bytes_req;
	what = kmt_object_what(a->type, index, cpu, slack, now);
	if (likely(slack <= KMT_WHAT_SLACK_MAX))
		res = kmt_object_insert(base, kmt_object_key(a->type, a->addr), what, now, &old);
	if (likely(res == KMT_INSERTED))
		return;
	if (res == KMT_REPLACED) {
		if (old & KMT_WHAT_RCU) {
			kmt_rcu_end(old);
			return;
		}
		count[KMT_CNT_UNTRACED_FREES]++;
		kmt_untraced_free(old);
	} else {
		count[KMT_CNT_LOST_OBJECTS]++;
		kmt_lost_object(row, slack);
	}
}

/* The row this allocation is counted against; NULL: the table is full. */
static __always_inline struct kmt_site_row *kmt_alloc_site(void *base, const struct kmt_alloc *a,
							   __u32 ask_cache, __u32 *ret_index)
{
	__u64 key = kmt_mix(a->who, kmt_alloc_what(a));
	__u32 index = kmt_mix_row(key) & kmt_sites_mask;
	struct kmt_site_row *row = kmt_site_at(base, index);

	if (likely(row->id.key == key)) {
		*ret_index = index;
		return row;
	}
	index = kmt_site_probe(key);
	if (index == KMT_NO_SITE)
		return NULL;
	*ret_index = index & kmt_sites_mask;
	row = kmt_site_at(base, *ret_index);
	if (index & KMT_NEW_SITE) {
		struct kmt_alloc copy = *a;	/* only this slow path needs it in memory */

		/* a kmalloc bucket: asked once per site, kept in its row */
		if (a->addr && a->type == KMT_WIRE_KMALLOC)
			copy.cache = kmt_cache_of(a->addr, a->bytes_alloc, ask_cache);
		kmt_site_describe(row, &copy);
	}
	return row;
}

/* 1: the event passed and may be written to the stream. */
static __always_inline int kmt_count_alloc(__u32 flags, void *base, struct kmt_cpu *c, __u32 cpu,
					   __u64 *count, struct kmt_alloc *a, __u32 ask_cache)
{
	struct kmt_site_row *row;
	struct kmt_site_cpu *hot;
	__u32 index = 0;

	row = kmt_alloc_site(base, a, ask_cache, &index);
	if (unlikely(!row)) {
		count[KMT_CNT_LOST_SITES]++;
		return 0;
	}
	/* another CPU has claimed the row and is not done describing it: the same again is safe */
	if ((flags & (KMT_F_FILTER | KMT_F_EMIT)) && unlikely(row->id.state == KMT_SITE_NEW)) {
		struct kmt_alloc copy = *a;

		kmt_site_describe(row, &copy);
	}
	if ((flags & KMT_F_FILTER) && row->id.state == KMT_SITE_EXCLUDED) {
		count[KMT_CNT_FILTERED]++;
		return 0;
	}
	if (a->type == KMT_WIRE_CACHE) {
		a->bytes_req = row->id.bytes_req;
		a->bytes_alloc = row->id.bytes_alloc;
	} else {
		a->cache = row->id.cache;
	}
	if (unlikely(a->gfp & ~(__u64)row->id.gfp))
		kmt_set_bits(&row->id.gfp, (__u32)a->gfp);
	if (unlikely(!a->addr)) {
		count[KMT_CNT_FAILED_ALLOCS]++;
		__sync_fetch_and_add(&row->cold.failures, 1);
		return 1;
	}
	/* no total is kept here: user space adds up the sites */
	hot = kmt_hot(c, index);
	hot->allocs++;
	if (a->type != KMT_WIRE_CACHE)
		hot->slack += a->bytes_alloc - a->bytes_req;
	if (flags & KMT_F_TRACK)
		kmt_track_alloc(base, c, cpu, count, row, index, a);
	return 1;
}

/* Sizes of a cache's objects where no site row has them at hand; 0: the cache has no row. */
static __always_inline __u32 kmt_sizes(void *base, struct kmt_alloc *a)
{
	__u32 row = kmt_cache_row(a->cache);
	struct kmt_wire_cache *w = row ? kmt_cache_slot(base, row - 1) : NULL;
	struct kmem_cache *s = (struct kmem_cache *)a->cache;
	__u32 size = 0, object_size = 0;

	if (w && w->state == KMT_SITE_READY) {
		a->bytes_req = w->object_size;
		a->bytes_alloc = w->size;
		return row;
	}
	bpf_core_read(&size, sizeof(size), &s->size);
	bpf_core_read(&object_size, sizeof(object_size), &s->object_size);
	a->bytes_req = object_size;
	a->bytes_alloc = size;
	return row;
}

/* 1: it is to be counted, and whose it is stands in a->who and a->stack. */
static __always_inline int kmt_alloc_passes(void *ctx, void *base, __u32 cpu, __u64 *count,
					    struct kmt_alloc *a, __u32 prog, __u32 ask_cache,
					    __u32 flags)
{
	if (kmt_is_own()) {
		kmt_own_alloc(flags, count, a, ask_cache);
		return 0;
	}
	if (flags & KMT_F_FILTER) {
		if ((flags & KMT_F_SIZE) && a->type == KMT_WIRE_CACHE && a->cache)
			kmt_sizes(base, a);
		if (!kmt_event_passes(flags, a->call_site, a->bytes_req)) {
			count[KMT_CNT_FILTERED]++;
			return 0;
		}
	}
	a->who = a->call_site;
	if (flags & KMT_F_STACK) {
		a->stack = kmt_stack_get(ctx, cpu, prog);
		if (!a->stack)
			count[KMT_CNT_LOST_STACKS]++;
		else if (flags & KMT_F_BY_STACK)
			a->who = a->stack;
	}
	if (flags & KMT_F_BY_TASK)
		a->who = bpf_get_current_pid_tgid() >> 32;
	if (flags & KMT_F_BY_CGROUP)
		a->who = bpf_get_current_cgroup_id();
	return 1;
}

static __always_inline void kmt_alloc_take(void *base, struct kmt_cpu *c, __u32 cpu, __u64 *count,
					   struct kmt_alloc *a, __u32 ask_cache, __u32 flags)
{
	if (flags & KMT_F_COUNT) {
		if (!kmt_count_alloc(flags, base, c, cpu, count, a, ask_cache))
			return;
	} else {
		if (a->type == KMT_WIRE_CACHE && a->cache && !kmt_sizes(base, a))
			count[KMT_CNT_LOST_CACHES]++;
		if (a->addr)
			count[KMT_CNT_ALLOCS]++;
		else
			count[KMT_CNT_FAILED_ALLOCS]++;
	}
	if (flags & KMT_F_EMIT)
		kmt_emit_alloc(flags, cpu, count, a);
}

/*
 * 'prog' apart from *a: it must stay a constant to the verifier. 'flags' is a
 * constant in the fast programs, so that the compiler drops what they do not
 * do, and kmt_flags in the general ones, where the verifier does. Everything
 * is inlined, so that *a lives in registers.
 */
static __always_inline int kmt_on_alloc(void *ctx, struct kmt_alloc *a, __u32 prog,
					__u32 ask_cache, __u32 flags)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct kmt_cpu *c;
	void *base = kmt_base();
	__u64 *count;

	c = kmt_cpu_at(base, cpu);
	if (!c)
		return 0;
	count = c->count[prog];
	if (kmt_alloc_passes(ctx, base, cpu, count, a, prog, ask_cache, flags))
		kmt_alloc_take(base, c, cpu, count, a, ask_cache, flags);
	return 0;
}

/*
 * Freeing calls of more than one program: the program stands above the type, so
 * that its freeing sites have rows of their own, and what it closes is closed
 * by atomic operations.
 */
#define KMT_FREED_BY(type, prog)	((type) | (prog) << 8)

/* The row of a freeing site in the site table; KMT_NO_SITE: it is full. */
static __always_inline __u32 kmt_free_site(void *base, __u64 call_site, __u32 type)
{
	__u64 key = kmt_mix(call_site, type);
	__u32 index = kmt_mix_row(key) & kmt_sites_mask;

	if (unlikely(kmt_site_at(base, index)->id.key != key)) {
		__u32 found = kmt_site_probe(key);

		if (found == KMT_NO_SITE)
			return KMT_NO_SITE;
		index = found & kmt_sites_mask;
		if (found & KMT_NEW_SITE) {
			struct kmt_alloc a = { .call_site = call_site, .who = call_site,
					       .type = KMT_WIRE_FREE_SITE, .free_type = type };

			kmt_site_describe(kmt_site_at(base, index), &a);
		}
	}
	return index;
}

/* One more free by this freeing site. */
static __always_inline void kmt_count_free_site(void *base, struct kmt_cpu *c, __u64 *count,
						__u64 call_site, __u32 type)
{
	__u32 index = kmt_free_site(base, call_site, type);

	if (index == KMT_NO_SITE) {
		count[KMT_CNT_LOST_SITES]++;
		return;
	}
	kmt_hot(c, index & kmt_sites_mask)->frees++;
}

static __noinline int kmt_close_other(__u64 what, __u64 *lifetime, __u64 cross, __u64 temporary)
{
	void *base = kmt_base();
	struct kmt_site_row *row;

	if (!base)
		return 0;
	row = kmt_site_at(base, kmt_what_site(what));
	/* kfree() of a cache's object is legal; two programs write here */
	__sync_fetch_and_add(&row->cold.frees_other, 1);
	__sync_fetch_and_add(&row->cold.slack_other, what >> KMT_WHAT_SLACK_SHIFT);
	__sync_fetch_and_add(&row->cold.cross_cpu_other, cross);
	__sync_fetch_and_add(&row->cold.temporary_other, temporary);
	if (lifetime)
		__sync_fetch_and_add(lifetime, 1);
	return 0;
}

static __always_inline void kmt_close_object(void *base, struct kmt_cpu *c, __u32 cpu, __u32 type,
					     __u64 what, __u64 born)
{
	__u32 index = kmt_what_site(what);
	__u64 now = kmt_now(c) & ((1ull << KMT_TIME_BITS) - 1);
	__u64 age = now > born ? now - born : 0;
	__u64 cross = (what >> KMT_WHAT_CPU_SHIFT & KMT_WHAT_CPU_MASK) !=
		      (cpu & KMT_WHAT_CPU_MASK);
	__u64 temporary = age < kmt_temporary;
	__u64 *lifetime = kmt_lifetime_slot(base, cpu, index, age);
	struct kmt_site_cpu *hot = kmt_hot(c, index);

	if (unlikely(type >> 8 || (what >> KMT_WHAT_TYPE_SHIFT & 1) != (type & 1))) {
		kmt_close_other(what, lifetime, cross, temporary);
		return;
	}
	hot->frees++;
	if (type != KMT_WIRE_CACHE)
		hot->slack_freed += what >> KMT_WHAT_SLACK_SHIFT;
	hot->cross_cpu_frees += cross;
	hot->temporary += temporary;
	if (kmt_flags & KMT_F_OWN_SHARD)
		(*lifetime)++;
	else
		__sync_fetch_and_add(lifetime, 1);
}

/* 1: the free may be written to the stream; *cache is filled in where it is known. */
static __always_inline int kmt_count_free(__u32 flags, void *base, struct kmt_cpu *c, __u32 cpu,
					  __u64 *count, __u32 type, __u64 call_site, __u64 addr,
					  __u64 *cache, __u32 ask_cache)
{
	if (flags & KMT_F_TRACK) {
		__u64 what = 0, born = 0;

		if (!kmt_object_remove(base, kmt_object_key(type, addr), &what, &born)) {
			if (!*cache && (type & 0xff) <= KMT_WIRE_CACHE)
				*cache = kmt_cache_of(addr, 0, ask_cache);
			if (*cache)
				kmt_count_untracked(*cache, 1);
			else
				count[KMT_CNT_FREES_NO_CACHE]++;
			if (kmt_is_own()) {
				count[KMT_CNT_OWN]++;
				return 0;
			}
			count[KMT_CNT_FREES_UNKNOWN]++;
			if (flags & KMT_F_FILTER)
				return 0;
		} else {
			if ((flags & KMT_F_EMIT) && !*cache) {
				*cache = kmt_site_at(base, kmt_what_site(what))->id.cache;
			}
			if (unlikely(what & KMT_WHAT_RCU)) {
				kmt_rcu_end(what);
				return 1;
			}
			kmt_close_object(base, c, cpu, type, what, born);
		}
	}
	kmt_count_free_site(base, c, count, call_site, type);
	return 1;
}

/* ask_cache: a constant; only where the kernel can be asked for an address's cache. */
static __always_inline int kmt_on_free_of(__u32 type, __u32 prog, __u64 call_site, __u64 addr,
					  __u64 cache, __u32 ask_cache, __u32 flags)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *base = kmt_base();
	struct kmt_cpu *c = kmt_cpu_at(base, cpu);
	__u64 *count;

	if (!c)
		return 0;
	count = c->count[prog];
	if (addr <= 16) {	/* NULL and ZERO_SIZE_PTR are traced, but not frees */
		count[KMT_CNT_NULL_FREES]++;
		return 0;
	}
	/* with a table, whose object it is matters more than who frees it */
	if (!(flags & KMT_F_TRACK) && kmt_is_own()) {
		count[KMT_CNT_OWN]++;
		return 0;
	}
	if (flags & KMT_F_COUNT) {
		if (!kmt_count_free(flags, base, c, cpu, count, type, call_site, addr, &cache,
				    ask_cache))
			return 0;
	} else {
		count[KMT_CNT_FREES]++;
	}
	/* a cache of which only frees were seen so far has no name yet */
	if ((flags & KMT_F_EMIT) && (flags & KMT_F_COUNT) && cache && !kmt_cache_row(cache))
		count[KMT_CNT_LOST_CACHES]++;
	if (flags & KMT_F_EMIT)
		kmt_emit_free(flags, cpu, count, type, call_site, addr, cache);
	return 0;
}

static __always_inline int kmt_on_free(__u32 type, __u32 prog, __u64 call_site, __u64 addr,
				       __u64 cache, __u32 flags)
{
	return kmt_on_free_of(type, prog, call_site, addr, cache, 0, flags);
}

#endif
