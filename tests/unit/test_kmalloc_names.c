// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kmt/wire.h"
#include "source/kmalloc_names.h"
#include "unit/slabs.h"

static void test_family_of_name(void **state)
{
	static const struct { const char *name; int family; } want[] = {
		{ "kmalloc-8", KMT_GFP_NORMAL }, { "kmalloc-192", KMT_GFP_NORMAL },
		{ "kmalloc-8k", KMT_GFP_NORMAL }, { "kmalloc-cg-1k", KMT_GFP_CGROUP },
		{ "kmalloc-rcl-96", KMT_GFP_RECLAIM }, { "dma-kmalloc-512", KMT_GFP_DMA },
		{ "kmalloc-rnd-05-64", -1 }, { "kmalloc-", -1 }, { "kmalloc-cg-", -1 },
		{ "kmalloc-large", -1 }, { "kmalloc", -1 }, { "dentry", -1 }, { "", -1 },
		{ "my-kmalloc-8", -1 }, { "kmalloc-0", -1 },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_int_equal(kmt_kmalloc_family(want[i].name), want[i].family);
}

/* The kernel's order where several bits are set: DMA, reclaimable, accounted. */
static void test_family_of_gfp(void **state)
{
	const struct kmt_kmalloc_gfp g = { .account = 0x400000, .reclaimable = 0x10, .dma = 0x1 };
	const struct kmt_kmalloc_gfp none = { 0 };

	assert_int_equal(kmt_kmalloc_gfp_family(&g, 0xcc0), KMT_GFP_NORMAL);
	assert_int_equal(kmt_kmalloc_gfp_family(&g, 0x400cc0), KMT_GFP_CGROUP);
	assert_int_equal(kmt_kmalloc_gfp_family(&g, 0x400cd0), KMT_GFP_RECLAIM);
	assert_int_equal(kmt_kmalloc_gfp_family(&g, 0xcd0), KMT_GFP_RECLAIM);
	assert_int_equal(kmt_kmalloc_gfp_family(&g, 0x400cd1), KMT_GFP_DMA);
	assert_int_equal(kmt_kmalloc_gfp_family(&none, UINT64_MAX), KMT_GFP_NORMAL);
}

static void expect(const struct kmt_kmalloc_names *k, uint64_t size, unsigned family,
		   const char *want)
{
	const char *name = kmt_kmalloc_name(k, size, family);

	if (want)
		assert_string_equal(name, want);
	else
		assert_null(name);
}

static void test_names(void **state)
{
	static const struct slab_row rows[] = {
		{ "dentry", 192, NULL }, { "kmalloc-rnd-01-64", 64, NULL },
		{ "kmalloc-cg-64", 64, NULL }, { "kmalloc-64", 64, NULL },
		{ "kmalloc-rcl-64", 64, NULL }, { "kmalloc-1k", 1024, NULL },
		{ "kmalloc-cg-2k", 2048, NULL }, { "dma-kmalloc-32", 32, NULL },
	};
	struct kmt_slabs *s = slabs_of(rows, sizeof(rows) / sizeof(rows[0]));
	struct kmt_kmalloc_names *k;

	assert_non_null(s);
	assert_int_equal(kmt_kmalloc_names_new(s, &k), 0);
	kmt_slabs_free(s);	/* names are its own */
	expect(k, 64, KMT_GFP_NORMAL, "kmalloc-64");
	expect(k, 64, KMT_GFP_CGROUP, "kmalloc-cg-64");
	expect(k, 64, KMT_GFP_RECLAIM, "kmalloc-rcl-64");
	expect(k, 64, KMT_GFP_DMA, "kmalloc-64");	/* no such cache: the plain one */
	expect(k, 1024, KMT_GFP_CGROUP, "kmalloc-1k");
	expect(k, 2048, KMT_GFP_CGROUP, "kmalloc-cg-2k");
	expect(k, 2048, KMT_GFP_NORMAL, NULL);
	expect(k, 32, KMT_GFP_DMA, "dma-kmalloc-32");
	expect(k, 192, KMT_GFP_NORMAL, NULL);		/* dentry is no kmalloc cache */
	expect(k, 4096, KMT_GFP_NORMAL, "kmalloc-large");
	expect(k, 0, KMT_GFP_NORMAL, NULL);
	kmt_kmalloc_names_free(k);
}

/* Nothing is known of the kernel: the sizes all kernels have. */
static void test_usual_names(void **state)
{
	static const struct slab_row no_kmalloc[] = { { "dentry", 192, NULL } };
	struct kmt_slabs *s = slabs_of(no_kmalloc, 1);

	assert_non_null(s);
	for (int i = 0; i < 2; i++) {
		struct kmt_kmalloc_names *k;

		assert_int_equal(kmt_kmalloc_names_new(i ? s : NULL, &k), 0);
		expect(k, 8, KMT_GFP_NORMAL, "kmalloc-8");
		expect(k, 96, KMT_GFP_CGROUP, "kmalloc-96");
		expect(k, 8192, KMT_GFP_NORMAL, "kmalloc-8k");
		expect(k, 16384, KMT_GFP_NORMAL, "kmalloc-large");
		expect(k, 100, KMT_GFP_NORMAL, NULL);
		kmt_kmalloc_names_free(k);
	}
	kmt_slabs_free(s);
	kmt_kmalloc_names_free(NULL);
	assert_null(kmt_kmalloc_name(NULL, 64, KMT_GFP_NORMAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_family_of_name),
		cmocka_unit_test(test_family_of_gfp),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_usual_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
