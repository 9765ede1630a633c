/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is loaded and attached: between bpf_load.c, which does that, bpf_choose.c,
 * which says what, and bpf_pin.c.
 */
#ifndef KMT_SOURCE_BPF_LOAD_H
#define KMT_SOURCE_BPF_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "kmt/wire.h"
#include "source/bpf_functions.h"

struct bpf_link;
struct bpf_program;
struct btf;
struct kmemtrace_bpf;
struct kmt_bpf;

#define KMT_LINKS_MAX 24

struct kmt_bpf_load {
	struct kmemtrace_bpf *skel;
	struct bpf_program *prog[KMT_PROG_MAX];	/* chosen, NULL = this kernel has no such event */
	struct bpf_link *links[KMT_LINKS_MAX];
	int n_links, n_free_links;	/* those of frees come first */
	struct kmt_bpf_functions functions;	/* tracer bulk */
	void *tables;
	size_t tables_len;
	int cgroup_fd;
	bool asks_pages;	/* of what cache an object is */
	bool needs_guard;	/* the kernel lets a program interrupt itself */
};

/*
 * Choose the programs of an opened skeleton, whose knobs are set, and the places
 * of their events' arguments. An event that must be there and is not: an error.
 */
int kmt_bpf_choose(struct kmt_bpf *b, const struct btf *btf);

#endif
