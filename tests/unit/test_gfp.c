// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "symbol/gfp.h"
#include "symbol/gfp_table.h"

static void assert_gfp(const struct kmt_gfp_names *g, uint64_t gfp, const char *want)
{
	struct kmt_buf b = { 0 };

	kmt_gfp_print(g, gfp, &b);
	assert_string_equal(kmt_buf_str(&b), want);
	kmt_buf_done(&b);
}

static void no_names(void **state)
{
	assert_gfp(NULL, 0xd0, "0xd0");
	assert_gfp(NULL, 0, "0x0");
	assert_int_equal(kmt_gfp_mask(NULL, "__GFP_IO"), 0);
	kmt_gfp_names_free(NULL);
}

/* Values of include/linux/gfp.h in 2.6.28 to 2.6.35. */
static void names_of_2008(void **state)
{
	struct kmt_gfp_names *g;

	assert_int_equal(kmt_gfp_names_2008(&g), 0);
	assert_gfp(g, 0xd0, "GFP_KERNEL");
	assert_gfp(g, 0x80d0, "GFP_KERNEL|__GFP_ZERO");
	assert_gfp(g, 0x20, "GFP_ATOMIC");
	assert_gfp(g, 0x10, "GFP_NOIO");
	assert_gfp(g, 0x50, "GFP_NOFS");
	assert_gfp(g, 0, "GFP_NOWAIT");
	assert_gfp(g, 0x200d2, "GFP_HIGHUSER");
	assert_gfp(g, 0x1200d2, "GFP_HIGHUSER_MOVABLE");	/* 2.6.28 */
	assert_gfp(g, 0x200da, "GFP_HIGHUSER_MOVABLE");		/* 2.6.35 */
	assert_gfp(g, 0x11200, "__GFP_NOWARN|__GFP_NORETRY|__GFP_NOMEMALLOC");
	assert_gfp(g, 0x400000d0, "GFP_KERNEL|0x40000000");
	assert_gfp(g, 0x100000000, "0x100000000");
	assert_int_equal(kmt_gfp_mask(g, "__GFP_ZERO"), 0x8000);
	assert_int_equal(kmt_gfp_mask(g, "__GFP_ACCOUNT"), 0);
	kmt_gfp_names_free(g);
}

/* The spelling of 5.10 (hex bits, casts), and of 6.18 (shifts), shortened. */
static void format_lists(void **state)
{
	static const char v5[] =
		"print fmt: \"x\", (REC->gfp_flags) ? __print_flags(REC->gfp_flags, \"|\", "
		"{(unsigned long)(((((( gfp_t)(0x400u|0x800u)) | (( gfp_t)0x40u) | "
		"(( gfp_t)0x80u) | (( gfp_t)0x100000u)) | (( gfp_t)0x02u)) | (( gfp_t)0x08u)) "
		"& ~(( gfp_t)(0x400u|0x800u))), \"GFP_X_LIGHT\"}, "
		"{(unsigned long)(((gfp_t)(0x400u|0x800u)) | ((gfp_t)0x40u) | ((gfp_t)0x80u)), "
		"\"GFP_KERNEL\"}, {(unsigned long)((gfp_t)0x100u), \"__GFP_ZERO\"}, "
		"{(unsigned long)((gfp_t)0), \"__GFP_GONE\"} ) : \"none\"";
	static const char v6[] =
		"__print_flags(REC->gfp_flags, \"|\", {( unsigned long)(( gfp_t)(((((1UL))) << "
		"(10))|((((1UL))) << (11)))), \"__GFP_RECLAIM\"}, {( unsigned long)(( gfp_t)"
		"((((1UL))) << (8))), \"__GFP_ZERO\"}, { 0, ((void *)0) } ) : \"none\"";
	struct kmt_gfp_names *g;

	assert_int_equal(kmt_gfp_names_from_format(v5, sizeof(v5) - 1, &g), 0);
	assert_int_equal(kmt_gfp_mask(g, "GFP_X_LIGHT"), 0x1000ca);
	assert_gfp(g, 0xdc0, "GFP_KERNEL|__GFP_ZERO");
	assert_gfp(g, 0, "none");
	assert_int_equal(kmt_gfp_mask(g, "__GFP_GONE"), 0);
	kmt_gfp_names_free(g);
	assert_int_equal(kmt_gfp_names_from_format(v6, sizeof(v6) - 1, &g), 0);
	assert_gfp(g, 0xd00, "__GFP_RECLAIM|__GFP_ZERO");
	kmt_gfp_names_free(g);
}

static void format_faults(void **state)
{
#define LEAD "__print_flags(REC->gfp_flags, \"|\", "
	static const char *const bad[] = {
		LEAD "{0x, \"A\"}",		LEAD "{(1, \"A\"}",
		LEAD "{1 << 64, \"A\"}",	LEAD "{99999999999999999999, \"A\"}",
		LEAD "{1, \"A",			LEAD "{1, \"\"}",
		LEAD "{1 \"A\"}",		LEAD "{foo, \"A\"}",
		LEAD "{1, \"A_name_that_is_longer_than_any_name_of_a_gfp_bit\"}",
		LEAD,				"print fmt: nothing",
		"",
	};
	char deep[2000] = LEAD "{";
	struct kmt_gfp_names *g = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(kmt_gfp_names_from_format(bad[i], strlen(bad[i]), &g) < 0);
	memset(deep + strlen(deep), '(', sizeof(deep) - 1 - strlen(deep));
	assert_int_equal(kmt_gfp_names_from_format(deep, strlen(deep), &g), -EINVAL);
	assert_null(g);
}

