// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bulk calls and what is given up to RCU: the kernel side's code, compiled for
 * user space, its tables read by bpf_tables.c. Sums done by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/snapshot.h"
#include "unit/bpf_shim.h"

#define SITE	0xffffffff81000100ull
#define FREER	0xffffffff82000200ull

enum { CPUS = 2, MANY = KMT_BULK_MAX + 7 };

static struct kmem_cache cache = { .size = 128, .object_size = 100, .name = "cache" };
static struct kmt_bpf b;
static uint64_t addr[MANY];

static int setup(void **state)
{
	struct kmt_bpf_machine m = {
		.ram_bytes = 8ull << 30, .possible_cpus = CPUS, .online_cpus = CPUS,
		.page_size = 4096,
	};
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .sites = 1024, .objects = 100000 };
	struct kmt_bpf_plan p;

	if (kmt_bpf_make_plan(&o, &m, &p) || shim_tables(&p, &b) ||
	    !shim_map(&kmt_scratch, sizeof(struct kmt_stack_scratch), CPUS * KMT_PROG_MAX))
		return -1;
	kmt_flags = KMT_F_COUNT | KMT_F_TRACK;
	shim.now_ns = 1ull << 40;
	for (int i = 0; i < MANY; i++)
		addr[i] = 0xffff888000100000 + i * 128ull;
	return 0;
}

static int teardown(void **state)
{
	shim_done();
	return 0;
}

static void take(uint32_t n, int by_loop)
{
	struct kmt_alloc a = { .call_site = SITE, .cache = (uintptr_t)&cache };

	kmt_on_bulk_alloc(NULL, &a, (const void *)addr, n, by_loop);
}

static void take_one(uint64_t at)
{
	struct kmt_alloc a = {
		.call_site = SITE, .addr = at, .cache = (uintptr_t)&cache, .type = KMT_WIRE_CACHE,
	};

	kmt_on_alloc(NULL, &a, KMT_PROG_CACHE_ALLOC, 0, kmt_flags);
}

static void give_back(uint64_t at)
{
	kmt_on_free(KMT_WIRE_CACHE, KMT_PROG_CACHE_FREE, FREER, at, 0, kmt_flags);
}

/* ---- one snapshot, all its rows added up ---- */

struct seen {
	struct kmt_counts c;
	size_t rows, free_rows, live, awaiting;
	uint64_t freed;
};

static int on_object(void *ctx, const struct kmt_snap_object *o)
{
	struct seen *s = ctx;

	*(o->awaiting ? &s->awaiting : &s->live) += 1;
	return 0;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct seen *s = ctx;

	for (size_t i = 0; i < snap->n_sites; i++) {
		assert_int_equal(snap->sites[i].key.call_site, SITE);
		assert_string_equal(snap->sites[i].key.cache, "cache");
		kmt_counts_add(&s->c, &snap->sites[i].counts);
	}
	s->rows = snap->n_sites;
	s->free_rows = snap->n_free_sites;
	for (size_t i = 0; i < snap->n_free_sites; i++) {
		assert_int_equal(snap->free_sites[i].call_site, FREER);
		s->freed += snap->free_sites[i].frees;
	}
	return snap->each_object(snap->objects_ctx, on_object, s);
}

static struct seen look(void)
{
	struct seen s = { 0 };
	struct kmt_sink sink = { .snapshot = on_snapshot, .ctx = &s };

	assert_int_equal(kmt_bpf_snapshot(&b, &sink), 0);
	return s;
}

