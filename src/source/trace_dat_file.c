// SPDX-License-Identifier: GPL-2.0-only
/*
 *	version 6: head | header_page, formats, kallsyms, tasks | options | where pages are
 *	version 7: head | offset of options --> options --> sections, buffers, more options
 *
 * Read here and not by libtracecmd, which believes what a file says: one that
 * lacks formats trace-cmd always writes made its version 1.3.1 crash.
 */
#include "source/trace_dat_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/perf_bytes.h"
#include "source/perf_zstd.h"
#include "symbol/gfp.h"

static const char magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
static const unsigned char zstd_magic[] = { 0x28, 0xb5, 0x2f, 0xfd };

#define VERSION_MIN	6
#define VERSION_MAX	7
#define FIRST_LOOK	(1U << 20)	/* version 6: its header has no length, so try more and more */
#define MAX_PART	(256U << 20)	/* a kernel's kallsyms have 5 to 20 MiB */
#define MAX_OPTIONS	64		/* sections of them */
#define SECTION_HEAD	16
#define PACKED		1		/* flag of a section */

enum { CODEC_NONE, CODEC_ZSTD, CODEC_ZLIB };
enum { SEC_OPTIONS = 0, OPT_BUFFER = 3, SEC_HEADER = 16, SEC_FTRACE = 17, SEC_EVENTS = 18,
       SEC_KALLSYMS = 19, SEC_CMDLINES = 21, OPT_BUFFER_TEXT = 22 };

bool kmt_tdat_file_detect(const void *head, size_t len)
{
	return len >= sizeof(magic) && !memcmp(head, magic, sizeof(magic));
}

static int bad(uint64_t at, const char *what)
{
	return kmt_err(-EBADMSG, "offset %" PRIu64 ": %s", at, what);
}

/* All of it or -EBADMSG. */
static int read_at(const struct kmt_tdat_file *f, uint64_t at, void *to, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t got = pread(f->fd, (char *)to + done, len - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return kmt_err_errno(-errno, "cannot read");
		if (!got)
			return bad(at + done, "the file is cut off");
		done += (size_t)got;
	}
	return 0;
}

/* ---- compression ---------------------------------------------------------------- */

static int unzstd(const unsigned char *in, size_t in_len, unsigned char *out, size_t out_len)
{
	struct kmt_perf_zstd *z;
	const unsigned char *head = zstd_magic;
	size_t head_len = sizeof(zstd_magic), done = 0, got;
	int err = kmt_perf_zstd_new(&z);

	/* some versions of trace-cmd leave the magic number out */
	if (!err && (in_len < head_len || memcmp(in, zstd_magic, head_len)))
		err = kmt_perf_zstd_run(z, &head, &head_len, out, 0, &got);
	while (!err && done < out_len) {
		err = kmt_perf_zstd_run(z, &in, &in_len, out + done, out_len - done, &got);
		if (!err && !got && !in_len)
			err = kmt_err(-EBADMSG, "compressed data are cut off");
		done += err ? 0 : got;
	}
	kmt_perf_zstd_free(z);
	return err;
}

int kmt_tdat_unpack(const struct kmt_tdat_file *f, const void *in, size_t in_len, void *out,
		    size_t out_len)
{
	uLongf len = out_len;

	if (f->codec == CODEC_ZSTD)
		return unzstd(in, in_len, out, out_len);
	if (f->codec != CODEC_ZLIB)
		return kmt_err(-EBADMSG, "compressed data in a file that names no compression");
	if (uncompress(out, &len, in, in_len) != Z_OK || len != out_len)
		return kmt_err(-EBADMSG, "compressed data are damaged");
	return 0;
}

/* ---- buffers --------------------------------------------------------------------- */

static struct kmt_tdat_buffer *new_buffer(struct kmt_tdat_file *f, uint64_t at, uint32_t n_cpus)
{
	struct kmt_tdat_buffer *buf = &f->buffer[f->n_buffers];

	if (n_cpus > KMT_TDAT_CPUS || f->n_buffers == KMT_TDAT_BUFFERS) {
		bad(at, "too many CPUs or buffers");
		return NULL;
	}
	*buf = (struct kmt_tdat_buffer){ .page_size = f->layout.page_size, .n_cpus = n_cpus };
	buf->cpu = calloc(n_cpus ? n_cpus : 1, sizeof(*buf->cpu));
	if (!buf->cpu) {
		kmt_err(-ENOMEM, "no memory for %u CPUs", n_cpus);
		return NULL;
	}
	f->n_buffers++;
	return buf;
}

