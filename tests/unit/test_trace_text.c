// SPDX-License-Identifier: GPL-2.0-only
/* The file 'trace' of kept events: what the original printed in 2008, to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/recent.h"
#include "symbol/symbols.h"

/* src/cmd is no part of the library */
#include "cmd/names.c"
#include "cmd/text.c"

#define SAMPLES "tests/golden/samples/"
#define N_SAME 15	/* events of the default sample; the table begins with the same ones */
#define CORE_HEAD "# tracer: kmemtrace\n#\n"

static char *read_sample(const char *name)
{
	char path[128], *text = calloc(1, 8192);
	FILE *f;

	assert_non_null(text);
	snprintf(path, sizeof(path), SAMPLES "%s", name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_in_range(fread(text, 1, 8191, f), 1, 8190);
	fclose(f);
	return text;
}

/* The end of the first n lines. */
static size_t lines_end(const char *text, int n)
{
	const char *s = text;

	for (; n; n--) {
		s = strchr(s, '\n');
		assert_non_null(s);
		s++;
	}
	return s - text;
}

/* A line of the default sample, read by the format that the original printed it with. */
static void keep_line(const struct kmt_sink *sink, const char *line)
{
	struct kmt_event ev = { .node = -1, .real_node = -1, .order = -1, .migratetype = -1 };
	unsigned type;
	int node = -1;
	int n = sscanf(line, "type_id %u call_site %lu ptr %lu bytes_req %lu bytes_alloc %lu "
		       "gfp_flags %lu node %d", &type, &ev.call_site, &ev.addr, &ev.bytes_req,
		       &ev.bytes_alloc, &ev.gfp, &node);

	assert_true(n == 3 || n == 7);
	ev.op = n == 7 ? KMT_OP_ALLOC : KMT_OP_FREE;
	ev.type = type;
	ev.node = node;
	assert_int_equal(sink->event(sink->ctx, &ev), 0);
}

struct sample {
	struct kmt_recent *kept;
	struct kmt_names names;
	char *plain, *table, *header;
};

static int open_sample(void **state)
{
	static struct sample s;
	struct kmt_sink sink;

	s = (struct sample){ .names.refs = 1 };
	s.plain = read_sample("default-2008.txt");
	s.table = read_sample("table-2008.txt");
	s.header = read_sample("table-header-2008.txt");
	assert_int_equal(lines_end(s.plain, N_SAME), strlen(s.plain));
	assert_int_equal(kmt_symbols_load(SAMPLES "kallsyms-2008.txt", &s.names.symbols), 0);
	assert_int_equal(kmt_recent_new(1 << 20, &s.kept), 0);
	sink = kmt_recent_sink(s.kept);
	for (int i = 0; i < N_SAME; i++)
		keep_line(&sink, s.plain + lines_end(s.plain, i));
	*state = &s;
	return 0;
}

static int close_sample(void **state)
{
	struct sample *s = *state;

	assert_int_equal(s->names.refs, 1);
	kmt_recent_free(s->kept);
	kmt_symbols_free(s->names.symbols);
	free(s->plain);
	free(s->table);
	free(s->header);
	return 0;
}

static struct kmt_text *open_text(struct sample *s, bool table, const char *tracer)
{
	const struct kmt_look look = { .table = table };
	struct kmt_text *t;

	assert_int_equal(kmt_text_new(s->kept, &look, tracer, &s->names, &t), 0);
	return t;
}

static size_t read_all(struct kmt_text *t, char *out, size_t size)
{
	ssize_t n, len = 0;

	while ((n = kmt_text_read(t, out + len, 100, len)) > 0) {
		len += n;
		assert_true((size_t)len + 100 < size);
	}
	assert_int_equal(n, 0);
	out[len] = '\0';
	return len;
}

static void text_is(struct sample *s, bool table, const char *tracer, const char *want)
{
	struct kmt_text *t = open_text(s, table, tracer);
	char got[8192];

	read_all(t, got, sizeof(got));
	assert_string_equal(got, want);
	kmt_text_free(t);
}

static void default_is_the_sample(void **state)
{
	struct sample *s = *state;
	struct kmt_buf want _cleanup_(kmt_buf_done) = { 0 };

	kmt_buf_printf(&want, CORE_HEAD "%s", s->plain);
	text_is(s, false, "kmemtrace", kmt_buf_str(&want));
}

/* The same kept events by the other option: nothing is lost by switching there and back. */
static void table_is_the_sample(void **state)
{
	struct sample *s = *state;
	struct kmt_buf want _cleanup_(kmt_buf_done) = { 0 };

	kmt_buf_printf(&want, CORE_HEAD "%s", s->header);
	kmt_buf_add(&want, s->table, lines_end(s->table, N_SAME));
	text_is(s, true, "kmemtrace", kmt_buf_str(&want));
	default_is_the_sample(state);
	text_is(s, true, "kmemtrace", kmt_buf_str(&want));
}

/* After 'echo nop' the events stay; the tracer's own header goes with it. */
static void nop_keeps_the_events(void **state)
{
	struct sample *s = *state;
	struct kmt_buf want _cleanup_(kmt_buf_done) = { 0 };

	kmt_buf_printf(&want, "# tracer: nop\n#\n%s", s->plain);
	text_is(s, false, "nop", kmt_buf_str(&want));
}

/* Any part is the same bytes as in one reading from the beginning, also in one that came first. */
static void any_part_is_the_same(void **state)
{
	struct sample *s = *state;
	struct kmt_sink sink = kmt_recent_sink(s->kept);
	struct kmt_text *t, *all;
	char whole[8192], part[700];
	size_t len;
	uint32_t seed = 1;

	all = open_text(s, true, "kmemtrace");
	t = open_text(s, true, "kmemtrace");
	keep_line(&sink, s->plain);	/* what comes after the opening is not there */
	len = read_all(all, whole, sizeof(whole));
	for (int i = 0; i < 2000; i++) {
		size_t offset, size, left, want;
		ssize_t n;

		seed = seed * 1664525 + 1013904223;
		offset = (seed >> 8) % (len + 50);
		size = 1 + (seed >> 3) % sizeof(part);
		left = offset < len ? len - offset : 0;
		want = size < left ? size : left;
		n = kmt_text_read(t, part, size, offset);
		/* one reading may end early, but not at nothing */
		assert_true(n >= 0 && (size_t)n <= want && (n || !want));
		assert_memory_equal(part, whole + offset, n);
	}
	kmt_text_free(all);
	kmt_text_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_is_the_sample),
		cmocka_unit_test(table_is_the_sample),
		cmocka_unit_test(nop_keeps_the_events),
		cmocka_unit_test(any_part_is_the_same),
	};

	return cmocka_run_group_tests(tests, open_sample, close_sample);
}
