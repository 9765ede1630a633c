// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "symbol/symbols.h"

/* Load a kallsyms text that never was in a file. */
static int load(const char *text, size_t len, struct kmt_symbols **ret)
{
	char path[64];
	int fd = memfd_create("kallsyms", 0), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = kmt_symbols_load(path, ret);
	close(fd);
	return err;
}

/* The same from memory, where a NUL need not follow. */
static void from_memory(void **state)
{
	static const char lines[] = { "ffffffff81000000 T one\nffffffff81000010 t two\t[m]XX" };
	struct kmt_symbols *s;
	struct kmt_symbol sym;

	assert_int_equal(kmt_symbols_parse(lines, sizeof(lines) - 3, "a list", &s), 0);
	assert_true(kmt_symbols_find(s, 0xffffffff81000014, &sym));
	assert_string_equal(sym.name, "two");
	assert_string_equal(sym.module, "m");
	kmt_symbols_free(s);
	assert_int_equal(kmt_symbols_parse("what\n", 5, "a list", &s), -EINVAL);
	assert_string_equal(kmt_err_text(), "'a list': line 1 is no kernel symbol");
	assert_int_equal(kmt_symbols_parse("", 0, "a list", &s), -EINVAL);
}

static const char text[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000000 t first\n"
	"ffffffff81000100 T kmalloc_one\n"
	"ffffffff81000100 W kmalloc_weak\n"
	"ffffffff81000180 t $x\n"
	"ffffffff81000200 T dup\n"
	"ffffffff81000300 t last.constprop.0\n"
	"ffffffff81000400 T _etext\n"
	"ffffffff82000000 D some_data\n"
	"ffffffffc00f8000 t ftrace_trampoline\t[__builtin__ftrace]\n"
	"ffffffffc0100040 t dup\t[ext4]\n"
	"ffffffffc0100000 t ext4_one\t[ext4]\n"
	"ffffffffc0100080 d ext4_data\t[ext4]\n"
	"ffffffffc0200000 t bpf_prog_123_x\t[bpf]\n";

static void assert_find(const struct kmt_symbols *s, uint64_t addr, const char *name,
			const char *module)
{
	struct kmt_symbol sym;

	if (!name) {
		assert_false(kmt_symbols_find(s, addr, &sym));
		return;
	}
	assert_true(kmt_symbols_find(s, addr, &sym));
	assert_string_equal(sym.name, name);
	assert_true(addr >= sym.start && addr - sym.start < sym.size);
	if (module)
		assert_string_equal(sym.module, module);
	else
		assert_null(sym.module);
}

static void find(void **state)
{
	struct kmt_symbols *s;
	struct kmt_symbol sym;

	assert_int_equal(load(text, sizeof(text) - 1, &s), 0);
	assert_find(s, 0, NULL, NULL);
	assert_find(s, 0xffffffff80ffffff, NULL, NULL);
	assert_find(s, 0xffffffff81000000, "first", NULL);
	assert_find(s, 0xffffffff810000ff, "first", NULL);
	assert_find(s, 0xffffffff81000100, "kmalloc_one", NULL);	/* first of two names */
	assert_find(s, 0xffffffff810001ff, "kmalloc_one", NULL);	/* past $x */
	assert_find(s, 0xffffffff810003ff, "last.constprop.0", NULL);
	assert_find(s, 0xffffffff81000400, NULL, NULL);			/* behind _etext */
	assert_find(s, 0xffffffff82000000, NULL, NULL);			/* data */
	assert_find(s, 0xffffffffc010003f, "ext4_one", "ext4");
	assert_find(s, 0xffffffffc0100040, "dup", "ext4");
	assert_find(s, 0xffffffffc0100080, NULL, NULL);
	assert_find(s, 0xffffffffc0200010, "bpf_prog_123_x", "bpf");
	/* the last: 64 KiB at most */
	assert_find(s, 0xffffffffc020ffff, "bpf_prog_123_x", "bpf");
	assert_find(s, 0xffffffffc0210000, NULL, NULL);
	assert_find(s, UINT64_MAX, NULL, NULL);
	assert_false(kmt_symbols_find(NULL, 0xffffffff81000000, &sym));
	/* a return address belongs to what is before it */
	assert_true(kmt_symbols_find_ret(s, 0xffffffff81000200, &sym));
	assert_string_equal(sym.name, "kmalloc_one");
	assert_int_equal(sym.size, 0x100);
	assert_false(kmt_symbols_find_ret(s, 0, &sym));
	kmt_symbols_free(s);
}

static int count(void *ctx, const struct kmt_symbol *sym)
{
	++*(int *)ctx;
	return *(int *)ctx == 3 ? -ECANCELED : 0;
}

static void by_name(void **state)
{
	struct kmt_symbols *s;
	struct kmt_symbol sym;
	uint64_t start, end;
	int n = 0;

	assert_int_equal(load(text, sizeof(text) - 1, &s), 0);
	assert_true(kmt_symbols_by_name(s, "dup", NULL, &sym));
	assert_int_equal(sym.start, 0xffffffff81000200);
	assert_true(kmt_symbols_by_name(s, "dup", "ext4", &sym));
	assert_int_equal(sym.start, 0xffffffffc0100040);
	assert_true(kmt_symbols_by_name(s, "kmalloc_weak", NULL, &sym));
	assert_false(kmt_symbols_by_name(s, "dup", "xfs", &sym));
	assert_false(kmt_symbols_by_name(s, "some_data", NULL, &sym));
	assert_false(kmt_symbols_by_name(s, "_etext", NULL, &sym));
	assert_false(kmt_symbols_by_name(NULL, "dup", NULL, &sym));

	assert_int_equal(kmt_symbols_match(s, "kmalloc*", count, &n), 0);
	assert_int_equal(n, 2);
	n = 0;
	assert_int_equal(kmt_symbols_match(s, "*", count, &n), -ECANCELED);
	assert_int_equal(n, 3);

	assert_true(kmt_symbols_module_range(s, "ext4", &start, &end));
	assert_int_equal(start, 0xffffffffc0100000);
	assert_int_equal(end, 0xffffffffc0100080);
	assert_false(kmt_symbols_module_range(s, "xfs", &start, &end));
	kmt_symbols_free(s);
}

static void assert_print(const struct kmt_symbols *s, uint64_t addr, bool offset, const char *want)
{
	struct kmt_buf b = { 0 };

	kmt_symbols_print(s, addr, offset, &b);
	assert_string_equal(kmt_buf_str(&b), want);
	kmt_buf_done(&b);
}

static void print(void **state)
{
	struct kmt_symbols *s;

	assert_int_equal(load(text, sizeof(text) - 1, &s), 0);
	assert_print(s, 0xffffffff8100011c, true, "kmalloc_one+0x1c");
	assert_print(s, 0xffffffff8100011c, false, "kmalloc_one");
	assert_print(s, 0xffffffffc0100044, true, "dup+0x4 [ext4]");
	assert_print(s, 0xffffffffc0100044, false, "dup");
	assert_print(s, 0xffffffff81000000, true, "first+0x0");
	assert_print(s, 0x1000, true, "0x1000");
	assert_print(NULL, 0xffff888000001000, false, "0xffff888000001000");
	kmt_symbols_free(s);
}

static void faults(void **state)
{
	static const char zero[] = "0000000000000000 T a\n0000000000000000 t b\t[m]\n";
	static const char *const bad[] = {
		"", "\n\n", "hello\n", "ffffffff81000000 T \n", "ffffffff81000000\n",
		"ffffffff8100000011 T a\n", "ffffffff81000000 T a\nxyz\n", " T a\n",
	};
	struct kmt_symbols *s = NULL;

	assert_int_equal(load(zero, sizeof(zero) - 1, &s), -EACCES);
	assert_non_null(strstr(kmt_err_text(), "kptr_restrict"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(load(bad[i], strlen(bad[i]), &s), -EINVAL);
	assert_int_equal(kmt_symbols_load("/nonexistent/kallsyms", &s), -ENOENT);
	assert_int_equal(kmt_symbols_load("/", &s), -EISDIR);
	assert_null(s);
	kmt_symbols_free(NULL);
}

/* No newline at the end, odd bytes, an unclosed module: no crash, and the names are there. */
static void odd_lines(void **state)
{
	static const char odd[] = "ffffffff81000000 T a\r\nffffffff81000010 t b\t[m\n"
				  "FFFFFFFF81000020 w c\xff\033\nffffffff81000030 T d";
	struct kmt_symbols *s;
	struct kmt_symbol sym;

	assert_int_equal(load(odd, sizeof(odd) - 1, &s), 0);
	assert_find(s, 0xffffffff81000001, "a", NULL);
	assert_find(s, 0xffffffff81000010, "b", "m");
	assert_true(kmt_symbols_by_name(s, "d", NULL, &sym));
	assert_print(s, 0xffffffff81000025, true, "c\\xff\\x1b+0x5");
	kmt_symbols_free(s);
}

/* Every symbol is found at its own address: a large unsorted file against its recipe. */
static void many(void **state)
{
	enum { N = 150000 };
	char *big = malloc(N * 40), *p = big;
	struct kmt_symbols *s;
	struct kmt_symbol sym;

	assert_non_null(big);
	for (uint32_t i = 0; i < N; i++)	/* 7919 is prime to N: every index once */
		p += snprintf(p, 40, "%016llx T f%u\n",
			      0xffffffff80000000ULL + i * 7919ULL % N * 64, i * 7919U % N);
	assert_int_equal(load(big, (size_t)(p - big), &s), 0);
	for (uint32_t i = 0; i < N; i += 97) {
		char name[16];

		snprintf(name, sizeof(name), "f%u", i);
		assert_find(s, 0xffffffff80000000ULL + i * 64 + 5, name, NULL);
		assert_true(kmt_symbols_by_name(s, name, NULL, &sym));
		assert_int_equal(sym.start, 0xffffffff80000000ULL + i * 64);
	}
	kmt_symbols_free(s);
	free(big);
}

/* Only what is around some addresses, with its ends and modules. */
static void subset(void **state)
{
	static const uint64_t addrs[] = {
		0xffffffff81000105, 0xffffffff81000107, 0xffffffffc0100040, 0xffffffff81000200, 0x5,
	};
	struct kmt_symbols *s, *few;
	struct kmt_buf b = { 0 };

	assert_int_equal(load(text, sizeof(text) - 1, &s), 0);
	assert_int_equal(kmt_symbols_subset(s, addrs, 5, &few), 0);
	for (size_t i = 0; i < 5; i++) {
		struct kmt_buf want = { 0 };

		kmt_symbols_print(s, addrs[i], true, &want);
		kmt_symbols_print(few, addrs[i], true, &b);
		assert_string_equal(kmt_buf_str(&b), kmt_buf_str(&want));
		kmt_buf_clear(&b);
		kmt_buf_done(&want);
	}
	/* kmalloc_one ends where dup begins; first was not asked for, nor is it now */
	assert_find(few, 0xffffffff810001ff, "kmalloc_one", NULL);
	assert_find(few, 0xffffffff81000010, NULL, NULL);
	assert_find(few, 0xffffffffc0100090, NULL, NULL);
	kmt_buf_done(&b);
	kmt_symbols_free(few);
	kmt_symbols_free(s);
}

/* Another module comes to lie where ext4 lay. */
static void replace(void **state)
{
	static const struct kmt_symbol news[] = {
		{ .name = "foo_two", .module = "foo", .start = 0xffffffffc0100020, .size = 0x20 },
		{ .name = "foo_one", .module = "foo", .start = 0xffffffffc0100010, .size = 0x10 },
		/* outside of what is replaced */
		{ .name = "foo_far", .module = "foo", .start = 0xffffffffc0300000, .size = 0x10 },
	};
	struct kmt_symbols *s, *by;
	struct kmt_symbol sym;

	assert_int_equal(load(text, sizeof(text) - 1, &s), 0);
	assert_int_equal(kmt_symbols_new(&by), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(kmt_symbols_add(by, &news[i]), 0);
	assert_int_equal(kmt_symbols_replace(s, by, 0xffffffffc0100000, 0xffffffffc0101000), 0);
	kmt_symbols_free(by);
	assert_find(s, 0xffffffffc0100004, NULL, NULL);
	assert_find(s, 0xffffffffc0100018, "foo_one", "foo");
	assert_find(s, 0xffffffffc010003f, "foo_two", "foo");
	assert_find(s, 0xffffffffc0100044, NULL, NULL);
	assert_find(s, 0xffffffffc0300004, NULL, NULL);
	assert_find(s, 0xffffffff81000010, "first", NULL);
	assert_find(s, 0xffffffffc0200004, "bpf_prog_123_x", "bpf");
	/* names are found again, too: those that are left and the new ones */
	assert_true(kmt_symbols_by_name(s, "foo_two", "foo", &sym));
	assert_false(kmt_symbols_by_name(s, "ext4_one", NULL, &sym));
	assert_true(kmt_symbols_by_name(s, "last.constprop.0", NULL, &sym));
	assert_false(kmt_symbols_by_name(s, "dup", "ext4", &sym));
	kmt_symbols_free(s);
}

static int same_later(void *ctx, const struct kmt_symbol *sym)
{
	struct kmt_symbol found;

	assert_true(kmt_symbols_find(ctx, sym->start, &found));
	assert_int_equal(found.start, sym->start);
	return 0;
}

/* What a thread reads is what is read at once; or both say why not. */
static void later(void **state)
{
	struct kmt_symbols *now, *later;
	char why[256];
	int err = kmt_symbols_load(NULL, &now);

	assert_int_equal(kmt_symbols_wait(NULL), 0);
	snprintf(why, sizeof(why), "%s", err ? kmt_err_text() : "");
	assert_int_equal(kmt_symbols_load_later(&later), 0);
	if (err) {
		struct kmt_symbol sym;

		assert_false(kmt_symbols_find(later, 1, &sym));
		assert_int_equal(kmt_symbols_wait(later), err);
		assert_string_equal(kmt_err_text(), why);
	} else {
		/* a look-up waits by itself */
		assert_int_equal(kmt_symbols_match(now, "kmem_cache_*", same_later, later), 0);
		assert_int_equal(kmt_symbols_wait(later), 0);
		kmt_symbols_free(now);
	}
	kmt_symbols_free(later);
	/* nobody waits for it */
	assert_int_equal(kmt_symbols_load_later(&later), 0);
	kmt_symbols_free(later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find),
		cmocka_unit_test(by_name),
		cmocka_unit_test(print),
		cmocka_unit_test(faults),
		cmocka_unit_test(odd_lines),
		cmocka_unit_test(many),
		cmocka_unit_test(from_memory),
		cmocka_unit_test(subset),
		cmocka_unit_test(replace),
		cmocka_unit_test(later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
