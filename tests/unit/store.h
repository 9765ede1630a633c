/* SPDX-License-Identifier: GPL-2.0-only */
/* For tests of .kmt recordings: random events, recordings in memory, what comes back. */
#ifndef KMT_TEST_STORE_H
#define KMT_TEST_STORE_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "core/event.h"
#include "core/facts.h"
#include "core/filter.h"
#include "core/quality.h"
#include "source/source.h"
#include "store/writer.h"

extern const struct kmt_source_ops kmt_source_kmt_file;

#define MAX_IPS 40

/* An event with its strings and frames. */
struct full_event {
	struct kmt_event ev;
	char comm[64], cache[64], site[64];
	uint64_t ips[MAX_IPS];
};

static uint64_t random64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline uint64_t below(uint64_t *state, uint64_t n)
{
	return random64(state) % n;
}

/* Mostly small, but each border of the number formats comes up. */
static inline uint64_t odd_number(uint64_t *state)
{
	static const uint64_t borders[] = {
		0, 1, 0xff, 0x100, 0xffff, 0x10000, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
		0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffffe, 0xffff888000000000,
	};

	switch (below(state, 4)) {
	case 0:
		return borders[below(state, sizeof(borders) / sizeof(borders[0]))];
	case 1:
		return random64(state) >> below(state, 64);
	default:
		return below(state, 300);
	}
}

static inline void odd_name(uint64_t *state, char name[64])
{
	size_t len = below(state, 8) ? below(state, 16) : below(state, 63);

	for (size_t i = 0; i < len; i++)
		name[i] = (char)(1 + below(state, 255));
	name[len] = '\0';
}

/* Anything an event can hold; 'few': out of few shapes, as in real life. */
static inline void random_event(uint64_t *state, bool few, struct full_event *f)
{
	uint64_t shape = below(state, 20), own = few ? shape : random64(state);
	struct kmt_event *ev = &f->ev;

	memset(f, 0, sizeof(*f));
	ev->op = below(&own, 2) ? KMT_OP_ALLOC : below(&own, 3) ? KMT_OP_FREE : KMT_OP_GIVE_UP;
	ev->type = few ? (uint8_t)below(&own, 5) : (uint8_t)random64(&own);
	ev->order = ev->migratetype = -1;
	if (ev->type == KMT_TYPE_PAGES) {
		ev->order = (int8_t)((int)below(&own, 12) - 1);
		ev->migratetype = (int8_t)((int)below(&own, 8) - 1);
	}
	ev->has_time = below(&own, 8);
	ev->cache_inferred = below(&own, 2);
	ev->node = few ? -1 : (int16_t)random64(&own);
	ev->call_site = odd_number(&own);
	ev->bytes_alloc = odd_number(&own);
	ev->gfp = odd_number(&own);
	if (below(&own, 3)) {
		odd_name(&own, f->cache);
		ev->cache = f->cache;
	}
	if (!below(&own, 3)) {
		odd_name(&own, f->site);
		ev->call_site_name = f->site;
	}
	if (!below(&own, 3)) {
		ev->n_ips = 1 + (uint32_t)below(&own, MAX_IPS);
		for (uint32_t i = 0; i < ev->n_ips; i++)
			f->ips[i] = odd_number(&own);
		ev->ips = f->ips;
	}
	ev->cpu = below(state, 50) ? (uint32_t)below(state, 4) : (uint32_t)random64(state);
	ev->pid = below(state, 9) ? ev->cpu * 3 : (uint32_t)random64(state);
	ev->tgid = below(state, 9) ? ev->pid : (uint32_t)random64(state);
	ev->has_task = ev->pid % 4;
	if (ev->pid % 3) {
		snprintf(f->comm, sizeof(f->comm), "task\n%u", ev->pid % 7);
		ev->comm = f->comm;
	}
	ev->real_node = below(state, 30) ? 0 : (int16_t)random64(state);
	ev->ts_ns = few ? 1000000 + below(state, 100000) : odd_number(state);
	ev->addr = odd_number(state) << below(state, 8);
	ev->bytes_req = below(state, 3) ? ev->bytes_alloc - below(state, 9) : odd_number(state);
}

