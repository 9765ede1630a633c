// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cpus.h"
#include "base/err.h"

struct seen {
	uint32_t v[64];
	size_t n, stop_at;
};

static int note(void *ctx, uint32_t cpu)
{
	struct seen *s = ctx;

	assert_true(s->n < 64);
	s->v[s->n++] = cpu;
	return s->n == s->stop_at ? -ECANCELED : 0;
}

static void expect(const char *list, int ret, const char *want)
{
	struct seen s = { 0 };
	char text[512] = "";
	size_t len = 0;

	assert_int_equal(kmt_cpus_parse(list, note, &s), ret);
	for (size_t i = 0; i < s.n; i++)
		len += snprintf(text + len, sizeof(text) - len, "%s%u", i ? " " : "", s.v[i]);
	assert_string_equal(text, want);
	assert_int_equal(kmt_cpus_parse(list, NULL, NULL), ret);
}

static void test_lists(void **state)
{
	expect("0", 1, "0");
	expect("0\n", 1, "0");
	expect("0-3\n", 4, "0 1 2 3");
	expect("0-3,8", 9, "0 1 2 3 8");
	expect("0,2,4-5,63\n", 64, "0 2 4 5 63");
	expect("7-7", 8, "7");
	/* the highest one need not be the last one */
	expect("8,0-1", 9, "8 0 1");
	expect("65535", 65536, "65535");
}

/* No node has memory, or no CPU is offline: an empty line. */
static void test_empty(void **state)
{
	expect("", 0, "");
	expect("\n", 0, "");
}

static void test_no_list(void **state)
{
	static const char *const bad[] = {
		"x", "0x3", "0-", "-", "-3", "1-x", "3-1", "0;1", "0 1", ",", ",1", "0,,1",
		"65536", "0-65536", "99999999999999999999", "0-3-5", "ff,00000001",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(kmt_cpus_parse(bad[i], NULL, NULL), -EINVAL);
		assert_non_null(strstr(kmt_err_text(), bad[i]));
	}
}

static void test_callback_stops(void **state)
{
	struct seen s = { .stop_at = 3 };

	assert_int_equal(kmt_cpus_parse("0-9", note, &s), -ECANCELED);
	assert_int_equal(s.n, 3);
}

static void test_file(void **state)
{
	char path[] = "/tmp/kmt-cpus-XXXXXX";
	struct seen s = { 0 };
	FILE *f = fdopen(mkstemp(path), "w");

	assert_non_null(f);
	assert_true(fputs("1-2,5\n", f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(kmt_cpus_file(path, note, &s), 6);
	assert_int_equal(s.n, 3);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(kmt_cpus_file(path, note, &s), -EIO);
	unlink(path);
	assert_int_equal(kmt_cpus_file(path, note, &s), -ENOENT);
	assert_non_null(strstr(kmt_err_text(), path));
}

/* Every second CPU of 4096: 9 kB. None is cut off. */
static void test_long_file(void **state)
{
	char path[] = "/tmp/kmt-cpus-XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");

	assert_non_null(f);
	for (unsigned i = 0; i < 4096; i += 2)
		fprintf(f, "%s%u", i ? "," : "", i);
	fputs("\n", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(kmt_cpus_file(path, NULL, NULL), 4095);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_no_list),
		cmocka_unit_test(test_callback_stops),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_long_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
