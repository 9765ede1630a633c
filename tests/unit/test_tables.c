// SPDX-License-Identifier: GPL-2.0-only
/* Reading the in-kernel tables: arrays written by hand, sums done by hand. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/snapshot.h"
#include "source/bpf_priv.h"

enum { CPUS = 3, SITES = 8, CACHES = 16, STACKS = 4, BUCKETS = 4, SHARDS = 2 };

#define UNIT_NS (1ull << KMT_TIME_UNIT_SHIFT)

struct tables {
	/* first: where the element begins */
	struct {
		struct kmt_cpu head;
		struct kmt_site_cpu hot[SITES];
	} cpus[CPUS];
	struct kmt_site_row sites[SITES];
	struct kmt_lifetimes lifetimes[SHARDS][SITES];
	struct kmt_wire_cache caches[CACHES];
	struct kmt_stack stacks[STACKS];
	struct kmt_bucket objects[BUCKETS];
	struct kmt_bpf b;
};

static int setup(void **state)
{
	struct tables *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);

	assert_non_null(t);
	memset(t, 0, sizeof(*t));
	t->b.plan = (struct kmt_bpf_plan) {
		.cpus = CPUS, .sites = SITES, .caches = CACHES, .stacks = STACKS,
		.buckets = BUCKETS, .shards = SHARDS, .count = true, .track = true,
		.cpu_stride = sizeof(t->cpus[0]), .shard_stride = sizeof(t->lifetimes[0]),
	};
	t->b.sites = t->sites;
	t->b.tables = (const uint8_t *)t;
	t->b.lifetimes = (const uint8_t *)t->lifetimes;
	t->b.caches = t->caches;
	t->b.stacks = t->stacks;
	t->b.objects = t->objects;
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct tables *t = *state;

	kmt_kmalloc_names_free(t->b.kmalloc_names);
	free(t);
	return 0;
}

static struct kmt_wire_site *add_site(struct tables *t, uint32_t i, uint8_t type)
{
	struct kmt_wire_site *id = &t->sites[i].id;

	id->key = i + 1;
	id->type = type;
	id->state = KMT_SITE_READY;
	id->call_site = id->who = 0xffffffff81000000 + i;
	return id;
}

/* ---- one snapshot, copied out ---- */

struct seen {
	struct kmt_snap_site sites[SITES];
	struct kmt_snap_free_site frees[SITES];
	struct kmt_snap_cpu cpus[(CPUS + 1) * KMT_CPU_TYPES];
	struct kmt_snapshot snap;
	struct kmt_snap_object objects[BUCKETS * KMT_BUCKET_WAYS];
	size_t n_objects, stop_at;
	int ret;
};

static int on_object(void *ctx, const struct kmt_snap_object *o)
{
	struct seen *s = ctx;

	s->objects[s->n_objects++] = *o;
	return s->n_objects == s->stop_at ? -ECANCELED : 0;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct seen *s = ctx;

	s->snap = *snap;
	assert_true(snap->n_sites <= SITES && snap->n_free_sites <= SITES);
	memcpy(s->sites, snap->sites, snap->n_sites * sizeof(s->sites[0]));
	assert_int_equal(snap->n_cpus, (CPUS + 1) * KMT_CPU_TYPES);
	memcpy(s->cpus, snap->cpus, sizeof(s->cpus));
	memcpy(s->frees, snap->free_sites, snap->n_free_sites * sizeof(s->frees[0]));
	if (snap->each_object)
		s->ret = snap->each_object(snap->objects_ctx, on_object, s);
	return s->ret;
}

static void look(struct tables *t, struct seen *s)
{
	struct kmt_sink sink = { .snapshot = on_snapshot, .ctx = s };

	memset(s, 0, sizeof(*s));
	assert_int_equal(kmt_bpf_snapshot(&t->b, &sink), 0);
}

/* ---- counters ---- */

static void test_count(void **state)
{
	struct tables *t = *state;

	t->cpus[0].head.count[KMT_PROG_KFREE][KMT_CNT_FREES] = 1;
	t->cpus[0].head.count[KMT_PROG_CACHE_FREE][KMT_CNT_FREES] = 20;
	t->cpus[2].head.count[KMT_PROG_CACHE_FREE][KMT_CNT_FREES] = 300;
	t->cpus[2].head.count[KMT_PROG_CACHE_FREE][KMT_CNT_OWN] = 4000;
	assert_int_equal(kmt_bpf_count(&t->b, KMT_CNT_FREES), 321);
	assert_int_equal(kmt_bpf_count(&t->b, KMT_CNT_OWN), 4000);
	assert_int_equal(kmt_bpf_count(&t->b, KMT_CNT_LOST_RING), 0);
}

