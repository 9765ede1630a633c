// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole counting path: random events through the kernel side's code,
 * compiled for user space, its tables read by bpf_tables.c, against a model
 * that keeps every object in a list. The model goes by what wire.h, the manual
 * (kmemtrace-stat, QUALITY) and docs/ARCHITECTURE.md say is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/snapshot.h"
#include "unit/bpf_shim.h"

enum { CPUS = 4, CALLERS = 30, KINDS = 8, KMALLOCS = 4, POOL = 1500, MANY = KMT_BULK_MAX + 5 };

/* What frees: calls of one kind at one site have a row. */
enum call { KFREE, CACHE_FREE, BULK_ANY, BULK_OF_CACHE, GIVE_UP, CALLS };
enum { SHARED_FREERS = 6, FREERS = SHARED_FREERS + CALLS };	/* by any of them, by one */

#define GFP_ACCOUNT 0x400000ull
#define TEMPORARY_UNITS 10
#define OWN_TGID 4711

/* What is allocated: kmalloc of a size, or an object of a cache. */
struct kind {
	uint64_t req, given;
	struct kmem_cache cache;
	char name[16];
	/* of its cache, of objects that are in no row */
	uint64_t older_frees, own_allocs, older_given;
};

struct row {
	bool is_used;
	uint32_t index;			/* + 1 of the kernel side's row, once an object named it */
	struct kmt_counts c;
	uint64_t gfp;
	uint64_t lifetimes[KMT_LIFETIMES];
};

/* OLDER: not in the books, given up to where no free of it is to come */
enum state { UNKNOWN, LIVE, AWAITING, OLDER };

struct object {
	enum state state;
	struct row *row;
	uint64_t req, given, since;	/* allocated or given up, in the kernel side's units */
	uint32_t cpu, type;
};

struct world {
	struct kmt_bpf b;
	bool ask;			/* can the kernel be asked for the cache of an address? */
	bool own;			/* this event is the tracer's own */
	struct kind kinds[KINDS];
	struct row rows[CALLERS][KINDS][2];	/* by single allocations, by bulk ones */
	struct object pool[POOL];
	uint64_t freed_by[FREERS][CALLS];
	bool free_rows[FREERS][CALLS];
	uint64_t unknown, nulls, frees, allocs, owns, failures, untraced, rcu_unknown, no_cache;
	uint64_t lost, n[OLDER + 1];
	/* last: frees by calls of several programs, which have no CPU */
	uint64_t cpu_allocs[CPUS + 1], cpu_frees[CPUS + 1];
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
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .sites = 4096, .objects = 100000 };
	struct kmt_bpf_plan p;

	memset(w, 0, sizeof(*w));
	w->seed = seed;
	assert_int_equal(kmt_bpf_make_plan(&o, &m, &p), 0);
	assert_int_equal(shim_tables(&p, &w->b), 0);
	assert_non_null(shim_map(&kmt_scratch, sizeof(struct kmt_stack_scratch),
				 CPUS * KMT_PROG_MAX));
	kmt_flags = KMT_F_COUNT | KMT_F_TRACK;
	kmt_temporary = TEMPORARY_UNITS;
	kmt_gfp_account = GFP_ACCOUNT;
	/* the upper bits of the time, which an object has elsewhere, change half way */
	shim.now_ns = (2ull << (32 + KMT_TIME_UNIT_SHIFT)) - 100000000000;
	for (int i = 0; i < KINDS; i++) {
		struct kind *k = &w->kinds[i];

		k->req = i < KMALLOCS ? kmalloc_sizes[i][0] : 100u + i;
		k->given = i < KMALLOCS ? kmalloc_sizes[i][1] : 128u + i;
		snprintf(k->name, sizeof(k->name), "cache-%d", i);
		k->cache = (struct kmem_cache) {
			.size = k->given, .object_size = k->req, .name = k->name,
			.sheaf_capacity = i % 2 ? 28 : 0,
		};
	}
}

static uint64_t units(void)
{
	return shim.now_ns >> KMT_TIME_UNIT_SHIFT;
}

