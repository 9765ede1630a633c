/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Extern declarations of the maps and knobs that core.bpf.c defines. The sizes
 * here are placeholders: user space sets value_size and max_entries before the
 * load, and the matching masks below, which the verifier sees as constants.
 */
#ifndef KMT_BPF_MAPS_BPF_H
#define KMT_BPF_MAPS_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "kmt/wire.h"

#ifndef NULL
#define NULL ((void *)0)
#endif
#define likely(x)	__builtin_expect(!!(x), 1)
#ifndef barrier
#define barrier()	asm volatile("" ::: "memory")
#endif
#ifndef barrier_var
#define barrier_var(v)	asm volatile("" : "+r"(v))
#endif
#define unlikely(x)	__builtin_expect(!!(x), 0)

/*
 * All tables in one array element, so that an event looks it up once and then
 * only adds offsets; user space maps it. The offsets below are constants to the
 * verifier, 64-byte aligned:
 *
 *   0           kmt_cpu + kmt_site_cpu[sites]   for each CPU (kmt_cpu_stride)
 *   kmt_at_sites      kmt_site_row[sites]
 *   kmt_at_lifetimes  kmt_lifetimes[sites]      for each shard (kmt_shard_stride)
 *   kmt_at_caches     kmt_wire_cache[caches]
 *   kmt_at_stacks     kmt_stack[stacks]
 *   kmt_at_objects    kmt_bucket[buckets]
 */
struct kmt_map_tables {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4096);
};

/* scratch for a stack before it is looked up: one element per CPU and program */
struct kmt_stack_scratch {
	__u64 ip[KMT_STACK_DEPTH];
};
struct kmt_map_scratch {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kmt_stack_scratch);
};

struct kmt_map_frames {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kmt_frame_table);
};

struct kmt_map_filters {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kmt_filter_tables);
};

/* processes that are followed; children are added at fork */
struct kmt_map_tgids {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
};

/* KMT_HASHED only: see claim.bpf.h and objects_hash.bpf.h; preallocated, as all are */
struct kmt_map_claims {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
};

struct kmt_map_objects {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct kmt_hashed_object);
};

struct kmt_map_cgroup {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
};

struct kmt_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* one ring per CPU, filled in by user space */
struct kmt_map_rings {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct kmt_ring);
};

/* symbols of the module that is followed; made with --module only */
struct kmt_map_names {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KMT_MODULE_NAMES);
	__type(key, __u32);
	__type(value, struct kmt_module_names);
};

extern struct kmt_map_tables kmt_tables SEC(".maps");
extern struct kmt_map_scratch kmt_scratch SEC(".maps");
extern struct kmt_map_frames kmt_frames SEC(".maps");
extern struct kmt_map_filters kmt_filters SEC(".maps");
extern struct kmt_map_tgids kmt_tgids SEC(".maps");
extern struct kmt_map_claims kmt_claims SEC(".maps");
extern struct kmt_map_objects kmt_objects SEC(".maps");
extern struct kmt_map_cgroup kmt_cgroup SEC(".maps");
extern struct kmt_map_rings kmt_rings SEC(".maps");

/* table sizes and places */
extern const volatile __u32 kmt_cpus, kmt_cpu_stride, kmt_shard_stride;
extern const volatile __u32 kmt_at_sites, kmt_at_lifetimes, kmt_at_caches, kmt_at_stacks;
extern const volatile __u32 kmt_at_objects;
extern const volatile __u32 kmt_sites_mask;	/* rows - 1 (power of two) */
extern const volatile __u32 kmt_caches_mask;
extern const volatile __u32 kmt_stacks_mask;
extern const volatile __u32 kmt_buckets;	/* a multiple of KMT_GROUP */
extern const volatile __u32 kmt_shard_mask;	/* lifetime shards - 1 */
extern const volatile __u32 kmt_page_shift;
extern const volatile __u32 kmt_page_struct;	/* bytes of a struct page */

/*
 * What to do: KMT_F_*. One word, read once per event into a register: the
 * verifier knows its value and removes the code of everything that is off.
 */
extern const volatile __u32 kmt_flags;
/* is the tool running, so that its own events can occur; and who it is */
extern __u32 kmt_awake, kmt_own_tgid;
extern __u64 kmt_own_start;
extern struct kmt_wire_module kmt_module;
/*
 * Where the kernel keeps the beginnings of the direct mapping and of the pages, 0
 * unknown. For kmt_whoami only, and written before it runs: user space need not
 * know them before the programs are loaded.
 */
extern __u64 kmt_at_linear, kmt_at_vmemmap;
extern __u64 kmt_linear, kmt_vmemmap;	/* those beginnings, read once by kmt_whoami */
extern const volatile __u64 kmt_temporary;	/* in units of 8.192 us */
extern const volatile __u64 kmt_size_min, kmt_size_max;

/* gfp bits of this kernel, 0 = it has none */
extern const volatile __u64 kmt_gfp_account, kmt_gfp_reclaimable, kmt_gfp_dma;

static __always_inline void *kmt_base(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&kmt_tables, &zero);
}

/*
 * n * constant. Before Linux commit 4c2a26fc80bc (in v6.10) the verifier kept a
 * product's bounds only where the second factor is the constant, and the
 * compiler is free to swap them.
 */
static __always_inline __u64 kmt_times(__u64 n, __u64 constant)
{
#ifdef __bpf__
	asm volatile("%0 *= %1" : "+r"(n) : "r"(constant));
	return n;
#else	/* compiled for user space by the unit tests */
	return n * constant;
#endif
}

/*
 * What a CPU keeps; NULL without tables or with a CPU that came later. Compared
 * as 64 bits and in a register of its own: the verifier of 5.10 does not see
 * that a 32-bit copy is bounded as well.
 */
static __always_inline struct kmt_cpu *kmt_cpu_at(void *base, __u32 cpu)
{
	__u64 n = cpu;

	barrier_var(n);
	if (!base || n >= kmt_cpus)
		return NULL;
	return base + kmt_times(n, kmt_cpu_stride);
}

#endif
