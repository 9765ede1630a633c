// SPDX-License-Identifier: GPL-2.0-only
#include "store/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

#define READ_SIZE	(512u << 10)
#define MAX_RING_BLOCKS	(4u << 20)	/* 96 MiB of index */
/* Bytes that were read for a checksum which was wrong: so many, and so many times the file. */
#define WASTE_FREE	(64u << 20)
#define WASTE_TIMES	16u

struct ring_block {
	uint64_t seq, offset;
	uint32_t stored_len;
};

struct kmt_reader {
	int fd;
	bool is_file;		/* else it has to be waited for */
	bool is_ring;
	bool at_end;		/* read() gave 0 */
	bool has_gap;		/* something was passed over since the last block */
	uint8_t *buf;
	size_t cap, pos, len;	/* what is still to be looked at of buf */
	uint64_t base;		/* of buf in the file */
	uint64_t gap;		/* where it begins */
	uint64_t seq;		/* of the last block */
	uint64_t wasted;
	struct ring_block *ring;	/* by sequence number */
	size_t n_ring, cap_ring, next_ring;
};

bool kmt_reader_is_head(const void *head, size_t len)
{
	return len >= 8 && !memcmp(head, KMT_FILE_MAGIC, 8);
}

bool kmt_reader_is_ring(const struct kmt_reader *r)
{
	return r->is_ring;
}

void kmt_reader_free(struct kmt_reader *r)
{
	if (!r)
		return;
	free(r->buf);
	free(r->ring);
	free(r);
}

static uint64_t offset(const struct kmt_reader *r)
{
	return r->base + r->pos;
}

static int make_room(struct kmt_reader *r, size_t need)
{
	size_t cap = need > READ_SIZE ? need : READ_SIZE;
	uint8_t *buf;

	if (r->pos) {
		memmove(r->buf, r->buf + r->pos, r->len - r->pos);
		r->base += r->pos;
		r->len -= r->pos;
		r->pos = 0;
	}
	if (cap <= r->cap)
		return 0;
	buf = realloc(r->buf, cap);
	if (!buf)
		return kmt_err(-ENOMEM, "out of memory for reading");
	r->buf = buf;
	r->cap = cap;
	return 0;
}

/* 1: 'need' bytes are there; 0: not within the time; -ENODATA: the file ends before that. */
static int fill(struct kmt_reader *r, size_t need, int timeout_ms)
{
	while (r->len - r->pos < need) {
		struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
		ssize_t got;
		int err;

		if (r->at_end)
			return -ENODATA;
		err = make_room(r, need);
		if (err)
			return err;
		if (!r->is_file) {
			err = poll(&pfd, 1, timeout_ms);
			if (err <= 0)
				return err ? kmt_err_errno(-errno, "cannot wait for input") : 0;
		}
		got = read(r->fd, r->buf + r->len, r->cap - r->len);
		if (got < 0 && errno == EAGAIN)
			return 0;
		if (got < 0)
			return kmt_err_errno(-errno, "cannot read at byte %" PRIu64,
					     r->base + r->len);
		r->at_end = !got;
		r->len += (size_t)got;
	}
	return 1;
}

/* On to the next place that may be a block's head. */
static void pass_over(struct kmt_reader *r)
{
	static const char magic[4] = "KMTB";
	const uint8_t *found;

	if (!r->has_gap)
		r->gap = offset(r);
	r->has_gap = true;
	r->pos++;
	found = memmem(r->buf + r->pos, r->len - r->pos, magic, sizeof(magic));
	if (found)
		r->pos = (size_t)(found - r->buf);
	else if (r->at_end)
		r->pos = r->len;
	else if (r->len - r->pos > sizeof(magic) - 1)
		r->pos = r->len - (sizeof(magic) - 1);
}

/* A file made of nothing but heads must not cost a checksum of 16 MiB for each of them. */
static bool may_check(const struct kmt_reader *r, const struct kmt_block *b)
{
	return r->wasted + b->stored_len <= WASTE_FREE + WASTE_TIMES * offset(r);
}

