// SPDX-License-Identifier: GPL-2.0-only
/*
 * The merge of the per-CPU rings: rings in ordinary memory, filled as the
 * kernel fills them (reserve, write, commit), against a plain sort by time.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/bpf_priv.h"

#define MAX_CPUS 64
#define HOUR_NS 3600000000000ull

/* One record as the test knows it; 'order' is the time by which it must be merged. */
struct known {
	uint64_t id, ts, order;
	uint32_t cpu;
	uint8_t op;
	bool shown;		/* at some drain it was free to go */
};

struct writer {
	unsigned long consumer, producer;
};

struct world {
	struct kmt_bpf b;
	struct kmt_bpf_ring rings[MAX_CPUS];
	struct kmt_bpf_ring *heap[MAX_CPUS];
	struct writer w[MAX_CPUS];
	struct kmt_cpu cpus[MAX_CPUS];
	struct kmt_wire_cache caches[16];
	struct kmt_stack stacks[4];
	/* what the sink got */
	struct known *got;
	size_t n_got, room;
	uint64_t lost[KMT_LOSS_MAX];
	struct kmt_event ev;		/* the last one */
	struct kmt_lost lo;
	size_t fail_at;			/* the sink's error comes with this record; 0 = never */
	size_t early_back;		/* records the consumer had given back at the last event */
};

static void *map_twice(size_t size)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);
	uint8_t *p;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	p = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	for (int i = 0; i < 2; i++)
		assert_ptr_not_equal(mmap(p + i * size, size, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_FIXED, fd, 0), MAP_FAILED);
	close(fd);
	return p;
}

static struct world *world_new(uint32_t cpus, size_t ring)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->b.plan = (struct kmt_bpf_plan) { .cpus = cpus, .caches = 16, .stacks = 4, .emit = true };
	w->b.rings = w->rings;
	w->b.heap = w->heap;
	w->b.n_rings = cpus;
	w->b.tables = (const uint8_t *)w->cpus;
	w->b.plan.cpu_stride = sizeof(struct kmt_cpu);
	w->b.caches = w->caches;
	w->b.stacks = w->stacks;
	for (uint32_t i = 0; i < cpus; i++)
		w->rings[i] = (struct kmt_bpf_ring) {
			.fd = -1, .data = map_twice(ring), .size = ring, .cpu = i,
			.consumer = &w->w[i].consumer, .producer = &w->w[i].producer,
		};
	return w;
}

static void world_free(struct world *w)
{
	for (size_t i = 0; i < w->b.n_rings; i++)
		munmap((void *)w->rings[i].data, 2 * w->rings[i].size);
	kmt_kmalloc_names_free(w->b.kmalloc_names);
	free(w->got);
	free(w);
}

/* ---- the kernel's half: kernel/bpf/ringbuf.c in few words ---- */

