// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "analysis/diff.h"
#include "base/buf.h"
#include "report/report.h"

static const struct kmt_column columns[] = {
	{ "site", "SITE", KMT_UNIT_TEXT, false, true },
	{ "cache", "CACHE", KMT_UNIT_TEXT, false, false },
	{ "stack", "STACK", KMT_UNIT_LIST, true, false },
	{ "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, false, false },
	{ "live_objects", "OBJS", KMT_UNIT_COUNT, false, false },
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, false, false },
};

#define UNKNOWN INT64_MIN

static struct kmt_report *new_report(uint64_t window_ns)
{
	struct kmt_report *r;

	assert_int_equal(kmt_report_new("stat", "site", columns, 6, &r), 0);
	r->window_ns = window_ns;
	return r;
}

static void put(struct kmt_report *r, const char *site, const char *cache, const char *stack,
		int64_t live, int64_t objs, int64_t allocs)
{
	const int64_t v[] = { live, objs, allocs };
	struct kmt_row *row = kmt_report_row(r);

	assert_non_null(row);
	assert_int_equal(kmt_cell_text(&row->cells[0], site), 0);
	assert_int_equal(kmt_cell_text(&row->cells[1], cache), 0);
	assert_int_equal(kmt_cell_text(&row->cells[2], stack), 0);
	for (size_t i = 0; i < 3; i++)
		if (v[i] != UNKNOWN)
			kmt_cell_int(&row->cells[3 + i], v[i]);
}

static struct kmt_report *diff(struct kmt_report *a, struct kmt_report *b, unsigned by)
{
	struct kmt_report *r;

	assert_int_equal(kmt_diff_run(a, b, by, &r), 0);
	kmt_report_free(a);
	kmt_report_free(b);
	return r;
}

static const struct kmt_cell *cell(const struct kmt_report *r, size_t row, const char *key)
{
	int c = kmt_report_column(r, key);

	assert_true(c >= 0 && row < r->n_rows);
	return &r->rows[row].cells[c];
}

static void is_int(const struct kmt_report *r, size_t row, const char *key, int64_t want)
{
	const struct kmt_cell *c = cell(r, row, key);

	if (want == UNKNOWN) {
		assert_true(c->is_null);
		return;
	}
	assert_false(c->is_null);
	assert_true(c->i == want);
}

static void is_text(const struct kmt_report *r, size_t row, const char *key, const char *want)
{
	const char *is = cell(r, row, key)->text;

	if (!want) {
		assert_null(is);
		return;
	}
	assert_non_null(is);
	assert_string_equal(is, want);
}

static bool is_shown(const struct kmt_report *r, const char *key)
{
	return kmt_report_shows(r, (size_t)kmt_report_column(r, key));
}

/* Two builds of one function are one row; the largest change comes first. */
static void by_site(void **state)
{
	struct kmt_report *a = new_report(1000000000), *b = new_report(1000000000), *r;

	put(a, "seq_open+0x1c", "kmalloc-64", NULL, 100, 1, 10);
	put(a, "seq_open+0x9c", "kmalloc-128", NULL, 200, 2, 20);
	put(a, "gone_one+0x1 [ext4]", NULL, NULL, 5000, 5, 50);
	put(a, "alike+0x1", NULL, NULL, 7, 1, 1);
	put(b, "alike+0x1", NULL, NULL, 7, 1, 1);
	put(b, "seq_open.isra.0+0x44", NULL, NULL, 1300, 13, 130);
	put(b, "new_one+0x1 [ext4]", NULL, NULL, 800, 8, 80);
	r = diff(a, b, KMT_DIFF_SITE);
	assert_int_equal(r->n_rows, 4);
	is_text(r, 0, "site", "gone_one [ext4]");
	is_text(r, 0, "status", "gone");
	is_int(r, 0, "live_bytes_allocated_delta", -5000);
	is_int(r, 0, "live_bytes_allocated_b", 0);
	is_int(r, 0, "distance_bytes", 5000);
	is_text(r, 1, "site", "seq_open");
	is_text(r, 1, "status", "changed");
	is_text(r, 1, "cache", NULL);
	is_int(r, 1, "live_bytes_allocated_a", 300);
	is_int(r, 1, "live_bytes_allocated_delta", 1000);
	is_int(r, 1, "live_objects_delta", 10);
	is_int(r, 1, "allocs_delta", 100);
	is_int(r, 1, "allocs_per_s_delta", 100);
	assert_true(cell(r, 1, "live_percent")->d > 333.3 && cell(r, 1, "live_percent")->d < 333.4);
	is_text(r, 2, "status", "new");
	is_int(r, 2, "live_bytes_allocated_a", 0);
	assert_true(cell(r, 2, "live_percent")->is_null);
	is_text(r, 3, "status", "same");
	assert_true(is_shown(r, "allocs_delta") && !is_shown(r, "allocs_per_s_delta"));
	kmt_report_free(r);
}

static void by_cache_and_both(void **state)
{
	for (int both = 0; both < 2; both++) {
		struct kmt_report *a = new_report(1), *b = new_report(1), *r;

		put(a, "f+0x1", "kmalloc-64 (inferred)", NULL, 64, 1, 1);
		put(b, "f+0x2", "kmalloc-64", NULL, 128, 2, 2);
		put(b, "g+0x2", "kmalloc-64", NULL, 64, 1, 1);
		r = diff(a, b, both ? KMT_DIFF_SITE | KMT_DIFF_CACHE : KMT_DIFF_CACHE);
		assert_int_equal(r->n_rows, both ? 2 : 1);
		is_text(r, 0, "cache", "kmalloc-64");
		is_text(r, 0, "site", both ? "f" : NULL);
		is_int(r, 0, "live_bytes_allocated_delta", both ? 64 : 128);
		kmt_report_free(r);
	}
}

