// SPDX-License-Identifier: GPL-2.0-only
#include "core/window.h"

#include <errno.h>

#include "base/err.h"
#include "core/sat.h"

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct kmt_window *w = ctx;
	uint64_t at;

	if (!ev->has_time) {
		w->no_time++;
		w->left_out++;
		return 0;
	}
	if (!w->has_start) {
		w->start_ns = ev->ts_ns;
		w->has_start = true;
	}
	at = kmt_sat_sub(ev->ts_ns, w->start_ns);
	if (at < w->since_ns || (w->until_ns && at >= w->until_ns)) {
		w->left_out++;
		return 0;
	}
	return w->next.event ? w->next.event(w->next.ctx, ev) : 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct kmt_window *w = ctx;

	return w->next.lost ? w->next.lost(w->next.ctx, lost) : 0;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	return kmt_err(-EINVAL, "the recording holds counts, not events: no part of its time can "
		       "be chosen");
}

struct kmt_sink kmt_window_sink(struct kmt_window *w)
{
	return (struct kmt_sink){ .event = on_event, .lost = on_lost, .snapshot = on_snapshot,
				  .ctx = w };
}
