/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compiles the headers of src/bpf for user space: the maps are plain arrays,
 * the helpers plain functions, the knobs can be written. So the very code that
 * runs in the kernel is tested against slow models, with any compiler option.
 * Included once per test program.
 */
#ifndef KMT_TESTS_UNIT_BPF_SHIM_H
#define KMT_TESTS_UNIT_BPF_SHIM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kmt/wire.h"
#include "source/bpf_priv.h"

/* in place of libbpf's headers, which are for the BPF target only */
#define __BPF_HELPERS__
#define __BPF_CORE_READ_H__
#define SEC(name)
#define __uint(name, val)	int (*name)[val]
#define __type(name, val)	__typeof__(val) *name
#define __array(name, val)	__typeof__(val) *name[]
#define __noinline		__attribute__((noinline))
#define __ksym
#define __weak			__attribute__((weak))
#define preserve_access_index
#define barrier()		asm volatile("" ::: "memory")
#if defined(__x86_64__) || defined(__i386__)
#define __TARGET_ARCH_x86
#endif

/* ---- the machine as the programs see it ---- */

struct shim_map {
	const void *map;
	void *values;
	size_t value_size;
	uint32_t entries;
};

#define SHIM_MAPS 16

struct shim {
	struct shim_map maps[SHIM_MAPS];
	uint64_t now_ns, jiffies;
	char comm[KMT_COMM_LEN];
	uint64_t pid_tgid;
};

static struct shim shim;
static __thread uint32_t shim_cpu;

static inline void *bpf_map_lookup_elem(const void *map, const void *key)
{
	uint32_t i = *(const uint32_t *)key;

	for (struct shim_map *m = shim.maps; m->map; m++)
		if (m->map == map)
			return i < m->entries ? (uint8_t *)m->values + i * m->value_size : NULL;
	return NULL;
}

static inline uint64_t bpf_ktime_get_ns(void)
{
	return shim.now_ns;
}

static inline uint64_t bpf_jiffies64(void)
{
	return shim.jiffies;
}

static inline uint32_t bpf_get_smp_processor_id(void)
{
	return shim_cpu;
}

static inline uint64_t bpf_get_current_pid_tgid(void)
{
	return shim.pid_tgid;
}

static inline long bpf_get_current_comm(void *buf, uint32_t size)
{
	memcpy(buf, shim.comm, size < sizeof(shim.comm) ? size : sizeof(shim.comm));
	return 0;
}

static inline long bpf_current_task_under_cgroup(void *map, uint32_t index)
{
	return 0;
}

static inline long bpf_get_stack(void *ctx, void *buf, uint32_t size, uint64_t flags)
{
	return -14;
}

static inline long bpf_core_read(void *to, uint32_t size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

static inline long bpf_probe_read_kernel_str(void *to, uint32_t size, const void *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	((char *)to)[len] = '\0';
	return len + 1;
}

static inline void *bpf_ringbuf_reserve(void *ring, uint64_t size, uint64_t flags)
{
	return NULL;
}

static inline void bpf_ringbuf_submit(void *rec, uint64_t flags)
{
}

static inline uint64_t bpf_ringbuf_query(void *ring, uint64_t flags)
{
	return 0;
}

/* Kernel style is not the style of the other files; what a test does not call is no fault. */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wpointer-arith"

/* knobs are constants to the programs only */
#define const
#include "bpf/maps.bpf.h"
#include "bpf/core.bpf.c"
#undef const

#include "bpf/account.bpf.h"

#pragma GCC diagnostic pop

/* No kernel is asked for a kmalloc's cache. */
struct kmem_cache *bpf_get_kmem_cache(__u64 addr)
{
	return NULL;
}

/* Make a map of zeroes; *ret_values belongs to shim_done(). */
static void *shim_map(const void *map, size_t value_size, uint32_t entries)
{
	/* the last row stays empty: it ends the list */
	for (size_t i = 0; i < SHIM_MAPS - 1; i++) {
		struct shim_map *m = &shim.maps[i];
		size_t len = (value_size * entries + 63) / 64 * 64;

		if (m->map)
			continue;
		m->values = aligned_alloc(64, len);
		if (!m->values)
			return NULL;
		memset(m->values, 0, len);
		m->value_size = value_size;
		m->entries = entries;
		m->map = map;
		return m->values;
	}
	return NULL;
}

/*
 * The tables of a plan and the knobs that tell the programs their places;
 * *ret_b is what user space reads them through.
 */
static int shim_tables(const struct kmt_bpf_plan *p, struct kmt_bpf *ret_b)
{
	uint8_t *t = shim_map(&kmt_tables, p->table_bytes, 1);

	if (!t)
		return -12;
	kmt_cpus = p->cpus;
	kmt_cpu_stride = p->cpu_stride;
	kmt_shard_stride = p->shard_stride;
	kmt_at_sites = p->at_sites;
	kmt_at_lifetimes = p->at_lifetimes;
	kmt_at_caches = p->at_caches;
	kmt_at_stacks = p->at_stacks;
	kmt_at_objects = p->at_objects;
	kmt_sites_mask = p->sites - 1;
	kmt_caches_mask = p->caches - 1;
	kmt_stacks_mask = p->stacks - 1;
	kmt_buckets = p->buckets;
	kmt_shard_mask = p->shards - 1;
	*ret_b = (struct kmt_bpf) {
		.plan = *p,
		.tables = t,
		.sites = (const void *)(t + p->at_sites),
		.lifetimes = t + p->at_lifetimes,
		.caches = (const void *)(t + p->at_caches),
		.stacks = (const void *)(t + p->at_stacks),
		.objects = (const void *)(t + p->at_objects),
	};
	return 0;
}

static void shim_done(void)
{
	for (struct shim_map *m = shim.maps; m->map; m++)
		free(m->values);
	memset(&shim, 0, sizeof(shim));
}

#endif
