// SPDX-License-Identifier: GPL-2.0-only
#include "source/perf_file.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/perf_attr.h"
#include "source/perf_bytes.h"
#include "source/perf_zstd.h"

#define TRACING_MAX	(64U << 20)
#define FEATURE_MAX	(1U << 20)
#define FEATURES	256
#define HEADER_SIZE	104
#define HEADER_OLD	72		/* before there were features */
#define HEADER_PIPE	16
#define RECORD_HEADER	8

struct section {
	uint64_t offset, size;
};

struct header {
	uint64_t size, attr_size;
	struct section attrs, data;
	uint64_t features[FEATURES / 64];
};

/* PERFFILE: before v3.4; its byte order shows only in the sizes. */
static bool is_magic(const unsigned char *p, bool *ret_is_old, bool *ret_swap)
{
	static const char magic[] = "PERFILE2", swapped[] = "2ELIFREP";
	static const char old[] = "PERFFILE", old_swapped[] = "ELIFFREP";

	*ret_is_old = !memcmp(p, old, 8) || !memcmp(p, old_swapped, 8);
	*ret_swap = !memcmp(p, swapped, 8) || !memcmp(p, old_swapped, 8);
	return *ret_is_old || *ret_swap || !memcmp(p, magic, 8);
}

bool kmt_perf_file_detect(const void *head, size_t len)
{
	bool is_old, swap;

	return len >= HEADER_PIPE && is_magic(head, &is_old, &swap);
}

/* ---- bytes of the file ----------------------------------------------------- */

