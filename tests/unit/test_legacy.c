// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "eventfmt/eventfmt.h"
#include "source/legacy_line.h"
#include "source/source.h"
#include "symbol/symbols.h"

#define SAMPLES "tests/golden/samples/"

extern const struct kmt_source_ops kmt_source_legacy;

/* A sink that writes everything down in one of the text forms. */
struct capture {
	const struct kmt_eventfmt *format;
	struct kmt_eventfmt_opts opts;
	struct kmt_buf text;
	struct kmt_event last;		/* strings are gone */
	struct kmt_lost last_lost;
	uint64_t events, lost[KMT_LOSS_MAX], lost_calls;
	const struct kmt_filter *filter;
	uint64_t filtered, unknown_tasks;
	int most_per_poll, polls;
	int fail_with;
};

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct capture *c = ctx;

	c->events++;
	c->last = *ev;
	if (c->format)
		c->format->event(&c->opts, ev, &c->text);
	return c->fail_with;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct capture *c = ctx;

	c->lost_calls++;
	c->lost[lost->reason] += lost->events;
	c->last_lost = *lost;
	if (c->format)
		c->format->lost(&c->opts, lost, &c->text);
	return 0;
}

/* Read a file to its end; the final code of poll(). */
static int run(const char *path, const struct kmt_symbols *symbols, struct capture *c)
{
	const struct kmt_source_opts opts = {
		.path = path, .symbols = symbols, .filter = c->filter,
	};
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = c };
	struct kmt_source *src;
	struct kmt_quality q = { 0 };
	int n = kmt_source_legacy.open(&opts, &src);

	if (n)
		return n;
	assert_ptr_equal(src->ops, &kmt_source_legacy);
	while ((n = kmt_source_legacy.poll(src, &sink, 1000)) >= 0) {
		c->polls++;
		if (n > c->most_per_poll)
			c->most_per_poll = n;
	}
	kmt_source_legacy.quality(src, &q);
	assert_string_equal(q.source, "legacy");
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		assert_int_equal(q.lost[i], c->lost[i]);
	c->filtered = q.filtered;
	c->unknown_tasks = q.unknown_tasks;
	kmt_source_legacy.close(src);
	return n;
}

