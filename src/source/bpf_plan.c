// SPDX-License-Identifier: GPL-2.0-only
/* How large every in-kernel table is; decided once, from options and machine. */
#include "source/bpf_priv.h"

#include <errno.h>

#include "base/err.h"

#define KMT_SITES_DEFAULT	16384
#define KMT_SITES_LEAST		1024		/* by default, on the smallest machine */
#define KMT_SITES_MIN		16
#define KMT_SITES_MAX		(1u << 20)	/* an object's record has 20 bits for it */
#define KMT_CACHES		2048
#define KMT_STACKS		8192
#define KMT_BUDGET_SHARE	256		/* of RAM, for tables and rings */
#define KMT_BUDGET_MAX		(256ull << 20)
#define KMT_BUDGET_MIN		(4ull << 20)	/* a machine of less than 1 GiB gets this */
#define KMT_VALUE_MAX		((512ull << 20) - 4096)	/* offsets into a map stay below 512 MiB */
#define KMT_OBJECTS_LEAST	64u
#define KMT_OBJECTS_WANTED	65536		/* at least, where there is room */
#define KMT_RING_DEFAULT	(8ull << 20)
#define KMT_RING_LEAST		(64ull << 10)
#define KMT_RING_MAX		(1ull << 30)
#define KMT_SHARDS_MAX		8
#define KMT_HASHED_MAX		(1u << 25)
/*
 * What an entry of the kernel's hash map takes: 48 bytes of struct htab_elem,
 * key, value, and at most two bucket heads of 16 bytes.
 */
#define KMT_HASHED_BYTES	(48 + 8 + sizeof(struct kmt_hashed_object) + 32)

static uint64_t pow2_floor(uint64_t v)
{
	return v ? 1ull << (63 - __builtin_clzll(v)) : 0;
}

static uint64_t pow2_ceil(uint64_t v)
{
	return v <= 1 ? 1 : 1ull << (64 - __builtin_clzll(v - 1));
}

static uint64_t budget(const struct kmt_bpf_machine *m)
{
	uint64_t b = m->ram_bytes / KMT_BUDGET_SHARE;

	if (b > KMT_BUDGET_MAX)
		return KMT_BUDGET_MAX;
	return b < KMT_BUDGET_MIN ? KMT_BUDGET_MIN : b;
}

static uint64_t site_bytes(const struct kmt_bpf_plan *p, uint64_t sites)
{
	return sites * (sizeof(struct kmt_site_row) + p->cpus * sizeof(struct kmt_site_cpu) +
			(p->track ? p->shards * sizeof(struct kmt_lifetimes) : 0));
}

/* Everything decided so far. */
static uint64_t plan_bytes(const struct kmt_bpf_plan *p, const struct kmt_bpf_machine *m)
{
	uint64_t stack = sizeof(uint64_t) * KMT_STACK_DEPTH;

	return site_bytes(p, p->sites) + p->cpus * sizeof(struct kmt_cpu) +
	       p->caches * sizeof(struct kmt_wire_cache) +
	       p->stacks * sizeof(struct kmt_stack) +
	       (p->stacks > 1 ? p->cpus * KMT_PROG_MAX * stack : 0) +
	       p->buckets * sizeof(struct kmt_bucket) + p->hashed_objects * KMT_HASHED_BYTES +
	       p->ring_bytes * m->online_cpus;
}

/* What the defaults may still take: sizes that were asked for count up to the usual one. */
static uint64_t room(const struct kmt_bpf_plan *p, const struct kmt_bpf_machine *m)
{
	struct kmt_bpf_plan usual = *p;
	uint64_t used, b = budget(m);

	if (usual.sites > p->usual_sites)
		usual.sites = p->usual_sites;
	if (usual.ring_bytes > p->usual_ring_bytes)
		usual.ring_bytes = p->usual_ring_bytes;
	used = plan_bytes(&usual, m);
	return b > used ? b - used : 0;
}

static uint64_t sites_limit(const struct kmt_bpf_plan *p, const struct kmt_bpf_machine *m)
{
	uint64_t n = KMT_SITES_MAX;

	while (n > KMT_SITES_MIN &&
	       (site_bytes(p, n) > m->ram_bytes / 4 || site_bytes(p, n) > KMT_VALUE_MAX / 2))
		n /= 2;
	return n;
}

static int plan_sites(const struct kmt_source_opts *o, const struct kmt_bpf_machine *m,
		      struct kmt_bpf_plan *p)
{
	uint64_t limit;

