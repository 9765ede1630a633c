// SPDX-License-Identifier: GPL-2.0-only
/* Table sizes: the limits of the design on machines from tiny to huge. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "source/bpf_priv.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)
#define TIB (1ull << 40)
#define GROUP_OBJECTS (KMT_GROUP * KMT_BUCKET_WAYS)
#define OBJECTS_IN(bytes) ((bytes) / sizeof(struct kmt_bucket) * KMT_BUCKET_WAYS)

static const struct kmt_bpf_machine tiny = {
	.ram_bytes = 64 * MIB, .possible_cpus = 1, .online_cpus = 1,
	.slab_objects = 40000, .page_size = 4096,
};
static const struct kmt_bpf_machine middle = {
	.ram_bytes = 24 * GIB, .possible_cpus = 2, .online_cpus = 2,
	.slab_objects = 250000, .page_size = 4096,
};
static const struct kmt_bpf_machine huge = {
	.ram_bytes = TIB, .possible_cpus = 256, .online_cpus = 256,
	.slab_objects = 50000000, .page_size = 4096,
};

/* What the tables of a plan take, added up row by row. */
static uint64_t bytes_of(const struct kmt_bpf_plan *p, const struct kmt_bpf_machine *m)
{
	uint64_t n = 0;

	n += p->sites * 256ull;					/* what a site is, cold counters */
	n += (uint64_t)p->cpus * (sizeof(struct kmt_cpu) + p->sites * 64ull);
	if (p->track)
		n += p->shards * (p->sites * 32ull * 8);	/* lifetimes */
	n += p->caches * 104ull;
	n += p->stacks * 336ull;
	if (p->stacks > 1)
		n += p->cpus * KMT_PROG_MAX * 40ull * 8;	/* a scratch per CPU and program */
	n += p->buckets * (uint64_t)sizeof(struct kmt_bucket);
	n += m->online_cpus * p->ring_bytes;
	return n;
}

static bool is_pow2(uint64_t v)
{
	return v && !(v & (v - 1));
}

/* The tables lie in one map element, one behind the other, on cache lines, below 512 MiB. */
static void check_places(const struct kmt_bpf_plan *p)
{
	const struct { uint64_t at, len; } t[] = {
		{ 0, p->cpu_stride * p->cpus },
		{ p->at_sites, p->sites * 256ull },
		{ p->at_lifetimes, p->shard_stride * p->shards },
		{ p->at_caches, p->caches * 104ull },
		{ p->at_stacks, p->stacks * 336ull },
		{ p->at_objects, p->buckets * (uint64_t)sizeof(struct kmt_bucket) },
		{ p->table_bytes, 0 },
	};

	for (size_t i = 0; i + 1 < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(t[i].at % 64, 0);
		assert_true(t[i].at + t[i].len <= t[i + 1].at);
	}
	assert_true(p->table_bytes < 512 * MIB);
	assert_true(p->cpu_stride >= sizeof(struct kmt_cpu) + p->sites * 64ull && p->cpu_stride % 64 == 0);
	assert_true(p->shard_stride >= (p->track ? p->sites : 1) * 256ull);
}

static void check_shape(const struct kmt_bpf_plan *p, const struct kmt_bpf_machine *m)
{
	assert_int_equal(p->cpus, m->possible_cpus);
	assert_true(is_pow2(p->sites) && is_pow2(p->caches) && is_pow2(p->stacks));
	assert_true(is_pow2(p->shards));
	assert_true(p->buckets && (p->buckets % KMT_GROUP == 0 || p->buckets < KMT_GROUP));
	assert_true(p->sites <= 1u << 20);	/* an object names its site in 20 bits */
	assert_int_equal(p->total_bytes, bytes_of(p, m));
	check_places(p);
	if (p->emit) {
		assert_true(is_pow2(p->ring_bytes));
		assert_true(p->ring_bytes >= m->page_size);
	} else {
		assert_int_equal(p->ring_bytes, 0);
	}
}

/* The design: at most 1/256 of RAM and 256 MiB; below 1 GiB of RAM 4 MiB. */
static uint64_t limit_of(const struct kmt_bpf_machine *m)
{
	uint64_t n = m->ram_bytes / 256;

	return n < 4 * MIB ? 4 * MIB : n > 256 * MIB ? 256 * MIB : n;
}