static int text_fd(const char *text, size_t len)
{
	int fd = memfd_create("legacy", 0);

	assert_true(fd >= 0);
	while (len) {
		ssize_t n = write(fd, text, len);

		assert_true(n > 0);
		text += n;
		len -= (size_t)n;
	}
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int run_text_len(const char *text, size_t len, const struct kmt_symbols *symbols,
			struct capture *c)
{
	int fd = text_fd(text, len), err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = run(path, symbols, c);
	close(fd);
	return err;
}

static int run_text(const char *text, struct capture *c)
{
	return run_text_len(text, strlen(text), NULL, c);
}

static char *slurp(const char *path)
{
	struct kmt_buf b = { 0 };
	char chunk[4096];
	size_t n;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while ((n = fread(chunk, 1, sizeof(chunk), f)))
		kmt_buf_add(&b, chunk, n);
	fclose(f);
	return kmt_buf_take(&b);
}

/* Each sample, through the events and back, is the same bytes. */
static void samples_come_back(void **state)
{
	static const struct {
		const char *path, *format;
	} cases[] = {
		{ SAMPLES "default-2008.txt", "default" },
		{ SAMPLES "table-2008.txt", "table" },
	};

	for (size_t i = 0; i < 2; i++) {
		struct capture c = { .format = kmt_eventfmt_find(cases[i].format) };
		char *want = slurp(cases[i].path);

		assert_int_equal(run(cases[i].path, NULL, &c), -ENODATA);
		assert_string_equal(kmt_buf_str(&c.text), want);
		assert_int_equal(c.lost_calls, 0);
		kmt_buf_done(&c.text);
		free(want);
	}
}

/* The 15 lines of the default sample are the first 15 of the table. */
static void default_becomes_table(void **state)
{
	struct capture c = { .format = kmt_eventfmt_find("table") };
	struct kmt_symbols *symbols;
	char *want = slurp(SAMPLES "table-2008.txt"), *end = want;

	assert_int_equal(kmt_symbols_load(SAMPLES "kallsyms-2008.txt", &symbols), 0);
	c.opts.symbols = symbols;
	assert_int_equal(run(SAMPLES "default-2008.txt", symbols, &c), -ENODATA);
	assert_int_equal(c.events, 15);
	for (int i = 0; i < 15; i++)
		end = strchr(end, '\n') + 1;
	*end = '\0';
	assert_string_equal(kmt_buf_str(&c.text), want);
	kmt_buf_done(&c.text);
	kmt_symbols_free(symbols);
	free(want);
}

static void table_is_resolved(void **state)
{
	struct capture c = { .format = kmt_eventfmt_find("table") };
	struct kmt_symbols *symbols;
	char *want = slurp(SAMPLES "table-2008.txt");

	assert_int_equal(kmt_symbols_load(SAMPLES "kallsyms-2008.txt", &symbols), 0);
	assert_int_equal(run(SAMPLES "table-2008.txt", symbols, &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), want);
	assert_int_equal(c.events, 20);
	assert_int_equal(c.last.op, KMT_OP_ALLOC);	/* the last line, get_empty_filp */
	/* one byte into the function, where a return address is looked up */
	assert_int_equal(c.last.call_site, 0xffffffff8034cb21);
	assert_int_equal(c.last.addr, 0xffff88007c088000);
	assert_int_equal(c.last.bytes_req, 272);
	assert_int_equal(c.last.bytes_alloc, 320);
	assert_int_equal(c.last.gfp, 0x80d0);
	assert_int_equal(c.last.node, -1);
	kmt_buf_done(&c.text);
	/* names without an address stay names in the default text */
	c = (struct capture){ .format = kmt_eventfmt_find("default") };
	assert_int_equal(run_text("  -      C                            0x10          putname\n",
				  &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), "type_id 1 call_site putname ptr 16\n");
	kmt_buf_done(&c.text);
	kmt_symbols_free(symbols);
	free(want);
}

/* The trace file of 2008: core header, table header, table. Nothing of it is a loss. */
static void headers_are_skipped(void **state)
{
	struct capture c = { 0 };

	assert_int_equal(run_text("# tracer: kmemtrace\n#\n#\n"
				  "# ALLOC  TYPE  REQ   GIVEN  FLAGS           POINTER         NODE"
				  "    CALLER\n"
				  "# FREE   |      |     |       |              |   |            |"
				  "        |\n# |\n\n"
				  "  +      P   1   2   000000d0   0x1     -1   f\n"
				  "\t=> g+0x1c [m]\n => h\n"
				  "type_id 7 call_site 5 ptr 6\r\n", &c), -ENODATA);
	assert_int_equal(c.events, 2);
	assert_int_equal(c.lost_calls, 0);
	assert_int_equal(c.last.type, 7);
	assert_int_equal(c.last.op, KMT_OP_FREE);
	c = (struct capture){ 0 };
	assert_int_equal(run_text("# tracer: kmemtrace\n#\n", &c), -ENODATA);
	assert_int_equal(c.events, 0);
}

static enum kmt_legacy_kind parse(struct kmt_legacy_line *l, const char *line)
{
	return kmt_legacy_line_parse(l, line, strlen(line));
}

static void ftrace_prefix(void **state)
{
	struct kmt_legacy_line l = { 0 };

	assert_int_equal(parse(&l, "            bash-1234  [001]    12.345678: type_id 0 call_site "
			       "getname+0x1d/0x90 ptr 5 bytes_req 4 bytes_alloc 8 gfp_flags 208 "
			       "node 1"), KMT_LEGACY_EVENT);
	assert_string_equal(l.ev.comm, "bash");
	assert_int_equal(l.ev.pid, 1234);
	assert_int_equal(l.ev.cpu, 1);
	assert_true(l.ev.has_time && l.ev.has_task);
	assert_int_equal(l.ev.ts_ns, 12345678000);
	assert_string_equal(l.ev.call_site_name, "getname+0x1d");
	assert_int_equal(l.ev.call_site, 0);
	assert_int_equal(l.ev.op, KMT_OP_ALLOC);
	assert_int_equal(l.ev.node, 1);

	assert_int_equal(parse(&l, " a b-c: type_id 3-77 [000] d..2     1.000001: type_id 1 "
			       "call_site iget+0x10/0x20 [ext3] ptr 5"), KMT_LEGACY_EVENT);
	assert_string_equal(l.ev.comm, "a b-c: type_id 3");
	assert_int_equal(l.ev.pid, 77);
	assert_string_equal(l.ev.call_site_name, "iget+0x10 [ext3]");
	assert_int_equal(l.ev.op, KMT_OP_FREE);

	assert_int_equal(parse(&l, "           <...>-0     [000]     1.000001: type_id 1 "
			       "call_site 0 ptr 0"), KMT_LEGACY_EVENT);
	assert_null(l.ev.comm);
	assert_true(l.ev.has_task);
	assert_null(l.ev.call_site_name);
}

static void names_are_resolved(void **state)
{
	struct kmt_legacy_line l = { 0 };
	struct kmt_symbols *symbols;

	assert_int_equal(kmt_symbols_load(SAMPLES "kallsyms-2008.txt", &symbols), 0);
	l.symbols = symbols;
	assert_int_equal(parse(&l, "type_id 1 call_site getname+0x2d/0x90 ptr 5"),
			 KMT_LEGACY_EVENT);
	assert_int_equal(l.ev.call_site, 0xffffffff8035acbd);
	assert_int_equal(parse(&l, "type_id 1 call_site getname+0xffffffffffffffff ptr 5"),
			 KMT_LEGACY_EVENT);	/* overflow: the name only */
	assert_int_equal(l.ev.call_site, 0);
	assert_int_equal(parse(&l, "type_id 1 call_site getname+0x2d/0x90 [x] ptr 5"),
			 KMT_LEGACY_EVENT);	/* another module's */
	assert_int_equal(l.ev.call_site, 0);
	assert_int_equal(parse(&l, "  -  C  0x1  0xffffffff8035acbd"), KMT_LEGACY_EVENT);
	assert_int_equal(l.ev.call_site, 0xffffffff8035acbd);
	kmt_symbols_free(symbols);
}

/* What our own extra columns say comes back, in both forms. */
static void extra_columns_come_back(void **state)
{
	static const char *const formats[] = { "default", "table" };
	const struct kmt_event ev = {
		.op = KMT_OP_ALLOC, .type = 4, .has_time = true, .has_task = true, .node = -1,
		.real_node = 1, .cpu = 5, .pid = 99, .ts_ns = 1000000002, .call_site = 0x1234,
		.addr = 0xffff000000000010, .bytes_req = 5, .bytes_alloc = 8, .gfp = 0xcc0,
		.comm = "a b\\-\n", .cache = "kmalloc 8",
	};

	for (size_t i = 0; i < 2; i++) {
		struct capture c = { .format = kmt_eventfmt_find(formats[i]) };
		struct kmt_buf b = { 0 };
		struct kmt_event got;

		c.opts = (struct kmt_eventfmt_opts){
			.cache = true, .real_node = true, .time = true, .task = true, .gfp = true,
		};
		if (c.format->header)
			c.format->header(&c.opts, &b);
		size_t header = b.len;

		c.format->event(&c.opts, &ev, &b);
		assert_int_equal(run_text(kmt_buf_str(&b), &c), -ENODATA);
		assert_int_equal(c.events, 1);
		assert_string_equal(kmt_buf_str(&c.text), b.data + header);
		got = c.last;
		assert_int_equal(got.ts_ns, 1000000002);
		assert_int_equal(got.cpu, 5);
		assert_int_equal(got.pid, 99);
		assert_int_equal(got.real_node, 1);
		assert_int_equal(got.type, 4);
		kmt_buf_done(&b);
		kmt_buf_done(&c.text);
	}
}

/* What is given up to RCU, in both forms, with and without an extra column. */
static void given_up_comes_back(void **state)
{
	static const char *const texts[] = {
		"type_id 0 call_site 4660 ptr 18446612132314218512 given_up rcu\n",
		"type_id 1 call_site 4660 ptr 18446612132314218512 given_up rcu cache filp time "
		"1.000000002\n",
	};
	struct kmt_legacy_line l = { 0 };

	for (size_t i = 0; i < 2; i++) {
		struct capture c = { .format = kmt_eventfmt_find("default") }, table = { 0 };

		c.opts.cache = c.opts.time = i;
		table.format = kmt_eventfmt_find("table");
		assert_int_equal(run_text(texts[i], &c), -ENODATA);
		assert_string_equal(kmt_buf_str(&c.text), texts[i]);
		assert_int_equal(c.last.op, KMT_OP_GIVE_UP);
		assert_int_equal(run_text(texts[i], &table), -ENODATA);
		kmt_buf_clear(&c.text);
		assert_int_equal(run_text(kmt_buf_str(&table.text), &c), -ENODATA);
		assert_int_equal(c.last.op, KMT_OP_GIVE_UP);
		assert_int_equal(c.last.addr, 0xffff880000000010);
		assert_int_equal(c.last.type, i);
		assert_int_equal(c.last.call_site, 0x1234);
		kmt_buf_done(&c.text);
		kmt_buf_done(&table.text);
	}
	assert_int_equal(parse(&l, "type_id 0 call_site 1 ptr 2 given_up srcu"), KMT_LEGACY_BAD);
	assert_int_equal(parse(&l, "~ K 0x10"), KMT_LEGACY_BAD);
	assert_int_equal(parse(&l, "~"), KMT_LEGACY_BAD);
}

static void overflow_comes_back(void **state)
{
	static const char text[] =
		"# overflow: events lost: 17 (ring buffer full), cpu 3\n"
		"# overflow: events lost: unknown (live-object table full), time 2.000000001\n"
		"# overflow: events lost: 5 (unreadable input), cpu 0, time 0.000001000\n";
	struct capture c = { .format = kmt_eventfmt_find("default") };

	assert_int_equal(run_text(text, &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), text);
	assert_int_equal(c.lost[KMT_LOSS_RING], 17);
	assert_int_equal(c.lost[KMT_LOSS_INPUT], 5);
	assert_int_equal(c.lost_calls, 3);
	kmt_buf_done(&c.text);
	/* ftrace's own, and comments that only look like ours */
	c = (struct capture){ 0 };
	assert_int_equal(run_text("type_id 1 call_site 1 ptr 1\n"
				  "CPU:2 [LOST 44 EVENTS]\nCPU:1 [LOST EVENTS]\n"
				  "# overflow: events lost: x (ring buffer full)\n"
				  "# overflow: events lost: 1 (bad luck)\n"
				  "# overflow: events lost: 1 (ring buffer full), cpu x\n"
				  "# overflow: )(\n# overflow: events lost: (\n", &c), -ENODATA);
	assert_int_equal(c.lost_calls, 2);
	assert_int_equal(c.lost[KMT_LOSS_RING], 44);
	assert_int_equal(c.last_lost.cpu, 1);
	assert_int_equal(c.last_lost.events, 0);
}

static const char *const bad_lines[] = {
	"hello", "type_id", "type_id 1", "type_id 256 call_site 1 ptr 1",
	"type_id -1 call_site 1 ptr 1", "type_id 1 call_site  ptr 1", "type_id 1 call_site 1 ptr",
	"type_id 1 call_site 1x ptr 1", "type_id 1 call_site 18446744073709551616 ptr 1",
	"type_id 1 call_site f+ ptr 1", "type_id 1 call_site f+0x ptr 1",
	"type_id 1 call_site f+0x1/ ptr 1", "type_id 1 call_site f+0x11111111111111111 ptr 1",
	"type_id 1 call_site 1 [m] ptr 1", "type_id 1 call_site \001 ptr 1",
	"type_id 1 call_site \xff ptr 1", "type_id 1 call_site a\\x00b ptr 1",
	"type_id 1 call_site 1 ptr 18446744073709551616", "type_id 1 call_site 1 ptr 0x",
	"type_id 1 call_site 1 ptr 1 bytes_req", "type_id 1 call_site 1 ptr 1 bytes_req 1",
	"type_id 1 call_site 1 ptr 1 bytes_req -1 bytes_alloc 1 gfp_flags 1 node 1",
	"type_id 1 call_site 1 ptr 1 bytes_req 1 bytes_alloc 1 gfp_flags 1 node 32768",
	"type_id 1 call_site 1 ptr 1 bytes_req 1 bytes_alloc 1 gfp_flags 1 node -",
	"type_id 1 call_site 1 ptr 1 bytes_req 1 bytes_alloc 1 gfp_flags 1 node 1 x",
	"type_id 1 call_site 1 ptr 1 time 1", "type_id 1 call_site 1 ptr 1 time 1.23",
	"type_id 1 call_site 1 ptr 1 time 99999999999999.000000000",
	"type_id 1 call_site 1 ptr 1 task bash", "type_id 1 call_site 1 ptr 1 task -1",
	"type_id 1 call_site 1 ptr 1 cpu x", "type_id 1 call_site 1 ptr 1 what ever",
	"type_id 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"
	" 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
	"+ K", "+ X 1 1 1 0x1 1 f", "+ KK 1 1 1 0x1 1 f", "+ K 1 1 g 0x1 1 f", "+ K 1 1 1 1 1 f",
	"+ K 1 1 1 0x 1 f", "+ K 1 1 1 0x1 1", "+ K 1 1 1 0x1 f f", "+ K 1 1 1 0x1 1 1f",
	"- C 0x1", "- C 1 f", "- C 0x11111111111111111 f", "+", "-",
	"x-1 [000] 1.000001: type_id", "x [000] 1.000001: type_id 1 call_site 1 ptr 1",
	"x-1 000 1.000001: type_id 1 call_site 1 ptr 1",
	"-1 [000] 1.000001: type_id 1 call_site 1 ptr 1",
	"x-1 [000] 1.1: type_id 1 call_site 1 ptr 1", ": type_id 1 call_site 1 ptr 1",
	"[000] 1.000001: type_id 1 call_site 1 ptr 1", "CPU:x [LOST 1 EVENTS]",
};

static void bad_lines_are_counted(void **state)
{
	struct kmt_legacy_line l = { 0 };

	for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
		struct kmt_buf b = { 0 };
		struct capture c = { 0 };

		l.why = NULL;
		if (parse(&l, bad_lines[i]) != KMT_LEGACY_BAD)
			fail_msg("taken: %s", bad_lines[i]);
		assert_non_null(l.why);
		/* counted before and behind a good line, which is still read */
		kmt_buf_printf(&b, "%s\ntype_id 1 call_site 1 ptr 1\n%s\n%s", bad_lines[i],
			       bad_lines[i], bad_lines[i]);
		assert_int_equal(run_text(kmt_buf_str(&b), &c), -ENODATA);
		assert_int_equal(c.events, 1);
		assert_int_equal(c.lost[KMT_LOSS_INPUT], 3);
		assert_int_equal(c.lost_calls, 3);
		kmt_buf_done(&b);
	}
}