/* What the kernel says lies at an address that the model knows nothing of; NULL: no slab object. */
static struct kind *asked(struct world *w, uint32_t i)
{
	return w->ask && i % 5 ? &w->kinds[i % KINDS] : NULL;
}

static struct world *asked_world;

static struct kmem_cache *answer(uint64_t addr)
{
	struct kind *k = asked(asked_world, (addr - addr_of(0)) / 64);

	return k ? &k->cache : NULL;
}

/* Time goes on; after a pause the kernel side reads the clock at once. */
static void pass_time(struct world *w)
{
	shim.now_ns += rnd(w, 8) ? rnd(w, 3000) : rnd(w, 50000000);
	shim.jiffies += 2;
	shim_cpu = rnd(w, CPUS);
	w->own = rnd(w, 25) == 0;
	shim.pid_tgid = w->own ? (uint64_t)OWN_TGID << 32 | OWN_TGID : 1ull << 32 | 1;
}

/* ---- the model ---- */

static void set_state(struct world *w, struct object *o, enum state state)
{
	w->n[o->state]--;
	w->n[state]++;
	o->state = state;
}

static void end_wait(struct world *w, struct object *o)
{
	o->row->c.awaiting--;
	o->row->c.bytes_awaiting -= o->given;
	set_state(w, o, UNKNOWN);
}

/* The memory is given out: whatever was there before is gone, be the new one whose it may. */
static void handed_out(struct world *w, struct object *o)
{
	if (o->state == AWAITING) {
		end_wait(w, o);
	} else if (o->state == LIVE) {	/* freed without an event */
		o->row->c.untraced_frees++;
		o->row->c.bytes_req_freed += o->req;
		o->row->c.bytes_alloc_freed += o->given;
		w->untraced++;
	}
	set_state(w, o, UNKNOWN);
}

/* An object of this kind for this row; 'of': whose own it is counted as, NULL unknown. */
static void allocated(struct world *w, uint32_t i, struct row *row, const struct object *as,
		      struct kind *of)
{
	struct object *o = &w->pool[i];

	handed_out(w, o);
	if (w->own) {
		w->owns++;
		if (of)
			of->own_allocs++;
		return;
	}
	row->c.allocs++;
	row->c.bytes_req += as->req;
	row->c.bytes_alloc += as->given;
	w->allocs++;
	w->cpu_allocs[shim_cpu]++;
	*o = (struct object) {
		.row = row, .req = as->req, .given = as->given, .since = units(),
		.cpu = shim_cpu, .type = as->type,
	};
	set_state(w, o, LIVE);
}

static void failed(struct world *w, struct row *row)
{
	if (w->own) {
		w->owns++;
		return;
	}
	row->c.failures++;
	w->failures++;
}

static struct row *row_used(struct world *w, uint32_t site, uint32_t kind, bool bulk, uint64_t gfp)
{
	struct row *row = &w->rows[site][kind][bulk];