static void set_name(char out[KMT_TDAT_NAME], const unsigned char *text, size_t len)
{
	size_t n = strnlen((const char *)text, len < KMT_TDAT_NAME ? len : KMT_TDAT_NAME - 1);

	memcpy(out, text, n);
	out[n] = '\0';
}

/* Up to the NUL; "" where there is none. */
static const unsigned char *take_string(struct kmt_perf_bytes *b)
{
	const unsigned char *s = b->p;
	const unsigned char *nul = b->left ? memchr(s, '\0', b->left) : NULL;

	if (!nul) {
		b->is_short = true;
		return (const unsigned char *)"";
	}
	return kmt_perf_take(b, (uint64_t)(nul - s) + 1);
}

static void read_cpus(struct kmt_tdat_buffer *buf, struct kmt_perf_bytes *b, bool has_ids)
{
	for (size_t i = 0; i < buf->n_cpus; i++) {
		buf->cpu[i].cpu = has_ids ? kmt_perf_u32(b) : (uint32_t)i;
		buf->cpu[i].offset = kmt_perf_u64(b);
		buf->cpu[i].size = kmt_perf_u64(b);
	}
}

/* Version 6: "flyrecord" and the place of each CPU's pages. */
static int read_pages_6(struct kmt_tdat_file *f, struct kmt_perf_bytes *b, uint64_t at,
			uint32_t n_cpus, const char *name)
{
	const unsigned char *kind = kmt_perf_take(b, 10);
	struct kmt_tdat_buffer *buf;

	if (!kind)
		return bad(at, "the place of the trace pages is cut off");
	if (!memcmp(kind, "latency", 7))
		return bad(at, "it holds the text of a latency tracer, no records");
	if (memcmp(kind, "flyrecord", 10))
		return bad(at, "no trace pages where they must be");
	if (b->left / 16 < n_cpus)
		return bad(at, "the place of the trace pages is cut off");
	buf = new_buffer(f, at, n_cpus);
	if (!buf)
		return -EBADMSG;
	read_cpus(buf, b, false);
	snprintf(buf->name, sizeof(buf->name), "%s", name);
	snprintf(buf->clock, sizeof(buf->clock), "%s", f->clock);
	return 0;
}

/* Version 7: all about a buffer stands in its option. */
static int read_buffer_7(struct kmt_tdat_file *f, struct kmt_perf_bytes *b, uint64_t at)
{
	uint64_t section = kmt_perf_u64(b);
	const unsigned char *name = take_string(b), *clock = take_string(b);
	uint32_t page_size = kmt_perf_u32(b), n_cpus = kmt_perf_u32(b);
	struct kmt_perf_bytes head = { .left = 4, .swap = b->swap };
	struct kmt_tdat_buffer *buf;
	unsigned char raw[4];

	if (b->is_short || b->left / 20 < n_cpus)
		return bad(at, "a buffer's description is cut off");
	buf = new_buffer(f, at, n_cpus);
	if (!buf)
		return -EBADMSG;
	read_cpus(buf, b, true);
	set_name(buf->name, name, KMT_TDAT_NAME);
	kmt_tdat_clock_name(buf->clock, (const char *)clock, strlen((const char *)clock));
	if (page_size)
		buf->page_size = page_size;
	if (read_at(f, section, raw, sizeof(raw))) {
		f->unreadable++;	/* its CPUs' pages then say that they are cut off */
		return 0;
	}
	head.p = raw;
	kmt_perf_u16(&head);	/* what section it is */
	buf->packed = kmt_perf_u16(&head) & PACKED;
	return 0;
}

/* ---- version 7 ------------------------------------------------------------------- */

/*
 * A file may name the same section again and again, and a few bytes may unpack to
 * MAX_PART: all of them together are no larger than one can be.
 */
static int take_room(struct kmt_tdat_file *f, uint64_t at, uint64_t len)
{
	if (len > MAX_PART - f->taken)
		return bad(at, "its sections are larger than any kernel's, together");
	f->taken += len;
	return 0;
}

