// SPDX-License-Identifier: GPL-2.0-only
#include "source/trace_dat_pages.h"

#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define BLOCK		(64U << 10)
#define CHUNK_PAGES	16		/* trace-cmd makes chunks of ten pages */
#define MAX_CHUNK	(16U << 20)
#define MAX_CHUNKS	(1ULL << 30)	/* memory of all CPUs' chunks together, about */

/* The word with a page's length and flags (kernel/trace/ring_buffer.c). */
#define COMMIT_MASK	((1U << 27) - 1)
#define MISSED_EVENTS	(1U << 31)
#define MISSED_STORED	(1U << 30)	/* their number stands behind the last record */

/* The first word of a record: 5 bits of type or length, 27 of time. */
#define DELTA_BITS	27
#define TYPE_PADDING	29
#define TYPE_EXTEND	30
#define TYPE_STAMP	31
#define STAMP_BITS	59	/* of an absolute time; the rest is the page's */

static uint32_t get32(const struct kmt_tdat_pages *p, const unsigned char *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return p->file->layout.swap ? bswap_32(v) : v;
}

static uint64_t get64(const struct kmt_tdat_pages *p, const unsigned char *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return p->file->layout.swap ? bswap_64(v) : v;
}

static uint64_t get_word(const struct kmt_tdat_pages *p, const unsigned char *at)
{
	return p->file->layout.word == 8 ? get64(p, at) : get32(p, at);
}

void kmt_tdat_pages_init(struct kmt_tdat_pages *p, const struct kmt_tdat_file *file,
			 const struct kmt_tdat_buffer *buffer, const struct kmt_tdat_cpu *cpu,
			 size_t n_cpus)
{
	uint64_t max = MAX_CHUNKS / 2 / (n_cpus ? n_cpus : 1);
	uint64_t usual = (uint64_t)buffer->page_size * CHUNK_PAGES;

	max = max > MAX_CHUNK ? MAX_CHUNK : max;
	*p = (struct kmt_tdat_pages){
		.file = file, .buffer = buffer, .at = cpu->offset, .left = cpu->size,
		.max_chunk = max > usual ? max : usual,
	};
}

void kmt_tdat_pages_done(struct kmt_tdat_pages *p)
{
	free(p->block);
	free(p->packed);
	*p = (struct kmt_tdat_pages){ .ended = true };
}

/* ---- blocks of pages out of the file ---------------------------------------------- */

static int make_room(unsigned char **buf, size_t *cap, size_t len)
{
	unsigned char *more;

	if (len <= *cap)
		return 0;
	more = realloc(*buf, len);
	if (!more)
		return kmt_err(-ENOMEM, "no memory for %zu bytes of trace pages", len);
	*buf = more;
	*cap = len;
	return 0;
}

