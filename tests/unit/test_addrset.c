// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "source/addrset.h"

static void test_empty(void **state)
{
	struct kmt_addrset s;

	kmt_addrset_init(&s, 10);
	assert_false(kmt_addrset_has(&s, 1));
	assert_false(kmt_addrset_del(&s, 1));
	assert_int_equal(kmt_addrset_bytes(&s), 0);
	kmt_addrset_done(&s);
}

static void test_zero_is_never_in(void **state)
{
	struct kmt_addrset s;

	kmt_addrset_init(&s, 10);
	assert_int_equal(kmt_addrset_add(&s, 5), 1);
	assert_false(kmt_addrset_has(&s, 0));
	assert_false(kmt_addrset_del(&s, 0));
	assert_int_equal(s.n, 1);
	kmt_addrset_done(&s);
}

static void test_full(void **state)
{
	struct kmt_addrset s;

	kmt_addrset_init(&s, 3);
	for (uint64_t v = 1; v <= 3; v++)
		assert_int_equal(kmt_addrset_add(&s, v), 1);
	assert_int_equal(kmt_addrset_add(&s, 4), -ENOSPC);
	assert_int_equal(kmt_addrset_add(&s, 3), 0);
	assert_true(kmt_addrset_del(&s, 1));
	assert_int_equal(kmt_addrset_add(&s, 4), 1);
	assert_false(kmt_addrset_has(&s, 1));
	kmt_addrset_done(&s);
}

/* Random adds and removals of few values against an array of flags. */
static void test_model(void **state)
{
	enum { VALUES = 5000, STEPS = 400000 };
	bool *model = calloc(VALUES, sizeof(*model));
	struct kmt_addrset s;
	uint32_t seed = 12345;
	size_t n = 0;

	assert_non_null(model);
	kmt_addrset_init(&s, VALUES);
	for (int i = 0; i < STEPS; i++) {
		seed = seed * 1664525 + 1013904223;
		size_t at = (seed >> 8) % VALUES;
		/* object-like addresses: 64 bytes apart */
		uint64_t v = 0xffff888100000000ULL + at * 64;

		if (seed >> 31) {
			assert_int_equal(kmt_addrset_add(&s, v), !model[at]);
			n += !model[at];
			model[at] = true;
		} else {
			assert_int_equal(kmt_addrset_del(&s, v), model[at]);
			n -= model[at];
			model[at] = false;
		}
		assert_int_equal(s.n, n);
	}
	for (size_t at = 0; at < VALUES; at++)
		assert_int_equal(kmt_addrset_has(&s, 0xffff888100000000ULL + at * 64), model[at]);
	kmt_addrset_done(&s);
	free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_zero_is_never_in),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
