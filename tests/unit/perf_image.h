/* SPDX-License-Identifier: GPL-2.0-only */
/* perf.data files put together by hand, in either byte order. */
#ifndef KMT_TESTS_PERF_IMAGE_H
#define KMT_TESTS_PERF_IMAGE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IMAGE_MAX	65536
#define ID_KMALLOC	0x123
#define ID_KFREE	0x77
#define ID_CACHE_FREE	0x78

/* IP | TID | TIME | CPU | RAW | IDENTIFIER */
#define TYPE_USUAL	(1U << 0 | 1U << 1 | 1U << 2 | 1U << 7 | 1U << 10 | 1U << 16)
#define TYPE_CALLCHAIN	(1U << 5)

struct image {
	unsigned char data[IMAGE_MAX];
	size_t len;
	bool is_big;
};

static inline void put_number(struct image *im, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes && im->len < IMAGE_MAX; i++) {
		size_t shift = 8 * (im->is_big ? bytes - 1 - i : i);

		im->data[im->len++] = (unsigned char)(v >> shift);
	}
}

static inline void put16(struct image *im, uint64_t v)
{
	put_number(im, v, 2);
}

static inline void put32(struct image *im, uint64_t v)
{
	put_number(im, v, 4);
}

static inline void put64(struct image *im, uint64_t v)
{
	put_number(im, v, 8);
}

static inline void put_bytes(struct image *im, const void *p, size_t n)
{
	memcpy(im->data + im->len, p, n);
	im->len += n;
}

static inline void put_str(struct image *im, const char *s)
{
	put_bytes(im, s, strlen(s) + 1);
}

/* Up to a multiple of 8 bytes from 'start' on. */
static inline void put_pad(struct image *im, size_t start)
{
	while ((im->len - start) % 8)
		im->data[im->len++] = 0;
}

/* Set a number that was put before its value was known. */
static inline void patch(struct image *im, size_t at, uint64_t v, size_t bytes)
{
	size_t len = im->len;

	im->len = at;
	put_number(im, v, bytes);
	im->len = len;
}

/* A record's header; its size is set by end_record(). */
static inline size_t begin_record(struct image *im, uint32_t type, uint16_t misc)
{
	size_t at = im->len;

	put32(im, type);
	put16(im, misc);
	put16(im, 0);
	return at;
}

static inline void end_record(struct image *im, size_t at)
{
	put_pad(im, at);
	patch(im, at + 6, im->len - at, 2);
}

/* struct perf_event_attr of 'size' bytes; flag 18 is sample_id_all, 25 use_clockid. */
static inline void put_attr(struct image *im, size_t size, uint64_t config, uint64_t sample_type,
			    uint64_t read_format, uint64_t flags)
{
	size_t at = im->len;

	memset(im->data + at, 0, size);
	put32(im, 2);		/* PERF_TYPE_TRACEPOINT */
	put32(im, size);
	put64(im, config);
	put64(im, 1);
	put64(im, sample_type);
	put64(im, read_format);
	for (unsigned bit = 0; bit < 64; bit++) {
		unsigned in_byte = im->is_big ? 7 - bit % 8 : bit % 8;

		if (flags >> bit & 1)
			im->data[im->len + bit / 8] |= 1U << in_byte;
	}
	im->len = at + size;
	if (size >= 96)
		patch(im, at + 92, 1, 4);	/* clockid: CLOCK_MONOTONIC */
}

#define COMMON_FIELDS							\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char kmalloc_format[] =
	"name: kmalloc\nID: 291\nformat:\n" COMMON_FIELDS
	"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:size_t bytes_req;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:size_t bytes_alloc;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long gfp_flags;\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:int node;\toffset:48;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"x\", (REC->gfp_flags) ? __print_flags(REC->gfp_flags, \"|\", "
	"{0x400, \"__GFP_ONE\"}, {0x100, \"__GFP_ACCOUNT\"}) : \"none\"\n";

static const char kfree_format[] =
	"name: kfree\nID: 119\nformat:\n" COMMON_FIELDS
	"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"call_site=%pS ptr=%p\"\n";

static const char cache_free_format[] =
	"name: kmem_cache_free\nID: 120\nformat:\n" COMMON_FIELDS
	"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"x\"\n";

static inline void put_text(struct image *im, const char *s)
{
	put64(im, strlen(s));
	put_bytes(im, s, strlen(s));
}

