// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "base/buf.h"
#include "base/err.h"

static void test_empty(void **state)
{
	struct kmt_buf b = { 0 };
	char *s;

	assert_string_equal(kmt_buf_str(&b), "");
	s = kmt_buf_take(&b);
	assert_string_equal(s, "");
	free(s);
	kmt_buf_done(&b);
	kmt_buf_done(NULL);
}

static void test_append(void **state)
{
	struct kmt_buf b = { 0 };
	char *s;

	kmt_buf_puts(&b, "one ");
	kmt_buf_add(&b, "two three", 3);
	kmt_buf_printf(&b, " %d%c", 3, '!');
	assert_string_equal(kmt_buf_str(&b), "one two 3!");
	assert_int_equal(b.len, 10);
	s = kmt_buf_take(&b);
	assert_string_equal(s, "one two 3!");
	free(s);
	assert_null(b.data);
	kmt_buf_puts(&b, "again");
	kmt_buf_clear(&b);
	assert_string_equal(kmt_buf_str(&b), "");
	assert_non_null(b.data);
	kmt_buf_done(&b);
}

/* Lengths around each doubling, by both ways of appending. */
static void test_growth(void **state)
{
	char text[300];

	for (size_t n = 0; n < sizeof(text); n++) {
		struct kmt_buf b = { 0 };

		memset(text, 'x', n);
		text[n] = '\0';
		kmt_buf_printf(&b, "%s", text);
		assert_string_equal(kmt_buf_str(&b), text);
		kmt_buf_printf(&b, "%s", text);
		kmt_buf_puts(&b, text);
		assert_int_equal(b.len, 3 * n);
		assert_int_equal(strlen(kmt_buf_str(&b)), 3 * n);
		kmt_buf_done(&b);
	}
}

static void test_error_sticks(void **state)
{
	struct kmt_buf b = { 0 };

	kmt_buf_puts(&b, "before");
	kmt_buf_add(&b, "", SIZE_MAX - 2);	/* asks for more than there can be */
	assert_int_equal(b.error, -ENOMEM);
	kmt_buf_puts(&b, "after");
	kmt_buf_printf(&b, "%d", 1);
	kmt_buf_escape(&b, "x", 1);
	assert_string_equal(kmt_buf_str(&b), "before");
	assert_null(kmt_buf_take(&b));
	assert_int_equal(b.error, 0);		/* emptied */
}

static void test_escape(void **state)
{
	struct kmt_buf b = { 0 };

	kmt_buf_escape(&b, "a\x1b[2J\n\t\x7f\\\xc3\xa9~ \"',", SIZE_MAX);
	assert_string_equal(kmt_buf_str(&b),
			    "a\\x1b[2J\\x0a\\x09\\x7f\\x5c\\xc3\\xa9~ \"',");
	kmt_buf_clear(&b);
	kmt_buf_escape(&b, "abcdef", 3);	/* a field without NUL */
	kmt_buf_escape(&b, "x\0y", 3);		/* ends at the NUL */
	kmt_buf_escape(&b, "", SIZE_MAX);
	assert_string_equal(kmt_buf_str(&b), "abcx");
	kmt_buf_done(&b);
}

/* Every byte: what comes out is printable ASCII and says which byte it was. */
static void test_escape_all_bytes(void **state)
{
	for (int c = 1; c < 256; c++) {
		struct kmt_buf b = { 0 };
		char in = c, want[5];

		if (c >= 0x20 && c <= 0x7e && c != '\\')
			snprintf(want, sizeof(want), "%c", c);
		else
			snprintf(want, sizeof(want), "\\x%02x", c);
		kmt_buf_escape(&b, &in, 1);
		assert_string_equal(kmt_buf_str(&b), want);
		kmt_buf_done(&b);
	}
}

static void test_wrap(void **state)
{
	struct kmt_buf b = { 0 };

	kmt_buf_puts(&b, "> ");
	kmt_buf_wrap(&b, "aaa bbb  ccc", 2, 1, 9);	/* "> aaa bbb" is 9 wide */
	assert_string_equal(kmt_buf_str(&b), "> aaa bbb\n ccc");
	kmt_buf_clear(&b);
	kmt_buf_wrap(&b, "longerthanthat a", 0, 2, 6);	/* a word is never broken */
	assert_string_equal(kmt_buf_str(&b), "longerthanthat\n  a");
	kmt_buf_clear(&b);
	kmt_buf_wrap(&b, "   ", 0, 2, 6);
	assert_string_equal(kmt_buf_str(&b), "");
	kmt_buf_done(&b);
}

static void test_err(void **state)
{
	char longer[3000];

	assert_int_equal(kmt_err(-EINVAL, "section %d is bad", 7), -EINVAL);
	assert_string_equal(kmt_err_text(), "section 7 is bad");
	assert_int_equal(kmt_err_prefix(-EINVAL, "cannot read '%s': ", "f"), -EINVAL);
	assert_string_equal(kmt_err_text(), "cannot read 'f': section 7 is bad");
	assert_int_equal(kmt_err_errno(-ENOENT, "cannot open '%s'", "f"), -ENOENT);
	assert_string_equal(kmt_err_text(), "cannot open 'f': No such file or directory");
	kmt_err(-EIO, "<%s>", kmt_err_text());	/* the slot as its own argument */
	assert_string_equal(kmt_err_text(), "<cannot open 'f': No such file or directory>");
	kmt_err(-EIO, "two\nlines\x1b");
	assert_string_equal(kmt_err_text(), "two?lines?");
	memset(longer, 'y', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	kmt_err_errno(-EIO, "%s", longer);
	kmt_err_prefix(-EIO, "%s", longer);
	assert_true(strlen(kmt_err_text()) < 2000);
	kmt_err(0, "%s", "");
	assert_string_equal(kmt_err_text(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_error_sticks),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_escape_all_bytes),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_err),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
