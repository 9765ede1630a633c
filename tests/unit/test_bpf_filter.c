// SPDX-License-Identifier: GPL-2.0-only
/*
 * The filter in the kernel's form. Its tables are asked the way the kernel
 * side asks them: with the code of src/bpf, compiled for user space.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "symbol/symbols.h"
#include "unit/bpf_shim.h"
#include "unit/slabs.h"

static const char kallsyms[] =
	"ffffffff81000000 T _text\n"
	"ffffffff81000100 T vfs_read\n"
	"ffffffff81000200 T vfs_write\n"
	"ffffffff81000300 T load_msg\n"
	"ffffffff81000400 T _etext\n"
	"ffffffffc0100000 t ext4_one\t[ext4]\n"
	"ffffffffc0100080 t ext4_two\t[ext4]\n"
	"ffffffffc0200000 t other\t[bpf]\n";

static const struct slab_row rows[] = {
	{ "dentry", 192, NULL },
	{ "filp", 256, "tw_sock_TCP" },
	{ "kmalloc-64", 64, NULL }, { "kmalloc-cg-64", 64, NULL }, { "kmalloc-rcl-64", 64, NULL },
	{ "kmalloc-96", 96, NULL },
	{ "kmalloc-8k", 8192, NULL },
};

struct world {
	struct kmt_filter filter;
	struct kmt_source_opts opts;
	struct kmt_slabs *slabs;
	struct kmt_symbols *symbols;
	struct kmt_filter_tables *t;	/* the map the programs read */
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int fd = memfd_create("kallsyms", 0);
	char path[64];

	assert_non_null(w);
	assert_int_equal(write(fd, kallsyms, sizeof(kallsyms) - 1), sizeof(kallsyms) - 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(kmt_symbols_load(path, &w->symbols), 0);
	close(fd);
	w->slabs = slabs_of(rows, sizeof(rows) / sizeof(rows[0]));
	assert_non_null(w->slabs);
	w->t = shim_map(&kmt_filters, sizeof(*w->t), 1);
	assert_non_null(w->t);
	w->opts = (struct kmt_source_opts) {
		.filter = &w->filter, .slabs = w->slabs, .symbols = w->symbols,
	};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	kmt_symbols_free(w->symbols);
	kmt_slabs_free(w->slabs);
	shim_done();
	free(w);
	return 0;
}

static void add(struct world *w, const char *expr)
{
	assert_int_equal(kmt_filter_add(&w->filter, expr), 1);
}

static void compile(struct world *w)
{
	assert_int_equal(kmt_bpf_filter_tables(&w->opts, w->t), 0);
}

static void expect_refusal(struct world *w, int err, const char *word)
{
	assert_int_equal(kmt_bpf_filter_tables(&w->opts, w->t), err);
	if (!strstr(kmt_err_text(), word))
		fail_msg("'%s' is not in '%s'", word, kmt_err_text());
}

/* Does a cache of this name pass, as the kernel side decides it? */
static bool cache_passes(const char *name)
{
	struct kmem_cache c = { .name = name };

	return kmt_cache_passes((uintptr_t)&c, 0, 0);
}

static void test_nothing_asked(void **state)
{
	struct world *w = *state;

	compile(w);
	assert_int_equal(w->t->n_cache + w->t->n_cache_not + w->t->n_task + w->t->n_pid, 0);
	assert_int_equal(w->t->n_ranges + w->t->n_verdicts, 0);
}

static void test_cache(void **state)
{
	struct world *w = *state;

	add(w, "cache=dentry");
	add(w, "cache=k*-64");
	add(w, "cache!=*-rcl-*");
	compile(w);
	assert_true(cache_passes("dentry"));
	assert_true(cache_passes("kmalloc-64"));
	assert_true(cache_passes("kmalloc-cg-64"));
	assert_false(cache_passes("kmalloc-rcl-64"));
	assert_false(cache_passes("kmalloc-96"));
	assert_false(cache_passes("filp"));
}

