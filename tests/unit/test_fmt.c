// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <locale.h>
#include <math.h>

#include "base/err.h"
#include "base/fmt.h"

#define K 1024LL
#define MS 1000000ULL
#define S (1000 * MS)

static void test_bytes(void **state)
{
	static const struct { int64_t v; const char *want; } cases[] = {
		{ 0, "0 B" }, { 512, "512 B" }, { 1023, "1023 B" }, { -512, "-512 B" },
		{ K, "1.0 KiB" }, { 1536, "1.5 KiB" }, { 10 * K, "10 KiB" },
		{ 10 * K + 1, "10.0 KiB" },
		{ 9 * K, "9.0 KiB" }, { 64 * K, "64 KiB" }, { 1000 * K, "1000 KiB" },
		/* 1023.95 is rounded up to 1024.0, which is the next unit */
		{ 1023 * K + 972, "1023.9 KiB" }, { 1023 * K + 973, "1.0 MiB" },
		{ K * K - 1, "1.0 MiB" }, { K * K, "1.0 MiB" }, { -3 * K * K, "-3.0 MiB" },
		{ 12 * K * K + 3 * K * K / 10, "12.3 MiB" },
		{ 5 * K * K * K * K, "5.0 TiB" }, { K * K * K * K * K, "1.0 PiB" },
		/* 2^63 is 8 EiB; one less rounds to it */
		{ INT64_MAX, "8.0 EiB" }, { INT64_MIN, "-8.0 EiB" },
	};
	char out[KMT_FMT_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(kmt_fmt_bytes(out, cases[i].v, false), cases[i].want);
	assert_string_equal(kmt_fmt_bytes(out, 1536, true), "1536");
	assert_string_equal(kmt_fmt_bytes(out, -1, true), "-1");
	assert_string_equal(kmt_fmt_bytes(out, INT64_MIN, true), "-9223372036854775808");
	assert_string_equal(kmt_fmt_bytes(out, INT64_MAX, true), "9223372036854775807");
}

/* Never wider than "-1023.9 KiB", whatever the value. */
static void test_bytes_width(void **state)
{
	char out[KMT_FMT_LEN];

	for (int bit = 0; bit < 63; bit++) {
		for (int64_t d = -2; d <= 2; d++) {
			int64_t v = (int64_t)((1ULL << bit) + (uint64_t)d);

			assert_true(strlen(kmt_fmt_bytes(out, v, false)) <= 11);
			assert_true(strlen(kmt_fmt_bytes(out, -v, false)) <= 11);
		}
	}
}

static void test_numbers(void **state)
{
	char out[KMT_FMT_LEN];

	assert_string_equal(kmt_fmt_count(out, 1234567), "1234567");
	assert_string_equal(kmt_fmt_count(out, INT64_MIN), "-9223372036854775808");
	assert_string_equal(kmt_fmt_percent(out, 12.34), "12.3");
	assert_string_equal(kmt_fmt_percent(out, 99.96), "100.0");
	assert_string_equal(kmt_fmt_percent(out, -0.01), "0.0");
	assert_string_equal(kmt_fmt_percent(out, -0.5), "-0.5");
	assert_string_equal(kmt_fmt_percent(out, 1e12), "1000000000000.0");
	assert_string_equal(kmt_fmt_percent(out, NAN), "-");
	assert_string_equal(kmt_fmt_percent(out, -INFINITY), "-");
	assert_string_equal(kmt_fmt_percent(out, 1e300), "-");
	assert_string_equal(kmt_fmt_addr(out, 0xffff88007c088780ULL), "0xffff88007c088780");
	assert_string_equal(kmt_fmt_addr(out, 0), "0x0");
}

static void test_duration(void **state)
{
	static const struct { uint64_t v; const char *want; } cases[] = {
		{ 0, "0ns" }, { 999, "999ns" }, { 1000, "1.00us" }, { 1230 * 1000, "1.23ms" },
		{ 9994, "9.99us" }, { 9995, "10.0us" }, { 99949, "99.9us" }, { 99950, "100us" },
		{ 999499, "999us" }, { 999500, "1.00ms" }, { 250 * MS, "250ms" },
		{ 999999999, "1.00s" }, { 10 * S, "10.0s" }, { 59949 * MS, "59.9s" },
		{ 59950 * MS, "1m00s" }, { 60 * S, "1m00s" }, { 61 * S, "1m01s" },
		{ 3599 * S, "59m59s" }, { 3599 * S + 600 * MS, "1h00m" }, { 7380 * S, "2h03m" },
		{ 86369 * S, "23h59m" }, { 86370 * S, "1d00h" },
		{ 86400 * S * 3 + 4 * 3600 * S, "3d04h" },
		/* 2^64 ns are 213503 d 23 h 34 min */
		{ UINT64_MAX, "213504d00h" },
	};
	char out[KMT_FMT_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(kmt_fmt_duration(out, cases[i].v), cases[i].want);
}

static void test_u64(void **state)
{
	static const char *const bad[] = { "", "x", "-1", "+1", " 1", "1 ", "0x10", "1.0", "1k",
		"1e3" };
	uint64_t v = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kmt_parse_u64(bad[i], "--limit", 0, 100, &v), -EINVAL);
	assert_int_equal(kmt_parse_u64("101", "--limit", 0, 100, &v), -ERANGE);
	assert_int_equal(kmt_parse_u64("18446744073709551616", "--limit", 0, UINT64_MAX, &v),
		-ERANGE);
	assert_string_equal(kmt_err_text(),
			    "--limit must be at most 18446744073709551615, "
			    "not '18446744073709551616'");
	assert_int_equal(v, 77);	/* untouched so far */
	assert_int_equal(kmt_parse_u64("18446744073709551615", "--limit", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(kmt_parse_u64("007", "--limit", 7, 7, &v), 0);
	assert_int_equal(v, 7);
	kmt_parse_u64("x", "--limit", 0, 1000000, &v);
	assert_string_equal(kmt_err_text(), "--limit must be 0 to 1000000, not 'x'");
	kmt_parse_u64("\x1b[2J", "--limit", 1, UINT64_MAX, &v);
	assert_string_equal(kmt_err_text(), "--limit must be at least 1, not '\\x1b[2J'");
	kmt_parse_u64("", "--limit", 0, 0, &v);
	assert_string_equal(kmt_err_text(), "--limit must be a whole number, not ''");
}

static void test_size(void **state)
{
	static const struct { const char *s; uint64_t want; } good[] = {
		{ "0", 0 }, { "4096", 4096 }, { "4096B", 4096 }, { "64K", 65536 },
		{ "64kb", 65536 },
		{ "64KiB", 65536 }, { "1M", 1048576 }, { "2GiB", 2147483648 },
		{ "1t", 1099511627776 },
		{ "1.5K", 1536 }, { "0.25M", 262144 }, { "1.123456789123K", 1150 },
	};
	static const char *const bad[] = { "", "K", "1X", "1KK", "1.5", "1.", ".5K", "-1K",
		"1Kx", "1 K", "1iB" };
	uint64_t v = 77;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(kmt_parse_size(good[i].s, "--ring", 0, UINT64_MAX, &v), 0);
		assert_true(v == good[i].want);
	}
	v = 77;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kmt_parse_size(bad[i], "--ring", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(kmt_parse_size("16777216T", "--ring", 0, UINT64_MAX, &v), -ERANGE);
	assert_int_equal(kmt_parse_size("1K", "--ring", 65536, 256 << 20, &v), -ERANGE);
	assert_string_equal(kmt_err_text(), "--ring must be 64K to 256M, not '1K'");
	assert_int_equal(kmt_parse_size("9", "--ring", 10, 1025, &v), -ERANGE);
	assert_string_equal(kmt_err_text(), "--ring must be 10 to 1025, not '9'");
	assert_int_equal(v, 77);
}

static void test_parse_duration(void **state)
{
	static const struct { const char *s; uint64_t want; } good[] = {
		{ "10", 10 * S }, { "1.5s", 1500 * MS }, { "250ms", 250 * MS }, { "10us", 10000 },
		{ "5m", 300 * S }, { "2h", 7200 * S }, { "1d", 86400 * S }, { "7ns", 7 },
		{ "0", 0 },
		{ "0.000000001", 1 }, { "0.5d", 43200 * S },
	};
	static const char *const bad[] = { "", "s", "1x", "1.5ns", "1 s", "-1", "1S", "1..5s",
		"inf" };
	uint64_t v = 77;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(kmt_parse_duration(good[i].s, "--for", 0, UINT64_MAX, &v), 0);
		assert_true(v == good[i].want);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kmt_parse_duration(bad[i], "--for", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(kmt_parse_duration("213504d", "--for", 0, UINT64_MAX, &v), -ERANGE);
	assert_int_equal(kmt_parse_duration("2d", "--for", 100 * MS, 86400 * S, &v), -ERANGE);
	assert_string_equal(kmt_err_text(), "--for must be 100ms to 1d, not '2d'");
	kmt_parse_duration("x", "--for", 0, 90 * S, &v);
	assert_string_equal(kmt_err_text(), "--for must be 0 to 90s, not 'x'");
}

static void test_decimal(void **state)
{
	double d = 0;

	assert_int_equal(kmt_parse_decimal("12.5", "waste", &d), 0);
	assert_true(d == 12.5);
	assert_int_equal(kmt_parse_decimal("3", "waste", &d), 0);
	assert_true(d == 3);
	assert_int_equal(kmt_parse_decimal("3%", "waste", &d), -EINVAL);
	assert_string_equal(kmt_err_text(), "waste must be a number such as 12.5, not '3%'");
	assert_int_equal(kmt_parse_decimal("nan", "waste", &d), -EINVAL);
}

static void test_hex_digit(void **state)
{
	const char *digits = "0123456789abcdef", *capitals = "0123456789ABCDEF", *no = "/:@G`g xX";

	for (int i = 0; i < 16; i++) {
		assert_int_equal(kmt_hex_digit(digits[i]), i);
		assert_int_equal(kmt_hex_digit(capitals[i]), i);
	}
	for (; *no; no++)
		assert_int_equal(kmt_hex_digit(*no), -1);
	assert_int_equal(kmt_hex_digit('\0'), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_hex_digit),
		cmocka_unit_test(test_bytes_width),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_parse_duration),
		cmocka_unit_test(test_decimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
