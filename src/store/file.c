// SPDX-License-Identifier: GPL-2.0-only
#include "store/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "store/behind.h"
#include "store/format.h"

void kmt_block_out_done(struct kmt_block_out *f)
{
	kmt_behind_free(f->behind);
	free(f->buf);
	*f = (struct kmt_block_out){ .fd = -1 };
}

static int reserve(struct kmt_block_out *f, size_t n)
{
	uint8_t *buf;

	if (n <= f->cap)
		return 0;
	buf = realloc(f->buf, n);
	if (!buf)
		return kmt_err(-ENOMEM, "out of memory for the recording");
	f->buf = buf;
	f->cap = n;
	return 0;
}

static ssize_t write_some(const struct kmt_block_out *f, const uint8_t *p, size_t n, uint64_t at)
{
	/* a pipe has no places */
	return f->ring_bytes ? pwrite(f->fd, p, n, (off_t)at) : write(f->fd, p, n);
}

static int write_failed(struct kmt_block_out *f, int err)
{
	/* -EFBIG is our own limit: the system's is another matter */
	f->failed = err == -EFBIG ? -EIO : err;
	kmt_err_errno(err, "cannot write to '%s'", f->name);
	return f->failed;
}

/* What was written of a block is taken back, so that the file ends with a whole one. */
static int cut_back(struct kmt_block_out *f, int err, uint64_t written)
{
	bool is_torn = written && (!f->ring_bytes || f->pos + written > f->end);

	/* in a pipe, or if that fails too, readers pass over the torn block */
	if (is_torn && !ftruncate(f->fd, (off_t)f->pos)) {
		f->end = f->pos;
		if (!f->ring_bytes)
			lseek(f->fd, (off_t)f->pos, SEEK_SET);
	}
	return write_failed(f, err);
}

/* The buffer goes with it. */
static int write_behind(struct kmt_block_out *f, size_t n)
{
	int err = kmt_behind_put(f->behind, f->buf, n, f->pos);

	f->buf = NULL;
	f->cap = 0;
	if (err)
		return write_failed(f, err);
	f->pos += n;
	if (f->pos > f->end)
		f->end = f->pos;
	return 0;
}

static int write_all(struct kmt_block_out *f, size_t n)
{
	uint64_t done = 0;

	if (f->behind)
		return write_behind(f, n);
	while (done < n) {
		ssize_t got = write_some(f, f->buf + done, n - done, f->pos + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return cut_back(f, got ? -errno : -ENOSPC, done);
		done += (uint64_t)got;
	}
	f->pos += n;
	if (f->pos > f->end)
		f->end = f->pos;
	return 0;
}

int kmt_block_out_head(struct kmt_block_out *f)
{
	int err = reserve(f, KMT_FILE_HEAD);

	if (err)
		return err;
	memcpy(f->buf, KMT_FILE_MAGIC, 8);
	kmt_put_le(f->buf + 8, KMT_FILE_VERSION, 4);
	kmt_put_le(f->buf + 12, f->ring_bytes ? KMT_FILE_RING : 0, 4);
	return write_all(f, KMT_FILE_HEAD);
}

/*
 * Start over at the front. What is left behind the last block is older than
 * anything else: without it, the blocks that stay are one piece.
 */
static int wrap(struct kmt_block_out *f)
{
	int err = 0;

	if (f->end > f->pos && f->behind)
		err = kmt_behind_cut(f->behind, f->pos);
	else if (f->end > f->pos && ftruncate(f->fd, (off_t)f->pos))
		err = -errno;
	if (err) {
		f->failed = err;
		return kmt_err_errno(err, "cannot shorten '%s'", f->name);
	}
	f->end = f->pos;
	f->pos = f->ring_start;
	return 0;
}

uint64_t kmt_block_out_room(const struct kmt_block_out *f)
{
	uint64_t used = f->end + f->reserve;

	if (!f->max_bytes)
		return UINT64_MAX;
	return used < f->max_bytes ? f->max_bytes - used : 0;
}

int kmt_block_out_put(struct kmt_block_out *f, unsigned type, unsigned codec,
		      const void *payload, size_t len, size_t raw_len)
{
	const struct kmt_block b = {
		.type = (uint16_t)type, .codec = (uint16_t)codec, .stored_len = (uint32_t)len,
		.raw_len = (uint32_t)raw_len, .seq = f->seq + 1,
	};
	const size_t total = KMT_BLOCK_HEAD + len;
	int err;

	if (f->failed)
		return write_failed(f, f->failed);
	if (len > KMT_BLOCK_MAX || raw_len > KMT_BLOCK_MAX)
		return kmt_err(-E2BIG, "a block of '%s' is too large", f->name);
	if (f->ring_start && f->pos > f->ring_start &&
	    f->pos + total > f->ring_start + f->ring_bytes) {
		err = wrap(f);
		if (err)
			return err;
	}
	if (f->max_bytes && f->pos + total > f->max_bytes && f->pos + total > f->end)
		return kmt_err(-EFBIG, "'%s' has reached its maximum of %" PRIu64 " bytes",
			       f->name, f->max_bytes);
	err = reserve(f, total);
	if (err)
		return err;
	memcpy(f->buf + KMT_BLOCK_HEAD, payload, len);
	kmt_block_seal(&b, f->buf);
	err = write_all(f, total);
	if (!err)
		f->seq++;
	return err;
}

void kmt_block_out_begin_ring(struct kmt_block_out *f)
{
	if (f->ring_bytes)
		f->ring_start = f->pos;
}

void kmt_block_out_end_ring(struct kmt_block_out *f)
{
	if (f->ring_start)
		f->pos = f->end;
	f->ring_start = 0;
}

int kmt_block_out_wait(struct kmt_block_out *f)
{
	int err = f->behind ? kmt_behind_wait(f->behind) : 0;

	return err ? write_failed(f, err) : 0;
}
