/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One layer of a recording that may have several. Slab objects lie in pages:
 * no session, and so no total, has more than one of them.
 *
 *   source ──► kmt_only (events of other types are counted) ──► session's sink
 */
#ifndef KMT_CORE_ONLY_H
#define KMT_CORE_ONLY_H

#include <stdint.h>

#include "core/event.h"

struct kmt_only {
	uint32_t types;		/* bit n: enum kmt_type n passes */
	struct kmt_sink to;
	uint64_t left_out;	/* events of other types; rows, from snapshots */
	uint32_t left_out_types;
};

/* A sink that hands on what is of o->types; borrows o. Losses are everybody's. */
struct kmt_sink kmt_only_sink(struct kmt_only *o);

#endif
