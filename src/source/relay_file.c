// SPDX-License-Identifier: GPL-2.0-only
#include "source/relay_file.h"

#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

#define PAGE 4096	/* sub-buffers of relay are whole pages */

struct record {
	uint8_t	 event_id, type_id;
	uint16_t size;
	uint32_t seq;
	uint64_t call_site, ptr, bytes_req, bytes_alloc;
	uint32_t gfp;
	int32_t	 node;
};
_Static_assert(sizeof(struct record) == KMT_RELAY_ALLOC, "as it lies in the file");

static struct record get(const char *p, size_t len, bool swap)
{
	struct record r = { 0 };

	memcpy(&r, p, len < sizeof(r) ? len : sizeof(r));
	if (!swap)
		return r;
	r.size = bswap_16(r.size);
	r.seq = bswap_32(r.seq);
	r.call_site = bswap_64(r.call_site);
	r.ptr = bswap_64(r.ptr);
	r.bytes_req = bswap_64(r.bytes_req);
	r.bytes_alloc = bswap_64(r.bytes_alloc);
	r.gfp = bswap_32(r.gfp);
	r.node = (int32_t)bswap_32((uint32_t)r.node);
	return r;
}

static size_t mandatory(const struct record *r)
{
	return r->event_id ? KMT_RELAY_FREE : KMT_RELAY_ALLOC;
}

static bool is_sane(const struct record *r)
{
	return r->event_id <= 1 && r->type_id <= 2 && r->size >= mandatory(r);
}

/*
 * Two records that follow each other, or all there is. The first must be one of
 * v1: others have no mark that tells them from other binary files.
 */
static bool is_chain(const char *p, size_t len, bool swap)
{
	struct record first = get(p, len, swap), second;

	if (len < KMT_RELAY_FREE || !is_sane(&first) || first.size != mandatory(&first))
		return false;
	if (len < first.size + (size_t)KMT_RELAY_FREE)
		return true;
	second = get(p + first.size, len - first.size, swap);
	if (!second.event_id && !second.type_id && !second.size)
		return true;	/* padding */
	return is_sane(&second) && (int32_t)(second.seq - first.seq) > 0;
}

bool kmt_relay_detect(const void *head, size_t len, bool *ret_swap)
{
	for (int swap = 0; swap < 2; swap++) {
		if (!is_chain(head, len, swap))
			continue;
		*ret_swap = swap;
		return true;
	}
	return false;
}

void kmt_relay_file_init(struct kmt_relay_file *f, int fd, uint32_t cpu, bool swap)
{
	memset(f, 0, offsetof(struct kmt_relay_file, buf));
	f->fd = fd;
	f->swap = swap;
	f->ev.cpu = cpu;
}

void kmt_relay_file_done(struct kmt_relay_file *f)
{
	if (f->fd > STDIN_FILENO)
		close(f->fd);
	f->fd = -1;
}

/* 1: more bytes are in the buffer; 0: nothing within the time; -ENODATA. */
static int fill(struct kmt_relay_file *f, int timeout_ms)
{
	struct pollfd pfd = { .fd = f->fd, .events = POLLIN };
	ssize_t got;

	if (f->at_end)
		return -ENODATA;
	memmove(f->buf, f->buf + f->pos, f->len - f->pos);
	f->offset += f->pos;
	f->len -= f->pos;
	f->pos = 0;
	got = poll(&pfd, 1, timeout_ms);
	if (!got)
		return 0;
	if (got > 0)
		got = read(f->fd, f->buf + f->len, sizeof(f->buf) - f->len);
	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got < 0)
		return kmt_err_errno(-errno, "cannot read CPU %" PRIu32 " at byte %" PRIu64,
				     f->ev.cpu, f->offset + f->len);
	f->at_end = !got;
	f->len += (size_t)got;
	return got ? 1 : -ENODATA;
}

/* At least 'want' bytes from pos on. */
static int need(struct kmt_relay_file *f, size_t want, int timeout_ms)
{
	int err = 1;

	while (f->len - f->pos < want && err == 1)
		err = fill(f, timeout_ms);
	return err;
}

static void note_bad(struct kmt_relay_file *f, uint64_t offset)
{
	if (!f->was_bad && !f->bad_places++)
		f->first_bad = offset;
	f->was_bad = true;
}

static bool is_zero(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return !v;
}

/*
 * Zeros where a record should be: what a mapping shows at the end of a
 * sub-buffer, which read() leaves out. Elsewhere they are damage.
 */
static int skip_zeros(struct kmt_relay_file *f, int timeout_ms)
{
	uint64_t start = f->offset + f->pos;
	int err;

	while ((err = need(f, 4, timeout_ms)) == 1 && is_zero(f->buf + f->pos))
		f->pos += 4;
	if (err == 1 && f->offset + f->pos != start && (f->offset + f->pos) % PAGE)
		note_bad(f, start);
	return err;
}

static int skip_rest(struct kmt_relay_file *f, int timeout_ms)
{
	while (f->skip) {
		int err = need(f, 1, timeout_ms);
		size_t n = f->len - f->pos < f->skip ? f->len - f->pos : f->skip;

		if (err != 1)
			return err;
		f->pos += n;
		f->skip -= n;
	}
	return 1;
}

static void take(struct kmt_relay_file *f, const struct record *r)
{
	f->ev = (struct kmt_event){
		.op = r->event_id ? KMT_OP_FREE : KMT_OP_ALLOC, .type = r->type_id,
		.cpu = f->ev.cpu, .node = -1, .real_node = -1, .order = -1, .migratetype = -1,
		.call_site = r->call_site, .addr = r->ptr,
	};
	if (!r->event_id) {
		f->ev.bytes_req = r->bytes_req;
		f->ev.bytes_alloc = r->bytes_alloc;
		f->ev.gfp = r->gfp;
		f->ev.node = r->node < -1 || r->node > INT16_MAX ? -1 : (int16_t)r->node;
	}
	f->seq = r->seq;
	f->skip = r->size;
	f->has_head = true;
	f->was_bad = false;
}

/* What is left at the end of the file is less than a record. */
static int at_end(struct kmt_relay_file *f)
{
	if (f->pos < f->len || f->skip)
		note_bad(f, f->offset + f->pos);
	f->pos = f->len;
	f->skip = 0;
	return -ENODATA;
}

int kmt_relay_file_head(struct kmt_relay_file *f, int timeout_ms)
{
	while (!f->has_head) {
		struct record r;
		int err = skip_rest(f, timeout_ms);

		if (err == 1)
			err = skip_zeros(f, timeout_ms);
		if (err == 1)
			err = need(f, KMT_RELAY_FREE, timeout_ms);
		if (err != 1)
			return err == -ENODATA ? at_end(f) : err;
		r = get(f->buf + f->pos, f->len - f->pos, f->swap);
		if (is_sane(&r) && f->len - f->pos < mandatory(&r))
			err = need(f, mandatory(&r), timeout_ms);
		if (err != 1)
			return err == -ENODATA ? at_end(f) : err;
		r = get(f->buf + f->pos, f->len - f->pos, f->swap);
		/* after damage only a v1 record is taken for one: anything has a size */
		if (!is_sane(&r) || (f->was_bad && r.size != mandatory(&r))) {
			note_bad(f, f->offset + f->pos);
			f->pos += 4;
			continue;
		}
		take(f, &r);
	}
	return 1;
}