/* Merged caches go by one name in the kernel: an alias stands for it. */
static void test_alias(void **state)
{
	struct world *w = *state;

	add(w, "cache=tw_sock_*");
	compile(w);
	assert_true(cache_passes("filp"));
	assert_true(cache_passes("tw_sock_TCP"));
	assert_false(cache_passes("dentry"));
}

static void test_alias_left_out(void **state)
{
	struct world *w = *state;

	add(w, "cache!=tw_sock_TCP");
	compile(w);
	assert_false(cache_passes("filp"));
	assert_true(cache_passes("dentry"));
}

static void test_unknown_cache(void **state)
{
	struct world *w = *state;

	add(w, "cache=dentrie");
	expect_refusal(w, -EINVAL, "no slab cache is called 'dentrie'");
}

/* A glob may name what does not exist yet; a cache to leave out need not exist. */
static void test_unknown_but_allowed(void **state)
{
	struct world *w = *state;

	add(w, "cache=not_yet_*");
	add(w, "cache=kmalloc-large");
	add(w, "cache!=nobody");
	compile(w);
	assert_true(cache_passes("not_yet_there"));
}

static bool kmalloc_passes(struct world *w, uint32_t size, unsigned family)
{
	return kmt_kmalloc_passes(w->t, size, family);
}

/* Where the kernel cannot tell a kmalloc's cache it goes by size and family. */
static void test_kmalloc_verdicts(void **state)
{
	struct world *w = *state;

	add(w, "cache=kmalloc-64");
	add(w, "cache=kmalloc-9*");
	compile(w);
	assert_true(kmalloc_passes(w, 64, KMT_GFP_NORMAL));
	assert_false(kmalloc_passes(w, 64, KMT_GFP_CGROUP));
	assert_false(kmalloc_passes(w, 64, KMT_GFP_RECLAIM));
	/* families without a cache of this size take the plain one */
	assert_true(kmalloc_passes(w, 64, KMT_GFP_DMA));
	for (unsigned family = 0; family < 4; family++)
		assert_true(kmalloc_passes(w, 96, family));
	assert_false(kmalloc_passes(w, 8192, KMT_GFP_NORMAL));
	assert_false(kmalloc_passes(w, 16384, KMT_GFP_NORMAL));
	/* through the function that asks for either */
	assert_true(kmt_cache_passes(0, 64, KMT_GFP_NORMAL));
	assert_false(kmt_cache_passes(0, 64, KMT_GFP_CGROUP));
}

static void test_large_kmalloc(void **state)
{
	struct world *w = *state;

	add(w, "cache=kmalloc-large");
	compile(w);
	for (unsigned family = 0; family < 4; family++)
		for (uint32_t size = 16384; size <= 1u << 30; size *= 2)
			assert_true(kmalloc_passes(w, size, family));
	assert_false(kmalloc_passes(w, 8192, KMT_GFP_NORMAL));
}

static void test_all_kmalloc_of_a_whole_kernel(void **state)
{
	static const char *const family[] = { "kmalloc-", "kmalloc-cg-", "kmalloc-rcl-", "dma-kmalloc-" };
	static const uint32_t size[] = {
		8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192,
	};
	struct world *w = *state;
	char names[4 * 13][32];
	struct slab_row all[4 * 13];

	for (unsigned i = 0; i < 4 * 13; i++) {
		snprintf(names[i], sizeof(names[i]), "%s%u", family[i / 13], size[i % 13]);
		all[i] = (struct slab_row) { names[i], size[i % 13], NULL };
	}
	kmt_slabs_free(w->slabs);
	w->opts.slabs = w->slabs = slabs_of(all, 4 * 13);
	assert_non_null(w->slabs);
	add(w, "cache!=dentry");
	compile(w);
	for (unsigned f = 0; f < 4; f++)
		for (unsigned i = 0; i < 13; i++)
			assert_true(kmalloc_passes(w, size[i], f));
	assert_true(kmalloc_passes(w, 1 << 20, KMT_GFP_DMA));
}