/* The rules for composites, with the bits of Linux 6.1 (which had __GFP_ATOMIC). */
static void composites(void **state)
{
	static const struct {
		uint64_t mask;
		const char *name;
	} bits[] = {
		{ 0x20, "__GFP_HIGH" }, { 0x40, "__GFP_IO" }, { 0x80, "__GFP_FS" },
		{ 0x200, "__GFP_ATOMIC" }, { 0x400, "__GFP_DIRECT_RECLAIM" },
		{ 0x800, "__GFP_KSWAPD_RECLAIM" }, { 0x400000, "__GFP_ACCOUNT" },
	};
	struct kmt_gfp_names *g = kmt_gfp_names_new("none");

	assert_non_null(g);
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		assert_int_equal(kmt_gfp_names_add(g, bits[i].mask, bits[i].name,
						   strlen(bits[i].name)), 0);
	assert_int_equal(kmt_gfp_names_compose(g), 0);
	assert_gfp(g, 0xcc0, "GFP_KERNEL");
	assert_gfp(g, 0x400cc0, "GFP_KERNEL_ACCOUNT");
	assert_gfp(g, 0xc40, "GFP_NOFS");
	assert_gfp(g, 0xc00, "GFP_NOIO");
	assert_gfp(g, 0xa20, "GFP_ATOMIC");
	assert_gfp(g, 0x820, "__GFP_HIGH|__GFP_KSWAPD_RECLAIM");
	/* no HARDWALL here: nothing that is made of it */
	assert_int_equal(kmt_gfp_mask(g, "GFP_USER"), 0);
	assert_int_equal(kmt_gfp_mask(g, "GFP_KERNEL"), 0xcc0);
	kmt_gfp_names_free(g);
}

/*
 * The running kernel's enum against the lists its tracepoints print with
 * (another way into the same kernel: text it made itself), where both exist.
 */
static void btf_against_format(void **state)
{
	static char text[32768];
	struct kmt_gfp_names *btf, *fmt;
	struct btf *types = NULL;
	FILE *f;
	int err = kmt_kernel_btf_load(&types);

	if (!err)
		err = kmt_gfp_names_from_btf(types, &btf);
	kmt_kernel_btf_free(types);
	if (err)
		skip();		/* no BTF, or bits that are #defines */
	assert_int_equal(kmt_gfp_mask(btf, "__GFP_DMA"), 1);
	assert_int_equal(kmt_gfp_mask(btf, "GFP_KERNEL"),
			 kmt_gfp_mask(btf, "__GFP_RECLAIM") | kmt_gfp_mask(btf, "__GFP_IO") |
			 kmt_gfp_mask(btf, "__GFP_FS"));
	f = fopen("/sys/kernel/tracing/events/kmem/kmalloc/format", "r");
	if (f) {
		assert_int_equal(kmt_gfp_names_from_format(text, fread(text, 1, sizeof(text), f),
							   &fmt), 0);
		fclose(f);
		assert_int_equal(btf->n, fmt->n);
		for (size_t i = 0; i < fmt->n; i++) {
			assert_string_equal(btf->v[i].name, fmt->v[i].name);
			assert_int_equal(btf->v[i].mask, fmt->v[i].mask);
		}
		kmt_gfp_names_free(fmt);
	}
	kmt_gfp_names_free(btf);
}

static void stored(void **state)
{
	static const char list[] = "0x0 none\n0xcc0 GFP_KERNEL\n0x80 __GFP_FS\n";
	struct kmt_gfp_names *g;
	struct kmt_buf b = { 0 };

	assert_int_equal(kmt_gfp_names_parse(list, strlen(list), &g), 0);
	assert_gfp(g, 0xcc0, "GFP_KERNEL");
	assert_gfp(g, 0x180, "__GFP_FS|0x100");
	assert_gfp(g, 0, "none");
	kmt_gfp_names_store(g, &b);
	assert_string_equal(kmt_buf_str(&b), list);
	kmt_buf_done(&b);
	kmt_gfp_names_free(g);
	/* another name for nothing, and no newline at the end */
	assert_int_equal(kmt_gfp_names_parse("0x0 GFP_NOWAIT\n0x1 X", 20, &g), 0);
	assert_gfp(g, 0, "GFP_NOWAIT");
	kmt_gfp_names_free(g);
}

static void stored_faults(void **state)
{
	static const char *const bad[] = {
		"", "0x0 none\n", "0x1\n", "1 X\n", "0x X\n", "0x1g X\n", "0x1  \n",
		"0x1 a b\n", "0x1 X\n\n",
		"0x1 a_name_that_is_longer_than_any_that_a_kernel_has\n",
	};
	struct kmt_gfp_names *g;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kmt_gfp_names_parse(bad[i], strlen(bad[i]), &g), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_names),
		cmocka_unit_test(names_of_2008),
		cmocka_unit_test(format_lists),
		cmocka_unit_test(format_faults),
		cmocka_unit_test(composites),
		cmocka_unit_test(btf_against_format),
		cmocka_unit_test(stored),
		cmocka_unit_test(stored_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