	p->shards = pow2_floor(m->online_cpus);
	if (p->shards > KMT_SHARDS_MAX)
		p->shards = KMT_SHARDS_MAX;
	if (!p->track || !p->shards)
		p->shards = 1;
	limit = sites_limit(p, m);
	if (o->sites && (o->sites < KMT_SITES_MIN || o->sites > limit))
		return kmt_err(-EINVAL, "--sites must be %u to %llu here, not %llu", KMT_SITES_MIN,
			       (unsigned long long)limit, (unsigned long long)o->sites);
	p->sites = p->usual_sites = 1;
	if (!p->count)
		return 0;
	/* five eighths: with 256 CPUs that is 8192 rows */
	for (limit = KMT_SITES_DEFAULT; limit > KMT_SITES_LEAST;) {
		if (site_bytes(p, limit) <= room(p, m) / 8 * 5)
			break;
		limit /= 2;
	}
	p->usual_sites = limit;
	p->sites = o->sites ? pow2_ceil(o->sites) : limit;
	return 0;
}

static uint64_t aligned(uint64_t v)
{
	return (v + 63) & ~63ull;
}

/* One after the other in one map element, the largest last. */
static void place(struct kmt_bpf_plan *p)
{
	p->cpu_stride = sizeof(struct kmt_cpu) + (uint64_t)p->sites * sizeof(struct kmt_site_cpu);
	p->shard_stride = (p->track ? (uint64_t)p->sites : 1) * sizeof(struct kmt_lifetimes);
	p->at_sites = aligned(p->cpu_stride * p->cpus);
	p->at_lifetimes = aligned(p->at_sites + (uint64_t)p->sites * sizeof(struct kmt_site_row));
	p->at_caches = aligned(p->at_lifetimes + p->shard_stride * p->shards);
	p->at_stacks = aligned(p->at_caches + (uint64_t)p->caches * sizeof(struct kmt_wire_cache));
	p->at_objects = aligned(p->at_stacks + (uint64_t)p->stacks * sizeof(struct kmt_stack));
	p->table_bytes = p->at_objects + (uint64_t)p->buckets * sizeof(struct kmt_bucket);
}

/*
 * Whole groups. A table of less than one has no home for some objects, which
 * then count as lost: better than more rows than were asked for.
 */
static uint32_t buckets_for(uint64_t objects)
{
	uint64_t n = objects / KMT_BUCKET_WAYS;

	return n < KMT_GROUP ? n : n / KMT_GROUP * KMT_GROUP;
}

static uint64_t objects_in(const struct kmt_bpf_plan *p, uint64_t bytes)
{
	if (p->hashed)
		return bytes / KMT_HASHED_BYTES;
	return bytes / sizeof(struct kmt_bucket) * KMT_BUCKET_WAYS;
}

uint64_t kmt_bpf_plan_object_bytes(const struct kmt_bpf_plan *p)
{
	if (!p->track)
		return 0;
	return p->hashed ? p->hashed_objects * KMT_HASHED_BYTES :
			   (uint64_t)p->buckets * sizeof(struct kmt_bucket);
}

static int plan_objects(const struct kmt_source_opts *o, const struct kmt_bpf_machine *m,
			struct kmt_bpf_plan *p)
{
	uint64_t limit = KMT_VALUE_MAX, want, asked = o->objects;

	place(p);
	limit = p->hashed ? KMT_HASHED_MAX * KMT_HASHED_BYTES :
		limit > p->table_bytes ? limit - p->table_bytes : 0;
	limit = objects_in(p, limit < m->ram_bytes / 4 ? limit : m->ram_bytes / 4);
	if (p->hashed && o->objects_bytes)
		asked = objects_in(p, o->objects_bytes);
	if (asked && (asked < KMT_OBJECTS_LEAST || asked > limit))
		return kmt_err(-EINVAL, "--objects must be %u to %llu here, not %llu",
			       KMT_OBJECTS_LEAST, (unsigned long long)limit,
			       (unsigned long long)asked);
	if (!p->track) {
		p->buckets = KMT_GROUP;
		return 0;
	}
	/* four times today's population keeps the buckets a quarter full at worst */
	want = m->slab_objects < limit / 4 ? m->slab_objects * 4 : limit;
	if (want < KMT_OBJECTS_WANTED)
		want = KMT_OBJECTS_WANTED;
	if (want > objects_in(p, room(p, m)))
		want = objects_in(p, room(p, m));
	if (want > limit)
		want = limit;
	if (want < KMT_GROUP * KMT_BUCKET_WAYS)
		want = KMT_GROUP * KMT_BUCKET_WAYS;
	want = asked ? asked : want;
	p->buckets = p->hashed ? KMT_GROUP : buckets_for(want);
	p->hashed_objects = p->hashed ? want : 0;
	return 0;
}

