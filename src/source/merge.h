/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One order out of many CPUs: nodes are handed on by time, and only when every
 * CPU was read past their time. Each CPU is read no further than its oldest
 * node needs, so memory does not depend on how much is buffered.
 */
#ifndef KMT_SOURCE_MERGE_H
#define KMT_SOURCE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/cpu_queue.h"

struct kmt_deliver;
struct kmt_node;
struct kmt_sink;

#define KMT_MERGE_ALL UINT64_MAX	/* as bound: nothing more will come */

struct kmt_stream {
	uint32_t cpu;
	bool drained;		/* set by 'read': nothing more there in this pass */
	struct kmt_cpu_queue queue;
};

struct kmt_merge {
	struct kmt_stream **stream;
	size_t n;
	/* read on, at most two nodes into the queue; 0 or a negative errno */
	int (*read)(void *ctx, struct kmt_stream *st);
	/* leave this node out; NULL: none. Called once for each, in order. */
	bool (*skip)(void *ctx, const struct kmt_stream *st, const struct kmt_node *node);
	void *ctx;
	uint64_t last_bound;	/* of the pass before */
};

/*
 * Hand on everything older than 'bound' (nanoseconds of the events' clock: a
 * time before this call, so that what is being written now is left for the
 * next one). Returns the number of nodes or a negative errno.
 */
int kmt_merge_pass(struct kmt_merge *m, struct kmt_deliver *d, const struct kmt_sink *sink,
		   uint64_t bound);

#endif
