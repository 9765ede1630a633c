// SPDX-License-Identifier: GPL-2.0-only
/*
 * Source directories, of this very program, which plays the kernel: its debug
 * information says tests/unit, src/base, ..., and it runs elsewhere than its file
 * says.
 */
#include "unit/world.h"

#include <errno.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "symbol/lines.h"

#define SELF "/proc/self/exe"

int kmt_test_code(int n);

/* Something to be asked about. */
int kmt_test_code(int n)
{
	for (int i = 0; i < n; i++)
		n ^= i;
	return n;
}

/* Where a function of this program would be if the first were at 0xffffffff81000000. */
static uint64_t moved(const void *code)
{
	return UINT64_C(0xffffffff81000000) + (uint64_t)code - (uint64_t)kmt_test_code;
}

/*
 * The symbols of that kernel. A static function may have a global one's name, and a
 * module any: kmt_buf_puts is not where it should be.
 */
static struct kmt_symbols *moved_symbols(void)
{
	struct kmt_symbols *s = NULL;
	char text[512];

	snprintf(text, sizeof(text), "%016lx T kmt_test_code\n%016lx T kmt_buf_add\n"
		 "%016lx t kmt_buf_puts\nffffffff91000000 T _etext\n"
		 "ffffffffa0000000 t mod_get\t[mymod]\nffffffffa0001000 t mod_end\t[mymod]\n"
		 "ffffffffa0001000 t kmt_lines_load\t[mymod]\n",
		 (unsigned long)moved(kmt_test_code), (unsigned long)moved(kmt_buf_add),
		 (unsigned long)moved(kmt_test_code) + 64);
	assert_int_equal(kmt_symbols_parse(text, strlen(text), "test", &s), 0);
	return s;
}

static struct kmt_lines *load_self(void)
{
	struct kmt_lines *l = NULL;

	if (kmt_lines_load(SELF, &l)) {
		assert_non_null(strstr(kmt_err_text(), "no debug information"));
		skip();	/* built without -g */
	}
	return l;
}

static void test_directory(void **state)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	struct kmt_symbols *s = moved_symbols();
	struct kmt_lines *l = load_self();
	uint64_t inside = moved((const char *)kmt_test_code + 1);

	kmt_lines_place(l, s);
	assert_true(kmt_lines_directory(l, inside, &b));
	assert_string_equal(kmt_buf_str(&b), "tests/unit");
	kmt_buf_clear(&b);
	/* the library's code: looked up as a return address, so one into it */
	assert_true(kmt_lines_directory(l, moved((const char *)kmt_lines_place + 1), &b));
	assert_string_equal(kmt_buf_str(&b), "src/symbol");
	kmt_buf_clear(&b);
	/* nothing is there */
	assert_false(kmt_lines_directory(l, 0, &b));
	assert_false(kmt_lines_directory(l, UINT64_C(0xffffffffa0000000), &b));
	/* not in place: a number of the running kernel means nothing in the file */
	kmt_lines_place(l, NULL);
	assert_false(kmt_lines_directory(l, inside, &b));
	assert_int_equal(b.len, 0);
	kmt_symbols_free(s);
	kmt_lines_free(l);
}

static void test_view(void **state)
{
	struct kmt_lines *l = load_self();
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	kmt_symbols_free(w.symbols);
	w.in.symbols = w.symbols = moved_symbols();
	kmt_lines_place(l, w.symbols);
	w.in.lines = l;
	alloc(&w, moved((const char *)kmt_test_code + 1), "kmalloc-64", 0x1000, 64, 64, 1);
	alloc(&w, moved((const char *)kmt_test_code + 2), "kmalloc-64", 0x2000, 64, 64, 1);
	alloc(&w, moved((const char *)kmt_buf_add + 1), "kmalloc-64", 0x3000, 64, 64, 1);
	alloc(&w, IN_MODULE, "kmalloc-2k", 0x4000, 2048, 2048, 1);
	alloc(&w, 0x1234, "kmalloc-64", 0x5000, 64, 64, 1);
	run(&w, "directory");
	assert_int_equal(w.r->n_rows, 4);
	is_text(&w, 0, "directory", "[mymod]");
	is_text(&w, 1, "directory", "tests/unit");
	is_int(&w, 1, "sites", 2);
	is_int(&w, 1, "live_bytes_allocated", 128);
	is_int(&w, row_of(&w, "directory", "src/base"), "sites", 1);
	is_int(&w, 3, "allocs", 1);
	assert_int_equal(w.r->n_notes, 0);

	w.in.lines = NULL;	/* modules can be told all the same */
	run(&w, "directory");
	assert_int_equal(w.r->n_rows, 2);
	is_text(&w, 0, "directory", "[mymod]");
	is_int(&w, 1, "allocs", 4);
	assert_true(has_note(&w, "--vmlinux=FILE"));
	close_world(&w);

	kmt_lines_place(l, NULL);	/* as if it were another kernel's */
	open_world(&w, (struct kmt_session_opts){ 0 });
	w.in.lines = l;
	alloc(&w, LOAD_MSG, "kmalloc-64", 0x1000, 64, 64, 1);
	run(&w, "directory");
	is_null(&w, 0, "directory");
	assert_true(has_note(&w, "is it the traced kernel's?"));
	close_world(&w);
	kmt_lines_free(l);
}

static void fails(const char *path, int err, const char *text)
{
	struct kmt_lines *l = NULL;

	assert_int_equal(kmt_lines_load(path, &l), err);
	assert_non_null(strstr(kmt_err_text(), text));
	assert_null(l);
}

static void test_bad_files(void **state)
{
	char path[256];

	fails("/nonexistent/vmlinux", -ENOENT, "/nonexistent/vmlinux");
	path_of(path, sizeof(path), "kallsyms");
	fails(path, -EINVAL, path);		/* a text */
	fails("/", -EINVAL, "/");
	write_file("kallsyms", "");
	fails(path, -EINVAL, path);
	write_file("kallsyms", "\177ELF\2\1\1");	/* cut off */
	fails(path, -EINVAL, path);
}

static void test_build_id(void **state)
{
	struct kmt_lines *l = load_self();
	const char *id = kmt_lines_build_id(l);

	if (id)		/* the linker was asked for one */
		assert_int_equal(strlen(id) % 2, 0);
	kmt_lines_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_build_id),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
