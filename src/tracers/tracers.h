/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_TRACERS_TRACERS_H
#define KMT_TRACERS_TRACERS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a family's memory lies under another's: such totals are never added. */
enum kmt_layer { KMT_LAYER_OBJECT, KMT_LAYER_BACKING };

/* The rows of tracers.def, in order; a choice of tracers is a set of these bits. */
enum kmt_tracer_id {
#define TRACER(id, layer, on, letters, help, events) KMT_TRACER_##id,
#include "tracers/tracers.def"
#undef TRACER
	KMT_TRACERS
};

#define KMT_TRACER_BIT(id)	(1u << KMT_TRACER_##id)
/* In a set: "bulk:kprobe", attach as where there is no fentry. */
#define KMT_TRACERS_KPROBE	(1u << 31)
/* Tracers that have events, of a set: the others follow functions. */
#define KMT_TRACERS_OF_EVENTS(set) ((set) & ~(KMT_TRACER_BIT(bulk) | KMT_TRACERS_KPROBE))

/* A family of kernel events: one .bpf.c file, one row in tracers.def. */
struct kmt_tracer {
	const char *name;
	const char *help;
	enum kmt_layer layer;
	bool on;		/* unless asked otherwise */
	const char *letters;	/* of its event types: kmt_type_letter() */
	const char *events;	/* tracepoints, space separated; one a kernel lacks is skipped */
};

extern const struct kmt_tracer kmt_tracers[];	/* ends with a NULL name */

/* The set that is on unless asked otherwise. */
uint32_t kmt_tracers_default(void);
/* "slab,page" to a set. -EINVAL names what is unknown, empty or of no use alone. */
int kmt_tracers_parse(const char *list, uint32_t *ret);
/* The tracer whose events are of this type (enum kmt_type), as a set; 0: none. */
uint32_t kmt_tracers_of_type(unsigned type);
/* The tracer that has this tracepoint ("kmalloc", without its system), as a set; 0: none. */
uint32_t kmt_tracers_of_event(const char *event);
/* All event types of a set: bit n is enum kmt_type n. */
uint32_t kmt_tracers_types(uint32_t tracers);

#endif
