// SPDX-License-Identifier: GPL-2.0-only
#include "store/recent.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/columns.h"
#include "store/decode.h"
#include "store/encode.h"
#include "store/zip.h"

#define CHUNK_MOST	8192	/* events of a chunk; of a small queue less, or it is one chunk */
#define CHUNK_LEAST	64
#define CHUNKS_WANTED	16	/* that a full queue has, at least */
#define EVENT_BYTES	16	/* of a kept event, roughly */
/*
 * A reader has so many events of the open block in a chunk of their own;
 * a copy of fewer costs it little, and small chunks would waste memory.
 */
#define SEAL_LEAST	1024

struct kmt_chunk {
	unsigned refs;			/* atomic */
	uint64_t number;		/* of the chunks, from 0 */
	uint64_t first_event;		/* number of its first event, from 0 */
	uint64_t first_lost;
	uint32_t n_events, n_losts;
	size_t bytes;			/* of all this */
	struct kmt_block block;
	uint8_t payload[];
};

struct kmt_recent {
	pthread_mutex_t lock;
	uint64_t max_bytes, bytes;	/* of the chunks */
	uint64_t overwritten;
	/* a queue in a ring: v[(at + i) % cap] */
	struct kmt_chunk **v;
	size_t at, n, cap;
	/* numbers of what comes next into the open block, and where that begins */
	uint64_t next_chunk;
	uint64_t first_event, first_lost;
	uint32_t n_events, n_losts;	/* of the open block */
	uint64_t cleared;		/* number of the first event after the last clear */
	/* made with the first event */
	struct kmt_encoder *encoder;
	struct kmt_zip *zip;
	struct kmt_cols_out cols;
};

struct kmt_chunk_reader {
	struct kmt_zip *zip;
	struct kmt_decoder *decoder;
};

/* ---- chunks ---- */

