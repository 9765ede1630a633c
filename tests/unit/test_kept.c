// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kept sessions without a kernel: what their descriptions say again, damaged and
 * hostile ones, names; and coming, going and what killed commands left, in a folder
 * of a usual file system, whose rename(2) is that of a BPF one.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "source/bpf_desc.h"
#include "store/format.h"
#include "symbol/slabs.h"

#define LAYOUT "1 site 256"
#define SLABS "100 120 64 32 filp\tother\n7 8 2048 16 kmalloc-2k\n"
#define BOUNDS "memory 4096 8192 0\n3 2 filp\n"

/* ---- names ---- */

static void test_names(void **state)
{
	static const char *const good[] = { "a", "default", "A-b_9", "_", "9",
					    "12345678901234567890123456789012" };
	static const char *const bad[] = { "", "-a", "a.b", ".", "..", "a/b", "a b", "~new", "a\n",
					   "a=b", "\xc3\xa4", "\x7f",
					   "123456789012345678901234567890123" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(kmt_kept_check_name(good[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kmt_kept_check_name(bad[i]), -EINVAL);
}

/* ---- descriptions ---- */

static const char *filters[] = { "cache=kmalloc-*", "site=a\\b \x01\nnext line" };

static void describe_key(enum kmt_key key, struct kmt_buf *out)
{
	struct kmt_slabs *slabs = NULL;
	struct kmt_bpf_desc d = {
		.layout = LAYOUT, .version = "0.1.0", .functions = "kprobe: alloc_bulk",
		.ask = { .filters = { .v = filters, .n = 2 }, .tracer = "slab", .key = key,
			 .sites = 5000, .objects = 48000, .objects_bytes = 1024000,
			 .temporary_ns = 2000000, .follow = true, .hash_maps = true },
		.plan = { .cpus = 3, .sites = 8192, .caches = 2048, .stacks = 4096, .buckets = 32,
			  .hashed_objects = 9846, .shards = 2, .total_bytes = 123456789012,
			  .track = true, .hashed = true, .count = true },
		.facts = { .kernel = "6.1.0", .command = "kmemtrace start x", .clock = "mono",
			   .start_ns = 11, .start_realtime_ns = 22, .temporary_ns = 2000000,
			   .page_size = 4096, .n_cpus = 3 },
	};

	assert_int_equal(kmt_slabs_parse(SLABS, strlen(SLABS), "test", &slabs), 0);
	assert_int_equal(kmt_slabs_parse_bounds(BOUNDS, strlen(BOUNDS), "test", slabs), 0);
	d.facts.slabs_start = slabs;
	assert_int_equal(kmt_bpf_desc_put(&d, out), 0);
	kmt_slabs_free(slabs);
}

static void describe(struct kmt_buf *out)
{
	describe_key(KMT_BY_STACK, out);
}

static void check_plan(const struct kmt_bpf_plan *p)
{
	assert_int_equal(p->cpus, 3);
	assert_int_equal(p->sites, 8192);
	assert_int_equal(p->stacks, 4096);
	assert_int_equal(p->hashed_objects, 9846);
	assert_int_equal(p->total_bytes, 123456789012);
	assert_true(p->track && p->hashed && p->count && !p->emit);
	/* one kmt_cpu and 8192 lines of 64 bytes for each of 3 CPUs, from 0; then the rows */
	assert_int_equal(p->cpu_stride, sizeof(struct kmt_cpu) + 8192 * 64);
	assert_int_equal(p->at_sites, 3 * (sizeof(struct kmt_cpu) + 8192 * 64));
	assert_int_equal(p->at_lifetimes, p->at_sites + 8192 * 256);
	assert_int_equal(p->at_caches, p->at_lifetimes + 2 * 8192 * 32 * 8);
	assert_int_equal(p->at_stacks, p->at_caches + 2048 * 104);
	assert_int_equal(p->at_objects, p->at_stacks + 4096 * (16 + 40 * 8));
	assert_int_equal(p->table_bytes, p->at_objects + 32 * 64);
}

static void test_round_trip(void **state)
{
	struct kmt_bpf_desc d;
	_cleanup_buf_ struct kmt_buf bytes = { 0 };
	const struct kmt_slab *filp;

	describe(&bytes);
	kmt_buf_add(&bytes, "\0\0\0\0\0\0\0", 7);	/* as a map's value ends */
	assert_int_equal(kmt_bpf_desc_parse(bytes.data, bytes.len, LAYOUT, &d), 0);
	assert_string_equal(d.version, "0.1.0");
	assert_string_equal(d.functions, "kprobe: alloc_bulk");
	assert_string_equal(d.ask.tracer, "slab");
	assert_int_equal(d.ask.filters.n, 2);
	assert_string_equal(d.ask.filters.v[0], filters[0]);
	assert_string_equal(d.ask.filters.v[1], filters[1]);
	assert_int_equal(d.ask.key, KMT_BY_STACK);
	assert_int_equal(d.ask.sites, 5000);
	assert_int_equal(d.ask.objects, 48000);
	assert_int_equal(d.ask.objects_bytes, 1024000);
	assert_int_equal(d.ask.temporary_ns, 2000000);
	assert_true(d.ask.follow && d.ask.hash_maps);
	assert_false(d.ask.own || d.ask.user_pages || d.ask.no_objects);
	check_plan(&d.plan);
	assert_string_equal(d.facts.command, "kmemtrace start x");
	assert_int_equal(d.facts.start_ns, 11);
	assert_int_equal(d.facts.start_realtime_ns, 22);
	assert_int_equal(kmt_slabs_count(d.facts.slabs_start), 2);
	filp = kmt_slabs_find(d.facts.slabs_start, "other");
	assert_non_null(filp);
	assert_int_equal(filp->active_objs, 100);
	assert_int_equal(filp->over_most, 3);
	assert_int_equal(filp->under_most, 2);
	kmt_bpf_desc_done(&d);
}

static void test_every_key(void **state)
{
	for (int key = 0; key <= KMT_BY_MAX; key++) {
		_cleanup_buf_ struct kmt_buf bytes = { 0 };
		struct kmt_bpf_desc d;

		describe_key(key, &bytes);
		assert_int_equal(kmt_bpf_desc_parse(bytes.data, bytes.len, LAYOUT, &d),
				 key < KMT_BY_MAX ? 0 : -EBADMSG);
		if (key < KMT_BY_MAX)
			assert_int_equal(d.ask.key, key);
		kmt_bpf_desc_done(&d);
	}
}

/* Nothing is read behind the end, and nothing of it is believed. */
static void test_damage(void **state)
{
	_cleanup_buf_ struct kmt_buf bytes = { 0 };
	struct kmt_bpf_desc d;

	describe(&bytes);
	for (size_t cut = 0; cut < bytes.len; cut++) {
		char *copy = malloc(cut + 1);
		int err;

		assert_non_null(copy);
		memcpy(copy, bytes.data, cut);
		err = kmt_bpf_desc_parse(copy, cut, LAYOUT, &d);
		/* whole blocks without those behind them are a description with less in it */
		assert_true(err == -EBADMSG || (!err && d.plan.sites == 8192));
		kmt_bpf_desc_done(&d);
		free(copy);
	}
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= 0x20;
		assert_int_equal(kmt_bpf_desc_parse(bytes.data, bytes.len, LAYOUT, &d), -EBADMSG);
		kmt_bpf_desc_done(&d);
		bytes.data[i] ^= 0x20;
	}
	assert_int_equal(kmt_bpf_desc_parse(NULL, 0, LAYOUT, &d), -EBADMSG);
	kmt_bpf_desc_done(&d);
}

static void test_other_version(void **state)
{
	_cleanup_buf_ struct kmt_buf bytes = { 0 };
	struct kmt_bpf_desc d;

	describe(&bytes);
	assert_int_equal(kmt_bpf_desc_parse(bytes.data, bytes.len, "2 site 256", &d), -EPROTO);
	assert_non_null(strstr(kmt_err_text(), "kmemtrace 0.1.0"));
	assert_non_null(strstr(kmt_err_text(), "only be stopped"));
	kmt_bpf_desc_done(&d);
}

/* A block of a session with a good checksum and this text. */
static int parse_text(const char *text)
{
	size_t len = strlen(text);
	const struct kmt_block b = { .type = 64, .stored_len = (uint32_t)len,
				     .raw_len = (uint32_t)len, .seq = 1 };
	uint8_t *at = calloc(1, KMT_BLOCK_HEAD + len);
	struct kmt_bpf_desc d;
	int err;

	assert_non_null(at);
	memcpy(at + KMT_BLOCK_HEAD, text, len);
	kmt_block_seal(&b, at);
	err = kmt_bpf_desc_parse(at, KMT_BLOCK_HEAD + len, LAYOUT, &d);
	kmt_bpf_desc_done(&d);
	free(at);
	return err;
}

#define SIZES "layout " LAYOUT "\ncpus 1\ncaches 1\nstacks 1\nshards 1\nbuckets 1\n"

/* Sizes are what the tables are read by: only possible ones pass. */
static void test_hostile(void **state)
{
	static const char *const bad[] = {
		"", "layout " LAYOUT "\n", SIZES, SIZES "sites 3\n", SIZES "sites 2097152\n",
		SIZES "sites 4294967312\n", SIZES "sites 16\ncpus 0\n", SIZES "sites 16\ncpus 1025\n",
		SIZES "sites 16\nkey 4\n", SIZES "sites 16\nhashed 2\n",
		SIZES "sites 16\nbuckets 4294967295\n", SIZES "sites 16\nhashed_objects 99999999\n",
		SIZES "sites 16\nshards 16\n", SIZES "sites 1048576\ncpus 1024\n",
	};
	_cleanup_buf_ struct kmt_buf many = { 0 };

	assert_int_equal(parse_text(SIZES "sites 16\nunheard of\nof 12\n"), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_text(bad[i]), i < 1 ? -EPROTO : -EBADMSG);
	kmt_buf_puts(&many, SIZES "sites 16\n");
	for (int i = 0; i < 256; i++)
		kmt_buf_puts(&many, "filter size>1\n");
	assert_int_equal(parse_text(kmt_buf_str(&many)), 0);
	kmt_buf_puts(&many, "filter size>1\n");
	assert_int_equal(parse_text(kmt_buf_str(&many)), -EBADMSG);
}

/* ---- coming and going ---- */

struct place {
	char root[64];
	struct kmt_kept k;
};

static int place_setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	char path[128];

	assert_non_null(p);
	snprintf(p->root, sizeof(p->root), "/tmp/test-kept.XXXXXX");
	assert_non_null(mkdtemp(p->root));
	assert_int_equal(kmt_kept_open(p->root, false, &p->k), 0);
	assert_int_equal(p->k.fd, -1);
	snprintf(path, sizeof(path), "%s/kmemtrace", p->root);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(kmt_kept_open(p->root, false, &p->k), 0);
	assert_true(p->k.fd >= 0);
	*state = p;
	return 0;
}

static int place_teardown(void **state)
{
	struct place *p = *state;
	struct kmt_strlist names = { 0 };
	char path[128];

	assert_int_equal(kmt_kept_names(&p->k, &names), 0);
	for (size_t i = 0; i < names.n; i++)
		assert_int_equal(kmt_kept_remove(&p->k, names.v[i]), 0);
	kmt_kept_names_done(&names);
	kmt_kept_done(&p->k);
	snprintf(path, sizeof(path), "%s/kmemtrace", p->root);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(p->root), 0);
	free(p);
	return 0;
}