static inline void put_tracing(struct image *im, const char *kallsyms)
{
	static const unsigned char magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

	put_bytes(im, magic, sizeof(magic));
	put_str(im, "0.6");
	put_number(im, im->is_big, 1);
	put_number(im, 8, 1);
	put32(im, 4096);
	put_str(im, "header_page");
	put_text(im, "page");
	put_str(im, "header_event");
	put_text(im, "event");
	put32(im, 1);		/* ftrace's own formats */
	put_text(im, "name: function\nID: 1\n");
	put32(im, 2);		/* systems */
	put_str(im, "sched");
	put32(im, 1);
	put_text(im, "name: kfree\nID: 5\n");	/* of the same name, and none of ours */
	put_str(im, "kmem");
	put32(im, 3);
	put_text(im, kmalloc_format);
	put_text(im, kfree_format);
	put_text(im, cache_free_format);
	put32(im, strlen(kallsyms));
	put_bytes(im, kallsyms, strlen(kallsyms));
	put32(im, 0);		/* printk formats */
	put64(im, 0);		/* names of tasks */
}

/* What every sample begins with (TYPE_USUAL). */
static inline size_t begin_sample(struct image *im, uint64_t id, uint32_t pid, uint32_t tid,
				  uint64_t time, uint32_t cpu)
{
	size_t at = begin_record(im, 9, 1);

	put64(im, id);
	put64(im, 0xffffffff81000000);
	put32(im, pid);
	put32(im, tid);
	put64(im, time);
	put32(im, cpu);
	put32(im, 0);
	return at;
}

static inline void put_common(struct image *im, uint16_t type, uint32_t pid)
{
	put16(im, type);
	put16(im, 0);
	put32(im, pid);
}

static inline void put_kmalloc_raw(struct image *im, uint32_t tid, uint64_t ptr, uint64_t bytes)
{
	put32(im, 52);
	put_common(im, ID_KMALLOC, tid);
	put64(im, 0xffffffff81001000);
	put64(im, ptr);
	put64(im, bytes);
	put64(im, bytes + 8);
	put64(im, 0x400);
	put32(im, 0xffffffff);	/* node -1 */
}

static inline void put_kmalloc(struct image *im, uint32_t tid, uint64_t time, uint32_t cpu,
			       uint64_t ptr, uint64_t bytes)
{
	size_t at = begin_sample(im, 1000, tid, tid, time, cpu);

	put_kmalloc_raw(im, tid, ptr, bytes);
	end_record(im, at);
}

static inline void put_kfree(struct image *im, uint32_t tid, uint64_t time, uint32_t cpu,
			     uint64_t ptr)
{
	size_t at = begin_sample(im, 1001, tid, tid, time, cpu);

	put32(im, 28);
	put_common(im, ID_KFREE, tid);
	put64(im, 0xffffffff81002000);
	put64(im, ptr);
	put32(im, 0);
	end_record(im, at);
}

/* What ends any other record when sample_id_all is set (TYPE_USUAL). */
static inline void put_trailer(struct image *im, uint64_t id, uint32_t tid, uint64_t time,
			       uint32_t cpu)
{
	put32(im, tid);
	put32(im, tid);
	put64(im, time);
	put32(im, cpu);
	put32(im, 0);
	put64(im, id);
}

static inline void put_round(struct image *im)
{
	end_record(im, begin_record(im, 68, 0));
}

static inline void put_feature_string(struct image *im, uint64_t feature, const char *s)
{
	size_t at = begin_record(im, 80, 0);

	put64(im, feature);
	put32(im, 64);
	put_str(im, s);
	im->len = at + 8 + 8 + 4;
	memset(im->data + im->len, 0, 64);
	put_bytes(im, s, strlen(s));
	im->len = at + 8 + 8 + 4 + 64;
	end_record(im, at);
}

static inline void put_pipe_attr(struct image *im, size_t size, uint64_t config, uint64_t type,
				 uint64_t id)
{
	size_t at = begin_record(im, 64, 0);

	put_attr(im, size, config, type, 0, 1U << 18);
	put64(im, id);
	end_record(im, at);
}

static inline void put_pipe_tracing(struct image *im, const char *kallsyms)
{
	size_t at = begin_record(im, 66, 0), start, len;

	put32(im, 0);
	patch(im, at + 6, 12, 2);
	start = im->len;
	put_tracing(im, kallsyms);
	len = im->len - start;
	put_pad(im, start);
	patch(im, at + 8, len, 4);
}

/* Pipe mode up to the first event. */
static inline void put_pipe_head(struct image *im, uint64_t type)
{
	put_bytes(im, im->is_big ? "2ELIFREP" : "PERFILE2", 8);
	put64(im, 16);
	put_pipe_attr(im, 128, ID_KMALLOC, type, 1000);
	put_pipe_attr(im, 128, ID_KFREE, type, 1001);
	put_feature_string(im, 4, "6.1.0-test");
	put_pipe_tracing(im, "ffffffff81000f00 T maker\nffffffff81001f00 T breaker\n"
			     "ffffffff81003000 T other\n");
}

static inline int image_fd_of(const struct image *im, size_t len)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (fd < 0 || write(fd, im->data, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET))
		return -1;
	return fd;
}

static inline int image_fd(const struct image *im)
{
	return image_fd_of(im, im->len);
}

#endif