struct kmt_chunk *kmt_chunk_get(struct kmt_chunk *c)
{
	__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void kmt_chunk_drop(struct kmt_chunk *c)
{
	if (c && !__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		free(c);
}

void kmt_chunks_drop(struct kmt_chunk **v, size_t n)
{
	for (size_t i = 0; v && i < n; i++)
		kmt_chunk_drop(v[i]);
	free(v);
}

size_t kmt_chunk_bytes(const struct kmt_chunk *c)
{
	return c->bytes;
}

/* ---- the queue; all below with the lock held, until "for all" ---- */

static struct kmt_chunk *chunk_at(const struct kmt_recent *k, size_t i)
{
	return k->v[(k->at + i) % k->cap];
}

static size_t open_bytes(const struct kmt_recent *k)
{
	return k->n_events || k->n_losts ? kmt_encoder_bound(k->encoder) : 0;
}

static void drop_oldest(struct kmt_recent *k)
{
	struct kmt_chunk *c = chunk_at(k, 0);

	k->at = (k->at + 1) % k->cap;
	k->n--;
	k->bytes -= c->bytes;
	k->overwritten += c->n_events;
	kmt_chunk_drop(c);
}

static void make_room(struct kmt_recent *k)
{
	while (k->n && k->bytes + open_bytes(k) > k->max_bytes)
		drop_oldest(k);
}

static int reserve(struct kmt_recent *k)
{
	struct kmt_chunk **v;
	size_t cap = k->cap ? 2 * k->cap : 16;

	if (k->n < k->cap)
		return 0;
	v = calloc(cap, sizeof(struct kmt_chunk *));
	if (!v)
		return kmt_err(-ENOMEM, "out of memory for kept events");
	for (size_t i = 0; i < k->n; i++)
		v[i] = chunk_at(k, i);
	free(k->v);
	k->v = v;
	k->at = 0;
	k->cap = cap;
	return 0;
}

/* The open block as a chunk; the block stays as it is. */
static int make_chunk(struct kmt_recent *k, struct kmt_chunk **ret)
{
	struct kmt_chunk *c = NULL;

	kmt_encoder_put(k->encoder, &k->cols);
	if (!k->cols.out.error)
		c = malloc(sizeof(*c) + k->cols.out.len);
	if (c) {
		*c = (struct kmt_chunk){
			.refs = 1, .number = k->next_chunk,
			.first_event = k->first_event, .first_lost = k->first_lost,
			.n_events = k->n_events, .n_losts = k->n_losts,
			.bytes = sizeof(*c) + k->cols.out.len,
			.block = { .type = KMT_BLOCK_EVENT, .codec = KMT_CODEC_COLUMNS,
				   .stored_len = (uint32_t)k->cols.out.len,
				   .raw_len = (uint32_t)k->cols.raw, .seq = k->next_chunk + 1 },
		};
		memcpy(c->payload, k->cols.out.data, k->cols.out.len);
	}
	kmt_cols_out_clear(&k->cols);
	if (!c)
		return kmt_err(-ENOMEM, "out of memory for kept events");
	*ret = c;
	return 0;
}

/* What comes next begins behind the open block, which is empty then. */
static void begin_block(struct kmt_recent *k)
{
	if (k->encoder)
		kmt_encoder_clear(k->encoder);
	k->first_event += k->n_events;
	k->first_lost += k->n_losts;
	k->n_events = k->n_losts = 0;
	k->next_chunk++;
}

static int seal(struct kmt_recent *k)
{
	struct kmt_chunk *c;
	int err = reserve(k);

	if (!err)
		err = make_chunk(k, &c);
	if (err)
		return err;
	k->v[(k->at + k->n++) % k->cap] = c;
	k->bytes += c->bytes;
	begin_block(k);
	make_room(k);
	return 0;
}

static uint32_t chunk_events(const struct kmt_recent *k)
{
	uint64_t n = k->max_bytes / EVENT_BYTES / CHUNKS_WANTED;

	return n > CHUNK_MOST ? CHUNK_MOST : n < CHUNK_LEAST ? CHUNK_LEAST : (uint32_t)n;
}

static int prepare(struct kmt_recent *k)
{
	int err = 0;

	if (!k->zip)
		err = kmt_zip_new(&k->zip);
	k->cols.zip = k->zip;
	if (!err && !k->encoder)
		err = kmt_encoder_new(&k->encoder);
	return err;
}

/* The open block has one more; it is small against the bound, or there would be nothing else. */
static int settle(struct kmt_recent *k)
{
	uint32_t n = k->n_events > k->n_losts ? k->n_events : k->n_losts;

	if (n >= chunk_events(k) || (n >= CHUNK_LEAST && open_bytes(k) > k->max_bytes / 2))
		return seal(k);
	make_room(k);
	return 0;
}

/* Of what follows, the first part for the reader; 0: there is none. */
static int find_next(const struct kmt_recent *k, const struct kmt_recent_place *p, size_t *ret)
{
	uint64_t oldest = k->n ? chunk_at(k, 0)->number : k->next_chunk;
	uint64_t number = p->chunk > oldest ? p->chunk : oldest;

	*ret = (size_t)(number - oldest);
	/* of a chunk that was the open block it may have had all */
	if (*ret < k->n && chunk_at(k, *ret)->first_event + chunk_at(k, *ret)->n_events <=
	    p->events && chunk_at(k, *ret)->first_lost + chunk_at(k, *ret)->n_losts <= p->losts)
		++*ret;
	if (*ret < k->n)
		return 1;
	return (k->n_events && k->first_event + k->n_events > p->events) ||
	       (k->n_losts && k->first_lost + k->n_losts > p->losts);
}

static void describe_part(const struct kmt_recent *k, struct kmt_recent_place *p,
			  struct kmt_chunk *c, bool is_open, struct kmt_recent_part *ret)
{
	uint64_t due = p->events > k->cleared ? p->events : k->cleared;

	*ret = (struct kmt_recent_part){
		.chunk = c,
		.skip_events = p->events > c->first_event ? (size_t)(p->events - c->first_event) : 0,
		.skip_losts = p->losts > c->first_lost ? (size_t)(p->losts - c->first_lost) : 0,
		.missed = c->first_event > due ? c->first_event - due : 0,
	};
	p->chunk = is_open ? c->number : c->number + 1;
	p->events = c->first_event + c->n_events;
	p->losts = c->first_lost + c->n_losts;
}

/* ---- for all ---- */

static void lock(struct kmt_recent *k)
{
	pthread_mutex_lock(&k->lock);
}

static int unlock(struct kmt_recent *k, int ret)
{
	pthread_mutex_unlock(&k->lock);
	return ret;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct kmt_recent *k = ctx;
	int err;

	lock(k);
	err = prepare(k);
	if (!err)
		err = kmt_encoder_event(k->encoder, ev);
	if (!err) {
		k->n_events++;
		err = settle(k);
	}
	return unlock(k, err);
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct kmt_recent *k = ctx;
	int err;

	lock(k);
	err = prepare(k);
	if (!err)
		err = kmt_encoder_lost(k->encoder, lost);
	if (!err) {
		k->n_losts++;
		err = settle(k);
	}
	return unlock(k, err);
}

struct kmt_sink kmt_recent_sink(struct kmt_recent *k)
{
	return (struct kmt_sink){ .event = on_event, .lost = on_lost, .ctx = k };
}

int kmt_recent_new(uint64_t max_bytes, struct kmt_recent **ret)
{
	struct kmt_recent *k = calloc(1, sizeof(*k));

	if (!k)
		return kmt_err(-ENOMEM, "out of memory for kept events");
	pthread_mutex_init(&k->lock, NULL);
	k->max_bytes = max_bytes > KMT_RECENT_LEAST ? max_bytes : KMT_RECENT_LEAST;
	*ret = k;
	return 0;
}

void kmt_recent_free(struct kmt_recent *k)
{
	if (!k)
		return;
	while (k->n)
		drop_oldest(k);
	free(k->v);
	kmt_encoder_free(k->encoder);
	kmt_cols_out_done(&k->cols);
	kmt_zip_free(k->zip);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

void kmt_recent_limit(struct kmt_recent *k, uint64_t max_bytes)
{
	lock(k);
	k->max_bytes = max_bytes > KMT_RECENT_LEAST ? max_bytes : KMT_RECENT_LEAST;
	settle(k);
	unlock(k, 0);
}

void kmt_recent_clear(struct kmt_recent *k)
{
	lock(k);
	while (k->n)
		drop_oldest(k);
	begin_block(k);
	k->cleared = k->first_event;
	k->overwritten = 0;
	unlock(k, 0);
}

void kmt_recent_state(struct kmt_recent *k, struct kmt_recent_state *ret)
{
	lock(k);
	*ret = (struct kmt_recent_state){
		.overwritten = k->overwritten, .bytes = k->bytes + open_bytes(k),
		.max_bytes = k->max_bytes, .events = k->n_events,
	};
	for (size_t i = 0; i < k->n; i++)
		ret->events += chunk_at(k, i)->n_events;
	unlock(k, 0);
}

int kmt_recent_hold(struct kmt_recent *k, struct kmt_chunk ***ret, size_t *ret_n)
{
	struct kmt_chunk **v;
	bool is_open;
	size_t n;

	lock(k);
	is_open = k->n_events || k->n_losts;
	v = calloc(k->n + 1, sizeof(struct kmt_chunk *));
	if (!v || (is_open && make_chunk(k, &v[k->n]))) {
		free(v);
		return unlock(k, kmt_err(-ENOMEM, "out of memory for kept events"));
	}
	for (n = 0; n < k->n; n++)
		v[n] = kmt_chunk_get(chunk_at(k, n));
	*ret = v;
	*ret_n = n + is_open;
	return unlock(k, 0);
}

int kmt_recent_next(struct kmt_recent *k, struct kmt_recent_place *p, struct kmt_recent_part *ret)
{
	struct kmt_chunk *c;
	bool is_open;
	size_t i;
	int err = 0;

	lock(k);
	if (!find_next(k, p, &i))
		return unlock(k, 0);
	if (i == k->n && k->n_events >= SEAL_LEAST) {
		err = seal(k);
		/* a bound so low that it is gone at once */
		if (err || !find_next(k, p, &i))
			return unlock(k, err);
	}
	is_open = i == k->n;
	if (is_open)
		err = make_chunk(k, &c);
	else
		c = kmt_chunk_get(chunk_at(k, i));
	if (err)
		return unlock(k, err);
	describe_part(k, p, c, is_open, ret);
	return unlock(k, 1);
}

bool kmt_recent_has_next(struct kmt_recent *k, const struct kmt_recent_place *p)
{
	size_t i;

	lock(k);
	return unlock(k, find_next(k, p, &i));
}

/* ---- reading ---- */

int kmt_chunk_reader_new(struct kmt_chunk_reader **ret)
{
	struct kmt_chunk_reader *r = calloc(1, sizeof(*r));
	int err = r ? kmt_zip_new(&r->zip) : kmt_err(-ENOMEM, "out of memory");

	if (!err)
		err = kmt_decoder_new(r->zip, &r->decoder);
	if (err) {
		kmt_chunk_reader_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void kmt_chunk_reader_free(struct kmt_chunk_reader *r)
{
	if (!r)
		return;
	kmt_decoder_free(r->decoder);
	kmt_zip_free(r->zip);
	free(r);
}

int kmt_chunk_reader_open(struct kmt_chunk_reader *r, const struct kmt_chunk *c)
{
	return kmt_decoder_block(r->decoder, c->payload, &c->block);
}

int kmt_chunk_reader_run(struct kmt_chunk_reader *r, const struct kmt_sink *sink, int max)
{
	return kmt_decoder_run(r->decoder, sink, sink, max);
}
