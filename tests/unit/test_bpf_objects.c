// SPDX-License-Identifier: GPL-2.0-only
/* The kernel side's live-object table, compiled for user space, against a plain array. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/snapshot.h"
#include "unit/bpf_shim.h"

enum { SITES = 1024 };

/* What the test knows of one address. */
struct known {
	bool live;		/* in the table */
	uint64_t what;
	uint64_t born;
};

/* A pool of objects that lie side by side in few pages, as a slab cache's do. */
struct pool {
	uint64_t base;
	uint32_t n, size;
	struct known *known;
};

/* Only the objects: the element holds nothing else, but for the reader's sake the sites. */
static struct kmt_bucket *table_new(uint32_t buckets, struct kmt_bpf *ret_b)
{
	struct kmt_bpf_plan p = {
		.cpus = 1, .sites = SITES, .caches = 1, .stacks = 1, .shards = 1,
		.buckets = buckets, .count = true, .track = true,
		.cpu_stride = sizeof(struct kmt_cpu) + SITES * sizeof(struct kmt_site_cpu),
		.shard_stride = SITES * sizeof(struct kmt_lifetimes),
	};
	struct kmt_bpf b;

	p.at_sites = p.cpu_stride;
	p.at_lifetimes = p.at_sites + SITES * sizeof(struct kmt_site_row);
	p.at_caches = p.at_lifetimes + p.shard_stride;
	p.at_stacks = p.at_caches + 128;
	p.at_objects = p.at_stacks + 384;
	p.table_bytes = p.at_objects + buckets * sizeof(struct kmt_bucket);
	assert_int_equal(shim_tables(&p, &b), 0);
	if (ret_b)
		*ret_b = b;
	return (struct kmt_bucket *)b.objects;
}

static struct pool pool_new(uint32_t n, uint32_t size)
{
	struct pool p = { .base = 0xffff888012340000, .n = n, .size = size };

	p.known = calloc(n, sizeof(*p.known));
	assert_non_null(p.known);
	return p;
}

static uint64_t addr_of(const struct pool *p, uint32_t i)
{
	return p->base + (uint64_t)i * p->size;
}

