// SPDX-License-Identifier: GPL-2.0-only
#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "source/source.h"

#define GOLDEN "tests/golden/relay/"

extern const struct kmt_source_ops kmt_source_relay;

struct capture {
	struct kmt_buf text;
	uint64_t events, lost[KMT_LOSS_MAX];
	struct kmt_quality q;
};

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct capture *c = ctx;

	c->events++;
	kmt_buf_printf(&c->text, "%u%c%u:%llx", ev->cpu, ev->op == KMT_OP_ALLOC ? '+' : '-',
		       ev->type, (unsigned long long)ev->addr);
	if (ev->op == KMT_OP_ALLOC)
		kmt_buf_printf(&c->text, "=%llu/%llu", (unsigned long long)ev->bytes_req,
			       (unsigned long long)ev->bytes_alloc);
	kmt_buf_puts(&c->text, " ");
	return 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct capture *c = ctx;

	c->lost[lost->reason] += lost->events;
	kmt_buf_printf(&c->text, "!%llu%s ", (unsigned long long)lost->events,
		       lost->reason == KMT_LOSS_INPUT ? "bad" : "");
	return 0;
}

static int run(const char *path, struct capture *c)
{
	const struct kmt_source_opts opts = { .path = path };
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = c };
	struct kmt_source *src;
	int n = kmt_source_relay.open(&opts, &src), sum = 0;

	*c = (struct capture){ 0 };
	if (n)
		return n;
	while ((n = kmt_source_relay.poll(src, &sink, 1000)) >= 0)
		sum += n;
	assert_int_equal(sum, c->events);
	kmt_source_relay.quality(src, &c->q);
	assert_string_equal(c->q.source, "relay");
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		assert_int_equal(c->q.lost[i], c->lost[i]);
	kmt_source_relay.close(src);
	return n;
}

static void assert_run(const char *path, const char *want)
{
	struct capture c;

	assert_int_equal(run(path, &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), want);
	kmt_buf_done(&c.text);
}

/* What make.py says it wrote, whichever file is named, in either byte order. */
static void goldens(void **state)
{
	static const char want[] = "0+0:1000=10/16 1+1:2000=240/240 1+0:3000=100/128 0-0:3000 "
				   "0+0:0=4096/4096 1-0:0 1+0:3000=50/64 !1 0-1:2000 1-0:4000 ";
	static const char *const paths[] = {
		GOLDEN "le/cpu0.out", GOLDEN "le/cpu1.out", GOLDEN "be/cpu0.out",
		GOLDEN "be/cpu1.out",
	};

	for (size_t i = 0; i < 4; i++)
		assert_run(paths[i], want);
}

/* ---- files made here ---- */

struct record {
	uint8_t	 event_id, type_id;
	uint16_t size;
	uint32_t seq;
	uint64_t call_site, ptr, bytes_req, bytes_alloc;
	uint32_t gfp;
	int32_t	 node;
};

struct dir {
	char path[64], file[128];
};

static void new_dir(struct dir *d)
{
	snprintf(d->path, sizeof(d->path), "/tmp/kmt-relay.XXXXXX");
	assert_non_null(mkdtemp(d->path));
}

static const char *file_of(struct dir *d, const char *name)
{
	snprintf(d->file, sizeof(d->file), "%s/%s", d->path, name);
	return d->file;
}