/* A folder with files, one of which says who made it. */
static void make(const struct place *p, const char *name, const char *who)
{
	char path[256];

	assert_int_equal(mkdirat(p->k.fd, name, 0700), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", name, i ? i == 1 ? "link_00" : "tables" : who);
		close(openat(p->k.fd, path, O_WRONLY | O_CREAT, 0600));
	}
}

static bool has(const struct place *p, const char *name, const char *who)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", name, who);
	return kmt_kept_exists(&p->k, path);
}

static void expect_names(const struct place *p, const char *list)
{
	struct kmt_strlist names = { 0 };
	struct kmt_buf text = { 0 };

	assert_int_equal(kmt_kept_names(&p->k, &names), 0);
	for (size_t i = 0; i < names.n; i++)
		kmt_buf_printf(&text, "%s%s", i ? " " : "", names.v[i]);
	assert_string_equal(kmt_buf_str(&text), list);
	kmt_kept_names_done(&names);
	kmt_buf_done(&text);
}

static void test_commit_and_remove(void **state)
{
	struct place *p = *state;

	expect_names(p, "");
	make(p, KMT_KEPT_NEW, "first");
	expect_names(p, "");
	assert_int_equal(kmt_kept_commit(&p->k, "b", false), 0);
	make(p, KMT_KEPT_NEW, "second");
	assert_int_equal(kmt_kept_commit(&p->k, "b", false), -EEXIST);
	assert_true(has(p, "b", "first"));
	assert_int_equal(kmt_kept_commit(&p->k, "a", false), 0);
	expect_names(p, "a b");
	assert_int_equal(kmt_kept_remove(&p->k, "b"), 0);
	expect_names(p, "a");
	assert_false(kmt_kept_exists(&p->k, "~old"));
	assert_int_equal(kmt_kept_remove(&p->k, "b"), -ENOENT);
	assert_non_null(strstr(kmt_err_text(), "but: a"));
}

