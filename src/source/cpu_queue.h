/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was read from one CPU's trace buffer and not yet handed on.
 *
 * A kernel stack is a record of its own that follows its event, but an
 * interrupt may put other events, with stacks of their own, between the two:
 *
 *	kmalloc | kfree (irq) | stack of kfree | stack of kmalloc
 *
 * Both carry the same thread, flags and preempt count ("ctx"), by which they
 * are paired. An event stays in the queue until its stack came or is given up.
 */
#ifndef KMT_SOURCE_CPU_QUEUE_H
#define KMT_SOURCE_CPU_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

#define KMT_NODE_TEXT	64
#define KMT_NODE_IPS	64	/* frames kept of a stack */

enum kmt_node_kind {
	KMT_NODE_EVENT,
	KMT_NODE_LOST,		/* 'lost' events are missing before this place, 0 unknown */
	KMT_NODE_BORN,		/* thread 'tid' was made by thread ev.pid, 'text' is its name */
	KMT_NODE_RENAMED,	/* 'tid' is called 'text' now */
	KMT_NODE_GONE,		/* 'tid' is no more */
};

struct kmt_node {
	enum kmt_node_kind kind;
	bool	 awaits_stack;
	bool	 in_irq;	/* the thread was interrupted: it did not do this */
	bool	 is_thread;	/* BORN: in its parent's process */
	uint32_t tid;
	uint64_t ts_ns;
	uint64_t ctx;
	uint64_t lost;
	struct kmt_event ev;	/* ev.ips and ev.cache are set when it is taken out */
	char	 text[KMT_NODE_TEXT];	/* EVENT: name of the cache, "" none */
};

struct kmt_cpu_queue {
	struct kmt_node *node;
	uint64_t *ips;		/* KMT_NODE_IPS per node, NULL without stacks */
	unsigned cap, head, n;	/* cap is a power of two */
	uint64_t lost_stacks;	/* events whose stack did not come */
};

int kmt_cpu_queue_init(struct kmt_cpu_queue *q, bool stacks);
void kmt_cpu_queue_done(struct kmt_cpu_queue *q);

/* Two more nodes fit: what one record can bring (a loss and itself). */
bool kmt_cpu_queue_has_room(const struct kmt_cpu_queue *q);
/* A new, empty node at the end. An event that awaits a stack calls _await() once it is filled. */
struct kmt_node *kmt_cpu_queue_push(struct kmt_cpu_queue *q);
/* The event just pushed awaits a stack; an older one of the same ctx gives up. */
void kmt_cpu_queue_await(struct kmt_cpu_queue *q, uint64_t ctx);
/* An event of this ctx that is not in the queue: the next stack of the ctx is its. */
void kmt_cpu_queue_other(struct kmt_cpu_queue *q, uint64_t ctx);
/* The event that the next stack of this ctx belongs to; NULL if none. */
struct kmt_node *kmt_cpu_queue_awaiting(const struct kmt_cpu_queue *q, uint64_t ctx);
/* A stack came, innermost frame first. */
void kmt_cpu_queue_stack(struct kmt_cpu_queue *q, uint64_t ctx, const uint64_t *ips, size_t n);
/* A gap: no stack that comes now belongs to an event before it. */
void kmt_cpu_queue_give_up(struct kmt_cpu_queue *q);

/* The oldest node, NULL if empty; it may still await its stack. */
struct kmt_node *kmt_cpu_queue_head(struct kmt_cpu_queue *q);
void kmt_cpu_queue_pop(struct kmt_cpu_queue *q);

#endif
