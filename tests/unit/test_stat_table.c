// SPDX-License-Identifier: GPL-2.0-only
/* The files of trace_stat/: made by hand, and of the views they are about. */
#include "unit/world.h"

#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "control/stat.h"

/* ---- the text itself ------------------------------------------------------------- */

static const struct kmt_column columns[] = {
	{ "n", "N", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "bytes", "BYTES", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "part", "PART", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	{ "age", "AGE", KMT_UNIT_NS, KMT_SHOWN, false },
	{ "addr", "ADDR", KMT_UNIT_ADDR, KMT_SHOWN, false },
	{ "list", "LIST", KMT_UNIT_LIST, KMT_SHOWN, false },
	{ "site", "SITE", KMT_UNIT_TEXT, KMT_SHOWN, true },
};

static void add(struct kmt_report *r, int64_t n, const char *list, const char *site)
{
	struct kmt_row *row = kmt_report_row(r);

	assert_non_null(row);
	kmt_cell_int(&row->cells[0], n);
	kmt_cell_int(&row->cells[1], n * 1024);
	kmt_cell_percent(&row->cells[2], (double)n / 8);
	kmt_cell_int(&row->cells[3], n * 1000000000);
	kmt_cell_int(&row->cells[4], (int64_t)0xffff888000000000 + n);
	assert_int_equal(kmt_cell_text(&row->cells[5], list), 0);
	assert_int_equal(kmt_cell_text(&row->cells[6], site), 0);
}

static void test_words(void **state)
{
	static const struct kmt_stat_file stat = {
		"file", "view", "n", "n kbytes=bytes part age_ns=age addr names=list site", NULL,
	};
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	struct kmt_report *r;

	assert_int_equal(kmt_report_new("stat", "view", columns, 7, &r), 0);
	add(r, 1, "a", "load_msg+0x4b");
	add(r, -12, "", "a b\x1b[2J\tc");
	add(r, 345, "kmalloc-64\nkmalloc-cg-64", "mod_get+0x20 [mymod]");
	assert_non_null(kmt_report_row(r));	/* nothing is known of it */

	assert_int_equal(kmt_stat_table(&stat, r, &b), 0);
	assert_string_equal(kmt_buf_str(&b),
		"  n kbytes  part       age_ns               addr names                    site\n"
		"345 353280 43.13 345000000000 0xffff888000000159 kmalloc-64,kmalloc-cg-64 "
			"mod_get+0x20[mymod]\n"
		"  1   1024  0.13   1000000000 0xffff888000000001 a                        "
			"load_msg+0x4b\n"
		"-12 -12288 -1.50 -12000000000 0xffff887ffffffff4 -                        "
			"a_b\\x1b[2J\\x09c\n"
		"  -      -     -            -                  - -                        -\n");
	kmt_report_free(r);
}

/* A title wider than all that stands below it, and nothing to say. */
static void test_titles(void **state)
{
	static const struct kmt_stat_file stat = { "file", "view", NULL, "events_of_all_kinds=n site n",
						    NULL };
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	struct kmt_report *r;

	kmt_buf_puts(&b, "# ");
	assert_int_equal(kmt_stat_table(&stat, NULL, &b), 0);
	assert_string_equal(kmt_buf_str(&b), "# events_of_all_kinds site n\n");

	kmt_buf_clear(&b);
	assert_int_equal(kmt_report_new("stat", "view", columns, 7, &r), 0);
	assert_int_equal(kmt_stat_table(&stat, r, &b), 0);
	assert_string_equal(kmt_buf_str(&b), "events_of_all_kinds site n\n");
	kmt_buf_clear(&b);
	add(r, 7, "", "s");
	assert_int_equal(kmt_stat_table(&stat, r, &b), 0);
	assert_string_equal(kmt_buf_str(&b), "events_of_all_kinds site n\n"
					     "                  7 s    7\n");
	kmt_report_free(r);
}

static void test_unknown_column(void **state)
{
	static const struct kmt_stat_file stat = { "file", "view", NULL, "n x=nothing site", NULL };
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	struct kmt_report *r;

	assert_int_equal(kmt_report_new("stat", "view", columns, 7, &r), 0);
	assert_int_equal(kmt_stat_table(&stat, r, &b), -EINVAL);
	assert_string_equal(kmt_err_text(), "view 'view' has no column 'nothing'");
	assert_int_equal(b.len, 0);
	kmt_report_free(r);
}

static const struct kmt_stat_file *find(const char *name)
{
	for (size_t i = 0; i < kmt_n_stat_files; i++)
		if (!strcmp(kmt_stat_files[i].name, name))
			return &kmt_stat_files[i];
	fail_msg("no file '%s'", name);
	return NULL;
}

static void losses_are(const char *overruns, const char *want)
{
	const struct kmt_stat_file *stat = find("overflow");
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	struct kmt_report *r;

	assert_null(stat->analysis);
	assert_int_equal(kmt_stat_losses(overruns, &r), 0);
	assert_int_equal(stat->text(stat, r, &b), 0);
	assert_string_equal(kmt_buf_str(&b), want);
	kmt_report_free(r);
}

static void test_losses(void **state)
{
	losses_are("ring full: 0\nobject table full: 1234\nkept: events overwritten: 56\nlast: 7",
		   "events reason\n"
		   "  1234 object_table_full\n"
		   "    56 kept:_events_overwritten\n"
		   "     7 last\n"
		   "     0 ring_full\n");
	losses_are("", "events reason\n");
	losses_are("no number: many\nno colon\n\n", "events reason\n     - no_number\n");
}

/* ---- the files -------------------------------------------------------------------- */

/* Read as awk would: the word in the column of that title, of the n-th line. */
static void word(const char *text, size_t line, const char *title, char *out, size_t size)
{
	size_t column = 0, len;
	const char *s = text;

	for (;; column++) {
		s += strspn(s, " ");
		len = strcspn(s, " \n");
		if (len == strlen(title) && !strncmp(s, title, len))
			break;
		s += len;
		if (*s == '\n')
			fail_msg("no column '%s' in %s", title, text);
	}
	for (s = text; line; line--) {
		s = strchr(s, '\n');
		assert_non_null(s);
		s++;
	}
	for (; column; column--) {
		s += strspn(s, " ");
		s += strcspn(s, " \n");
	}
	s += strspn(s, " ");
	len = strcspn(s, " \n");
	assert_true(len < size);
	memcpy(out, s, len);
	out[len] = '\0';
}

static void is_word(const struct kmt_buf *b, size_t line, const char *title, const char *want)
{
	char got[256];

	word(kmt_buf_str(b), line, title, got, sizeof(got));
	if (strcmp(got, want))
		fail_msg("%s in line %zu is '%s', expected '%s' in\n%s", title, line, got, want,
			 kmt_buf_str(b));
}

/* All lines have as many words as the header, and end with the last. How many lines. */
static size_t is_table(const char *text)
{
	size_t want = 0, lines = 0;

	for (const char *s = text; *s; lines++) {
		size_t len = strcspn(s, "\n"), words = 0;

		for (size_t i = 0; i < len; i++)
			words += s[i] != ' ' && (!i || s[i - 1] == ' ');
		if (!lines)
			want = words;
		if (words != want)
			fail_msg("%zu words for %zu titles: %.*s", words, want, (int)len, s);
		assert_int_equal(s[len], '\n');
		assert_int_not_equal(s[len - 1], ' ');
		s += len + 1;
	}
	return lines;
}

static void make(struct world *w, const char *file, struct kmt_buf *b)
{
	const struct kmt_stat_file *stat = find(file);

	assert_non_null(stat);
	run(w, stat->analysis);
	kmt_buf_clear(b);
	if (stat->text(stat, w->r, b))
		fail_msg("%s: %s", file, kmt_err_text());
}

static void test_call_site(void **state)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	messages(&w);
	alloc(&w, IN_MODULE, "kmalloc-64", 0x1000, 50, 64, 1100000000);
	alloc(&w, IN_MODULE, "kmalloc-64", 0x2000, 50, 64, 1100000000);
	release(&w, 0x1000, 0, 1200000000);
	make(&w, "call_site", &b);
	assert_int_equal(is_table(kmt_buf_str(&b)), 3);
	is_word(&b, 1, "site", "load_msg+0x10");
	is_word(&b, 1, "allocs", "1000");
	is_word(&b, 1, "live", "1000");
	is_word(&b, 1, "live_bytes", "2048000");
	is_word(&b, 1, "req_bytes", "1048000");
	is_word(&b, 1, "alloc_bytes", "2048000");
	is_word(&b, 1, "waste_bytes", "1000000");
	is_word(&b, 2, "site", "mod_get+0x20[mymod]");
	is_word(&b, 2, "allocs", "2");
	is_word(&b, 2, "frees", "1");
	is_word(&b, 2, "live_bytes", "64");
	is_word(&b, 2, "type", "K");

	make(&w, "free_site", &b);
	assert_int_equal(is_table(kmt_buf_str(&b)), 2);
	is_word(&b, 1, "site", "free_msg+0x8");
	is_word(&b, 1, "frees", "1");

	/* 1000 messages and two objects in a cache of 64: 28 of 128 bytes were not asked for */
	make(&w, "fragmentation", &b);
	assert_int_equal(is_table(kmt_buf_str(&b)), 3);
	is_word(&b, 1, "waste_bytes", "1000000");
	is_word(&b, 1, "waste_pct", "48.83");
	is_word(&b, 2, "waste_bytes", "14");
	is_word(&b, 2, "waste_total_bytes", "28");
	is_word(&b, 2, "waste_pct", "21.88");

	/* 100 ms: 2^26.6 ns, the 16th bucket from 1024 ns on */
	make(&w, "lifetime", &b);
	assert_int_equal(is_table(kmt_buf_str(&b)), 2);
	is_word(&b, 1, "ended", "1");
	is_word(&b, 1, "p50_ns", "134217728");
	is_word(&b, 1, "log2", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0");
	close_world(&w);
}

static void test_object(void **state)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	alloc(&w, IN_MODULE, "kmalloc-64", 0x1000, 50, 64, 3000000000);
	messages(&w);	/* the first at 1 s, the last 999 us later */
	make(&w, "object", &b);
	assert_int_equal(is_table(kmt_buf_str(&b)), 1002);
	is_word(&b, 1, "age_ns", "2000000000");
	is_word(&b, 1, "address", "0xffff888100000000");
	is_word(&b, 1, "site", "load_msg+0x10");
	is_word(&b, 1, "cache", "kmalloc-cg-2k");
	is_word(&b, 1, "req_bytes", "1048");
	is_word(&b, 1, "alloc_bytes", "2048");
	is_word(&b, 1, "state", "live");
	is_word(&b, 2, "age_ns", "1999999000");
	is_word(&b, 1000, "age_ns", "1999001000");
	is_word(&b, 1001, "age_ns", "0");
	is_word(&b, 1001, "address", "0x1000");

	/* of more than there is room for the oldest, and how many there are */
	w.in.max_objects = 2;
	make(&w, "object", &b);
	is_word(&b, 2, "age_ns", "1999999000");
	is_word(&b, 3, "age_ns", "#");
	assert_non_null(strstr(kmt_buf_str(&b), "load_msg+0x10\n# 999 more\n"));
	close_world(&w);
}

