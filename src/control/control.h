/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracing directory of 'kmemtrace mount': files that are used with echo and
 * cat. What is behind them is not its business:
 *
 *   cmd/mount.c ──kmt_control_ops──► kmt_tree (files.def) ──► control/fuse.c
 *                   tracers             paths and text           libfuse3
 *
 * A tracer is the root of the tree or one of its instances: it is at rest ("nop")
 * or it traces, and has settings, kept events and statistics of its own.
 */
#ifndef KMT_CONTROL_CONTROL_H
#define KMT_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kmt_buf;
struct kmt_report;

/* Settings: each is a file, or one below options/ (those from KMT_KNOB_MINIMALISTIC on). */
enum kmt_knob {
	KMT_KNOB_TRACER,		/* "kmemtrace" or "nop" */
	KMT_KNOB_TRACING_ON,		/* "0", "1": whether events are kept and counted */
	KMT_KNOB_BUFFER_KB,		/* kept events, per CPU as in tracefs */
	KMT_KNOB_BUFFER_TOTAL_KB,	/* read only */
	KMT_KNOB_EVENT_PID,		/* "1 2 3" or "" */
	KMT_KNOB_CACHE_FILTER,		/* globs, separated by blanks; "" all */
	KMT_KNOB_CACHE_NOTRACE,
	KMT_KNOB_OBJECT_TABLE_KB,	/* live-object table, "0" by the slab population */
	KMT_KNOB_CALL_SITE_TABLE,	/* rows of the call-site table */
	KMT_KNOB_MINIMALISTIC,		/* "0", "1"; kmem_alternative is the same one */
	KMT_KNOB_GFP,
	KMT_KNOB_TIME,
	KMT_KNOB_CACHE,
	KMT_KNOB_REAL_NODE,
	KMT_KNOB_STACKTRACE,
	KMT_KNOB_MAX
};

/*
 * What mount gives the tree. Calls come from several threads at once; each is
 * safe for itself. Errors are negative errnos with one line in kmt_err_text(),
 * which the tree keeps for error_log.
 */
struct kmt_control_ops {
	/*
	 * A tracer at rest; "" is the root's name. -EPERM: none can be made (the
	 * mount shows one session).
	 */
	int (*make)(void *ctx, const char *name, void **ret_tracer);
	/* Stop it and forget it; nobody has one of its files open (the tree sees to it). */
	void (*end)(void *tracer);
	/* As the file is read: without the newline. */
	int (*get)(void *tracer, enum kmt_knob knob, struct kmt_buf *out);
	/*
	 * As it was written, without blanks around it. -EINVAL no such value,
	 * -E2BIG more than this machine allows, -EBUSY not while it traces, -EROFS.
	 */
	int (*set)(void *tracer, enum kmt_knob knob, const char *value);

	/* Losses and misses by reason, a line "reason: N" each, all of them, also zeros. */
	int (*overruns)(void *tracer, struct kmt_buf *out);

	/*
	 * 'trace': the kept events as text, with the header, by the options of this
	 * moment; fixed at this call, whatever comes later. Read at any offset, the
	 * same bytes each time; 0 at the end. One thread at a time per text.
	 */
	int (*text_open)(void *tracer, void **ret_text);
	ssize_t (*text_read)(void *text, char *out, size_t size, uint64_t offset);
	void (*text_close)(void *text);
	/* Writing to 'trace': forget the kept events. */
	int (*clear)(void *tracer);

	/*
	 * 'trace_pipe': whole lines of events that nobody took yet, no header, as
	 * many as fit; 0: there is none now. One reader takes what the other does not
	 * see. Never waits; asked some twenty times a second by who waits.
	 */
	ssize_t (*pipe_read)(void *tracer, char *out, size_t size);
	bool (*pipe_ready)(void *tracer);

	/*
	 * An analysis ('stat --by') of all that was counted since the last reset,
	 * all rows in its own order; the caller's to free. -ENODATA: it never traced.
	 */
	int (*report)(void *tracer, const char *analysis, struct kmt_report **ret_report);
	/* Statistics begin at zero; what is live stays live. */
	int (*reset)(void *tracer);

	void *ctx;			/* of make() */
};

#endif