static void test_site(void **state)
{
	struct world *w = *state;

	add(w, "site=vfs_*");
	compile(w);
	assert_int_equal(w->t->n_ranges, 2);
	/* return addresses: behind the first byte, up to the end */
	assert_false(kmt_site_passes(0xffffffff81000100));
	assert_true(kmt_site_passes(0xffffffff81000101));
	assert_true(kmt_site_passes(0xffffffff810002ff));
	assert_true(kmt_site_passes(0xffffffff81000300));
	assert_false(kmt_site_passes(0xffffffff81000301));
	assert_false(kmt_site_passes(0));
}

static void test_module(void **state)
{
	struct world *w = *state;

	add(w, "module=ext4");
	compile(w);
	assert_true(kmt_site_passes(0xffffffffc0100001));
	assert_true(kmt_site_passes(0xffffffffc0100081));
	assert_false(kmt_site_passes(0xffffffffc0200001));
	assert_false(kmt_site_passes(0xffffffff81000101));
}

static void test_no_such_site(void **state)
{
	struct world *w = *state;

	add(w, "site=no_such_function");
	expect_refusal(w, -EINVAL, "no kernel function matches 'no_such_function'");
}

static void test_no_such_module(void **state)
{
	struct world *w = *state;

	add(w, "module=xfs");
	expect_refusal(w, -EINVAL, "module 'xfs' is not loaded");
}

static void test_no_symbols(void **state)
{
	struct world *w = *state;

	w->opts.symbols = NULL;
	add(w, "site=vfs_read");
	expect_refusal(w, -EACCES, "kallsyms");
}

static void test_too_many_functions(void **state)
{
	struct world *w = *state;
	int fd = memfd_create("kallsyms", 0);
	char path[64];

	for (unsigned i = 0; i < KMT_RANGES + 2; i++)
		dprintf(fd, "ffffffff8100%04x T f%u\n", i * 16, i);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	kmt_symbols_free(w->symbols);
	w->symbols = NULL;
	assert_int_equal(kmt_symbols_load(path, &w->symbols), 0);
	close(fd);
	w->opts.symbols = w->symbols;
	add(w, "site=f*");
	expect_refusal(w, -EINVAL, "more than 256 functions");
}

static void set_task(const char *comm, uint32_t pid)
{
	memset(shim.comm, 0, sizeof(shim.comm));
	memcpy(shim.comm, comm, strlen(comm));
	shim.pid_tgid = (uint64_t)pid << 32 | pid;
}

static void test_task_and_pid(void **state)
{
	struct world *w = *state;

	add(w, "task=ba*");
	add(w, "task=?sh");
	add(w, "pid=77");
	add(w, "pid=78");
	compile(w);
	kmt_flags = KMT_F_FILTER | KMT_F_TASK | KMT_F_PID;
	set_task("bash", 77);
	assert_true(kmt_task_passes());
	set_task("zsh", 78);
	assert_true(kmt_task_passes());
	set_task("zsh", 79);
	assert_false(kmt_task_passes());
	set_task("fish", 77);
	assert_false(kmt_task_passes());
	kmt_flags = 0;
}

static void test_bad_globs(void **state)
{
	char expr[6 + KMT_GLOB_LEN + 2] = "cache=";
	struct world *w = *state;
	struct kmt_glob g;

	assert_int_equal(kmt_bpf_glob_compile("[a", &g), -EINVAL);
	assert_int_equal(kmt_bpf_glob_compile("[[:alpha:]]*", &g), -EINVAL);
	memset(expr + 6, '?', KMT_GLOB_LEN);
	assert_int_equal(kmt_bpf_glob_compile(expr + 6, &g), 0);
	expr[6 + KMT_GLOB_LEN] = '?';
	add(w, expr);
	expect_refusal(w, -EINVAL, "characters");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_asked),
		TEST(test_cache),
		TEST(test_alias),
		TEST(test_alias_left_out),
		TEST(test_unknown_cache),
		TEST(test_unknown_but_allowed),
		TEST(test_kmalloc_verdicts),
		TEST(test_large_kmalloc),
		TEST(test_all_kmalloc_of_a_whole_kernel),
		TEST(test_site),
		TEST(test_module),
		TEST(test_no_such_site),
		TEST(test_no_such_module),
		TEST(test_no_symbols),
		TEST(test_too_many_functions),
		TEST(test_task_and_pid),
		TEST(test_bad_globs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