static void nothing_valid(void **state)
{
	struct capture c = { 0 };

	assert_int_equal(run_text("", &c), -EINVAL);
	assert_int_equal(strncmp(kmt_err_text(), "line 1: ", 8), 0);
	assert_int_equal(run_text("\n\ntype_id x call_site 1 ptr 2\nhello\n", &c), -EINVAL);
	assert_string_equal(kmt_err_text(), "line 3: bad type_id");
	assert_int_equal(run_text_len("\0\0\177ELF\0\n\0", 9, NULL, &c), -EINVAL);
	assert_int_equal(strncmp(kmt_err_text(), "line 1: ", 8), 0);
	assert_int_equal(c.events + c.lost_calls, 0);
	assert_int_equal(run("/nonexistent", NULL, &c), -ENOENT);
	assert_int_equal(run("/", NULL, &c), -EISDIR);
}

/* Lines of every length around the limit and the buffer: one loss each, no more. */
static void long_lines(void **state)
{
	static const size_t lens[] = { 4096, 4097, 65535, 65536, 65537, 200000, 131072 };
	static const char good[] = "type_id 1 call_site 1 ptr 1\n";
	char *text = malloc(300000);
	size_t len;

	assert_non_null(text);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		for (int ends = 0; ends < 2; ends++) {
			struct capture c = { 0 };

			len = 0;
			memcpy(text, good, sizeof(good) - 1);
			len += sizeof(good) - 1;
			memset(text + len, 'x', lens[i]);
			len += lens[i];
			if (ends) {
				text[len++] = '\n';
				memcpy(text + len, good, sizeof(good) - 1);
				len += sizeof(good) - 1;
			}
			assert_int_equal(run_text_len(text, len, NULL, &c), -ENODATA);
			assert_int_equal(c.events, 1 + ends);
			assert_int_equal(c.lost[KMT_LOSS_INPUT], 1);
		}
	}
	/* blanks up to the limit are no fault; one more is */
	for (int more = 0; more < 2; more++) {
		struct capture c = { 0 };

		memset(text, ' ', 5000);
		memcpy(text + 4096 + more - 27, good, 28);
		assert_int_equal(run_text_len(text, 4096 + (size_t)more + 1, NULL, &c),
				 more ? -EINVAL : -ENODATA);
		assert_int_equal(c.events, !more);
	}
	free(text);
}

