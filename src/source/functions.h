/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's functions through which memory goes without an event, and how
 * programs can be attached to them here: found by trying, never by version.
 */
#ifndef KMT_SOURCE_FUNCTIONS_H
#define KMT_SOURCE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

struct btf;

enum kmt_function_id {
	KMT_FUNC_ALLOC_BULK,
	KMT_FUNC_FREE_BULK,
	KMT_FUNC_GIVE_UP,
	KMT_FUNC_CACHE_END,
	KMT_FUNCTIONS
};

/* kmt_quality.functions of a source that has only tracepoints. */
#define KMT_FUNCTIONS_UNSEEN "not seen: alloc_bulk free_bulk kvfree_call_rcu cache_destroy"

enum kmt_attach { KMT_ATTACH_NONE, KMT_ATTACH_KPROBE, KMT_ATTACH_FENTRY };

struct kmt_function {
	const char *name;	/* what this kernel calls it; NULL: it has none */
	bool no_proto;		/* kallsyms has it, BTF does not: its form is not known */
	enum kmt_attach how;
	int err;		/* why not by fentry; 0 if by that */
	bool is_other_form;	/* a bool is returned; a function is given (tracers/bulk.bpf.c) */
};

/* Its name without what kernels add: "kmem_cache_alloc_bulk", ... */
const char *kmt_function_name(enum kmt_function_id id);
/* "fentry", "kprobe"; "" for none. */
const char *kmt_attach_name(enum kmt_attach how);
/* May programs be loaded that are attached to this function's entry? */
bool kmt_functions_can_fentry(const struct btf *btf, const char *name);
/*
 * Look all of them up, in BTF and, those that it leaves out (pahole does where a
 * compiler changed how a function is called), in the kallsyms file: without a prototype
 * only those that have had one form in all kernels can be used, by kprobe. 'kallsyms'
 * NULL: the running kernel's. 'really': also attach to each for a moment, by which a
 * kprobe that is promised may turn out to be refused.
 */
void kmt_functions_look(const struct btf *btf, const char *kallsyms, bool really,
			struct kmt_function ret[KMT_FUNCTIONS]);

#endif