/* What the file has of 'len' bytes, at most what is left of this CPU. */
static ssize_t fetch(struct kmt_tdat_pages *p, void *to, size_t len)
{
	size_t done = 0, want = len < p->left ? len : (size_t)p->left;

	while (done < want) {
		ssize_t got = pread(p->file->fd, (char *)to + done, want - done,
				    (off_t)(p->at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return kmt_err_errno(-errno, "cannot read trace pages");
		if (!got)
			break;
		done += (size_t)got;
	}
	p->at += done;
	p->left -= done;
	return (ssize_t)done;
}

static int damaged(struct kmt_tdat_pages *p, const char *what)
{
	return kmt_err(-EBADMSG, "offset %" PRIu64 ": %s", p->at, what);
}

static int plain_block(struct kmt_tdat_pages *p)
{
	size_t size = p->buffer->page_size, want = size > BLOCK ? size : BLOCK / size * size;
	ssize_t got;
	int err = make_room(&p->block, &p->block_cap, want);

	if (err)
		return err;
	if (want > p->left)
		want = (size_t)p->left;
	got = fetch(p, p->block, want);
	if (got < 0)
		return (int)got;
	p->block_len = (size_t)got;
	if (p->block_len == want)
		return 0;
	p->ended = true;
	return p->block_len ? 0 : damaged(p, "trace pages are cut off");
}

/* The number of chunks stands in front of them. */
static int start_chunks(struct kmt_tdat_pages *p)
{
	unsigned char raw[4];

	p->started = true;
	p->left += sizeof(raw);		/* trace-cmd's size leaves them out */
	if (fetch(p, raw, sizeof(raw)) != sizeof(raw)) {
		p->ended = true;
		return damaged(p, "trace pages are cut off");
	}
	p->chunks = get32(p, raw);
	return 0;
}

static int packed_block(struct kmt_tdat_pages *p)
{
	uint32_t in_len, out_len;
	unsigned char raw[8];
	int err = p->started ? 0 : start_chunks(p);

	if (err)
		return err;
	if (!p->chunks--) {
		p->ended = true;
		return 0;
	}
	p->ended = true;	/* until this chunk has come whole */
	if (fetch(p, raw, sizeof(raw)) != sizeof(raw))
		return damaged(p, "trace pages are cut off");
	in_len = get32(p, raw);
	out_len = get32(p, raw + 4);
	if (!in_len || in_len > p->max_chunk || !out_len || out_len > p->max_chunk)
		return damaged(p, "a compressed chunk has an impossible length");
	err = make_room(&p->packed, &p->packed_cap, in_len);
	if (!err)
		err = make_room(&p->block, &p->block_cap, out_len);
	if (err)
		return err;
	if (fetch(p, p->packed, in_len) != (ssize_t)in_len)
		return damaged(p, "a compressed chunk is cut off");
	p->ended = false;
	err = kmt_tdat_unpack(p->file, p->packed, in_len, p->block, out_len);
	if (err)
		return err;
	p->block_len = out_len;
	return 0;
}

/* More pages; 0 with block_len 0: that was all. */
static int next_block(struct kmt_tdat_pages *p)
{
	p->block_at = p->block_len = 0;
	if (p->ended || (!p->left && !p->chunks)) {
		p->ended = true;
		free(take_ptr(p->block));	/* what other CPUs still have is enough */
		p->block_cap = 0;
		return 0;
	}
	return p->buffer->packed ? packed_block(p) : plain_block(p);
}

/* ---- pages out of a block, records out of a page ------------------------------------ */

/* Begin the next page: its time, its length, what is missing before it. */
static int open_page(struct kmt_tdat_pages *p)
{
	const struct kmt_tdat_layout *l = &p->file->layout;
	size_t room = p->block_len - p->block_at, size = p->buffer->page_size;
	uint64_t flags;
	size_t len;

	p->page = NULL;
	room = room < size ? room : size;
	p->block_at += room;
	if (room < l->data)
		return damaged(p, "a trace page is cut off");
	p->page = p->block + p->block_at - room;
	p->time = get64(p, p->page + l->time);
	flags = get_word(p, p->page + l->commit);
	len = flags & COMMIT_MASK;
	p->pos = l->data;
	p->end = l->data + len;
	p->n_pages++;
	p->is_cut = p->end > room;
	if (p->is_cut)
		p->end = room;
	if (!(flags & MISSED_EVENTS))
		return 0;
	p->has_gap = true;
	if ((flags & MISSED_STORED) && !p->is_cut && p->end + l->word <= room)
		p->missed = get_word(p, p->page + p->end);
	return 0;
}

/* The page is over, by its length or by what follows not being whole. */
static int close_page(struct kmt_tdat_pages *p)
{
	bool is_cut = p->is_cut;

	p->page = NULL;
	p->is_cut = false;
	return is_cut ? damaged(p, "a trace page is cut off or its length is wrong") : -EAGAIN;
}

static int broken(struct kmt_tdat_pages *p)
{
	p->is_cut = true;
	return close_page(p);
}

/* As kernel and libraries do: the upper bits of an absolute time are the page's. */
static uint64_t absolute(const struct kmt_tdat_pages *p, uint64_t stamp)
{
	const uint64_t low = (1ULL << STAMP_BITS) - 1;

	return (p->time & ~low) | (stamp & low);
}

/* One step in the page. 1: a record; -EAGAIN: none, go on; else as next(). */
static int step(struct kmt_tdat_pages *p, struct kmt_tdat_record *ret)
{
	const unsigned char *at = p->page + p->pos;
	uint32_t word, delta, type;
	uint64_t len, head = 4;

	if (p->end - p->pos < 4)
		return close_page(p);
	word = get32(p, at);
	type = p->file->layout.is_big ? word >> DELTA_BITS : word & 31;
	delta = p->file->layout.is_big ? word & ((1U << DELTA_BITS) - 1) : word >> 5;
	if (type == TYPE_PADDING && !delta)
		return close_page(p);	/* nothing up to the page's end */
	if (type && type < TYPE_PADDING) {
		len = type * 4;
	} else {
		if (p->end - p->pos < 8)
			return broken(p);
		len = get32(p, at + 4);
	}
	if (type == TYPE_EXTEND || type == TYPE_STAMP) {
		uint64_t time = (len << DELTA_BITS) + delta;

		p->time = type == TYPE_EXTEND ? p->time + time : absolute(p, time);
		p->pos += 8;
		return -EAGAIN;
	}
	p->time += delta;
	if (!type) {
		/* the length counts its own word */
		head = 8;
		if (len < 4)
			return broken(p);
		len -= 4;
	}
	if (len > p->end - p->pos - head)
		return broken(p);
	ret->data = at + head;
	ret->len = len;
	ret->ts_ns = p->time;
	len = head + ((len + 3) & ~3ULL);
	p->pos = len < p->end - p->pos ? p->pos + len : p->end;
	if (type == TYPE_PADDING)
		return -EAGAIN;
	ret->has_gap = p->has_gap;
	ret->missed = p->missed;
	p->has_gap = false;
	p->missed = 0;
	return 1;
}

int kmt_tdat_pages_next(struct kmt_tdat_pages *p, struct kmt_tdat_record *ret)
{
	int res;

	for (;;) {
		if (p->page) {
			res = step(p, ret);
		} else if (p->block_at < p->block_len) {
			res = open_page(p);
		} else {
			res = next_block(p);
			if (!res && !p->block_len && p->ended)
				return 0;
		}
		if (res && res != -EAGAIN)
			return res;
	}
}