	if (!w->own) {
		row->is_used = true;
		row->gfp |= gfp;
	}
	return row;
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

static void count_freer(struct world *w, uint32_t by, enum call call)
{
	w->freed_by[by][call]++;
	w->free_rows[by][call] = true;
}

/* It is nobody's any more. */
static void ended(struct world *w, struct object *o, uint32_t by, enum call call)
{
	uint64_t age = units() - o->since;

	o->row->c.frees++;
	o->row->c.bytes_req_freed += o->req;
	o->row->c.bytes_alloc_freed += o->given;
	o->row->c.cross_cpu_frees += o->cpu != shim_cpu;
	o->row->c.temporary += age < TEMPORARY_UNITS;
	o->row->lifetimes[lifetime_bucket(age)]++;
	w->frees++;
	w->cpu_frees[call == (o->type == KMT_WIRE_CACHE ? CACHE_FREE : KFREE) ? shim_cpu : CPUS]++;
	count_freer(w, by, call);
}

/* 'of': the cache that the call names. */
static void freed(struct world *w, uint32_t i, uint32_t by, enum call call, struct kind *of)
{
	struct object *o = &w->pool[i];

	if (o->state == LIVE) {
		ended(w, o, by, call);
		set_state(w, o, UNKNOWN);
	} else if (o->state == AWAITING) {
		end_wait(w, o);
	} else if (o->state == OLDER) {
		set_state(w, o, UNKNOWN);
	} else {
		of = of ? of : asked(w, i);
		if (of)
			of->older_frees++;
		else
			w->no_cache++;
		if (w->own) {
			w->owns++;
		} else {
			w->unknown++;
			count_freer(w, by, call);
		}
	}
}

static void given_up(struct world *w, uint32_t i, uint32_t by)
{
	struct object *o = &w->pool[i];
	struct kind *of = asked(w, i);

	if (o->state == LIVE) {
		ended(w, o, by, GIVE_UP);
		o->row->c.given_up++;
		o->row->c.awaiting++;
		o->row->c.bytes_awaiting += o->given;
		o->since = units();
		set_state(w, o, AWAITING);
	} else if (o->state != UNKNOWN) {	/* again */
		w->rcu_unknown++;
	} else {
		if (of && of->cache.sheaf_capacity) {
			of->older_frees++;
			of->older_given++;
			w->free_rows[by][GIVE_UP] = true;
			set_state(w, o, OLDER);
		}
		*(w->own ? &w->owns : &w->rcu_unknown) += 1;
	}
}

/* ---- the events ---- */

static uint32_t any_freer(struct world *w, enum call call)
{
	return rnd(w, 2) ? rnd(w, SHARED_FREERS) : SHARED_FREERS + call;
}

static uint64_t any_gfp(struct world *w, uint32_t site)
{
	return (site % 2 ? GFP_ACCOUNT : 0) | 1u << rnd(w, 4);
}

static void do_alloc(struct world *w)
{
	uint32_t site = rnd(w, CALLERS), kind = rnd(w, KINDS), i = rnd(w, POOL);
	bool is_cache = kind >= KMALLOCS, fails = rnd(w, 100) == 0;
	struct kind *k = &w->kinds[kind];
	struct kmt_alloc a = {
		.call_site = caller(site), .addr = fails ? 0 : addr_of(i), .node = -1,
		.gfp = any_gfp(w, site),
		.cache = is_cache ? (uintptr_t)&k->cache : 0,
		/* requests differ within one bucket; a cache's event does not tell its sizes */
		.bytes_req = is_cache ? 0 : k->req - rnd(w, 20),
		.bytes_alloc = is_cache ? 0 : k->given,
		.type = is_cache ? KMT_WIRE_CACHE : KMT_WIRE_KMALLOC,
	};
	struct object as = {
		.req = is_cache ? k->req : a.bytes_req, .given = k->given, .type = a.type,
	};
	struct row *row = row_used(w, site, kind, false, a.gfp);

	if (fails)
		failed(w, row);
	else
		allocated(w, i, row, &as, is_cache ? k : asked(w, i));
	kmt_on_alloc(NULL, &a, is_cache ? KMT_PROG_CACHE_ALLOC : KMT_PROG_KMALLOC, w->ask,
		     kmt_flags);
}

/* Different ones, up to MANY. */
static uint32_t any_objects(struct world *w, uint32_t *ret_index, uint64_t *ret_addr)
{
	uint32_t n = rnd(w, 1000) ? rnd(w, 24) : MANY, at = rnd(w, POOL);

	for (uint32_t i = 0; i < n; i++) {
		ret_index[i] = (at + i * 7) % POOL;	/* no factor of POOL's */
		ret_addr[i] = addr_of(ret_index[i]);
	}
	return n;
}

/* How many of them are looked at; the rest is lost. */
static uint32_t looked_at(struct world *w, uint32_t n)
{
	if (n <= KMT_BULK_MAX)
		return n;
	w->lost += n - KMT_BULK_MAX;
	return KMT_BULK_MAX;
}

static void do_bulk_alloc(struct world *w)
{
	uint32_t site = rnd(w, CALLERS), kind = KMALLOCS + rnd(w, KINDS - KMALLOCS);
	struct kind *k = &w->kinds[kind];
	struct kmt_alloc a = {
		.call_site = caller(site), .cache = (uintptr_t)&k->cache, .gfp = any_gfp(w, site),
	};
	struct object as = { .req = k->req, .given = k->given, .type = KMT_WIRE_CACHE };
	struct row *row = row_used(w, site, kind, true, a.gfp);
	uint32_t index[MANY], n;
	uint64_t addr[MANY];

	n = any_objects(w, index, addr);
	if (!n)
		failed(w, row);
	for (uint32_t i = 0, seen = looked_at(w, n); i < seen; i++)
		allocated(w, index[i], row, &as, k);
	kmt_on_bulk_alloc(NULL, &a, (const void *)addr, n, rnd(w, 2));
}

static void do_free(struct world *w)
{
	uint32_t i = rnd(w, POOL), type = w->pool[i].type;
	/* now and then by the other call: kfree() of a cache's object */
	enum call call = (rnd(w, 10) ? type : !type) ? CACHE_FREE : KFREE;
	uint32_t by = any_freer(w, call);
	/* the event names the cache since Linux 6.1 */
	struct kind *of = call == CACHE_FREE && rnd(w, 2) ? &w->kinds[KMALLOCS] : NULL;

	freed(w, i, by, call, of);
	if (call == CACHE_FREE)
		kmt_on_free_of(KMT_WIRE_CACHE, KMT_PROG_CACHE_FREE, freer(by), addr_of(i),
			       of ? (uintptr_t)&of->cache : 0, w->ask, kmt_flags);
	else
		kmt_on_free_of(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, freer(by), addr_of(i), 0,
			       w->ask, kmt_flags);
}

static void do_bulk_free(struct world *w)
{
	struct kind *of = rnd(w, 2) ? &w->kinds[KMALLOCS + rnd(w, KINDS - KMALLOCS)] : NULL;
	enum call call = of ? BULK_OF_CACHE : BULK_ANY;
	uint32_t by = any_freer(w, call), index[MANY], n;
	uint64_t addr[MANY];

	n = any_objects(w, index, addr);
	for (uint32_t i = 0, seen = looked_at(w, n); i < seen; i++) {
		if (rnd(w, 50)) {
			freed(w, index[i], by, call, of);
		} else {
			addr[i] = 0;
			w->nulls++;
		}
	}
	kmt_on_bulk_free(freer(by), of ? (uintptr_t)&of->cache : 0, (const void *)addr, n,
			 rnd(w, 2), w->ask);
}

/* Now and then twice, or freed or its address handed out right away. */
static void do_give_up(struct world *w)
{
	uint32_t i = rnd(w, POOL), by = any_freer(w, GIVE_UP), times = rnd(w, 20) ? 1 : 2;

	while (times--) {
		given_up(w, i, by);
		kmt_on_give_up(freer(by), addr_of(i), w->ask);
	}
}

static void do_null_free(struct world *w)
{
	uint64_t null = rnd(w, 2) ? 0 : 16;

	if (rnd(w, 4))
		kmt_on_free(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, freer(0), null, 0, kmt_flags);
	else
		kmt_on_give_up(freer(0), null, w->ask);
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
	assert_int_equal(a->given_up, b->given_up);
	assert_int_equal(a->awaiting, b->awaiting);
	assert_int_equal(a->bytes_awaiting, b->bytes_awaiting);
	assert_int_equal(a->untracked, 0);
}

/* The model's rows of a call site and kind: of single and of bulk allocations, told by no key. */
static struct row *rows_of(struct world *w, const struct kmt_site_key *key)
{
	uint32_t site = (key->call_site - caller(0)) / 0x123;