static int plan_ring(const struct kmt_source_opts *o, const struct kmt_bpf_machine *m,
		     struct kmt_bpf_plan *p)
{
	uint64_t each = m->online_cpus ? m->online_cpus : 1;
	uint64_t limit = pow2_floor(m->ram_bytes / 4 / each), b;

	if (limit > KMT_RING_MAX)
		limit = KMT_RING_MAX;
	if (o->ring_bytes && (o->ring_bytes < m->page_size || o->ring_bytes > limit))
		return kmt_err(-EINVAL, "--buffer must be %llu to %llu KiB (for each of %u CPUs) "
			       "here, not %llu bytes", (unsigned long long)m->page_size >> 10,
			       (unsigned long long)limit >> 10, m->online_cpus,
			       (unsigned long long)o->ring_bytes);
	if (!p->emit)
		return 0;
	b = room(p, m) / each;
	/* the other half is for the objects */
	b = pow2_floor(p->track ? b / 2 : b);
	if (b > KMT_RING_DEFAULT)
		b = KMT_RING_DEFAULT;
	p->usual_ring_bytes = b < KMT_RING_LEAST ? KMT_RING_LEAST : b;
	p->ring_bytes = o->ring_bytes ? pow2_ceil(o->ring_bytes) : p->usual_ring_bytes;
	return 0;
}

static void plan_what(const struct kmt_source_opts *o, const struct kmt_bpf_machine *m,
		      struct kmt_bpf_plan *p)
{
	bool filtered = o->filter && !kmt_filter_empty(o->filter);
	bool stacks = o->want_stacks || o->key == KMT_BY_STACK;

	p->emit = o->mode == KMT_MODE_STREAMED;
	p->tail = p->emit && (o->want_task || stacks);
	if (p->emit) {
		/* a filtered stream shows the frees of what it showed being allocated */
		p->track = filtered || o->force_objects || o->books ||
			   (o->want_cache && !o->no_objects);
		/* a kmalloc's cache is asked for once per call site */
		p->count = p->track || o->want_cache;
	} else {
		p->count = true;
		p->track = !o->no_objects;
	}
	p->stacks = stacks ? KMT_STACKS : 1;
	while (p->stacks * sizeof(struct kmt_stack) > budget(m) / 4)
		p->stacks /= 2;
	p->caches = KMT_CACHES;
}

int kmt_bpf_make_plan(const struct kmt_source_opts *o, const struct kmt_bpf_machine *m,
		      struct kmt_bpf_plan *ret)
{
	struct kmt_bpf_plan p = { .cpus = m->possible_cpus, .hashed = m->hashed };
	int err;

	plan_what(o, m, &p);
	/* the objects take what the others leave */
	err = plan_sites(o, m, &p);
	err = err ? err : plan_ring(o, m, &p);
	err = err ? err : plan_objects(o, m, &p);
	if (err)
		return err;
	place(&p);
	if (p.table_bytes > KMT_VALUE_MAX)
		return kmt_err(-EINVAL, "the tables would need %llu MiB, and the kernel allows %llu",
			       (unsigned long long)p.table_bytes >> 20, KMT_VALUE_MAX >> 20);
	p.total_bytes = plan_bytes(&p, m);
	*ret = p;
	return 0;
}

static bool is_pow2(uint32_t v, uint32_t most)
{
	return v && !(v & (v - 1)) && v <= most;
}

int kmt_bpf_plan_again(struct kmt_bpf_plan *p)
{
	if (!p->cpus || p->cpus > KMT_WHAT_CPU_MASK + 1 || !is_pow2(p->sites, KMT_SITES_MAX) ||
	    !is_pow2(p->caches, KMT_CACHES) || !is_pow2(p->stacks, KMT_STACKS) ||
	    !is_pow2(p->shards, KMT_SHARDS_MAX) || p->hashed_objects > KMT_HASHED_MAX ||
	    p->buckets > KMT_VALUE_MAX / sizeof(struct kmt_bucket))
		return -EINVAL;
	place(p);
	return p->table_bytes > KMT_VALUE_MAX ? -EINVAL : 0;
}