static void test_replace(void **state)
{
	struct place *p = *state;

	make(p, "a", "old");
	make(p, KMT_KEPT_NEW, "new");
	assert_int_equal(kmt_kept_commit(&p->k, "a", true), 0);
	assert_true(has(p, "a", "new"));
	assert_false(has(p, "a", "old"));
	assert_false(kmt_kept_exists(&p->k, KMT_KEPT_NEW));
	make(p, KMT_KEPT_NEW, "new");
	assert_int_equal(kmt_kept_commit(&p->k, "gone", true), -ENOENT);
	assert_int_equal(kmt_kept_sweep(&p->k), 0);
	expect_names(p, "a");
}

/* Each state that a killed command can leave, and what the next one makes of it. */
static void test_sweep(void **state)
{
	struct place *p = *state;

	make(p, "a", "a");
	make(p, "~new", "half");
	make(p, "~old", "going");
	make(p, "~swap=a", "unused");
	make(p, "~swap=b", "whole");
	make(p, "~swap=", "nobody's");
	make(p, "~swap=x.y", "nobody's");
	assert_int_equal(mkdirat(p->k.fd, "~old/sub", 0700), 0);
	make(p, "~old/sub/sub", "deep");
	assert_int_equal(kmt_kept_lock(&p->k), 0);
	kmt_kept_unlock(&p->k);
	expect_names(p, "a b");
	assert_true(has(p, "a", "a"));
	assert_true(has(p, "b", "whole"));
	for (int i = 0; i < 6; i++) {
		static const char *const left[] = { "~new", "~old", "~swap=a", "~swap=b", "~swap=",
						    "~swap=x.y" };

		assert_false(kmt_kept_exists(&p->k, left[i]));
	}
}

