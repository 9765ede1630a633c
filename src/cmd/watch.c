// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/watch.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/view.h"
#include "core/session.h"
#include "symbol/slabs.h"

#define TICK_MS 100		/* how often peaks are looked at */
/*
 * How long frees are waited for: kfree_rcu() keeps what it is given for up to five
 * seconds (KFREE_DRAIN_JIFFIES, since Linux v6.2; kernel/rcu/tree.c, now in
 * mm/slab_common.c) and then for a grace period.
 */
#define SETTLE_S	6
#define SETTLE_NS	(SETTLE_S * 1000000000ull)

static struct kmt_source *source_of(const struct kmt_watch *w)
{
	return w->view->ask->select.source;
}

/* Take over what was counted, and what became of the module before that. */
static int look(struct kmt_watch *w)
{
	struct kmt_source *source = source_of(w);
	int err = 0;

	if (w->symbols && source->ops->module)
		err = source->ops->module(source, w->symbols, &w->view->module);
	return err ? err : kmt_view_update(w->view);
}

static int on_interval(struct kmt_watch *w, uint64_t now)
{
	int err = look(w);

	if (!err)
		err = kmt_view_print(w->view, now - w->mark_ns);
	kmt_session_mark(w->view->session);
	w->mark_ns = now;
	return err;
}

/* After a look: the module is gone. */
static bool is_gone(const struct kmt_watch *w)
{
	return w->symbols && !w->view->module.is_loaded && kmt_module_unloaded(&w->view->module);
}

/* After a look: it is gone, and so is all it had, or there was time enough. */
static bool has_settled(const struct kmt_watch *w, uint64_t now)
{
	struct kmt_counts c;

	if (!is_gone(w))
		return false;
	kmt_session_total(w->view->session, &c);
	return !kmt_counts_live(&c) ||
	       now >= kmt_module_unloaded(&w->view->module) + SETTLE_NS;
}

static int poll_source(struct kmt_watch *w, int timeout_ms)
{
	struct kmt_source *source = source_of(w);
	int n = source->ops->poll(source, &w->view->sink, timeout_ms);

	return n >= 0 || n == -EINTR ? 0 : n;
}

static uint64_t next_stop(const struct kmt_watch *w, uint64_t tick, uint64_t end)
{
	uint64_t t = tick;

	if (w->interval_ns && w->mark_ns + w->interval_ns < t)
		t = w->mark_ns + w->interval_ns;
	return end && end < t ? end : t;
}

/* The command has ended: until the module has settled, if it is gone. */
static int settle_module(struct kmt_watch *w, uint64_t end)
{
	int err = 0;

	while (!err && !w->run->signal) {
		uint64_t now = kmt_live_now();

		err = look(w);
		if (err || !is_gone(w) || has_settled(w, now) || (end && now >= end))
			break;
		err = poll_source(w, TICK_MS);
		kmt_run_over(w->run);
	}
	return err;
}

static int watch(struct kmt_watch *w, uint64_t end)
{
	uint64_t tick = w->mark_ns + TICK_MS * 1000000ull;
	int err = 0;

	while (!err && !kmt_run_over(w->run)) {
		uint64_t now = kmt_live_now(), stop = next_stop(w, tick, end);

		if (end && now >= end)
			break;
		if (now < stop) {
			err = poll_source(w, (stop - now) / 1000000 + 1);
			continue;
		}
		if (w->interval_ns && now >= w->mark_ns + w->interval_ns)
			err = on_interval(w, now);
		else if (now >= tick)
			err = look(w);
		if (!w->run->pid && has_settled(w, now))
			break;
		if (now >= tick)
			tick = now + TICK_MS * 1000000ull;
	}
	return err;
}

static bool is_counted(const struct kmt_source *source)
{
	return source->ops->counted && source->ops->snapshot;
}

/* What is still in the buffers after the events were switched off. */
static int drain(struct kmt_watch *w)
{
	struct kmt_source *source = source_of(w);
	int n;

	if (is_counted(source))
		return 0;
	do
		n = source->ops->poll(source, &w->view->sink, 0);
	while (n > 0);
	return n == -ENODATA || n == -EINTR ? 0 : n;
}

/*
 * For --exact. At the end the events stay on meanwhile, or the batched frees would be
 * missing; before the start they are nobody's.
 */
static int settle(struct kmt_watch *w, bool is_on)
{
	const uint64_t end = kmt_live_now() + SETTLE_NS;
	int err = 0;

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "kmemtrace: waiting %d s for batched frees, then shrinking every "
			"slab cache\n", SETTLE_S);
	while (!err && kmt_live_now() < end) {
		if (is_on)
			err = poll_source(w, TICK_MS);
		else if (kmt_run_over(w->run))
			break;
		else
			usleep(TICK_MS * 1000);
	}
	return err;
}

/*
 * The last count, with what was traced at the same moment: the books are closed
 * here. What a stream still holds comes later.
 */
static int count_end(struct kmt_watch *w)
{
	int err = w->view->exact ? settle(w, true) : 0;

	kmt_view_count(w->view, &w->view->slabs_end);
	w->view->is_over = true;
	return err ? err : look(w);
}

int kmt_watch_live(struct kmt_watch *w, char **argv, int *ret_status)
{
	struct kmt_source *source = source_of(w);
	const uint64_t for_ns = w->view->ask->select.for_ns;
	uint64_t end;
	int err;

	if (w->view->exact)
		settle(w, false);
	kmt_view_count(w->view, &w->view->slabs_start);
	err = source->ops->start(source);
	w->mark_ns = kmt_live_now();
	end = for_ns ? w->mark_ns + for_ns : 0;
	/* what happened until the events were on is nobody's */
	if (w->view->slabs_start)
		kmt_slabs_recount(NULL, w->view->slabs_start);
	/* what is counted by now is no part of the first tick: views over time begin here */
	if (!err)
		err = look(w);
	if (!err && kmt_run_go(w->run)) {
		source->ops->stop(source);
		*ret_status = kmt_cmd_fail(KMT_EXIT_USAGE, "cannot run '%s'", argv[0]);
		return -ECANCELED;
	}
	if (!err)
		err = watch(w, end);
	if (!err && w->symbols)
		err = settle_module(w, end);
	if (!err)
		err = count_end(w);
	source->ops->stop(source);
	if (!err)
		err = drain(w);
	/* what is counted was closed with the kernel's count; a stream has more */
	if (!err && (w->symbols || !is_counted(source)))
		err = look(w);
	kmt_run_done(w->run);
	*ret_status = kmt_run_status(w->run);
	return err;
}

int kmt_watch_session(struct kmt_watch *w)
{
	const uint64_t for_ns = w->view->ask->select.for_ns;
	int err = 0;

	w->mark_ns = kmt_live_now();
	if (w->interval_ns) {
		err = look(w);
		kmt_session_mark(w->view->session);
		if (!err)
			err = watch(w, for_ns ? w->mark_ns + for_ns : 0);
	}
	return err ? err : count_end(w);
}
