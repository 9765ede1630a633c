// SPDX-License-Identifier: GPL-2.0-only
/*
 * One module, followed from before it loads until after it is gone. The kernel
 * fires module_load when the module is in its place and none of its functions
 * has run, and module_free when all of them have returned.
 */
#include "bpf/module.bpf.h"

const volatile char kmt_module_name[KMT_MODULE_NAME_LEN] = "";

struct kmt_map_names kmt_names SEC(".maps");

static __always_inline int kmt_module_is(const struct module *mod)
{
	char name[KMT_MODULE_NAME_LEN] = "";

	bpf_probe_read_kernel_str(name, sizeof(name),
				  (const char *)mod + kmt_offset(struct module, name));
	for (int i = 0; i < KMT_MODULE_NAME_LEN; i++) {
		if (name[i] != kmt_module_name[i])
			return 0;
		if (!name[i])
			break;
	}
	return 1;
}

/*
 * Until its init functions are done a module has the symbols of its file, and
 * behind their names lies the struct that says where both are (layout_symtab()).
 */
static __always_inline void kmt_copy_names(const struct module *mod, __u64 load)
{
	__u32 slot = load % KMT_MODULE_NAMES, bytes, n = 0;
	struct kmt_module_names *to = bpf_map_lookup_elem(&kmt_names, &slot);
	struct mod_kallsyms *k = NULL;
	char *strtab = NULL;
	void *symtab = NULL;
	__u64 room;

	if (!to || !bpf_core_field_exists(mod->kallsyms))
		return;
	to->load = 0;
	to->sym_bytes = to->str_bytes = 0;
	bpf_core_read(&k, sizeof(k), &mod->kallsyms);
	bpf_core_read(&symtab, sizeof(symtab), &k->symtab);
	bpf_core_read(&n, sizeof(n), &k->num_symtab);
	bpf_core_read(&strtab, sizeof(strtab), &k->strtab);
	bytes = n > KMT_MODULE_SYMS ? sizeof(to->sym) : n * sizeof(to->sym[0]);
	if (bytes > sizeof(to->sym))
		return;
	if (!bpf_probe_read_kernel(to->sym, bytes, symtab))
		to->sym_bytes = bytes;
	room = (__u64)k - (__u64)strtab;
	bytes = room > sizeof(to->str) ? sizeof(to->str) : room;
	if (!bpf_probe_read_kernel(to->str, bytes, strtab))
		to->str_bytes = bytes;
	barrier();
	to->load = load;
}

/* Loaded with --module only. */
SEC("?raw_tp/module_load")
int kmt_module_load(struct bpf_raw_tracepoint_args *ctx)
{
	const struct module *mod = (const struct module *)ctx->args[0];
	struct kmt_wire_module *m = &kmt_module;
	struct kmt_wire_load *l;
	struct kmt_range text = { 0 }, init = { 0 };

	if (!kmt_module_is(mod))
		return 0;
	kmt_module_ranges(mod, &text, &init);
	kmt_copy_names(mod, m->loads + 1);
	l = &m->load[m->loads & (KMT_MODULE_LOADS - 1)];
	l->loaded_ns = bpf_ktime_get_ns();
	l->unloaded_ns = 0;
	l->text = text;
	l->init = init;
	m->ptr = (__u64)mod;
	m->text.start = text.start;
	m->init.start = init.start;
	barrier();
	m->text.end = text.end;
	m->init.end = init.end;
	m->loads++;
	barrier();
	m->changes++;
	return 0;
}

SEC("?raw_tp/module_free")
int kmt_module_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct kmt_wire_module *m = &kmt_module;

	if (!kmt_module_is((const struct module *)ctx->args[0]) || !m->loads)
		return 0;
	m->text.end = 0;
	m->init.end = 0;
	barrier();
	m->ptr = 0;
	m->load[(m->loads - 1) & (KMT_MODULE_LOADS - 1)].unloaded_ns = bpf_ktime_get_ns();
	barrier();
	m->changes++;
	return 0;
}