/* A section's content, unpacked; free() *ret. */
static int read_section(struct kmt_tdat_file *f, uint64_t at, unsigned want, unsigned char **ret,
			size_t *ret_len)
{
	_cleanup_free_ unsigned char *raw = NULL, *out = NULL;
	unsigned char head[SECTION_HEAD];
	struct kmt_perf_bytes b = { .p = head, .left = sizeof(head), .swap = f->layout.swap };
	unsigned id, flags;
	uint64_t len, in_len, out_len;
	int err = read_at(f, at, head, sizeof(head));

	if (err)
		return err;
	id = kmt_perf_u16(&b);
	flags = kmt_perf_u16(&b);
	kmt_perf_u32(&b);	/* what people call it */
	len = kmt_perf_u64(&b);
	if (id != want)
		return bad(at, "another section than it must be");
	if (len > MAX_PART || len > f->size)
		return bad(at, "a section ends beyond the file");
	err = take_room(f, at, len);
	if (err)
		return err;
	raw = malloc(len + 1);
	if (!raw)
		return kmt_err(-ENOMEM, "no memory for %" PRIu64 " bytes of a section", len);
	err = read_at(f, at + SECTION_HEAD, raw, len);
	if (err)
		return err;
	if (!(flags & PACKED)) {
		*ret = take_ptr(raw);
		*ret_len = len;
		return 0;
	}
	b = (struct kmt_perf_bytes){ .p = raw, .left = len, .swap = f->layout.swap };
	in_len = kmt_perf_u32(&b);
	out_len = kmt_perf_u32(&b);
	if (b.is_short || in_len > b.left || out_len > MAX_PART)
		return bad(at, "a compressed section has an impossible length");
	err = take_room(f, at, out_len);
	if (err)
		return err;
	out = malloc(out_len + 1);
	if (!out)
		return kmt_err(-ENOMEM, "no memory for %" PRIu64 " bytes of a section", out_len);
	err = kmt_tdat_unpack(f, b.p, in_len, out, out_len);
	if (err)
		return kmt_err_prefix(err, "offset %" PRIu64 ": ", at);
	*ret = take_ptr(out);
	*ret_len = out_len;
	return 0;
}

static int read_part(struct kmt_tdat_file *f, unsigned id, uint64_t at)
{
	static int (*const readers[])(struct kmt_tdat_file *f, struct kmt_perf_bytes *b) = {
		[SEC_HEADER] = kmt_tdat_read_header, [SEC_FTRACE] = kmt_tdat_read_ftrace,
		[SEC_EVENTS] = kmt_tdat_read_events, [SEC_KALLSYMS] = kmt_tdat_read_kallsyms,
		[SEC_CMDLINES] = kmt_tdat_read_cmdlines,
	};
	_cleanup_free_ unsigned char *data = NULL;
	struct kmt_perf_bytes b = { .swap = f->layout.swap };
	bool is_needed = id == SEC_HEADER || id == SEC_EVENTS;
	int err = read_section(f, at, id, &data, &b.left);

	b.p = data;
	if (!err) {
		err = readers[id](f, &b);
		if (err)
			kmt_err_prefix(err, "offset %" PRIu64 ": ", at);
	}
	if (!err || is_needed || err == -ENOMEM)
		return err;
	f->unreadable++;
	return 0;
}

static int take_option_7(struct kmt_tdat_file *f, unsigned id, struct kmt_perf_bytes *b,
			 uint64_t at)
{
	switch (id) {
	case SEC_HEADER:
	case SEC_FTRACE:
	case SEC_EVENTS:
	case SEC_KALLSYMS:
	case SEC_CMDLINES:
		return read_part(f, id, kmt_perf_u64(b));
	case OPT_BUFFER:
		return read_buffer_7(f, b, at);
	case OPT_BUFFER_TEXT:
		f->unreadable++;	/* text, no records */
		return 0;
	default:
		kmt_tdat_read_option(f, id, b->p, b->left);
		return 0;
	}
}

/* One section of options; *ret_next: where the next one is, 0 none. */
static int read_options_7(struct kmt_tdat_file *f, uint64_t at, uint64_t *ret_next)
{
	_cleanup_free_ unsigned char *data = NULL;
	struct kmt_perf_bytes b = { .swap = f->layout.swap };
	int err = read_section(f, at, SEC_OPTIONS, &data, &b.left);

	b.p = data;
	while (!err) {
		struct kmt_perf_bytes opt = { .swap = b.swap };
		unsigned id = kmt_perf_u16(&b);

		opt.left = kmt_perf_u32(&b);
		opt.p = kmt_perf_take(&b, opt.left);
		if (b.is_short)
			return bad(at, "options are cut off");
		if (!id) {
			*ret_next = kmt_perf_u64(&opt);
			return 0;
		}
		err = take_option_7(f, id, &opt, at);
	}
	return err;
}

static int codec_of(const char *name)
{
	return !strcmp(name, "none") ? CODEC_NONE : !strcmp(name, "zstd") ? CODEC_ZSTD :
	       !strcmp(name, "zlib") ? CODEC_ZLIB : -1;
}

