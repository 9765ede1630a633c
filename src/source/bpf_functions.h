/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs on functions, tracer bulk's above all: chosen, attached, told of; bpf_load.c loads them. */
#ifndef KMT_SOURCE_BPF_FUNCTIONS_H
#define KMT_SOURCE_BPF_FUNCTIONS_H

#include "source/functions.h"
#include "source/source.h"

struct bpf_link;
struct bpf_object;
struct bpf_program;

struct kmt_bpf_functions {
	unsigned wanted;		/* bits of enum kmt_function_id; none: nothing is told */
	bool can_ask;			/* the kernel tells an address's cache */
	bool no_kprobes;		/* they are not to be had */

	struct kmt_function f[KMT_FUNCTIONS];
	struct bpf_program *prog[KMT_FUNCTIONS];
	struct bpf_program *entry;	/* with a kretprobe: notes the arguments */
	struct bpf_link *links[KMT_FUNCTIONS + 1];
	bool is_kprobe[KMT_FUNCTIONS + 1];	/* of a beginning: the kernel may tell what it missed */
	int n_links;
	int calls_fd;			/* with 'entry': the map of what has not returned */
	uint64_t missed, untold;	/* of what is detached: see kmt_bpf_functions_missed() */
};

#define KMT_FUNCTIONS_TEXT 80		/* kmt_quality.functions */

/* What tracer bulk wants. */
#define KMT_FUNCTIONS_BULK	((1u << KMT_FUNC_ALLOC_BULK) | (1u << KMT_FUNC_FREE_BULK) | \
				 (1u << KMT_FUNC_GIVE_UP))

/*
 * One program for each function of f->wanted that can be attached to; f's first
 * fields are the caller's, the rest 0. -EOPNOTSUPP: none of tracer bulk, and it
 * must be had.
 */
int kmt_bpf_functions_choose(struct kmt_bpf_functions *f, struct bpf_object *obj,
			     const struct kmt_function found[KMT_FUNCTIONS],
			     const struct kmt_source_opts *o);
/* Is there a program; is there one of tracer bulk? */
bool kmt_bpf_functions_any(const struct kmt_bpf_functions *f);
bool kmt_bpf_functions_bulk(const struct kmt_bpf_functions *f);
/* A function that is refused is no error unless it must be attached to. */
int kmt_bpf_functions_attach(struct kmt_bpf_functions *f, enum kmt_function_id i, bool must);
/* The last that was attached goes first. */
void kmt_bpf_functions_detach(struct kmt_bpf_functions *f);
/*
 * Runs of kprobes that the kernel skipped, and objects of calls whose return was
 * not seen (so far: a call takes microseconds as a rule). Older kernels tell
 * nobody of the former: *ret_untold, of how many kprobes.
 */
uint64_t kmt_bpf_functions_missed(const struct kmt_bpf_functions *f, uint64_t *ret_untold);
/* Of these: objects of bulk allocations that have begun, by the map of them. */
uint64_t kmt_bpf_functions_unfinished(int calls_fd);

/* With a kretprobe, whose misses that map tells: its program, and the one that fills the map. */
#define KMT_FUNCTIONS_RETURN	"kmt_bulk_alloc_kprobe"
#define KMT_FUNCTIONS_ENTRY	"kmt_bulk_alloc_entry"

/* What the kernel says of a link, whoever made it. */
struct kmt_link_said {
	uint32_t prog;		/* its number */
	bool is_probe;		/* kprobe or kretprobe */
	bool is_told;		/* 'missed' is known: since Linux 6.7 */
	uint64_t missed;	/* of a kprobe: runs that the kernel skipped */
};

/* false: nothing. */
bool kmt_bpf_link_ask(int fd, struct kmt_link_said *ret);

/* "fentry: alloc_bulk free_bulk kvfree_call_rcu", "kprobe: ...; not seen: ..." */
void kmt_bpf_functions_tell(const struct kmt_bpf_functions *f, char text[KMT_FUNCTIONS_TEXT]);

#endif
