// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "analysis/check.h"
#include "base/buf.h"
#include "base/err.h"
#include "report/report.h"

static const struct kmt_column columns[] = {
	{ "site", "SITE", KMT_UNIT_TEXT, false, true },
	{ "surviving_bytes", "SURVIVING", KMT_UNIT_BYTES, false, false },
};

/* 3 + 4 MiB survive; 2 of 8 allocations are temporary; 12.5 % are wasted. */
static struct kmt_report *sample(void)
{
	struct kmt_report *r;
	struct kmt_row *row;

	assert_int_equal(kmt_report_new("check", "site", columns, 2, &r), 0);
	assert_int_equal(kmt_fields_int(&r->summary, "allocs", "a", KMT_UNIT_COUNT, 8), 0);
	assert_int_equal(kmt_fields_int(&r->summary, "temporary", "t", KMT_UNIT_COUNT, 2), 0);
	assert_int_equal(kmt_fields_int(&r->summary, "live_bytes_allocated", "l", KMT_UNIT_BYTES,
					7 << 20), 0);
	assert_int_equal(kmt_fields_int(&r->summary, "growth_bytes_per_s", "g",
					KMT_UNIT_BYTES_PER_S, 10241), 0);
	assert_int_equal(kmt_fields_percent(&r->summary, "waste_percent", "w", 12.5), 0);
	assert_int_equal(kmt_fields_int(&r->summary, "peak_bytes_allocated", "p", KMT_UNIT_BYTES,
					0), 0);
	r->summary.v[r->summary.n - 1].cell.is_null = true;
	assert_int_equal(kmt_fields_int(&r->quality, "lost_total", "x", KMT_UNIT_COUNT, 3), 0);
	assert_int_equal(kmt_fields_int(&r->quality, "recursion_misses", "m", KMT_UNIT_COUNT, 17),
			 0);
	for (int i = 3; i <= 4; i++) {
		row = kmt_report_row(r);
		assert_non_null(row);
		assert_int_equal(kmt_cell_text(&row->cells[0], i == 3 ? "three+0x1" : "four+0x1"), 0);
		kmt_cell_int(&row->cells[1], (int64_t)i << 20);
	}
	return r;
}

static void check(enum kmt_limit_id id, const char *limit, const char *verdict,
		  const char *sentence)
{
	struct kmt_report *sites = sample(), *r;
	struct kmt_limits limits = { 0 };
	struct kmt_buf b = { 0 };
	size_t broken;

	assert_int_equal(kmt_limit_parse(id, limit, &limits), 0);
	assert_int_equal(kmt_check_run(sites, sites, &limits, &r, &broken), 0);
	assert_int_equal(r->n_rows, 1);
	assert_string_equal(r->rows[0].cells[kmt_report_column(r, "verdict")].text, verdict);
	assert_int_equal(broken, strcmp(verdict, "ok") != 0);
	kmt_check_sentence(r, 0, &b);
	assert_string_equal(kmt_buf_str(&b), sentence);
	assert_int_equal(kmt_fields_find(&r->quality, "lost_total")->cell.i, 3);
	kmt_buf_done(&b);
	kmt_report_free(r);
	kmt_report_free(sites);
}

static void limits_and_verdicts(void **state)
{
	check(KMT_LIMIT_surviving, "7M", "ok", "surviving 7.0 MiB is within 7.0 MiB "
	      "(--max-surviving)");
	check(KMT_LIMIT_surviving, "7340031", "broken",
	      "surviving 7340032 is more than 7340031 (--max-surviving)");
	check(KMT_LIMIT_live, "8M", "ok", "live 7.0 MiB is within 8.0 MiB (--max-live)");
	check(KMT_LIMIT_growth, "10K/s", "broken",
	      "growth 10.0 KiB/s is more than 10 KiB/s (--max-growth)");
	check(KMT_LIMIT_growth, "10242", "ok", "growth 10241/s is within 10242/s (--max-growth)");
	check(KMT_LIMIT_growth, "10241", "ok",
	      "growth 10.0 KiB/s is within 10.0 KiB/s (--max-growth)");
	check(KMT_LIMIT_waste, "12.5%", "ok", "waste 12.5% is within 12.5% (--max-waste)");
	check(KMT_LIMIT_waste, "12.4", "broken", "waste 12.5% is more than 12.4% (--max-waste)");
	check(KMT_LIMIT_temporary, "25%", "ok", "temporary 25.0% is within 25.0% "
	      "(--max-temporary)");
	check(KMT_LIMIT_temporary, "24.9%", "broken", "temporary 25.0% is more than 24.9% "
	      "(--max-temporary)");
	check(KMT_LIMIT_lost, "0", "broken", "lost 3 is more than 0 (--max-lost)");
	check(KMT_LIMIT_misses, "16", "broken", "misses 17 is more than 16 (--max-misses)");
	check(KMT_LIMIT_misses, "17", "ok", "misses 17 is within 17 (--max-misses)");
	/* what nobody knows is not within any limit */
	check(KMT_LIMIT_peak, "1T", "unknown", "peak is unknown in this run (--max-peak)");
	check(KMT_LIMIT_failures, "5", "unknown",
	      "failures is unknown in this run (--max-failures)");
}

static void several(void **state)
{
	struct kmt_report *sites = sample(), *r;
	struct kmt_limits limits = { 0 };
	size_t broken;

	assert_int_equal(kmt_limit_parse(KMT_LIMIT_surviving, "1M", &limits), 0);
	assert_int_equal(kmt_limit_parse(KMT_LIMIT_live, "1G", &limits), 0);
	assert_int_equal(kmt_limit_parse(KMT_LIMIT_peak, "1G", &limits), 0);
	assert_int_equal(kmt_check_run(sites, sites, &limits, &r, &broken), 0);
	assert_int_equal(r->n_rows, 3);
	assert_int_equal(broken, 2);
	/* who it was: the larger one first */
	assert_int_equal(r->n_notes, 1);
	assert_string_equal(r->notes[0],
			    "surviving, most of it: four+0x1 4.0 MiB, three+0x1 3.0 MiB");
	kmt_report_free(r);
	kmt_report_free(sites);
}

static void bad_limits(void **state)
{
	static const struct { enum kmt_limit_id id; const char *s; } bad[] = {
		{ KMT_LIMIT_live, "" }, { KMT_LIMIT_live, "-1" }, { KMT_LIMIT_live, "1M/s" },
		{ KMT_LIMIT_growth, "/s" }, { KMT_LIMIT_growth, "1K/m" },
		{ KMT_LIMIT_waste, "%" }, { KMT_LIMIT_waste, "a%" }, { KMT_LIMIT_waste, "-1%" },
		{ KMT_LIMIT_waste, "99999999999999%" }, { KMT_LIMIT_lost, "1K" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kmt_limits limits = { 0 };

		assert_true(kmt_limit_parse(bad[i].id, bad[i].s, &limits) < 0);
		assert_false(limits.set[bad[i].id]);
		assert_non_null(strstr(kmt_err_text(), kmt_limit_option(bad[i].id)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_and_verdicts),
		cmocka_unit_test(several),
		cmocka_unit_test(bad_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
