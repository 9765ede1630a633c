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
#include <pthread.h>
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

/* A hash map: slow, locked, and full when it says so. With KMT_HASHED only. */
struct shim_hash {
	const void *map;
	size_t key_size, value_size;
	uint32_t entries, n, slots;
	uint8_t *used;		/* by slot: 0 never, 1 yes, 2 no more */
	uint8_t *keys, *values;
};

struct shim {
	struct {
		int tgid, pid;
		void *group_leader;
		uint64_t start_time;
	} task;
	struct shim_map maps[SHIM_MAPS];
	struct shim_hash hashes[2];
	pthread_mutex_t lock;
	uint64_t now_ns, jiffies;
	char comm[KMT_COMM_LEN];
	uint64_t pid_tgid;
	uint64_t cgroup;
};

static struct shim shim = { .lock = PTHREAD_MUTEX_INITIALIZER };
static __thread uint32_t shim_cpu;

static struct shim_hash *shim_hash_of(const void *map)
{
	for (size_t i = 0; i < 2; i++)
		if (shim.hashes[i].map && shim.hashes[i].map == map)
			return &shim.hashes[i];
	return NULL;
}

/* The key's slot, UINT32_MAX: none; *ret_free is where it could go. */
static uint32_t shim_hash_find(struct shim_hash *h, const void *key, uint32_t *ret_free)
{
	uint64_t k = 0;
	uint32_t at, spare = UINT32_MAX;

	memcpy(&k, key, h->key_size);
	at = (k * 0x9e3779b97f4a7c15ull) >> 33;
	for (uint32_t n = 0; n < h->slots; n++, at++) {
		uint32_t i = at % h->slots;

		if (h->used[i] == 1 && !memcmp(h->keys + i * h->key_size, key, h->key_size))
			return i;
		if (h->used[i] != 1 && spare == UINT32_MAX)
			spare = i;
		if (!h->used[i])
			break;
	}
	if (ret_free)
		*ret_free = spare;
	return UINT32_MAX;
}

static inline long bpf_map_update_elem(const void *map, const void *key, const void *value,
				       uint64_t flags)
{
	struct shim_hash *h = shim_hash_of(map);
	uint32_t i, spare = UINT32_MAX;
	long err = 0;

	pthread_mutex_lock(&shim.lock);
	i = shim_hash_find(h, key, &spare);
	if (i != UINT32_MAX && flags == BPF_NOEXIST) {
		err = -17;	/* EEXIST */
	} else if (i == UINT32_MAX && h->n == h->entries) {
		err = -7;	/* E2BIG */
	} else {
		h->n += i == UINT32_MAX;
		i = i == UINT32_MAX ? spare : i;
		memcpy(h->keys + i * h->key_size, key, h->key_size);
		memcpy(h->values + i * h->value_size, value, h->value_size);
		h->used[i] = 1;
	}
	pthread_mutex_unlock(&shim.lock);
	return err;
}

static inline long bpf_map_delete_elem(const void *map, const void *key)
{
	struct shim_hash *h = shim_hash_of(map);
	uint32_t i;

	pthread_mutex_lock(&shim.lock);
	i = shim_hash_find(h, key, NULL);
	if (i != UINT32_MAX) {
		h->used[i] = 2;
		h->n--;
	}
	pthread_mutex_unlock(&shim.lock);
	return i == UINT32_MAX ? -2 : 0;
}