static void *reserve(struct world *w, uint32_t cpu, size_t size)
{
	struct kmt_bpf_ring *r = &w->rings[cpu];
	struct writer *wr = &w->w[cpu];
	size_t len = (size + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
	uint8_t *at = (uint8_t *)r->data + wr->producer % r->size;

	if (wr->producer + len - wr->consumer > r->size - 1)
		return NULL;
	memset(at, 0xa5, len);
	*(uint32_t *)at = size | BPF_RINGBUF_BUSY_BIT;
	__atomic_store_n(&wr->producer, wr->producer + len, __ATOMIC_RELEASE);
	return at + BPF_RINGBUF_HDR_SZ;
}

static void commit(void *rec, bool discard)
{
	uint32_t *len = (uint32_t *)((uint8_t *)rec - BPF_RINGBUF_HDR_SZ);
	uint32_t v = *len & ~BPF_RINGBUF_BUSY_BIT;

	__atomic_store_n(len, discard ? v | BPF_RINGBUF_DISCARD_BIT : v, __ATOMIC_RELEASE);
}

static const size_t sizes[] = { 64, 40, 64 + 24, 40 + 24, 32 };
static const uint8_t ops[] = {
	KMT_REC_ALLOC, KMT_REC_FREE, KMT_REC_ALLOC, KMT_REC_FREE, KMT_REC_OVERFLOW,
};

static void fill(void *p, unsigned kind, uint64_t ts, uint64_t id)
{
	struct kmt_rec_overflow *o = p;
	struct kmt_rec *rec = p;

	memset(p, 0, sizes[kind]);
	rec->size = sizes[kind];
	rec->op = ops[kind];
	rec->ts_ns = ts;
	if (ops[kind] == KMT_REC_OVERFLOW)
		o->lost_ring = id;
	else
		rec->addr = id;
}

/* Reserve, fill, commit. */
static void put(struct world *w, uint32_t cpu, unsigned kind, uint64_t ts, uint64_t id)
{
	void *p = reserve(w, cpu, sizes[kind]);

	assert_non_null(p);
	fill(p, kind, ts, id);
	commit(p, false);
}

/* ---- the sink ---- */

static int note(struct world *w, struct known k)
{
	if (w->n_got == w->room) {
		w->room = w->room ? 2 * w->room : 1024;
		w->got = realloc(w->got, w->room * sizeof(*w->got));
		assert_non_null(w->got);
	}
	w->got[w->n_got++] = k;
	w->early_back = w->w[0].consumer / (64 + 8);
	return w->fail_at == w->n_got ? -EPIPE : 0;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct world *w = ctx;

	w->ev = *ev;
	assert_true(ev->has_time);
	return note(w, (struct known) {
		.id = ev->addr, .ts = ev->ts_ns, .cpu = ev->cpu,
		.op = ev->op == KMT_OP_ALLOC ? KMT_REC_ALLOC : KMT_REC_FREE,
	});
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct world *w = ctx;

	w->lo = *lost;
	w->lost[lost->reason] += lost->events;
	if (lost->cpu == UINT32_MAX)	/* not from the stream */
		return 0;
	return note(w, (struct known) {
		.id = lost->events, .ts = lost->ts_ns, .cpu = lost->cpu, .op = KMT_REC_OVERFLOW,
	});
}

static int drain(struct world *w, bool final)
{
	struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = w };

	return kmt_bpf_drain(&w->b, &sink, final);
}

/* ---- small cases ---- */

static void test_empty(void **state)
{
	struct world *w = world_new(3, 4096);

	assert_int_equal(drain(w, false), 0);
	assert_int_equal(drain(w, true), 0);
	assert_int_equal(w->n_got, 0);
	world_free(w);
}

