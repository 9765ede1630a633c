/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live-object table: fixed size, no locks. An address is inserted by the
 * CPU that was just given it and removed by the one that is about to give it
 * back, so two CPUs never work on the same address; they only compete for
 * empty slots, which compare-and-swap decides.
 *
 *   page of addr ─hash─► group of 32 buckets, one of them by the low bits:
 *
 *        bucket   a0 a1 a2 | what, birth of each | spilled
 *                                                     │ > 0: look there too
 *   addr ─hash─► any bucket ◄─────────────────────────┘
 *
 * Objects of one slab page so lie side by side here too: what the allocator
 * has just touched shares its cache lines and TLB entries in this table. A
 * page with more objects than its group holds spills all over the table.
 */
#ifndef KMT_BPF_OBJECTS_BPF_H
#define KMT_BPF_OBJECTS_BPF_H

#include "bpf/object.bpf.h"

#define KMT_HASH	0x9e3779b97f4a7c15ull

static __always_inline struct kmt_bucket *kmt_bucket_at(void *base, __u32 i)
{
	barrier_var(i);		/* the address is computed from what was checked */
	if (i >= kmt_buckets)
		return NULL;
	barrier_var(i);
	return (struct kmt_bucket *)(base + kmt_at_objects) + i;
}

/* Where an object belongs. */
static __always_inline struct kmt_bucket *kmt_bucket_home(void *base, __u64 addr)
{
	__u64 page = (addr >> 12) * KMT_HASH;
	__u32 group = ((page >> 32) * (kmt_buckets / KMT_GROUP)) >> 32;

	__u32 i;

	/* objects of 1 KiB would all take every eighth bucket: turned by the page's hash */
	i = group * KMT_GROUP + (((addr >> 7) ^ (page >> 24)) & (KMT_GROUP - 1));
	/* a tiny table of less than one group (never less than half of one) is folded */
	if (kmt_buckets < KMT_GROUP && i >= kmt_buckets)
		i -= kmt_buckets;
	return kmt_bucket_at(base, i);
}

#define KMT_SPILLS 4	/* places tried when the home is full */

static __always_inline struct kmt_bucket *kmt_bucket_spill(void *base, __u64 addr,
							   __u32 n)
{
	__u64 h = (addr + n) * KMT_HASH;

	return kmt_bucket_at(base, ((h >> 32) * kmt_buckets) >> 32);
}

/* The loops over a bucket's ways are unrolled: the verifier sees constant offsets. */
#define KMT_WAY_IS(b, w, a)	(*(volatile __u64 *)&(b)->addr[w] == (a))
#define KMT_FOR_WAYS(OP) OP(0) OP(1) OP(2)

/*
 * A plain store that no earlier store of this CPU may pass: free on x86, which
 * keeps stores in order; elsewhere an exchange, for want of a release store.
 */
#ifdef __TARGET_ARCH_x86
#define KMT_PUBLISH(p, v)	do { barrier(); *(volatile __u64 *)(p) = (v); } while (0)
#else
#define KMT_PUBLISH(p, v)	__sync_lock_test_and_set(p, v)
#endif

/* Take a free slot of this bucket; readers skip it until it is whole. */
static __always_inline int kmt_bucket_claim(struct kmt_bucket *b, __u64 addr, __u64 what,
					    __u32 birth)
{
#define OP(w)									\
	if (KMT_WAY_IS(b, w, 0) &&						\
	    !__sync_val_compare_and_swap(&b->addr[w], 0, addr | KMT_ADDR_BUSY)) {	\
		b->what[w] = what;						\
		b->birth[w] = birth;						\
		KMT_PUBLISH(&b->addr[w], addr);					\
		return 1;							\
	}
	KMT_FOR_WAYS(OP)
#undef OP
	return 0;
}

/* The address is ours, so is its slot: nobody else changes it. */
static __always_inline int kmt_bucket_replace(struct kmt_bucket *b, __u64 addr, __u64 what,
					      __u32 birth, __u64 *ret_old)
{
#define OP(w)									\
	if (KMT_WAY_IS(b, w, addr)) {						\
		*ret_old = b->what[w];						\
		*(volatile __u64 *)&b->addr[w] = addr | KMT_ADDR_BUSY;		\
		barrier();							\
		b->what[w] = what;						\
		b->birth[w] = birth;						\
		KMT_PUBLISH(&b->addr[w], addr);					\
		return 1;							\
	}
	KMT_FOR_WAYS(OP)
#undef OP
	return 0;
}

/* The home is full, or was, or has the address already: rare, so out of line. */
static __noinline int kmt_object_insert_slow(__u64 addr, __u64 what, __u32 birth, __u64 *ret_old)
{
	void *base = kmt_base();
	struct kmt_bucket *home, *b;

	if (!base || !ret_old)
		return KMT_NO_ROOM;
	home = kmt_bucket_home(base, addr);
	if (!home)
		return KMT_NO_ROOM;
	if (kmt_bucket_replace(home, addr, what, birth, ret_old))
		return KMT_REPLACED;
	for (__u32 n = 0; n < KMT_SPILLS && home->spilled; n++) {
		b = kmt_bucket_spill(base, addr, n);
		if (b && kmt_bucket_replace(b, addr, what, birth, ret_old))
			return KMT_REPLACED;
	}
	if (kmt_bucket_claim(home, addr, what, birth))
		return KMT_INSERTED;
	/* count first: a look-up that sees no spill must not miss this object */
	__sync_fetch_and_add(&home->spilled, 1);
	for (__u32 n = 0; n < KMT_SPILLS; n++) {
		b = kmt_bucket_spill(base, addr, n);
		/* the home may have got room meanwhile, but what is there is not spilled */
		if (b && b != home && kmt_bucket_claim(b, addr, what, birth))
			return KMT_INSERTED;
	}
	__sync_fetch_and_add(&home->spilled, -1);
	return KMT_NO_ROOM;
}

