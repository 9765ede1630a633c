// SPDX-License-Identifier: GPL-2.0-only
/* Every reason that is counted, by the table: none may be missing anywhere. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "core/facts.h"
#include "core/session.h"
#include "report/report.h"
#include "store/text.h"

/* cmd/ is in no library */
#include "cmd/overruns.c"

/* What each reason is set to: one value for each, which no other number has. */
static uint64_t loss_of(int i)
{
	return 7000001 + 11 * (uint64_t)i;
}

static uint64_t count_of(int i)
{
	return 9000001 + 13 * (uint64_t)i;
}

static void fill(struct kmt_quality *q)
{
	*q = (struct kmt_quality){ .source = "bpf", .mode = "counted" };
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		q->lost[i] = loss_of(i);
	for (int i = 0; i < KMT_COUNT_MAX; i++)
		kmt_quality_set(q, i, count_of(i));
}

/* A line "KEY<sep>NUMBER" of its own. */
static void has_line(const char *text, const char *key, const char *sep, uint64_t n)
{
	_cleanup_buf_ struct kmt_buf line = { 0 };

	kmt_buf_printf(&line, "\n%s%s%" PRIu64 "\n", key, sep, n);
	if (!strstr(text, kmt_buf_str(&line)))
		fail_msg("no line '%s%s%" PRIu64 "' in: %s", key, sep, n, text);
}

/* The struct's fields have the values, by name: the table is in the struct's order. */
static void test_fields(void **state)
{
	struct kmt_quality q;

	fill(&q);
	assert_int_equal(q.recursion_misses, 9000001);
	assert_int_equal(q.misses_untold, 9000014);
	assert_int_equal(q.frees_before_start, 9000027);
	assert_int_equal(q.given_up_before_start, 9000040);
	assert_int_equal(q.untraced_frees, 9000053);
	assert_int_equal(q.failed_allocations, 9000066);
	assert_int_equal(q.null_frees, 9000079);
	assert_int_equal(q.filtered, 9000092);
	assert_int_equal(q.unknown_tasks, 9000105);
	assert_int_equal(q.own, 9000118);
	assert_int_equal(KMT_COUNT_MAX, 10);
	assert_string_equal(kmt_quality_key(KMT_COUNT_misses_untold), "misses_untold");
}

static void test_overruns(void **state)
{
	_cleanup_buf_ struct kmt_buf out = { 0 };
	struct kmt_quality q;

	fill(&q);
	kmt_buf_puts(&out, "\n");
	kmt_overruns_print(&q, &out);
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		has_line(kmt_buf_str(&out), kmt_loss_key(i), ": ", loss_of(i));
	for (int i = 0; i < KMT_COUNT_MAX; i++)
		has_line(kmt_buf_str(&out), kmt_quality_key(i), ": ", count_of(i));
	has_line(kmt_buf_str(&out), "lost_unknown", ": ", 0);
}

/* Into a recording and back. */
static void test_recording(void **state)
{
	_cleanup_buf_ struct kmt_buf out = { 0 };
	struct kmt_quality q, back = { 0 };
	struct kmt_facts facts = { 0 };

	fill(&q);
	kmt_buf_puts(&out, "\n");
	kmt_text_quality(&q, NULL, &out);
	for (int i = 0; i < KMT_COUNT_MAX; i++)
		has_line(kmt_buf_str(&out), kmt_quality_key(i), " ", count_of(i));
	kmt_text_parse_quality(kmt_buf_str(&out), out.len, &back, &facts);
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		assert_int_equal(back.lost[i], loss_of(i));
	for (int i = 0; i < KMT_COUNT_MAX; i++)
		assert_int_equal(kmt_quality_get(&back, i), count_of(i));
}

static void field_is(const struct kmt_fields *f, const char *key, uint64_t n)
{
	const struct kmt_field *field = kmt_fields_find(f, key);

	if (!field)
		fail_msg("no field '%s'", key);
	else
		assert_int_equal(field->cell.i, n);
}

/* In every report. */
static void test_report(void **state)
{
	const struct kmt_session_opts so = { 0 };
	struct kmt_analysis_in in = { .command = "stat", .temporary_ns = 1000000 };
	struct kmt_session *s;
	struct kmt_quality q;
	struct kmt_report *r;

	fill(&q);
	assert_int_equal(kmt_session_new(&so, &s), 0);
	kmt_session_set_quality(s, &q);
	in.session = s;
	assert_int_equal(kmt_analysis_find("site")->run(&in, &r), 0);
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		field_is(&r->quality, kmt_loss_key(i), loss_of(i));
	for (int i = 0; i < KMT_COUNT_MAX; i++)
		field_is(&r->quality, kmt_quality_key(i), count_of(i));
	/* what the kernel skipped is marked, what there is seldom is quiet */
	assert_true(kmt_fields_find(&r->quality, "recursion_misses")->alarm);
	assert_true(kmt_fields_find(&r->quality, "misses_untold")->quiet);
	assert_false(kmt_fields_find(&r->quality, "filtered")->alarm);
	assert_false(kmt_fields_find(&r->quality, "filtered")->quiet);
	kmt_report_free(r);
	kmt_session_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_overruns),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