/* What others put there can be ended like a session, and stands in nobody's way. */
static void test_foreign(void **state)
{
	struct place *p = *state;
	char path[128] = "deep";

	close(openat(p->k.fd, "pin", O_WRONLY | O_CREAT, 0600));
	close(openat(p->k.fd, "~pin", O_WRONLY | O_CREAT, 0600));
	assert_int_equal(symlinkat("..", p->k.fd, "link"), 0);
	assert_int_equal(symlinkat("..", p->k.fd, "~link"), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(mkdirat(p->k.fd, path, 0700), 0);
		snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%d", i);
	}
	make(p, "a", "a");
	expect_names(p, "a deep link pin");
	assert_int_equal(kmt_kept_remove(&p->k, "pin"), 0);
	assert_int_equal(kmt_kept_remove(&p->k, "link"), 0);
	assert_int_equal(kmt_kept_remove(&p->k, "deep"), 0);
	expect_names(p, "a");
	assert_true(has(p, "a", "a"));
	assert_false(kmt_kept_exists(&p->k, "~pin") || kmt_kept_exists(&p->k, "~link") ||
		     kmt_kept_exists(&p->k, "~old") || kmt_kept_exists(&p->k, "~deep0"));
}

/* In a usual file system, or behind a link, other things than sessions lie. */
static void test_wrong_place(void **state)
{
	struct place *p = *state;
	char path[128], to[128];
	struct kmt_kept k = KMT_KEPT_NONE;

	assert_int_equal(kmt_kept_check_place(&k), 0);
	assert_int_equal(kmt_kept_check_place(&p->k), -ENOTDIR);
	assert_non_null(strstr(kmt_err_text(), "not in a BPF file system"));
	snprintf(path, sizeof(path), "%s/kmemtrace", p->root);
	snprintf(to, sizeof(to), "%s/other", p->root);
	assert_int_equal(rename(path, to), 0);
	assert_int_equal(symlink("other", path), 0);
	assert_int_equal(kmt_kept_open(p->root, false, &k), -ENOTDIR);
	assert_int_equal(k.fd, -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(to, path), 0);
}

static void test_lock(void **state)
{
	struct place *p = *state;
	struct kmt_kept other;

	assert_int_equal(kmt_kept_open(p->root, false, &other), 0);
	assert_int_equal(kmt_kept_lock(&p->k), 0);
	assert_int_equal(kmt_kept_try_lock(&other), -EWOULDBLOCK);
	kmt_kept_unlock(&p->k);
	assert_int_equal(kmt_kept_lock_reading(&p->k), 0);
	assert_int_equal(kmt_kept_lock_reading(&other), 0);
	kmt_kept_unlock(&p->k);
	assert_int_equal(kmt_kept_try_lock(&other), 0);
	kmt_kept_done(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test_setup_teardown(test_commit_and_remove, place_setup, place_teardown),
		cmocka_unit_test_setup_teardown(test_replace, place_setup, place_teardown),
		cmocka_unit_test_setup_teardown(test_sweep, place_setup, place_teardown),
		cmocka_unit_test_setup_teardown(test_foreign, place_setup, place_teardown),
		cmocka_unit_test_setup_teardown(test_wrong_place, place_setup, place_teardown),
		cmocka_unit_test_setup_teardown(test_lock, place_setup, place_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
