// SPDX-License-Identifier: GPL-2.0-only
/* The maps and knobs that all tracers share. */
#include "bpf/compat.bpf.h"
#include "bpf/maps.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct kmt_map_tables kmt_tables SEC(".maps");
struct kmt_map_scratch kmt_scratch SEC(".maps");
struct kmt_map_frames kmt_frames SEC(".maps");
struct kmt_map_filters kmt_filters SEC(".maps");
struct kmt_map_tgids kmt_tgids SEC(".maps");
struct kmt_map_claims kmt_claims SEC(".maps");
struct kmt_map_objects kmt_objects SEC(".maps");
struct kmt_map_cgroup kmt_cgroup SEC(".maps");
struct kmt_map_rings kmt_rings SEC(".maps");

const volatile __u32 kmt_cpus = 1, kmt_cpu_stride = 0, kmt_shard_stride = 0;
const volatile __u32 kmt_at_sites = 0, kmt_at_lifetimes = 0, kmt_at_caches = 0, kmt_at_stacks = 0;
const volatile __u32 kmt_at_objects = 0;
const volatile __u32 kmt_sites_mask = 0;
const volatile __u32 kmt_caches_mask = 0;
const volatile __u32 kmt_stacks_mask = 0;
const volatile __u32 kmt_buckets = KMT_GROUP;
const volatile __u32 kmt_shard_mask = 0;
const volatile __u32 kmt_page_shift = 12;
const volatile __u32 kmt_page_struct = 64;

const volatile __u32 kmt_flags = 0;
const volatile __u64 kmt_temporary = 0;

/* Written by user space around its sleeps; asking who is running costs 5 to 10 ns per event. */
__u32 kmt_awake = 0, kmt_own_tgid = 0;
__u64 kmt_own_start = 0;
__u64 kmt_linear = 0, kmt_vmemmap = 0;
__u64 kmt_at_linear = 0, kmt_at_vmemmap = 0;

/* The module that is followed: see module.bpf.c. */
struct kmt_wire_module kmt_module = { 0 };

const volatile __u64 kmt_size_min = 0, kmt_size_max = 0;

const volatile __u64 kmt_gfp_account = 0, kmt_gfp_reclaimable = 0, kmt_gfp_dma = 0;

/*
 * In this object alone: libbpf's linker joins no two objects that name one kfunc
 * (bpf_linker__add_file(): "failed to resolve size of underlying type"). A pointer
 * of the kernel's is read as memory: the verifier lets us calculate with numbers
 * only.
 */
__noinline __u64 kmt_ask_cache(__u64 addr)
{
	struct kmem_cache *s = bpf_get_kmem_cache(addr);
	__u64 cache = 0;

	if (s)
		bpf_probe_read_kernel(&cache, sizeof(cache), &s);
	return cache;
}
