/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the code of a module lies. Its init functions' memory is given back
 * when they are done, and others' code may come to lie there.
 */
#ifndef KMT_BPF_MODULE_BPF_H
#define KMT_BPF_MODULE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/maps.bpf.h"

/* The places in struct module are constants that the loader fills in. */
static __always_inline void kmt_module_part(const struct module *mod, __u32 at_base, __u32 at_size,
					    struct kmt_range *ret)
{
	__u64 base = 0;
	__u32 size = 0;

	bpf_probe_read_kernel(&base, sizeof(base), (const char *)mod + at_base);
	bpf_probe_read_kernel(&size, sizeof(size), (const char *)mod + at_size);
	ret->start = base;
	ret->end = base && size ? base + size : 0;
}

static __always_inline void kmt_module_layout(const struct module *mod, __u32 at,
					      struct kmt_range *ret)
{
	kmt_module_part(mod, at + kmt_offset(struct module_layout, base),
			at + kmt_offset(struct module_layout, text_size), ret);
}

static __always_inline void kmt_module_memory(const struct module *mod, __u32 which,
					      struct kmt_range *ret)
{
	__u32 at = kmt_offset(struct module, mem) + which * bpf_core_type_size(struct module_memory);

	kmt_module_part(mod, at + kmt_offset(struct module_memory, base),
			at + kmt_offset(struct module_memory, size), ret);
}

static __always_inline void kmt_module_ranges(const struct module *mod, struct kmt_range *text,
					      struct kmt_range *init)
{
	const struct module___layout *old = (const void *)mod;

	if (bpf_core_field_exists(old->core_layout)) {
		kmt_module_layout(mod, kmt_offset(struct module___layout, core_layout), text);
		kmt_module_layout(mod, kmt_offset(struct module___layout, init_layout), init);
	} else if (bpf_core_enum_value_exists(enum mod_mem_type, MOD_INIT_TEXT)) {
		kmt_module_memory(mod, bpf_core_enum_value(enum mod_mem_type, MOD_TEXT), text);
		kmt_module_memory(mod, bpf_core_enum_value(enum mod_mem_type, MOD_INIT_TEXT), init);
	}
}

/*
 * The kernel forgets where the init functions lay before it gives their memory
 * back (do_init_module() in kernel/module/main.c), so while the module still
 * names their place it is theirs. Asked of the few calls that come from there.
 */
static __noinline int kmt_module_in_init(void)
{
	const struct module *mod = (const struct module *)kmt_module.ptr;
	struct kmt_range text = { 0 }, init = { 0 };

	if (!mod)
		return 0;
	kmt_module_ranges(mod, &text, &init);
	return init.end && init.start == kmt_module.init.start;
}

/* Does the call come from the module that is followed, as it is loaded now? */
static __always_inline int kmt_module_passes(__u64 call_site)
{
	if (call_site > kmt_module.text.start && call_site <= kmt_module.text.end)
		return 1;
	return unlikely(call_site > kmt_module.init.start && call_site <= kmt_module.init.end) &&
	       kmt_module_in_init();
}

#endif
