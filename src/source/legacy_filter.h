/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SOURCE_LEGACY_FILTER_H
#define KMT_SOURCE_LEGACY_FILTER_H

#include <stdint.h>

#include "core/event.h"
#include "core/filter.h"
#include "source/addrset.h"
#include "source/pages.h"

struct kmt_symbols;

/*
 * The event filter for text from another machine: it has no processes to ask,
 * and names of call sites where others have addresses. A free passes when its
 * address belongs to an allocation that passed.
 */
struct kmt_legacy_filter {
	const struct kmt_filter *f;	/* NULL: everything passes */
	const struct kmt_symbols *symbols;
	struct kmt_addrset passed;	/* live objects, by kmt_event_key() */
	struct kmt_frames frames;	/* live pages, frame by frame */
	uint64_t rejected;
	uint64_t untracked;		/* passed with the set full: their frees will not */
	uint64_t unknown_tasks;		/* rejected as nobody knows their task */
};

/* Borrows both. -EINVAL: the filter asks for what no text has. */
int kmt_legacy_filter_init(struct kmt_legacy_filter *lf, const struct kmt_filter *f,
			   const struct kmt_symbols *symbols);
void kmt_legacy_filter_done(struct kmt_legacy_filter *lf);
/* 1: it passes; 0: it does not; -ENOMEM. */
int kmt_legacy_filter_event(struct kmt_legacy_filter *lf, const struct kmt_event *ev);

#endif
