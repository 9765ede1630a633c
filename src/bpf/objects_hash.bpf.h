/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live-object table where BPF has no compare-and-swap: a preallocated hash
 * map of the kernel's. It locks a bucket at each change, with interrupts off,
 * and takes five times the memory; what it answers is the same.
 */
#ifndef KMT_BPF_OBJECTS_HASH_BPF_H
#define KMT_BPF_OBJECTS_HASH_BPF_H

#include "bpf/object.bpf.h"

/* An object is replaced as a whole, so that user space never reads half of one. */
static __noinline int kmt_object_again(__u64 addr, __u64 what, __u32 birth, __u64 *ret_old)
{
	struct kmt_hashed_object o = { .what = what, .birth = birth };
	struct kmt_hashed_object *was = bpf_map_lookup_elem(&kmt_objects, &addr);

	if (!was || !ret_old)
		return KMT_NO_ROOM;
	*ret_old = was->what;
	return bpf_map_update_elem(&kmt_objects, &addr, &o, BPF_ANY) ? KMT_NO_ROOM : KMT_REPLACED;
}

static __always_inline int kmt_object_insert(void *base, __u64 addr, __u64 what, __u32 birth,
					     __u64 *ret_old)
{
	struct kmt_hashed_object o = { .what = what, .birth = birth };
	__u64 old = 0;
	int res;

	if (likely(!bpf_map_update_elem(&kmt_objects, &addr, &o, BPF_NOEXIST)))
		return KMT_INSERTED;
	res = kmt_object_again(addr, what, birth, &old);
	*ret_old = old;
	return res;
}

/* 1 and what was known about it (wire.h), 0 if the address is not in the table. */
static __always_inline int kmt_object_remove(void *base, __u64 addr, __u64 *ret_what,
					     __u64 *ret_born)
{
	struct kmt_hashed_object *o = bpf_map_lookup_elem(&kmt_objects, &addr);

	if (!o)
		return 0;
	/* the address is ours until its free is over: nobody else removes or reuses the entry */
	*ret_what = o->what;
	*ret_born = kmt_object_born(o->what, o->birth);
	return !bpf_map_delete_elem(&kmt_objects, &addr);
}

/*
 * Nobody may use the object any more, but its memory is not free yet: 1 and
 * what was known about it, with KMT_WHAT_RCU if it was given up before.
 */
static __noinline __attribute__((unused)) int
kmt_object_give_up(__u64 addr, __u64 now, __u64 *ret_what, __u64 *ret_born)
{
	struct kmt_hashed_object *was = bpf_map_lookup_elem(&kmt_objects, &addr);
	struct kmt_hashed_object o = { .birth = (__u32)now };

	if (!was || !ret_what || !ret_born)
		return 0;
	*ret_what = was->what;
	*ret_born = kmt_object_born(was->what, was->birth);
	if (was->what & KMT_WHAT_RCU)
		return 1;
	o.what = kmt_what_given_up(was->what, now);
	/* as a whole, as in kmt_object_again() */
	bpf_map_update_elem(&kmt_objects, &addr, &o, BPF_ANY);
	return 1;
}

#endif
