// SPDX-License-Identifier: GPL-2.0-only
/*
 * trace.dat files made here byte by byte, as trace-cmd.dat.v6(5) and the
 * kernel's ring buffer have them, for machines there are no recordings of.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "source/source.h"

extern const struct kmt_source_ops kmt_source_trace_dat;

#define PAGE 4096
#define BASE 1000000ULL		/* time of the page */

struct out {
	unsigned char data[3 * PAGE];
	size_t n;
	bool is_big;
	unsigned word;		/* of the kernel: 4 or 8 */
};

static void put(struct out *o, uint64_t v, unsigned len)
{
	for (unsigned i = 0; i < len; i++)
		o->data[o->n++] = (unsigned char)(v >> 8 * (o->is_big ? len - 1 - i : i));
}

static void put_bytes(struct out *o, const void *data, size_t len)
{
	memcpy(o->data + o->n, data, len);
	o->n += len;
}

static void put_text(struct out *o, const char *text, unsigned size_len)
{
	put(o, strlen(text), size_len);
	put_bytes(o, text, strlen(text));
}

#define COMMON \
	"format:\n" \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char *const kfree_64 = "name: kfree\nID: 7\n" COMMON
	"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char *const kfree_32 = "name: kfree\nID: 7\n" COMMON
	"\tfield:unsigned long call_site;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:const void * ptr;\toffset:12;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

/* Type or length, then time since the record before. */
static void put_head(struct out *o, unsigned type, uint32_t delta)
{
	put(o, o->is_big ? type << 27 | delta : delta << 5 | type, 4);
}

static void put_kfree(struct out *o, uint32_t delta, uint64_t site, uint64_t ptr)
{
	put_head(o, (8 + 2 * o->word) / 4, delta);
	put(o, 7, 2);
	put(o, 0, 2);
	put(o, 42, 4);
	put(o, site, o->word);
	put(o, ptr, o->word);
}

static void put_header(struct out *o)
{
	char page[512];
	unsigned data = 8 + o->word;

	put_bytes(o, "\x17\x08\x44tracing6", 12);
	put(o, o->is_big, 1);
	put(o, o->word, 1);
	put(o, PAGE, 4);
	snprintf(page, sizeof(page),
		 "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		 "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
		 "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		 "\tfield: char data;\toffset:%u;\tsize:%u;\tsigned:0;\n", o->word, data, PAGE - data);
	put_bytes(o, "header_page", 12);
	put_text(o, page, 8);
	put_bytes(o, "header_event", 13);
	put_text(o, "", 8);
	put(o, 0, 4);			/* formats of ftrace's own */
	put(o, 1, 4);
	put_bytes(o, "kmem", 5);
	put(o, 1, 4);
	put_text(o, o->word == 8 ? kfree_64 : kfree_32, 8);
	put_text(o, "00001000 T first\n00002000 T second\n", 4);
	put_text(o, "", 4);		/* formats of trace_printk() */
	put_text(o, "42 some name\n", 8);
	put(o, 1, 4);			/* CPUs */
	put_bytes(o, "options  ", 10);
	put(o, 5, 2);
	put_text(o, "Linux host 4.4.1 mips", 4);
	put(o, 0, 2);
	put_bytes(o, "flyrecord", 10);
	put(o, PAGE, 8);
	put(o, 2 * PAGE, 8);
	memset(o->data + o->n, 0, PAGE - o->n);
	o->n = PAGE;
}

/* Set the length word of the page that began at 'start', with flags. */
static void end_page(struct out *o, size_t start, uint32_t flags)
{
	size_t end = o->n;

	o->n = start + 8;
	put(o, (end - start - 8 - o->word) | flags, o->word);
	memset(o->data + end, 0, start + PAGE - end);
	o->n = start + PAGE;
}

static void put_pages(struct out *o)
{
	put(o, BASE, 8);
	put(o, 0, o->word);
	put_kfree(o, 5, 0x1010, 0x5000);		/* BASE + 5 */
	put_head(o, 30, 3);				/* an extended time: 2 << 27 | 3 */
	put(o, 2, 4);
	put_kfree(o, 0, 0x2020, 0x6000);
	put_head(o, 29, 1);				/* a record thrown away, 12 bytes in all */
	put(o, 8, 4);
	put(o, 0, 4);
	put_kfree(o, 10, 0x2020, 0x7000);
	put_head(o, 0, 1);				/* length in a word of its own; another event */
	put(o, 4 + 6, 4);
	put(o, 9, 2);
	put(o, 0, 6);
	end_page(o, PAGE, 0);

	/* after a gap of 77 records whose number stands behind the last one */
	put(o, BASE, 8);
	put(o, 0, o->word);
	put_head(o, 31, 1);				/* an absolute time: 9 << 27 | 1 */
	put(o, 9, 4);
	put_kfree(o, 4, 0x1010, 0x8000);
	end_page(o, 2 * PAGE, 3U << 30);
	o->n = 2 * PAGE + 8 + o->word + 8 + 12 + 2 * o->word;
	put(o, 77, o->word);
	o->n = 3 * PAGE;
}

struct got {
	struct kmt_event ev[8];
	char comm[8][16];
	struct kmt_lost lost;
	size_t n, n_lost, lost_at;
};

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct got *g = ctx;

	assert_true(g->n < 8);
	snprintf(g->comm[g->n], 16, "%s", ev->comm ? ev->comm : "");
	g->ev[g->n++] = *ev;
	return 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct got *g = ctx;

	g->lost = *lost;
	g->lost_at = g->n;
	g->n_lost++;
	return 0;
}