static inline void *bpf_map_lookup_elem(const void *map, const void *key)
{
	struct shim_hash *h = shim_hash_of(map);
	uint32_t i = *(const uint32_t *)key;

	if (h) {
		pthread_mutex_lock(&shim.lock);
		i = shim_hash_find(h, key, NULL);
		pthread_mutex_unlock(&shim.lock);
		return i == UINT32_MAX ? NULL : h->values + i * h->value_size;
	}
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

/* laid out as the programs' struct task_struct; one thread is its own leader */
static inline uint64_t bpf_get_current_task(void)
{
	shim.task.group_leader = &shim.task;
	return (uintptr_t)&shim.task;
}

static inline uint64_t bpf_get_current_cgroup_id(void)
{
	return shim.cgroup;
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

static inline long bpf_probe_read_kernel(void *to, uint32_t size, const void *from)
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

/* does struct module have core_layout and init_layout (Linux 6.3 and before)? */
static bool shim_module_layouts;

/* No struct slab either: as until 5.16. */
static inline bool shim_has(const char *field)
{
	return !strstr(field, "slab_cache") &&
	       (!strstr(field, "core_layout") || shim_module_layouts);
}

#define kmt_offset(type, field)			offsetof(type, field)
#define bpf_core_field_exists(field)		((void)sizeof(field), shim_has(#field))
#define bpf_core_enum_value_exists(type, v)	(!shim_module_layouts)
#define bpf_core_enum_value(type, v)		(v)
#define bpf_core_type_size(type)		sizeof(type)

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

#include "bpf/compat.bpf.h"

/* knobs are constants to the programs only */
#define const
#include "bpf/maps.bpf.h"
#include "bpf/core.bpf.c"
#undef const

#define bpf_loop(n, step, ctx, flags)						\
	do {									\
		for (uint32_t turn = 0; turn < (uint32_t)(n); turn++)		\
			step(turn, ctx);					\
	} while (0)

#include "bpf/bulk.bpf.h"

#pragma GCC diagnostic pop

/* What the kernel answers when it is asked for an object's cache: of each one, or of all. */
static struct kmem_cache *(*shim_cache_of)(uint64_t addr);
static struct kmem_cache *shim_cache;

struct kmem_cache *bpf_get_kmem_cache(__u64 addr)
{
	return shim_cache_of ? shim_cache_of(addr) : shim_cache;
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

/* A hash map of so many entries, in twice as many slots. */
static int shim_hash_map(struct shim_hash *h, const void *map, size_t key_size,
			 size_t value_size, uint32_t entries)
{
	*h = (struct shim_hash) {
		.map = map, .key_size = key_size, .value_size = value_size,
		.entries = entries, .slots = entries * 2 + 1,
	};
	h->used = calloc(h->slots, 1);
	h->keys = calloc(h->slots, key_size);
	h->values = calloc(h->slots, value_size);
	return h->used && h->keys && h->values ? 0 : -12;
}

static int shim_hash_maps(const struct kmt_bpf_plan *p)
{
	int err = shim_hash_map(&shim.hashes[0], &kmt_claims, sizeof(uint32_t), sizeof(uint64_t),
				p->cpus * 4);

	return err ? err : shim_hash_map(&shim.hashes[1], &kmt_objects, sizeof(uint64_t),
					 sizeof(struct kmt_hashed_object), p->hashed_objects);
}

#ifdef KMT_HASHED
#define SHIM_HASHED true
/* In place of the batches of bpf_load.c, which ask the kernel. */
int kmt_bpf_each_hashed(const struct kmt_bpf *b,
			int (*cb)(void *ctx, uint64_t key, const struct kmt_hashed_object *o),
			void *ctx)
{
	struct shim_hash *h = &shim.hashes[1];
	int err = 0;

	for (uint32_t i = 0; i < h->slots && !err; i++)
		if (h->used[i] == 1)
			err = cb(ctx, ((uint64_t *)h->keys)[i],
				 &((struct kmt_hashed_object *)h->values)[i]);
	return err;
}
#else
#define SHIM_HASHED false
#endif

/*
 * The tables of a plan and the knobs that tell the programs their places;
 * *ret_b is what user space reads them through.
 */
static int shim_tables(const struct kmt_bpf_plan *p, struct kmt_bpf *ret_b)
{
	uint8_t *t = shim_map(&kmt_tables, p->table_bytes, 1);

	if (!t || (p->hashed && shim_hash_maps(p)))
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
	for (size_t i = 0; i < 2; i++) {
		free(shim.hashes[i].used);
		free(shim.hashes[i].keys);
		free(shim.hashes[i].values);
	}
	shim = (struct shim) { .lock = PTHREAD_MUTEX_INITIALIZER };
}

#endif
