// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the programs switch preemption off: placeholders in the programs as they are
 * built, and what stands there once they are filled in for kernels of several kinds,
 * whose BTF is made here. Nothing is loaded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <linux/bpf.h>

#include "kmt/wire.h"

#include "kmemtrace.skel.h"
#include "source/bpf_preempt.h"

enum { OFF, ON, IRQ_OFF, IRQ_ON, N_FUNCTIONS };

static const char *const function_names[N_FUNCTIONS] = {
	"bpf_preempt_disable", "bpf_preempt_enable", "bpf_local_irq_save", "bpf_local_irq_restore",
};

/* A kernel: which of the functions it has, by bit; what protects tracepoints; preemption. */
struct kernel {
	unsigned functions;
	bool protects, preempts;
};

struct world {
	struct kernel kernel;
	struct btf *btf;
	int id[N_FUNCTIONS];
};

static void make(struct world *w)
{
	int type, proto;

	w->btf = btf__new_empty();
	assert_non_null(w->btf);
	type = btf__add_int(w->btf, "int", 4, 0);
	proto = btf__add_func_proto(w->btf, 0);
	for (int i = 0; i < N_FUNCTIONS; i++)
		if (w->kernel.functions & 1u << i)
			w->id[i] = btf__add_func(w->btf, function_names[i], BTF_FUNC_STATIC, proto);
	if (w->kernel.preempts)
		assert_true(btf__add_func(w->btf, "preempt_schedule", BTF_FUNC_STATIC, proto) > 0);
	if (w->kernel.protects)
		assert_true(btf__add_var(w->btf, "tracepoint_srcu_srcu_data", BTF_VAR_STATIC,
					 type) > 0);
}

static unsigned calls_of(struct bpf_program *p, uint8_t src_reg, int imm)
{
	const struct bpf_insn *insn = bpf_program__insns(p);
	unsigned n = 0;

	for (size_t i = 0; i < bpf_program__insn_cnt(p); i++)
		n += insn[i].code == (BPF_JMP | BPF_CALL) && insn[i].src_reg == src_reg &&
		     insn[i].imm == imm;
	return n;
}

static unsigned placeholders(struct bpf_program *p)
{
	unsigned n = 0;

	for (int c = KMT_CALL_PREEMPT_OFF; c <= KMT_CALL_TASK; c++)
		n += calls_of(p, 0, c) > 0;
	return n;
}

#define PLACEHOLDERS	(N_FUNCTIONS + 1)	/* and the task */

/* Fill in one program; how often it asks for the task and calls each of the functions then. */
static unsigned filled(struct kernel kernel, unsigned ret[N_FUNCTIONS])
{
	struct kmemtrace_bpf *s = kmemtrace_bpf__open();
	struct world w = { .kernel = kernel };
	struct bpf_program *p;
	unsigned tasks;
	size_t n;

	assert_non_null(s);
	make(&w);
	p = s->progs.kmt_cache_free_track;
	n = bpf_program__insn_cnt(p);
	assert_int_equal(placeholders(p), PLACEHOLDERS);
	bpf_program__set_autoload(p, true);
	assert_int_equal(kmt_bpf_preempt_fill(s->obj, w.btf), 0);
	assert_int_equal(placeholders(p), 0);
	assert_int_equal(bpf_program__insn_cnt(p), n);
	for (int i = 0; i < N_FUNCTIONS; i++)
		ret[i] = w.id[i] ? calls_of(p, BPF_PSEUDO_KFUNC_CALL, w.id[i]) : 0;
	tasks = calls_of(p, 0, BPF_FUNC_get_current_task_btf);
	btf__free(w.btf);
	kmemtrace_bpf__destroy(s);
	return tasks;
}

#define ALL ((1u << N_FUNCTIONS) - 1)

static void test_preempted(void **state)
{
	unsigned n[N_FUNCTIONS];

	(void)state;
	assert_int_equal(filled((struct kernel){ ALL, true, true }, n), 1);
	assert_int_equal(n[OFF], 1);
	assert_in_range(n[ON], 1, 2);		/* with interrupts on, and off */
	assert_int_equal(n[IRQ_OFF], 1);
	assert_int_equal(n[IRQ_ON], 1);
}

static void test_not_preempted(void **state)
{
	static const struct kernel kernels[] = {
		{ 0, true, true },			/* 6.1 */
		{ 1u << OFF | 1u << ON, true, true },	/* 6.12: another thing of that name */
		{ ALL, false, true },			/* 6.18 */
		{ ALL, true, false },			/* 7.0 that preempts nothing */
	};
	unsigned n[N_FUNCTIONS];

	(void)state;
	for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
		assert_int_equal(filled(kernels[k], n), 0);
		for (int i = 0; i < N_FUNCTIONS; i++)
			assert_int_equal(n[i], 0);
	}
}

/* Every program of an event has its placeholders: none was forgotten. */
static void test_all_programs(void **state)
{
	struct kmemtrace_bpf *s = kmemtrace_bpf__open();
	struct bpf_program *p;
	int seen = 0;

	(void)state;
	assert_non_null(s);
	bpf_object__for_each_program(p, s->obj) {
		const char *section = bpf_program__section_name(p);

		/* of kprobes the kernel switches it off; these write no counters */
		if (strstr(section, "probe") || strstr(section, "module_") ||
		    strstr(section, "sched_") || !strcmp(section, "raw_tp"))
			continue;
		if (placeholders(p) != PLACEHOLDERS)
			fail_msg("%s (%s) has %u", bpf_program__name(p), section, placeholders(p));
		seen++;
	}
	assert_true(seen > 30);
	kmemtrace_bpf__destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_not_preempted),
		cmocka_unit_test(test_all_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