/* All of it, or -EBADMSG at the end of the file. */
static int read_at(const struct kmt_perf_file *f, void *to, size_t len, uint64_t at)
{
	size_t done = 0;

	if (at > f->size || len > f->size - at)
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": %zu bytes should be here, but the "
			       "file has %" PRIu64, at, len, f->size);
	while (done < len) {
		ssize_t got = pread(f->fd, (char *)to + done, len - done,
				    (off_t)(f->base + at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return kmt_err_errno(-errno, "offset %" PRIu64, at + done);
		if (!got)
			return kmt_err(-EBADMSG, "offset %" PRIu64 ": cut off", at + done);
		done += (size_t)got;
	}
	return 0;
}

static ssize_t read_some(struct kmt_perf_file *f, int timeout_ms)
{
	struct pollfd pfd = { .fd = f->fd, .events = POLLIN };
	size_t room = sizeof(f->buf) - f->len;

	if (f->can_seek)
		return pread(f->fd, f->buf + f->len, room,
			     (off_t)(f->base + f->at + f->len - f->pos));
	switch (poll(&pfd, 1, timeout_ms)) {
	case 0:
		errno = EAGAIN;
		return -1;
	case -1:
		return -1;
	default:
		return read(f->fd, f->buf + f->len, room);
	}
}

/* Make 'want' bytes available in buf; fewer only at the end of the file. */
static int fill(struct kmt_perf_file *f, size_t want, int timeout_ms)
{
	if (f->len - f->pos >= want)
		return 0;
	if (f->pos) {
		memmove(f->buf, f->buf + f->pos, f->len - f->pos);
		f->len -= f->pos;
		f->pos = 0;
	}
	while (f->len < want && !f->eof) {
		ssize_t got = read_some(f, timeout_ms);

		if (got < 0 && errno == EAGAIN)
			return -EAGAIN;
		if (got < 0)
			return kmt_err_errno(-errno, "offset %" PRIu64, f->at + f->len);
		f->eof = !got;
		f->len += (size_t)got;
	}
	return 0;
}

static void take(struct kmt_perf_file *f, size_t n)
{
	f->pos += n;
	f->at += n;
}

/* The end, before its time. */
static int cut_off(struct kmt_perf_file *f, uint64_t at, const char *why)
{
	f->at_end = true;
	snprintf(f->cut, sizeof(f->cut), "offset %" PRIu64 ": %s", at, why);
	return 0;
}

/* ---- sections -------------------------------------------------------------- */

static struct section get_section(struct kmt_perf_bytes *b)
{
	struct section s = { .offset = kmt_perf_u64(b) };

	s.size = kmt_perf_u64(b);
	return s;
}

/*
 * The bits are words of the machine that wrote them. If they make no sense as
 * 64 bits of the file's byte order, they were two of 32.
 */
static void get_features(struct header *h, struct kmt_perf_bytes *b)
{
	bool is_64 = false;

	for (unsigned i = 0; i < FEATURES / 64; i++)
		h->features[i] = kmt_perf_u64(b);
	is_64 = h->features[0] & (1U << KMT_PERF_FEAT_HOSTNAME | 1U << KMT_PERF_FEAT_TRACING);
	for (unsigned i = 0; b->swap && !is_64 && i < FEATURES / 64; i++)
		h->features[i] = h->features[i] << 32 | h->features[i] >> 32;
}

static int read_header(struct kmt_perf_file *f, struct header *h)
{
	unsigned char bytes[HEADER_SIZE] = { 0 };
	struct kmt_perf_bytes b = { .p = bytes + 8, .left = sizeof(bytes) - 8, .swap = f->swap };
	int err = read_at(f, bytes, HEADER_OLD, 0);

	if (err)
		return err;
	h->size = kmt_perf_u64(&b);
	if (h->size != HEADER_SIZE && h->size != HEADER_OLD)
		return kmt_err(-EBADMSG, "offset 8: a header of %" PRIu64 " bytes is unknown",
			       h->size);
	err = read_at(f, bytes, h->size, 0);
	if (err)
		return err;
	h->attr_size = kmt_perf_u64(&b);
	h->attrs = get_section(&b);
	h->data = get_section(&b);
	get_section(&b);	/* event types: not since v3.11 */
	get_features(h, &b);
	return 0;
}

static int read_attrs(struct kmt_perf_file *f, const struct header *h)
{
	_cleanup_free_ unsigned char *buf = NULL, *ids = NULL;
	const size_t with_ids = sizeof(struct section);

	if (h->attr_size < with_ids || h->attr_size > KMT_PERF_ATTR_MAX + with_ids)
		return kmt_err(-EBADMSG, "offset 16: event attributes of %" PRIu64 " bytes",
			       h->attr_size);
	if (h->attrs.size / h->attr_size > KMT_PERF_ATTRS)
		return kmt_err(-E2BIG, "offset 24: more than %d events", KMT_PERF_ATTRS);
	buf = malloc(h->attr_size);
	ids = malloc(KMT_PERF_IDS_MAX * 8);
	if (!buf || !ids)
		return kmt_err(-ENOMEM, "no memory for event attributes");
	for (uint64_t i = 0; i < h->attrs.size / h->attr_size; i++) {
		uint64_t at = h->attrs.offset + i * h->attr_size;
		struct kmt_perf_bytes b = { .p = buf + h->attr_size - with_ids,
					    .left = with_ids, .swap = f->swap };
		struct section s;
		int err = read_at(f, buf, h->attr_size, at);

		if (err)
			return err;
		s = get_section(&b);
		if (s.size > KMT_PERF_IDS_MAX * 8)
			return kmt_err(-E2BIG, "offset %" PRIu64 ": an event with %" PRIu64
				       " ids", at, s.size / 8);
		err = read_at(f, ids, s.size, s.offset);
		if (!err)
			err = kmt_perf_attr_add(f, at, buf, h->attr_size - with_ids, ids, s.size);
		if (err)
			return err;
	}
	return 0;
}

static int read_tracing(struct kmt_perf_file *f, const struct section *s)
{
	if (s->size > TRACING_MAX || s->offset > f->size || s->size > f->size - s->offset)
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": %" PRIu64 " bytes of tracing data, "
			       "but the file has %" PRIu64, s->offset, s->size, f->size);
	f->tracing = malloc(s->size + 1);
	if (!f->tracing)
		return kmt_err(-ENOMEM, "no memory for tracing data");
	f->tracing_len = s->size;
	f->tracing_at = s->offset;
	return read_at(f, f->tracing, s->size, s->offset);
}

