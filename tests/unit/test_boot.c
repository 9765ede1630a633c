// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's boot options, its buffer's state, and names of caches by size. */
#include <errno.h>
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
#include "source/boot.h"
#include "source/slab_names.h"
#include "symbol/slabs.h"
#include "tracers/tracers.h"

#define MIB (1ull << 20)

static struct kmt_boot_kernel kernel_of(const char *kallsyms)
{
	struct kmt_boot_kernel k = { .ram_bytes = 1024 * MIB, .n_cpus = 2 };
	FILE *f = fmemopen((void *)kallsyms, strlen(kallsyms), "r");

	assert_non_null(f);
	kmt_boot_kernel_look(f, &k);
	fclose(f);
	return k;
}

/* As Debian's 5.10 and 6.12 have them. */
#define OLD	"ffffffffa767ce2f t set_trace_boot_options\nffffffffa767ce68 t set_trace_boot_clock\n" \
		"ffffffffa767cfda t set_buf_size\nffffffffa767dc32 t setup_trace_event\n"

static void test_kernel(void **state)
{
	struct kmt_boot_kernel k = kernel_of(OLD "ffffffffb7d96720 t boot_instance\n");

	assert_true(k.looked && k.has_event && k.has_size && k.has_clock && k.has_options &&
		    k.has_instance);
	k = kernel_of(OLD);
	assert_true(k.has_event && !k.has_instance);
	/* a module's function of the same name is not the kernel's */
	k = kernel_of("0000000000000000 T _text\n0000000000000000 t boot_instance\t[mod]\n");
	assert_true(k.looked && !k.has_event && !k.has_instance);
	k = kernel_of(" ");
	assert_false(k.looked);
}

static void test_size(void **state)
{
	struct kmt_boot_kernel k = { .ram_bytes = 1024 * MIB, .n_cpus = 2 };

	/* 1024 / 16 / 2 */
	assert_int_equal(kmt_boot_buffer_bytes(&k), 32 * MIB);
	k.ram_bytes = 1000 * MIB;	/* 31.25 */
	assert_int_equal(kmt_boot_buffer_bytes(&k), 31 * MIB);
	k.ram_bytes = 64 * MIB, k.n_cpus = 8;
	assert_int_equal(kmt_boot_buffer_bytes(&k), MIB);
	k.ram_bytes = 1ull << 40, k.n_cpus = 256;
	assert_int_equal(kmt_boot_buffer_bytes(&k), 64 * MIB);
}

static void expect_options(const struct kmt_boot_kernel *k, const struct kmt_boot_wish *w,
			   const char *want)
{
	struct kmt_buf out = { 0 };

	assert_int_equal(kmt_boot_options(k, w, &out), 0);
	assert_string_equal(kmt_buf_str(&out), want);
	kmt_buf_done(&out);
}

#define SLAB	"kmem:kfree,kmem:kmem_cache_free,kmem:kmalloc,kmem:kmalloc_node,kmem:kmem_cache_alloc," \
		"kmem:kmem_cache_alloc_node"

static void test_options(void **state)
{
	struct kmt_boot_kernel k = kernel_of(OLD);
	struct kmt_boot_wish w = { .tracers = KMT_TRACER_BIT(slab) };
	struct kmt_buf out = { 0 };

	expect_options(&k, &w, "trace_event=" SLAB " trace_buf_size=32M trace_clock=mono "
		       "trace_options=nooverwrite");
	w.buffer_bytes = 1536 * 1024;
	w.keep_last = true;
	expect_options(&k, &w, "trace_event=" SLAB " trace_buf_size=1536K trace_clock=mono");
	w.stacks = true;
	expect_options(&k, &w, "trace_event=" SLAB " trace_buf_size=1536K trace_clock=mono "
		       "trace_options=stacktrace");
	w = (struct kmt_boot_wish){ .tracers = KMT_TRACER_BIT(vmalloc) };
	expect_options(&k, &w, "trace_event=vmalloc:free_vmap_area_noflush,vmalloc:alloc_vmap_area "
		       "trace_buf_size=32M trace_clock=mono trace_options=nooverwrite,stacktrace");
	w = (struct kmt_boot_wish){ .tracers = KMT_TRACER_BIT(slab), .instance = "b" };
	assert_int_equal(kmt_boot_options(&k, &w, &out), -ENOTSUP);
	k.has_instance = true;
	expect_options(&k, &w, "trace_instance=b," SLAB " trace_buf_size=32M "
		       "trace_options=nooverwrite");
	k = (struct kmt_boot_kernel){ .looked = true };
	w.instance = NULL;
	assert_int_equal(kmt_boot_options(&k, &w, &out), -ENOTSUP);
	kmt_buf_done(&out);
}

static void test_line(void **state)
{
	struct kmt_boot_line l;

	assert_true(kmt_boot_line_parse("BOOT_IMAGE=/vmlinuz quiet trace_event=kmem:kfree,sched:* "
					"trace_buf_size=1M\n", &l));
	assert_string_equal(l.options, "trace_event=kmem:kfree,sched:* trace_buf_size=1M");
	assert_string_equal(l.instance, "");
	assert_int_equal(l.tracers, KMT_TRACER_BIT(slab));
	assert_true(kmt_boot_line_parse("trace_event=kmem:*", &l));
	assert_int_equal(l.tracers, KMT_TRACER_BIT(slab) | KMT_TRACER_BIT(page));
	assert_true(kmt_boot_line_parse("trace_event=vmalloc", &l));
	assert_int_equal(l.tracers, KMT_TRACER_BIT(vmalloc));
	assert_true(kmt_boot_line_parse("trace_event=kmalloc", &l));
	assert_int_equal(l.tracers, KMT_TRACER_BIT(slab));
	assert_false(kmt_boot_line_parse("trace_event=sched:kmalloc,kmem:x,,: xtrace_event=kmem:kfree",
					 &l));
	assert_string_equal(l.options, "trace_event=sched:kmalloc,kmem:x,,:");
	assert_false(kmt_boot_line_parse("", &l));
}