static void test_empty(void **state)
{
	struct tables *t = *state;
	struct kmt_sink nothing = { 0 };
	struct seen s;

	look(t, &s);
	assert_int_equal(s.snap.n_sites, 0);
	assert_int_equal(s.snap.n_free_sites, 0);
	assert_int_equal(s.n_objects, 0);
	assert_int_equal(kmt_bpf_snapshot(&t->b, &nothing), 0);
}

/* Rows that are being described, or that a filter rejects, are not shown. */
static void test_states(void **state)
{
	struct tables *t = *state;
	struct seen s;

	add_site(t, 0, KMT_WIRE_KMALLOC)->state = KMT_SITE_NEW;
	add_site(t, 1, KMT_WIRE_KMALLOC)->state = KMT_SITE_EXCLUDED;
	add_site(t, 5, KMT_WIRE_KMALLOC);
	look(t, &s);
	assert_int_equal(s.snap.n_sites, 1);
	assert_int_equal(s.sites[0].index, 5);
	assert_int_equal(s.sites[0].key.call_site, 0xffffffff81000005);
}

static void set_hot(struct tables *t, uint32_t cpu, uint32_t site, uint64_t allocs, uint64_t slack,
		    uint64_t frees, uint64_t slack_freed)
{
	t->cpus[cpu].hot[site] = (struct kmt_site_cpu) {
		.allocs = allocs, .slack = slack, .frees = frees, .slack_freed = slack_freed,
		.cross_cpu_frees = 1 + cpu, .temporary = 10 + cpu,
	};
}

/*
 * kmalloc(1048) gives 2048: 1000 bytes of slack each. 5 + 2 + 0 allocations,
 * 1 + 0 + 3 frees here, 1 by kmem_cache_free(), 1 untraced, 1 not tracked.
 */
static void test_kmalloc_counts(void **state)
{
	struct tables *t = *state;
	struct kmt_wire_site *id = add_site(t, 3, KMT_WIRE_KMALLOC);
	const struct kmt_counts *c;
	struct seen s;

	id->bytes_alloc = 2048;
	id->gfp = 0x400cc0;
	set_hot(t, 0, 3, 5, 5000, 1, 1000);
	set_hot(t, 1, 3, 2, 2000, 0, 0);
	set_hot(t, 2, 3, 0, 0, 3, 3000);
	set_hot(t, 2, 2, 99, 99, 99, 99);	/* another row */
	t->sites[3].cold = (struct kmt_site_cold) {
		.failures = 6, .lost_objects = 1, .slack_lost = 1000,
		.untraced_frees = 1, .slack_untraced = 1000, .frees_other = 1,
		.slack_other = 1000, .cross_cpu_other = 100, .temporary_other = 1000,
	};
	look(t, &s);
	assert_int_equal(s.snap.n_sites, 1);
	c = &s.sites[0].counts;
	assert_int_equal(c->allocs, 7);
	assert_int_equal(c->bytes_alloc, 7 * 2048);
	assert_int_equal(c->bytes_req, 7 * 1048);
	assert_int_equal(c->frees, 5);
	assert_int_equal(c->untraced_frees, 1);
	assert_int_equal(c->bytes_alloc_freed, 6 * 2048);
	assert_int_equal(c->bytes_req_freed, 6 * 1048);
	assert_int_equal(c->untracked, 1);
	assert_int_equal(c->bytes_alloc_untracked, 2048);
	assert_int_equal(c->bytes_req_untracked, 1048);
	assert_int_equal(c->failures, 6);
	assert_int_equal(c->cross_cpu_frees, 1 + 2 + 3 + 100);
	assert_int_equal(c->temporary, 10 + 11 + 12 + 1000);
	assert_int_equal(s.sites[0].gfp, 0x400cc0);
	assert_int_equal(s.sites[0].key.size, 2048);
	assert_int_equal(s.sites[0].key.object_size, 0);
	/* all are closed but the one nobody tracks */
	assert_int_equal(kmt_counts_live(c), 0);
	assert_int_equal(kmt_counts_live_req(c), 0);
}

