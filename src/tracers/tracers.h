/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_TRACERS_TRACERS_H
#define KMT_TRACERS_TRACERS_H

#include <stdbool.h>

/* Whether a family's memory lies under another's: such totals are never added. */
enum kmt_layer { KMT_LAYER_OBJECT, KMT_LAYER_BACKING };

/* A family of kernel events: one .bpf.c file, one row in tracers.def. */
struct kmt_tracer {
	const char *name;
	const char *help;
	enum kmt_layer layer;
	bool on;		/* unless asked otherwise */
	const char *events;	/* tracepoints, space separated; one a kernel lacks is skipped */
};

extern const struct kmt_tracer kmt_tracers[];	/* ends with a NULL name */

#endif
