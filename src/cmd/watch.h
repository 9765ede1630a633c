/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracing this kernel into a view's session, from the first event to the last. */
#ifndef KMT_CMD_WATCH_H
#define KMT_CMD_WATCH_H

#include <stdint.h>

struct kmt_run;
struct kmt_symbols;
struct kmt_view;

struct kmt_watch {
	struct kmt_view *view;		/* its source is open */
	struct kmt_run *run;		/* the command, made and waiting; or none */
	struct kmt_symbols **symbols;	/* --module: take its names; NULL: none is followed */
	uint64_t interval_ns;		/* print the view every so often; 0 = never */
	uint64_t mark_ns;		/* out: CLOCK_MONOTONIC when the last interval began */
};

/*
 * Start, run the command or wait for --for, a signal, or without a command for
 * the unload of the module that is followed; stop, and take over
 * what was counted; nothing is printed but intervals. argv: the command's, for
 * the error that it cannot be run. 0, or an error with its text; then, too,
 * nothing is on any more (-ECANCELED: it is told already). *ret_status: the
 * exit status to go on with.
 */
int kmt_watch_live(struct kmt_watch *w, char **argv, int *ret_status);
/*
 * The same of a session that runs already and goes on: it is read once, or with
 * an interval until a signal or the end of --for.
 */
int kmt_watch_session(struct kmt_watch *w);

#endif
