// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kept events and their text. What comes out is compared with the lines that
 * the event formats give for the same events when nothing is between.
 */
#include "store.h"

#include <pthread.h>

#include "cmd/names.c"
#include "cmd/text.c"

#include "unit/stream.h"

#define HUGE_BYTES (64u << 20)
#define THREAD_EVENTS 60000

struct model {
	struct kmt_buf text;		/* of every event that was put in */
	size_t *line;			/* where the text of each begins */
	size_t n, cap;
	struct printer printer;
};

static int model_add(struct model *m, const struct kmt_event *ev)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 1024;
		m->line = realloc(m->line, m->cap * sizeof(*m->line));
		assert_non_null(m->line);
	}
	m->line[m->n++] = m->text.len;
	m->printer.out = &m->text;
	return print_event(&m->printer, ev);
}

static void model_done(struct model *m)
{
	kmt_buf_done(&m->text);
	free(m->line);
}

static struct stream new_stream(uint64_t seed)
{
	return (struct stream){ .seed = seed, .clock = 1000000000, .addresses = 500,
				.free_percent = 50 };
}

static void put(struct kmt_recent *k, struct model *m, struct stream *st, size_t n)
{
	const struct kmt_sink sink = kmt_recent_sink(k);

	while (n--) {
		const struct kmt_event ev = next_event(st);

		assert_int_equal(sink.event(sink.ctx, &ev), 0);
		if (m)
			assert_int_equal(model_add(m, &ev), 0);
	}
}

static char *read_all(struct kmt_text *t, size_t step, size_t *ret_len)
{
	char *all = NULL;
	size_t len = 0;
	ssize_t n;

	do {
		all = realloc(all, len + step + 1);
		assert_non_null(all);
		n = kmt_text_read(t, all + len, step, len);
		assert_true(n >= 0 && n <= (ssize_t)step);
		len += (size_t)n;
	} while (n);
	all[len] = '\0';
	*ret_len = len;
	return all;
}

static const char nop_head[] = "# tracer: nop\n#\n";

/* ---- what comes out is what went in ---- */

static void check_text(const struct kmt_look *look, size_t events, size_t step)
{
	struct model m = { 0 };
	struct stream st = new_stream(events + step);
	struct kmt_recent *k;
	struct kmt_text *t;
	size_t len;
	char *all;

	printer_set(&m.printer, look, NULL);
	assert_int_equal(kmt_recent_new(HUGE_BYTES, &k), 0);
	put(k, &m, &st, events);
	assert_int_equal(kmt_text_new(k, look, "nop", NULL, &t), 0);
	all = read_all(t, step, &len);
	assert_int_equal(len, sizeof(nop_head) - 1 + m.text.len);
	assert_memory_equal(all, nop_head, sizeof(nop_head) - 1);
	if (m.text.len)
		assert_memory_equal(all + sizeof(nop_head) - 1, m.text.data, m.text.len);
	free(all);
	kmt_text_free(t);
	kmt_recent_free(k);
	model_done(&m);
}

static void test_text(void **state)
{
	const struct kmt_look looks[] = {
		{ 0 }, { .table = true }, { .time = true, .cache = true, .gfp = true },
		{ .table = true, .stacks = true, .time = true, .real_node = true },
	};

	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		check_text(&looks[i], 0, 100);
		check_text(&looks[i], 1, 7);
		check_text(&looks[i], 3000, 333);
		check_text(&looks[i], 20000, 131072);	/* three chunks */
	}
}

