// SPDX-License-Identifier: GPL-2.0-only
/* The kernel side's site and cache tables and its globs, compiled for user space. */
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/bpf_shim.h"

static uint32_t rnd(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Tables as for a small machine: 'sites' rows, 2048 caches. */
static void tables_new(uint32_t sites, struct kmt_bpf *ret)
{
	struct kmt_bpf_machine m = {
		.ram_bytes = 8ull << 30, .possible_cpus = 4, .online_cpus = 4, .page_size = 4096,
		.hashed = SHIM_HASHED,
	};
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .sites = sites, .objects = 1000 };
	struct kmt_bpf_plan p;

	assert_int_equal(kmt_bpf_make_plan(&o, &m, &p), 0);
	assert_int_equal(shim_tables(&p, ret), 0);
}

static int teardown(void **state)
{
	shim_done();
	return 0;
}

/* ---- fingerprints ---- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Call sites, caches and kmalloc sizes as kernels have them: no two get one fingerprint. */
static void test_mix_is_unique(void **state)
{
	enum { WHO = 2000, WHAT = 300 };
	uint64_t *key = calloc(WHO * WHAT, sizeof(*key));
	size_t n = 0;

	assert_non_null(key);
	for (uint64_t who = 0; who < WHO; who++)
		for (uint64_t what = 0; what < WHAT; what++) {
			uint64_t w = what < 100 ? 0xffff888100000000 + what * 256 :
				     what < 200 ? (what - 99) * 8 << 8 | 1 : what - 200;

			/* addresses, then stack rows and process ids */
			key[n++] = kmt_mix(who < 1500 ? 0xffffffff81000000 + who * 13 : who, w);
		}
	qsort(key, n, sizeof(*key), by_value);
	for (size_t i = 0; i < n; i++) {
		assert_true(key[i] != 0);
		assert_true(!i || key[i] != key[i - 1]);
	}
	free(key);
}

/* ---- the cache of an object, from its page ---- */

/* Four pages of memory at the direct mapping's start; page 3 is the tail of page 2. */
static void test_page_cache(void **state)
{
	struct kmem_cache small = { .size = 64, .object_size = 64 };
	struct kmem_cache large = { .size = 2048, .object_size = 2000 };
	struct kmem_cache no_cache = { .size = 64, .object_size = 65 };
	struct page pages[4] = {
		{ .slab_cache = &small },
		{ .slab_cache = NULL },
		{ .slab_cache = &large },
		{ .compound_head = (uintptr_t)&pages[2] + 1 },
	};
	const uint64_t linear = 0xffff888000000000;

	kmt_linear = linear;
	kmt_vmemmap = (uintptr_t)pages;
	kmt_page_struct = sizeof(pages[0]);
	kmt_page_shift = 12;
	assert_int_equal(kmt_page_cache(linear + 64, 64), (uintptr_t)&small);
	assert_int_equal(kmt_page_cache(linear + 4095, 64), (uintptr_t)&small);
	assert_int_equal(kmt_page_cache(linear + 2 * 4096 + 2048, 2048), (uintptr_t)&large);
	assert_int_equal(kmt_page_cache(linear + 3 * 4096 + 2048, 2048), (uintptr_t)&large);
	/* of a free the size is not known: what is found must look like a cache */
	assert_int_equal(kmt_page_cache(linear + 64, 0), (uintptr_t)&small);
	assert_int_equal(kmt_page_cache(linear + 3 * 4096, 0), (uintptr_t)&large);
	pages[0].slab_cache = &no_cache;
	assert_int_equal(kmt_page_cache(linear + 64, 0), 0);
	pages[0].slab_cache = &small;
	/* not of that size, so the page is no slab's; before the mapping; not known where it is */
	assert_int_equal(kmt_page_cache(linear + 3 * 4096, 4096), 0);
	assert_int_equal(kmt_page_cache(linear - 1, 64), 0);
	kmt_vmemmap = 0;
	assert_int_equal(kmt_page_cache(linear + 64, 64), 0);
	kmt_linear = 0;
}