static void test_two_rings_by_time(void **state)
{
	struct world *w = world_new(2, 4096);

	put(w, 0, 0, 10, 1);
	put(w, 0, 1, 40, 4);
	put(w, 1, 2, 20, 2);
	put(w, 1, 3, 30, 3);
	assert_int_equal(drain(w, false), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(w->got[i].id, i + 1);
	assert_int_equal(w->w[0].consumer, w->w[0].producer);
	assert_int_equal(w->w[1].consumer, w->w[1].producer);
	assert_int_equal(drain(w, false), 0);
	world_free(w);
}

/* A record of the future waits, and all behind it; the other ring goes on. */
static void test_bound(void **state)
{
	struct world *w = world_new(2, 4096);
	uint64_t later = kmt_monotonic_ns() + HOUR_NS;

	put(w, 0, 0, 10, 1);
	put(w, 0, 0, later, 3);
	put(w, 0, 0, 30, 4);
	put(w, 1, 0, 20, 2);
	assert_int_equal(drain(w, false), 2);
	assert_int_equal(w->w[0].consumer, 64 + 8);
	assert_int_equal(w->w[1].consumer, w->w[1].producer);
	assert_int_equal(drain(w, false), 0);
	assert_int_equal(drain(w, true), 2);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(w->got[i].id, i + 1);
	/* its own time is told, not the one it was merged by */
	assert_int_equal(w->got[3].ts, 30);
	assert_int_equal(w->w[0].consumer, w->w[0].producer);
	world_free(w);
}

/* A busy record holds back what is later than the last thing its ring has shown. */
static void test_busy(void **state)
{
	struct world *w = world_new(3, 4096);
	void *busy;

	put(w, 0, 0, 10, 1);
	busy = reserve(w, 0, 64);
	put(w, 0, 0, 25, 5);		/* interrupted the busy one */
	put(w, 1, 0, 5, 0);
	put(w, 1, 0, 20, 2);
	put(w, 2, 1, 30, 4);
	assert_int_equal(drain(w, false), 2);
	assert_int_equal(w->w[0].consumer, 64 + 8);
	assert_int_equal(drain(w, true), 0);
	fill(busy, 0, 28, 3);
	commit(busy, false);
	assert_int_equal(drain(w, false), 4);
	assert_int_equal(w->n_got, 6);
	assert_int_equal(w->got[0].id, 0);
	assert_int_equal(w->got[1].id, 1);
	assert_int_equal(w->got[2].id, 2);
	assert_int_equal(w->got[3].id, 3);
	assert_int_equal(w->got[4].id, 5);	/* behind 3, so not before it */
	assert_int_equal(w->got[5].id, 4);
	world_free(w);
}

static void test_busy_then_discarded(void **state)
{
	struct world *w = world_new(2, 4096);
	void *busy = reserve(w, 0, 40);

	put(w, 1, 0, 10, 1);
	assert_int_equal(drain(w, false), 0);	/* ring 0 has shown nothing yet */
	commit(busy, true);
	assert_int_equal(drain(w, false), 1);
	assert_int_equal(w->w[0].consumer, w->w[0].producer);
	world_free(w);
}

static void test_only_discarded(void **state)
{
	struct world *w = world_new(1, 4096);

	for (int i = 0; i < 1000; i++) {
		void *p = reserve(w, 0, 33);

		assert_non_null(p);
		commit(p, true);
		assert_int_equal(drain(w, false), 0);
		assert_int_equal(w->w[0].consumer, w->w[0].producer);
	}
	world_free(w);
}

/* The kernel gets its space back while a long drain is still going on. */
static void test_space_comes_back_early(void **state)
{
	struct world *w = world_new(1, 1 << 20);

	for (uint64_t i = 0; i < 10000; i++)
		put(w, 0, 0, 100 + i, i);
	assert_int_equal(drain(w, false), 10000);
	assert_in_range(w->early_back, 5000, 9999);
	world_free(w);
}

static void test_sink_error(void **state)
{
	struct world *w = world_new(2, 4096);

	for (uint64_t i = 0; i < 10; i++)
		put(w, i % 2, 0, 100 + i, i);
	w->fail_at = 4;
	assert_int_equal(drain(w, false), -EPIPE);
	assert_int_equal(w->n_got, 4);
	/* what the sink has seen is not shown again */
	assert_int_equal(drain(w, false), 6);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(w->got[i].id, i);
	world_free(w);
}

static void test_null_callbacks(void **state)
{
	struct world *w = world_new(1, 4096);
	struct kmt_sink sink = { 0 };

	put(w, 0, 0, 1, 1);
	put(w, 0, 4, 2, 5);
	assert_int_equal(kmt_bpf_drain(&w->b, &sink, true), 2);
	world_free(w);
}

/* What has an overflow record is told there, the rest once at the end. */
static void test_losses(void **state)
{
	struct world *w = world_new(2, 4096);
	struct kmt_rec_overflow *o;

	w->cpus[0].count[KMT_PROG_KFREE][KMT_CNT_LOST_RING] = 7;
	w->cpus[1].count[KMT_PROG_KMALLOC][KMT_CNT_LOST_RING] = 5;
	w->cpus[1].count[KMT_PROG_KMALLOC][KMT_CNT_LOST_OBJECTS] = 4;
	o = reserve(w, 1, sizeof(*o));
	*o = (struct kmt_rec_overflow) {
		.size = sizeof(*o), .op = KMT_REC_OVERFLOW, .ts_ns = 77, .lost_ring = 5,
		.lost_objects = 3,
	};
	commit(o, false);
	assert_int_equal(drain(w, false), 1);
	assert_int_equal(w->lost[KMT_LOSS_RING], 5);
	assert_int_equal(w->lost[KMT_LOSS_OBJECTS], 3);
	assert_int_equal(w->lo.cpu, 1);
	assert_int_equal(w->lo.ts_ns, 77);
	w->cpus[1].count[KMT_PROG_CACHE_ALLOC][KMT_CNT_LOST_SITES] = 2;
	w->cpus[1].count[KMT_PROG_CACHE_ALLOC][KMT_CNT_LOST_STACKS] = 9;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(drain(w, true), 0);
		assert_int_equal(w->lost[KMT_LOSS_RING], 12);
		assert_int_equal(w->lost[KMT_LOSS_OBJECTS], 4);
		assert_int_equal(w->lost[KMT_LOSS_SITES], 2);
		assert_int_equal(w->lost[KMT_LOSS_STACKS], 9);
	}
	world_free(w);
}