/* The same functions on the way, whatever their offsets. */
static void by_stack(void **state)
{
	struct kmt_report *a = new_report(1), *b = new_report(1), *r;

	put(a, "f+0x1", NULL, "f+0x1\ng+0x2\nh+0x3", 10, 1, 1);
	put(a, "f+0x1", NULL, "f+0x1\nother+0x2", 20, 1, 1);
	put(b, "f+0x7", NULL, "f+0x7\ng.part.3+0x8\nh+0x9", 110, 1, 1);
	r = diff(a, b, KMT_DIFF_STACK);
	assert_int_equal(r->n_rows, 2);
	is_int(r, 0, "live_bytes_allocated_delta", 100);
	is_text(r, 0, "stack", "f\ng\nh");
	assert_int_equal(r->rows[0].n_detail, 3);
	assert_string_equal(r->rows[0].detail[2], "h");
	is_int(r, 1, "live_bytes_allocated_delta", -20);
	kmt_report_free(r);
}

/* A twice as long: what counts is per second. */
static void lengths(void **state)
{
	struct kmt_report *a = new_report(2000000000), *b = new_report(1000000000), *r;

	put(a, "f", NULL, NULL, 4000, 4, 400);
	put(b, "f", NULL, NULL, 4000, 4, 500);
	r = diff(a, b, KMT_DIFF_SITE);
	is_int(r, 0, "allocs_per_s_a", 200);
	is_int(r, 0, "allocs_per_s_b", 500);
	is_int(r, 0, "allocs_per_s_delta", 300);
	is_int(r, 0, "growth_bytes_per_s_delta", 2000);
	assert_true(!is_shown(r, "allocs_delta") && is_shown(r, "allocs_per_s_delta"));
	kmt_report_free(r);
}

/* Unknown is not 0; what does not fit stops at the end. */
static void borders(void **state)
{
	struct kmt_report *a = new_report(0), *b = new_report(0), *r;

	put(a, "unknown", NULL, NULL, UNKNOWN, UNKNOWN, 5);
	put(b, "unknown", NULL, NULL, 10, UNKNOWN, 6);
	put(a, "huge", NULL, NULL, INT64_MAX, 1, 1);
	put(a, "huge", NULL, NULL, INT64_MAX, 1, 1);
	put(b, "huge", NULL, NULL, -10, 1, 1);
	put(b, NULL, NULL, NULL, 3, 1, 1);
	r = diff(a, b, KMT_DIFF_SITE);
	assert_int_equal(r->n_rows, 3);
	is_text(r, 0, "site", "huge");
	is_int(r, 0, "live_bytes_allocated_a", INT64_MAX);
	assert_true(cell(r, 0, "live_bytes_allocated_delta")->i == INT64_MIN);
	is_int(r, 0, "allocs_per_s_a", UNKNOWN);
	is_text(r, 1, "site", "?");
	is_text(r, 2, "site", "unknown");
	is_int(r, 2, "live_bytes_allocated_a", UNKNOWN);
	is_int(r, 2, "live_bytes_allocated_delta", UNKNOWN);
	is_int(r, 2, "live_objects_a", UNKNOWN);
	is_int(r, 2, "allocs_delta", 1);
	kmt_report_free(r);
}

static void head(void **state)
{
	struct kmt_report *a = new_report(7), *b = new_report(9), *r;

	assert_int_equal(kmt_fields_int(&a->quality, "lost_total", "x", KMT_UNIT_COUNT, 4), 0);
	a->quality.v[0].alarm = true;
	assert_int_equal(kmt_fields_text(&b->quality, "kernel", "x", "6.18.5"), 0);
	assert_int_equal(kmt_report_note(b, "something"), 0);
	r = diff(a, b, KMT_DIFF_SITE);
	assert_int_equal(kmt_fields_find(&r->summary, "window_a_ns")->cell.i, 7);
	assert_int_equal(kmt_fields_find(&r->summary, "window_b_ns")->cell.i, 9);
	assert_int_equal(kmt_fields_find(&r->quality, "lost_total_a")->cell.i, 4);
	assert_true(kmt_fields_find(&r->quality, "lost_total_a")->alarm);
	assert_null(kmt_fields_find(&r->quality, "lost_total_b"));
	assert_string_equal(kmt_fields_find(&r->quality, "kernel_b")->cell.text, "6.18.5");
	assert_int_equal(r->n_notes, 1);
	assert_string_equal(r->notes[0], "B: something");
	kmt_report_free(r);
}

static void plain_names(void **state)
{
	static const char *const names[][2] = {
		{ "f+0x1c", "f" }, { "f+0x1c [mod]", "f [mod]" }, { "f", "f" }, { "", "" },
		{ "f.constprop.0.isra.12+0x1", "f" }, { "f.cold", "f" }, { "f.llvm.99+0x0", "f" },
		{ "a.b", "a.b" }, { "0xffffffff81000000", "0xffffffff81000000" },
		{ "f+0x1\ng+0xff", "f\ng" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct kmt_buf b = { 0 };

		kmt_diff_plain_name(names[i][0], &b);
		assert_string_equal(kmt_buf_str(&b), names[i][1]);
		kmt_buf_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_site),
		cmocka_unit_test(by_cache_and_both),
		cmocka_unit_test(by_stack),
		cmocka_unit_test(lengths),
		cmocka_unit_test(borders),
		cmocka_unit_test(head),
		cmocka_unit_test(plain_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
