/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: do the traced events of a cache explain what the
 * kernel itself says of it?
 *
 *   traced_net = allocations - frees - untraced frees
 *		  - frees of older objects, and what is the tracer's own
 *   real_net   = active objects, end - start              (/proc/slabinfo)
 *
 * The kernel's count is right within bounds that it tells (symbol/slabs.h), and
 * what was given up to RCU may or may not be in it:
 *
 *   the truth:  real_net - end.over - start.under ... real_net + start.over + end.under
 *   the trace:  traced_net ... traced_net + awaiting RCU now
 *
 * The books balance when these two meet. They are always those since the trace began,
 * in a report about an interval too: what is live was allocated at any time since, and
 * a second in which nothing went wrong proves nothing of it.
 */
#ifndef KMT_ANALYSIS_BOOKS_H
#define KMT_ANALYSIS_BOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/quality.h"

struct kmt_analysis_in;
struct kmt_slab;

enum kmt_verdict { KMT_BOOK_NOT_COMPARABLE, KMT_BOOK_BALANCED, KMT_BOOK_OFF };

struct kmt_book {
	const char *cache;	/* the kernel's name where it is known, NULL unknown cache */
	const struct kmt_slab *start, *end;	/* NULL: not there */
	bool	 inferred;	/* some of its rows only guess that they belong here */
	uint64_t allocs, frees, untraced_frees, untracked;
	uint64_t older_frees, own_allocs;	/* see struct kmt_snap_older */
	uint64_t awaiting;	/* RCU */
	int64_t	 traced_net, real_net;
	uint64_t off;		/* how far they are apart */
	uint64_t tolerance;	/* how far they may be, in the direction in which they are */
	bool	 has_real;
	bool	 is_measured;	/* the tolerance: from the kernel's own bounds */
	enum kmt_verdict verdict;
	char	 text[56];	/* "balanced", "off by 11987", "not comparable (why)" */
};

struct kmt_books {
	struct kmt_book *v;
	size_t	 n;
	uint64_t older_unknown;	/* frees of older objects of nobody knows which cache */
	uint32_t *of;		/* session row -> book */
};

int kmt_books_make(const struct kmt_analysis_in *in, struct kmt_books *ret);
void kmt_books_done(struct kmt_books *b);
/* The book of a cache that has no row: nothing was traced of it. */
void kmt_books_silent(const struct kmt_analysis_in *in, const char *cache, struct kmt_book *ret);

/* What both say, in percent of the larger of the two: 100 = the same, 0 = opposite. */
double kmt_books_agreement(int64_t traced, int64_t real);

struct kmt_cell;

/* Columns that are of a book, by their keys; what is unknown stays null. 0 or -ENOMEM. */
bool kmt_book_has_cell(const char *key);
int kmt_book_cell(const struct kmt_book *b, const char *key, bool has_objects,
		  struct kmt_cell *cell);

/*
 * How far apart the two may be and still balance where nobody measured it, as in
 * older recordings: two slabs' worth, and never less than 32 objects.
 */
uint64_t kmt_books_tolerance(uint32_t objs_per_slab);

/* Events that are missing and may have been any cache's. */
uint64_t kmt_books_lost(const struct kmt_quality *q);

#endif
