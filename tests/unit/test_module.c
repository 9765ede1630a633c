// SPDX-License-Identifier: GPL-2.0-only
/* A module's name, its life, and the report of what survives it. */
#include "unit/world.h"

#include <errno.h>

#include "base/err.h"
#include "core/module.h"

static void names(void **state)
{
	static const struct {
		const char *text, *name;	/* NULL: refused */
	} cases[] = {
		{ "snd-pcm", "snd_pcm" }, { "8021q", "8021q" }, { "a", "a" }, { "", NULL },
		{ "brd.ko", NULL }, { "../brd", NULL }, { "b rd", NULL }, { "brd*", NULL },
		/* 55 characters fit, 56 do not */
		{ "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee12345",
		  "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee12345" },
		{ "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee123456", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[KMT_MODULE_NAME] = "as it was";

		assert_int_equal(kmt_module_name(cases[i].text, name), cases[i].name ? 0 : -EINVAL);
		assert_string_equal(name, cases[i].name ? cases[i].name : "as it was");
	}
}

static void last_unload(void **state)
{
	struct kmt_module_life m = { .n = 0 };

	assert_int_equal(kmt_module_unloaded(&m), 0);
	m = (struct kmt_module_life){ .n = 2, .load = { { 10, 20 }, { 30, 0 } } };
	assert_int_equal(kmt_module_unloaded(&m), 20);
	m.load[1].unloaded_ns = 40;
	assert_int_equal(kmt_module_unloaded(&m), 40);
}

#define SEC 1000000000ull

static int64_t summary(struct world *w, const char *key)
{
	const struct kmt_field *f = kmt_fields_find(&w->r->summary, key);

	assert_non_null(f);
	return f->cell.is_null ? -1 : f->cell.i;
}

/* Loaded at 10 s, gone at 12 s, loaded again at 13 s; two objects of before live on. */
static void survivors(void **state)
{
	struct kmt_module_life m = {
		.name = "mymod", .start_ns = 9 * SEC, .loads = 2, .is_loaded = true, .n = 2,
		.load = { { 10 * SEC, 12 * SEC }, { 13 * SEC, 0 } },
	};
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	w.in.module = &m;
	alloc(&w, IN_MODULE, "kmalloc-64", MSG_ADDR, 40, 64, 11 * SEC);
	alloc(&w, IN_MODULE, "kmalloc-64", MSG_ADDR + 64, 40, 64, 11 * SEC);
	alloc(&w, IN_MODULE, "kmalloc-64", MSG_ADDR + 128, 40, 64, 11 * SEC);
	/* freed after the unload, so it did not survive */
	release(&w, MSG_ADDR + 128, 0, 12 * SEC + 5);
	/* of the second load, which is still there */
	alloc(&w, IN_MODULE, "kmalloc-64", MSG_ADDR + 192, 40, 64, 15 * SEC);
	run(&w, "unload");
	assert_int_equal(w.r->n_rows, 1);
	assert_int_equal(w.r->rows[0].cells[kmt_report_column(w.r, "surviving_objects")].i, 2);
	assert_int_equal(w.r->rows[0].cells[kmt_report_column(w.r, "surviving_bytes")].i, 128);
	assert_int_equal(w.r->rows[0].cells[kmt_report_column(w.r, "age_max_ns")].i, 4 * SEC);
	assert_int_equal(w.r->rows[0].cells[kmt_report_column(w.r, "live_objects")].i, 3);
	assert_int_equal(summary(&w, "surviving_objects"), 2);
	assert_int_equal(summary(&w, "surviving_bytes"), 128);
	assert_int_equal(summary(&w, "module_loads"), 2);
	assert_int_equal(summary(&w, "module_loaded_ns"), 4 * SEC);
	assert_int_equal(summary(&w, "module_unloaded_ns"), -1);
	assert_int_equal(summary(&w, "module_watched_ns"), 3 * SEC);
	assert_true(has_note(&w, "2 objects that its code allocated survive its unload, 128 B"));
	assert_true(has_note(&w, "is still there"));
	/* every view says so */
	run(&w, "site,cache");
	assert_int_equal(summary(&w, "surviving_objects"), 2);
	close_world(&w);
}

static void none(void **state)
{
	struct kmt_module_life m = { .name = "mymod", .start_ns = 9 * SEC, .loads = 1, .n = 1,
				     .load = { { 0, 12 * SEC } } };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	w.in.module = &m;
	alloc(&w, IN_MODULE, "kmalloc-64", MSG_ADDR, 40, 64, 11 * SEC);
	release(&w, MSG_ADDR, 0, 12 * SEC);
	run(&w, "unload");
	assert_int_equal(w.r->n_rows, 0);
	assert_int_equal(summary(&w, "surviving_objects"), 0);
	assert_int_equal(summary(&w, "module_loaded_ns"), -1);
	assert_int_equal(summary(&w, "module_unloaded_ns"), 3 * SEC);
	assert_true(has_note(&w, "'mymod' was loaded before the start and unloaded after 3.00s"));
	assert_true(has_note(&w, "nothing that its code allocated survives"));
	close_world(&w);
}

static void never_loaded(void **state)
{
	struct kmt_module_life m = { .name = "mymod", .start_ns = 9 * SEC };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	w.in.module = &m;
	run(&w, "unload");
	assert_int_equal(w.r->n_rows, 0);
	assert_int_equal(summary(&w, "surviving_objects"), -1);
	assert_true(has_note(&w, "module 'mymod' was never loaded"));
	w.in.module = NULL;
	alloc(&w, IN_MODULE, "kmalloc-64", MSG_ADDR, 40, 64, 11 * SEC);
	run(&w, "unload");
	assert_int_equal(w.r->n_rows, 0);
	assert_null(kmt_fields_find(&w.r->summary, "module"));
	assert_true(has_note(&w, "no module was followed"));
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(last_unload),
		cmocka_unit_test(survivors),
		cmocka_unit_test(none),
		cmocka_unit_test(never_loaded),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
