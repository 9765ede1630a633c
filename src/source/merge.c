// SPDX-License-Identifier: GPL-2.0-only
#include "source/merge.h"

#include "core/event.h"
#include "source/deliver.h"

/* Read on until the oldest event of this CPU is complete, or nothing is left to read. */
static int fill(struct kmt_merge *m, struct kmt_stream *st)
{
	struct kmt_node *head;
	int err = 0;

	while ((head = kmt_cpu_queue_head(&st->queue), !head || head->awaits_stack) &&
	       !st->drained && err >= 0) {
		if (!kmt_cpu_queue_has_room(&st->queue)) {
			kmt_cpu_queue_give_up(&st->queue);
			break;
		}
		err = m->read(m->ctx, st);
	}
	return err < 0 ? err : 0;
}

/* The CPU whose turn it is, NULL if no event is old enough; *ret_until: its next rival's time. */
static struct kmt_stream *oldest(struct kmt_merge *m, uint64_t bound, uint64_t *ret_until)
{
	struct kmt_stream *best = NULL;
	uint64_t best_ns = bound;

	*ret_until = bound;
	for (size_t i = 0; i < m->n; i++) {
		struct kmt_node *head = kmt_cpu_queue_head(&m->stream[i]->queue);

		if (!head || head->ts_ns >= *ret_until)
			continue;
		if (head->ts_ns < best_ns) {
			*ret_until = best_ns;
			best_ns = head->ts_ns;
			best = m->stream[i];
		} else {
			*ret_until = head->ts_ns;
		}
	}
	return best;
}

/*
 * An event that waits for its stack although the CPU is read to the end: it
 * holds everything younger back for one pass, then it goes without.
 */
static uint64_t settle_waiting(struct kmt_merge *m, uint64_t bound)
{
	for (size_t i = 0; i < m->n; i++) {
		struct kmt_node *head = kmt_cpu_queue_head(&m->stream[i]->queue);

		if (!head || !head->awaits_stack)
			continue;
		if (bound == KMT_MERGE_ALL || head->ts_ns < m->last_bound)
			kmt_cpu_queue_give_up(&m->stream[i]->queue);
		else if (head->ts_ns < bound)
			bound = head->ts_ns;
	}
	return bound;
}

/* Hand on one CPU's events until another's turn comes. */
static int run(struct kmt_merge *m, struct kmt_deliver *d, const struct kmt_sink *sink,
	       struct kmt_stream *st, uint64_t until)
{
	struct kmt_node *head = kmt_cpu_queue_head(&st->queue);
	int n = 0;

	while (head && !head->awaits_stack && head->ts_ns <= until) {
		int err = 0;

		if (!m->skip || !m->skip(m->ctx, st, head))
			err = kmt_deliver_node(d, sink, st->cpu, head);
		kmt_cpu_queue_pop(&st->queue);
		if (!err)
			err = fill(m, st);
		if (err)
			return err;
		n++;
		head = kmt_cpu_queue_head(&st->queue);
	}
	return n;
}

int kmt_merge_pass(struct kmt_merge *m, struct kmt_deliver *d, const struct kmt_sink *sink,
		   uint64_t bound)
{
	struct kmt_stream *st;
	uint64_t limit, until;
	int n = 0, res;

	for (size_t i = 0; i < m->n; i++) {
		m->stream[i]->drained = false;
		res = fill(m, m->stream[i]);
		if (res)
			return res;
	}
	limit = settle_waiting(m, bound);
	while ((st = oldest(m, limit, &until))) {
		/* 'until' is the limit itself when there is no rival: stay below it */
		res = run(m, d, sink, st, until == limit ? limit - 1 : until);
		if (res < 0)
			return res;
		n += res;
		limit = settle_waiting(m, bound);
	}
	m->last_bound = bound;
	return n;
}