/* ---- the site table ---- */

static void test_probe_against_set(void **state)
{
	enum { KEYS = 3000 };
	uint32_t at[KEYS];
	size_t n_new = 0, n_none = 0;
	uint32_t seed = 77;
	struct kmt_bpf b;

	tables_new(1024, &b);
	memset(at, 0xff, sizeof(at));
	for (size_t i = 0; i < 200000; i++) {
		uint32_t k = rnd(&seed) % KEYS, got;
		uint64_t key = kmt_mix(0xffffffff81000000 + k * 16, k % 7);

		got = kmt_site_probe(key);
		if (got == KMT_NO_SITE) {
			/* once full for it, full for ever: rows are never given up */
			assert_int_equal(at[k], UINT32_MAX);
			n_none++;
			continue;
		}
		if (got & KMT_NEW_SITE) {
			assert_int_equal(at[k], UINT32_MAX);
			at[k] = got & ~KMT_NEW_SITE;
			n_new++;
		}
		assert_int_equal(got & ~KMT_NEW_SITE, at[k]);
		assert_true(at[k] < 1024);
		assert_int_equal(b.sites[at[k]].id.key, key);
	}
	assert_true(n_none > 0 && n_new <= 1024);
	/* three keys for each row: nearly all rows must be in use */
	assert_true(n_new > 1000);
}

/* 16384 rows, 10000 call sites: each finds a row, although it tries only 16. */
static void test_probe_finds_room(void **state)
{
	struct kmt_bpf b;

	tables_new(16384, &b);
	for (uint64_t i = 0; i < 10000; i++) {
		uint32_t got = kmt_site_probe(kmt_mix(0xffffffff81000000 + i * 48, 0xffff8881000 + i % 150));

		assert_int_not_equal(got, KMT_NO_SITE);
		assert_true(got & KMT_NEW_SITE);
	}
}

enum { THREADS = 4, SHARED_KEYS = 700 };

struct prober {
	pthread_t thread;
	uint32_t got[SHARED_KEYS];
	bool is_new[SHARED_KEYS];
};

static void *probe_all(void *arg)
{
	struct prober *p = arg;

	for (uint32_t k = 0; k < SHARED_KEYS; k++) {
		uint32_t got = kmt_site_probe(kmt_mix(k, 1));

		p->got[k] = got == KMT_NO_SITE ? got : got & ~KMT_NEW_SITE;
		p->is_new[k] = got != KMT_NO_SITE && (got & KMT_NEW_SITE);
	}
	return NULL;
}

/* All CPUs meet the same call sites at once: each is claimed by one of them only. */
static void test_probe_threads(void **state)
{
	struct prober p[THREADS];

	for (int round = 0; round < 50; round++) {
		struct kmt_bpf b;

		tables_new(1024, &b);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&p[i].thread, NULL, probe_all, &p[i]), 0);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_join(p[i].thread, NULL), 0);
		for (uint32_t k = 0; k < SHARED_KEYS; k++) {
			int n_new = 0;

			for (int i = 0; i < THREADS; i++) {
				n_new += p[i].is_new[k];
				if (p[i].got[k] != KMT_NO_SITE && p[0].got[k] != KMT_NO_SITE)
					assert_int_equal(p[i].got[k], p[0].got[k]);
			}
			if (p[0].got[k] != KMT_NO_SITE)
				assert_int_equal(n_new, 1);
		}
		shim_done();
	}
}

/* ---- the cache table: both sides find the same row ---- */

