/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The blocks of a .kmt recording, one after the other, from a file or a pipe.
 * What cannot be read is passed over: the reader looks for the next block head
 * with a good checksum and says that something is missing.
 */
#ifndef KMT_STORE_READER_H
#define KMT_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/format.h"

struct kmt_reader;

/* Does it begin like a .kmt recording, of whatever version and byte order? */
bool kmt_reader_is_head(const void *head, size_t len);

/*
 * fd stays the caller's and must live as long. -EINVAL with text for what is
 * no recording, or one that a newer version made.
 */
int kmt_reader_new(int fd, struct kmt_reader **ret);
void kmt_reader_free(struct kmt_reader *r);

enum kmt_read {
	KMT_READ_END,		/* of the file */
	KMT_READ_WAIT,		/* nothing more within the time (pipes) */
	KMT_READ_BLOCK,
	KMT_READ_GAP,		/* here blocks are missing or damaged */
};

struct kmt_reader_block {
	struct kmt_block head;
	const uint8_t *payload;	/* valid until the next call */
	uint64_t offset;	/* of its head in the file; of a gap: where it begins */
};

/* An enum kmt_read, or a negative errno with text. */
int kmt_reader_next(struct kmt_reader *r, int timeout_ms, struct kmt_reader_block *ret);
/* The file is a ring: its oldest events were written over. */
bool kmt_reader_is_ring(const struct kmt_reader *r);

#endif
