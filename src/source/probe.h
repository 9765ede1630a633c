/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What this machine allows, found by trying: programs are really loaded and
 * attached (and taken away again), types are looked up, files are opened.
 * Kernel versions are never compared.
 */
#ifndef KMT_SOURCE_PROBE_H
#define KMT_SOURCE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "source/functions.h"

enum kmt_probe_tp {
	KMT_PROBE_KMALLOC,
	KMT_PROBE_KMALLOC_NODE,
	KMT_PROBE_CACHE_ALLOC,
	KMT_PROBE_CACHE_ALLOC_NODE,
	KMT_PROBE_KFREE,
	KMT_PROBE_CACHE_FREE,
	KMT_PROBE_TP_MAX
};

/* Name of the tracepoint: "kmalloc", ... */
const char *kmt_probe_tp_name(enum kmt_probe_tp tp);

#define KMT_LOCKDOWN_LEN 24

struct kmt_probe {
	uint32_t euid;
	bool	 cap_sys_admin, cap_bpf, cap_perfmon;
	char	 lockdown[KMT_LOCKDOWN_LEN];	/* "none", "integrity", "confidentiality"; "" unknown */

	/* 0 or a negative errno: what trying gave */
	int	 btf;			/* kernel BTF could be read */
	int	 raw_tp;		/* a raw tracepoint program loads and attaches */
	int	 raw_tp_load;		/* ... loads (tells which of the two failed) */
	int	 fentry;		/* a program attaches to a kernel function */
	int	 fentry_load;
	int	 cmpxchg;		/* BPF has compare-and-swap */
	int	 tracefs;		/* mounted or mountable, and events can be switched on */
	int	 slabinfo;
	int	 kallsyms;		/* -EPERM: readable, but every address is 0 */

	struct kmt_function function[KMT_FUNCTIONS];	/* what the tracepoints do not show */
	bool	 tp[KMT_PROBE_TP_MAX];	/* in the BTF; all false without BTF */
	bool	 kfunc_cache;		/* bpf_get_kmem_cache() */
	bool	 page_cache;		/* without it: the object's page can be asked */
	bool	 preempted;		/* programs on tracepoints may be: bpf_preempt.h */
	bool	 iter_cache;		/* iterator over struct kmem_cache */
	bool	 kprobes;
	bool	 tracefs_mounted;
	bool	 cgroup1;		/* a hierarchy of v1 is mounted */
	bool	 memcg_memory;		/* RLIMIT_MEMLOCK does not matter to BPF */
	uint64_t memlock;		/* RLIMIT_MEMLOCK, UINT64_MAX = unlimited */
};

/* Only whether BPF has compare-and-swap: 0 or a negative errno. */
int kmt_probe_cmpxchg(void);

/* Only the lockdown: "none", "integrity", "confidentiality"; "" unknown. */
void kmt_probe_lockdown(char ret[KMT_LOCKDOWN_LEN]);

void kmt_probe(struct kmt_probe *ret);

#endif