static void test_cache_rows(void **state)
{
	enum { CACHES = 300 };
	struct kmem_cache *caches = calloc(CACHES, sizeof(*caches));
	char name[CACHES][80];
	struct kmt_bpf b;

	assert_non_null(caches);
	tables_new(64, &b);
	for (int i = 0; i < CACHES; i++) {
		snprintf(name[i], sizeof(name[i]), "%s-%d", i % 2 ? "cache" :
			 "a_name_that_is_longer_than_the_table_has_room_for_so_it_is_cut", i);
		caches[i] = (struct kmem_cache) {
			.size = 64 + i, .object_size = 60 + i, .name = name[i],
		};
		assert_null(kmt_bpf_cache(&b, (uintptr_t)&caches[i]));
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < CACHES; i++) {
			uint32_t row = kmt_cache_row((uintptr_t)&caches[i]);
			const struct kmt_wire_cache *c = kmt_bpf_cache(&b, (uintptr_t)&caches[i]);

			assert_true(row > 0);
			assert_ptr_equal(c, &b.caches[row - 1]);
			assert_int_equal(c->size, 64 + i);
			assert_int_equal(c->object_size, 60 + i);
			assert_true(strlen(c->name) < KMT_CACHE_NAME_LEN);
			assert_int_equal(strncmp(c->name, name[i], KMT_CACHE_NAME_LEN - 1), 0);
		}
	free(caches);
}

/*
 * Another CPU has claimed the cache's row and is only about to fill it in: the
 * new site's sizes come from the cache all the same, for they are kept for good.
 */
static void test_site_of_half_written_cache(void **state)
{
	struct kmem_cache cache = { .size = 256, .object_size = 192, .name = "filp" };
	struct kmt_alloc a = {
		.call_site = 0xffffffff81000010, .who = 0xffffffff81000010,
		.cache = (uintptr_t)&cache, .type = KMT_WIRE_CACHE, .addr = 0xffff888000001000,
	};
	struct kmt_wire_cache *c;
	struct kmt_site_row row = { 0 };
	struct kmt_bpf b;

	tables_new(64, &b);
	c = (struct kmt_wire_cache *)&b.caches[kmt_cache_row(a.cache) - 1];
	c->state = KMT_SITE_NEW;
	c->size = c->object_size = 0;
	kmt_site_describe(&row, &a);
	assert_int_equal(row.id.bytes_req, 192);
	assert_int_equal(row.id.bytes_alloc, 256);
	assert_int_equal(row.id.state, KMT_SITE_READY);
}

/* The same, and a filter asks for the name. */
static void test_filter_on_half_written_cache(void **state)
{
	struct kmem_cache cache = { .size = 256, .object_size = 192, .name = "filp" };
	struct kmt_alloc a = {
		.call_site = 0xffffffff81000010, .who = 0xffffffff81000010,
		.cache = (uintptr_t)&cache, .type = KMT_WIRE_CACHE, .addr = 0xffff888000001000,
	};
	struct kmt_filter_tables *f = shim_map(&kmt_filters, sizeof(*f), 1);
	struct kmt_wire_cache *c;
	struct kmt_site_row row = { 0 };
	struct kmt_bpf b;

	assert_non_null(f);
	tables_new(64, &b);
	assert_int_equal(kmt_bpf_glob_compile("fi*", &f->cache[0]), 0);
	f->n_cache = 1;
	kmt_flags = KMT_F_FILTER | KMT_F_CACHE | KMT_F_COUNT;
	c = (struct kmt_wire_cache *)&b.caches[kmt_cache_row(a.cache) - 1];
	c->state = KMT_SITE_NEW;
	memset(c->name, 0, sizeof(c->name));
	kmt_site_describe(&row, &a);
	assert_int_equal(row.id.state, KMT_SITE_READY);
	assert_int_equal(kmt_bpf_glob_compile("gi*", &f->cache[0]), 0);
	kmt_site_describe(&row, &a);
	assert_int_equal(row.id.state, KMT_SITE_EXCLUDED);
	kmt_flags = 0;
}

/* ---- globs ---- */

static int matches(const char *glob, const char *text)
{
	char t[KMT_CACHE_NAME_LEN] = { 0 };
	struct kmt_glob g;

	assert_int_equal(kmt_bpf_glob_compile(glob, &g), 0);
	assert_true(strlen(text) < sizeof(t));
	memcpy(t, text, strlen(text));
	return kmt_glob_match(&g, t, sizeof(t));
}

