/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel structs that are read, as minimal CO-RE flavours: field
 * offsets come from the running kernel's BTF, a missing field is found by
 * bpf_core_field_exists(), never by a version number.
 */
#ifndef KMT_BPF_COMPAT_BPF_H
#define KMT_BPF_COMPAT_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "kmt/wire.h"

/* Where a field lies in the running kernel's struct. */
#ifndef kmt_offset
#define kmt_offset(type, field)						\
	__builtin_preserve_field_info(((type *)0)->field, BPF_FIELD_BYTE_OFFSET)
#endif

struct kmem_cache {
	unsigned int size;		/* stride: object with padding and metadata */
	unsigned int object_size;	/* what the cache's users asked for */
	const char *name;
	int refcount;			/* how many caches are merged in this one */
	unsigned int sheaf_capacity;	/* since 6.18; 0: it has no sheaves */
} __attribute__((preserve_access_index));

struct page {
	unsigned long compound_head;	/* of a tail page: the head's address + 1 */
	struct kmem_cache *slab_cache;	/* until 5.16 */
} __attribute__((preserve_access_index));

/*
 * The same memory as the page's, in a type of its own.
 * Linux commit d122019bf061 "mm: Split slab into its own type" (in v5.17).
 */
struct slab {
	struct kmem_cache *slab_cache;
} __attribute__((preserve_access_index));

struct thread_info {
	unsigned long flags;
} __attribute__((preserve_access_index));

struct task_struct {
	int tgid;
	int pid;
	struct task_struct *group_leader;
	__u64 start_time;	/* ns, CLOCK_MONOTONIC */
	struct thread_info thread_info;
} __attribute__((preserve_access_index));

/*
 * Where a module's code lies. Linux commit ac3b43283923 "module: replace
 * module_layout with module_memory" (in v6.4).
 */
struct module_layout {
	void *base;
	unsigned int text_size;
} __attribute__((preserve_access_index));

struct module___layout {
	char name[KMT_MODULE_NAME_LEN];
	struct module_layout core_layout;
	struct module_layout init_layout;
} __attribute__((preserve_access_index));

struct module_memory {
	void *base;
	unsigned int size;
} __attribute__((preserve_access_index));

enum mod_mem_type {
	MOD_TEXT = 0,
	MOD_INIT_TEXT = 4,
};

struct mod_kallsyms {
	void *symtab;
	unsigned int num_symtab;
	char *strtab;
} __attribute__((preserve_access_index));

struct module {
	char name[KMT_MODULE_NAME_LEN];
	struct module_memory mem[7];
	struct mod_kallsyms *kallsyms;
} __attribute__((preserve_access_index));

/*
 * kmalloc events carry no cache; this tells it from the address.
 * Linux commit a992d7a39791 "mm/bpf: Add bpf_get_kmem_cache() kfunc" (in v6.13).
 */
extern struct kmem_cache *bpf_get_kmem_cache(__u64 addr) __ksym __weak;

#endif
