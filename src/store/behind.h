/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside store/ only: a thread that writes, so that whoever makes the blocks
 * can go on reading events while the disk is busy.
 *
 *   put ──► [ block ][ block ] ──► thread ──► file
 */
#ifndef KMT_STORE_BEHIND_H
#define KMT_STORE_BEHIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_behind;

struct kmt_behind_opts {
	int fd;			/* stays the caller's */
	bool has_places;	/* blocks go where 'at' says; else one after the other */
	size_t max_waiting;	/* bytes; put() waits when there are more */
	/*
	 * Asked ten times a second while put() or wait() wait: true when the
	 * output must take what waits within half a second or not at all. May
	 * be NULL.
	 */
	bool (*hurry)(void *ctx);
	void *ctx;
};

int kmt_behind_new(const struct kmt_behind_opts *opts, struct kmt_behind **ret);
/* What still waits is dropped; NULL allowed. */
void kmt_behind_free(struct kmt_behind *b);
/*
 * One whole block, from malloc(), taken over also on error. Negative errno
 * without text once a write has failed: the file was cut back to the block
 * before, and nothing more is written.
 */
int kmt_behind_put(struct kmt_behind *b, uint8_t *data, size_t len, uint64_t at);
/* In its turn: shorten the file. */
int kmt_behind_cut(struct kmt_behind *b, uint64_t at);
/* Until nothing waits any more. */
int kmt_behind_wait(struct kmt_behind *b);

#endif