static int read_feature(struct kmt_perf_file *f, unsigned feature, const struct section *s)
{
	size_t len = s->size < FEATURE_MAX ? s->size : FEATURE_MAX;
	_cleanup_free_ unsigned char *data = NULL;
	int err;

	if (feature == KMT_PERF_FEAT_TRACING)
		return read_tracing(f, s);
	if (s->offset > f->size || len > f->size - s->offset)
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": feature %u ends beyond the file",
			       s->offset, feature);
	data = malloc(len + 1);
	if (!data)
		return kmt_err(-ENOMEM, "no memory for a feature of the file");
	err = read_at(f, data, len, s->offset);
	if (!err)
		kmt_perf_info_feature(&f->info, feature, data, len, f->swap);
	return err;
}

/* Tracing data come first. The others are good to have: the file may end in them. */
static int read_features(struct kmt_perf_file *f, const struct header *h)
{
	uint64_t at = f->end;

	for (unsigned bit = 0; bit < FEATURES; bit++) {
		unsigned char bytes[sizeof(struct section)];
		struct kmt_perf_bytes b = { .p = bytes, .left = sizeof(bytes), .swap = f->swap };
		struct section s;
		int err;

		if (!(h->features[bit / 64] >> (bit % 64) & 1))
			continue;
		err = read_at(f, bytes, sizeof(bytes), at);
		s = get_section(&b);
		if (!err)
			err = read_feature(f, bit, &s);
		if (err && (err != -EBADMSG || bit <= KMT_PERF_FEAT_TRACING))
			return err;
		if (err) {
			snprintf(f->cut, sizeof(f->cut), "%s", kmt_err_text());
			return 0;
		}
		at += sizeof(bytes);
	}
	return 0;
}

static int open_sections(struct kmt_perf_file *f)
{
	struct header h = { 0 };
	int err = read_header(f, &h);

	if (err)
		return err;
	if (!h.data.size)
		return kmt_err(-EBADMSG, "offset 48: perf was killed before it finished this file: "
			       "it has no event formats");
	if (h.data.offset > INT64_MAX || h.data.size > INT64_MAX - h.data.offset)
		return kmt_err(-EBADMSG, "offset 40: the data section is beyond any file");
	f->at = h.data.offset;
	f->end = h.data.offset + h.data.size;
	err = read_attrs(f, &h);
	return err ? err : read_features(f, &h);
}

/* The old magic is the same in both byte orders: a sensible size tells which. */
static void guess_order(struct kmt_perf_file *f)
{
	struct kmt_perf_bytes b = { .p = f->buf + 8, .left = 8 };

	f->swap = f->swap || kmt_perf_u64(&b) > UINT32_MAX;
}

int kmt_perf_file_open(struct kmt_perf_file *f)
{
	struct kmt_perf_bytes b = { .left = 8 };
	off_t base = lseek(f->fd, 0, SEEK_CUR);
	struct stat st;
	bool is_old;
	int err;

	f->can_seek = base >= 0 && !fstat(f->fd, &st) && S_ISREG(st.st_mode);
	f->base = f->can_seek ? (uint64_t)base : 0;
	f->size = f->can_seek ? (uint64_t)st.st_size - f->base : UINT64_MAX;
	if (f->can_seek && st.st_size < base)
		f->size = 0;
	f->end = UINT64_MAX;
	f->is_pipe = true;
	err = fill(f, HEADER_PIPE, -1);
	if (err)
		return err;
	if (f->len < HEADER_PIPE)
		return kmt_err(-EBADMSG, "offset %zu: cut off within the header", f->len);
	if (!is_magic(f->buf, &is_old, &f->swap))
		return kmt_err(-EBADMSG, "offset 0: not perf.data");
	if (is_old)
		guess_order(f);
	b = (struct kmt_perf_bytes){ .p = f->buf + 8, .left = 8, .swap = f->swap };
	if (kmt_perf_u64(&b) == HEADER_PIPE) {
		take(f, HEADER_PIPE);
		return 0;
	}
	if (!f->can_seek)
		return kmt_err(-ESPIPE, "offset 0: this form of perf.data can be read from a file, "
			       "not from a pipe");
	f->is_pipe = false;
	f->pos = f->len = 0;
	return open_sections(f);
}