/* Of a full table no record tells: the reader does, while the run goes on. */
static void test_losses_without_record(void **state)
{
	struct world *w = world_new(2, 4096);

	w->cpus[0].count[KMT_PROG_CACHE_ALLOC][KMT_CNT_LOST_SITES] = 2;
	w->cpus[1].count[KMT_PROG_KMALLOC][KMT_CNT_LOST_SITES] = 3;
	assert_int_equal(drain(w, false), 0);
	assert_int_equal(w->lost[KMT_LOSS_SITES], 5);
	assert_int_equal(w->lo.cpu, UINT32_MAX);
	assert_int_equal(drain(w, true), 0);
	assert_int_equal(w->lost[KMT_LOSS_SITES], 5);
	world_free(w);
}

/* ---- what an event says ---- */

static void put_full_alloc(struct world *w, uint64_t cache, uint32_t stack)
{
	struct { struct kmt_rec_alloc a; struct kmt_rec_tail tail; } *p;

	p = reserve(w, 0, sizeof(*p));
	memset(p, 0, sizeof(*p));
	p->a.rec = (struct kmt_rec) {
		.size = sizeof(*p), .op = KMT_REC_ALLOC, .type = KMT_WIRE_KMALLOC, .pid = 4711,
		.ts_ns = 123456789, .call_site = 0xffffffff81234567, .addr = 0xffff888001234560,
		.cache = cache,
	};
	p->a.bytes_req = 3000;
	p->a.bytes_alloc = 4096;
	p->a.gfp = 0xdc0;
	p->a.node = 3;
	memcpy(p->tail.comm, "bash", 5);
	p->tail.stack = stack;
	commit(p, false);
	assert_int_equal(drain(w, false), 1);
}

static void test_alloc_event(void **state)
{
	struct world *w = world_new(1, 4096);
	/* the row where the kernel side would look first */
	uint64_t ptr = 0xffff888000042a00;
	uint32_t row = ((ptr * 0x9e3779b97f4a7c15) | 1) >> 40 & 15;

	w->caches[row].ptr = ptr;
	w->caches[row].state = KMT_SITE_READY;
	memcpy(w->caches[row].name, "kmalloc-rnd-05-4k", 18);
	w->stacks[1].depth = 2;
	w->stacks[1].ip[0] = 0x111;
	w->stacks[1].ip[1] = 0x222;
	put_full_alloc(w, ptr, 2);
	assert_int_equal(w->ev.op, KMT_OP_ALLOC);
	assert_int_equal(w->ev.type, KMT_TYPE_KMALLOC);
	assert_int_equal(w->ev.pid, 4711);
	assert_int_equal(w->ev.ts_ns, 123456789);
	assert_int_equal(w->ev.call_site, 0xffffffff81234567);
	assert_int_equal(w->ev.addr, 0xffff888001234560);
	assert_int_equal(w->ev.bytes_req, 3000);
	assert_int_equal(w->ev.bytes_alloc, 4096);
	assert_int_equal(w->ev.gfp, 0xdc0);
	assert_int_equal(w->ev.node, 3);
	assert_int_equal(w->ev.real_node, -1);
	assert_true(w->ev.has_task);
	assert_string_equal(w->ev.cache, "kmalloc-rnd-05-4k");
	assert_false(w->ev.cache_inferred);
	assert_int_equal(w->ev.n_ips, 2);
	assert_int_equal(w->ev.ips[1], 0x222);
	world_free(w);
}

