/* SPDX-License-Identifier: GPL-2.0-only */
/* What a table of live objects says of one, whichever table it is. */
#ifndef KMT_BPF_OBJECT_BPF_H
#define KMT_BPF_OBJECT_BPF_H

#include "bpf/maps.bpf.h"

/* What an object goes by in this table; 'type' is a constant in every program. */
static __always_inline __u64 kmt_object_key(__u32 type, __u64 addr)
{
	if (type == KMT_WIRE_PAGE)
		return KMT_KEY_PAGE | addr >> kmt_page_shift << KMT_KEY_PAGE_SHIFT;
	if (type == KMT_WIRE_PERCPU)
		return KMT_KEY_PERCPU | (addr & ~KMT_KEY_MASK);
	return addr;
}

#define KMT_INSERTED	0
#define KMT_REPLACED	1	/* the address was live: the old object's free fired no event */
#define KMT_NO_ROOM	2

static __always_inline __u64 kmt_object_what(__u32 type, __u32 site, __u32 cpu, __u64 slack,
					     __u64 now)
{
	return slack << KMT_WHAT_SLACK_SHIFT | (__u64)site << KMT_WHAT_SITE_SHIFT |
	       (__u64)(type & 1) << KMT_WHAT_TYPE_SHIFT |
	       (cpu & KMT_WHAT_CPU_MASK) << KMT_WHAT_CPU_SHIFT |
	       (now >> 32 & KMT_WHAT_TIME_MASK);
}

static __always_inline __u64 kmt_object_born(__u64 what, __u64 birth)
{
	return (what & KMT_WHAT_TIME_MASK) << 32 | birth;
}

static __always_inline __u64 kmt_what_given_up(__u64 what, __u64 now)
{
	return (what & ~(__u64)KMT_WHAT_TIME_MASK) | KMT_WHAT_RCU | (now >> 32 & KMT_WHAT_TIME_MASK);
}

#endif
