/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A part of a recording, as if it had begun and ended there: what lies outside
 * is counted and not handed on, so an object that was allocated before is one
 * that is older than the trace.
 *
 *   source ──► kmt_window ──► session
 */
#ifndef KMT_CORE_WINDOW_H
#define KMT_CORE_WINDOW_H

#include "core/event.h"

struct kmt_window {
	uint64_t since_ns, until_ns;	/* after the start; until 0 = to the end */
	uint64_t start_ns;		/* on the events' clock, if has_start */
	bool has_start;			/* else it is the first event's time */
	struct kmt_sink next;
	/* found on the way */
	uint64_t left_out;		/* events outside */
	uint64_t no_time;		/* of these: nobody knows where they belong */
};

/*
 * The sink in front of w->next; valid as long as w. Losses are handed on
 * wherever they lie: they may concern what is inside. Snapshots are an error
 * (-EINVAL): counts say nothing about when.
 */
struct kmt_sink kmt_window_sink(struct kmt_window *w);

#endif
