// SPDX-License-Identifier: GPL-2.0-only
/* Reads the mapped in-kernel tables while the programs run. */
#include "source/bpf_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/snapshot.h"
#include "symbol/cgroups.h"

/* Programs whose frees are of slab objects: not those of the other layers. */
static bool is_slab_prog(int prog)
{
	return prog <= KMT_PROG_CACHE_FREE || prog == KMT_PROG_BULK_FREE;
}

static const struct kmt_cpu *cpu_at(const struct kmt_bpf *b, uint32_t cpu)
{
	return (const void *)(b->tables + cpu * b->plan.cpu_stride);
}

static const struct kmt_site_cpu *hot_at(const struct kmt_bpf *b, uint32_t cpu, uint32_t site)
{
	return (const struct kmt_site_cpu *)(cpu_at(b, cpu) + 1) + site;
}

uint64_t kmt_bpf_count(const struct kmt_bpf *b, enum kmt_wire_counter c)
{
	uint64_t n = 0;

	for (uint32_t cpu = 0; cpu < b->plan.cpus; cpu++)
		for (int p = 0; p < KMT_PROG_MAX; p++)
			n += cpu_at(b, cpu)->count[p][c];
	return n;
}

void kmt_bpf_totals(const struct kmt_bpf *b, uint64_t *ret_allocs, uint64_t *ret_frees)
{
	uint64_t allocs = kmt_bpf_count(b, KMT_CNT_ALLOCS), frees = kmt_bpf_count(b, KMT_CNT_FREES);

	for (uint32_t i = 0; b->plan.count && i < b->plan.sites; i++) {
		const struct kmt_site_row *row = &b->sites[i];
		/* without an object table only the freeing sites know of frees */
		bool is_free = row->id.type == KMT_WIRE_FREE_SITE;

		if (!row->id.key)
			continue;
		frees += row->cold.frees_other;
		for (uint32_t cpu = 0; cpu < b->plan.cpus; cpu++) {
			allocs += hot_at(b, cpu, i)->allocs;
			if (is_free == !b->plan.track)
				frees += hot_at(b, cpu, i)->frees;
		}
	}
	*ret_allocs = allocs;
	*ret_frees = frees;
}

/* Site rows whose cache found no row in the cache table. */
uint64_t kmt_bpf_lost_caches(const struct kmt_bpf *b)
{
	uint64_t n = kmt_bpf_count(b, KMT_CNT_LOST_CACHES);

	for (uint32_t i = 0; b->plan.count && i < b->plan.sites; i++)
		n += b->sites[i].id.state && b->sites[i].id.cache && !b->sites[i].id.cache_row;
	return n;
}

/* The same hash and probing as kmt_cache_row() in bpf/sites.bpf.h. */
const struct kmt_wire_cache *kmt_bpf_cache(const struct kmt_bpf *b, uint64_t ptr)
{
	uint32_t at = ((ptr * 0x9e3779b97f4a7c15ull) | 1) >> 40;

	for (uint32_t i = 0; i < 16; i++) {
		const struct kmt_wire_cache *c = &b->caches[(at + i) & (b->plan.caches - 1)];

		if (c->ptr == ptr)
			return c->state == KMT_SITE_READY ? c : NULL;
		if (!c->ptr)
			return NULL;
	}
	return NULL;
}

/* Sums over the sites, by CPU: [(cpu + 1) * KMT_CPU_TYPES + type]; first: on no known CPU. */
static struct kmt_snap_cpu *cpu_of(struct kmt_snap_cpu *cpus, uint32_t cpu, unsigned type)
{
	uint32_t at = cpu + 1;	/* KMT_CPU_NONE: 0 */

	return &cpus[(size_t)at * KMT_CPU_TYPES +
		     (type < KMT_CPU_TYPES ? type : KMT_CPU_TYPES - 1)];
}

static void add_cpu_frees(const struct kmt_wire_site *id, const struct kmt_site_cpu *h,
			  uint64_t frees, struct kmt_cpu_counts *to)
{
	to->frees += frees;
	to->bytes_freed += frees * id->bytes_alloc;
	to->cross_cpu_frees += h->cross_cpu_frees;
	to->temporary += h->temporary;
}

