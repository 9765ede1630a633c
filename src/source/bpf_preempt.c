// SPDX-License-Identifier: GPL-2.0-only
#include "source/bpf_preempt.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "kmt/wire.h"

/* What stands in place of a placeholder. */
static const struct {
	int placeholder;
	const char *name;
} calls[] = {
	{ KMT_CALL_PREEMPT_OFF, "bpf_preempt_disable" },
	{ KMT_CALL_PREEMPT_ON, "bpf_preempt_enable" },
	{ KMT_CALL_IRQ_OFF, "bpf_local_irq_save" },
	{ KMT_CALL_IRQ_ON, "bpf_local_irq_restore" },
};
#define N_CALLS (sizeof(calls) / sizeof(calls[0]))

/*
 * What protects the tracepoints since then is in BTF. Up to v6.12 something else had that
 * name, but these functions came later: Linux commit c8e2ee1f3df0 "bpf: Introduce support
 * for bpf_local_irq_{save,restore}" (in v6.14).
 */
#define PROTECTION	"tracepoint_srcu_srcu_data"
/* Only in kernels that preempt each other's tasks in the kernel at all. */
#define PREEMPTION	"preempt_schedule"

static bool has(const struct btf *btf, const char *name, uint32_t kind)
{
	return btf__find_by_name_kind(btf, name, kind) > 0;
}

bool kmt_bpf_is_preempted(const struct btf *btf)
{
	return has(btf, "bpf_local_irq_save", BTF_KIND_FUNC) &&
	       has(btf, PROTECTION, BTF_KIND_VAR) && has(btf, PREEMPTION, BTF_KIND_FUNC);
}

/* The kernel's numbers for these; all of them or none. */
static void find_calls(const struct btf *btf, int ret_id[N_CALLS])
{
	bool has_all = true;

	for (size_t i = 0; i < N_CALLS; i++) {
		ret_id[i] = btf__find_by_name_kind(btf, calls[i].name, BTF_KIND_FUNC);
		has_all &= ret_id[i] > 0;
	}
	if (!has_all)
		memset(ret_id, 0, N_CALLS * sizeof(*ret_id));
}

static struct bpf_insn insn_of(int id)
{
	if (!id)
		return (struct bpf_insn){ .code = BPF_JMP | BPF_JA };	/* to what follows */
	return (struct bpf_insn){
		.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = id,
	};
}

/* The running task, asked for where anything is called; else NULL. */
static struct bpf_insn task_of(const int id[N_CALLS])
{
	if (!id[0])
		return (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K };
	return (struct bpf_insn){
		.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_current_task_btf,
	};
}

static bool replace(struct bpf_insn *insn, const int id[N_CALLS])
{
	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg)
		return false;
	if (insn->imm == KMT_CALL_TASK) {
		*insn = task_of(id);
		return true;
	}
	for (size_t i = 0; i < N_CALLS; i++) {
		if (insn->imm == calls[i].placeholder) {
			*insn = insn_of(id[i]);
			return true;
		}
	}
	return false;
}

static int fill(struct bpf_program *p, const int id[N_CALLS])
{
	size_t n = bpf_program__insn_cnt(p), found = 0;
	_cleanup_free_ struct bpf_insn *v = malloc(n * sizeof(*v));

	if (!v)
		return -ENOMEM;
	memcpy(v, bpf_program__insns(p), n * sizeof(*v));
	for (size_t i = 0; i < n; i++)
		found += replace(&v[i], id);
	return found ? bpf_program__set_insns(p, v, n) : 0;
}

int kmt_bpf_preempt_fill(struct bpf_object *obj, const struct btf *btf)
{
	int id[N_CALLS] = { 0 };
	struct bpf_program *p;
	int err = 0;

	if (kmt_bpf_is_preempted(btf))
		find_calls(btf, id);
	bpf_object__for_each_program(p, obj)
		if (!err && bpf_program__autoload(p))
			err = fill(p, id);
	return err ? kmt_err_errno(err, "cannot prepare the BPF programs") : 0;
}