/* As fsx does: any place, any size, and now and then behind the end. */
static void test_random_reads(void **state)
{
	const struct kmt_look look = { .time = true, .cache = true };
	struct stream st = new_stream(77);
	static char part[300000];
	uint64_t seed = 5;
	struct kmt_recent *k;
	struct kmt_text *t, *other;
	size_t len;
	char *all;

	assert_int_equal(kmt_recent_new(HUGE_BYTES, &k), 0);
	put(k, NULL, &st, 40000);
	assert_int_equal(kmt_text_new(k, &look, "kmemtrace", NULL, &t), 0);
	assert_int_equal(kmt_text_new(k, &look, "kmemtrace", NULL, &other), 0);
	all = read_all(t, 65536, &len);
	for (int i = 0; i < 300; i++) {
		size_t at = below(&seed, len + 1000), size = below(&seed, sizeof(part));
		size_t left = at < len ? len - at : 0, expect = left < size ? left : size;
		/* 'other' was never read from the beginning */
		ssize_t n = kmt_text_read(i % 2 ? t : other, part, size, at);

		assert_int_equal(n, expect);
		if (n)
			assert_memory_equal(part, all + at, expect);
	}
	assert_int_equal(kmt_text_read(t, part, 4, 0), 4);	/* back to the head */
	assert_memory_equal(part, "# tr", 4);
	free(all);
	kmt_text_free(t);
	kmt_text_free(other);
	kmt_recent_free(k);
}

/* The text is of the moment it was opened, whatever comes later. */
static void test_fixed(void **state)
{
	const struct kmt_look look = { 0 };
	struct model m = { 0 };
	struct stream st = new_stream(3);
	struct kmt_recent *k;
	struct kmt_text *t;
	size_t len;
	char *all;

	printer_set(&m.printer, &look, NULL);
	assert_int_equal(kmt_recent_new(100000, &k), 0);
	put(k, &m, &st, 500);
	assert_int_equal(kmt_text_new(k, &look, "nop", NULL, &t), 0);
	put(k, NULL, &st, 100000);	/* nothing of the 500 is kept any more */
	kmt_recent_clear(k);
	kmt_recent_free(k);
	all = read_all(t, 1000, &len);
	assert_int_equal(len, sizeof(nop_head) - 1 + m.text.len);
	assert_memory_equal(all + sizeof(nop_head) - 1, m.text.data, m.text.len);
	free(all);
	kmt_text_free(t);
	model_done(&m);
}

/* ---- heads, to the byte ---- */

static void is_head(const struct kmt_look *look, const char *tracer, const char *expect)
{
	struct kmt_recent *k;
	struct kmt_text *t;
	size_t len;
	char *all;

	assert_int_equal(kmt_recent_new(HUGE_BYTES, &k), 0);
	assert_int_equal(kmt_text_new(k, look, tracer, NULL, &t), 0);
	all = read_all(t, 64, &len);
	assert_string_equal(all, expect);
	free(all);
	kmt_text_free(t);
	kmt_recent_free(k);
}

/* The core's lines and then the tracer's, as Linux 2.6.30 wrote them. */
static void test_heads(void **state)
{
	const struct kmt_look plain = { 0 }, table = { .table = true };

	is_head(&plain, "kmemtrace", "# tracer: kmemtrace\n#\n");
	is_head(&table, "kmemtrace",
		"# tracer: kmemtrace\n#\n"
		"#\n"
		"# ALLOC  TYPE  REQ   GIVEN  FLAGS           POINTER         NODE    CALLER\n"
		"# FREE   |      |     |       |              |   |            |        |\n"
		"# |\n\n");
	is_head(&plain, "nop", nop_head);
	is_head(&table, "nop", nop_head);
}

/*
 * The first two events of the original's samples: one file_free_rcu freeing, one
 * getname allocating; each printed in both forms, from the same kept events.
 */
