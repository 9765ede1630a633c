/* SPDX-License-Identifier: GPL-2.0-only */
/* The only way to send: per-CPU rings, no wake-ups, losses told in place. */
#ifndef KMT_BPF_EMIT_BPF_H
#define KMT_BPF_EMIT_BPF_H

#include "bpf/sites.bpf.h"

struct kmt_sized_alloc {
	struct kmt_rec_alloc r;
	struct kmt_rec_tail tail;
};

struct kmt_sized_free {
	struct kmt_rec r;
	struct kmt_rec_tail tail;
};

/* Tell what was lost since the last such record: as soon as there is room again. */
static __noinline int kmt_emit_overflow(void *ring, __u64 *count)
{
	struct kmt_rec_overflow *o;

	if (!ring || !count)
		return 0;
	o = bpf_ringbuf_reserve(ring, sizeof(*o), 0);
	if (!o)
		return 0;
	o->ts_ns = bpf_ktime_get_ns();
	o->size = sizeof(*o);
	o->op = KMT_REC_OVERFLOW;
	o->pad = 0;
	o->pad2 = 0;
	o->lost_ring = count[KMT_CNT_LOST_RING] - count[KMT_CNT_REPORTED_RING];
	o->lost_objects = count[KMT_CNT_LOST_OBJECTS] - count[KMT_CNT_REPORTED_OBJECTS];
	count[KMT_CNT_REPORTED_RING] = count[KMT_CNT_LOST_RING];
	count[KMT_CNT_REPORTED_OBJECTS] = count[KMT_CNT_LOST_OBJECTS];
	count[KMT_CNT_REPORTED_AT] = bpf_jiffies64();
	count[KMT_CNT_OVERFLOW_RECORDS]++;
	bpf_ringbuf_submit(o, BPF_RB_NO_WAKEUP);
	return 1;
}

#define KMT_RESUME_BYTES 4096

/*
 * May this CPU write? After a loss in the ring only once there is room for more
 * than one record, or a slow reader would get as many overflow records as
 * events. Objects that found no room in their table are told once per tick.
 */
static __always_inline int kmt_may_emit(void *ring, __u64 *count)
{
	__u64 size, used;

	if (likely(count[KMT_CNT_LOST_RING] == count[KMT_CNT_REPORTED_RING])) {
		if (likely(count[KMT_CNT_LOST_OBJECTS] == count[KMT_CNT_REPORTED_OBJECTS]) ||
		    count[KMT_CNT_REPORTED_AT] == bpf_jiffies64())
			return 1;
		kmt_emit_overflow(ring, count);
		return 1;
	}
	size = bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
	used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	if (used + KMT_RESUME_BYTES > size)
		return 0;
	return kmt_emit_overflow(ring, count);
}

static __always_inline void kmt_fill_rec(struct kmt_rec *r, __u8 op, __u8 type, __u64 call_site,
					 __u64 addr, __u64 cache)
{
	/* read after the reservation: whoever sees the ring's end sees all earlier times */
	r->ts_ns = bpf_ktime_get_ns();
	r->op = op;
	r->type = type;
	r->pid = bpf_get_current_pid_tgid();
	r->call_site = call_site;
	r->addr = addr;
	r->cache = cache;
}

static __always_inline void kmt_fill_tail(struct kmt_rec_tail *t, __u32 stack)
{
	bpf_get_current_comm(t->comm, sizeof(t->comm));
	t->stack = stack;
	t->pad = 0;
}

static __always_inline void kmt_fill_alloc(struct kmt_rec_alloc *r, const struct kmt_alloc *a)
{
	kmt_fill_rec(&r->rec, KMT_REC_ALLOC, a->type, a->call_site, a->addr,
		     a->type == KMT_WIRE_PAGE ? a->migratetype : a->cache);
	r->bytes_req = a->bytes_req;
	r->bytes_alloc = a->bytes_alloc;
	r->gfp = a->gfp;
	r->node = a->node;
}

static __always_inline void kmt_emit_alloc(__u32 flags, __u32 cpu, __u64 *count,
					   const struct kmt_alloc *a)
{
	void *ring = bpf_map_lookup_elem(&kmt_rings, &cpu);

	if (!ring || !kmt_may_emit(ring, count)) {
		count[KMT_CNT_LOST_RING]++;
		return;
	}
	if (flags & KMT_F_TAIL) {
		struct kmt_sized_alloc *s = bpf_ringbuf_reserve(ring, sizeof(*s), 0);

		if (!s) {
			count[KMT_CNT_LOST_RING]++;
			return;
		}
		kmt_fill_alloc(&s->r, a);
		kmt_fill_tail(&s->tail, a->stack);
		s->r.rec.size = sizeof(*s);
		bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	} else {
		struct kmt_rec_alloc *r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);

		if (!r) {
			count[KMT_CNT_LOST_RING]++;
			return;
		}
		kmt_fill_alloc(r, a);
		r->rec.size = sizeof(*r);
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
}

/* 'op': KMT_REC_FREE or KMT_REC_RCU. */
static __always_inline void kmt_emit_end(__u32 flags, __u32 cpu, __u64 *count, __u8 op, __u32 type,
					 __u64 call_site, __u64 addr, __u64 cache)
{
	void *ring = bpf_map_lookup_elem(&kmt_rings, &cpu);

	if (!ring || !kmt_may_emit(ring, count)) {
		count[KMT_CNT_LOST_RING]++;
		return;
	}
	if (flags & KMT_F_TAIL) {
		struct kmt_sized_free *s = bpf_ringbuf_reserve(ring, sizeof(*s), 0);

		if (!s) {
			count[KMT_CNT_LOST_RING]++;
			return;
		}
		kmt_fill_rec(&s->r, op, type, call_site, addr, cache);
		kmt_fill_tail(&s->tail, 0);
		s->r.size = sizeof(*s);
		bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	} else {
		struct kmt_rec *r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);

		if (!r) {
			count[KMT_CNT_LOST_RING]++;
			return;
		}
		kmt_fill_rec(r, op, type, call_site, addr, cache);
		r->size = sizeof(*r);
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
}

static __always_inline void kmt_emit_free(__u32 flags, __u32 cpu, __u64 *count, __u32 type,
					  __u64 call_site, __u64 addr, __u64 cache)
{
	kmt_emit_end(flags, cpu, count, KMT_REC_FREE, type, call_site, addr, cache);
}

#endif
