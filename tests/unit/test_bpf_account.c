// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole counting path: random events through the kernel side's code,
 * compiled for user space, its tables read by bpf_tables.c, against a model
 * that keeps every object in a list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/snapshot.h"
#include "unit/bpf_shim.h"

enum { CPUS = 4, CALLERS = 30, KINDS = 8, KMALLOCS = 4, FREERS = 6, POOL = 1500 };

#define GFP_ACCOUNT 0x400000ull
#define TEMPORARY_UNITS 10

/* What is allocated: kmalloc of a size, or an object of a cache. */
struct kind {
	uint64_t req, given;
	struct kmem_cache cache;
};

struct row {
	struct kmt_counts c;
	uint64_t gfp;
	uint64_t lifetimes[KMT_LIFETIMES];
};

struct object {
	struct row *row;	/* NULL: not live */
	uint64_t req, given, born;	/* born in the kernel side's units */
	uint32_t cpu, type;
};

struct world {
	struct kmt_bpf b;
	struct kind kinds[KINDS];
	struct row rows[CALLERS][KINDS];
	struct object pool[POOL];
	uint64_t freed_by[FREERS][2];
	uint64_t unknown, nulls, frees, allocs, own;
	uint32_t seed;
};

static uint32_t rnd(struct world *w, uint32_t n)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 17;
	w->seed ^= w->seed << 5;
	return w->seed % n;
}

static uint64_t caller(uint32_t i)
{
	return 0xffffffff81000000 + i * 0x123;
}

static uint64_t freer(uint32_t i)
{
	return 0xffffffff82000000 + i * 0x321;
}

static uint64_t addr_of(uint32_t i)
{
	return 0xffff888000100000 + i * 64ull;
}

static void world_init(struct world *w, uint32_t seed)
{
	static const uint32_t kmalloc_sizes[KMALLOCS][2] = {
		{ 50, 64 }, { 96, 96 }, { 1000, 1024 }, { 5000, 8192 },
	};
	struct kmt_bpf_machine m = {
		.ram_bytes = 8ull << 30, .possible_cpus = CPUS, .online_cpus = CPUS,
		.page_size = 4096, .hashed = SHIM_HASHED,
	};
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .sites = 1024, .objects = 100000 };
	struct kmt_bpf_plan p;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	assert_int_equal(kmt_bpf_make_plan(&o, &m, &p), 0);
	assert_int_equal(shim_tables(&p, &w->b), 0);
	kmt_flags = KMT_F_COUNT | KMT_F_TRACK;
	kmt_temporary = TEMPORARY_UNITS;
	kmt_gfp_account = GFP_ACCOUNT;
	shim.now_ns = 1ull << 40;
	for (int i = 0; i < KINDS; i++) {
		struct kind *k = &w->kinds[i];

		k->req = i < KMALLOCS ? kmalloc_sizes[i][0] : 100u + i;
		k->given = i < KMALLOCS ? kmalloc_sizes[i][1] : 128u + i;
		k->cache = (struct kmem_cache) {
			.size = k->given, .object_size = k->req, .name = "cache",
		};
	}
}

static uint64_t units(void)
{
	return shim.now_ns >> KMT_TIME_UNIT_SHIFT;
}

/* Time goes on; after a pause the kernel side reads the clock at once. */
static void pass_time(struct world *w)
{
	shim.now_ns += rnd(w, 8) ? rnd(w, 3000) : rnd(w, 50000000);
	shim.jiffies += 2;
	shim_cpu = rnd(w, CPUS);
}

static void do_alloc(struct world *w)
{
	uint32_t site = rnd(w, CALLERS), kind = rnd(w, KINDS), i = rnd(w, POOL);
	bool is_cache = kind >= KMALLOCS, fails = rnd(w, 100) == 0;
	const struct kind *k = &w->kinds[kind];
	struct row *row = &w->rows[site][kind];
	struct object *o = &w->pool[i];
	struct kmt_alloc a = {
		.call_site = caller(site), .addr = fails ? 0 : addr_of(i), .node = -1,
		.gfp = (site % 2 ? GFP_ACCOUNT : 0) | 1u << rnd(w, 4),
		.cache = is_cache ? (uintptr_t)&k->cache : 0,
		/* requests differ within one bucket; a cache's event does not tell its sizes */
		.bytes_req = is_cache ? 0 : k->req - rnd(w, 20),
		.bytes_alloc = is_cache ? 0 : k->given,
		.type = is_cache ? KMT_WIRE_CACHE : KMT_WIRE_KMALLOC,
	};
	uint64_t req = is_cache ? k->req : a.bytes_req;

	row->gfp |= a.gfp;
	if (fails) {
		row->c.failures++;
	} else {
		if (o->row) {	/* freed without an event */
			o->row->c.untraced_frees++;
			o->row->c.bytes_req_freed += o->req;
			o->row->c.bytes_alloc_freed += o->given;
		}
		row->c.allocs++;
		row->c.bytes_req += req;
		row->c.bytes_alloc += k->given;
		w->allocs++;
		*o = (struct object) {
			.row = row, .req = req, .given = k->given, .born = units(),
			.cpu = shim_cpu, .type = a.type,
		};
	}
	kmt_on_alloc(NULL, &a, is_cache ? KMT_PROG_CACHE_ALLOC : KMT_PROG_KMALLOC, 0, kmt_flags);
}

