// SPDX-License-Identifier: GPL-2.0-only
#include "source/cpu_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define CAP_PLAIN	4
#define CAP_STACKS	64
#define TRIM_LOOK	8	/* frames of tracing and allocator before the caller */

int kmt_cpu_queue_init(struct kmt_cpu_queue *q, bool stacks)
{
	*q = (struct kmt_cpu_queue){ .cap = stacks ? CAP_STACKS : CAP_PLAIN };
	q->node = calloc(q->cap, sizeof(*q->node));
	if (stacks)
		q->ips = calloc((size_t)q->cap * KMT_NODE_IPS, sizeof(*q->ips));
	if (!q->node || (stacks && !q->ips)) {
		kmt_cpu_queue_done(q);
		return kmt_err(-ENOMEM, "no memory for the events of a CPU");
	}
	return 0;
}

void kmt_cpu_queue_done(struct kmt_cpu_queue *q)
{
	free(q->node);
	free(q->ips);
	*q = (struct kmt_cpu_queue){ 0 };
}

bool kmt_cpu_queue_has_room(const struct kmt_cpu_queue *q)
{
	return q->n + 2 <= q->cap;
}

/* i counts from the oldest */
static struct kmt_node *at(const struct kmt_cpu_queue *q, unsigned i)
{
	return &q->node[(q->head + i) & (q->cap - 1)];
}

struct kmt_node *kmt_cpu_queue_push(struct kmt_cpu_queue *q)
{
	struct kmt_node *node = at(q, q->n++);

	*node = (struct kmt_node){ .kind = KMT_NODE_EVENT };
	return node;
}

/* The first n of the queue that await a stack of this ctx will get none. */
static void give_up(struct kmt_cpu_queue *q, unsigned n, uint64_t ctx)
{
	for (unsigned i = 0; i < n; i++) {
		if (!at(q, i)->awaits_stack || at(q, i)->ctx != ctx)
			continue;
		at(q, i)->awaits_stack = false;
		q->lost_stacks++;
	}
}

void kmt_cpu_queue_await(struct kmt_cpu_queue *q, uint64_t ctx)
{
	give_up(q, q->n - 1, ctx);
	at(q, q->n - 1)->ctx = ctx;
	at(q, q->n - 1)->awaits_stack = true;
}

void kmt_cpu_queue_other(struct kmt_cpu_queue *q, uint64_t ctx)
{
	give_up(q, q->n, ctx);
}

struct kmt_node *kmt_cpu_queue_awaiting(const struct kmt_cpu_queue *q, uint64_t ctx)
{
	for (unsigned i = q->n; i-- > 0; )
		if (at(q, i)->awaits_stack && at(q, i)->ctx == ctx)
			return at(q, i);
	return NULL;
}

/*
 * Frames in front of the caller are the tracer's and the allocator's own: the
 * stack begins at the call site where that is found.
 */
static size_t trim(const struct kmt_event *ev, const uint64_t *ips, size_t n)
{
	for (size_t i = 0; ev->call_site && i < n && i < TRIM_LOOK; i++)
		if (ips[i] == ev->call_site)
			return i;
	return 0;
}

void kmt_cpu_queue_stack(struct kmt_cpu_queue *q, uint64_t ctx, const uint64_t *ips, size_t n)
{
	struct kmt_node *node = kmt_cpu_queue_awaiting(q, ctx);
	size_t skip;

	if (!node)
		return;
	skip = trim(&node->ev, ips, n);
	n = n - skip < KMT_NODE_IPS ? n - skip : KMT_NODE_IPS;
	memcpy(q->ips + (size_t)(node - q->node) * KMT_NODE_IPS, ips + skip, n * sizeof(*ips));
	node->ev.n_ips = n;
	node->awaits_stack = false;
}

void kmt_cpu_queue_give_up(struct kmt_cpu_queue *q)
{
	for (unsigned i = 0; i < q->n; i++) {
		q->lost_stacks += at(q, i)->awaits_stack;
		at(q, i)->awaits_stack = false;
	}
}

struct kmt_node *kmt_cpu_queue_head(struct kmt_cpu_queue *q)
{
	struct kmt_node *node;

	if (!q->n)
		return NULL;
	node = at(q, 0);
	if (node->kind == KMT_NODE_EVENT) {
		node->ev.ips = q->ips ? q->ips + (size_t)(node - q->node) * KMT_NODE_IPS : NULL;
		node->ev.cache = node->text[0] ? node->text : NULL;
	}
	return node;
}

void kmt_cpu_queue_pop(struct kmt_cpu_queue *q)
{
	q->head = (q->head + 1) & (q->cap - 1);
	q->n--;
}