static void test_samples(void **state)
{
	static const char kallsyms[] = "ffffffff8034cb00 t file_free_rcu\n"
				       "ffffffff8035ac00 T getname\n"
				       "ffffffff80400000 T behind\n";
	const struct kmt_event events[] = {
		{ .op = KMT_OP_FREE, .type = 1, .call_site = 18446744071565527833u,
		  .addr = 0xffff88007c088780, .node = -1, .real_node = -1 },
		{ .op = KMT_OP_ALLOC, .type = 0, .call_site = 18446744071565585597u,
		  .addr = 0xffff88007cad6000, .bytes_req = 4096, .bytes_alloc = 4096,
		  .gfp = 0xd0, .node = -1, .real_node = -1 },
	};
	const struct kmt_look plain = { 0 }, table = { .table = true };
	struct kmt_names *known = calloc(1, sizeof(*known));
	struct kmt_sink sink;
	struct kmt_recent *k;
	struct kmt_text *t;
	size_t len;
	char *all;

	assert_non_null(known);
	known->refs = 1;
	assert_int_equal(kmt_symbols_parse(kallsyms, sizeof(kallsyms) - 1, "x", &known->symbols), 0);
	assert_int_equal(kmt_recent_new(HUGE_BYTES, &k), 0);
	sink = kmt_recent_sink(k);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sink.event(sink.ctx, &events[i]), 0);
	assert_int_equal(kmt_text_new(k, &plain, "kmemtrace", known, &t), 0);
	all = read_all(t, 1000, &len);
	assert_string_equal(all, "# tracer: kmemtrace\n#\n"
		"type_id 1 call_site 18446744071565527833 ptr 18446612134395152256\n"
		"type_id 0 call_site 18446744071565585597 ptr 18446612134405955584 "
		"bytes_req 4096 bytes_alloc 4096 gfp_flags 208 node -1\n");
	free(all);
	kmt_text_free(t);
	assert_int_equal(kmt_text_new(k, &table, "nop", known, &t), 0);
	kmt_names_drop(known);	/* the text holds them */
	all = read_all(t, 1000, &len);
	assert_string_equal(all, "# tracer: nop\n#\n"
		"  -      C                            0xffff88007c088780          file_free_rcu\n"
		"  +      K   4096   4096   000000d0   0xffff88007cad6000     -1   getname\n");
	free(all);
	kmt_text_free(t);
	kmt_recent_free(k);
}

/* ---- the bound ---- */

static void test_overwriting(void **state)
{
	const struct kmt_look look = { 0 };
	const size_t total = 60000;
	struct model m = { 0 };
	struct stream st = new_stream(9);
	struct kmt_recent_state s;
	struct kmt_recent *k;
	struct kmt_text *t;
	size_t len, first, expect;
	char *all;

	printer_set(&m.printer, &look, NULL);
	assert_int_equal(kmt_recent_new(200000, &k), 0);
	for (size_t i = 0; i < total; i += 100) {
		put(k, &m, &st, 100);
		kmt_recent_state(k, &s);
		assert_int_equal(s.events + s.overwritten, i + 100);
		assert_true(s.bytes <= 200000);
	}
	assert_true(s.events > 1000 && s.overwritten > 1000);
	/* what is left are the last ones */
	first = total - s.events;
	assert_int_equal(kmt_text_new(k, &look, "nop", NULL, &t), 0);
	all = read_all(t, 4096, &len);
	expect = m.text.len - m.line[first];
	assert_int_equal(len - (sizeof(nop_head) - 1), expect);
	assert_memory_equal(all + sizeof(nop_head) - 1, m.text.data + m.line[first], expect);
	free(all);
	kmt_text_free(t);
	/* a smaller bound holds at once, and forgetting is no loss */
	kmt_recent_limit(k, KMT_RECENT_LEAST);
	kmt_recent_state(k, &s);
	assert_true(s.bytes <= KMT_RECENT_LEAST);
	assert_int_equal(s.events + s.overwritten, total);
	kmt_recent_clear(k);
	kmt_recent_state(k, &s);
	assert_int_equal(s.events + s.overwritten + s.bytes, 0);
	kmt_recent_free(k);
	model_done(&m);
}

/* ---- the pipe ---- */

/* Reads until nothing is left; every piece ends with a line. */
static void drain(struct kmt_pipe *p, struct kmt_recent *k, size_t size, struct kmt_buf *out)
{
	const struct kmt_look look = { 0 };
	char part[5000];
	ssize_t n;

	while ((n = kmt_pipe_read(p, k, &look, NULL, part, size)) > 0) {
		assert_int_equal(part[n - 1], '\n');
		kmt_buf_add(out, part, (size_t)n);
	}
	assert_int_equal(n, 0);
	assert_false(kmt_pipe_ready(p, k));
}

