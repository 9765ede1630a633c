// SPDX-License-Identifier: GPL-2.0-only
/* The live-object table against arrays and linear search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/index.h"
#include "core/event.h"
#include "core/object.h"

static uint64_t rnd(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void test_layers(void **state)
{
	assert_int_equal(kmt_object_layer(KMT_TYPE_KMALLOC), kmt_object_layer(KMT_TYPE_CACHE));
	assert_int_not_equal(kmt_object_layer(KMT_TYPE_PAGES), kmt_object_layer(KMT_TYPE_CACHE));
	assert_int_not_equal(kmt_object_layer(KMT_TYPE_PERCPU),
			     kmt_object_layer(KMT_TYPE_VMALLOC));
}

/* One address in two layers is two objects. */
static void test_same_address_two_layers(void **state)
{
	struct kmt_objects o = { .max = 10 };
	struct kmt_live slab = { .addr = 0xffff888000001000, .layer = 1, .site = 7 };
	struct kmt_live page = { .addr = 0xffff888000001000, .layer = 2, .site = 9 };

	assert_null(kmt_objects_find(&o, 1, slab.addr));
	assert_true(kmt_objects_insert(&o, &slab, 1, 8));
	assert_true(kmt_objects_insert(&o, &page, 4096, 4096));
	assert_int_equal(o.n, 2);
	assert_int_equal(kmt_objects_find(&o, 1, slab.addr)->site, 7);
	assert_int_equal(kmt_objects_find(&o, 2, slab.addr)->site, 9);
	kmt_objects_remove(&o, kmt_objects_find(&o, 1, slab.addr));
	assert_null(kmt_objects_find(&o, 1, slab.addr));
	assert_int_equal(kmt_objects_find(&o, 2, slab.addr)->site, 9);
	kmt_objects_done(&o);
}

static void test_limit_is_exact(void **state)
{
	struct kmt_objects o = { .max = 3000 };

	for (uint64_t i = 1; i <= 3000; i++)
		assert_true(kmt_objects_insert(&o, &(struct kmt_live){ .addr = i * 64 }, 1, 1));
	assert_false(kmt_objects_insert(&o, &(struct kmt_live){ .addr = 64 * 4000 }, 1, 1));
	kmt_objects_remove(&o, kmt_objects_find(&o, 0, 64));
	assert_true(kmt_objects_insert(&o, &(struct kmt_live){ .addr = 64 * 4000 }, 1, 1));
	assert_int_equal(o.n, 3000);
	kmt_objects_done(&o);
}

/*
 * Many addresses around few places, so that probe sequences run into each
 * other and deletions have to shift.
 */
#define POOL 1600

/* One in four needs more than 32 bits, or just fills them. */
static uint64_t size_of(unsigned k, uint32_t step)
{
	switch ((k + step) % 8) {
	case 0: return UINT32_MAX;
	case 1: return UINT64_C(1) << 32;
	case 2: return UINT64_MAX - k;
	default: return (uint64_t)k * step & UINT32_MAX;
	}
}

static void run_random(uint64_t seed, uint64_t stride)
{
	static bool live[POOL];
	static uint32_t site[POOL];
	struct kmt_objects o = { .max = POOL };
	size_t n = 0;

	for (int i = 0; i < POOL; i++)
		live[i] = false;
	for (int step = 0; step < 200000; step++) {
		unsigned k = rnd(&seed) % POOL;
		uint64_t addr = 0xffff888000000000 + (k + 1) * stride;
		struct kmt_live *l = kmt_objects_find(&o, 1, addr);
		uint64_t req, alloc;

		assert_int_equal(l != NULL, live[k]);
		if (l) {
			assert_int_equal(l->site, site[k]);
			kmt_objects_bytes(&o, l, &req, &alloc);
			assert_true(req == size_of(k, site[k]));
			assert_true(alloc == size_of(k, site[k] + 1));
			kmt_objects_remove(&o, l);
			n--;
		} else {
			site[k] = step;
			assert_true(kmt_objects_insert(&o, &(struct kmt_live){
				.addr = addr, .layer = 1, .site = step },
				size_of(k, step), size_of(k, step + 1)));
			n++;
		}
		live[k] = !live[k];
		assert_int_equal(o.n, n);
	}
	kmt_objects_done(&o);
}

static void test_random(void **state)
{
	run_random(1, 8);
	run_random(2, 64);
	run_random(3, 4096);
	run_random(4, UINT64_C(1) << 32);
	run_random(5, 0x9e3779b97f4a7c15);
}

struct squares {
	uint64_t want;
};

static bool is_square(const void *ctx, size_t element)
{
	return element * element == ((const struct squares *)ctx)->want;
}

/* 100 000 elements under few and under many hashes. */
static void run_index(uint64_t hash_mask, size_t n)
{
	struct kmt_index ix = { 0 };
	struct squares q;

	for (size_t i = 0; i < n; i++) {
		q.want = i * i;
		assert_true(kmt_index_find(&ix, q.want & hash_mask, is_square, &q) ==
			    KMT_INDEX_NONE);
		assert_int_equal(kmt_index_add(&ix, q.want & hash_mask, i), 0);
	}
	for (size_t i = 0; i < n; i++) {
		q.want = i * i;
		assert_true(kmt_index_find(&ix, q.want & hash_mask, is_square, &q) == i);
	}
	assert_int_equal(ix.n, n);
	kmt_index_done(&ix);
}

static void test_index(void **state)
{
	run_index(UINT64_MAX, 100000);
	run_index(0xff, 1000);
	run_index(0, 300);
	run_index(UINT64_C(0xffffffff) << 32, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_same_address_two_layers),
		cmocka_unit_test(test_limit_is_exact),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