static void add_cpu_allocs(const struct kmt_wire_site *id, uint64_t allocs, uint64_t slack,
			   struct kmt_cpu_counts *to)
{
	uint64_t given = allocs * id->bytes_alloc;

	to->allocs += allocs;
	to->bytes_alloc += given;
	to->bytes_req += id->type == KMT_WIRE_CACHE ? allocs * id->bytes_req : given - slack;
}

/* What several programs write has no CPU. */
static void add_cold(const struct kmt_wire_site *id, const struct kmt_site_cold *cold,
		     struct kmt_cpu_counts *to)
{
	uint64_t frees = cold->frees_other;

	to->frees += frees;
	to->bytes_freed += frees * id->bytes_alloc;
	to->cross_cpu_frees += cold->cross_cpu_other;
	to->temporary += cold->temporary_other;
}

static void read_counts(const struct kmt_bpf *b, uint32_t i, struct kmt_snap_cpu *cpus,
			struct kmt_counts *ret)
{
	const struct kmt_site_row *row = &b->sites[i];
	const struct kmt_site_cold *cold = &row->cold;
	const uint64_t given = row->id.bytes_alloc;
	uint64_t slack = 0, slack_freed, slack_lost;
	struct kmt_counts c = { 0 };

	/*
	 * What ends is read before what begins, so that frees never exceed
	 * allocations, and slack before the events it belongs to, so that it
	 * never exceeds their bytes.
	 */
	slack_freed = __atomic_load_n(&cold->slack_other, __ATOMIC_ACQUIRE) +
		      __atomic_load_n(&cold->slack_untraced, __ATOMIC_ACQUIRE);
	c.awaiting = __atomic_load_n(&cold->rcu_ended, __ATOMIC_ACQUIRE);
	c.given_up = __atomic_load_n(&cold->rcu_given, __ATOMIC_ACQUIRE);
	c.awaiting = kmt_sat_sub(c.given_up, c.awaiting);
	c.bytes_awaiting = c.awaiting * given;
	slack_lost = __atomic_load_n(&cold->slack_lost, __ATOMIC_ACQUIRE);
	for (uint32_t cpu = 0; cpu < b->plan.cpus; cpu++) {
		const struct kmt_site_cpu *h = hot_at(b, cpu, i);
		uint64_t frees;

		slack_freed += __atomic_load_n(&h->slack_freed, __ATOMIC_ACQUIRE);
		frees = __atomic_load_n(&h->frees, __ATOMIC_ACQUIRE);
		c.frees += frees;
		add_cpu_frees(&row->id, h, frees, &cpu_of(cpus, cpu, row->id.type)->counts);
		c.cross_cpu_frees += h->cross_cpu_frees;
		c.temporary += h->temporary;
	}
	c.frees += __atomic_load_n(&cold->frees_other, __ATOMIC_ACQUIRE);
	c.cross_cpu_frees += cold->cross_cpu_other;
	c.temporary += cold->temporary_other;
	c.untraced_frees = cold->untraced_frees;
	add_cold(&row->id, cold, &cpu_of(cpus, KMT_CPU_NONE, row->id.type)->counts);
	c.untracked = cold->lost_objects;
	c.failures = cold->failures;
	for (uint32_t cpu = 0; cpu < b->plan.cpus; cpu++) {
		const struct kmt_site_cpu *h = hot_at(b, cpu, i);
		uint64_t mine = __atomic_load_n(&h->slack, __ATOMIC_ACQUIRE);
		uint64_t allocs = __atomic_load_n(&h->allocs, __ATOMIC_ACQUIRE);

		slack += mine;
		c.allocs += allocs;
		add_cpu_allocs(&row->id, allocs, mine, &cpu_of(cpus, cpu, row->id.type)->counts);
	}
	c.bytes_alloc = c.allocs * given;
	c.bytes_alloc_freed = (c.frees + c.untraced_frees) * given;
	c.bytes_alloc_untracked = c.untracked * given;
	if (row->id.type == KMT_WIRE_CACHE) {	/* constant per object: not summed event by event */
		c.bytes_req = c.allocs * row->id.bytes_req;
		c.bytes_req_freed = (c.frees + c.untraced_frees) * row->id.bytes_req;
		c.bytes_req_untracked = c.untracked * row->id.bytes_req;
	} else {
		c.bytes_req = c.bytes_alloc - slack;
		c.bytes_req_freed = c.bytes_alloc_freed - slack_freed;
		c.bytes_req_untracked = c.bytes_alloc_untracked - slack_lost;
	}
	*ret = c;
}

