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
#ifndef KMT_STORE_KEPT_H
#define KMT_STORE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

struct kmt_chunk;
struct kmt_chunk_reader;
struct kmt_kept;

/*
 * All functions of one kmt_kept may be called from several threads at once. The
 * bound is at least KMT_KEPT_LEAST bytes, whatever was asked for.
 */
#define KMT_KEPT_LEAST (64u << 10)
int kmt_kept_new(uint64_t max_bytes, struct kmt_kept **ret);
/* Chunks that are held stay. NULL allowed. */
void kmt_kept_free(struct kmt_kept *k);
/* Keeps events and losses; strings and frames are copied. */
struct kmt_sink kmt_kept_sink(struct kmt_kept *k);
/* Another bound; what is too much goes at once. */
void kmt_kept_limit(struct kmt_kept *k, uint64_t max_bytes);
/* Forget all that is kept; it counts as neither overwritten nor missed. */
void kmt_kept_clear(struct kmt_kept *k);

struct kmt_kept_state {
	uint64_t events;	/* kept now */
	uint64_t overwritten;	/* events, since the last kmt_kept_clear() */
	uint64_t bytes;		/* what the kept events take */
	uint64_t max_bytes;
};

void kmt_kept_state(struct kmt_kept *k, struct kmt_kept_state *ret);

/* All that is kept at this moment, oldest first; the caller's to drop. */
int kmt_kept_hold(struct kmt_kept *k, struct kmt_chunk ***ret, size_t *ret_n);
/* Also frees v. */
void kmt_chunks_drop(struct kmt_chunk **v, size_t n);

/* How far a reader that takes everything once has come. Begins as zeros: at the oldest. */
struct kmt_kept_place {
	uint64_t chunk, events, losts;	/* numbers of the next ones, counted since the beginning */
};

/* The next part for such a reader. */
struct kmt_kept_part {
	struct kmt_chunk *chunk;	/* the caller's to drop */
	size_t skip_events, skip_losts;	/* of the chunk: it has had those */
	uint64_t missed;		/* events that were overwritten before it came */
};

/* 1 and the part, and the place is behind it; 0: nothing is there now; or a negative errno. */
int kmt_kept_next(struct kmt_kept *k, struct kmt_kept_place *p, struct kmt_kept_part *ret);
/* Would kmt_kept_next() find something? */
bool kmt_kept_has_next(struct kmt_kept *k, const struct kmt_kept_place *p);

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