/* poll() hands on a bounded number, whatever the file has. */
static void batches(void **state)
{
	struct kmt_buf b = { 0 };
	struct capture c = { 0 };

	for (int i = 0; i < 10000; i++)
		kmt_buf_printf(&b, "type_id 1 call_site %d ptr 1\n", i);
	assert_int_equal(run_text(kmt_buf_str(&b), &c), -ENODATA);
	assert_int_equal(c.events, 10000);
	assert_true(c.most_per_poll <= 4096);
	assert_true(c.polls >= 3);
	assert_int_equal(c.last.call_site, 9999);
	c = (struct capture){ .fail_with = -EPIPE };
	assert_int_equal(run_text(kmt_buf_str(&b), &c), -EPIPE);
	assert_int_equal(c.events, 1);
	kmt_buf_done(&b);
}

/* Which events of the table sample pass, counted by hand in the sample. */
static void assert_filtered(const struct kmt_filter *f, const char *path, uint64_t events,
			    uint64_t rejected, uint64_t unknown_tasks)
{
	struct capture c = { .filter = f };
	struct kmt_symbols *symbols;

	assert_int_equal(kmt_symbols_load(SAMPLES "kallsyms-2008.txt", &symbols), 0);
	assert_int_equal(run(path, symbols, &c), -ENODATA);
	assert_int_equal(c.events, events);
	assert_int_equal(c.filtered, rejected);
	assert_int_equal(c.unknown_tasks, unknown_tasks);
	kmt_symbols_free(symbols);
}

