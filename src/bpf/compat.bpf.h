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

struct kmem_cache {
	unsigned int size;		/* stride: object with padding and metadata */
	unsigned int object_size;	/* what the cache's users asked for */
	const char *name;
} __attribute__((preserve_access_index));

struct task_struct {
	int tgid;
	int pid;
} __attribute__((preserve_access_index));

/*
 * kmalloc events carry no cache; this tells it from the address.
 * Linux commit a992d7a39791 "mm/bpf: Add bpf_get_kmem_cache() kfunc" (in v6.13).
 */
extern struct kmem_cache *bpf_get_kmem_cache(__u64 addr) __ksym __weak;

#endif
