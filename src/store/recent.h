/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last events of a running trace, in memory: a queue of chunks, bounded in
 * bytes. When it is full the oldest chunk goes. A chunk is an event block of a
 * .kmt recording (store/encode.h): it stands for itself, never changes, and lives
 * as long as somebody holds it.
 *
 *   sink ──► open block ──full──► chunk ─ chunk ─ chunk ──► overwritten
 *                │                    └── held by readers ──► kmt_chunk_reader ──► sink
 *                └── a copy for who reads now
 */
#ifndef KMT_STORE_RECENT_H
#define KMT_STORE_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

struct kmt_chunk;
struct kmt_chunk_reader;
struct kmt_recent;

/*
 * All functions of one kmt_recent may be called from several threads at once. The
 * bound is at least KMT_RECENT_LEAST bytes, whatever was asked for.
 */
#define KMT_RECENT_LEAST (64u << 10)
int kmt_recent_new(uint64_t max_bytes, struct kmt_recent **ret);
/* Chunks that are held stay. NULL allowed. */
void kmt_recent_free(struct kmt_recent *k);
/* Keeps events and losses; strings and frames are copied. */
struct kmt_sink kmt_recent_sink(struct kmt_recent *k);
/* Another bound; what is too much goes at once. */
void kmt_recent_limit(struct kmt_recent *k, uint64_t max_bytes);
/* Forget all that is kept; it counts as neither overwritten nor missed. */
void kmt_recent_clear(struct kmt_recent *k);

struct kmt_recent_state {
	uint64_t events;	/* kept now */
	uint64_t overwritten;	/* events, since the last kmt_recent_clear() */
	uint64_t bytes;		/* what the kept events take */
	uint64_t max_bytes;
};

void kmt_recent_state(struct kmt_recent *k, struct kmt_recent_state *ret);

/* All that is kept at this moment, oldest first; the caller's to drop. */
int kmt_recent_hold(struct kmt_recent *k, struct kmt_chunk ***ret, size_t *ret_n);
/* Also frees v. */
void kmt_chunks_drop(struct kmt_chunk **v, size_t n);

/* How far a reader that takes everything once has come. Begins as zeros: at the oldest. */
struct kmt_recent_place {
	uint64_t chunk, events, losts;	/* numbers of the next ones, counted since the beginning */
};

/* The next part for such a reader. */
struct kmt_recent_part {
	struct kmt_chunk *chunk;	/* the caller's to drop */
	size_t skip_events, skip_losts;	/* of the chunk: it has had those */
	uint64_t missed;		/* events that were overwritten before it came */
};

/* 1 and the part, and the place is behind it; 0: nothing is there now; or a negative errno. */
int kmt_recent_next(struct kmt_recent *k, struct kmt_recent_place *p, struct kmt_recent_part *ret);
/* Would kmt_recent_next() find something? */
bool kmt_recent_has_next(struct kmt_recent *k, const struct kmt_recent_place *p);

struct kmt_chunk *kmt_chunk_get(struct kmt_chunk *c);
/* NULL allowed. */
void kmt_chunk_drop(struct kmt_chunk *c);
size_t kmt_chunk_bytes(const struct kmt_chunk *c);

/* One thread at a time. */
int kmt_chunk_reader_new(struct kmt_chunk_reader **ret);
void kmt_chunk_reader_free(struct kmt_chunk_reader *r);
/* Take a chunk up, from its beginning; it is to be held until the next one. */
int kmt_chunk_reader_open(struct kmt_chunk_reader *r, const struct kmt_chunk *c);
/*
 * Hand on at most 'max' events, and the losses between them, in order. The
 * number of events, 0 when the chunk is done, or the sink's error.
 */
int kmt_chunk_reader_run(struct kmt_chunk_reader *r, const struct kmt_sink *sink, int max);

#endif