static const struct kmt_cpu_counts *on_cpu(const struct seen *s, uint32_t cpu, uint8_t type)
{
	for (size_t i = 0; i < sizeof(s->cpus) / sizeof(s->cpus[0]); i++)
		if (s->cpus[i].cpu == cpu && s->cpus[i].type == type)
			return &s->cpus[i].counts;
	fail_msg("no CPU %u", cpu);
	return NULL;
}

/* Two rows of kmalloc (2048 for 1048, 64 for 50) and one of a cache, CPU by CPU. */
static void test_cpu_counts(void **state)
{
	static const struct kmt_cpu_counts none;
	struct tables *t = *state;
	struct kmt_wire_site *id = add_site(t, 3, KMT_WIRE_KMALLOC);
	const struct kmt_cpu_counts *c;
	struct seen s;

	id->bytes_alloc = 2048;
	id = add_site(t, 1, KMT_WIRE_KMALLOC);
	id->bytes_alloc = 64;
	id = add_site(t, 0, KMT_WIRE_CACHE);
	id->bytes_req = 200;
	id->bytes_alloc = 232;
	set_hot(t, 0, 3, 5, 5000, 1, 1000);
	set_hot(t, 0, 1, 2, 28, 0, 0);
	set_hot(t, 2, 3, 0, 0, 3, 3000);
	set_hot(t, 0, 0, 10, 0, 2, 0);
	t->sites[3].cold = (struct kmt_site_cold){ .frees_other = 2, .cross_cpu_other = 1 };
	look(t, &s);
	c = on_cpu(&s, 0, KMT_TYPE_KMALLOC);
	assert_int_equal(c->allocs, 7);
	assert_int_equal(c->bytes_alloc, 5 * 2048 + 2 * 64);
	assert_int_equal(c->bytes_req, 5 * 1048 + 2 * 50);
	assert_int_equal(c->frees, 1);
	assert_int_equal(c->bytes_freed, 2048);
	assert_int_equal(c->cross_cpu_frees, 2);	/* 1 + cpu, of each of two rows */
	assert_int_equal(c->temporary, 20);
	c = on_cpu(&s, 2, KMT_TYPE_KMALLOC);
	assert_int_equal(c->frees, 3);
	assert_int_equal(c->allocs, 0);
	c = on_cpu(&s, 0, KMT_TYPE_CACHE);
	assert_int_equal(c->allocs, 10);
	assert_int_equal(c->bytes_req, 2000);
	assert_int_equal(c->bytes_freed, 464);
	c = on_cpu(&s, KMT_CPU_NONE, KMT_TYPE_KMALLOC);
	assert_int_equal(c->frees, 2);
	assert_int_equal(c->bytes_freed, 4096);
	assert_int_equal(c->cross_cpu_frees, 1);
	assert_memory_equal(on_cpu(&s, 1, KMT_TYPE_CACHE), &none, sizeof(none));
}

/* The objects of a cache are all alike: bytes follow from the numbers. */
static void test_cache_counts(void **state)
{
	struct tables *t = *state;
	struct kmt_wire_site *id = add_site(t, 0, KMT_WIRE_CACHE);
	const struct kmt_counts *c;
	struct seen s;

	id->bytes_req = 200;
	id->bytes_alloc = 232;
	set_hot(t, 0, 0, 10, 0, 2, 0);
	set_hot(t, 1, 0, 0, 0, 1, 0);
	t->sites[0].cold.frees_other = 3;	/* kfree() of a cache's object */
	t->sites[0].cold.untraced_frees = 1;
	t->sites[0].cold.lost_objects = 2;
	look(t, &s);
	c = &s.sites[0].counts;
	assert_int_equal(c->bytes_req, 2000);
	assert_int_equal(c->bytes_alloc, 2320);
	assert_int_equal(c->bytes_req_freed, 7 * 200);
	assert_int_equal(c->bytes_alloc_freed, 7 * 232);
	assert_int_equal(c->bytes_req_untracked, 400);
	assert_int_equal(c->bytes_alloc_untracked, 464);
	assert_int_equal(kmt_counts_live(c), 1);
	assert_int_equal(s.sites[0].key.object_size, 200);
}