static unsigned lifetime_bucket(uint64_t age)
{
	unsigned n = KMT_TIME_UNIT_SHIFT - 10;	/* ours are of 1.024 us */

	while (age > 1 && n < KMT_LIFETIMES - 1) {
		age /= 2;
		n++;
	}
	return n;
}

static void do_free(struct world *w)
{
	uint32_t i = rnd(w, POOL), by = rnd(w, FREERS);
	struct object *o = &w->pool[i];
	/* now and then by the other call: kfree() of a cache's object */
	uint32_t type = rnd(w, 10) ? o->type : !o->type;
	uint64_t age = units() - o->born;

	w->freed_by[by][type]++;
	if (o->row) {
		o->row->c.frees++;
		o->row->c.bytes_req_freed += o->req;
		o->row->c.bytes_alloc_freed += o->given;
		o->row->c.cross_cpu_frees += o->cpu != shim_cpu;
		o->row->c.temporary += age < TEMPORARY_UNITS;
		o->row->lifetimes[lifetime_bucket(age)]++;
		w->frees++;
		o->row = NULL;
	} else {
		w->unknown++;
	}
	kmt_on_free(type, type == KMT_WIRE_CACHE ? KMT_PROG_CACHE_FREE : KMT_PROG_KFREE, freer(by),
		    addr_of(i), 0, kmt_flags);
}

static void do_null_free(struct world *w)
{
	kmt_on_free(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, freer(0), rnd(w, 2) ? 0 : 16, 0, kmt_flags);
	w->nulls++;
}

/* ---- comparison ---- */

static void compare_counts(const struct kmt_counts *a, const struct kmt_counts *b)
{
	assert_int_equal(a->allocs, b->allocs);
	assert_int_equal(a->frees, b->frees);
	assert_int_equal(a->failures, b->failures);
	assert_int_equal(a->bytes_req, b->bytes_req);
	assert_int_equal(a->bytes_alloc, b->bytes_alloc);
	assert_int_equal(a->bytes_req_freed, b->bytes_req_freed);
	assert_int_equal(a->bytes_alloc_freed, b->bytes_alloc_freed);
	assert_int_equal(a->cross_cpu_frees, b->cross_cpu_frees);
	assert_int_equal(a->temporary, b->temporary);
	assert_int_equal(a->untraced_frees, b->untraced_frees);
	assert_int_equal(a->untracked, 0);
}

static struct row *row_of(struct world *w, const struct kmt_site_key *key)
{
	uint32_t site = (key->call_site - caller(0)) / 0x123;

	assert_true(site < CALLERS);
	for (int k = 0; k < KINDS; k++)
		if (w->kinds[k].given == key->size && (k >= KMALLOCS) == key->type)
			return &w->rows[site][k];
	fail_msg("no such row");
	return NULL;
}

static int on_object(void *ctx, const struct kmt_snap_object *so)
{
	struct world *w = ctx;
	uint32_t i = (so->addr - addr_of(0)) / 64;
	const struct object *o = &w->pool[i];

	assert_true(i < POOL && o->row);
	assert_int_equal(so->bytes_req, o->req);
	assert_int_equal(so->cpu, o->cpu);
	assert_int_equal(so->birth_ns, o->born << KMT_TIME_UNIT_SHIFT);
	return 0;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct world *w = ctx;
	size_t n = 0;

	for (size_t i = 0; i < snap->n_sites; i++) {
		const struct kmt_snap_site *s = &snap->sites[i];
		struct row *row = row_of(w, &s->key);

		compare_counts(&s->counts, &row->c);
		assert_int_equal(s->gfp, row->gfp);
		assert_memory_equal(s->lifetimes, row->lifetimes, sizeof(s->lifetimes));
	}
	for (int i = 0; i < CALLERS * KINDS; i++)
		n += w->rows[i / KINDS][i % KINDS].gfp != 0;
	assert_int_equal(snap->n_sites, n);
	for (size_t i = 0; i < snap->n_free_sites; i++) {
		const struct kmt_snap_free_site *f = &snap->free_sites[i];

		assert_int_equal(f->frees, w->freed_by[(f->call_site - freer(0)) / 0x321][f->type]);
	}
	return snap->each_object(snap->objects_ctx, on_object, w);
}