static void random_text(char *out, size_t max, const char *letters, uint32_t *seed)
{
	size_t n = rnd(seed) % (max + 1);

	for (size_t i = 0; i < n; i++)
		out[i] = letters[rnd(seed) % strlen(letters)];
	out[n] = '\0';
}

static void test_globs_against_fnmatch(void **state)
{
	uint32_t seed = 1234567;
	size_t hits = 0;

	for (int i = 0; i < 500000; i++) {
		char glob[KMT_GLOB_LEN + 1], text[KMT_CACHE_NAME_LEN];
		bool want;

		random_text(glob, i % 2 ? 6 : 14, i % 3 ? "ab*?" : "ab-c*", &seed);
		random_text(text, i % 2 ? 8 : 24, "abc-", &seed);
		want = !fnmatch(glob, text, 0);
		hits += want;
		if (matches(glob, text) != want)
			fail_msg("'%s' on '%s'", glob, text);
	}
	assert_true(hits > 10000);
}

static void test_long_globs(void **state)
{
	/* 55 characters, the longest there can be */
	const char *name = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabc";

	assert_true(matches("*", name));
	assert_true(matches("*c", name));
	assert_true(matches("a*z*z*c", name));
	assert_false(matches("a*z*z*z*c", name));
	assert_true(matches("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst*", name));
	assert_true(matches("*ijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabc", name));
	assert_true(matches("???????????????????????????????????????????*", name));
	assert_true(matches("", ""));
	assert_true(matches("*", ""));
	assert_false(matches("?", ""));
	assert_false(matches("", "a"));
}

/* Sets of characters; those that fnmatch() itself calls unfinished are refused. */
static void test_brackets_against_fnmatch(void **state)
{
	uint32_t seed = 31337;
	size_t hits = 0, refused = 0;

	for (int i = 0; i < 500000; i++) {
		char glob[16], text[8], t[KMT_CACHE_NAME_LEN] = { 0 };
		struct kmt_glob g;
		int want;

		random_text(glob, 10, i % 2 ? "ab[]-*" : "abc[]]-!^?\\", &seed);
		random_text(text, 4, "abc-]^!\\", &seed);
		if (glob[0] && glob[strlen(glob) - 1] == '\\')
			continue;	/* refused before it comes so far */
		if (kmt_bpf_glob_compile(glob, &g)) {
			refused++;
			continue;
		}
		want = !fnmatch(glob, text, 0);
		hits += want;
		memcpy(t, text, strlen(text));
		if (kmt_glob_match(&g, t, sizeof(t)) != want)
			fail_msg("'%s' on '%s': %d", glob, text, want);
	}
	assert_true(hits > 5000 && refused > 1000);
}

/* Not many, but long stretches of one letter: where a matcher goes back most often. */
static void test_globs_that_go_back(void **state)
{
	uint32_t seed = 4711;

	for (int i = 0; i < 100000; i++) {
		char glob[KMT_GLOB_LEN + 1], text[KMT_CACHE_NAME_LEN];

		random_text(glob, KMT_GLOB_LEN, "aaaaaaaaaaab*", &seed);
		random_text(text, KMT_CACHE_NAME_LEN - 1, "aaaaaaaaaaaaaaaaaaaab", &seed);
		if (matches(glob, text) != !fnmatch(glob, text, 0))
			fail_msg("'%s' on '%s'", glob, text);
	}
	assert_true(matches("*aaaaaaaaaaaaaaaaaaaaaaab",
			    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_mix_is_unique),
		TEST(test_page_cache),
		TEST(test_probe_against_set),
		TEST(test_probe_finds_room),
		TEST(test_probe_threads),
		TEST(test_cache_rows),
		TEST(test_site_of_half_written_cache),
		TEST(test_filter_on_half_written_cache),
		TEST(test_globs_against_fnmatch),
		TEST(test_brackets_against_fnmatch),
		TEST(test_long_globs),
		TEST(test_globs_that_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