/* NULL: none, or a number that no cache has. */
static const struct kmt_wire_cache *cache_of(const struct kmt_bpf *b,
					     const struct kmt_wire_site *id)
{
	return id->cache_row && id->cache_row <= b->plan.caches ? &b->caches[id->cache_row - 1] :
								  NULL;
}

static uint8_t cache_state(const struct kmt_bpf *b, const struct kmt_wire_site *id)
{
	const struct kmt_wire_cache *c = cache_of(b, id);

	return c ? c->state : KMT_SITE_NEW;
}

/* What was in a cache when it was destroyed is followed no longer. */
static uint64_t close_counts(struct kmt_counts *c)
{
	uint64_t live = kmt_counts_live(c);

	c->bytes_req_untracked += kmt_counts_live_req(c);
	c->bytes_alloc_untracked += kmt_counts_live_alloc(c);
	c->untracked += live;
	return live;
}

/*
 * A row of a cache that was destroyed: its key becomes one that no call has, so
 * that a new cache at the old address gets rows of its own. Objects name their
 * row by its number, which stays.
 */
static void retire(const struct kmt_bpf *b, uint32_t i)
{
	struct kmt_wire_site *id = (struct kmt_wire_site *)&b->sites[i].id;

	if (cache_state(b, id) != KMT_SITE_GONE || id->is_retired)
		return;
	id->is_retired = 1;
	__atomic_store_n(&id->key, id->key ^ 2, __ATOMIC_RELEASE);
}

static const char *site_cache(const struct kmt_bpf *b, const struct kmt_wire_site *id,
			      bool *ret_inferred)
{
	*ret_inferred = false;
	if (cache_state(b, id) == KMT_SITE_READY || cache_state(b, id) == KMT_SITE_GONE)
		return cache_of(b, id)->name;
	if (id->type != KMT_WIRE_KMALLOC)
		return NULL;
	*ret_inferred = true;
	return kmt_kmalloc_name(b->kmalloc_names, id->bytes_alloc, id->gfp_class);
}

static void read_site(const struct kmt_bpf *b, uint32_t i, struct kmt_snap_cpu *cpus,
		      struct kmt_snap_site *s)
{
	const struct kmt_wire_site *id = &b->sites[i].id;

	s->index = i;
	s->gfp = id->gfp;
	s->key.type = id->type;
	s->key.migratetype = id->type == KMT_WIRE_PAGE ? (int8_t)id->gfp_class : 0;
	s->key.call_site = id->call_site;
	s->key.object_size = id->bytes_req;
	s->key.size = id->bytes_alloc;
	s->key.cache = site_cache(b, id, &s->key.cache_inferred);
	if (b->opts.key == KMT_BY_TASK) {
		s->key.by_task = true;
		s->key.tgid = id->who;
		s->key.comm = id->comm;
		s->key.call_site = 0;
	} else if (b->opts.key == KMT_BY_CGROUP) {
		s->key.by_cgroup = true;
		s->key.cgroup = id->who;
		s->key.cgroup_path = kmt_cgroups_path(b->cgroups, id->who);
		s->key.call_site = 0;
	} else if (b->opts.key == KMT_BY_STACK && id->who && id->who <= b->plan.stacks) {
		const struct kmt_stack *st = &b->stacks[id->who - 1];

		s->key.ips = (const uint64_t *)st->ip;
		s->key.n_ips = st->depth <= KMT_STACK_DEPTH ? st->depth : 0;
	}
	read_counts(b, i, cpus, &s->counts);
	if (b->plan.track && cache_state(b, id) == KMT_SITE_GONE)
		s->closed = close_counts(&s->counts);
	for (uint32_t shard = 0; b->plan.track && shard < b->plan.shards; shard++) {
		const struct kmt_lifetimes *l =
			(const struct kmt_lifetimes *)(b->lifetimes + shard * b->plan.shard_stride) + i;

		/* the kernel's unit is 8 of ours; what it cannot tell apart is in bucket 3 */
		for (int k = 0; k < KMT_LIFETIME_BUCKETS; k++)
			s->lifetimes[k + 3 < KMT_LIFETIMES ? k + 3 : KMT_LIFETIMES - 1] += l->n[k];
	}
}