static void check_all_modes(const struct kmt_bpf_machine *m)
{
	struct kmt_filter filter = { .size_min = 1 };

	for (unsigned i = 0; i < 3 * 256; i++) {
		struct kmt_source_opts o = {
			.mode = i & 1 ? KMT_MODE_STREAMED : KMT_MODE_COUNTED,
			.filter = i & 2 ? &filter : NULL,
			.no_objects = i & 4,
			.want_task = i & 8,
			.want_stacks = i & 16,
			.want_cache = i & 32,
			.force_objects = i & 64,
			.own = i & 128,
			.key = i >> 8,
		};
		struct kmt_bpf_plan p;

		assert_int_equal(kmt_bpf_make_plan(&o, m, &p), 0);
		check_shape(&p, m);
		assert_true(p.total_bytes <= limit_of(m));
		if (p.count)
			assert_true(p.sites >= 1024);
		if (p.track)
			assert_true(p.buckets * KMT_BUCKET_WAYS >= 4096);
		if (p.emit)
			assert_true(p.ring_bytes >= 64 << 10);
	}
}

static void test_tiny(void **state)
{
	check_all_modes(&tiny);
}

static void test_middle(void **state)
{
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED };
	struct kmt_bpf_plan p;

	check_all_modes(&middle);
	/* room enough: the defaults of the design, four times today's objects */
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_int_equal(p.sites, 16384);
	assert_int_equal(p.caches, 2048);
	assert_int_equal(p.stacks, 1);
	assert_int_equal(p.shards, 2);
	assert_in_range(p.buckets * KMT_BUCKET_WAYS, 1000000 - GROUP_OBJECTS, 1000000);
	o.mode = KMT_MODE_STREAMED;
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_int_equal(p.ring_bytes, 8 * MIB);
}

static void test_huge(void **state)
{
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED };
	struct kmt_bpf_plan p;

	check_all_modes(&huge);
	assert_int_equal(kmt_bpf_make_plan(&o, &huge, &p), 0);
	assert_int_equal(p.sites, 8192);
	assert_true(p.buckets * KMT_BUCKET_WAYS > 3000000);
}

static void test_many_machines(void **state)
{
	for (uint64_t ram = 32 * MIB; ram <= 8 * TIB; ram *= 2)
		for (uint32_t cpus = 1; cpus <= 64; cpus = cpus * 3 / 2 + 1) {
			struct kmt_bpf_machine m = {
				.ram_bytes = ram, .possible_cpus = 2 * cpus, .online_cpus = cpus,
				.slab_objects = ram / 4096, .page_size = 65536,
			};

			/* a kernel with so many CPUs in so little memory does not exist */
			if (ram / cpus >= 256 * MIB)
				check_all_modes(&m);
		}
}

static void test_hot_counters(void **state)
{
	assert_true(sizeof(struct kmt_site_cpu) <= 64);
}

static uint32_t buckets_of(uint64_t objects)
{
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .objects = objects };
	struct kmt_bpf_plan p;

	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	check_shape(&p, &middle);
	return p.buckets;
}

/* Never more than asked for, and at most one group less. */
static void test_objects_round_down(void **state)
{
	static const uint64_t asked[] = {
		GROUP_OBJECTS, GROUP_OBJECTS + 1, 2 * GROUP_OBJECTS - 1, 2 * GROUP_OBJECTS, 1000,
		65536, 999999, 10000000,
	};

	/* less than a group has homes for fewer, but 64 is 64 */
	assert_in_range(buckets_of(64) * KMT_BUCKET_WAYS, 56, 64);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		uint64_t got = buckets_of(asked[i]) * KMT_BUCKET_WAYS;

		assert_true(got <= asked[i] && got + GROUP_OBJECTS > asked[i]);
		assert_int_equal(got % GROUP_OBJECTS, 0);
	}
}