static void test_pingpong(void **state)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	watch(&w, "pingpong");
	messages(&w);	/* on CPU 0 */
	release(&w, MSG_ADDR, 1, 2000000000);
	release(&w, MSG_ADDR + 2048, 0, 2000000000);
	make(&w, "pingpong", &b);
	assert_int_equal(is_table(kmt_buf_str(&b)), 2);
	is_word(&b, 1, "cross_cpu", "1");
	is_word(&b, 1, "cross_cpu_pct", "50.00");
	is_word(&b, 1, "frees", "2");
	is_word(&b, 1, "top_pair", "0_to_1");
	close_world(&w);
}

/* Whatever there is to say, each file has the columns that its row names. */
static void test_all_files(void **state)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	size_t n = 0;
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	messages(&w);
	release(&w, MSG_ADDR, 1, 2000000000);
	for (; kmt_stat_files[n].name; n++) {
		if (!kmt_stat_files[n].analysis)
			continue;
		if (!kmt_analysis_find(kmt_stat_files[n].analysis))
			fail_msg("%s: no view '%s'", kmt_stat_files[n].name, kmt_stat_files[n].analysis);
		make(&w, kmt_stat_files[n].name, &b);
		is_table(kmt_buf_str(&b));
	}
	assert_int_equal(n, 9);
	assert_int_equal(n, kmt_n_stat_files);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_titles),
		cmocka_unit_test(test_unknown_column),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_call_site),
		cmocka_unit_test(test_object),
		cmocka_unit_test(test_pingpong),
		cmocka_unit_test(test_all_files),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