/* The next whole block, which stays in the buffer until it is taken. As kmt_reader_next(). */
static int find_block(struct kmt_reader *r, int timeout_ms, struct kmt_block *ret)
{
	for (;;) {
		int res = fill(r, KMT_BLOCK_HEAD, timeout_ms);

		if (!res)
			return KMT_READ_WAIT;
		if (res == -ENODATA && r->pos == r->len)
			return KMT_READ_END;
		if (res < 0 && res != -ENODATA)
			return res;
		if (res > 0 && !kmt_block_parse(r->buf + r->pos, ret) && may_check(r, ret)) {
			res = fill(r, KMT_BLOCK_HEAD + ret->stored_len, timeout_ms);
			if (!res)
				return KMT_READ_WAIT;
			if (res < 0 && res != -ENODATA)
				return res;
			if (res > 0 && !kmt_block_check(ret, r->buf + r->pos))
				return KMT_READ_BLOCK;
			if (res > 0)
				r->wasted += ret->stored_len;
		}
		pass_over(r);
	}
}

static void take_gap(struct kmt_reader *r, struct kmt_reader_block *ret)
{
	*ret = (struct kmt_reader_block){ .offset = r->gap };
	r->has_gap = false;
}

static int next_in_file(struct kmt_reader *r, int timeout_ms, struct kmt_reader_block *ret)
{
	struct kmt_block b;

	for (;;) {
		int res = find_block(r, timeout_ms, &b);

		if (res == KMT_READ_BLOCK && b.seq <= r->seq) {
			pass_over(r);	/* one that was there already */
			continue;
		}
		if (res == KMT_READ_BLOCK && b.seq != r->seq + 1 && !r->has_gap) {
			r->has_gap = true;
			r->gap = offset(r);
		}
		if ((res == KMT_READ_BLOCK || res == KMT_READ_END) && r->has_gap) {
			if (res == KMT_READ_BLOCK)
				r->seq = b.seq - 1;	/* told: the block is the next */
			take_gap(r, ret);
			return KMT_READ_GAP;
		}
		if (res != KMT_READ_BLOCK)
			return res;
		*ret = (struct kmt_reader_block){
			.head = b, .payload = r->buf + r->pos + KMT_BLOCK_HEAD,
			.offset = offset(r),
		};
		r->pos += KMT_BLOCK_HEAD + b.stored_len;
		r->seq = b.seq;
		return KMT_READ_BLOCK;
	}
}

/* ---- rings: in the order of their sequence numbers ---- */

