// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "core/filter.h"

static void test_names(void **state)
{
	struct kmt_filter f = { 0 };

	assert_true(kmt_filter_empty(&f));
	assert_true(kmt_filter_empty(NULL));
	assert_int_equal(kmt_filter_add(&f, "cache=kmalloc-*"), 1);
	assert_int_equal(kmt_filter_add(&f, "cache!=*-cg-*"), 1);
	assert_int_equal(kmt_filter_add(&f, "site=load_msg"), 1);
	assert_int_equal(kmt_filter_add(&f, "module=nf_*"), 1);
	assert_int_equal(kmt_filter_add(&f, "task=ssh?"), 1);
	assert_false(kmt_filter_empty(&f));
	assert_int_equal(f.cache.n, 1);
	assert_string_equal(f.cache.v[0], "kmalloc-*");
	assert_string_equal(f.cache_not.v[0], "*-cg-*");
	assert_string_equal(f.site.v[0], "load_msg");
	assert_string_equal(f.module.v[0], "nf_*");
	assert_string_equal(f.task.v[0], "ssh?");
}

static void test_value_may_hold_operators(void **state)
{
	struct kmt_filter f = { 0 };

	assert_int_equal(kmt_filter_add(&f, "task=a=b"), 1);
	assert_string_equal(f.task.v[0], "a=b");
}

static void test_row_conditions_are_left(void **state)
{
	struct kmt_filter f = { 0 };

	assert_int_equal(kmt_filter_add(&f, "live_objects>=10"), 0);
	assert_int_equal(kmt_filter_add(&f, "type=K"), 0);
	assert_int_equal(kmt_filter_add(&f, "site!=load_msg"), 0);
	assert_int_equal(kmt_filter_add(&f, "pids=1"), 0);
	assert_true(kmt_filter_empty(&f));
}

static void test_sizes(void **state)
{
	static const struct {
		const char *expr;
		uint64_t min, max;
	} good[] = {
		{ "size=64..128", 64, 128 },	{ "size>=4K", 4096, 0 },
		{ "size<=1M", 0, 1 << 20 },	{ "size=100", 100, 100 },
		{ "size>64", 65, 0 },		{ "size<64", 0, 63 },
		{ "size=0..1", 0, 1 },
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct kmt_filter f = { 0 };

		assert_int_equal(kmt_filter_add(&f, good[i].expr), 1);
		assert_int_equal(f.size_min, good[i].min);
		assert_int_equal(f.size_max, good[i].max);
	}
}

static void test_sizes_narrow(void **state)
{
	struct kmt_filter f = { 0 };

	assert_int_equal(kmt_filter_add(&f, "size>=64"), 1);
	assert_int_equal(kmt_filter_add(&f, "size<=512"), 1);
	assert_int_equal(kmt_filter_add(&f, "size=32..256"), 1);
	assert_int_equal(f.size_min, 64);
	assert_int_equal(f.size_max, 256);
	assert_int_equal(kmt_filter_add(&f, "size>256"), -EINVAL);
	assert_int_equal(f.size_min, 64);
	assert_int_equal(f.size_max, 256);
}

static void test_tasks(void **state)
{
	struct kmt_filter f = { 0 };

	assert_int_equal(kmt_filter_add(&f, "pid=17"), 1);
	assert_int_equal(kmt_filter_add(&f, "pid=0"), 1);
	assert_int_equal(kmt_filter_add(&f, "tgid=4194304"), 1);
	assert_int_equal(kmt_filter_add(&f, "cgroup=/system.slice"), 1);
	assert_int_equal(f.n_pid, 2);
	assert_int_equal(f.pid[0], 17);
	assert_int_equal(f.pid[1], 0);
	assert_int_equal(f.n_tgid, 1);
	assert_int_equal(f.tgid[0], 4194304);
	assert_string_equal(f.cgroup, "/system.slice");
}