static void filters(void **state)
{
	const struct kmt_filter getname = { .site = { .v = { "getn*" }, .n = 1 } };
	const struct kmt_filter sizes = { .size_min = 240, .size_max = 320 };
	const struct kmt_filter vmlinux = { .module = { .v = { "vmlinux" }, .n = 1 } };
	const struct kmt_filter cache = { .cache = { .v = { "filp" }, .n = 1 } };
	const struct kmt_filter not_cache = { .cache_not = { .v = { "filp" }, .n = 1 } };
	const struct kmt_filter pid = { .pid = { 7 }, .n_pid = 1 };
	const struct kmt_filter tgid = { .tgid = { 7 }, .n_tgid = 1 };
	struct capture c = { .filter = &cache };

	/* 5 getname; 5 of the 6 frees are of what it allocated (the first is file_free_rcu) */
	assert_filtered(&getname, SAMPLES "table-2008.txt", 10, 10, 0);
	assert_filtered(&getname, SAMPLES "default-2008.txt", 10, 5, 0);
	/* 4 d_alloc of 240, 2 get_empty_filp of 272 */
	assert_filtered(&sizes, SAMPLES "table-2008.txt", 6, 14, 0);
	/* all but the free of an object that was there before */
	assert_filtered(&vmlinux, SAMPLES "default-2008.txt", 14, 1, 0);
	assert_filtered(&not_cache, SAMPLES "default-2008.txt", 14, 1, 0);
	/* its lines name no task: the 9 allocations are told, the 6 frees follow them */
	assert_filtered(&pid, SAMPLES "default-2008.txt", 0, 15, 9);
	assert_int_equal(run_text("type_id 1 call_site 1 ptr 9 bytes_req 1 bytes_alloc 8"
				  " gfp_flags 0 node -1 cache filp\n"
				  "type_id 1 call_site 1 ptr 10 bytes_req 1 bytes_alloc 8"
				  " gfp_flags 0 node -1 cache dentry\n"
				  "type_id 1 call_site 1 ptr 9\n"
				  "type_id 1 call_site 1 ptr 10\n", &c), -ENODATA);
	assert_int_equal(c.events, 2);
	assert_int_equal(c.last.addr, 9);
	c = (struct capture){ .filter = &tgid };
	assert_int_equal(run_text("type_id 1 call_site 1 ptr 1\n", &c), -EINVAL);
}