static void check(const struct got *g)
{
	static const uint64_t ptr[] = { 0x5000, 0x6000, 0x7000, 0x8000 };
	static const uint64_t site[] = { 0x1010, 0x2020, 0x2020, 0x1010 };
	/* the record thrown away adds its 1, as in the kernel's own libraries */
	const uint64_t second = BASE + 5 + (2ULL << 27) + 3;
	const uint64_t time[] = { BASE + 5, second, second + 1 + 10, (9ULL << 27) + 1 + 4 };

	assert_int_equal(g->n, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(g->ev[i].op, KMT_OP_FREE);
		assert_int_equal(g->ev[i].addr, ptr[i]);
		assert_int_equal(g->ev[i].call_site, site[i]);
		assert_int_equal(g->ev[i].ts_ns, time[i]);
		assert_int_equal(g->ev[i].pid, 42);
		assert_string_equal(g->comm[i], "some name");
	}
	assert_int_equal(g->n_lost, 1);
	assert_int_equal(g->lost.events, 77);
	assert_int_equal(g->lost.reason, KMT_LOSS_RING);
	assert_int_equal(g->lost_at, 3);
}

static void read_file(bool is_big, unsigned word)
{
	struct out o = { .is_big = is_big, .word = word };
	struct got g = { 0 };
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = &g };
	char path[64];
	const struct kmt_source_opts opts = { .path = path, .want_task = true };
	struct kmt_quality q = { 0 };
	struct kmt_source *src;
	int fd = memfd_create("trace.dat", MFD_CLOEXEC), n;

	put_header(&o);
	put_pages(&o);
	assert_int_equal(write(fd, o.data, o.n), o.n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(kmt_source_trace_dat.open(&opts, &src), 0);
	assert_string_equal(src->ops->facts(src)->kernel, "4.4.1");
	assert_string_equal(src->ops->facts(src)->machine, "mips");
	assert_int_equal(src->ops->facts(src)->page_size, PAGE);
	assert_non_null(src->ops->facts(src)->symbols);
	do {
		n = src->ops->poll(src, &sink, 0);
	} while (n >= 0);
	assert_int_equal(n, -ENODATA);
	check(&g);
	src->ops->quality(src, &q);
	assert_int_equal(q.lost[KMT_LOSS_RING], 77);
	assert_int_equal(q.lost[KMT_LOSS_INPUT], 0);
	src->ops->close(src);
	close(fd);
}

static void little_64(void **state)
{
	read_file(false, 8);
}

static void big_64(void **state)
{
	read_file(true, 8);
}

static void little_32(void **state)
{
	read_file(false, 4);
}

static void big_32(void **state)
{
	read_file(true, 4);
}

/* An option of version 7 that says where a section lies. */
static void put_place(struct out *o, unsigned id, uint64_t at)
{
	put(o, id, 2);
	put(o, 8, 4);
	put(o, at, 8);
}

/* A few bytes that name a large section again and again cost its size once, and no more. */
static void sections_again(void **state)
{
	enum { DONE = 0, EVENT_FORMATS = 18, LARGE = 200 << 20, AT = 2048 };
	struct out o = { .word = 8 };
	struct kmt_source *src = NULL;
	char path[64];
	const struct kmt_source_opts opts = { .path = path };
	int fd = memfd_create("trace.dat", MFD_CLOEXEC);

	put_bytes(&o, "\x17\x08\x44tracing7", 12);
	put(&o, 0, 1);
	put(&o, 8, 1);
	put(&o, PAGE, 4);
	put_bytes(&o, "none\0", 6);
	put(&o, 64, 8);
	o.n = 64;			/* the options: what they are, how, a name, length */
	put(&o, 0, 8);
	put(&o, 3 * 14, 8);
	put_place(&o, EVENT_FORMATS, AT);
	put_place(&o, EVENT_FORMATS, AT);
	put_place(&o, DONE, 0);
	o.n = AT;			/* zeros: no systems and no formats */
	put(&o, EVENT_FORMATS, 8);
	put(&o, LARGE, 8);
	assert_int_equal(write(fd, o.data, o.n), o.n);
	assert_int_equal(ftruncate(fd, AT + 16 + LARGE), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(kmt_source_trace_dat.open(&opts, &src), -EBADMSG);
	assert_non_null(strstr(kmt_err_text(), "offset 2048: its sections are larger"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_64), cmocka_unit_test(big_64),
		cmocka_unit_test(little_32), cmocka_unit_test(big_32),
		cmocka_unit_test(sections_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