static void compare(struct world *w)
{
	struct kmt_sink sink = { .snapshot = on_snapshot, .ctx = w };
	uint64_t allocs, frees;

	assert_int_equal(kmt_bpf_snapshot(&w->b, &sink), 0);
	kmt_bpf_totals(&w->b, &allocs, &frees);
	assert_int_equal(allocs, w->allocs);
	assert_int_equal(frees, w->frees);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_FREES_UNKNOWN), w->unknown);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_NULL_FREES), w->nulls);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_LOST_OBJECTS), 0);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_LOST_SITES), 0);
	assert_int_equal(kmt_bpf_lost_caches(&w->b), 0);
}

static void test_random_events(void **state)
{
	static struct world w;

	for (uint32_t seed = 1; seed <= 4; seed++) {
		world_init(&w, seed * 7919);
		for (int i = 0; i < 200000; i++) {
			pass_time(&w);
			switch (rnd(&w, 20)) {
			case 0:
				do_null_free(&w);
				break;
			case 1 ... 10:
				do_alloc(&w);
				break;
			default:
				do_free(&w);
			}
			if (i % 20000 == 0)
				compare(&w);
		}
		compare(&w);
		shim_done();
	}
}

/* Our own events are left out; to free somebody else's object is an event like any other. */
static void test_own_events(void **state)
{
	static struct world w;
	struct kmt_alloc a = {
		.call_site = caller(0), .addr = addr_of(0), .bytes_req = 50, .bytes_alloc = 64,
		.type = KMT_WIRE_KMALLOC,
	};
	struct kmt_alloc ours = a;
	uint64_t allocs, frees;

	world_init(&w, 1);
	kmt_own_tgid = 4711;
	kmt_awake = 1;
	shim_cpu = 0;
	shim.pid_tgid = 1ull << 32 | 1;
	kmt_on_alloc(NULL, &a, KMT_PROG_KMALLOC, 0, kmt_flags);
	shim.pid_tgid = 4711ull << 32 | 4711;
	ours.addr = addr_of(1);
	kmt_on_alloc(NULL, &ours, KMT_PROG_KMALLOC, 0, kmt_flags);
	kmt_on_free(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, freer(0), addr_of(1), 0, kmt_flags);
	kmt_on_free(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, freer(0), addr_of(0), 0, kmt_flags);
	kmt_bpf_totals(&w.b, &allocs, &frees);
	assert_int_equal(allocs, 1);
	assert_int_equal(frees, 1);
	assert_int_equal(kmt_bpf_count(&w.b, KMT_CNT_OWN), 2);
	assert_int_equal(kmt_bpf_count(&w.b, KMT_CNT_FREES_UNKNOWN), 0);
	kmt_awake = kmt_own_tgid = 0;
	shim_done();
}

/* The clock: never ahead, and exact while there are few events in a tick. */
static void test_clock(void **state)
{
	struct kmt_cpu c = { 0 };
	uint64_t tick_ns = 4000000, before = 0;

	shim.now_ns = 1ull << 40;
	shim.jiffies = 1000;
	for (int tick = 0; tick < 50; tick++) {
		unsigned events = tick < 25 ? 40 : 4000;	/* per tick */

		for (unsigned i = 0; i < events; i++) {
			uint64_t now = kmt_now(&c);

			assert_true(now <= units() && now >= before);
			assert_true((units() - now) << KMT_TIME_UNIT_SHIFT <= tick_ns);
			if (tick < 25)
				assert_int_equal(now, units());
			else if (tick > 26)	/* steady: 1/64 tick, and the unit's own error */
				assert_true((units() - now) << KMT_TIME_UNIT_SHIFT <=
					    tick_ns / 32 + (1 << KMT_TIME_UNIT_SHIFT));
			before = now;
			shim.now_ns += tick_ns / events;
		}
		shim.jiffies++;
	}
	memset(&shim, 0, sizeof(shim));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_events),
		cmocka_unit_test(test_own_events),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