static void assert_found(const char *text, int want)
{
	int fd = text_fd(text, strlen(text));
	const struct kmt_source_ops *ops = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(kmt_source_for_file(path, &ops), want);
	assert_ptr_equal(ops, want ? NULL : &kmt_source_legacy);
	close(fd);
}

static void found_by_content(void **state)
{
	const struct kmt_source_ops *ops = NULL;

	assert_int_equal(kmt_source_for_file(SAMPLES "default-2008.txt", &ops), 0);
	assert_ptr_equal(ops, &kmt_source_legacy);
	assert_int_equal(kmt_source_for_file(SAMPLES "table-2008.txt", &ops), 0);
	assert_int_equal(kmt_source_for_file(SAMPLES "table-header-2008.txt", &ops), 0);
	assert_found("# tracer: kmemtrace\n", 0);
	assert_found("garbage\ntype_id 1 call_site 1 ptr 1", 0);
	assert_found("# nothing\n", -EINVAL);
	assert_found("hello\n", -EINVAL);
	assert_found("", -EINVAL);
	assert_int_equal(kmt_source_for_file("/nonexistent", &ops), -ENOENT);
	assert_int_equal(kmt_source_for_file("/", &ops), -EISDIR);
	assert_int_equal(kmt_source_for_file("/dev/null", &ops), -EINVAL);
}