static int note_ring_block(struct kmt_reader *r, const struct kmt_block *b)
{
	if (r->n_ring == MAX_RING_BLOCKS)
		return kmt_err(-E2BIG, "more than %u blocks", MAX_RING_BLOCKS);
	if (r->n_ring == r->cap_ring) {
		size_t cap = r->cap_ring ? r->cap_ring * 2 : 256;
		struct ring_block *v = reallocarray(r->ring, cap, sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory for reading");
		r->ring = v;
		r->cap_ring = cap;
	}
	r->ring[r->n_ring++] = (struct ring_block){
		.seq = b->seq, .offset = offset(r), .stored_len = b->stored_len,
	};
	return 0;
}

static int by_seq(const void *a, const void *b)
{
	const struct ring_block *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int scan_ring(struct kmt_reader *r)
{
	struct kmt_block b;
	int res, err;

	if (!r->is_file)
		return kmt_err(-EINVAL, "a recording with a ring can be read from a file only, "
			       "not from a pipe");
	while ((res = find_block(r, 0, &b)) == KMT_READ_BLOCK) {
		err = note_ring_block(r, &b);
		if (err)
			return err;
		r->pos += KMT_BLOCK_HEAD + b.stored_len;
	}
	r->has_gap = false;	/* torn blocks are what a ring has at its seam */
	if (r->n_ring)
		qsort(r->ring, r->n_ring, sizeof(*r->ring), by_seq);
	return res < 0 ? res : 0;
}

/* -EBADMSG: it is another one by now (the file is still written to). */
static int load_ring_block(struct kmt_reader *r, const struct ring_block *rb,
			   struct kmt_block *ret)
{
	const size_t total = KMT_BLOCK_HEAD + rb->stored_len;
	size_t done = 0;
	int err;

	r->pos = r->len = 0;
	err = make_room(r, total);
	while (!err && done < total) {
		ssize_t got = pread(r->fd, r->buf + done, total - done,
				    (off_t)(rb->offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err = kmt_err_errno(-errno, "cannot read at byte %" PRIu64, rb->offset);
		else if (!got)
			err = -EBADMSG;
		else
			done += (size_t)got;
	}
	if (err)
		return err;
	if (kmt_block_parse(r->buf, ret) || ret->seq != rb->seq ||
	    ret->stored_len != rb->stored_len)
		return -EBADMSG;
	return kmt_block_check(ret, r->buf);
}

static int next_in_ring(struct kmt_reader *r, struct kmt_reader_block *ret)
{
	for (; r->next_ring < r->n_ring; r->next_ring++) {
		const struct ring_block *rb = &r->ring[r->next_ring];
		struct kmt_block b;
		int err;

		if (rb->seq <= r->seq)
			continue;
		if (rb->seq != r->seq + 1) {
			r->seq = rb->seq - 1;
			*ret = (struct kmt_reader_block){ .offset = rb->offset };
			return KMT_READ_GAP;
		}
		err = load_ring_block(r, rb, &b);
		if (err == -EBADMSG)
			continue;
		if (err)
			return err;
		r->seq = rb->seq;
		r->next_ring++;
		*ret = (struct kmt_reader_block){
			.head = b, .payload = r->buf + KMT_BLOCK_HEAD, .offset = rb->offset,
		};
		return KMT_READ_BLOCK;
	}
	return KMT_READ_END;
}

int kmt_reader_next(struct kmt_reader *r, int timeout_ms, struct kmt_reader_block *ret)
{
	return r->is_ring ? next_in_ring(r, ret) : next_in_file(r, timeout_ms, ret);
}

/* ---- the head ---- */

static int read_head(struct kmt_reader *r)
{
	uint32_t version;
	int res;

	do {
		res = fill(r, KMT_FILE_HEAD, -1);
	} while (!res);
	if (res == -ENODATA)
		return kmt_err(-EINVAL, "it ends at byte %zu, within the head of a recording",
			       r->len);
	if (res < 0)
		return res;
	if (!kmt_reader_is_head(r->buf, KMT_FILE_HEAD))
		return kmt_err(-EINVAL, "byte 0: no kmemtrace recording");
	version = kmt_le32(r->buf + 8);
	if (version == __builtin_bswap32(KMT_FILE_VERSION))
		return kmt_err(-EINVAL, "byte 8: wrong byte order");
	if (!version || version > KMT_FILE_VERSION)
		return kmt_err(-EINVAL, "byte 8: format version %u; this kmemtrace reads up to %u",
			       version, KMT_FILE_VERSION);
	r->is_ring = kmt_le32(r->buf + 12) & KMT_FILE_RING;
	r->pos = KMT_FILE_HEAD;
	return 0;
}

int kmt_reader_new(int fd, struct kmt_reader **ret)
{
	struct kmt_reader *r;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return kmt_err_errno(-errno, "cannot look at it");
	r = calloc(1, sizeof(*r));
	if (!r)
		return kmt_err(-ENOMEM, "out of memory for reading");
	r->fd = fd;
	r->is_file = S_ISREG(st.st_mode);
	err = read_head(r);
	if (!err && r->is_ring)
		err = scan_ring(r);
	if (err) {
		kmt_reader_free(r);
		return err;
	}
	*ret = r;
	return 0;
}