static void test_bad(void **state)
{
	static const char *const bad[] = {
		"", "cache", "=x", "cache=", "cache!=", "cache=[a", "cache=[]", "cache=a\\",
		"cache=[a\\", "cache>=x", "task<x", "site>=x", "size=", "size=x", "size!=3",
		"size=..5", "size=5..", "size=9..3", "size=0", "size<1", "size<=0", "size=1..0",
		"size=-1", "size=99999999999999999999", "pid=", "pid=x", "pid=-1", "pid=4194305",
		"pid>=3", "tgid=1x", "tgid!=1", "cgroup=", "cgroup=system.slice", "cgroup!=/x",
		"size=1111111111111111111111111111111111111111111111",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kmt_filter f = { 0 };

		kmt_err(0, "nothing");
		if (kmt_filter_add(&f, bad[i]) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_string_not_equal(kmt_err_text(), "nothing");
		assert_true(kmt_filter_empty(&f));
	}
}

static void test_brackets(void **state)
{
	static const char *const good[] = {
		"cache=[ab]*", "cache=[]]", "cache=[!]a]", "cache=\\[", "cache=[\\]]", "cache=]",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct kmt_filter f = { 0 };

		assert_int_equal(kmt_filter_add(&f, good[i]), 1);
	}
}

static void test_messages_have_ranges(void **state)
{
	struct kmt_filter f = { 0 };

	assert_int_equal(kmt_filter_add(&f, "pid=4194305"), -EINVAL);
	assert_non_null(strstr(kmt_err_text(), "pid=4194305"));
	assert_non_null(strstr(kmt_err_text(), "4194304"));
	f.size_min = 512;
	assert_int_equal(kmt_filter_add(&f, "size<=64"), -EINVAL);
	assert_non_null(strstr(kmt_err_text(), "512..64"));
}

static void test_too_many(void **state)
{
	struct kmt_filter f = { 0 };

	for (int i = 0; i < KMT_FILTER_MAX; i++) {
		assert_int_equal(kmt_filter_add(&f, "cache=x"), 1);
		assert_int_equal(kmt_filter_add(&f, "pid=1"), 1);
	}
	assert_int_equal(kmt_filter_add(&f, "cache=x"), -EINVAL);
	assert_non_null(strstr(kmt_err_text(), "more than 16 of 'cache'"));
	assert_int_equal(kmt_filter_add(&f, "pid=1"), -EINVAL);
	assert_int_equal(f.cache.n, KMT_FILTER_MAX);
	assert_int_equal(f.n_pid, KMT_FILTER_MAX);
	assert_int_equal(kmt_filter_add(&f, "cgroup=/a"), 1);
	assert_int_equal(kmt_filter_add(&f, "cgroup=/b"), -EINVAL);
	assert_string_equal(f.cgroup, "/a");
}

static void test_globs(void **state)
{
	struct kmt_globs none = { 0 };
	struct kmt_globs g = { .v = { "dentry", "kmalloc-*" }, .n = 2 };

	assert_false(kmt_globs_match(&none, "dentry"));
	assert_true(kmt_globs_match(&g, "dentry"));
	assert_true(kmt_globs_match(&g, "kmalloc-64"));
	assert_false(kmt_globs_match(&g, "dentry2"));
	assert_false(kmt_globs_match(&g, ""));
	assert_false(kmt_globs_match(&g, NULL));
}

static void test_lists(void **state)
{
	struct kmt_globs g = { .v = { "eventpoll_*" }, .n = 1 };
	char longer[600];

	assert_true(kmt_globs_match_list(&g, "pid\neventpoll_epi\ndamon"));
	assert_true(kmt_globs_match_list(&g, "eventpoll_epi"));
	assert_true(kmt_globs_match_list(&g, "\n\neventpoll_epi\n"));
	assert_false(kmt_globs_match_list(&g, "pid\ndamon"));
	/* a pattern is matched against one name, never against two */
	assert_false(kmt_globs_match_list(&g, "eventpoll\n_epi"));
	assert_false(kmt_globs_match_list(&g, ""));
	assert_false(kmt_globs_match_list(&g, NULL));
	/* a name that is too long to be one is passed over, not the rest */
	memset(longer, 'x', sizeof(longer));
	snprintf(longer + 400, sizeof(longer) - 400, "\neventpoll_epi");
	assert_true(kmt_globs_match_list(&g, longer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_value_may_hold_operators),
		cmocka_unit_test(test_row_conditions_are_left),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_sizes_narrow),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_brackets),
		cmocka_unit_test(test_messages_have_ranges),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