/* Each line once and in order, however the reads and the events interleave. */
static void test_pipe(void **state)
{
	const struct kmt_look look = { 0 };
	struct model m = { 0 };
	struct stream st = new_stream(21);
	_cleanup_buf_ struct kmt_buf out = { 0 };
	struct kmt_recent *k;
	struct kmt_pipe *p = NULL;
	uint64_t seed = 4;

	printer_set(&m.printer, &look, NULL);
	assert_int_equal(kmt_recent_new(HUGE_BYTES, &k), 0);
	assert_int_equal(kmt_pipe_new(&p), 0);
	assert_false(kmt_pipe_ready(p, k));
	for (int i = 0; i < 60; i++) {
		put(k, &m, &st, below(&seed, 3) ? below(&seed, 300) : below(&seed, 3000));
		if (below(&seed, 3))
			drain(p, k, 600 + below(&seed, 4000), &out);
	}
	put(k, &m, &st, 1);
	assert_true(kmt_pipe_ready(p, k));
	drain(p, k, 4096, &out);
	assert_int_equal(out.len, m.text.len);
	assert_memory_equal(out.data, m.text.data, out.len);
	assert_int_equal(kmt_pipe_missed(p), 0);
	kmt_pipe_free(p);
	kmt_recent_free(k);
	model_done(&m);
}

/* Lines and losses in what the pipe gave. */
static void count(const struct kmt_buf *out, size_t *lines, unsigned long long *lost)
{
	static const char head[] = "# overflow: events lost: ";

	*lines = 0;
	*lost = 0;
	for (const char *at = out->data; at && *at; at = strchr(at, '\n') + 1) {
		if (!strncmp(at, head, sizeof(head) - 1))
			*lost += strtoull(at + sizeof(head) - 1, NULL, 10);
		else
			++*lines;
	}
}

static void test_pipe_missed(void **state)
{
	_cleanup_buf_ struct kmt_buf out = { 0 };
	struct stream st = new_stream(8);
	struct kmt_recent_state s;
	unsigned long long lost;
	struct kmt_recent *k;
	struct kmt_pipe *p = NULL;
	size_t lines;

	assert_int_equal(kmt_recent_new(100000, &k), 0);
	assert_int_equal(kmt_pipe_new(&p), 0);
	put(k, NULL, &st, 10);
	drain(p, k, 4096, &out);
	put(k, NULL, &st, 50000);
	kmt_recent_state(k, &s);
	drain(p, k, 4096, &out);
	count(&out, &lines, &lost);
	assert_int_equal(lines + lost, 50010);
	assert_int_equal(lost, s.overwritten - 10);	/* those it had are no loss to it */
	assert_int_equal(kmt_pipe_missed(p), lost);
	/* what was forgotten on purpose is not missed */
	put(k, NULL, &st, 700);
	kmt_recent_clear(k);
	kmt_pipe_clear(p);
	assert_false(kmt_pipe_ready(p, k));
	put(k, NULL, &st, 3);
	kmt_buf_clear(&out);
	drain(p, k, 4096, &out);
	count(&out, &lines, &lost);
	assert_int_equal(lines, 3);
	assert_int_equal(lost, 0);
	kmt_pipe_free(p);
	kmt_recent_free(k);
}

/* A buffer that is too small for one line: in pieces, nothing lost. */
static void test_pipe_pieces(void **state)
{
	const struct kmt_look look = { 0 };
	struct model m = { 0 };
	struct stream st = new_stream(6);
	_cleanup_buf_ struct kmt_buf out = { 0 };
	struct kmt_recent *k;
	struct kmt_pipe *p = NULL;
	char part[7];
	ssize_t n;

	printer_set(&m.printer, &look, NULL);
	assert_int_equal(kmt_recent_new(HUGE_BYTES, &k), 0);
	assert_int_equal(kmt_pipe_new(&p), 0);
	put(k, &m, &st, 20);
	while ((n = kmt_pipe_read(p, k, &look, NULL, part, sizeof(part))) > 0)
		kmt_buf_add(&out, part, (size_t)n);
	assert_int_equal(n, 0);
	assert_string_equal(kmt_buf_str(&out), kmt_buf_str(&m.text));
	kmt_pipe_free(p);
	kmt_recent_free(k);
	model_done(&m);
}