static void test_free_sites(void **state)
{
	struct tables *t = *state;
	struct seen s;

	add_site(t, 1, KMT_WIRE_FREE_SITE)->free_type = KMT_WIRE_CACHE;
	add_site(t, 2, KMT_WIRE_KMALLOC);
	add_site(t, 7, KMT_WIRE_FREE_SITE)->free_type = KMT_WIRE_KMALLOC;
	set_hot(t, 0, 1, 0, 0, 3, 0);
	set_hot(t, 2, 1, 0, 0, 4, 0);
	look(t, &s);
	assert_int_equal(s.snap.n_sites, 1);
	assert_int_equal(s.snap.n_free_sites, 2);
	assert_int_equal(s.frees[0].call_site, 0xffffffff81000001);
	assert_int_equal(s.frees[0].type, KMT_TYPE_CACHE);
	assert_int_equal(s.frees[0].frees, 7);
	assert_int_equal(s.frees[1].type, KMT_TYPE_KMALLOC);
	assert_int_equal(s.frees[1].frees, 0);
}

/* ---- keys ---- */

static void test_stack_key(void **state)
{
	struct tables *t = *state;
	struct seen s;

	t->b.opts.key = KMT_BY_STACK;
	t->stacks[2].depth = 3;
	t->stacks[2].ip[2] = 0x333;
	t->stacks[3].depth = KMT_STACK_DEPTH + 1;	/* not to be believed */
	add_site(t, 0, KMT_WIRE_KMALLOC)->who = 3;
	add_site(t, 1, KMT_WIRE_KMALLOC)->who = 4;
	add_site(t, 2, KMT_WIRE_KMALLOC);		/* its stack could not be had */
	look(t, &s);
	assert_int_equal(s.sites[0].key.n_ips, 3);
	assert_int_equal(s.sites[0].key.ips[2], 0x333);
	assert_int_equal(s.sites[1].key.n_ips, 0);
	assert_int_equal(s.sites[2].key.n_ips, 0);
	assert_int_equal(s.sites[2].key.call_site, 0xffffffff81000002);
}

static void test_task_key(void **state)
{
	struct tables *t = *state;
	struct kmt_wire_site *id = add_site(t, 0, KMT_WIRE_CACHE);
	struct seen s;

	t->b.opts.key = KMT_BY_TASK;
	id->who = 4711;
	memcpy(id->comm, "fifteen letters", 16);
	look(t, &s);
	assert_true(s.sites[0].key.by_task);
	assert_int_equal(s.sites[0].key.tgid, 4711);
	assert_string_equal(s.sites[0].key.comm, "fifteen letters");
	assert_int_equal(s.sites[0].key.call_site, 0);
}

/* Without a mounted cgroup v2 it has a number only. */
static void test_cgroup_key(void **state)
{
	struct tables *t = *state;
	struct seen s;

	t->b.opts.key = KMT_BY_CGROUP;
	add_site(t, 0, KMT_WIRE_CACHE)->who = 0x100000004711;
	look(t, &s);
	assert_true(s.sites[0].key.by_cgroup);
	assert_false(s.sites[0].key.by_task);
	assert_true(s.sites[0].key.cgroup == 0x100000004711);
	assert_null(s.sites[0].key.cgroup_path);
	assert_int_equal(s.sites[0].key.call_site, 0);
}

/* The cache is the row's, else told by size and family, else unknown. */
static void test_cache_names(void **state)
{
	struct tables *t = *state;
	struct kmt_wire_site *id;
	struct seen s;

	assert_int_equal(kmt_kmalloc_names_new(NULL, &t->b.kmalloc_names), 0);
	memcpy(t->caches[5].name, "dentry", 7);
	t->caches[5].state = KMT_SITE_READY;
	memcpy(t->caches[6].name, "half-wri", 8);
	add_site(t, 0, KMT_WIRE_CACHE)->cache_row = 6;
	add_site(t, 1, KMT_WIRE_CACHE)->cache_row = 7;
	add_site(t, 2, KMT_WIRE_CACHE);
	id = add_site(t, 3, KMT_WIRE_KMALLOC);
	id->bytes_alloc = 96;
	id->gfp_class = KMT_GFP_CGROUP;
	look(t, &s);
	assert_string_equal(s.sites[0].key.cache, "dentry");
	assert_false(s.sites[0].key.cache_inferred);
	assert_null(s.sites[1].key.cache);
	assert_null(s.sites[2].key.cache);
	assert_string_equal(s.sites[3].key.cache, "kmalloc-96");
	assert_true(s.sites[3].key.cache_inferred);
}

