// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/watch.h"

#include <errno.h>

#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/view.h"
#include "core/session.h"
#include "symbol/slabs.h"

#define TICK_MS 100		/* how often peaks are looked at */

static struct kmt_source *source_of(const struct kmt_watch *w)
{
	return w->view->ask->select.source;
}

static int on_interval(struct kmt_watch *w, uint64_t now)
{
	int err = kmt_view_update(w->view);

	if (!err)
		err = kmt_view_print(w->view, now - w->mark_ns);
	kmt_session_mark(w->view->session);
	w->mark_ns = now;
	return err;
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

static int watch(struct kmt_watch *w)
{
	const uint64_t for_ns = w->view->ask->select.for_ns;
	const uint64_t end = for_ns ? w->mark_ns + for_ns : 0;
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
			err = kmt_view_update(w->view);
		if (now >= tick)
			tick = now + TICK_MS * 1000000ull;
	}
	return err;
}

/* What is still in the buffers after the events were switched off. */
static int drain(struct kmt_watch *w)
{
	struct kmt_source *source = source_of(w);
	int n;

	if (source->ops->counted && source->ops->snapshot)
		return 0;
	do
		n = source->ops->poll(source, &w->view->sink, 0);
	while (n > 0);
	return n == -ENODATA || n == -EINTR ? 0 : n;
}

int kmt_watch_live(struct kmt_watch *w, char **argv, int *ret_status)
{
	struct kmt_source *source = source_of(w);
	int err = source->ops->start(source);

	w->mark_ns = kmt_live_now();
	kmt_slabs_load(NULL, &w->view->slabs_start);
	/* what is counted by now is no part of the first tick: views over time begin here */
	if (!err)
		err = kmt_view_update(w->view);
	if (!err && kmt_run_go(w->run)) {
		source->ops->stop(source);
		*ret_status = kmt_cmd_fail(KMT_EXIT_USAGE, "cannot run '%s'", argv[0]);
		return -ECANCELED;
	}
	if (!err)
		err = watch(w);
	source->ops->stop(source);
	if (!err)
		err = drain(w);
	if (!err)
		err = kmt_view_update(w->view);
	kmt_run_done(w->run);
	*ret_status = kmt_run_status(w->run);
	return err;
}
