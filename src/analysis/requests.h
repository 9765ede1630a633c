/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: the least and the greatest request of a row, and so
 * whether it always asks for the same.
 *
 *   of events	 every request, by an observer
 *   counted	 objects of a cache; else deduced: all of them full, or the live
 *		 objects equal and the sum of all requests a multiple of that
 */
#ifndef KMT_ANALYSIS_REQUESTS_H
#define KMT_ANALYSIS_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_analysis_in;

struct kmt_request {
	uint64_t min, max;	/* bytes */
	bool	 known;
};

extern const struct kmt_observer kmt_requests_observer;

/* One for each of the session's rows; free() it. 0 or -ENOMEM. */
int kmt_requests_make(const struct kmt_analysis_in *in, struct kmt_request **ret);

#endif