/* An overflow record keeps its place among the events. */
static void test_losses(void **state)
{
	const struct kmt_look look = { 0 };
	const struct kmt_lost lost = { .reason = KMT_LOSS_OBJECTS, .cpu = 1, .events = 12,
				       .ts_ns = 1000000005 };
	_cleanup_buf_ struct kmt_buf out = { 0 };
	struct stream st = new_stream(2);
	struct kmt_sink sink;
	struct kmt_recent *k;
	struct kmt_pipe *p = NULL;
	struct kmt_text *t;
	size_t len;
	char *all, *at;

	assert_int_equal(kmt_recent_new(HUGE_BYTES, &k), 0);
	assert_int_equal(kmt_pipe_new(&p), 0);
	sink = kmt_recent_sink(k);
	put(k, NULL, &st, 2);
	drain(p, k, 4096, &out);
	sink.lost(sink.ctx, &lost);
	assert_true(kmt_pipe_ready(p, k));
	drain(p, k, 4096, &out);
	put(k, NULL, &st, 1);
	drain(p, k, 4096, &out);
	assert_int_equal(kmt_text_new(k, &look, "nop", NULL, &t), 0);
	all = read_all(t, 1000, &len);
	assert_string_equal(all + sizeof(nop_head) - 1, kmt_buf_str(&out));
	at = strstr(all, "# overflow");
	assert_non_null(at);
	assert_int_equal(strncmp(at, "# overflow: events lost: 12 (live-object table full), cpu 1, "
				 "time 1.000000005\n", 78), 0);
	/* two lines of head, two events before, one after */
	len = 0;
	for (const char *c = all; c < at; c++)
		len += *c == '\n';
	assert_int_equal(len, 4);
	free(all);
	kmt_text_free(t);
	kmt_pipe_free(p);
	kmt_recent_free(k);
}

/* ---- one writes, others read ---- */

static void *writer(void *ctx)
{
	struct stream st = new_stream(33);

	put(ctx, NULL, &st, THREAD_EVENTS);
	return NULL;
}

/* Every text is whole lines of events, and the pipe loses nothing untold. */
static void test_threads(void **state)
{
	const struct kmt_look look = { 0 };
	_cleanup_buf_ struct kmt_buf out = { 0 };
	struct kmt_recent_state s;
	unsigned long long lost;
	struct kmt_recent *k;
	struct kmt_pipe *p = NULL;
	size_t lines, total;
	pthread_t thread;

	assert_int_equal(kmt_recent_new(300000, &k), 0);
	assert_int_equal(kmt_pipe_new(&p), 0);
	assert_int_equal(pthread_create(&thread, NULL, writer, k), 0);
	do {
		struct kmt_text *t;
		size_t len;
		char *all;

		assert_int_equal(kmt_text_new(k, &look, "nop", NULL, &t), 0);
		all = read_all(t, 30000, &len);
		for (char *at = all + sizeof(nop_head) - 1; *at; at = strchr(at, '\n') + 1)
			assert_int_equal(strncmp(at, "type_id ", 8), 0);
		assert_int_equal(all[len - 1], '\n');
		free(all);
		kmt_text_free(t);
		for (int i = 0; i < 20; i++) {
			char part[5000];
			ssize_t n = kmt_pipe_read(p, k, &look, NULL, part, sizeof(part));

			if (n > 0)
				kmt_buf_add(&out, part, (size_t)n);
		}
		kmt_recent_state(k, &s);
		total = s.events + s.overwritten;
	} while (total < THREAD_EVENTS);
	pthread_join(thread, NULL);
	drain(p, k, 4096, &out);
	count(&out, &lines, &lost);
	assert_int_equal(lines + lost, THREAD_EVENTS);
	kmt_pipe_free(p);
	kmt_recent_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_random_reads),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_overwriting),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_pipe_missed),
		cmocka_unit_test(test_pipe_pieces),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
