// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "report/match.h"
#include "report/report.h"

enum { SITE, CACHES, ALLOCS, BYTES, WASTE, AGE, ADDR, N_COLUMNS };

static const struct kmt_column columns[N_COLUMNS] = {
	[SITE]   = { "site", "SITE", KMT_UNIT_TEXT, false, true },
	[CACHES] = { "caches", "CACHES", KMT_UNIT_LIST, true, false },
	[ALLOCS] = { "allocs", "ALLOCS", KMT_UNIT_COUNT, false, false },
	[BYTES]  = { "net_bytes", "NET", KMT_UNIT_BYTES, false, false },
	[WASTE]  = { "waste", "WASTE%", KMT_UNIT_PERCENT, false, false },
	[AGE]    = { "age_ns", "AGE", KMT_UNIT_NS, false, false },
	[ADDR]   = { "addr", "ADDRESS", KMT_UNIT_ADDR, false, false },
};

static void add(struct kmt_report *r, const char *site, const char *caches, int64_t allocs,
		int64_t bytes, double waste, int64_t age, uint64_t addr)
{
	struct kmt_row *row = kmt_report_row(r);

	assert_non_null(row);
	assert_int_equal(kmt_cell_text(&row->cells[SITE], site), 0);
	assert_int_equal(kmt_cell_text(&row->cells[CACHES], caches), 0);
	kmt_cell_int(&row->cells[ALLOCS], allocs);
	kmt_cell_int(&row->cells[BYTES], bytes);
	kmt_cell_percent(&row->cells[WASTE], waste);
	kmt_cell_int(&row->cells[AGE], age);
	kmt_cell_int(&row->cells[ADDR], (int64_t)addr);
}

/* Rows a to e; d's text and count are unknown. */
static struct kmt_report *sample(void)
{
	struct kmt_report *r;
	struct kmt_row *row;

	assert_int_equal(kmt_report_new("stat", "site", columns, N_COLUMNS, &r), 0);
	add(r, "a", "kmalloc-64\nfilp", 3, 4096, 12.5, 1000000000, 0x10);
	add(r, "b", "filp", 7, -2048, 0, 2000000000, 0xffff888000000000);
	add(r, "c", "dentry", 3, INT64_MAX, 99.9, 0, 0x20);
	row = kmt_report_row(r);
	kmt_cell_int(&row->cells[BYTES], 5);
	add(r, "e", "", 3, INT64_MIN, -1, 5, 0);
	return r;
}

/* The rows as a word, '-' for the unknown site. */
static const char *sites(const struct kmt_report *r)
{
	static char word[64];

	for (size_t i = 0; i < r->n_rows; i++)
		word[i] = r->rows[i].cells[SITE].is_null ? '-' : r->rows[i].cells[SITE].text[0];
	word[r->n_rows] = '\0';
	return word;
}

static void test_build(void **state)
{
	struct kmt_report *r = sample();
	struct kmt_row *row;

	assert_int_equal(r->n_rows, 5);
	assert_int_equal(r->rows_total, 5);
	assert_int_equal(r->sort_column, -1);
	assert_true(r->rows[3].cells[ALLOCS].is_null);
	row = &r->rows[0];
	assert_int_equal(kmt_row_detail(row, "frame 1"), 0);
	assert_int_equal(kmt_row_detail(row, "frame 2"), 0);
	assert_string_equal(row->detail[1], "frame 2");
	assert_int_equal(kmt_cell_text(&row->cells[SITE], "again"), 0);	/* frees the first */
	assert_int_equal(kmt_cell_text(&row->cells[SITE], NULL), 0);
	assert_true(row->cells[SITE].is_null);
	assert_int_equal(kmt_cell_text(&row->cells[CACHES], "text"), 0);
	kmt_cell_int(&row->cells[CACHES], 1);	/* a text column without a text is unknown */
	assert_true(kmt_cell_is_null(&row->cells[CACHES], KMT_UNIT_LIST));
	assert_int_equal(kmt_report_note(r, "%d of %s", 3, "four"), 0);
	assert_string_equal(r->notes[0], "3 of four");
	kmt_report_free(r);
	kmt_report_free(NULL);
}

