/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside store/ only: blocks into a file, each whole or not at all.
 *
 * With a ring, event blocks go round in a region behind the facts:
 *
 *   [head][facts][ 7 ][ 8 ][ 9 ]( 4 )[ 5 ][ 6 ]
 *                             ▲ the next one goes here
 */
#ifndef KMT_STORE_FILE_H
#define KMT_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_behind;

struct kmt_block_out {
	int fd;
	struct kmt_behind *behind;	/* writes; NULL: written at once */
	const char *name;	/* borrowed */
	uint64_t max_bytes;	/* 0 = no limit */
	uint64_t reserve;	/* of it, kept free by 'is_room' for the last blocks */
	uint64_t ring_bytes;	/* 0 = no ring */
	uint64_t ring_start;	/* 0 = the ring has not begun */
	uint64_t pos;		/* the next block goes here */
	uint64_t end;		/* of the file */
	uint64_t seq;
	uint8_t *buf;		/* head and payload of one block */
	size_t cap;
	int failed;		/* negative errno: nothing more is written */
};

void kmt_block_out_done(struct kmt_block_out *f);
int kmt_block_out_head(struct kmt_block_out *f);
/*
 * Write a block. On an error the file is cut back to its last whole block, and
 * every later call gives the same error.
 */
int kmt_block_out_put(struct kmt_block_out *f, unsigned type, unsigned codec,
		      const void *payload, size_t len, size_t raw_len);
/* Bytes that the next block may take, with its head, before max_bytes less reserve. */
uint64_t kmt_block_out_room(const struct kmt_block_out *f);
/* Event blocks come now (the ring begins), or they are over (behind the ring). */
void kmt_block_out_begin_ring(struct kmt_block_out *f);
void kmt_block_out_end_ring(struct kmt_block_out *f);
/* Until everything is in the file; the error of a write that came later. */
int kmt_block_out_wait(struct kmt_block_out *f);

#endif