static int read_7(struct kmt_tdat_file *f, struct kmt_perf_bytes *b)
{
	const char *name = (const char *)take_string(b);
	uint64_t at, next;
	int err = 0;

	f->codec = codec_of(name);
	take_string(b);		/* the compressor's version */
	at = kmt_perf_u64(b);
	if (b->is_short)
		return bad(0, "the head is cut off");
	if (f->codec < 0)
		return bad(0, "compressed in an unknown way");
	for (unsigned i = 0; !err && at; i++) {
		if (i == MAX_OPTIONS)
			return bad(at, "options without end");
		next = 0;
		err = read_options_7(f, at, &next);
		/* what was read before may be enough: a file whose end is missing */
		if (err && i && err != -ENOMEM) {
			f->unreadable++;
			err = 0;
		}
		at = next;
	}
	return err;
}

/* ---- version 6 ------------------------------------------------------------------- */

struct instance {
	uint64_t at;
	char name[KMT_TDAT_NAME];
};

static int read_instance_6(struct kmt_tdat_file *f, const struct instance *inst, uint32_t n_cpus)
{
	size_t len = 10 + (size_t)n_cpus * 16;
	_cleanup_free_ unsigned char *data = malloc(len);
	struct kmt_perf_bytes b = { .p = data, .left = len, .swap = f->layout.swap };

	if (!data)
		return kmt_err(-ENOMEM, "no memory for %u CPUs", n_cpus);
	if (!read_at(f, inst->at, data, len) && !read_pages_6(f, &b, inst->at, n_cpus, inst->name))
		return 0;
	f->unreadable++;
	return 0;
}

/* Options up to the id 0. */
static void read_options_6(struct kmt_tdat_file *f, struct kmt_perf_bytes *b,
			   struct instance inst[KMT_TDAT_BUFFERS], size_t *n)
{
	for (;;) {
		struct kmt_perf_bytes opt = { .swap = b->swap };
		unsigned id = kmt_perf_u16(b);

		if (!id)
			return;		/* the end, or nothing left */
		opt.left = kmt_perf_u32(b);
		opt.p = kmt_perf_take(b, opt.left);
		if (!opt.p)
			return;
		if (id != OPT_BUFFER) {
			kmt_tdat_read_option(f, id, opt.p, opt.left);
		} else if (*n < KMT_TDAT_BUFFERS - 1) {
			inst[*n].at = kmt_perf_u64(&opt);
			set_name(inst[*n].name, opt.p, opt.left);
			(*n)++;
		}
	}
}

static int read_tail_6(struct kmt_tdat_file *f, struct kmt_perf_bytes *b)
{
	_cleanup_free_ struct instance *inst = calloc(KMT_TDAT_BUFFERS, sizeof(*inst));
	uint32_t n_cpus = kmt_perf_u32(b);
	size_t n = 0;
	int err;

	if (!inst)
		return kmt_err(-ENOMEM, "no memory for the list of buffers");
	if (n_cpus > KMT_TDAT_CPUS)
		return bad(0, "too many CPUs");
	if (b->left >= 10 && !memcmp(b->p, "options", 7)) {
		kmt_perf_take(b, 10);
		read_options_6(f, b, inst, &n);
	}
	if (b->is_short)
		return bad(f->size, "the header is cut off");
	err = read_pages_6(f, b, 0, n_cpus, "");
	for (size_t i = 0; !err && i < n; i++)
		err = read_instance_6(f, &inst[i], n_cpus);
	return err;
}

/* From behind the page size to the place of the pages. */
static int read_6(struct kmt_tdat_file *f, struct kmt_perf_bytes *b, const unsigned char *start)
{
	int err = kmt_tdat_read_header(f, b);

	if (!err)
		err = kmt_tdat_read_ftrace(f, b);
	if (!err)
		err = kmt_tdat_read_events(f, b);
	if (!err)
		err = kmt_tdat_read_kallsyms(f, b);
	if (!err)
		kmt_perf_take(b, kmt_perf_u32(b));	/* formats of trace_printk() */
	if (!err)
		err = kmt_tdat_read_cmdlines(f, b);
	if (err)
		return kmt_err_prefix(err, "offset %zu: ", (size_t)(b->p - start));
	return read_tail_6(f, b);
}

/* ---- open and done ----------------------------------------------------------------- */

