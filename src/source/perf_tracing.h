/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The "tracing data" of a perf.data file: the formats of the recorded events,
 * as tracefs showed them on the recorded machine, and its kallsyms (old
 * versions of perf wrote them, later ones leave that part empty).
 */
#ifndef KMT_SOURCE_PERF_TRACING_H
#define KMT_SOURCE_PERF_TRACING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/tp_fields.h"

struct kmt_gfp_names;

#define KMT_PERF_EVENTS 16

struct kmt_perf_event {
	uint32_t id;
	struct kmt_tp_layout layout;
};

struct kmt_perf_tracing {
	struct kmt_perf_event event[KMT_PERF_EVENTS];
	size_t	 n_events;
	struct kmt_tp_field type;	/* common_type: the id, within any record */
	struct kmt_tp_field pid;	/* common_pid; size 0: there is none */
	bool	 swap;			/* the machine's byte order is not ours */
	uint32_t page_size;
	struct kmt_gfp_names *gfp_names;	/* NULL: no event has them */
	const char *kallsyms;		/* borrowed from 'data'; NULL: none */
	size_t	 kallsyms_len;
};

/*
 * 'at' is the offset of data in the file, for errors. -EBADMSG: it cannot be
 * read; -EPROTO: a slab event has a form that is not understood. What stands
 * behind the event formats may be missing.
 */
int kmt_perf_tracing_parse(const void *data, size_t len, uint64_t at,
			   struct kmt_perf_tracing *ret);
void kmt_perf_tracing_done(struct kmt_perf_tracing *t);
/* NULL: no slab event. */
const struct kmt_perf_event *kmt_perf_tracing_event(const struct kmt_perf_tracing *t, uint64_t id);

#endif