/* One text in many rows, of which some go; each can get another one. */
static void test_shared_text(void **state)
{
	struct kmt_cell site = { .is_null = true }, none = { .is_null = true };
	struct kmt_report *r;

	assert_int_equal(kmt_report_new("stat", "site", columns, N_COLUMNS, &r), 0);
	assert_int_equal(kmt_cell_text(&site, "load_msg"), 0);
	assert_int_equal(kmt_cell_share(r, &site), 0);
	assert_int_equal(kmt_cell_share(r, &site), 0);	/* it is already */
	assert_int_equal(kmt_cell_share(r, &none), 0);
	assert_true(none.is_null);
	for (int i = 0; i < 100; i++) {
		add(r, "x", NULL, i, 0, 0, 0, 0);
		kmt_cell_text(&r->rows[i].cells[SITE], NULL);
		r->rows[i].cells[SITE] = site;
	}
	assert_int_equal(kmt_cell_text(&r->rows[99].cells[SITE], "other"), 0);
	assert_string_equal(r->rows[98].cells[SITE].text, "load_msg");
	assert_int_equal(kmt_report_filter(r, "allocs>=50"), 0);
	assert_int_equal(r->n_rows, 50);
	assert_int_equal(kmt_report_filter(r, "site=load*"), 0);
	assert_int_equal(r->n_rows, 49);
	assert_string_equal(r->rows[48].cells[SITE].text, "load_msg");
	kmt_report_free(r);
}

static void test_many_rows(void **state)
{
	struct kmt_report *r;

	assert_int_equal(kmt_report_new("stat", "site", columns, N_COLUMNS, &r), 0);
	for (int i = 0; i < 1000; i++)
		add(r, "x", NULL, i % 10, i, 0, 0, 0);
	assert_int_equal(kmt_report_sort(r, "allocs"), 0);
	for (int i = 0; i < 1000; i++) {	/* 9 first; within a count by age of the row */
		assert_int_equal(r->rows[i].cells[ALLOCS].i, 9 - i / 100);
		assert_int_equal(r->rows[i].cells[BYTES].i, i % 100 * 10 + 9 - i / 100);
	}
	add(r, "y", NULL, 0, 0, 0, 0, 0);	/* the sorted array still grows */
	assert_int_equal(r->n_rows, 1001);
	kmt_report_free(r);
}

static void test_fields(void **state)
{
	struct kmt_report *r = sample();

	for (int i = 0; i < 40; i++)
		assert_int_equal(kmt_fields_int(&r->quality, i == 39 ? "last" : "k", "K",
						KMT_UNIT_COUNT, i), 0);
	assert_int_equal(kmt_fields_percent(&r->summary, "p", "P", 1.5), 0);
	assert_int_equal(kmt_fields_text(&r->summary, "t", "T", "word"), 0);
	assert_int_equal(kmt_fields_text(&r->summary, "none", "NONE", NULL), 0);
	assert_int_equal(kmt_fields_find(&r->quality, "last")->cell.i, 39);
	assert_int_equal(kmt_fields_find(&r->quality, "k")->cell.i, 0);
	assert_null(kmt_fields_find(&r->quality, "p"));
	assert_string_equal(kmt_fields_find(&r->summary, "t")->cell.text, "word");
	assert_true(kmt_fields_find(&r->summary, "none")->cell.is_null);
	kmt_report_free(r);
}

static void test_column(void **state)
{
	struct kmt_report *r = sample();

	assert_int_equal(kmt_report_column(r, "net_bytes"), BYTES);
	assert_int_equal(kmt_report_column(r, "net"), BYTES);
	assert_int_equal(kmt_report_column(r, "Address"), ADDR);
	assert_int_equal(kmt_report_column(r, "nothing"), -1);
	kmt_report_free(r);
}