/* Magic, version, byte order, sizeof(long), page size. */
static int read_head(struct kmt_tdat_file *f, struct kmt_perf_bytes *b)
{
	const uint16_t one = 1;
	bool is_big_here = !*(const char *)&one;
	const unsigned char *p = kmt_perf_take(b, sizeof(magic));
	const char *version = (const char *)take_string(b);

	if (!p || memcmp(p, magic, sizeof(magic)))
		return bad(0, "no trace.dat");
	f->version = strtoul(version, NULL, 10);
	if (b->is_short || strlen(version) > 4)
		return bad(sizeof(magic), "the version is cut off");
	if (f->version < VERSION_MIN || f->version > VERSION_MAX)
		return kmt_err(-EBADMSG, "offset %zu: version %u of trace.dat is not %d or %d",
			       sizeof(magic), f->version, VERSION_MIN, VERSION_MAX);
	p = kmt_perf_take(b, 2);
	if (!p || p[0] > 1)
		return bad(sizeof(magic), p ? "unknown byte order" : "the head is cut off");
	f->layout.is_big = p[0];
	f->layout.swap = b->swap = f->layout.is_big != is_big_here;
	f->page_size = kmt_perf_u32(b);
	return b->is_short ? bad(sizeof(magic), "the head is cut off") : 0;
}

/* The header's first 'len' bytes at the most; *ret_short: more could help. */
static int try_open(struct kmt_tdat_file *f, size_t len, bool *ret_short)
{
	_cleanup_free_ unsigned char *data = malloc(len + 1);
	struct kmt_perf_bytes b = { .p = data, .left = len };
	int err;

	if (!data)
		return kmt_err(-ENOMEM, "no memory for %zu bytes of the header", len);
	err = read_at(f, 0, data, len);
	if (!err)
		err = read_head(f, &b);
	if (!err)
		err = f->version == 6 ? read_6(f, &b, data) : read_7(f, &b);
	*ret_short = err && err != -ENOMEM && b.is_short && f->version == 6;
	return err;
}

/* Set the kernel's counts of what was lost beside the CPUs. */
static void assign_stats(struct kmt_tdat_file *f)
{
	for (size_t i = 0; i < f->n_stats; i++)
		for (size_t j = 0; j < f->n_buffers; j++)
			for (size_t k = 0; k < f->buffer[j].n_cpus; k++)
				if (f->buffer[j].cpu[k].cpu == f->stat[i].cpu &&
				    !strcmp(f->buffer[j].name, f->stat[i].buffer))
					f->buffer[j].cpu[k].overrun = f->stat[i].lost;
	free(take_ptr(f->stat));
	f->n_stats = 0;
}

static int check(struct kmt_tdat_file *f)
{
	if (!f->has_layout)
		return bad(0, "it has no format of trace pages");
	if (!f->n_events)
		return bad(0, "it has no format of a kmem event: none was recorded");
	for (size_t i = 0; i < f->n_buffers; i++)
		if (f->buffer[i].page_size <= f->layout.data ||
		    f->buffer[i].page_size > (1U << 20))
			return bad(0, "a buffer with pages of an impossible size");
	if (!f->n_buffers)
		return bad(f->size, "it has no trace pages, or their place is cut off");
	return 0;
}

int kmt_tdat_file_open(struct kmt_tdat_file *f)
{
	const int fd = f->fd;
	struct stat st;
	size_t len = FIRST_LOOK;
	bool is_short = true;
	int err = 0;

	if (fstat(fd, &st))
		return kmt_err_errno(-errno, "cannot read");
	if (!S_ISREG(st.st_mode))
		return kmt_err(-EBADMSG, "a trace.dat is read from a regular file, not from a "
			       "pipe: its parts are not in order");
	while (is_short) {
		bool is_all = len >= (uint64_t)st.st_size;

		kmt_tdat_file_done(f);
		*f = (struct kmt_tdat_file){ .fd = fd, .size = (uint64_t)st.st_size,
					     .stack_id = -1 };
		err = try_open(f, is_all ? (size_t)st.st_size : len, &is_short);
		if (is_all || len >= MAX_PART)
			break;
		len *= 4;
	}
	if (err)
		return err;
	assign_stats(f);
	return check(f);
}

void kmt_tdat_file_done(struct kmt_tdat_file *f)
{
	for (size_t i = 0; i < f->n_buffers; i++)
		free(f->buffer[i].cpu);
	f->n_buffers = 0;
	kmt_gfp_names_free(take_ptr(f->gfp_names));
	free(take_ptr(f->kallsyms));
	free(take_ptr(f->cmdlines));
	free(take_ptr(f->stat));
	f->n_stats = 0;
}