/* No stack beyond the table, none that is only being written. */
static void test_stack_not_there(void **state)
{
	struct world *w = world_new(1, 4096);
	static const uint32_t bad[] = { 0, 1, 3, 5, UINT32_MAX };

	w->stacks[2].depth = KMT_STACK_DEPTH + 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_full_alloc(w, 0, bad[i]);
		assert_int_equal(w->ev.n_ips, 0);
		assert_null(w->ev.ips);
	}
	world_free(w);
}

static void test_inferred_cache(void **state)
{
	struct world *w = world_new(1, 4096);

	assert_int_equal(kmt_kmalloc_names_new(NULL, &w->b.kmalloc_names), 0);
	put_full_alloc(w, 0, 0);	/* nobody asked */
	assert_null(w->ev.cache);
	w->b.opts.want_cache = true;
	put_full_alloc(w, 0, 0);
	assert_string_equal(w->ev.cache, "kmalloc-4k");
	assert_true(w->ev.cache_inferred);
	world_free(w);
}

static void test_free_event(void **state)
{
	struct world *w = world_new(1, 4096);

	put(w, 0, 1, 50, 0xabc0);
	assert_int_equal(drain(w, false), 1);
	assert_int_equal(w->ev.op, KMT_OP_FREE);
	assert_int_equal(w->ev.addr, 0xabc0);
	assert_int_equal(w->ev.node, -1);
	assert_int_equal(w->ev.bytes_req, 0);
	assert_false(w->ev.has_task);
	assert_null(w->ev.cache);
	world_free(w);
}

/* ---- random streams ---- */

