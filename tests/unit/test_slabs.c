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

static void write_slabinfo(const char *text)
{
	char path[256];
	FILE *f;

	path_of(path, sizeof(path), "proc/slabinfo");
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(caches_and_aliases, setup, teardown),
		cmocka_unit_test_setup_teardown(without_sysfs, setup, teardown),
		cmocka_unit_test_setup_teardown(faults, setup, teardown),
		cmocka_unit_test(running_kernel),
		cmocka_unit_test(stored),
		cmocka_unit_test(stored_faults),
		cmocka_unit_test(running_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