static void read_free_site(const struct kmt_bpf *b, uint32_t i, struct kmt_snap_free_site *f)
{
	const struct kmt_wire_site *id = &b->sites[i].id;

	f->call_site = id->call_site;
	f->type = id->free_type;
	for (uint32_t cpu = 0; cpu < b->plan.cpus; cpu++)
		f->frees += hot_at(b, cpu, i)->frees;
}

/* The other way round than kmt_object_key() in bpf/objects.bpf.h. */
static uint64_t address_of(const struct kmt_wire_site *id, uint64_t key)
{
	if (id->type == KMT_WIRE_PAGE)
		return (key & ~KMT_KEY_MASK) >> KMT_KEY_PAGE_SHIFT <<
		       __builtin_ctzl(sysconf(_SC_PAGESIZE));
	if (id->type == KMT_WIRE_PERCPU)	/* its sign is in bit 59 */
		return (uint64_t)((int64_t)(key << 4) >> 4);
	return key;
}

/*
 * What the table says of an object, in user space's terms; false: it makes no sense, or its
 * cache is no more.
 */
static bool read_object(const struct kmt_bpf *b, uint64_t key, uint64_t what, uint64_t born,
			struct kmt_snap_object *ret)
{
	const struct kmt_wire_site *id;

	ret->site = what >> KMT_WHAT_SITE_SHIFT & KMT_WHAT_SITE_MASK;
	if (ret->site >= b->plan.sites)
		return false;
	id = &b->sites[ret->site].id;
	/* one older than the trace, which only waits for its free */
	if (cache_state(b, id) == KMT_SITE_GONE || id->type == KMT_WIRE_FREE_SITE)
		return false;
	ret->addr = address_of(id, key);
	ret->bytes_req = id->type == KMT_WIRE_CACHE ? id->bytes_req :
			 id->bytes_alloc - (what >> KMT_WHAT_SLACK_SHIFT);
	ret->birth_ns = ((what & KMT_WHAT_TIME_MASK) << 32 | born) << KMT_TIME_UNIT_SHIFT;
	ret->awaiting = what & KMT_WHAT_RCU;
	ret->cpu = what >> KMT_WHAT_CPU_SHIFT & KMT_WHAT_CPU_MASK;
	return true;
}

/* One slot: address, facts, and both again, so that a torn pair is never believed. */
static bool read_slot(const struct kmt_bpf *b, const struct kmt_bucket *bucket, int w,
		      struct kmt_snap_object *ret)
{
	uint64_t addr = __atomic_load_n(&bucket->addr[w], __ATOMIC_ACQUIRE);
	uint64_t what, born;

	if (!addr || (addr & KMT_ADDR_BUSY))
		return false;
	what = __atomic_load_n(&bucket->what[w], __ATOMIC_ACQUIRE);
	born = __atomic_load_n(&bucket->birth[w], __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&bucket->addr[w], __ATOMIC_ACQUIRE) != addr ||
	    __atomic_load_n(&bucket->what[w], __ATOMIC_ACQUIRE) != what)
		return false;
	return read_object(b, addr, what, born, ret);
}

struct hashed_walk {
	const struct kmt_bpf *b;
	int (*cb)(void *cb_ctx, const struct kmt_snap_object *o);
	void *cb_ctx;
};

static int on_hashed(void *ctx, uint64_t key, const struct kmt_hashed_object *h)
{
	struct hashed_walk *w = ctx;
	struct kmt_snap_object o = { 0 };

	return read_object(w->b, key, h->what, h->birth, &o) ? w->cb(w->cb_ctx, &o) : 0;
}

