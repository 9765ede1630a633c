// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions through which memory goes without an event, looked up in BTF made
 * here and a kallsyms file written here. Whether kprobes can be had is the running
 * kernel's matter: their event source is in sysfs or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <cmocka.h>

#include "source/functions.h"

static char *path;

static int setup(void **state)
{
	static char name[] = "/tmp/kmt-functions-XXXXXX";
	int fd = mkstemp(name);

	(void)state;
	path = name;
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static void kallsyms(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static enum kmt_attach kprobe(void)
{
	return access("/sys/bus/event_source/devices/kprobe/type", R_OK) ? KMT_ATTACH_NONE :
	       KMT_ATTACH_KPROBE;
}

/* BTF with one function that takes n integers and returns one of 'size' bytes. */
static struct btf *btf_of(const char *name, int n, unsigned size)
{
	struct btf *btf = btf__new_empty();
	int type, proto;

	assert_non_null(btf);
	type = btf__add_int(btf, "number", size, 0);
	proto = btf__add_func_proto(btf, type);
	for (int i = 0; i < n; i++)
		assert_int_equal(btf__add_func_param(btf, "arg", type), 0);
	assert_true(btf__add_func(btf, name, BTF_FUNC_STATIC, proto) > 0);
	return btf;
}

static void test_nowhere(void **state)
{
	struct kmt_function f[KMT_FUNCTIONS];
	struct btf *btf = btf__new_empty();

	(void)state;
	/* a module's, a part of one and a longer name are other functions */
	kallsyms("ffffffff81000000 T kmem_cache_free_bulky\n"
		 "ffffffff81000100 t kvfree_call_rcu.isra.0\n"
		 "ffffffffc0000000 t kmem_cache_destroy\t[other]\n");
	kmt_functions_look(btf, path, false, f);
	for (int i = 0; i < KMT_FUNCTIONS; i++) {
		assert_null(f[i].name);
		assert_false(f[i].no_proto);
		assert_int_equal(f[i].how, KMT_ATTACH_NONE);
	}
	kmt_functions_look(btf, "/nonexistent", false, f);
	assert_null(f[KMT_FUNC_FREE_BULK].name);
	btf__free(btf);
}

static void test_only_in_kallsyms(void **state)
{
	struct kmt_function f[KMT_FUNCTIONS];
	struct btf *btf = btf__new_empty();

	(void)state;
	/* as an unprivileged reader is shown them */
	kallsyms("0000000000000000 T kmem_cache_alloc_bulk_noprof\n"
		 "0000000000000000 T kmem_cache_free_bulk\n"
		 "0000000000000000 T kvfree_call_rcu\n"
		 "0000000000000000 T kmem_cache_destroy\n");
	kmt_functions_look(btf, path, false, f);
	assert_string_equal(f[KMT_FUNC_ALLOC_BULK].name, "kmem_cache_alloc_bulk_noprof");
	assert_string_equal(f[KMT_FUNC_FREE_BULK].name, "kmem_cache_free_bulk");
	for (int i = 0; i < KMT_FUNCTIONS; i++)
		assert_true(f[i].no_proto);
	/* these have had one form in all kernels */
	assert_int_equal(f[KMT_FUNC_FREE_BULK].how, kprobe());
	assert_int_equal(f[KMT_FUNC_CACHE_END].how, kprobe());
	/* of these it cannot be known without a prototype */
	assert_int_equal(f[KMT_FUNC_ALLOC_BULK].how, KMT_ATTACH_NONE);
	assert_int_equal(f[KMT_FUNC_GIVE_UP].how, KMT_ATTACH_NONE);
	btf__free(btf);
}

static void test_in_btf(void **state)
{
	struct kmt_function f[KMT_FUNCTIONS];
	struct btf *btf = btf_of("kmem_cache_alloc_bulk", 4, 1);

	(void)state;
	kallsyms("ffffffff81000000 T kmem_cache_alloc_bulk\n");
	kmt_functions_look(btf, path, false, f);
	assert_string_equal(f[KMT_FUNC_ALLOC_BULK].name, "kmem_cache_alloc_bulk");
	assert_false(f[KMT_FUNC_ALLOC_BULK].no_proto);
	assert_true(f[KMT_FUNC_ALLOC_BULK].is_other_form);	/* one byte: a bool */
	assert_null(f[KMT_FUNC_FREE_BULK].name);
	btf__free(btf);

	btf = btf_of("kmem_cache_alloc_bulk", 4, 4);
	kmt_functions_look(btf, path, false, f);
	assert_false(f[KMT_FUNC_ALLOC_BULK].is_other_form);
	btf__free(btf);
}

/* What has other arguments is another function, also where kallsyms has the name. */
static void test_of_other_arguments(void **state)
{
	struct kmt_function f[KMT_FUNCTIONS];
	struct btf *btf = btf_of("kmem_cache_free_bulk", 2, 4);

	(void)state;
	kallsyms("ffffffff81000000 T kmem_cache_free_bulk\n");
	kmt_functions_look(btf, path, false, f);
	assert_null(f[KMT_FUNC_FREE_BULK].name);
	assert_false(f[KMT_FUNC_FREE_BULK].no_proto);
	assert_int_equal(f[KMT_FUNC_FREE_BULK].how, KMT_ATTACH_NONE);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_only_in_kallsyms),
		cmocka_unit_test(test_in_btf),
		cmocka_unit_test(test_of_other_arguments),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