void kmt_perf_file_done(struct kmt_perf_file *f)
{
	for (size_t i = 0; i < f->n_attrs; i++)
		free(f->attr[i].ids);
	free(f->tracing);
	kmt_perf_zstd_free(f->zstd);
}

/* ---- records --------------------------------------------------------------- */

/* Bytes that follow a record and are not counted in its size. */
static int take_payload(struct kmt_perf_file *f, int timeout_ms)
{
	while (f->payload) {
		size_t n = f->payload < KMT_PERF_RECORD ? f->payload : KMT_PERF_RECORD;
		int err = fill(f, n, timeout_ms);

		if (err)
			return err;
		n = f->len - f->pos < n ? f->len - f->pos : n;
		if (!n)
			return cut_off(f, f->at, "the file ends within tracing data");
		if (f->keep) {
			size_t kept = n < f->keep ? n : f->keep;
			char *bigger = realloc(f->tracing, f->tracing_len + kept);

			if (!bigger)
				return kmt_err(-ENOMEM, "no memory for tracing data");
			f->tracing = bigger;
			memcpy(f->tracing + f->tracing_len, f->buf + f->pos, kept);
			f->tracing_len += kept;
			f->keep -= kept;
		}
		take(f, n);
		f->payload -= n;
	}
	return 0;
}

static int start_tracing(struct kmt_perf_file *f, struct kmt_perf_bytes *b, uint64_t at)
{
	uint32_t len = kmt_perf_u32(b);

	if (b->is_short || len > TRACING_MAX)
		return kmt_err(-EBADMSG, "offset %" PRIu64 ": tracing data of %" PRIu32 " bytes",
			       at, len);
	f->payload = ((uint64_t)len + 7) & ~7ULL;
	f->keep = f->tracing ? 0 : len;
	if (!f->tracing)
		f->tracing_at = f->at;
	return 0;
}

static int start_packed(struct kmt_perf_file *f, const struct kmt_perf_record *rec)
{
	struct kmt_perf_bytes b = { .p = rec->data, .left = rec->len, .swap = f->swap };

	if (rec->type == KMT_PERF_REC_COMPRESSED2) {	/* padded: has its length in front */
		uint64_t n = kmt_perf_u64(&b);

		if (n > b.left)
			return cut_off(f, rec->at, "a compressed record longer than itself");
		b.left = n;
	}
	f->packed = b.p;
	f->packed_len = b.left;
	f->packed_at = rec->at;
	f->more_packed = true;
	return f->zstd ? 0 : kmt_perf_zstd_new(&f->zstd);
}

/* Records that are for us. 1: it is one for the caller. */
static int handle(struct kmt_perf_file *f, const struct kmt_perf_record *rec)
{
	struct kmt_perf_bytes b = { .p = rec->data, .left = rec->len, .swap = f->swap };
	bool is_unpacked = rec->data >= f->raw && rec->data <= f->raw + sizeof(f->raw);
	uint64_t feature;

	/* perf compresses what the kernel writes, nothing else */
	if (is_unpacked && rec->type >= KMT_PERF_REC_ATTR && rec->type != KMT_PERF_REC_ROUND)
		return cut_off(f, rec->at, "an impossible record in a compressed one");
	switch (rec->type) {
	case KMT_PERF_REC_ATTR:
		return kmt_perf_attr_record(f, rec);
	case KMT_PERF_REC_TRACING:
		return start_tracing(f, &b, rec->at);
	case KMT_PERF_REC_BUILD_ID:
		kmt_perf_info_build_ids(&f->info, rec->data - RECORD_HEADER,
					rec->len + RECORD_HEADER, f->swap);
		return 0;
	case KMT_PERF_REC_AUXTRACE:
		f->payload = kmt_perf_u64(&b);
		f->keep = 0;
		return 0;
	case KMT_PERF_REC_FEATURE:
		feature = kmt_perf_u64(&b);
		if (feature < FEATURES)
			kmt_perf_info_feature(&f->info, (unsigned)feature, b.p, b.left, f->swap);
		return 0;
	case KMT_PERF_REC_COMPRESSED:
	case KMT_PERF_REC_COMPRESSED2:
		return start_packed(f, rec);
	default:
		return 1;
	}
}