static inline void assert_same_str(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static inline void assert_same_event(const struct kmt_event *a, const struct kmt_event *b)
{
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->has_time, b->has_time);
	assert_int_equal(a->has_task, b->has_task);
	assert_int_equal(a->cache_inferred, b->cache_inferred);
	assert_int_equal(a->order, b->order);
	assert_int_equal(a->migratetype, b->migratetype);
	assert_int_equal(a->node, b->node);
	assert_int_equal(a->real_node, b->real_node);
	assert_int_equal(a->cpu, b->cpu);
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->tgid, b->tgid);
	assert_int_equal(a->n_ips, b->n_ips);
	assert_true(a->ts_ns == b->ts_ns);
	assert_true(a->call_site == b->call_site);
	assert_true(a->addr == b->addr);
	assert_true(a->bytes_req == b->bytes_req);
	assert_true(a->bytes_alloc == b->bytes_alloc);
	assert_true(a->gfp == b->gfp);
	assert_same_str(a->comm, b->comm);
	assert_same_str(a->cache, b->cache);
	assert_same_str(a->call_site_name, b->call_site_name);
	if (a->n_ips)
		assert_memory_equal(a->ips, b->ips, a->n_ips * sizeof(*a->ips));
}

/* A recording in memory. */
struct recording {
	int fd;
	char path[64];
	struct kmt_writer *w;
	struct kmt_sink sink;
};

static inline int recording_new(struct recording *r, struct kmt_writer_opts opts)
{
	int err;

	r->fd = memfd_create("kmt", 0);
	assert_true(r->fd >= 0);
	snprintf(r->path, sizeof(r->path), "/proc/self/fd/%d", r->fd);
	opts.fd = r->fd;
	opts.name = "test.kmt";
	err = kmt_writer_new(&opts, &r->w);
	if (!err)
		r->sink = kmt_writer_sink(r->w);
	return err;
}

static inline void recording_end(struct recording *r, const struct kmt_facts *facts,
				 const struct kmt_quality *q)
{
	static const struct kmt_quality none;

	assert_int_equal(kmt_writer_end(r->w, facts, q ? q : &none), 0);
	assert_int_equal(kmt_writer_bytes(r->w), lseek(r->fd, 0, SEEK_END));
	kmt_writer_free(r->w);
	r->w = NULL;
}

static inline void recording_done(struct recording *r)
{
	kmt_writer_free(r->w);
	close(r->fd);
}

/* What a recording says: events are compared with a list or counted. */
struct result {
	const struct full_event *expect;	/* NULL: only counted */
	uint64_t events, losts, lost[KMT_LOSS_MAX], lost_unknown, snapshots;
	struct kmt_lost last_lost;
	struct kmt_quality quality;
};

static inline int result_event(void *ctx, const struct kmt_event *ev)
{
	struct result *r = ctx;

	if (r->expect)
		assert_same_event(&r->expect[r->events].ev, ev);
	r->events++;
	return 0;
}

static inline int result_lost(void *ctx, const struct kmt_lost *lost)
{
	struct result *r = ctx;

	assert_true((unsigned)lost->reason < KMT_LOSS_MAX);
	r->losts++;
	r->lost[lost->reason] += lost->events;
	r->lost_unknown += !lost->events;
	r->last_lost = *lost;
	return 0;
}

/* Reads to the end; the last code of poll(), or that of open(). */
static inline int read_recording(const char *path, const struct kmt_filter *filter,
				 struct result *r)
{
	const struct kmt_source_opts opts = { .path = path, .filter = filter };
	const struct kmt_sink sink = { .event = result_event, .lost = result_lost, .ctx = r };
	struct kmt_source *src;
	int n = kmt_source_kmt_file.open(&opts, &src);

	if (n)
		return n;
	while ((n = kmt_source_kmt_file.poll(src, &sink, 1000)) >= 0)
		;
	kmt_source_kmt_file.quality(src, &r->quality);
	kmt_source_kmt_file.close(src);
	return n;
}

#endif