/* Most are: a look at all their slots is cheaper than one at each. */
static bool is_empty(const struct kmt_bucket *bucket)
{
	uint64_t any = 0;

	for (int w = 0; w < KMT_BUCKET_WAYS; w++)
		any |= __atomic_load_n(&bucket->addr[w], __ATOMIC_RELAXED);
	return !any;
}

static int each_object(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
		       void *cb_ctx)
{
	const struct kmt_bpf *b = ctx;
	struct hashed_walk walk = { .b = b, .cb = cb, .cb_ctx = cb_ctx };

	if (b->plan.hashed)
		return kmt_bpf_each_hashed(b, on_hashed, &walk);
	for (uint32_t i = 0; i < b->plan.buckets; i++) {
		if (is_empty(&b->objects[i]))
			continue;
		for (int w = 0; w < KMT_BUCKET_WAYS; w++) {
			struct kmt_snap_object o = { 0 };
			int err;

			if (!read_slot(b, &b->objects[i], w, &o))
				continue;
			err = cb(cb_ctx, &o);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Two caches may have one name: the session adds them up. */
static size_t read_older(const struct kmt_bpf *b, struct kmt_snap_older *v)
{
	uint64_t unknown = 0;
	size_t n = 0;

	for (uint32_t cpu = 0; cpu < b->plan.cpus; cpu++)
		for (int p = 0; p < KMT_PROG_MAX; p++)
			if (is_slab_prog(p))
				unknown += cpu_at(b, cpu)->count[p][KMT_CNT_FREES_NO_CACHE];
	for (uint32_t i = 0; i < b->plan.caches; i++) {
		const struct kmt_wire_cache *c = &b->caches[i];
		uint64_t frees = __atomic_load_n(&c->older_frees, __ATOMIC_ACQUIRE);
		uint64_t own = __atomic_load_n(&c->own_allocs, __ATOMIC_ACQUIRE);
		uint64_t given = __atomic_load_n(&c->older_given, __ATOMIC_ACQUIRE);

		if (c->state == KMT_SITE_READY && (frees || own))
			v[n++] = (struct kmt_snap_older){ .cache = c->name, .frees = frees,
							  .own_allocs = own,
							  .given_up = given };
	}
	if (unknown)
		v[n++] = (struct kmt_snap_older){ .frees = unknown };
	return n;
}

static size_t name_cpus(const struct kmt_bpf *b, struct kmt_snap_cpu *cpus)
{
	size_t n = ((size_t)b->plan.cpus + 1) * KMT_CPU_TYPES;

	for (size_t i = 0; i < n; i++) {
		cpus[i].cpu = (uint32_t)(i / KMT_CPU_TYPES) - 1;
		cpus[i].type = i % KMT_CPU_TYPES;
	}
	return n;
}

/* The rows in use of a table that is mostly empty: it is looked through once. NULL: no memory. */
static uint32_t *ready_sites(const struct kmt_bpf *b, size_t *ret_n)
{
	uint32_t *at = malloc(((size_t)b->plan.sites + 1) * sizeof(*at));
	size_t n = 0;

	for (uint32_t i = 0; at && i < b->plan.sites; i++)
		if (b->sites[i].id.state == KMT_SITE_READY)
			at[n++] = i;
	*ret_n = n;
	return at;
}

int kmt_bpf_snapshot(struct kmt_bpf *b, const struct kmt_sink *sink)
{
	size_t n;
	_cleanup_free_ uint32_t *ready = ready_sites(b, &n);
	_cleanup_free_ struct kmt_snap_site *sites = NULL;
	_cleanup_free_ struct kmt_snap_free_site *frees = NULL;
	_cleanup_free_ struct kmt_snap_older *older = NULL;
	_cleanup_free_ struct kmt_snap_cpu *cpus = NULL;
	struct kmt_snapshot snap = {
		.now_ns = b->stop_ns ? b->stop_ns : kmt_monotonic_ns(),
		.each_object = b->plan.track ? each_object : NULL,
		.objects_ctx = b,
	};

	/* what a row is of may change until it is read: both have room for all */
	sites = calloc(n + 1, sizeof(*sites));
	frees = calloc(n + 1, sizeof(*frees));
	older = calloc((size_t)b->plan.caches + 1, sizeof(*older));
	cpus = calloc(((size_t)b->plan.cpus + 1) * KMT_CPU_TYPES, sizeof(*cpus));
	if (!ready || !sites || !frees || !older || !cpus)
		return kmt_err_errno(-ENOMEM, "snapshot");
	for (size_t i = 0; i < n; i++) {
		retire(b, ready[i]);
		if (b->sites[ready[i]].id.type == KMT_WIRE_FREE_SITE)
			read_free_site(b, ready[i], &frees[snap.n_free_sites++]);
		else
			read_site(b, ready[i], cpus, &sites[snap.n_sites++]);
	}
	snap.sites = sites;
	snap.free_sites = frees;
	snap.has_older = b->plan.track;
	snap.n_older = snap.has_older ? read_older(b, older) : 0;
	snap.older = older;
	snap.n_cpus = name_cpus(b, cpus);
	snap.cpus = cpus;
	return sink->snapshot ? sink->snapshot(sink->ctx, &snap) : 0;
}

void kmt_bpf_place_tables(struct kmt_bpf *b)
{
	const struct kmt_bpf_plan *p = &b->plan;

	b->sites = (const void *)(b->tables + p->at_sites);
	b->lifetimes = b->tables + p->at_lifetimes;
	b->caches = (const void *)(b->tables + p->at_caches);
	b->stacks = (const void *)(b->tables + p->at_stacks);
	b->objects = (const void *)(b->tables + p->at_objects);
}

void kmt_bpf_quality(const struct kmt_bpf *b, struct kmt_quality *q)
{
	struct utsname u;
	uint64_t allocs, frees;
	uint64_t end = b->stop_ns ? b->stop_ns : kmt_monotonic_ns();

	snprintf(q->source, sizeof(q->source), "bpf");
	snprintf(q->mode, sizeof(q->mode), b->plan.emit ? "streamed" : "counted");
	if (!uname(&u))
		snprintf(q->kernel, sizeof(q->kernel), "%s", u.release);
	snprintf(q->functions, sizeof(q->functions), "%s", b->functions);
	q->window_ns = b->start_ns ? end - b->start_ns : 0;
	q->lost[KMT_LOSS_RING] = kmt_bpf_count(b, KMT_CNT_LOST_RING);
	q->lost[KMT_LOSS_SITES] = kmt_bpf_count(b, KMT_CNT_LOST_SITES);
	q->lost[KMT_LOSS_OBJECTS] = kmt_bpf_count(b, KMT_CNT_LOST_OBJECTS);
	q->lost[KMT_LOSS_STACKS] = kmt_bpf_count(b, KMT_CNT_LOST_STACKS);
	q->lost[KMT_LOSS_CACHES] = kmt_bpf_lost_caches(b);
	/* of the programs, where the kernel does not prevent it */
	q->recursion_misses = kmt_bpf_count(b, KMT_CNT_RECURSION);
	q->frees_before_start = kmt_bpf_count(b, KMT_CNT_FREES_UNKNOWN);
	q->given_up_before_start = kmt_bpf_count(b, KMT_CNT_RCU_UNKNOWN);
	q->untraced_frees = kmt_bpf_count(b, KMT_CNT_UNTRACED_FREES);
	q->failed_allocations = kmt_bpf_count(b, KMT_CNT_FAILED_ALLOCS);
	q->null_frees = kmt_bpf_count(b, KMT_CNT_NULL_FREES);
	q->filtered = kmt_bpf_count(b, KMT_CNT_FILTERED) + b->pages_left_out;
	q->own = kmt_bpf_count(b, KMT_CNT_OWN);
	kmt_bpf_totals(b, &allocs, &frees);
	q->events = allocs + frees + q->frees_before_start + q->failed_allocations -
		    b->pages_left_out;
	q->table_bytes = b->plan.total_bytes;
	q->objects_capacity = !b->plan.track ? 0 : b->plan.hashed ? b->plan.hashed_objects :
			      (uint64_t)b->plan.buckets * KMT_BUCKET_WAYS;
	q->clock_resolution_ns = b->plan.emit ? 1 : 1 << KMT_TIME_UNIT_SHIFT;
}