static uint32_t rnd(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static int by_order(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

#define MAX_BUSY 3	/* task, softirq, hardirq */

struct stream {
	struct world *w;
	struct known *put;
	size_t n_put;
	uint64_t now, next_id;
	uint32_t seed;
	/* reserved and not yet committed, by CPU: a stack, as interrupts nest */
	struct pending {
		void *rec;
		unsigned kind;
		uint64_t id;
		size_t slot;	/* its place in 'put' */
	} busy[MAX_CPUS][MAX_BUSY];
	unsigned n_busy[MAX_CPUS];
};

static void stream_begin(struct stream *s, uint32_t cpu)
{
	unsigned kind = rnd(&s->seed) % 5;
	struct pending *p;

	if (s->n_busy[cpu] == MAX_BUSY)
		return;
	p = &s->busy[cpu][s->n_busy[cpu]];
	p->rec = reserve(s->w, cpu, sizes[kind]);
	if (!p->rec)
		return;
	s->n_busy[cpu]++;
	p->kind = kind;
	p->id = s->next_id++;
	p->slot = s->n_put++;
	s->put[p->slot] = (struct known) { .id = p->id, .cpu = cpu, .op = 0xff };
}

/* The newest one on this CPU ends first; its time is now, whatever is in front of it. */
static void stream_end(struct stream *s, uint32_t cpu, bool discard)
{
	struct pending *p = &s->busy[cpu][--s->n_busy[cpu]];

	fill(p->rec, p->kind, ++s->now, p->id);
	commit(p->rec, discard);
	s->put[p->slot].ts = s->now;
	s->put[p->slot].op = discard ? 0xfe : ops[p->kind];
}

/* By which time each must be merged, from positions in its ring alone. */
static void stream_orders(struct stream *s, uint64_t *ret_bound, uint64_t blocked[MAX_CPUS])
{
	uint64_t last[MAX_CPUS] = { 0 };

	*ret_bound = UINT64_MAX;
	for (uint32_t i = 0; i < MAX_CPUS; i++)
		blocked[i] = UINT64_MAX;
	for (size_t i = 0; i < s->n_put; i++) {
		struct known *k = &s->put[i];

		if (k->op == 0xff && blocked[k->cpu] == UINT64_MAX) {
			blocked[k->cpu] = i;
			if (last[k->cpu] < *ret_bound)
				*ret_bound = last[k->cpu];
		}
		if (k->op >= 0xfe)
			continue;
		if (k->ts > last[k->cpu])
			last[k->cpu] = k->ts;
		k->order = last[k->cpu];
	}
}

/* Everything that may be shown must have been shown, and nothing else. */
static void stream_check(struct stream *s)
{
	uint64_t bound, blocked[MAX_CPUS];
	size_t want = 0;

	stream_orders(s, &bound, blocked);
	for (size_t i = 0; i < s->n_put; i++) {
		struct known *k = &s->put[i];

		if (k->op < 0xfe && i < blocked[k->cpu] && k->order <= bound)
			k->shown = true;
		want += k->shown;
	}
	assert_int_equal(s->w->n_got, want);
}

static void stream_compare(struct stream *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_put; i++)
		if (s->put[i].op < 0xfe)
			s->put[n++] = s->put[i];
	qsort(s->put, n, sizeof(s->put[0]), by_order);
	assert_int_equal(s->w->n_got, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(s->w->got[i].id, s->put[i].id);
		assert_int_equal(s->w->got[i].ts, s->put[i].ts);
		assert_int_equal(s->w->got[i].cpu, s->put[i].cpu);
		assert_int_equal(s->w->got[i].op, s->put[i].op);
	}
}

static void stream_run(uint32_t cpus, uint32_t seed, size_t steps)
{
	struct stream s = { .w = world_new(cpus, 4096), .now = 1000, .next_id = 1, .seed = seed };
	uint32_t burst = 0;

	s.put = calloc(steps, sizeof(s.put[0]));
	assert_non_null(s.put);
	for (size_t i = 0; i < steps; i++) {
		uint32_t cpu = rnd(&s.seed) % cpus, what = rnd(&s.seed) % 100;

		/* some CPUs are busier than others, for a while */
		if (rnd(&s.seed) % 64 == 0)
			burst = rnd(&s.seed) % cpus;
		if (what < 40)
			cpu = burst;
		if (what % 2 || !s.n_busy[cpu])
			stream_begin(&s, cpu);
		else
			stream_end(&s, cpu, rnd(&s.seed) % 10 == 0);
		if (rnd(&s.seed) % 100 == 0) {
			size_t before = s.w->n_got;
			int n = drain(s.w, false);

			assert_int_equal(n, s.w->n_got - before);
			stream_check(&s);
		}
	}
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		while (s.n_busy[cpu])
			stream_end(&s, cpu, false);
	assert_true(drain(s.w, true) >= 0);
	stream_check(&s);
	stream_compare(&s);
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		assert_int_equal(s.w->w[cpu].consumer, s.w->w[cpu].producer);
	world_free(s.w);
	free(s.put);
}

static void test_random_streams(void **state)
{
	static const uint32_t cpus[] = { 1, 2, 3, 5, 8, 17, 33, 64 };

	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++)
		for (uint32_t seed = 1; seed <= 5; seed++)
			stream_run(cpus[i], 7919 * seed + i, 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_two_rings_by_time),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_busy_then_discarded),
		cmocka_unit_test(test_only_discarded),
		cmocka_unit_test(test_space_comes_back_early),
		cmocka_unit_test(test_sink_error),
		cmocka_unit_test(test_null_callbacks),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_losses_without_record),
		cmocka_unit_test(test_alloc_event),
		cmocka_unit_test(test_stack_not_there),
		cmocka_unit_test(test_inferred_cache),
		cmocka_unit_test(test_free_event),
		cmocka_unit_test(test_random_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
