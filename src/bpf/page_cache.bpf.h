/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cache of an object where neither the event nor bpf_get_kmem_cache() tells
 * it: from the page the object lies in, as the kernel's virt_to_cache() does.
 * Needs the addresses where the direct mapping and the array of struct page
 * begin, which on x86 are variables of the kernel's; elsewhere it says 0.
 */
#ifndef KMT_BPF_PAGE_CACHE_BPF_H
#define KMT_BPF_PAGE_CACHE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/maps.bpf.h"

/*
 * struct kmem_cache *, 0 = not to be had. 'given' is what the event says of its
 * stride; 0, of a free, which says nothing: then what is found must at least
 * look like a cache.
 */
static __noinline __u64 kmt_page_cache(__u64 addr, __u64 given)
{
	__u64 page, head = 0, cache = 0;
	__u32 size = 0, object_size = 0;

	/* renamed in 7.x, where bpf_get_kmem_cache() is at hand */
	if (!bpf_core_field_exists(((struct page *)0)->compound_head))
		return 0;
	if (!kmt_vmemmap || addr < kmt_linear)
		return 0;
	page = kmt_vmemmap + ((addr - kmt_linear) >> kmt_page_shift) * kmt_page_struct;
	bpf_core_read(&head, sizeof(head), &((struct page *)page)->compound_head);
	if (head & 1)
		page = head - 1;
	if (bpf_core_field_exists(((struct slab *)0)->slab_cache))
		bpf_core_read(&cache, sizeof(cache), &((struct slab *)page)->slab_cache);
	else
		bpf_core_read(&cache, sizeof(cache), &((struct page *)page)->slab_cache);
	/* a large kmalloc lies in no slab, and its page has something else there */
	bpf_core_read(&size, sizeof(size), &((struct kmem_cache *)cache)->size);
	bpf_core_read(&object_size, sizeof(object_size),
		      &((struct kmem_cache *)cache)->object_size);
	if (!object_size || object_size > size)
		return 0;
	return !given || size == given ? cache : 0;
}

#endif
