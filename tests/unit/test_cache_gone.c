// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cache that is destroyed with objects in it, and another one that comes to lie
 * at its address: the kernel side's code, its tables read by bpf_tables.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/session.h"
#include "core/snapshot.h"
#include "unit/bpf_shim.h"

#define SITE	0xffffffffc0001010ull
#define FREER	0xffffffffc0001100ull

static struct kmem_cache cache, never_seen;
static struct kmt_session *session;
static struct kmt_bpf b;

static uint64_t addr_of(uint32_t i)
{
	return 0xffff888000100000 + i * 256ull;
}

static void take(uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++) {
		struct kmt_alloc a = { .call_site = SITE, .addr = addr_of(i), .type = KMT_WIRE_CACHE,
				       .cache = (uint64_t)&cache };

		kmt_on_alloc(NULL, &a, KMT_PROG_CACHE_ALLOC, 0, kmt_flags);
	}
}

static void give(uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++)
		kmt_on_free(KMT_WIRE_CACHE, KMT_PROG_CACHE_FREE, FREER, addr_of(i),
			    (uint64_t)&cache, kmt_flags);
}

static int count(void *ctx, const struct kmt_object *o)
{
	(*(size_t *)ctx)++;
	return 0;
}

/* The only row of a cache of this name; all rows together have this many live objects. */
static const struct kmt_site *look(const char *name, uint64_t live)
{
	const struct kmt_site *found = NULL;
	struct kmt_sink sink = kmt_session_sink(session);
	struct kmt_counts c;
	size_t n = 0;

	assert_int_equal(kmt_bpf_snapshot(&b, &sink), 0);
	for (size_t i = 0; i < kmt_session_n_sites(session); i++) {
		const struct kmt_site *site = kmt_session_site(session, i);

		if (!site->key.cache || strcmp(site->key.cache, name))
			continue;
		assert_null(found);
		found = site;
	}
	kmt_session_total(session, &c);
	assert_int_equal(kmt_counts_live(&c), live);
	assert_int_equal(kmt_session_each_object(session, count, &n), 0);
	assert_int_equal(n, live);
	return found;
}

static int begin(void **state)
{
	struct kmt_bpf_machine m = { .ram_bytes = 8ull << 30, .possible_cpus = 2, .online_cpus = 2,
				     .page_size = 4096, .hashed = SHIM_HASHED };
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .sites = 1024, .objects = 10000 };
	struct kmt_session_opts so = { 0 };
	struct kmt_bpf_plan p;

	assert_int_equal(kmt_bpf_make_plan(&o, &m, &p), 0);
	assert_int_equal(shim_tables(&p, &b), 0);
	assert_int_equal(kmt_session_new(&so, &session), 0);
	kmt_flags = KMT_F_COUNT | KMT_F_TRACK;
	shim.now_ns = 1ull << 40;
	cache = (struct kmem_cache){ .size = 256, .object_size = 200, .name = "one", .refcount = 1 };
	return 0;
}

static int end(void **state)
{
	kmt_session_free(session);
	shim_done();
	return 0;
}

static void closes_its_books(void **state)
{
	const struct kmt_site *site;

	take(0, 10);
	give(0, 7);
	look("one", 3);
	kmt_cache_gone((uint64_t)&cache);
	site = look("one", 0);
	assert_int_equal(site->closed, 3);
	assert_int_equal(site->counts.allocs, 10);
	assert_int_equal(site->counts.frees, 7);
	assert_int_equal(site->counts.untracked, 3);
	assert_int_equal(site->counts.bytes_req_untracked, 600);
	assert_int_equal(site->counts.bytes_alloc_untracked, 768);
	/* each reading says the same */
	site = look("one", 0);
	assert_int_equal(site->closed, 3);
}

static void address_comes_again(void **state)
{
	const struct kmt_site *site;

	take(0, 10);
	kmt_cache_gone((uint64_t)&cache);
	look("one", 0);
	cache.name = "two";
	take(20, 5);
	site = look("two", 5);
	assert_int_equal(site->counts.allocs, 5);
	assert_int_equal(site->closed, 0);
	/* what is freed late was in the old one */
	give(0, 2);
	give(20, 1);
	site = look("two", 4);
	assert_int_equal(site->counts.frees, 1);
	site = look("one", 4);
	assert_int_equal(site->counts.frees, 2);
	assert_int_equal(site->closed, 8);
}

/* One of several names that share a cache. */
static void one_name_less(void **state)
{
	cache.refcount = 2;
	take(0, 10);
	kmt_cache_gone((uint64_t)&cache);
	assert_int_equal(look("one", 10)->closed, 0);
	/* of one that was never seen */
	kmt_cache_gone((uint64_t)&never_seen);
	kmt_cache_gone(0);
	look("one", 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(closes_its_books, begin, end),
		cmocka_unit_test_setup_teardown(address_comes_again, begin, end),
		cmocka_unit_test_setup_teardown(one_name_less, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
