/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Binary trace records to the nodes of a CPU's queue: allocations and frees,
 * their stacks, and what happens to tasks. Who read the pages and the formats,
 * with whatever library, is no matter.
 *
 *   page ──► record ──kmt_records_take()──► queue ──► merge ──► sink
 */
#ifndef KMT_SOURCE_TP_RECORDS_H
#define KMT_SOURCE_TP_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/tp_fields.h"

struct kmt_stream;

#define KMT_RECORD_EVENTS 24

enum kmt_record_kind {
	KMT_RECORD_KMEM, KMT_RECORD_STACK, KMT_RECORD_BORN, KMT_RECORD_RENAMED, KMT_RECORD_GONE,
};

/* Fields of the events that are no allocation: at most three each. */
struct kmt_record_fields {
	enum kmt_record_kind kind;
	const char *system, *name;
	const char *field[3];
};

extern const struct kmt_record_fields kmt_record_fields[];	/* ends with a NULL name */

struct kmt_record_event {
	int id;
	enum kmt_record_kind kind;
	struct kmt_tp_layout layout;		/* KMEM */
	struct kmt_tp_field field[3];		/* the others */
};

struct kmt_records {
	struct kmt_record_event event[KMT_RECORD_EVENTS];
	size_t n_events;
	struct kmt_tp_field common_type, common_pid, common_flags, common_preempt;
	bool stacks;			/* wanted, or call sites come from them */
};

/*
 * One record of this CPU into its queue, which has room for it; those of other
 * events are passed over. 0, or -EBADMSG: it is shorter than its fields.
 */
int kmt_records_take(const struct kmt_records *r, struct kmt_stream *st, const void *data,
		     size_t len, uint64_t ts_ns);

#endif
