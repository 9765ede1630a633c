/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_EVENTFMT_EVENTFMT_H
#define KMT_EVENTFMT_EVENTFMT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/event.h"

struct kmt_symbols;		/* symbol/symbols.h */
struct kmt_gfp_names;		/* symbol/gfp.h */

/*
 * Columns that the original lacked, in the order of the output. Every one is
 * added after the original's last; unknown values are left out of the default
 * text and '-' in the table.
 */
struct kmt_eventfmt_opts {
	bool cache;		/* slab cache name */
	bool real_node;		/* node the memory lies on */
	bool time;		/* seconds.nanoseconds of the event's clock */
	bool task;		/* comm-pid, and the CPU */
	bool gfp;		/* gfp names, the very last column */
	bool stacks;		/* call chain, one indented line per frame, after the event */
	const struct kmt_symbols *symbols;	/* may be NULL: addresses in hex */
	const struct kmt_gfp_names *gfp_names;	/* may be NULL: hex */
};

/* One text form of the event stream: one file, one row in eventfmts.def. */
struct kmt_eventfmt {
	const char *name;
	const char *help;
	const char *aliases;	/* space separated, or NULL */
	/* the header, to the byte the original tracer's own; NULL = it had none */
	void (*header)(const struct kmt_eventfmt_opts *opts, struct kmt_buf *out);
	void (*event)(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		      struct kmt_buf *out);
	/* the overflow record, as a comment line a reader of the format can skip */
	void (*lost)(const struct kmt_eventfmt_opts *opts, const struct kmt_lost *lost,
		     struct kmt_buf *out);
};

extern const struct kmt_eventfmt *const kmt_eventfmts[];	/* NULL-terminated */
/* By name or alias; NULL if unknown. */
const struct kmt_eventfmt *kmt_eventfmt_find(const char *name);

#endif