/* Five at once and one alone; two go in bulk, one alone, and one with an unknown one. */
static void test_bulk(void **state)
{
	const uint64_t two[] = { addr[0], addr[1] }, odd[] = { 0, addr[3], addr[90] };
	struct seen s;

	take(5, 1);
	take_one(addr[50]);
	kmt_on_bulk_free(FREER, (uintptr_t)&cache, (const void *)two, 2, 1, 0);
	give_back(addr[2]);
	kmt_on_bulk_free(FREER, 0, (const void *)odd, 3, 0, 0);
	s = look();
	assert_int_equal(s.rows, 2);		/* the two allocating programs share no row */
	assert_int_equal(s.c.allocs, 6);
	assert_int_equal(s.c.bytes_alloc, 6 * 128);
	assert_int_equal(s.c.bytes_req, 6 * 100);
	assert_int_equal(s.c.frees, 4);
	assert_int_equal(s.c.bytes_alloc_freed, 4 * 128);
	assert_int_equal(s.live, 2);
	assert_int_equal(s.freed, 5);
	assert_int_equal(s.free_rows, 3);	/* kmem_cache_free, bulk of a cache, bulk of any */
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_FREES_UNKNOWN), 1);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_NULL_FREES), 1);
}

static void test_failed_and_many(void **state)
{
	struct seen s;

	take(0, 1);
	for (int by_loop = 0; by_loop < 2; by_loop++)
		take(MANY, by_loop);
	s = look();
	assert_int_equal(s.c.failures, 1);
	assert_int_equal(s.c.allocs, 2 * KMT_BULK_MAX);
	assert_int_equal(s.c.untraced_frees, KMT_BULK_MAX);
	assert_int_equal(s.live, KMT_BULK_MAX);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_LOST_OBJECTS), 2 * 7);
}

/* Freed when given up; its end is a free, a bulk free or its address again, and no second. */
static void test_given_up(void **state)
{
	struct seen s;

	take(4, 1);
	for (int i = 0; i < 4; i++)
		kmt_on_give_up(FREER, addr[i], 0);
	kmt_on_give_up(FREER, addr[0], 0);		/* again */
	kmt_on_give_up(FREER, addr[80], 0);	/* older than the trace */
	kmt_on_give_up(FREER, 0, 0);
	s = look();
	assert_int_equal(s.c.frees, 4);
	assert_int_equal(s.c.given_up, 4);
	assert_int_equal(s.c.awaiting, 4);
	assert_int_equal(s.c.bytes_awaiting, 4 * 128);
	assert_int_equal(s.freed, 4);
	assert_int_equal(s.live, 0);
	assert_int_equal(s.awaiting, 4);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_RCU_UNKNOWN), 2);

	give_back(addr[0]);
	kmt_on_bulk_free(FREER, 0, (const void *)&addr[1], 1, 1, 0);
	take_one(addr[2]);
	s = look();
	assert_int_equal(s.c.allocs, 5);
	assert_int_equal(s.c.frees, 4);
	assert_int_equal(s.c.untraced_frees, 0);
	assert_int_equal(s.c.given_up, 4);
	assert_int_equal(s.c.awaiting, 1);
	assert_int_equal(s.freed, 4);
	assert_int_equal(s.live, 1);
	assert_int_equal(s.awaiting, 1);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_FREES_UNKNOWN), 0);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_UNTRACED_FREES), 0);
}

static uint64_t older_of(const struct kmt_snapshot *snap, uint64_t *ret_given)
{
	*ret_given = snap->n_older ? snap->older[0].given_up : 0;
	if (snap->n_older)
		assert_string_equal(snap->older[0].cache, "cache");
	return snap->n_older ? snap->older[0].frees : 0;
}

struct older {
	uint64_t frees, given, own;
	size_t n, objects;
};

static int on_any_object(void *ctx, const struct kmt_snap_object *o)
{
	((struct older *)ctx)->objects++;
	return 0;
}

static int on_older(void *ctx, const struct kmt_snapshot *snap)
{
	struct older *o = ctx;

	o->n = snap->n_older;
	o->frees = older_of(snap, &o->given);
	o->own = snap->n_older ? snap->older[0].own_allocs : 0;
	return snap->each_object(snap->objects_ctx, on_any_object, o);
}

