// SPDX-License-Identifier: GPL-2.0-only
/* By what rows are counted for each view, and which views rows of each kind serve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"

/* cmd/ is in no library */
#include "cmd/key.c"

static const struct kmt_analysis *view(const char *name)
{
	const struct kmt_analysis *a = kmt_analysis_find(name);

	assert_non_null(a);
	return a;
}

static void test_key_of_views(void **state)
{
	static const struct { const char *view; enum kmt_key key; } known[] = {
		{ "task", KMT_BY_TASK }, { "tasks", KMT_BY_TASK },
		{ "cgroup", KMT_BY_CGROUP }, { "cgroups", KMT_BY_CGROUP },
		{ "stacks", KMT_BY_STACK }, { "unload", KMT_BY_STACK },
		{ "site", KMT_BY_SITE }, { "site,cache", KMT_BY_SITE }, { "cpu", KMT_BY_SITE },
		{ "node", KMT_BY_SITE }, { "module", KMT_BY_SITE }, { "object", KMT_BY_SITE },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(kmt_key_of(view(known[i].view), false), known[i].key);
	assert_int_equal(kmt_key_of(view("site"), true), KMT_BY_STACK);
	assert_int_equal(kmt_key_of(view("cpu"), true), KMT_BY_STACK);
}

/* A view of its own for each key that has one, which needs just that key. */
static void test_each_key_has_its_view(void **state)
{
	for (enum kmt_key key = KMT_BY_SITE; key < KMT_BY_MAX; key++) {
		const char *own = kmt_key_view(key);

		assert_non_null(kmt_key_name(key));
		assert_true(!*kmt_key_option(key) == (key == KMT_BY_SITE));
		if (own) {
			assert_int_equal(kmt_key_of(view(own), false), key);
			assert_true(kmt_key_serves(key, view(own), false));
		}
	}
}

/* Rows: what was counted by; columns: site, stacks, task, cgroup, cache, cpu, slabinfo. */
static void test_served(void **state)
{
	static const char *const views[] = { "site", "stacks", "task", "cgroup", "cache", "cpu",
					     "slabinfo" };
	static const bool serves[KMT_BY_MAX][7] = {
		[KMT_BY_SITE] =	  { 1, 0, 0, 0, 1, 1, 1 },
		[KMT_BY_STACK] =  { 1, 1, 0, 0, 1, 1, 1 },
		[KMT_BY_TASK] =	  { 0, 0, 1, 0, 1, 1, 1 },
		[KMT_BY_CGROUP] = { 0, 0, 0, 1, 1, 1, 1 },
	};

	for (int key = 0; key < KMT_BY_MAX; key++)
		for (size_t i = 0; i < 7; i++)
			assert_true(kmt_key_serves(key, view(views[i]), false) == serves[key][i]);
	/* one row for each stack can be had of stacks only */
	for (int key = 0; key < KMT_BY_MAX; key++)
		assert_true(kmt_key_serves(key, view("cache"), true) == (key == KMT_BY_STACK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_of_views),
		cmocka_unit_test(test_each_key_has_its_view),
		cmocka_unit_test(test_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