static void test_line_instance(void **state)
{
	struct kmt_boot_line l;

	assert_true(kmt_boot_line_parse("trace_instance=boot^traceoff,kmem:kfree", &l));
	assert_string_equal(l.instance, "boot");
	assert_true(kmt_boot_line_parse("trace_instance=a,sched:* trace_instance=b@0x1:2,kmem", &l));
	assert_string_equal(l.instance, "b");
	/* both: the top-level buffer begins earlier, wherever it stands */
	assert_true(kmt_boot_line_parse("trace_instance=b,kmem trace_event=kmem:kfree", &l));
	assert_string_equal(l.instance, "");
	assert_int_equal(l.tracers, KMT_TRACER_BIT(slab));
	assert_true(kmt_boot_line_parse("trace_event=kmem:kfree trace_instance=b,kmem", &l));
	assert_string_equal(l.instance, "");
	/* no way out of the directory of instances */
	assert_false(kmt_boot_line_parse("trace_instance=../x,kmem", &l));
	assert_false(kmt_boot_line_parse("trace_instance=,kmem", &l));
}

/* A stats file of 6.12, with other numbers. */
static void test_stats(void **state)
{
	struct kmt_boot_cpu c = { 0 };
	char clock[16];

	kmt_boot_stats_parse("entries: 84046\noverrun: 12\ncommit overrun: 3\nbytes: 4601160\n"
			     "oldest event ts:     1.760001\nnow ts:    23.583151\n"
			     "dropped events: 4\nread events: 5\n", &c);
	assert_int_equal(c.entries, 84046);
	assert_int_equal(c.overrun, 12);
	assert_int_equal(c.commit_overrun, 3);
	assert_int_equal(c.dropped, 4);
	assert_int_equal(c.read, 5);
	assert_int_equal(c.first_ns, 1760001000);
	assert_int_equal(c.now_ns, 23583151000);
	kmt_boot_clock_parse("local global counter uptime perf [mono] mono_raw boot\n", clock,
			     sizeof(clock));
	assert_string_equal(clock, "mono");
	assert_true(kmt_boot_clock_has_time(clock));
	kmt_boot_clock_parse("[x86-tsc]", clock, sizeof(clock));
	assert_false(kmt_boot_clock_has_time(clock));
	kmt_boot_clock_parse("[a-name-that-is-too-long]", clock, sizeof(clock));
	assert_string_equal(clock, "");
	kmt_boot_clock_parse("none", clock, sizeof(clock));
	assert_string_equal(clock, "");
}

static void put_file(const char *root, const char *cache, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/sys/kernel", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/sys/kernel/slab", root);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/sys/kernel/slab/%s", root, cache);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/sys/kernel/slab/%s/object_size", root, cache);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_slab_names(void **state)
{
	static const char text[] = "1 1 192 21 dentry\n1 1 192 21 cred\n1 1 600 13 inode_cache\n"
				   "1 1 64 64 kmalloc-64\n1 1 64 64 anon_vma\n1 1 32 128 x\n1 1 32 128 y\n";
	char root[] = "/tmp/kmt-test-boot.XXXXXX", command[64];
	struct kmt_slab_names *n;
	struct kmt_slabs *slabs;

	assert_non_null(mkdtemp(root));
	put_file(root, "dentry", "192\n");
	put_file(root, "cred", "176\n");
	put_file(root, "x", "32\n");
	put_file(root, "y", "32\n");
	assert_int_equal(kmt_slabs_parse(text, sizeof(text) - 1, "text", &slabs), 0);
	assert_int_equal(kmt_slab_names_new(slabs, root, &n), 0);
	assert_string_equal(kmt_slab_name(n, 192, 192), "dentry");
	assert_string_equal(kmt_slab_name(n, 176, 192), "cred");
	assert_null(kmt_slab_name(n, 180, 192));	/* of neither */
	assert_string_equal(kmt_slab_name(n, 590, 600), "inode_cache");	/* its own size unknown */
	assert_string_equal(kmt_slab_name(n, 64, 64), "anon_vma");	/* no kmalloc */
	assert_null(kmt_slab_name(n, 32, 32));		/* of both */
	assert_null(kmt_slab_name(n, 1, 601));
	kmt_slab_names_free(n);
	kmt_slabs_free(slabs);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

/* What a recording from the boot begins with is what no running kernel says. */
static void test_none_active(void **state)
{
	struct kmt_slabs *s;

	assert_int_equal(kmt_slabs_parse("0 0 8 512 a\n0 0 8 512 b\n", 24, "text", &s), 0);
	assert_true(kmt_slabs_none_active(s));
	kmt_slabs_free(s);
	assert_int_equal(kmt_slabs_parse("0 0 8 512 a\n1 1 8 512 b\n", 24, "text", &s), 0);
	assert_false(kmt_slabs_none_active(s));
	kmt_slabs_free(s);
	assert_false(kmt_slabs_none_active(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel), cmocka_unit_test(test_size),
		cmocka_unit_test(test_options), cmocka_unit_test(test_line),
		cmocka_unit_test(test_line_instance), cmocka_unit_test(test_stats),
		cmocka_unit_test(test_slab_names), cmocka_unit_test(test_none_active),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
