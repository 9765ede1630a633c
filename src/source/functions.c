// SPDX-License-Identifier: GPL-2.0-only
#include "source/functions.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/kallsyms.h"

#define PMU "/sys/bus/event_source/devices/kprobe/type"

static const struct {
	const char *names[3];	/* the last without what kernels add */
	unsigned n_args;
	bool has_forms;		/* kernels differ in what it takes or returns */
} functions[KMT_FUNCTIONS] = {
	[KMT_FUNC_ALLOC_BULK] = { { "kmem_cache_alloc_bulk_noprof", "kmem_cache_alloc_bulk" },
				  4, true },
	[KMT_FUNC_FREE_BULK] = { { "kmem_cache_free_bulk" }, 3, false },
	[KMT_FUNC_GIVE_UP] = { { "kvfree_call_rcu" }, 2, true },
	[KMT_FUNC_CACHE_END] = { { "kmem_cache_destroy" }, 1, false },
};

const char *kmt_function_name(enum kmt_function_id id)
{
	const char *const *names = functions[id].names;

	return names[1] ? names[1] : names[0];
}

const char *kmt_attach_name(enum kmt_attach how)
{
	static const char *const names[] = { "", "kprobe", "fentry" };

	return names[how];
}

static const struct btf_type *resolve(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_typedef(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

/* The function's prototype, if it has the arguments it should have; NULL: another function. */
static const struct btf_type *proto_of(const struct btf *btf, int id, unsigned n_args)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	t = t ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) && btf_vlen(t) == n_args ? t : NULL;
}

static bool other_form(const struct btf *btf, const struct btf_type *proto,
		       enum kmt_function_id id)
{
	const struct btf_type *t;

	if (id == KMT_FUNC_ALLOC_BULK) {
		t = resolve(btf, proto->type);
		return t && btf_is_int(t) && t->size == 1;
	}
	if (id != KMT_FUNC_GIVE_UP)
		return false;
	t = resolve(btf, btf_params(proto)[1].type);
	t = t && btf_is_ptr(t) ? resolve(btf, t->type) : NULL;
	return t && btf_is_func_proto(t);
}

/* Programs of this kind may ask for arguments by number; a descriptor or a negative errno. */
static int load_fentry(int btf_id)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_3, .src_reg = BPF_REG_10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_3, .imm = -8 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_func_arg },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = btf_id);

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "kmt_probe", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), &opts);
}

bool kmt_functions_can_fentry(const struct btf *btf, const char *name)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = id);
	_cleanup_close_ int prog = -1;

	if (id > 0)
		prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "kmt_probe", "GPL", insns,
				     sizeof(insns) / sizeof(insns[0]), &opts);
	return prog >= 0;
}

static int try_fentry(int btf_id, bool really)
{
	_cleanup_close_ int prog = load_fentry(btf_id);
	_cleanup_close_ int link = -1;

	if (prog < 0 || !really)
		return prog < 0 ? prog : 0;
	link = bpf_raw_tracepoint_open(NULL, prog);
	return link < 0 ? link : 0;
}

static int try_kprobe(const char *name, bool really)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .config1 = (uintptr_t)name };
	_cleanup_fclose_ FILE *f = fopen(PMU, "re");
	_cleanup_close_ int fd = -1;

	if (!f || fscanf(f, "%u", &attr.type) != 1)
		return -ENOENT;
	if (!really)
		return 0;
	fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

/* By BTF. A function of that name with other arguments is there, and another one. */
static void look_in_btf(const struct btf *btf, enum kmt_function_id id, bool really,
			struct kmt_function *f)
{
	const struct btf_type *proto = NULL;
	int btf_id = -ENOENT;

	for (int i = 0; !proto && functions[id].names[i]; i++) {
		btf_id = btf__find_by_name_kind(btf, functions[id].names[i], BTF_KIND_FUNC);
		f->no_proto &= btf_id <= 0;
		proto = btf_id > 0 ? proto_of(btf, btf_id, functions[id].n_args) : NULL;
		if (proto)
			f->name = functions[id].names[i];
	}
	if (!proto)
		return;
	f->is_other_form = other_form(btf, proto, id);
	f->err = try_fentry(btf_id, really);
	if (!f->err)
		f->how = KMT_ATTACH_FENTRY;
	else if (!try_kprobe(f->name, really))
		f->how = KMT_ATTACH_KPROBE;
}

static void take_name(const char *name, struct kmt_function ret[KMT_FUNCTIONS])
{
	for (int i = 0; i < KMT_FUNCTIONS; i++)
		for (int k = 0; ret[i].no_proto && functions[i].names[k]; k++)
			if (!strcmp(name, functions[i].names[k]))
				ret[i].name = functions[i].names[k];
}

/* By kallsyms, those that are not in BTF. */
static void look_in_kallsyms(const char *path, bool really, struct kmt_function ret[KMT_FUNCTIONS])
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	const char *name;
	size_t cap = 0;

	while (file && (name = kmt_kallsyms_next(file, &line, &cap)))
		take_name(name, ret);
	for (int i = 0; i < KMT_FUNCTIONS; i++) {
		struct kmt_function *f = &ret[i];

		f->no_proto &= f->name != NULL;
		if (f->no_proto && !functions[i].has_forms && !try_kprobe(f->name, really))
			f->how = KMT_ATTACH_KPROBE;
	}
}

void kmt_functions_look(const struct btf *btf, const char *kallsyms, bool really,
			struct kmt_function ret[KMT_FUNCTIONS])
{
	bool is_left = false;

	for (int i = 0; i < KMT_FUNCTIONS; i++) {
		ret[i] = (struct kmt_function){ .err = -ENOENT, .no_proto = true };
		look_in_btf(btf, i, really, &ret[i]);
		is_left |= ret[i].no_proto;
	}
	if (is_left)
		look_in_kallsyms(kallsyms ? kallsyms : KMT_KALLSYMS, really, ret);
}
