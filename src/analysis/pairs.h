/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: between which CPUs objects went. Only events tell it;
 * the books kept in the kernel have no more than a count for each site.
 *
 *   (row, allocating CPU, freeing CPU) ──► frees, bytes
 */
#ifndef KMT_ANALYSIS_PAIRS_H
#define KMT_ANALYSIS_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "base/index.h"

struct kmt_analysis_in;

#define KMT_PAIRS_MAX (1u << 20)	/* 40 MiB; what comes after is only counted */

struct kmt_pair {
	uint64_t frees, bytes;		/* since the start; bytes given */
	uint32_t site;			/* row of the session */
	uint32_t from, to;		/* CPU that allocated, that freed */
};

/* Hung on the session by the views that want it; zero-initialised is empty. */
struct kmt_pairs {
	struct kmt_pair *v;
	size_t n, cap;
	struct kmt_index index;
	uint64_t left_out;		/* frees of pairs that there was no room for */
};

extern const struct kmt_observer kmt_pairs_observer;

/* NULL: nobody watched. */
const struct kmt_pairs *kmt_pairs_of(const struct kmt_analysis_in *in);

#endif
