// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/options.h"

struct opts {
	bool follow, realtime;
	const char *from;
	uint64_t limit, ring, window, any;
	int format;
	struct kmt_strlist filters;
};

static const char *const formats[] = { "text", "json", "csv", NULL };

#define ROW(name_, short_, type_, field, arg_, help_, ...) { \
	.name = name_, .short_name = short_, .type = KMT_OPT_##type_, \
	.offset = offsetof(struct opts, field), .arg = arg_, .help = help_, __VA_ARGS__ \
}

static const struct kmt_option common[] = {
	ROW("follow", 'f', FLAG, follow, NULL, "children too"),
	ROW("no-realtime", 0, FLAG_OFF, realtime, NULL,
	    "read at normal priority, at the risk of losing events when all processors are busy"),
	ROW("for", 0, DURATION, window, "TIME", "how long to look",
	    .min = 100000000, .max = 86400000000000),
	ROW("ring", 0, SIZE, ring, "SIZE", "ring per processor", .min = 65536, .max = 268435456),
	ROW("filter", 'F', LIST, filters, "EXPR", "only these events"),
	{ 0 }
};

static const struct kmt_option own[] = {
	ROW("limit", 'n', U64, limit, "N", "rows to show", .max = 1000000),
	ROW("any", 0, U64, any, "N", "any number"),
	ROW("format", 0, CHOICE, format, "NAME", "output format", .choices = formats),
	ROW("from", 0, STRING, from, NULL, "read a file"),
	{ 0 }
};

static const struct kmt_option *const tables[] = { common, own, NULL };

static int next;
static bool help;

#define PARSE(o, ...) ({ \
	char *argv_[] = { (char *)"stat", __VA_ARGS__ __VA_OPT__(,) NULL }; \
	next = -1; \
	kmt_options_parse(tables, o, sizeof(argv_) / sizeof(argv_[0]) - 1, argv_, &next, &help); \
})

#define A(s) ((char *)(s))

static void test_all_types(void **state)
{
	struct opts o = { .realtime = true };

	assert_int_equal(PARSE(&o, A("--follow"), A("--no-realtime"), A("--for=1.5s"), A("--ring"),
			       A("1M"), A("-Fa=b"), A("--filter"), A("-c"), A("-n"), A("7"),
			       A("--format=csv"), A("--from="), A("--any=18446744073709551615")),
				0);
	assert_int_equal(next, 14);	/* 13 words after the name */
	assert_false(help);
	assert_true(o.follow);
	assert_false(o.realtime);
	assert_true(o.window == 1500000000);
	assert_true(o.ring == 1048576);
	assert_true(o.any == UINT64_MAX);
	assert_true(o.limit == 7);
	assert_int_equal(o.format, 2);
	assert_string_equal(o.from, "");
	assert_int_equal(o.filters.n, 2);
	assert_string_equal(o.filters.v[0], "a=b");
	assert_string_equal(o.filters.v[1], "-c");
	kmt_strlist_done(&o.filters);
	assert_int_equal(o.filters.n, 0);
	kmt_strlist_done(NULL);
}

/* The traced command's options are its own. */
static void test_stops(void **state)
{
	struct opts o = { 0 };

	assert_int_equal(PARSE(&o), 0);
	assert_int_equal(next, 1);
	assert_int_equal(PARSE(&o, A("-n"), A("5"), A("ls"), A("-n"), A("9")), 0);
	assert_int_equal(next, 3);
	assert_true(o.limit == 5);
	assert_int_equal(PARSE(&o, A("-f"), A("--"), A("-n"), A("9")), 0);
	assert_int_equal(next, 3);
	assert_true(o.limit == 5);
	assert_int_equal(PARSE(&o, A("-"), A("-n"), A("9")), 0);
	assert_int_equal(next, 1);
}

static void test_help_seen(void **state)
{
	struct opts o = { 0 };

	assert_int_equal(PARSE(&o, A("-h"), A("--nonsense")), 0);
	assert_true(help);
	assert_int_equal(PARSE(&o, A("-f"), A("--help")), 0);
	assert_true(help);
	assert_int_equal(PARSE(&o, A("-f")), 0);	/* starts afresh */
	assert_false(help);
}

static void assert_refused(int err, int want, const char *text)
{
	assert_int_equal(err, want);
	assert_string_equal(kmt_err_text(), text);
	assert_int_equal(next, -1);
}