static uint16_t parse_header(const struct kmt_perf_file *f, const unsigned char *p, uint64_t at,
			     struct kmt_perf_record *rec)
{
	struct kmt_perf_bytes b = { .p = p, .left = RECORD_HEADER, .swap = f->swap };
	uint16_t size;

	rec->type = kmt_perf_u32(&b);
	rec->misc = kmt_perf_u16(&b);
	size = kmt_perf_u16(&b);
	rec->at = at;
	rec->data = p + RECORD_HEADER;
	rec->len = size < RECORD_HEADER ? 0 : size - RECORD_HEADER;
	return size;
}

/* Decompress a little more. 1: try again; 0: nothing is left here. */
static int unpack(struct kmt_perf_file *f)
{
	size_t room, got = 0, before = f->packed_len;
	int err;

	if (!f->packed_len && !f->more_packed)
		return 0;
	memmove(f->raw, f->raw + f->raw_pos, f->raw_len - f->raw_pos);
	f->raw_len -= f->raw_pos;
	f->raw_pos = 0;
	room = sizeof(f->raw) - f->raw_len;
	err = kmt_perf_zstd_run(f->zstd, &f->packed, &f->packed_len, f->raw + f->raw_len, room,
				&got);
	if (err == -EBADMSG)
		return cut_off(f, f->packed_at, kmt_err_text());
	if (err)
		return err;
	f->raw_len += got;
	f->more_packed = got == room;
	if (!got && f->packed_len && f->packed_len == before)
		return cut_off(f, f->packed_at, "compressed records do not go on");
	return 1;
}

/* 1: a whole record is there; 0: not even after everything was decompressed. */
static int next_unpacked(struct kmt_perf_file *f, struct kmt_perf_record *ret)
{
	while (f->zstd) {
		size_t left = f->raw_len - f->raw_pos;
		int err;

		if (left >= RECORD_HEADER) {
			uint16_t size = parse_header(f, f->raw + f->raw_pos, f->packed_at, ret);

			if (size < RECORD_HEADER)
				return cut_off(f, f->packed_at, "a record without size");
			if (left >= size) {
				f->raw_pos += size;
				return 1;
			}
		}
		err = unpack(f);
		if (err <= 0)
			return err;
	}
	return 0;
}

static bool is_over(const struct kmt_perf_file *f)
{
	return f->at >= f->end || (f->eof && f->len == f->pos);
}

/* 1: a record as it lies in the file; 0: the end. */
static int next_plain(struct kmt_perf_file *f, int timeout_ms, struct kmt_perf_record *ret)
{
	uint64_t at = f->at;
	uint16_t size;
	int err = is_over(f) ? 0 : fill(f, RECORD_HEADER, timeout_ms);

	if (err)
		return err;
	if (is_over(f)) {
		f->at_end = true;
		if (f->raw_len > f->raw_pos)
			return cut_off(f, f->packed_at, "the last compressed record is cut off");
		return f->at < f->end && !f->is_pipe ?
		       cut_off(f, at, "the file ends before its data do") : 0;
	}
	if (f->len - f->pos < RECORD_HEADER)
		return cut_off(f, at, "the file ends within a record");
	size = parse_header(f, f->buf + f->pos, at, ret);
	if (size < RECORD_HEADER)
		return cut_off(f, at, "a record without size");
	err = fill(f, size, timeout_ms);
	if (err)
		return err;
	if (f->len - f->pos < size || size > f->end - f->at)
		return cut_off(f, at, "the file ends within a record");
	parse_header(f, f->buf + f->pos, at, ret);	/* fill() may have moved it */
	take(f, size);
	return 1;
}

int kmt_perf_file_next(struct kmt_perf_file *f, int timeout_ms, struct kmt_perf_record *ret)
{
	while (!f->at_end) {
		int got = take_payload(f, timeout_ms);

		if (got < 0)
			return got;
		if (!f->at_end)
			got = next_unpacked(f, ret);
		if (!got && !f->at_end)
			got = next_plain(f, timeout_ms, ret);
		if (got > 0)
			got = handle(f, ret);
		if (got)
			return got;
	}
	return 0;
}