static void test_options_round_up(void **state)
{
	struct kmt_source_opts o = {
		.mode = KMT_MODE_STREAMED, .force_objects = true, .sites = 16, .ring_bytes = 4096,
		.objects = 64,
	};
	struct kmt_bpf_plan p;

	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	check_shape(&p, &middle);
	assert_int_equal(p.sites, 16);
	assert_int_equal(p.ring_bytes, 4096);
	o.sites = 17;
	o.ring_bytes = 4097;
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_int_equal(p.sites, 32);
	assert_int_equal(p.ring_bytes, 8192);
	/* options may exceed the budget of the defaults */
	o.ring_bytes = 512 * MIB;
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_int_equal(p.ring_bytes, 512 * MIB);
	assert_true(p.total_bytes > GIB);
}

/* A machine's tables stay as large as they are by default when one of them is asked for. */
static void check_asked(const struct kmt_bpf_machine *m)
{
	static const struct kmt_source_opts asked[] = {
		{ .ring_bytes = 8 * MIB }, { .sites = 65536 },
		{ .ring_bytes = 8 * MIB, .sites = 65536 },
	};
	struct kmt_filter filter = { .size_min = 1 };
	struct kmt_source_opts o = { .mode = KMT_MODE_STREAMED, .filter = &filter };
	struct kmt_bpf_plan usual, p;

	assert_int_equal(kmt_bpf_make_plan(&o, m, &usual), 0);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		o.sites = asked[i].sites;
		o.ring_bytes = asked[i].ring_bytes;
		assert_int_equal(kmt_bpf_make_plan(&o, m, &p), 0);
		check_shape(&p, m);
		assert_true(p.buckets >= usual.buckets);
		assert_int_equal(p.sites, o.sites ? o.sites : usual.sites);
		assert_int_equal(p.ring_bytes, o.ring_bytes ? o.ring_bytes : usual.ring_bytes);
	}
}

static void test_asked_takes_from_no_other(void **state)
{
	/* 1/256 of this is 6 MiB, less than two rings of 8 MiB */
	struct kmt_bpf_machine small = middle;

	small.ram_bytes = 1536 * MIB;
	check_asked(&small);
	check_asked(&middle);
}

static void expect_refusal(const struct kmt_bpf_machine *m, struct kmt_source_opts o,
			   const char *option, uint64_t low, uint64_t high)
{
	struct kmt_bpf_plan p = { .cpus = 77 };
	unsigned long long lo = 0, hi = 0;
	size_t len = strlen(option);

	assert_int_equal(kmt_bpf_make_plan(&o, m, &p), -EINVAL);
	assert_int_equal(p.cpus, 77);
	assert_memory_equal(kmt_err_text(), option, len);
	assert_int_equal(sscanf(kmt_err_text() + len, " must be %llu to %llu", &lo, &hi), 2);
	assert_int_equal(lo, low);
	assert_int_equal(hi, high);
}

static void test_absurd_sites(void **state)
{
	/*
	 * 24 GiB, 2 CPUs: all tables fit into 512 MiB, half of that for the
	 * sites; 2^18 rows of 256 + 2 * 64 + 2 * 256 bytes do, 2^19 do not
	 */
	static const uint64_t bad[] = { 1, 15, (1 << 18) + 1, 1ull << 63, UINT64_MAX };
	/* 64 MiB / 4 hold 16384 rows of 256 + 64 + 256 bytes, and no more powers of two */
	struct kmt_source_opts few = { .mode = KMT_MODE_COUNTED, .sites = 16385 };
	struct kmt_source_opts most = { .mode = KMT_MODE_COUNTED, .sites = 1 << 18 };
	struct kmt_bpf_plan p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .sites = bad[i] };

		expect_refusal(&middle, o, "--sites", 16, 1 << 18);
	}
	expect_refusal(&tiny, few, "--sites", 16, 16384);
	assert_int_equal(kmt_bpf_make_plan(&most, &middle, &p), 0);
	check_shape(&p, &middle);
}