/* A number that no cache has: a call site of which no cache is known. */
static void test_cache_number(void **state)
{
	static const uint32_t rows[] = { CACHES + 1, UINT16_MAX, 1u << 28 };
	struct tables *t = *state;
	struct seen s;

	/* what lies behind the caches is one with a name, if it is read as one */
	memset(t->stacks, KMT_SITE_READY, sizeof(t->stacks));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		add_site(t, 0, KMT_WIRE_CACHE)->cache_row = rows[i];
		look(t, &s);
		assert_int_equal(s.snap.n_sites, 1);
		assert_null(s.sites[0].key.cache);
	}
}

/* The kernel's unit is 8.192 us, ours 1.024 us: bucket k there is k + 3 here. */
static void test_lifetimes(void **state)
{
	struct tables *t = *state;
	const unsigned shift = KMT_TIME_UNIT_SHIFT - 10;
	struct seen s;

	add_site(t, 4, KMT_WIRE_KMALLOC);
	t->lifetimes[0][4].n[0] = 1;
	t->lifetimes[1][4].n[0] = 2;
	t->lifetimes[1][4].n[5] = 7;
	t->lifetimes[0][4].n[31] = 10;
	t->lifetimes[1][4].n[31 - shift] = 20;
	t->lifetimes[1][3].n[5] = 1000;		/* another row */
	look(t, &s);
	for (unsigned i = 0; i < KMT_LIFETIMES; i++) {
		uint64_t want = i == shift ? 3 : i == 5 + shift ? 7 : i == 31 ? 30 : 0;

		assert_int_equal(s.sites[0].lifetimes[i], want);
	}
	t->b.plan.track = false;
	look(t, &s);
	assert_int_equal(s.sites[0].lifetimes[shift], 0);
}

/* ---- the cache table ---- */

static uint32_t first_row(uint64_t ptr)
{
	return ((ptr * 0x9e3779b97f4a7c15) | 1) >> 40 & (CACHES - 1);
}

static void test_cache_lookup(void **state)
{
	struct tables *t = *state;
	uint64_t ptr = 0xffff888000100200;
	uint32_t at = first_row(ptr);

	assert_null(kmt_bpf_cache(&t->b, ptr));
	/* wherever it had to be put, up to the whole table away */
	for (uint32_t i = 0; i < CACHES; i++) {
		struct kmt_wire_cache *c = &t->caches[(at + i) % CACHES];

		c->ptr = ptr;
		c->state = KMT_SITE_READY;
		assert_ptr_equal(kmt_bpf_cache(&t->b, ptr), c);
		c->state = KMT_SITE_NEW;
		assert_null(kmt_bpf_cache(&t->b, ptr));
		c->ptr = 4711 + i;
	}
	assert_null(kmt_bpf_cache(&t->b, ptr));	/* full, and it is not there */
}

/* ---- objects ---- */

static uint64_t what_of(uint64_t slack, uint64_t site, uint64_t cpu, uint64_t born)
{
	return slack << KMT_WHAT_SLACK_SHIFT | site << KMT_WHAT_SITE_SHIFT |
	       cpu << KMT_WHAT_CPU_SHIFT | born >> 32;
}

static void set_object(struct tables *t, int bucket, int way, uint64_t addr, uint64_t what,
		       uint64_t born)
{
	t->objects[bucket].addr[way] = addr;
	t->objects[bucket].what[way] = what;
	t->objects[bucket].birth[way] = born;
}

