/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording as it was at any time: read again up to there. */
#ifndef KMT_CMD_REPLAY_H
#define KMT_CMD_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct kmt_ask;
struct kmt_run;
struct kmt_view;

struct kmt_replay {
	struct kmt_ask *ask;		/* its 'by' decides what rows are counted by */
	struct kmt_view *view;		/* made anew by each reading */
	struct kmt_run *run;
	int (*made)(struct kmt_view *v);	/* the view has its session; an exit status ends */
	/* found by the first reading */
	bool has_time;			/* the events have times */
	uint64_t start_ns, length_ns;	/* of the events; the last one lies before the end */
	/* counts from here on are told apart: kmt_session_mark() */
	bool has_mark;
	uint64_t mark_ns;		/* after the start */
};

/*
 * Read the whole (at_ns 0), or as if it had ended at_ns after its start. The
 * options are prepared, and nothing is open or the reading before. Returns 0 or
 * an exit status after having told the user; a recording that is damaged or a
 * signal is told in the view (fault, interrupted).
 */
int kmt_replay_read(struct kmt_replay *r, uint64_t at_ns);

#endif
