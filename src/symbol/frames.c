// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/frames.h"

#include <stddef.h>
#include <string.h>

#include "symbol/symbols.h"

/* A name, or with '*' at its end what names begin with. */
static const char *const frames[] = {
	/* tracing, of the events that name no call site */
	"bpf_trace_run*", "bpf_prog_*", "__ftrace_trace_stack", "ftrace_trace_stack", "__trace_stack",
	"trace_event_buffer_commit",
	"__traceiter_mm_page_*", "__traceiter_percpu_*",
	"__traceiter_alloc_vmap_*", "__traceiter_free_vmap_*",
	"__bpf_trace_mm_page_*", "__bpf_trace_percpu_*",
	"__bpf_trace_alloc_vmap_*", "__bpf_trace_free_vmap_*",
	"perf_trace_mm_page_*", "perf_trace_percpu_*",
	"perf_trace_alloc_vmap_*", "perf_trace_free_vmap_*",
	"trace_event_raw_event_mm_page_*", "trace_event_raw_event_percpu_*",
	"trace_event_raw_event_alloc_vmap_*", "trace_event_raw_event_free_vmap_*",
	/* pages */
	"__alloc_pages*", "alloc_pages*", "__alloc_frozen_pages*", "alloc_frozen_pages*",
	"___alloc_pages*", "__folio_alloc*", "folio_alloc*", "vma_alloc_folio*",
	"alloc_page_interleave", "alloc_page_vma", "__page_frag_cache_refill",
	"get_page_from_freelist", "get_free_pages", "__get_free_pages", "get_zeroed_page",
	"__get_free_page", "make_alloc_exact", "split_page", "__split_page",
	"__free_pages*", "___free_pages*", "free_pages", "free_page", "free_pages_exact",
	"__free_frozen_pages", "free_frozen_pages*", "free_unref_*", "free_the_page",
	"free_pages_prepare", "__free_pages_prepare", "free_pcp_prepare", "free_contig_range",
	"__free_contig_range", "__folio_put*", "folio_put*", "folios_put*", "__put_page",
	"release_pages", "put_pages_list", "__page_frag_cache_drain",
	/* slab */
	"alloc_slab_page", "allocate_slab", "new_slab", "new_slab_objects", "refill_objects",
	"___slab_alloc", "__slab_alloc*", "slab_alloc*", "alloc_from_new_slab",
	"alloc_single_from_new_slab", "alloc_from_pcs*", "refill_sheaf", "__pcs_replace_*",
	"kmem_cache_alloc*", "__kmem_cache_alloc*", "kmalloc*", "__kmalloc*", "___kmalloc*",
	"__do_kmalloc*", "krealloc*", "__krealloc*", "__do_krealloc", "kvmalloc*", "__kvmalloc*",
	"kvrealloc*", "kzalloc", "kcalloc", "alloc_empty_sheaf", "__alloc_empty_sheaf",
	"alloc_full_sheaf", "alloc_slab_obj_exts", "memcg_alloc_slab_cgroups",
	"cache_alloc_refill", "cache_grow_begin", "fallback_alloc", "____cache_alloc*",
	"free_slab", "__free_slab", "discard_slab", "free_large_kmalloc", "__slab_free",
	"slab_free*", "do_slab_free", "__put_partials", "put_cpu_partial", "deactivate_slab",
	"flush_slab", "kmem_cache_free", "__kmem_cache_free", "kmem_cache_free_bulk", "kfree",
	"__kfree", "kfree_sensitive", "kvfree", "kvfree_sensitive",
	/* vmalloc */
	"vmalloc", "vmalloc_*", "vzalloc*", "__vmalloc*", "vmap", "vmap_pfn", "vm_map_ram",
	"vm_area_alloc_pages*", "alloc_vmap_area", "new_vmap_block", "get_vm_area*",
	"__get_vm_area*", "generic_ioremap_prot", "ioremap*", "__ioremap*", "vfree",
	"vfree_atomic", "__vfree", "__vfree_deferred", "vunmap", "__vunmap", "iounmap",
	"generic_iounmap", "vm_unmap_ram", "remove_vm_area", "free_vm_area",
	"free_vmap_area_noflush", "free_unmap_vmap_area", "free_vmap_block",
	/* percpu */
	"pcpu_*", "__alloc_percpu*", "__alloc_reserved_percpu", "free_percpu",
};

static bool matches(const char *pattern, const char *name, size_t len)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return len >= n - 1 && !memcmp(pattern, name, n - 1);
	return len == n && !memcmp(pattern, name, n);
}

bool kmt_frame_is_allocator(const char *name)
{
	static const char suffix[] = "_noprof";
	size_t len = strcspn(name, "."), n = sizeof(suffix) - 1;

	if (len > n && !memcmp(name + len - n, suffix, n))
		len -= n;
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		if (frames[i][0] == name[0] && matches(frames[i], name, len))
			return true;
	return false;
}

/* What lies between a tracer and the function that wanted memory. */
static bool is_internal(const char *name)
{
	static const char *const prefixes[] = {
		"bpf_", "__bpf_", "trace_", "__trace", "perf_trace_",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return kmt_frame_is_allocator(name);
}

uint32_t kmt_frames_first(const struct kmt_symbols *s, uint64_t call_site, const uint64_t *ips,
			  uint32_t n)
{
	struct kmt_symbol sym;

	for (uint32_t i = 0; i < n; i++)
		if (call_site && ips[i] == call_site)
			return i;
	for (uint32_t i = 0; i < n; i++)
		if (!kmt_symbols_find_any(s, ips[i], &sym) || !is_internal(sym.name))
			return i;
	return 0;
}
