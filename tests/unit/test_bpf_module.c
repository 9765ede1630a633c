// SPDX-License-Identifier: GPL-2.0-only
/* The programs that follow a module, run in user space on a module of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/bpf_shim.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wpointer-arith"
#define const
#include "bpf/module.bpf.c"
#undef const
#pragma GCC diagnostic pop

#define TEXT	0xffffffffc0001000ull
#define INIT	0xffffffffc0100000ull

/* What lies behind it in the kernel's memory: symbols, their names, and where both are. */
static struct {
	struct kmt_wire_sym sym[3];
	char names[32];
	struct mod_kallsyms k;
} file;

static struct module mod;

/* A struct module of Linux 6.4 and later, or of 6.3 and before. */
static void make_module(const char *name, uint64_t text, uint64_t init)
{
	memset(&mod, 0, sizeof(mod));
	snprintf(mod.name, sizeof(mod.name), "%s", name);
	memcpy(file.names, "\0probe\0start", 13);
	file.sym[1] = (struct kmt_wire_sym){ .name = 1, .value = text + 0x10, .size = 0x20 };
	file.sym[2] = (struct kmt_wire_sym){ .name = 7, .value = init, .size = 0x40 };
	file.k = (struct mod_kallsyms){ file.sym, 3, file.names };
	mod.kallsyms = &file.k;
	if (shim_module_layouts) {
		struct module___layout *old = (void *)&mod;

		old->core_layout = (struct module_layout){ (void *)text, 0x1000 };
		old->init_layout = (struct module_layout){ (void *)init, 0x800 };
		return;
	}
	mod.mem[MOD_TEXT] = (struct module_memory){ (void *)text, 0x1000 };
	mod.mem[MOD_INIT_TEXT] = (struct module_memory){ (void *)init, 0x800 };
}

/* do_init_module(): the place of the init functions is forgotten before it is given back */
static void end_init(void)
{
	if (shim_module_layouts)
		((struct module___layout *)&mod)->init_layout = (struct module_layout){ 0 };
	else
		mod.mem[MOD_INIT_TEXT] = (struct module_memory){ 0 };
}

static void tell(int (*prog)(struct bpf_raw_tracepoint_args *ctx))
{
	struct {
		__u64 args[1];
	} ctx = { { (__u64)&mod } };

	shim.now_ns += 1000;
	assert_int_equal(prog((void *)&ctx), 0);
}

static int begin(void **state)
{
	memset(&shim, 0, sizeof(shim));
	memset(&kmt_module, 0, sizeof(kmt_module));
	snprintf((char *)kmt_module_name, sizeof(kmt_module_name), "foo");
	assert_non_null(shim_map(&kmt_names, sizeof(struct kmt_module_names), KMT_MODULE_NAMES));
	return 0;
}

static int end(void **state)
{
	shim_done();
	return 0;
}

/* A return address lies behind its call: from the range's first byte on, up to its end. */
static void follow(void)
{
	assert_false(kmt_module_passes(TEXT + 0x10));
	make_module("foo", TEXT, INIT);
	tell(kmt_module_load);
	assert_int_equal(kmt_module.loads, 1);
	assert_false(kmt_module_passes(TEXT));
	assert_true(kmt_module_passes(TEXT + 1));
	assert_true(kmt_module_passes(TEXT + 0x1000));
	assert_false(kmt_module_passes(TEXT + 0x1001));
	assert_true(kmt_module_passes(INIT + 0x10));
	assert_false(kmt_module_passes(INIT + 0x801));
	/* another one's functions may lie there now */
	end_init();
	assert_false(kmt_module_passes(INIT + 0x10));
	assert_true(kmt_module_passes(TEXT + 0x10));
	tell(kmt_module_free);
	assert_int_equal(kmt_module.changes, 2);
	assert_false(kmt_module_passes(TEXT + 0x10));
	assert_int_equal(kmt_module.load[0].loaded_ns, 1000);
	assert_int_equal(kmt_module.load[0].unloaded_ns, 2000);
}

static void follows_new(void **state)
{
	shim_module_layouts = false;
	follow();
}

static void follows_old(void **state)
{
	shim_module_layouts = true;
	follow();
	shim_module_layouts = false;
}

static void is_no_other(void **state)
{
	static const char *const names[] = { "fo", "foo2", "", "Foo" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		make_module(names[i], TEXT, INIT);
		tell(kmt_module_load);
		assert_int_equal(kmt_module.changes, 0);
	}
	/* of a load that was not seen the unload is none either */
	make_module("foo", TEXT, INIT);
	tell(kmt_module_free);
	assert_int_equal(kmt_module.changes, 0);
}

static void loads_again(void **state)
{
	for (uint64_t i = 0; i < KMT_MODULE_LOADS + 3; i++) {
		make_module("foo", TEXT + i * 0x10000, INIT);
		tell(kmt_module_load);
		assert_true(kmt_module_passes(TEXT + i * 0x10000 + 8));
		if (i)
			assert_false(kmt_module_passes(TEXT + (i - 1) * 0x10000 + 8));
		tell(kmt_module_free);
	}
	assert_int_equal(kmt_module.loads, KMT_MODULE_LOADS + 3);
	/* the ones before have given way: loads from 1, rows from 0 */
	assert_int_equal(kmt_module.load[2].text.start, TEXT + (KMT_MODULE_LOADS + 2) * 0x10000);
	assert_int_equal(kmt_module.load[3].text.start, TEXT + 3 * 0x10000);
}

static void keeps_names(void **state)
{
	struct kmt_module_names *n;
	uint32_t slot = 1;

	make_module("foo", TEXT, INIT);
	tell(kmt_module_load);
	n = bpf_map_lookup_elem(&kmt_names, &slot);
	assert_int_equal(n->load, 1);
	assert_int_equal(n->sym_bytes, sizeof(file.sym));
	/* up to the struct behind them */
	assert_int_equal(n->str_bytes, sizeof(file.names));
	assert_int_equal(n->sym[2].value, INIT);
	assert_string_equal(n->str + n->sym[2].name, "start");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(follows_new, begin, end),
		cmocka_unit_test_setup_teardown(follows_old, begin, end),
		cmocka_unit_test_setup_teardown(is_no_other, begin, end),
		cmocka_unit_test_setup_teardown(loads_again, begin, end),
		cmocka_unit_test_setup_teardown(keeps_names, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