/* Standard input is looked at and then read from its beginning, file or pipe. */
static void from_stdin(int in, uint64_t events)
{
	const struct kmt_source_ops *ops = NULL;
	struct capture c = { 0 };
	int saved = dup(STDIN_FILENO);

	assert_true(dup2(in, STDIN_FILENO) == STDIN_FILENO);
	assert_int_equal(kmt_source_for_file("-", &ops), 0);
	assert_ptr_equal(ops, &kmt_source_legacy);
	assert_int_equal(run("-", NULL, &c), -ENODATA);
	assert_int_equal(c.events, events);
	assert_int_equal(c.lost_calls, 0);
	dup2(saved, STDIN_FILENO);
	close(saved);
}

static void standard_input(void **state)
{
	static const char line[] = "type_id 1 call_site 1 ptr 1\n";
	int fd = text_fd(line, sizeof(line) - 1), ends[2];
	pid_t pid;

	from_stdin(fd, 1);
	close(fd);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {	/* more than a pipe holds, the first line in two pieces */
		bool ok = write(ends[1], line, 5) == 5;

		usleep(20000);
		ok &= write(ends[1], line + 5, sizeof(line) - 6) == sizeof(line) - 6;
		for (int i = 1; i < 5000; i++)
			ok &= write(ends[1], line, sizeof(line) - 1) == sizeof(line) - 1;
		_exit(!ok);
	}
	close(ends[1]);
	from_stdin(ends[0], 5000);
	close(ends[0]);

	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static uint32_t random_next(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

static const char *const seeds[] = {
	"type_id 0 call_site 18446744071565585597 ptr 18446612134405955584 bytes_req 4096 "
	"bytes_alloc 4096 gfp_flags 208 node -1 cache filp real_node 1 time 1.000000001 "
	"task bash-1 cpu 2 gfp GFP_KERNEL",
	"type_id 1 call_site 18446744071565585534 ptr 18446612134405955584",
	"  +      K   4096   4096   000000d0   0xffff88007cad6000     -1   getname",
	"  -      C                            0xffff88007cad6000          putname",
	"            bash-1234  [001]    12.345678: type_id 1 call_site f+0x1d/0x90 [m] ptr 5",
	"# ALLOC  TYPE  REQ   GIVEN  FLAGS   POINTER  NODE    CALLER  CACHE  TIME TASK CPU GFP",
	"# overflow: events lost: 17 (ring buffer full), cpu 3, time 1.000000001",
	"CPU:1 [LOST 17 EVENTS]", "\\x41[]+-0x/. ",
};

static size_t mutate(char *line, size_t size, uint32_t *x)
{
	const char *seed = seeds[random_next(x) % (sizeof(seeds) / sizeof(seeds[0]))];
	size_t len = strlen(seed);

	memcpy(line, seed, len);
	for (uint32_t n = random_next(x) % 4; n-- && len;) {
		const char *other = seeds[random_next(x) % (sizeof(seeds) / sizeof(seeds[0]))];
		size_t at = random_next(x) % len, from = random_next(x) % strlen(other);
		size_t run_len = strlen(other) - from;

		switch (random_next(x) % 4) {
		case 0:
			line[at] = (char)random_next(x);
			break;
		case 1:		/* cut a piece out */
			run_len = random_next(x) % (len - at) + 1;
			memmove(line + at, line + at + run_len, len - at - run_len);
			len -= run_len;
			break;
		case 2:		/* go on as another line does */
			if (at + run_len < size) {
				memcpy(line + at, other + from, run_len);
				len = at + run_len;
			}
			break;
		default:
			len = at + 1;
			break;
		}
	}
	return len;
}

/*
 * Damaged lines: no crash, and what is taken for an event comes out of both
 * forms as text that is read as the same event again.
 */
static void damaged_lines(void **state)
{
	const struct kmt_eventfmt_opts opts = {
		.cache = true, .real_node = true, .time = true, .task = true, .gfp = true,
	};
	const struct kmt_eventfmt *format = kmt_eventfmt_find("default");
	struct kmt_legacy_line l = { 0 }, again = { 0 };
	uint32_t x = 20081229, taken = 0;
	char line[1024];

	for (int i = 0; i < 200000; i++) {
		size_t len = mutate(line, sizeof(line), &x);
		char *exact = malloc(len ? len : 1);	/* so that one byte too far is seen */
		struct kmt_buf a = { 0 }, b = { 0 };

		assert_non_null(exact);
		memcpy(exact, line, len);
		if (kmt_legacy_line_parse(&l, exact, len) == KMT_LEGACY_EVENT) {
			taken++;
			format->event(&opts, &l.ev, &a);
			assert_int_equal(kmt_legacy_line_parse(&again, a.data, a.len - 1),
					 KMT_LEGACY_EVENT);
			format->event(&opts, &again.ev, &b);
			assert_string_equal(kmt_buf_str(&a), kmt_buf_str(&b));
		}
		free(exact);
		kmt_buf_done(&a);
		kmt_buf_done(&b);
	}
	assert_true(taken > 10000);	/* or the loop tests nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_come_back),
		cmocka_unit_test(default_becomes_table),
		cmocka_unit_test(table_is_resolved),
		cmocka_unit_test(headers_are_skipped),
		cmocka_unit_test(ftrace_prefix),
		cmocka_unit_test(names_are_resolved),
		cmocka_unit_test(extra_columns_come_back),
		cmocka_unit_test(given_up_comes_back),
		cmocka_unit_test(overflow_comes_back),
		cmocka_unit_test(bad_lines_are_counted),
		cmocka_unit_test(nothing_valid),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(batches),
		cmocka_unit_test(filters),
		cmocka_unit_test(found_by_content),
		cmocka_unit_test(standard_input),
		cmocka_unit_test(damaged_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