static void test_objects(void **state)
{
	struct tables *t = *state;
	uint64_t born = 0x12345678abull;	/* 40 bits */
	struct seen s;

	add_site(t, 2, KMT_WIRE_KMALLOC)->bytes_alloc = 4096;
	add_site(t, 7, KMT_WIRE_CACHE)->bytes_req = 192;
	t->sites[7].id.bytes_alloc = 256;
	set_object(t, 0, 0, 0xffff888000001000, what_of(96, 2, 2, born), born);
	set_object(t, 3, KMT_BUCKET_WAYS - 1, 0xffff888000002008, what_of(0, 7, 1023, 5), 5);
	/* being written, of a site beyond the table, and free with old contents */
	set_object(t, 1, 0, 0xffff888000003000 | KMT_ADDR_BUSY, what_of(0, 2, 0, 9), 9);
	set_object(t, 1, 1, 0xffff888000004000, what_of(0, SITES, 0, 9), 9);
	set_object(t, 1, 2, 0, what_of(0, 2, 0, 9), 9);
	look(t, &s);
	assert_int_equal(s.n_objects, 2);
	assert_int_equal(s.objects[0].addr, 0xffff888000001000);
	assert_int_equal(s.objects[0].bytes_req, 4000);
	assert_int_equal(s.objects[0].site, 2);
	assert_int_equal(s.objects[0].cpu, 2);
	assert_int_equal(s.objects[0].birth_ns, born * UNIT_NS);
	assert_int_equal(s.objects[1].addr, 0xffff888000002008);
	assert_int_equal(s.objects[1].bytes_req, 192);
	assert_int_equal(s.objects[1].site, 7);
	assert_int_equal(s.objects[1].cpu, 1023);
	assert_int_equal(s.objects[1].birth_ns, 5 * UNIT_NS);
}

static void test_objects_stop(void **state)
{
	struct tables *t = *state;
	struct seen s = { .stop_at = 2 };
	struct kmt_sink sink = { .snapshot = on_snapshot, .ctx = &s };

	add_site(t, 2, KMT_WIRE_KMALLOC)->bytes_alloc = 64;
	for (int i = 0; i < BUCKETS; i++)
		set_object(t, i, 0, 4096 * (i + 1), what_of(0, 2, 0, 1), 1);
	assert_int_equal(kmt_bpf_snapshot(&t->b, &sink), -ECANCELED);
	assert_int_equal(s.n_objects, 2);
	t->b.plan.track = false;
	look(t, &s);
	assert_null(s.snap.each_object);
}

/* A writer that follows the kernel side's protocol; slack, CPU and birth all say 'gen'. */
struct churn {
	struct tables *t;
	bool stop;
};

static void *churn(void *arg)
{
	struct churn *c = arg;
	struct kmt_bucket *b = &c->t->objects[2];

	for (uint64_t gen = 1; !__atomic_load_n(&c->stop, __ATOMIC_RELAXED); gen++) {
		uint64_t g = gen % 1000, addr = 0xffff888000000000 + gen % 3 * 4096;

		__atomic_store_n(&b->addr[1], addr | KMT_ADDR_BUSY, __ATOMIC_SEQ_CST);
		__atomic_store_n(&b->what[1], what_of(g, 2, g, 0), __ATOMIC_RELEASE);
		__atomic_store_n(&b->birth[1], g, __ATOMIC_RELEASE);
		__atomic_store_n(&b->addr[1], addr, __ATOMIC_RELEASE);
		if (gen % 2)
			__atomic_store_n(&b->addr[1], 0, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void test_no_torn_object(void **state)
{
	struct tables *t = *state;
	struct churn c = { .t = t };
	pthread_t thread;
	size_t seen = 0;

	add_site(t, 2, KMT_WIRE_KMALLOC)->bytes_alloc = 4096;
	assert_int_equal(pthread_create(&thread, NULL, churn, &c), 0);
	while (seen < 50000) {
		struct seen s;

		look(t, &s);
		for (size_t k = 0; k < s.n_objects; k++) {
			uint64_t gen = 4096 - s.objects[k].bytes_req;

			assert_int_equal(s.objects[k].cpu, gen);
			assert_int_equal(s.objects[k].birth_ns, gen * UNIT_NS);
			seen++;
		}
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_count),
		TEST(test_empty),
		TEST(test_states),
		TEST(test_kmalloc_counts),
		TEST(test_cpu_counts),
		TEST(test_cgroup_key),
		TEST(test_cache_counts),
		TEST(test_free_sites),
		TEST(test_stack_key),
		TEST(test_task_key),
		TEST(test_cache_names), TEST(test_cache_number),
		TEST(test_lifetimes),
		TEST(test_cache_lookup),
		TEST(test_objects),
		TEST(test_objects_stop),
		TEST(test_no_torn_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