	assert_true(site < CALLERS);
	for (int k = 0; k < KINDS; k++)
		if (w->kinds[k].given == key->size && (k >= KMALLOCS) == key->type)
			return w->rows[site][k];
	fail_msg("no such row");
	return NULL;
}

struct walk {
	struct world *w;
	uint64_t n[OLDER + 1];
};

static int on_object(void *ctx, const struct kmt_snap_object *so)
{
	struct walk *walk = ctx;
	uint32_t i = (so->addr - addr_of(0)) / 64;
	const struct object *o = &walk->w->pool[i];

	assert_true(i < POOL);
	assert_int_equal(o->state, so->awaiting ? AWAITING : LIVE);
	assert_int_equal(so->bytes_req, o->req);
	assert_int_equal(so->cpu, o->cpu);
	assert_int_equal(so->birth_ns, o->since << KMT_TIME_UNIT_SHIFT);
	if (!o->row->index)
		o->row->index = so->site + 1;
	assert_int_equal(so->site + 1, o->row->index);
	walk->n[o->state]++;
	return 0;
}

static void compare_site(struct world *w, const struct kmt_snap_site *s)
{
	struct row *rows = rows_of(w, &s->key), *row = NULL;

	for (int i = 0; i < 2; i++)
		if (rows[i].index == s->index + 1)
			row = &rows[i];
	/* no object has named it yet: it is the one there is */
	for (int i = 0; i < 2 && !row; i++)
		if (rows[i].is_used && !rows[!i].is_used)
			row = &rows[i];
	if (!row)
		return;
	assert_true(row->is_used);
	compare_counts(&s->counts, &row->c);
	assert_int_equal(s->gfp, row->gfp);
	assert_memory_equal(s->lifetimes, row->lifetimes, sizeof(s->lifetimes));
}

static void compare_freers(struct world *w, const struct kmt_snapshot *snap)
{
	uint64_t by[FREERS][2] = { 0 };
	size_t n = 0;

	for (int i = 0; i < FREERS * CALLS; i++) {
		enum call call = i % CALLS;

		n += w->free_rows[i / CALLS][call];
		by[i / CALLS][call == CACHE_FREE || call == BULK_OF_CACHE] +=
			w->freed_by[i / CALLS][call];
	}
	assert_int_equal(snap->n_free_sites, n);
	for (size_t i = 0; i < snap->n_free_sites; i++) {
		const struct kmt_snap_free_site *f = &snap->free_sites[i];

		by[(f->call_site - freer(0)) / 0x321][f->type] -= f->frees;
	}
	for (int i = 0; i < FREERS; i++)
		assert_true(!by[i][0] && !by[i][1]);
}

static void compare_older(struct world *w, const struct kmt_snapshot *snap)
{
	size_t n = w->no_cache != 0;

	for (size_t i = 0; i < snap->n_older; i++) {
		const struct kmt_snap_older *o = &snap->older[i];
		const struct kind *k;

		if (!o->cache) {
			assert_int_equal(o->frees, w->no_cache);
			continue;
		}
		k = &w->kinds[o->cache[strlen("cache-")] - '0'];
		assert_int_equal(o->frees, k->older_frees);
		assert_int_equal(o->own_allocs, k->own_allocs);
		assert_int_equal(o->given_up, k->older_given);
	}
	for (int i = 0; i < KINDS; i++)
		n += w->kinds[i].older_frees || w->kinds[i].own_allocs;
	assert_int_equal(snap->n_older, n);
}

static void compare_cpus(struct world *w, const struct kmt_snapshot *snap)
{
	uint64_t allocs[CPUS + 1] = { 0 }, frees[CPUS + 1] = { 0 };

	for (size_t i = 0; i < snap->n_cpus; i++) {
		const struct kmt_snap_cpu *c = &snap->cpus[i];

		allocs[c->cpu < CPUS ? c->cpu : CPUS] += c->counts.allocs;
		frees[c->cpu < CPUS ? c->cpu : CPUS] += c->counts.frees;
	}
	assert_memory_equal(allocs, w->cpu_allocs, sizeof(allocs));
	assert_memory_equal(frees, w->cpu_frees, sizeof(frees));
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct walk walk = { .w = ctx };
	struct world *w = ctx;
	size_t n = 0;

	assert_int_equal(snap->each_object(snap->objects_ctx, on_object, &walk), 0);
	assert_int_equal(walk.n[LIVE], w->n[LIVE]);
	assert_int_equal(walk.n[AWAITING], w->n[AWAITING]);
	for (size_t i = 0; i < snap->n_sites; i++)
		compare_site(w, &snap->sites[i]);
	for (int i = 0; i < CALLERS * KINDS * 2; i++)
		n += w->rows[i / 2 / KINDS][i / 2 % KINDS][i % 2].is_used;
	assert_int_equal(snap->n_sites, n);
	compare_cpus(w, snap);
	compare_freers(w, snap);
	compare_older(w, snap);
	return 0;
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
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_FREES_NO_CACHE), w->no_cache);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_NULL_FREES), w->nulls);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_UNTRACED_FREES), w->untraced);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_RCU_UNKNOWN), w->rcu_unknown);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_FAILED_ALLOCS), w->failures);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_OWN), w->owns);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_LOST_OBJECTS), w->lost);
	assert_int_equal(kmt_bpf_count(&w->b, KMT_CNT_LOST_SITES), 0);
	assert_int_equal(kmt_bpf_lost_caches(&w->b), 0);
}

