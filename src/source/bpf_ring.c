// SPDX-License-Identifier: GPL-2.0-only
/*
 * One order out of one ring per CPU.
 *
 * A record's time is read after its space was reserved. So if we take a time
 * T and look at every ring's producer position afterwards, each record with a
 * time before T is inside what we see: all records up to T can be handed on,
 * merged by time, and nothing earlier can turn up later. A record that is
 * reserved but not yet committed (its CPU was interrupted) stops its ring and
 * holds back everything later than what that ring has shown.
 */
#include "source/bpf_priv.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "source/pages.h"

uint64_t kmt_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static const struct kmt_rec *record_at(const struct kmt_bpf_ring *r)
{
	return (const void *)(r->data + (r->pos & (r->size - 1)) + BPF_RINGBUF_HDR_SZ);
}

static uint64_t record_ns(const struct kmt_rec *rec)
{
	/* every record has its time at the same place */
	return rec->ts_ns;
}

enum ring_state { RING_EMPTY, RING_BUSY, RING_READY };

static enum ring_state ring_look(struct kmt_bpf_ring *r)
{
	const uint32_t *len;
	uint32_t v;

	while (r->pos < r->end) {
		len = (const uint32_t *)(r->data + (r->pos & (r->size - 1)));
		v = __atomic_load_n(len, __ATOMIC_ACQUIRE);
		if (v & BPF_RINGBUF_BUSY_BIT)
			return RING_BUSY;
		if (!(v & BPF_RINGBUF_DISCARD_BIT))
			return RING_READY;
		r->pos += ((v & ~BPF_RINGBUF_DISCARD_BIT) + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
	}
	return RING_EMPTY;
}

static void ring_next(struct kmt_bpf_ring *r)
{
	uint32_t v = *(const uint32_t *)(r->data + (r->pos & (r->size - 1)));

	r->pos += (v + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
}

/* An interrupt between reservation and clock can put a later time first: keep each ring sorted. */
static uint64_t ring_time(const struct kmt_bpf_ring *r)
{
	uint64_t ns = record_ns(record_at(r));

	return ns > r->last_ns ? ns : r->last_ns;
}

static void heap_down(struct kmt_bpf *b, size_t i)
{
	for (;;) {
		size_t least = i, l = 2 * i + 1, r = l + 1;
		struct kmt_bpf_ring *t;

		if (l < b->n_heap && ring_time(b->heap[l]) < ring_time(b->heap[least]))
			least = l;
		if (r < b->n_heap && ring_time(b->heap[r]) < ring_time(b->heap[least]))
			least = r;
		if (least == i)
			return;
		t = b->heap[i];
		b->heap[i] = b->heap[least];
		b->heap[least] = t;
		i = least;
	}
}

/* Look at every ring; returns the time up to which records may be handed on. */
static uint64_t look_at_rings(struct kmt_bpf *b, bool final)
{
	uint64_t bound = final ? UINT64_MAX : kmt_monotonic_ns();

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	b->n_heap = 0;
	for (size_t i = 0; i < b->n_rings; i++) {
		struct kmt_bpf_ring *r = &b->rings[i];

		r->end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
		switch (ring_look(r)) {
		case RING_READY:
			b->heap[b->n_heap++] = r;
			break;
		case RING_BUSY:
			if (r->last_ns < bound)
				bound = r->last_ns;
			break;
		case RING_EMPTY:
			break;
		}
	}
	for (size_t i = b->n_heap / 2; i-- > 0;)
		heap_down(b, i);
	return bound;
}

/* kmalloc events carry no cache; where the kernel could not tell it, sizes and flags do. */
static void infer_cache(const struct kmt_bpf *b, struct kmt_event *ev)
{
	if (ev->cache || ev->type != KMT_TYPE_KMALLOC || !b->opts.want_cache)
		return;
	ev->cache = kmt_kmalloc_name(b->kmalloc_names, ev->bytes_alloc,
				     kmt_kmalloc_gfp_family(&b->kmalloc_gfp, ev->gfp));
	ev->cache_inferred = ev->cache;
}

/* The order of an allocation follows from its size. */
static void fill_page(const struct kmt_rec *rec, struct kmt_event *ev)
{
	if (rec->op == KMT_REC_FREE) {
		ev->order = rec->cache < INT8_MAX ? (int8_t)rec->cache : -1;
		return;
	}
	ev->migratetype = rec->cache < INT8_MAX ? (int8_t)rec->cache : -1;
	ev->order = (int8_t)(__builtin_ctzll(ev->bytes_alloc) - __builtin_ctzl(getpagesize()));
}

static void fill_event(struct kmt_bpf *b, const struct kmt_bpf_ring *r, const struct kmt_rec *rec,
		       struct kmt_event *ev)
{
	const struct kmt_rec_alloc *a = (const void *)rec;
	size_t base = rec->op == KMT_REC_ALLOC ? sizeof(*a) : sizeof(*rec);
	const struct kmt_wire_cache *c = rec->cache && rec->type <= KMT_WIRE_CACHE ?
					 kmt_bpf_cache(b, rec->cache) : NULL;

	*ev = (struct kmt_event) {
		.op = rec->op == KMT_REC_ALLOC ? KMT_OP_ALLOC :
		      rec->op == KMT_REC_RCU ? KMT_OP_GIVE_UP : KMT_OP_FREE,
		.type = rec->type,
		.has_time = true,
		.node = -1,
		.real_node = -1,
		.order = -1,
		.migratetype = -1,
		.cpu = r->cpu,
		.pid = rec->pid,
		.ts_ns = rec->ts_ns,
		.call_site = rec->call_site,
		.addr = rec->addr,
		.cache = c ? c->name : NULL,
	};
	if (rec->op == KMT_REC_ALLOC) {
		ev->node = a->node;
		ev->bytes_req = a->bytes_req;
		ev->bytes_alloc = a->bytes_alloc;
		ev->gfp = a->gfp;
		infer_cache(b, ev);
	}
	if (rec->type == KMT_WIRE_PAGE)
		fill_page(rec, ev);
	if (rec->size >= base + sizeof(struct kmt_rec_tail)) {
		const struct kmt_rec_tail *t = (const void *)((const uint8_t *)rec + base);
		const struct kmt_stack *st = t->stack && t->stack <= b->plan.stacks ?
					     &b->stacks[t->stack - 1] : NULL;

		ev->has_task = true;
		ev->comm = t->comm;
		if (st && st->depth && st->depth <= KMT_STACK_DEPTH) {
			ev->ips = (const uint64_t *)st->ip;
			ev->n_ips = st->depth;
		}
	}
}

static int tell_lost(struct kmt_bpf *b, const struct kmt_sink *sink, enum kmt_loss reason,
		     uint64_t events, uint32_t cpu, uint64_t ns)
{
	struct kmt_lost lost = { .reason = reason, .cpu = cpu, .events = events, .ts_ns = ns };

	if (!events)
		return 0;
	b->told[reason] += events;
	return sink->lost ? sink->lost(sink->ctx, &lost) : 0;
}

static int deliver(struct kmt_bpf *b, const struct kmt_bpf_ring *r, const struct kmt_sink *sink)
{
	const struct kmt_rec *rec = record_at(r);
	struct kmt_event ev;
	int err;

	if (rec->op == KMT_REC_OVERFLOW) {
		const struct kmt_rec_overflow *o = (const void *)rec;

		err = tell_lost(b, sink, KMT_LOSS_RING, o->lost_ring, r->cpu, o->ts_ns);
		return err ? err : tell_lost(b, sink, KMT_LOSS_OBJECTS, o->lost_objects, r->cpu,
					     o->ts_ns);
	}
	fill_event(b, r, rec, &ev);
	if (b->pages && ev.type == KMT_TYPE_PAGES && !kmt_pages_pass(b->pages, &ev)) {
		b->pages_left_out++;
		return 0;
	}
	return sink->event ? sink->event(sink->ctx, &ev) : 0;
}

static void give_back(struct kmt_bpf *b)
{
	for (size_t i = 0; i < b->n_rings; i++)
		__atomic_store_n(b->rings[i].consumer, b->rings[i].pos, __ATOMIC_RELEASE);
}

#define KMT_TELL_EVERY_NS 100000000ull

/* Whatever was lost and has no record in the stream: told now and then, and at the end. */
static int tell_rest(struct kmt_bpf *b, const struct kmt_sink *sink, bool final)
{
	/* the last two the programs tell themselves, as soon as there is room */
	static const struct { enum kmt_loss reason; enum kmt_wire_counter count; } rows[] = {
		{ KMT_LOSS_SITES, KMT_CNT_LOST_SITES },
		{ KMT_LOSS_STACKS, KMT_CNT_LOST_STACKS },
		{ KMT_LOSS_RING, KMT_CNT_LOST_RING },
		{ KMT_LOSS_OBJECTS, KMT_CNT_LOST_OBJECTS },
	};
	const uint64_t now = kmt_monotonic_ns();
	int err = 0;

	if (!final && now < b->next_tell_ns)
		return 0;
	b->next_tell_ns = now + KMT_TELL_EVERY_NS;
	for (size_t i = 0; !err && i < (final ? 4 : 2); i++) {
		uint64_t n = kmt_bpf_count(b, rows[i].count);

		if (n > b->told[rows[i].reason])
			err = tell_lost(b, sink, rows[i].reason, n - b->told[rows[i].reason],
					UINT32_MAX, now);
	}
	return err;
}

#define KMT_GIVE_BACK_EVERY 4096

int kmt_bpf_drain(struct kmt_bpf *b, const struct kmt_sink *sink, bool final)
{
	uint64_t bound = look_at_rings(b, final);
	int n = 0, err = 0;

	while (b->n_heap) {
		struct kmt_bpf_ring *r = b->heap[0];
		uint64_t ns = ring_time(r);
		enum ring_state state;

		if (ns > bound)
			break;
		err = deliver(b, r, sink);
		r->last_ns = ns;
		ring_next(r);
		if (err)
			break;
		if (++n % KMT_GIVE_BACK_EVERY == 0)
			give_back(b);
		state = ring_look(r);
		if (state != RING_READY)
			b->heap[0] = b->heap[--b->n_heap];
		if (state == RING_BUSY && r->last_ns < bound)
			bound = r->last_ns;
		heap_down(b, 0);
	}
	give_back(b);
	if (!err)
		err = tell_rest(b, sink, final);
	return err ? err : n;
}