static void test_errors(void **state)
{
	struct opts o = { .limit = 20 };

	assert_refused(PARSE(&o, A("--limit=x")), -EINVAL,
		       "stat: --limit must be 0 to 1000000, not 'x'");
	assert_refused(PARSE(&o, A("-n"), A("1000001")), -ERANGE,
		       "stat: --limit must be 0 to 1000000, not '1000001'");
	assert_refused(PARSE(&o, A("--ring=1")), -ERANGE,
		       "stat: --ring must be 64K to 256M, not '1'");
	assert_refused(PARSE(&o, A("--for=0")), -ERANGE,
		       "stat: --for must be 100ms to 1d, not '0'");
	assert_refused(PARSE(&o, A("--any=-1")), -EINVAL,
		       "stat: --any must be a whole number, not '-1'");
	assert_refused(PARSE(&o, A("--format=xml\n")), -EINVAL,
		       "stat: --format must be text, json or csv, not 'xml\\x0a'");
	assert_refused(PARSE(&o, A("--format=")), -EINVAL,
		       "stat: --format must be text, json or csv, not ''");
	assert_refused(PARSE(&o, A("--nonsense=1")), -EINVAL, "stat: unknown option '--nonsense'");
	assert_refused(PARSE(&o, A("--bad\x1b[2J")), -EINVAL,
		       "stat: unknown option '--bad\\x1b[2J'");
	assert_refused(PARSE(&o, A("-fz")), -EINVAL, "stat: unknown option '-z'");
	assert_refused(PARSE(&o, A("-\xff")), -EINVAL, "stat: unknown option '-\\xff'");
	assert_refused(PARSE(&o, A("--fo")), -EINVAL, "stat: option '--fo' is ambiguous");
	assert_refused(PARSE(&o, A("--follow=yes")), -EINVAL, "stat: --follow takes no argument");
	assert_refused(PARSE(&o, A("--help=me")), -EINVAL, "stat: --help takes no argument");
	assert_refused(PARSE(&o, A("--limit")), -EINVAL, "stat: --limit needs an argument: N");
	assert_refused(PARSE(&o, A("-n")), -EINVAL, "stat: --limit needs an argument: N");
	assert_refused(PARSE(&o, A("--from")), -EINVAL, "stat: --from needs an argument: VALUE");
	assert_true(o.limit == 20);
	kmt_strlist_done(&o.filters);
}

static void test_help_text(void **state)
{
	struct kmt_buf b = { 0 };

	kmt_options_help(tables, &b);
	assert_string_equal(kmt_buf_str(&b),
		"  -f, --follow       children too\n"
		"      --no-realtime  read at normal priority, at the risk of losing events when\n"
		"                     all processors are busy\n"
		"      --for=TIME     how long to look\n"
		"      --ring=SIZE    ring per processor\n"
		"  -F, --filter=EXPR  only these events\n"
		"  -n, --limit=N      rows to show\n"
		"      --any=N        any number\n"
		"      --format=NAME  output format: text, json or csv\n"
		"      --from=VALUE   read a file\n"
		"  -h, --help         show this help\n");
	kmt_buf_done(&b);
}

/* Two tables of one command both want -f: the first has it, the other keeps its long name. */
static void test_shadowed_short(void **state)
{
	static const struct kmt_option front[] = {
		ROW("from", 'f', STRING, from, "FILE", "where from"),
		{ 0 }
	};
	const struct kmt_option *const both[] = { front, common, NULL };
	char *argv[] = { A("record"), A("-f"), A("a.kmt"), A("--follow"), NULL };
	struct opts o = { 0 };
	struct kmt_buf b = { 0 };

	assert_int_equal(kmt_options_parse(both, &o, 4, argv, &next, &help), 0);
	assert_string_equal(o.from, "a.kmt");
	assert_true(o.follow);
	kmt_options_help(both, &b);
	assert_non_null(strstr(kmt_buf_str(&b), "  -f, --from=FILE "));
	assert_non_null(strstr(kmt_buf_str(&b), "      --follow "));
	assert_null(strstr(kmt_buf_str(&b), "-f, --follow"));
	kmt_buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shadowed_short),
		cmocka_unit_test(test_all_types),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_help_seen),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_help_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