static void test_sort(void **state)
{
	static const struct { const char *spec, *want; } cases[] = {
		{ "site", "abce-" }, { "site:desc", "ecba-" }, { "allocs", "bace-" },
		{ "allocs:asc", "aceb-" }, { "net_bytes", "ca-be" }, { "net:asc", "eb-ac" },
		{ "waste", "cabe-" }, { "age", "baec-" },	/* 2 s, 1 s, 5 ns, 0 */
		{ "addr", "bcae-" },	/* the kernel's half of the addresses is the upper one */
		{ "addr:asc", "eacb-" }, { "caches", "ecba-" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kmt_report *r = sample();

		/* d's waste and age are unknown too */
		r->rows[3].cells[WASTE].is_null = r->rows[3].cells[AGE].is_null = true;
		assert_int_equal(kmt_report_sort(r, cases[i].spec), 0);
		assert_string_equal(sites(r), cases[i].want);
		assert_int_equal(r->sort_ascending,
				 strstr(cases[i].spec, ":asc") || !strcmp(cases[i].spec, "site") ||
				 !strcmp(cases[i].spec, "caches"));
		kmt_report_free(r);
	}
}

static void test_filter(void **state)
{
	static const struct { const char *expr, *want; } cases[] = {
		{ "site=a", "a" }, { "site!=a", "bc-e" }, { "site=[bc]", "bc" }, { "site=*",
		"abce" },
		{ "caches=filp", "ab" }, { "caches=kmalloc*", "a" }, { "caches!=filp", "c-e" },
		{ "caches=", "e" },
		{ "allocs=3", "ace" }, { "allocs!=3", "b-" }, { "allocs>3", "b" },
		{ "allocs>=3", "abce" },
		{ "allocs<4", "ace" }, { "allocs<=2", "" },
		{ "net>=4K", "ac" }, { "net<0", "be" }, { "net=-2K", "b" }, { "net>-2KiB", "ac-" },
		{ "net>=9223372036854775807", "c" },
		{ "waste>12.4", "ac" }, { "waste=12.5", "a" }, { "waste>=-1", "abce" },
		{ "waste<-0.5", "e" },
		{ "age>=1s", "ab" }, { "age<1ms", "ce" },
		{ "addr=0xffff888000000000", "b" }, { "addr>20", "b" }, { "addr<=0x10", "ae" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kmt_report *r = sample();

		assert_int_equal(kmt_report_filter(r, cases[i].expr), 0);
		assert_string_equal(sites(r), cases[i].want);
		assert_int_equal(r->rows_total, strlen(cases[i].want));
		for (size_t k = 0; k < r->n_rows; k++)	/* lists are whole again */
			if (sites(r)[k] == 'a')
				assert_string_equal(r->rows[k].cells[CACHES].text,
					"kmalloc-64\nfilp");
		kmt_report_free(r);
	}
}

static void assert_filter_refused(struct kmt_report *r, const char *expr, int err, const char *text)
{
	assert_int_equal(kmt_report_filter(r, expr), err);
	assert_string_equal(kmt_err_text(), text);
	assert_int_equal(r->n_rows, 5);
}

static void test_errors(void **state)
{
	static const char known[] = "unknown column 'x', known here: "
		"site, caches, allocs, net_bytes, waste, age_ns, addr";
	struct kmt_report *r = sample();

	assert_filter_refused(r, "x=1", -EINVAL, known);
	assert_filter_refused(r, "allocs", -EINVAL,
		"filter must be COLUMN=VALUE (or !=, <, <=, >, >=), not 'allocs'");
	assert_filter_refused(r, "=3", -EINVAL,
		"filter must be COLUMN=VALUE (or !=, <, <=, >, >=), not '=3'");
	assert_filter_refused(r, "allocs!3\n", -EINVAL,
		"filter must be COLUMN=VALUE (or !=, <, <=, >, >=), not 'allocs!3\\x0a'");
	assert_filter_refused(r, "site>a", -EINVAL,
		"'site' is text and can only be compared with = and !=");
	assert_filter_refused(r, "allocs>many", -EINVAL,
		"allocs must be 0 to 9223372036854775807, not 'many'");
	assert_filter_refused(r, "net>=8388608T", -ERANGE,
		"net must be 0 to 9223372036854775807, not '8388608T'");
	assert_filter_refused(r, "addr=-1", -EINVAL, "addr must be a hexadecimal address, "
		"not '-1'");
	assert_filter_refused(r, "addr=", -EINVAL, "addr must be a hexadecimal address, not ''");
	assert_int_equal(kmt_report_sort(r, "x"), -EINVAL);
	assert_string_equal(kmt_err_text(), known);
	assert_int_equal(kmt_report_sort(r, "site:up"), -EINVAL);
	assert_string_equal(kmt_err_text(), "sort order must be asc or desc, not 'up'");
	assert_int_equal(kmt_report_choose(r, "site,x"), -EINVAL);
	assert_string_equal(kmt_err_text(), known);
	assert_int_equal(kmt_report_choose(r, "site,SITE"), -EINVAL);
	assert_string_equal(kmt_err_text(), "column 'site' is named twice");
	assert_int_equal(kmt_report_choose(r, ""), -EINVAL);
	assert_int_equal(kmt_report_choose(r, "site,"), -EINVAL);
	assert_null(r->shown);
	assert_string_equal(sites(r), "abc-e");
	kmt_report_free(r);
}

static void test_limit_and_choose(void **state)
{
	struct kmt_report *r = sample();

	kmt_report_limit(r, 0);
	assert_int_equal(r->n_rows, 5);
	kmt_report_limit(r, 9);
	assert_int_equal(r->n_rows, 5);
	kmt_report_limit(r, 2);
	assert_string_equal(sites(r), "ab");
	assert_int_equal(r->rows_total, 5);
	assert_int_equal(kmt_report_choose(r, "addr,site"), 0);
	assert_int_equal(kmt_report_choose(r, "net,caches,allocs"), 0);	/* the last one holds */
	assert_int_equal(r->n_shown, 3);
	assert_int_equal(r->shown[0], BYTES);
	assert_int_equal(r->shown[1], CACHES);
	assert_int_equal(r->shown[2], ALLOCS);
	kmt_report_free(r);
}

static void test_no_rows(void **state)
{
	struct kmt_report *r;

	assert_int_equal(kmt_report_new("stat", "site", columns, N_COLUMNS, &r), 0);
	assert_int_equal(kmt_report_filter(r, "allocs>0"), 0);
	assert_int_equal(kmt_report_sort(r, "allocs"), 0);
	kmt_report_limit(r, 1);
	assert_int_equal(r->n_rows, 0);
	kmt_report_free(r);
	assert_int_equal(kmt_report_new("stat", "none", NULL, 0, &r), 0);
	assert_non_null(kmt_report_row(r));
	kmt_report_free(r);
}

/* What is left of the sample; "!" and the error's text if it is none. */
static void expect_match(const char *expr, const char *want)
{
	struct kmt_report *r = sample();
	size_t before = r->n_rows;
	int err = kmt_report_match(r, expr);

	if (*want == '!') {
		assert_int_equal(err, -EINVAL);
		assert_non_null(strstr(kmt_err_text(), want + 1));
		assert_int_equal(r->n_rows, before);
	} else {
		assert_int_equal(err, 0);
		assert_string_equal(sites(r), want);
		assert_int_equal(r->rows_total, strlen(want));
	}
	kmt_report_free(r);
}

static void test_match(void **state)
{
	expect_match("filp", "ab");			/* a hidden column, any entry */
	expect_match("FILP|dentry", "abc");
	expect_match("^filp$", "b");			/* a's list reads "kmalloc-64, filp" */
	expect_match("", "abc-e");
	expect_match("4096", "");			/* only texts, unless a column is named */
	expect_match("allocs~3", "ace");
	expect_match("allocs!~3", "b-");
	expect_match("NET~KiB", "ab");			/* as it is shown: 4.0 KiB, -2.0 KiB */
	expect_match("net_bytes>=4K", "ac");		/* a comparison of the report's own */
	expect_match("site=b", "b");
	expect_match("nothing=b", "");			/* no column: a regular expression */
	expect_match("[", "!regular expression '['");
	expect_match("site~(", "!regular expression '('");
	expect_match("allocs>many", "!allocs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_shared_text),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_column),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_limit_and_choose),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