/* The common case in one look at the bucket: the address is new and a slot is free. */
static __always_inline int kmt_object_insert(void *base, __u64 addr, __u64 what, __u32 birth,
					     __u64 *ret_old)
{
	struct kmt_bucket *b = kmt_bucket_home(base, addr);
	__u64 a0, a1, a2, old = 0;
	int res;

	if (!b)
		return KMT_NO_ROOM;
	a0 = *(volatile __u64 *)&b->addr[0];
	a1 = *(volatile __u64 *)&b->addr[1];
	a2 = *(volatile __u64 *)&b->addr[2];
	if (likely(a0 != addr && a1 != addr && a2 != addr && !b->spilled)) {
		__u32 w = !a0 ? 0 : !a1 ? 1 : 2;

		if (likely(!__sync_val_compare_and_swap(&b->addr[w], 0, addr | KMT_ADDR_BUSY))) {
			b->what[w] = what;
			b->birth[w] = birth;
			KMT_PUBLISH(&b->addr[w], addr);
			return KMT_INSERTED;
		}
	}
	res = kmt_object_insert_slow(addr, what, birth, &old);
	*ret_old = old;
	return res;
}

/* Remove an address from one bucket; compare-and-swap, should the kernel free it twice. */
static __always_inline int kmt_bucket_remove(struct kmt_bucket *b, __u64 addr, __u64 *ret_what,
					     __u64 *ret_born)
{
	__u32 w = 0;

	if (!KMT_WAY_IS(b, 0, addr)) {
		w = 1;
		if (!KMT_WAY_IS(b, 1, addr)) {
			w = 2;
			if (!KMT_WAY_IS(b, 2, addr))
				return 0;
		}
	}
	*ret_what = b->what[w];
	*ret_born = kmt_object_born(*ret_what, b->birth[w]);
	return __sync_val_compare_and_swap(&b->addr[w], addr, 0) == addr;
}

static __noinline int kmt_object_remove_spilled(__u64 addr, __u64 *ret_what, __u64 *ret_born)
{
	void *base = kmt_base();
	struct kmt_bucket *home, *b;

	if (!base || !ret_what || !ret_born)
		return 0;
	home = kmt_bucket_home(base, addr);
	for (__u32 n = 0; home && n < KMT_SPILLS; n++) {
		b = kmt_bucket_spill(base, addr, n);
		if (!b || !kmt_bucket_remove(b, addr, ret_what, ret_born))
			continue;
		__sync_fetch_and_add(&home->spilled, -1);
		return 1;
	}
	return 0;
}

/* 1 and what was known about it (wire.h), 0 if the address is not in the table. */
static __always_inline int kmt_object_remove(void *base, __u64 addr, __u64 *ret_what,
					     __u64 *ret_born)
{
	struct kmt_bucket *b = kmt_bucket_home(base, addr);
	__u64 what = 0, born = 0;
	int res;

	if (!b)
		return 0;
	if (likely(kmt_bucket_remove(b, addr, ret_what, ret_born)))
		return 1;
	if (likely(!b->spilled))
		return 0;
	res = kmt_object_remove_spilled(addr, &what, &born);
	*ret_what = what;
	*ret_born = born;
	return res;
}

/* Mark an address as given up at 'now'; what was known about it stays, and is told. */
static __always_inline int kmt_bucket_give_up(struct kmt_bucket *b, __u64 addr, __u64 now,
					      __u64 *ret_what, __u64 *ret_born)
{
#define OP(w)									\
	if (KMT_WAY_IS(b, w, addr)) {						\
		__u64 what = b->what[w];					\
										\
		*ret_what = what;						\
		*ret_born = kmt_object_born(what, b->birth[w]);			\
		if (what & KMT_WHAT_RCU)					\
			return 1;						\
		*(volatile __u64 *)&b->addr[w] = addr | KMT_ADDR_BUSY;		\
		barrier();							\
		b->what[w] = kmt_what_given_up(what, now);			\
		b->birth[w] = now;						\
		KMT_PUBLISH(&b->addr[w], addr);					\
		return 1;							\
	}
	KMT_FOR_WAYS(OP)
#undef OP
	return 0;
}

/*
 * Nobody may use the object any more, but its memory is not free yet: 1 and
 * what was known about it, with KMT_WHAT_RCU if it was given up before.
 */
static __noinline __attribute__((unused)) int
kmt_object_give_up(__u64 addr, __u64 now, __u64 *ret_what, __u64 *ret_born)
{
	void *base = kmt_base();
	struct kmt_bucket *home, *b;

	if (!base || !ret_what || !ret_born)
		return 0;
	home = kmt_bucket_home(base, addr);
	if (!home)
		return 0;
	if (kmt_bucket_give_up(home, addr, now, ret_what, ret_born))
		return 1;
	for (__u32 n = 0; n < KMT_SPILLS && home->spilled; n++) {
		b = kmt_bucket_spill(base, addr, n);
		if (b && kmt_bucket_give_up(b, addr, now, ret_what, ret_born))
			return 1;
	}
	return 0;
}

#endif
