/* SPDX-License-Identifier: GPL-2.0-only */
/* A run on this machine whose events go into a sink: what 'trace' and 'record' share. */
#ifndef KMT_CMD_LIVE_H
#define KMT_CMD_LIVE_H

#include <stdbool.h>
#include <stdint.h>

struct kmt_buf;
struct kmt_quality;
struct kmt_run;
struct kmt_select;
struct kmt_sink;

struct kmt_live {
	const struct kmt_select *select;	/* its source is open */
	struct kmt_run *child;
	const struct kmt_sink *sink;
	int (*started)(void *ctx);	/* the events are on; NULL allowed */
	int (*turn)(void *ctx);		/* after each look at the source */
	void *ctx;			/* of both; an error of theirs ends the run */
	int look_ms;			/* how long a look may wait for events; 0: 50 ms */
};

/*
 * Start the events, let the command (argv may be NULL) run until the end of
 * --for, of the command, or a signal; stop, and hand on what is still buffered.
 * *ret_status is set when the command cannot be run, which the user was told.
 * Else 0 or the first error, with its text; the events are off in any case.
 */
int kmt_live_run(const struct kmt_live *l, char **argv, int *ret_status);

/*
 * The lowest real-time priority for this thread and those it makes from now on,
 * unless --no-realtime; a refusal is told. Off again.
 */
void kmt_live_realtime(const struct kmt_select *s);
void kmt_live_normal(void);

/* ", 0 lost (ring buffer full), ..." and what else a source leaves out. */
void kmt_live_losses(const struct kmt_quality *q, struct kmt_buf *out);

/* CLOCK_MONOTONIC; CLOCK_REALTIME: nanoseconds both. */
uint64_t kmt_live_now(void);
uint64_t kmt_live_realtime_now(void);

#endif