static void test_absurd_objects(void **state)
{
	static const uint64_t bad[] = { 1, 63, 30000000, 99999999999999, UINT64_MAX };
	struct kmt_source_opts few = { .mode = KMT_MODE_COUNTED, .objects = 10000000 };
	uint64_t most = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED, .objects = bad[i] };
		struct kmt_bpf_plan p;

		assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), -EINVAL);
		assert_int_equal(sscanf(kmt_err_text(), "--objects must be 64 to %" SCNu64, &most), 1);
	}
	/* what the text allows works, and one group more does not */
	assert_in_range(most, OBJECTS_IN(400 * MIB), OBJECTS_IN(512 * MIB));
	assert_true(buckets_of(most) * (uint64_t)sizeof(struct kmt_bucket) > 400 * MIB);
	expect_refusal(&middle, (struct kmt_source_opts) { .objects = most + GROUP_OBJECTS },
		       "--objects", 64, most);
	expect_refusal(&tiny, few, "--objects", 64, OBJECTS_IN(16 * MIB));
}

/* Sites and objects, each within its limits, must also fit together. */
static void test_all_tables_in_one_element(void **state)
{
	struct kmt_source_opts o = { .sites = 1 << 18, .objects = 8000000 };
	struct kmt_bpf_plan p;

	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	check_shape(&p, &middle);
	o.objects = 20000000;
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), -EINVAL);
	assert_non_null(strstr(kmt_err_text(), "--objects must be 64 to "));
}

static void test_absurd_ring(void **state)
{
	static const uint64_t bad[] = { 1, 4095, GIB + 1, 1ull << 40, (1ull << 63) + 1, UINT64_MAX };
	struct kmt_source_opts few = { .mode = KMT_MODE_STREAMED, .ring_bytes = 32 * MIB };
	struct kmt_source_opts most = { .mode = KMT_MODE_STREAMED, .ring_bytes = GIB };
	struct kmt_bpf_plan p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kmt_source_opts o = { .mode = KMT_MODE_STREAMED, .ring_bytes = bad[i] };

		expect_refusal(&middle, o, "--buffer", 4, 1 << 20);
	}
	expect_refusal(&tiny, few, "--buffer", 4, 16 << 10);
	assert_int_equal(kmt_bpf_make_plan(&most, &middle, &p), 0);
	assert_int_equal(p.ring_bytes, GIB);
}

/* What is kept follows from what is asked for. */
static void test_what_is_kept(void **state)
{
	struct kmt_filter filter = { .size_min = 1 }, empty = { 0 };
	struct kmt_source_opts o = { .mode = KMT_MODE_COUNTED };
	struct kmt_bpf_plan p;

	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_true(p.count && p.track && !p.emit && !p.tail);
	o.no_objects = true;
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_true(p.count && !p.track);
	assert_true(p.buckets <= KMT_GROUP);
	assert_int_equal(p.shards, 1);

	o = (struct kmt_source_opts) { .mode = KMT_MODE_STREAMED, .filter = &empty };
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_true(p.emit && !p.count && !p.track && !p.tail);
	o.filter = &filter;	/* frees are shown of what was shown being allocated */
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_true(p.emit && p.count && p.track);
	o = (struct kmt_source_opts) { .mode = KMT_MODE_STREAMED, .want_cache = true };
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_true(p.emit && p.count && p.track);	/* so that frees have a cache too */
	o.no_objects = true;	/* a recording: who reads it knows whose the frees are */
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_true(p.emit && p.count && !p.track);
	o.filter = &filter;
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_true(p.emit && p.count && p.track);
	o = (struct kmt_source_opts) { .mode = KMT_MODE_STREAMED, .want_stacks = true };
	assert_int_equal(kmt_bpf_make_plan(&o, &middle, &p), 0);
	assert_true(p.tail);
	assert_int_equal(p.stacks, 8192);
	/* at most a quarter of the 4 MiB for stacks of 336 bytes */
	assert_int_equal(kmt_bpf_make_plan(&o, &tiny, &p), 0);
	assert_int_equal(p.stacks, 2048);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tiny),
		cmocka_unit_test(test_middle),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_many_machines),
		cmocka_unit_test(test_hot_counters),
		cmocka_unit_test(test_objects_round_down),
		cmocka_unit_test(test_options_round_up),
		cmocka_unit_test(test_asked_takes_from_no_other),
		cmocka_unit_test(test_absurd_sites),
		cmocka_unit_test(test_absurd_objects),
		cmocka_unit_test(test_all_tables_in_one_element),
		cmocka_unit_test(test_absurd_ring),
		cmocka_unit_test(test_what_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
