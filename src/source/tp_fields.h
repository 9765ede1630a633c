/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoint records to kmt_event, by field name.
 *
 *   "events/kmem/kmalloc/format" ──(tracefs.c, an importer)──► kmt_tp_field[]
 *       ──kmt_tp_bind()──► kmt_tp_layout ──kmt_tp_decode(record)──► kmt_event
 *
 * Offsets moved in 5.12, 5.19, 6.1 and 6.18 and enterprise kernels carry later
 * changes on older versions: nothing here knows a kernel version. Whoever read
 * the format, with whatever library, hands its fields over as plain rows.
 */
#ifndef KMT_SOURCE_TP_FIELDS_H
#define KMT_SOURCE_TP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

/* One field as the format describes it; the name is only read during bind. */
struct kmt_tp_field {
	const char *name;
	uint32_t offset;
	uint32_t size;
	bool	 is_signed;
	bool	 is_dynamic;	/* __data_loc: the place of a string within the record */
	bool	 is_relative;	/* __rel_loc: the same, counted from behind the field */
};

enum kmt_tp_role {
	KMT_TP_SITE,
	KMT_TP_PTR,
	KMT_TP_REQ,
	KMT_TP_ALLOC,
	KMT_TP_GFP,
	KMT_TP_NODE,
	KMT_TP_PFN,		/* pages: the frame's number; else KMT_TP_PAGE */
	KMT_TP_PAGE,		/* struct page *, up to 4.1 */
	KMT_TP_ORDER,
	KMT_TP_MIGRATE,
	KMT_TP_FAILED,
	KMT_TP_NAME,		/* last: the only one that is no number */
	KMT_TP_ROLE_MAX
};

struct kmt_tp_layout {
	enum kmt_op op;
	uint8_t type;			/* enum kmt_type */
	bool no_address;		/* a failure: the event has no pointer */
	bool swap;			/* the record's byte order is not ours */
	/* of the traced machine, set after the bind: 0 = 4096, 0 = unknown */
	uint32_t page_size;
	uint32_t n_cpus;		/* possible CPUs: what per-CPU memory is taken for */
	bool has[KMT_TP_ROLE_MAX];
	struct kmt_tp_field field[KMT_TP_ROLE_MAX];	/* names are NULL */
};

/* Names of the events that are understood, frees first, NULL-terminated. */
extern const char *const kmt_tp_events[];
/* "kmem" for "kmalloc"; NULL: no event of ours. */
const char *kmt_tp_system(const char *event);
/*
 * Does the event tell its call site? Pages and vmalloc areas do not: it comes
 * from their stack (source/caller.h).
 */
bool kmt_tp_has_site(const struct kmt_tp_layout *l);

/* Is the event by this name (of 'len' bytes) ours, and what is it? */
bool kmt_tp_kind(const char *name, size_t len, enum kmt_op *ret_op, uint8_t *ret_type);

/*
 * Find the fields of an event's record. -ENOENT: no event of ours. -EPROTO: a
 * field that must be there is missing or has an impossible size.
 */
int kmt_tp_bind(const char *event, const struct kmt_tp_field *fields, size_t n,
		struct kmt_tp_layout *ret);

/*
 * Fill op, type, call_site, addr, bytes, gfp, node, order, migratetype and
 * cache; the rest of *ev is left alone. 'cache' points into the record.
 * -EBADMSG: the record is shorter than its fields.
 *
 *   pages	addr = frame number * page size; a free has its order too
 *   percpu	bytes_req is for all CPUs together, as is bytes_alloc
 *   vmalloc	bytes are address space, with the guard page
 */
int kmt_tp_decode(const struct kmt_tp_layout *l, const void *data, size_t len,
		  struct kmt_event *ev);
/*
 * The same out of the numbers of a record, by role, however they were read;
 * of the layout all but the offsets counts. 'cache' becomes NULL.
 */
void kmt_tp_fill(const struct kmt_tp_layout *l, const uint64_t v[KMT_TP_NAME],
		 struct kmt_event *ev);
/* Has the layout every field that an event of its kind must have? */
bool kmt_tp_is_complete(const struct kmt_tp_layout *l);

/* One number of a record (1, 2, 4 or 8 bytes); 0 where the record is too short. */
uint64_t kmt_tp_number(const struct kmt_tp_field *f, bool swap, const void *data, size_t len);

#endif
