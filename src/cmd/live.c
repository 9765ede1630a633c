// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/live.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/select.h"

#define SEC 1000000000ull
#define LOOK_MS 50		/* how long a source may wait for events, unless it is said */
#define REALTIME_PRIORITY 1	/* the lowest: it decides what is lost, not how much it may run */

static uint64_t now_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

uint64_t kmt_live_now(void)
{
	return now_of(CLOCK_MONOTONIC);
}

uint64_t kmt_live_realtime_now(void)
{
	return now_of(CLOCK_REALTIME);
}

/* A stalled reader of ours must not cost events: what reads the rings runs first. */
void kmt_live_realtime(const struct kmt_select *s)
{
	struct sched_param p = { .sched_priority = REALTIME_PRIORITY };

	if (s->realtime && sched_setscheduler(0, SCHED_FIFO, &p))
		kmt_cmd_warn("no real-time priority (%s): a busy machine may lose more events",
			     strerror(errno));
}

void kmt_live_normal(void)
{
	struct sched_param p = { 0 };

	sched_setscheduler(0, SCHED_OTHER, &p);
}

static int pump(const struct kmt_live *l)
{
	struct kmt_source *src = l->select->source;
	const uint64_t end = l->select->for_ns ? kmt_live_now() + l->select->for_ns : 0;
	int n = 0;

	while (!kmt_run_over(l->child) && !(end && kmt_live_now() >= end)) {
		n = src->ops->poll(src, l->sink, l->look_ms ? l->look_ms : LOOK_MS);
		if (n >= 0)
			n = l->turn(l->ctx);
		if (n < 0 && n != -EINTR)
			return n;
	}
	return 0;
}

/* After the events were switched off: everything that is still buffered. */
static int drain(const struct kmt_live *l)
{
	struct kmt_source *src = l->select->source;
	int n, err;

	do {
		n = src->ops->poll(src, l->sink, 0);
		err = l->turn(l->ctx);
	} while (n > 0 && !err);
	if (err)
		return err;
	return n == -ENODATA || n == -EINTR ? 0 : n < 0 ? n : 0;
}

int kmt_live_run(const struct kmt_live *l, char **argv, int *ret_status)
{
	struct kmt_source *src = l->select->source;
	int err = src->ops->start(src);

	if (!err && l->started)
		err = l->started(l->ctx);
	if (!err && kmt_run_go(l->child)) {
		src->ops->stop(src);
		*ret_status = kmt_cmd_fail(KMT_EXIT_USAGE, "cannot run '%s'", argv[0]);
		return 0;
	}
	if (!err)
		err = pump(l);
	src->ops->stop(src);
	return err ? err : drain(l);
}

void kmt_live_losses(const struct kmt_quality *q, struct kmt_buf *out)
{
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		if (q->lost[i] || i == KMT_LOSS_RING)
			kmt_buf_printf(out, ", %llu lost (%s)", (unsigned long long)q->lost[i],
				       kmt_loss_text(i));
	kmt_buf_printf(out, ", %llu recursion misses, %llu null frees, %llu own, %llu filtered",
		       (unsigned long long)q->recursion_misses, (unsigned long long)q->null_frees,
		       (unsigned long long)q->own, (unsigned long long)q->filtered);
	if (q->unknown_tasks)
		kmt_buf_printf(out, " (%llu of them as their task is not known)",
			       (unsigned long long)q->unknown_tasks);
	if (q->misses_untold)
		kmt_buf_printf(out, ", %llu kprobes whose misses are not known",
			       (unsigned long long)q->misses_untold);
}
