// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <ftw.h>
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
#include "symbol/slabs.h"

#define HEAD "slabinfo - version: 2.1\n" \
	"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : ...\n"
#define TAIL " : tunables    0    0    0 : slabdata      1      1      0\n"

static char root[64];

static void path_of(char *out, size_t size, const char *name)
{
	assert_true((size_t)snprintf(out, size, "%s/%s", root, name) < size);
}

static void make_dir(const char *name)
{
	char path[256];

	path_of(path, sizeof(path), name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void make_link(const char *name, const char *target)
{
	char path[256], dir[256];

	snprintf(dir, sizeof(dir), "sys/kernel/slab/%s", name);
	path_of(path, sizeof(path), dir);
	assert_int_equal(symlink(target, path), 0);
}

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	path_of(path, sizeof(path), name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void write_slabinfo(const char *text)
{
	write_file("proc/slabinfo", text);
}

static int setup(void **state)
{
	snprintf(root, sizeof(root), "/tmp/kmt-slabs-XXXXXX");
	assert_non_null(mkdtemp(root));
	make_dir("proc");
	return 0;
}

static int rm(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	return nftw(root, rm, 8, FTW_DEPTH | FTW_PHYS);
}

static void caches_and_aliases(void **state)
{
	struct kmt_slabs *s;
	const struct kmt_slab *c;

	make_dir("sys");
	make_dir("sys/kernel");
	make_dir("sys/kernel/slab");
	make_dir("sys/kernel/slab/:0000256");
	make_dir("sys/kernel/slab/:0000064");
	make_dir("sys/kernel/slab/dentry");
	make_link("filp", ":0000256");
	make_link("tw_sock_TCP", ":0000256");
	make_link("request_sock", "../slab/:0000256");
	make_link("kmalloc-64", ":0000064");
	make_link("no_such_cache", ":0000999");
	write_slabinfo(HEAD
		       "filp                4351   4416    256   16    1" TAIL
		       "kmalloc-64         10000  10048     64   64    1" TAIL
		       "my cache 7             1     42     96   42    1" TAIL
		       "dentry             20000  20034    192   21    1" TAIL);
	assert_int_equal(kmt_slabs_load(root, &s), 0);
	assert_int_equal(kmt_slabs_count(s), 4);
	c = kmt_slabs_find(s, "filp");
	assert_non_null(c);
	assert_int_equal(c->active_objs, 4351);
	assert_int_equal(c->num_objs, 4416);
	assert_int_equal(c->object_size, 256);
	assert_string_equal(c->aliases, "request_sock\ntw_sock_TCP");
	assert_ptr_equal(kmt_slabs_find(s, "tw_sock_TCP"), c);
	assert_ptr_equal(kmt_slabs_find(s, "request_sock"), c);
	assert_null(kmt_slabs_find(s, "tw_sock"));
	assert_null(kmt_slabs_find(s, "no_such_cache"));
	assert_null(kmt_slabs_find(s, ""));
	c = kmt_slabs_find(s, "my cache 7");
	assert_non_null(c);
	assert_int_equal(c->active_objs, 1);
	assert_int_equal(c->num_objs, 42);
	assert_string_equal(c->aliases, "");
	assert_string_equal(kmt_slabs_find(s, "dentry")->aliases, "");
	for (size_t i = 0; i < 4; i++)
		assert_non_null(kmt_slabs_at(s, i)->name);
	assert_null(kmt_slabs_at(s, 4));
	kmt_slabs_free(s);
}

static void holds(uint64_t num, uint32_t size, uint32_t per_slab, uint64_t want)
{
	const struct kmt_slab c = { .num_objs = num, .object_size = size,
				    .objs_per_slab = per_slab };
	uint64_t held = 0;

	assert_true(kmt_slab_held(&c, &held));
	assert_int_equal(held, want);
}

static void held(void **state)
{
	struct kmt_slab c = { .num_objs = 5 };
	uint64_t bytes;

	holds(0, 256, 16, 0);
	holds(4416, 256, 16, 276 * 4096);	/* a full page */
	holds(20034, 192, 21, 954 * 4096);	/* 64 bytes are left */
	holds(15, 5824, 5, 3 * 32768);		/* 29120 of 8 pages */
	holds(7, 2112, 1, 7 * 4096);		/* one object, just more than half */
	holds(24, 256, 16, 6144);		/* a slab, and half of what it takes elsewhere */
	holds(6, 16384, 4, 6 * 16384);		/* one page of 64 KiB holds four */
	assert_false(kmt_slab_held(&c, &bytes));
	c.objs_per_slab = 1;
	assert_false(kmt_slab_held(&c, &bytes));
	c = (struct kmt_slab){ .num_objs = UINT64_MAX, .object_size = 256, .objs_per_slab = 1 };
	assert_false(kmt_slab_held(&c, &bytes));
	c = (struct kmt_slab){ .num_objs = 1, .object_size = UINT32_MAX, .objs_per_slab = 2 };
	assert_false(kmt_slab_held(&c, &bytes));
}

/* The running kernel says how many pages a slab has: of each cache that is what we say. */
static void held_here(void **state)
{
	FILE *f = fopen("/proc/slabinfo", "re");
	char line[512];
	int n = 0;

	if (!f)
		skip();
	while (fgets(line, sizeof(line), f)) {
		unsigned size, per_slab, pages;
		char *at = strstr(line, " : tunables");
		int blanks = 0;

		/* from the right: a name may hold blanks */
		while (at && at > line && blanks < 3)
			blanks += *--at == ' ' && at[-1] != ' ';
		if (!at || sscanf(at, "%u %u %u", &size, &per_slab, &pages) != 3)
			continue;
		holds(per_slab, size, per_slab, (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE));
		n++;
	}
	fclose(f);
	if (!n)
		skip();
}

static void without_sysfs(void **state)
{
	struct kmt_slabs *s;

	write_slabinfo(HEAD "filp 1 2 256 16 1" TAIL);
	assert_int_equal(kmt_slabs_load(root, &s), 0);
	assert_int_equal(kmt_slabs_count(s), 1);
	assert_string_equal(kmt_slabs_at(s, 0)->aliases, "");
	kmt_slabs_free(s);
	kmt_slabs_free(NULL);
	assert_int_equal(kmt_slabs_count(NULL), 0);
	assert_null(kmt_slabs_find(NULL, "filp"));
}

static void faults(void **state)
{
	static const char *const bad[] = {
		"", "slabinfo - version: 1.1\n", "hello\n",
		HEAD "filp 1 2 256 16" TAIL, HEAD "filp\n",
		HEAD "filp 1 2 256 16 x" TAIL, HEAD "1 2 256 16 1" TAIL,
		HEAD "filp 1 99999999999999999999 256 16 1" TAIL,
		HEAD "filp 1 2 4294967296 16 1" TAIL, HEAD "filp -1 2 256 16 1 : \n",
	};
	struct kmt_slabs *s = NULL;

	assert_int_equal(kmt_slabs_load(root, &s), -ENOENT);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_slabinfo(bad[i]);
		assert_int_equal(kmt_slabs_load(root, &s), -EINVAL);
	}
	assert_null(s);
}

/* The machine's own file, where it may be read: every line of it is a cache. */
static void running_kernel(void **state)
{
	struct kmt_slabs *s;
	char line[512];
	size_t lines = 0;
	int err = kmt_slabs_load(NULL, &s);
	FILE *f;

	if (err) {
		assert_true(err == -EACCES || err == -ENOENT);
		skip();
	}
	f = fopen("/proc/slabinfo", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		lines += !!strstr(line, " : tunables    0");
	fclose(f);
	assert_int_equal(kmt_slabs_count(s), lines);
	kmt_slabs_free(s);
}

static void assert_stored(const char *in, const char *out)
{
	struct kmt_buf b = { 0 };
	struct kmt_slabs *s;

	assert_int_equal(kmt_slabs_parse(in, strlen(in), "list", &s), 0);
	kmt_slabs_store(s, &b);
	assert_string_equal(kmt_buf_str(&b), out);
	kmt_buf_done(&b);
	kmt_slabs_free(s);
}

static void stored(void **state)
{
	const char *two = "7 9 64 64 a b\n18446744073709551615 0 4096 8 kmalloc-4k\tx\ty z\n";
	struct kmt_slabs *s;

	assert_stored(two, two);
	assert_stored("", "");
	assert_stored("1 2 3 4 z\n1 2 3 4 a", "1 2 3 4 a\n1 2 3 4 z\n");
	assert_int_equal(kmt_slabs_parse(two, strlen(two), "list", &s), 0);
	assert_int_equal(kmt_slabs_count(s), 2);
	assert_int_equal(kmt_slabs_find(s, "y z")->object_size, 4096);
	assert_int_equal(kmt_slabs_find(s, "a b")->num_objs, 9);
	assert_string_equal(kmt_slabs_find(s, "x")->aliases, "x\ny z");
	kmt_slabs_free(s);
}

static void stored_faults(void **state)
{
	static const char *const bad[] = {
		"1 2 3 4\n", "1 2 3 4 \n", "1 2 3 x n\n", "-1 2 3 4 n\n", " 1 2 3 4 n\n",
		"1 2 4294967296 4 n\n", "99999999999999999999 2 3 4 n\n", "1 2 3 4 n\n\n",
	};
	struct kmt_slabs *s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kmt_slabs_parse(bad[i], strlen(bad[i]), "list", &s), -EINVAL);
}

/* Whatever this machine has survives being stored. */
static void running_stored(void **state)
{
	struct kmt_buf one = { 0 };
	struct kmt_slabs *s, *again;

	if (kmt_slabs_load(NULL, &s))
		skip();
	kmt_slabs_store(s, &one);
	assert_int_equal(kmt_slabs_parse(kmt_buf_str(&one), one.len, "list", &again), 0);
	assert_int_equal(kmt_slabs_count(again), kmt_slabs_count(s));
	for (size_t i = 0; i < kmt_slabs_count(s); i++) {
		const struct kmt_slab *a = kmt_slabs_at(s, i), *b = kmt_slabs_at(again, i);

		assert_string_equal(a->name, b->name);
		assert_string_equal(a->aliases, b->aliases);
		assert_true(a->active_objs == b->active_objs && a->num_objs == b->num_objs &&
			    a->object_size == b->object_size && a->objs_per_slab == b->objs_per_slab);
	}
	kmt_slabs_free(again);
	kmt_slabs_free(s);
	kmt_buf_done(&one);
}

/* A machine of 4 CPUs and 2 nodes: "a" as on 6.1, "b" with sheaves, "c" both, "d" a long list. */
static void make_machine(void)
{
	static const char *const dirs[] = {
		"sys", "sys/devices", "sys/devices/system", "sys/devices/system/cpu",
		"sys/devices/system/node", "sys/kernel", "sys/kernel/slab", "sys/kernel/slab/a",
		"sys/kernel/slab/:b", "sys/kernel/slab/c", "sys/kernel/slab/d", "sys/kernel/slab/e",
	};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		make_dir(dirs[i]);
	make_link("b", ":b");
	write_file("sys/devices/system/cpu/online", "0-3\n");
	write_file("sys/devices/system/node/online", "0-1\n");
	write_file("proc/meminfo", "MemTotal: 1000 kB\nSReclaimable:     300 kB\n"
		   "SUnreclaim:   20 kB\n");
	write_file("sys/kernel/slab/a/cpu_slabs", "6 N0=4 N1=2\n");
	write_file("sys/kernel/slab/a/shrink", "");
	write_file("sys/kernel/slab/a/reclaim_account", "1\n");
	write_file("sys/kernel/slab/:b/reclaim_account", "0\n");
	write_file("sys/kernel/slab/:b/cpu_slabs", "0\n");
	write_file("sys/kernel/slab/:b/sheaf_capacity", "32\n");
	write_file("sys/kernel/slab/:b/shrink", "");
	write_file("sys/kernel/slab/c/cpu_slabs", "2\n");
	write_file("sys/kernel/slab/c/sheaf_capacity", "4\n");
	write_file("sys/kernel/slab/d/cpu_slabs", "1\n");
	write_file("sys/kernel/slab/d/partial", "10030 N0=10030\n");
	write_file("sys/kernel/slab/e/cpu_slabs", "none\n");
	write_slabinfo(HEAD "a   1000   1050  96  42 1" TAIL "b  5000 5008 256 16 1" TAIL
		       "c   50     60   64  10 1" TAIL "d 90000 100300 64 5 1" TAIL
		       "e 9 9 64 9 1" TAIL "f/g 9 9 64 9 1" TAIL);
}

static void bounds_are(const struct kmt_slabs *s, const char *name, uint64_t over, uint64_t under)
{
	const struct kmt_slab *c = kmt_slabs_find(s, name);

	assert_non_null(c);
	assert_true(c->has_bounds);
	assert_int_equal(c->over_most, over);
	assert_int_equal(c->under_most, under);
}

static void bounds(void **state)
{
	struct kmt_slabs *s;

	make_machine();
	assert_int_equal(kmt_slabs_count_now(root, false, &s), 0);
	bounds_are(s, "a", 6 * 42, 0);
	/* main, spare and RCU sheaf of 4 CPUs, 10 full ones of 2 nodes */
	bounds_are(s, "b", 32 * (4 * 3 + 2 * 10), 0);
	/* 2 * 10 + 4 * 32 are more than there are */
	bounds_are(s, "c", 50, 0);
	/* 30 slabs of the list were only estimated, by 5 objects each; one slab of a CPU */
	bounds_are(s, "d", 5 + 150, 150);
	assert_false(kmt_slabs_find(s, "e")->has_bounds);
	assert_false(kmt_slabs_find(s, "f/g")->has_bounds);
	assert_int_equal(kmt_slabs_find(s, "a")->reclaim, KMT_RECLAIM_YES);
	assert_int_equal(kmt_slabs_find(s, "b")->reclaim, KMT_RECLAIM_NO);
	assert_int_equal(kmt_slabs_find(s, "c")->reclaim, KMT_RECLAIM_UNKNOWN);
	assert_int_equal(kmt_slabs_memory(s)->reclaimable, 300 * 1024);
	assert_int_equal(kmt_slabs_memory(s)->unreclaimable, 20 * 1024);
	assert_false(kmt_slabs_memory(s)->is_shrunk);
	kmt_slabs_free(s);

	/* after a shrink: each CPU's slabs, and its main sheaf */
	assert_int_equal(kmt_slabs_count_now(root, true, &s), 0);
	bounds_are(s, "a", 6 * 42, 0);
	bounds_are(s, "b", 32 * 4, 0);
	bounds_are(s, "c", 2 * 10 + 4 * 4, 0);
	assert_true(kmt_slabs_memory(s)->is_shrunk);
	kmt_slabs_free(s);
}

/* What is fixed when a cache is made is asked once, until one comes or goes. */
static void counted_again(void **state)
{
	struct kmt_slabs *before, *s;

	make_machine();
	make_link("d_too", "d");
	assert_int_equal(kmt_slabs_count_now(root, false, &before), 0);
	bounds_are(before, "b", 32 * (4 * 3 + 2 * 10), 0);
	assert_string_equal(kmt_slabs_find(before, "d")->aliases, "d_too");
	write_file("sys/kernel/slab/:b/sheaf_capacity", "64\n");
	write_file("sys/kernel/slab/a/cpu_slabs", "7\n");
	write_file("sys/kernel/slab/a/reclaim_account", "0\n");
	assert_int_equal(kmt_slabs_count_again(root, before, false, &s), 0);
	kmt_slabs_free(before);
	bounds_are(s, "a", 7 * 42, 0);
	assert_int_equal(kmt_slabs_find(s, "a")->reclaim, KMT_RECLAIM_YES);
	bounds_are(s, "b", 32 * (4 * 3 + 2 * 10), 0);
	bounds_are(s, "d", 5 + 150, 150);
	assert_string_equal(kmt_slabs_find(s, "d")->aliases, "d_too");
	before = s;

	/* another name of a cache that was there: all is asked again */
	make_link("d_as_well", "d");
	assert_int_equal(kmt_slabs_count_again(root, before, false, &s), 0);
	kmt_slabs_free(before);
	bounds_are(s, "b", 64 * (4 * 3 + 2 * 10), 0);
	assert_string_equal(kmt_slabs_find(s, "d")->aliases, "d_as_well\nd_too");
	before = s;

	/* in the list, but no directory of its own: it was not there before */
	write_file("sys/kernel/slab/:b/sheaf_capacity", "16\n");
	write_slabinfo(HEAD "b  5000 5008 256 16 1" TAIL "new 1 2 64 2 1" TAIL);
	assert_int_equal(kmt_slabs_count_again(root, before, false, &s), 0);
	kmt_slabs_free(before);
	bounds_are(s, "b", 16 * (4 * 3 + 2 * 10), 0);
	assert_null(kmt_slabs_find(s, "d"));
	kmt_slabs_free(s);
}

static void without_bounds(void **state)
{
	struct kmt_slabs *s;

	write_slabinfo(HEAD "filp 1 2 256 16 1" TAIL);
	assert_int_equal(kmt_slabs_count_now(root, false, &s), 0);
	assert_false(kmt_slabs_at(s, 0)->has_bounds);
	assert_null(kmt_slabs_memory(s));
	kmt_slabs_free(s);
	assert_null(kmt_slabs_memory(NULL));
	assert_int_equal(kmt_slabs_shrink(root), -ENOENT);
}

static void shrunk(void **state)
{
	char path[256], text[8] = "";
	FILE *f;

	make_machine();
	/* c, d and e have no such file; b's link is not followed, its directory is */
	assert_int_equal(kmt_slabs_shrink(root), 2);
	path_of(path, sizeof(path), "sys/kernel/slab/:b/shrink");
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "1");
}

static void bounds_stored(void **state)
{
	static const char list[] = "1 2 3 4 a b\n7 9 64 64 c\n8 9 64 64 d\n";
	static const char text[] = "memory 4096 8192 1\n5 0 a b\nreclaimable a b\n"
		"18446744073709551615 3 c\nunreclaimable d\n";
	static const char *const bad[] = {
		"memory 1 2\n", "memory 1 2 2\n", "memory x 2 1\n", "1 c\n", "1 2\n", "1 2 \n",
		"-1 2 c\n", "99999999999999999999 2 c\n", "\n",
		"reclaimable\n", "reclaimable \n", "reclaimables c\n",
	};
	struct kmt_buf b = { 0 };
	struct kmt_slabs *s;

	assert_int_equal(kmt_slabs_parse(list, strlen(list), "list", &s), 0);
	kmt_slabs_store_bounds(s, &b);
	assert_int_equal(b.len, 0);
	assert_int_equal(kmt_slabs_parse_bounds(text, strlen(text), "bounds", s), 0);
	assert_int_equal(kmt_slabs_parse_bounds("1 2 not there\n", 14, "bounds", s), 0);
	bounds_are(s, "a b", 5, 0);
	bounds_are(s, "c", UINT64_MAX, 3);
	assert_false(kmt_slabs_find(s, "d")->has_bounds);
	assert_int_equal(kmt_slabs_find(s, "a b")->reclaim, KMT_RECLAIM_YES);
	assert_int_equal(kmt_slabs_find(s, "c")->reclaim, KMT_RECLAIM_UNKNOWN);
	assert_int_equal(kmt_slabs_find(s, "d")->reclaim, KMT_RECLAIM_NO);
	assert_int_equal(kmt_slabs_memory(s)->unreclaimable, 8192);
	assert_true(kmt_slabs_memory(s)->is_shrunk);
	kmt_slabs_store_bounds(s, &b);
	assert_string_equal(kmt_buf_str(&b), text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kmt_slabs_parse_bounds(bad[i], strlen(bad[i]), "bounds", s),
				 -EINVAL);
	kmt_slabs_free(s);
	kmt_buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(caches_and_aliases, setup, teardown),
		cmocka_unit_test_setup_teardown(held, setup, teardown),
		cmocka_unit_test_setup_teardown(held_here, setup, teardown),
		cmocka_unit_test_setup_teardown(without_sysfs, setup, teardown),
		cmocka_unit_test_setup_teardown(faults, setup, teardown),
		cmocka_unit_test(running_kernel),
		cmocka_unit_test(stored),
		cmocka_unit_test(stored_faults),
		cmocka_unit_test(running_stored),
		cmocka_unit_test_setup_teardown(bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(counted_again, setup, teardown),
		cmocka_unit_test_setup_teardown(without_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(shrunk, setup, teardown),
		cmocka_unit_test(bounds_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