static void one_event(struct world *w)
{
	pass_time(w);
	switch (rnd(w, 200)) {
	case 0 ... 9:
		do_null_free(w);
		break;
	case 10 ... 89:
		do_alloc(w);
		break;
	case 90 ... 93:
		do_bulk_alloc(w);
		break;
	case 94 ... 97:
		do_bulk_free(w);
		break;
	case 98 ... 129:
		do_give_up(w);
		break;
	default:
		do_free(w);
	}
}

static void test_random_events(void **state)
{
	static struct world w;

	asked_world = &w;
	shim_cache_of = answer;
	kmt_own_tgid = OWN_TGID;
	kmt_awake = 1;
	for (uint32_t seed = 1; seed <= 8; seed++) {
		world_init(&w, seed * 7919);
		w.ask = seed % 2;
		for (int i = 0; i < 60000; i++) {
			one_event(&w);
			if (i < 300 || i % 5000 == 0)
				compare(&w);
		}
		compare(&w);
		shim_done();
	}
	kmt_awake = kmt_own_tgid = 0;
	shim_cache_of = NULL;
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
	kmt_own_tgid = OWN_TGID;
	kmt_awake = 1;
	shim_cpu = 0;
	shim.pid_tgid = 1ull << 32 | 1;
	kmt_on_alloc(NULL, &a, KMT_PROG_KMALLOC, 0, kmt_flags);
	shim.pid_tgid = (uint64_t)OWN_TGID << 32 | OWN_TGID;
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

/* A process that has the number of a reader that was killed is not that reader. */
static void test_another_with_our_number(void **state)
{
	static struct world w;
	struct kmt_alloc a = {
		.call_site = caller(0), .addr = addr_of(0), .bytes_req = 50, .bytes_alloc = 64,
		.type = KMT_WIRE_KMALLOC,
	};
	uint64_t allocs, frees;

	world_init(&w, 1);
	kmt_own_tgid = OWN_TGID;
	kmt_own_start = 1000;
	kmt_awake = 1;
	shim_cpu = 0;
	shim.pid_tgid = (uint64_t)OWN_TGID << 32 | OWN_TGID;
	shim.task.start_time = 2000;
	kmt_on_alloc(NULL, &a, KMT_PROG_KMALLOC, 0, kmt_flags);
	kmt_bpf_totals(&w.b, &allocs, &frees);
	assert_int_equal(allocs, 1);
	assert_int_equal(kmt_bpf_count(&w.b, KMT_CNT_OWN), 0);
	shim.task.start_time = 1000;
	a.addr = addr_of(1);
	kmt_on_alloc(NULL, &a, KMT_PROG_KMALLOC, 0, kmt_flags);
	kmt_bpf_totals(&w.b, &allocs, &frees);
	assert_int_equal(allocs, 1);
	assert_int_equal(kmt_bpf_count(&w.b, KMT_CNT_OWN), 1);
	kmt_awake = kmt_own_tgid = 0;
	kmt_own_start = 0;
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
		cmocka_unit_test(test_another_with_our_number),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
