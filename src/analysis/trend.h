/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: does what a row holds grow? The time is cut into
 * windows, and of each the lowest live bytes are kept: a burst that goes away
 * again leaves no trace there, what stays does.
 *
 *	live  ___/\___/\____/\__		floor	_______________  flat
 *	live     __/\__				floor	      ___
 *	    __/\/					 ____/		 rises
 *
 * The first window begins with nothing, so the filling of a cache that has a
 * steady size is a rise or two at the beginning.
 */
#ifndef KMT_ANALYSIS_TREND_H
#define KMT_ANALYSIS_TREND_H

#include <stddef.h>
#include <stdint.h>

#define KMT_TREND_WINDOWS 16	/* at most; when they are used up, two become one */

struct kmt_observer;
struct kmt_session;

struct kmt_trend {
	unsigned windows;		/* that there are; the last one may not be over */
	unsigned rose, fell;		/* whose floor is above or below that of the one before */
	unsigned last_rise;		/* the last that rose, 0: none */
	uint64_t width_ns;
	uint64_t first_floor, last_floor;
};

extern const struct kmt_observer kmt_trend_observer;

/* Of several rows of the session together: their floors are added. No windows: not watched. */
void kmt_trend_of(const struct kmt_session *s, const size_t *rows, size_t n,
		  struct kmt_trend *ret);

#endif
