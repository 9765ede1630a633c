/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is behind the tracing directory: tracers of this machine, each with a
 * source, kept events and statistics of its own, several at once.
 *
 *   source ──► polling thread ──► kept events (store/recent.h) ──► trace, trace_pipe
 *      └─ tables, or the same events ──► session ──► analysis ──► report
 */
#ifndef KMT_CMD_TRACERS_H
#define KMT_CMD_TRACERS_H

#include <stdbool.h>

struct kmt_control_ops;
struct kmt_tracers;

struct kmt_tracers_opts {
	const char *source;	/* "bpf" or "tracefs"; NULL: the first that works here */
	bool realtime;		/* the polling threads at the lowest real-time priority */
	bool own;		/* do not leave kmemtrace's own events out */
};

/* Nothing is opened yet. The options' strings must live as long. */
int kmt_tracers_new(const struct kmt_tracers_opts *opts, struct kmt_tracers **ret);
/* Ends every tracer that is still there; nobody may be inside the ops. NULL allowed. */
void kmt_tracers_free(struct kmt_tracers *t);
/* The operations for the tree; valid until kmt_tracers_free(). */
void kmt_tracers_control(struct kmt_tracers *t, struct kmt_control_ops *ret_ops);

#endif
