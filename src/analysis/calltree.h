/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: the session's stacks as a tree of functions, whoever of
 * a function's lines calls. What a row of the session holds counts at each node
 * of its path, so a parent is never lighter than its child.
 *
 *   do_syscall 7 ─┬─ open 5 ─┬─ getname 2
 *                 │          └─ alloc_file 3
 *                 └─ read 2
 */
#ifndef KMT_ANALYSIS_CALLTREE_H
#define KMT_ANALYSIS_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/group.h"
#include "base/arena.h"
#include "base/index.h"

struct kmt_analysis_in;

#define KMT_CALLTREE_NONE SIZE_MAX

struct kmt_call_node {
	size_t	 parent;		/* KMT_CALLTREE_NONE: a root */
	size_t	 name;			/* of kmt_calltree.names */
	uint32_t depth;
	unsigned layer;
	uint32_t n_children;
	uint64_t live_bytes, live_objects, allocs, frees, bytes_allocated, temporary;
	uint64_t awaiting, bytes_awaiting, untraced_frees;
	uint64_t own_live_bytes;	/* of paths that end here */
};

struct kmt_calltree {
	struct kmt_call_node *v;	/* parents before their children */
	size_t n, cap;
	/* of all rows of each layer, also those without a path in the tree */
	struct kmt_call_node total[KMT_LAYERS];
	bool has_stacks;		/* some row has more than its call site */
	/* inside */
	const char **names;		/* "func" or "func [mod]" */
	size_t n_names, cap_names;
	struct kmt_arena arena;
	struct kmt_index nodes, by_name;
};

/*
 * From the outermost caller to the allocating function; in->inverted: the
 * other way; in->callees: from the outermost function that matches inwards;
 * in->callers: from the innermost that matches outwards. Where there
 * are several layers, each is a root of its own. 0 or -ENOMEM.
 */
int kmt_calltree_make(const struct kmt_analysis_in *in, struct kmt_calltree *ret);
void kmt_calltree_done(struct kmt_calltree *t);

#endif