static uint32_t rnd(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static bool bucket_full(const struct kmt_bucket *b)
{
	for (int w = 0; w < KMT_BUCKET_WAYS; w++)
		if (!b->addr[w])
			return false;
	return true;
}

static size_t table_count(const struct kmt_bucket *t, uint64_t *ret_spilled)
{
	size_t n = 0;

	*ret_spilled = 0;
	for (uint32_t i = 0; i < kmt_buckets; i++) {
		*ret_spilled += t[i].spilled;
		for (int w = 0; w < KMT_BUCKET_WAYS; w++)
			n += t[i].addr[w] != 0;
	}
	return n;
}

struct counts {
	size_t inserted, replaced, no_room, removed, missed;
};

static void step_insert(struct pool *p, uint32_t i, uint32_t *seed, bool alone, struct counts *c)
{
	__u64 addr = addr_of(p, i), old = 0, now = (uint64_t)rnd(seed) << 8 | rnd(seed) % 256;
	__u64 what = kmt_object_what(rnd(seed) % 2, rnd(seed) % SITES, rnd(seed) % 64,
					rnd(seed) % 4096, now);
	struct known *k = &p->known[i];

	switch (kmt_object_insert(kmt_base(), addr, what, now, &old)) {
	case KMT_INSERTED:
		assert_false(k->live);
		c->inserted++;
		break;
	case KMT_REPLACED:
		assert_true(k->live);
		assert_int_equal(old, k->what);
		c->replaced++;
		break;
	default:
		/* other threads may have made room since */
		assert_false(k->live);
		if (alone)
			assert_true(bucket_full(kmt_bucket_home(kmt_base(), addr)));
		c->no_room++;
		return;
	}
	*k = (struct known) { .live = true, .what = what, .born = now };
}

static void step_remove(struct pool *p, uint32_t i, struct counts *c)
{
	__u64 what = 0, born = 0;
	struct known *k = &p->known[i];

	if (kmt_object_remove(kmt_base(), addr_of(p, i), &what, &born)) {
		assert_true(k->live);
		assert_int_equal(what, k->what);
		assert_int_equal(born, k->born);
		c->removed++;
	} else {
		assert_false(k->live);
		c->missed++;
	}
	k->live = false;
}

static void check_table(const struct kmt_bucket *t, const struct pool *p)
{
	size_t live = 0;
	uint64_t spilled;

	for (uint32_t i = 0; i < p->n; i++)
		live += p->known[i].live;
	assert_int_equal(table_count(t, &spilled), live);
	assert_true(spilled <= live);
	if (!live)
		assert_int_equal(spilled, 0);
}

/* Random inserts and removes in waves, each checked against what is known of its address. */
static struct counts run(uint32_t buckets, uint32_t objects, uint32_t size, size_t steps)
{
	struct kmt_bucket *t = table_new(buckets, NULL);
	struct pool p = pool_new(objects, size);
	struct counts c = { 0 };
	uint32_t seed = 2463534242u;

	assert_non_null(t);
	for (size_t i = 0; i < steps; i++) {
		uint32_t fill = i * 8 / steps % 2 ? 5 : 11;	/* waves */

		if (rnd(&seed) % 16 < fill)
			step_insert(&p, rnd(&seed) % objects, &seed, true, &c);
		else
			step_remove(&p, rnd(&seed) % objects, &c);
		if (i % (steps / 64) == 0)
			check_table(t, &p);
	}
	for (uint32_t i = 0; i < objects; i++)
		step_remove(&p, i, &c);
	check_table(t, &p);
	assert_int_equal(c.inserted, c.removed);
	free(p.known);
	shim_done();
	return c;
}

/* Homes overflow: 512 objects of 8 bytes in each page, and more objects than rows. */
static void test_crowded(void **state)
{
	struct counts c = run(8 * KMT_GROUP, 5120, 8, 1000000);

	assert_true(c.no_room > 1000 && c.replaced > 1000 && c.inserted > 50000);
}

/* Room for all, homes overflow all the same: what spills must be found again. */
static void test_spilling(void **state)
{
	struct counts c = run(64 * KMT_GROUP, 2048, 8, 1000000);

	assert_true(c.inserted > 100000 && c.replaced > 1000);
	/* a bucket in twelve is full, so all four places of one object in 20000 */
	assert_true(c.no_room < c.inserted / 1000);
}

/* Ordinary load: a quarter full, every size of object. Next to nothing is lost. */
static void test_roomy(void **state)
{
	static const uint32_t sizes[] = { 32, 64, 96, 192, 256, 1024, 2048, 4096, 8192 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = 64 * KMT_GROUP * KMT_BUCKET_WAYS / 4;

		struct counts c = run(64 * KMT_GROUP, n, sizes[i], 200000);

		assert_true(c.no_room < c.inserted / 1000);
	}
}

/* A table of less than one group: no home for some, but never more than it holds. */
static void test_less_than_a_group(void **state)
{
	struct kmt_bucket *t = table_new(64 / KMT_BUCKET_WAYS, NULL);
	struct pool p = pool_new(1000, 1024);
	struct counts c = { 0 };
	uint64_t spilled;

	for (uint32_t i = 0; i < p.n; i++) {
		__u64 old;

		if (kmt_object_insert(kmt_base(), addr_of(&p, i), i, 1, &old) == KMT_INSERTED) {
			p.known[i] = (struct known) {
				.live = true, .what = i, .born = kmt_object_born(i, 1),
			};
			c.inserted++;
		}
	}
	assert_in_range(c.inserted, 32, 64);
	assert_int_equal(table_count(t, &spilled), c.inserted);
	for (uint32_t i = 0; i < p.n; i++)
		step_remove(&p, i, &c);
	assert_int_equal(c.removed, c.inserted);
	assert_int_equal(table_count(t, &spilled), 0);
	assert_int_equal(spilled, 0);
	free(p.known);
	shim_done();
}

/* ---- what user space reads ---- */

struct reader {
	const struct pool *pool;
	size_t n;
};

static int on_object(void *ctx, const struct kmt_snap_object *o)
{
	struct reader *r = ctx;
	uint32_t i = (o->addr - r->pool->base) / r->pool->size;
	const struct known *k = &r->pool->known[i];

	assert_true(i < r->pool->n && k->live);
	assert_int_equal(o->site, k->what >> KMT_WHAT_SITE_SHIFT & KMT_WHAT_SITE_MASK);
	assert_int_equal(o->cpu, k->what >> KMT_WHAT_CPU_SHIFT & KMT_WHAT_CPU_MASK);
	assert_int_equal(o->birth_ns, k->born << KMT_TIME_UNIT_SHIFT);
	r->n++;
	return 0;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	return snap->each_object(snap->objects_ctx, on_object, ctx);
}

static void test_reader_agrees(void **state)
{
	struct pool p = pool_new(500, 24);
	struct reader r = { .pool = &p };
	struct kmt_sink sink = { .snapshot = on_snapshot, .ctx = &r };
	struct counts c = { 0 };
	struct kmt_bpf b;
	uint32_t seed = 5;

	table_new(8 * KMT_GROUP, &b);
	for (uint32_t i = 0; i < p.n; i += 2)
		step_insert(&p, i, &seed, true, &c);
	assert_int_equal(kmt_bpf_snapshot(&b, &sink), 0);
	assert_int_equal(r.n, c.inserted);
	free(p.known);
	shim_done();
}

/* ---- several CPUs: each owns its objects, all share buckets ---- */

enum { THREADS = 4 };

struct worker {
	pthread_t thread;
	struct pool *pool;	/* objects i with i % THREADS == number are ours */
	uint32_t number;
	struct counts c;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	uint32_t seed = 7 + w->number, n = w->pool->n / THREADS;

	for (size_t i = 0; i < 1000000; i++) {
		uint32_t fill = i / 125000 % 2 ? 5 : 11;
		uint32_t at = rnd(&seed) % n * THREADS + w->number;

		if (rnd(&seed) % 16 < fill)
			step_insert(w->pool, at, &seed, false, &w->c);
		else
			step_remove(w->pool, at, &w->c);
	}
	return NULL;
}

static void run_threads(uint32_t buckets, uint32_t objects)
{
	struct kmt_bucket *t = table_new(buckets, NULL);
	struct pool p = pool_new(objects, 8);
	struct worker w[THREADS];
	struct counts c = { 0 };

	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker) { .pool = &p, .number = i };
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(w[i].thread, NULL), 0);
	check_table(t, &p);
	for (uint32_t i = 0; i < objects; i++)
		step_remove(&p, i, &c);
	check_table(t, &p);
	free(p.known);
	shim_done();
}

static void test_threads_crowded(void **state)
{
	run_threads(4 * KMT_GROUP, 4096);
}

static void test_threads_spilling(void **state)
{
	run_threads(64 * KMT_GROUP, 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_spilling),
		cmocka_unit_test(test_roomy),
		cmocka_unit_test(test_less_than_a_group),
		cmocka_unit_test(test_reader_agrees),
		cmocka_unit_test(test_threads_crowded),
		cmocka_unit_test(test_threads_spilling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