/* What the books know of older objects of the one cache. */
static void is_older(uint64_t frees, uint64_t given, size_t objects)
{
	struct older o = { 0 };
	struct kmt_sink sink = { .snapshot = on_older, .ctx = &o };

	assert_int_equal(kmt_bpf_snapshot(&b, &sink), 0);
	assert_int_equal(o.n, 1);
	assert_int_equal(o.frees, frees);
	assert_int_equal(o.given, given);
	assert_int_equal(o.objects, objects);
}

/* kfree_bulk() of older objects names no cache: the kernel is asked, where it answers. */
static void test_bulk_asks(void **state)
{
	const uint64_t three[] = { addr[7], addr[8], addr[9] };

	shim_cache = &cache;
	kmt_on_bulk_free(FREER, 0, (const void *)three, 3, 1, 1);
	is_older(3, 0, 0);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_FREES_NO_CACHE), 0);
	shim_cache = NULL;
	kmt_on_bulk_free(FREER, 0, (const void *)three, 2, 1, 1);	/* a large kmalloc */
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_FREES_NO_CACHE), 2);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_FREES_UNKNOWN), 5);
}

/*
 * Older objects given up: with sheaves they count as freed, once, whatever
 * becomes of them; without, a free is to come.
 */
static void test_older_given_up(void **state)
{
	shim_cache = &cache;
	cache.sheaf_capacity = 0;
	kmt_on_give_up(FREER, addr[20], 1);
	kmt_on_bulk_free(FREER, 0, (const void *)&addr[20], 1, 1, 1);
	is_older(1, 0, 0);
	cache.sheaf_capacity = 28;
	for (int i = 0; i < 4; i++)
		kmt_on_give_up(FREER, addr[i], 1);
	kmt_on_give_up(FREER, addr[1], 1);		/* again */
	is_older(5, 4, 0);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_RCU_UNKNOWN), 6);
	/* no sheaf was to be had for the first, the second's memory is given out again */
	kmt_on_bulk_free(FREER, 0, (const void *)&addr[0], 1, 1, 1);
	take_one(addr[1]);
	is_older(5, 4, 1);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_UNTRACED_FREES), 0);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_FREES_UNKNOWN), 1);
	give_back(addr[1]);
	shim_cache = NULL;
	kmt_on_give_up(FREER, addr[30], 1);		/* of no slab */
	is_older(5, 4, 0);
	cache.sheaf_capacity = 0;
}

/*
 * Our own: three at once, at an address that awaited RCU and one whose free was
 * not seen, and their free: seven allocated and five freed of the cache, and two of
 * the traced ones are live.
 */
static void test_own(void **state)
{
	struct older o = { 0 };
	struct kmt_sink sink = { .snapshot = on_older, .ctx = &o };
	const uint64_t ours[] = { addr[0], addr[1], addr[9] };
	struct kmt_alloc a = { .call_site = SITE, .cache = (uintptr_t)&cache };
	struct seen s;

	take(4, 1);
	kmt_on_give_up(FREER, addr[0], 0);
	kmt_own_tgid = 4711;
	kmt_awake = 1;
	shim.pid_tgid = 4711ull << 32 | 4711;
	kmt_on_bulk_alloc(NULL, &a, (const void *)ours, 3, 1);
	kmt_on_bulk_free(FREER, (uintptr_t)&cache, (const void *)ours, 3, 1, 0);
	kmt_awake = kmt_own_tgid = 0;
	s = look();
	assert_int_equal(s.c.allocs, 4);
	assert_int_equal(s.c.frees, 1);
	assert_int_equal(s.c.untraced_frees, 1);
	assert_int_equal(s.c.awaiting, 0);
	assert_int_equal(s.live, 2);
	assert_int_equal(s.freed, 1);
	assert_int_equal(kmt_bpf_snapshot(&b, &sink), 0);
	assert_int_equal(o.own, 3);
	assert_int_equal(o.frees, 3);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_OWN), 6);
	assert_int_equal(kmt_bpf_count(&b, KMT_CNT_UNTRACED_FREES), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bulk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_and_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bulk_asks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_given_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