static void add(struct dir *d, const char *name, const void *data, size_t len)
{
	int fd = open(file_of(d, name), O_WRONLY | O_CREAT | O_APPEND, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/* A free of ptr = seq & 0xff */
static void add_free(struct dir *d, const char *name, uint32_t seq)
{
	const struct record r = { .event_id = 1, .size = 24, .seq = seq, .call_site = 1,
				  .ptr = seq & 0xff };

	add(d, name, &r, 24);
}

static void remove_dir(struct dir *d, const char *const *names)
{
	for (; *names; names++)
		unlink(file_of(d, *names));
	assert_int_equal(rmdir(d->path), 0);
}

/* 2^31 and 2^32 are numbers like others, and so is where a recording begins. */
static void numbers_wrap(void **state)
{
	static const uint32_t starts[] = { 0x7fffffff, 0xffffffff, 0xfffffffe, 1, 1000 };
	static const char *const names[] = { "cpu0", "cpu1", NULL };
	struct dir d;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		uint32_t s = starts[i];
		struct capture c;
		char want[64];

		new_dir(&d);
		add_free(&d, "cpu1", s);
		add_free(&d, "cpu0", s + 1);
		add_free(&d, "cpu0", s + 2);
		add_free(&d, "cpu1", s + 3);
		snprintf(want, sizeof(want), "1-0:%x 0-0:%x 0-0:%x 1-0:%x ", s & 0xff,
			 (s + 1) & 0xff, (s + 2) & 0xff, (s + 3) & 0xff);
		assert_int_equal(run(file_of(&d, "cpu0"), &c), -ENODATA);
		assert_string_equal(kmt_buf_str(&c.text), want);
		kmt_buf_done(&c.text);
		remove_dir(&d, names);
	}
}

static void gaps_and_overruns(void **state)
{
	static const char *const names[] = { "cpu0.out", "cpu7.out", "cpu7.bin", "total_overruns",
					     NULL };
	struct dir d;

	new_dir(&d);
	add_free(&d, "cpu0.out", 1);
	add_free(&d, "cpu0.out", 5);
	add_free(&d, "cpu7.out", 3);
	add_free(&d, "cpu7.bin", 2);	/* not of this recording */
	add(&d, "total_overruns", "42\n", 3);
	assert_run(file_of(&d, "cpu0.out"), "0-0:1 !1 7-0:3 !1 0-0:5 !42 ");
	remove_dir(&d, names);
}

static void damage(void **state)
{
	static const char *const names[] = { "cpu0.out", "cpu1.out", NULL };
	static const char zeros[64], junk[64] = "junk";
	struct capture c;
	struct dir d;

	/* in the middle: found again, counted once with its place */
	new_dir(&d);
	add_free(&d, "cpu0.out", 1);
	add_free(&d, "cpu0.out", 2);
	add(&d, "cpu0.out", junk, 40);
	add_free(&d, "cpu0.out", 3);
	assert_int_equal(run(file_of(&d, "cpu0.out"), &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), "0-0:1 0-0:2 !1bad 0-0:3 ");
	assert_string_equal(c.q.first_bad, "byte 48 of CPU 0: no record");
	kmt_buf_done(&c.text);
	/* zeros that are no padding; a record cut off; a sibling that is no recording */
	add(&d, "cpu0.out", zeros, 8);
	add_free(&d, "cpu0.out", 4);
	add(&d, "cpu0.out", "\1\0\x18", 3);
	add(&d, "cpu1.out", "hello, world", 12);
	assert_run(file_of(&d, "cpu0.out"), "!1bad 0-0:1 0-0:2 !1bad 0-0:3 !1bad 0-0:4 !1bad ");
	assert_int_equal(run(file_of(&d, "cpu1.out"), &c), -EINVAL);
	assert_string_equal(kmt_err_text(), "byte 0: no kmemtrace record");
	remove_dir(&d, names);
	assert_int_equal(run("/nonexistent/cpu0", &c), -ENOENT);
	assert_int_equal(run("/", &c), -EISDIR);
}

/* Cut at every byte: what is whole comes out. */
static void truncated(void **state)
{
	static const char *const names[] = { "x.bin", NULL };
	struct record all[3] = {
		{ .size = 48, .seq = 1, .ptr = 1 }, { .size = 48, .seq = 2, .ptr = 2 },
		{ .size = 48, .seq = 3, .ptr = 3 },
	};
	struct capture c;
	struct dir d;

	for (size_t len = 0; len <= sizeof(all); len++) {
		int want = len >= 24 ? -ENODATA : -EINVAL;

		new_dir(&d);
		add(&d, "x.bin", all, len);
		assert_int_equal(run(file_of(&d, "x.bin"), &c), want);
		if (want == -ENODATA) {
			assert_int_equal(c.events, len / 48);
			assert_int_equal(c.lost[KMT_LOSS_INPUT], len % 48 != 0);
		}
		kmt_buf_done(&c.text);
		remove_dir(&d, names);
	}
}

static void found_by_content(void **state)
{
	const struct kmt_source_ops *ops = NULL;
	static const struct {
		const char *path, *name;
	} files[] = {
		{ GOLDEN "le/cpu0.out", "relay" },
		{ GOLDEN "be/cpu1.out", "relay" },
		{ "tests/golden/samples/default-2008.txt", "legacy" },
		{ "tests/golden/samples/table-2008.txt", "legacy" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(kmt_source_for_file(files[i].path, &ops), 0);
		assert_string_equal(ops->name, files[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goldens),
		cmocka_unit_test(numbers_wrap),
		cmocka_unit_test(gaps_and_overruns),
		cmocka_unit_test(damage),
		cmocka_unit_test(truncated),
		cmocka_unit_test(found_by_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
