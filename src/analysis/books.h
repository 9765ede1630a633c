/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: do the traced events of a cache explain what the
 * kernel itself says of it?
 *
 *   traced_net = allocations - frees - untraced frees     (events)
 *   real_net   = active objects, end - start              (/proc/slabinfo)
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
	int64_t	 traced_net, real_net;
	uint64_t off;		/* how far they are apart */
	bool	 has_real;
	enum kmt_verdict verdict;
	char	 text[56];	/* "balanced", "off by 11987", "not comparable (why)" */
};

struct kmt_books {
	struct kmt_book *v;
	size_t	 n;
	uint32_t *of;		/* session row -> book */
};

int kmt_books_make(const struct kmt_analysis_in *in, struct kmt_books *ret);
void kmt_books_done(struct kmt_books *b);
/* The book of a cache that has no row: nothing was traced of it. */
void kmt_books_silent(const struct kmt_analysis_in *in, const char *cache, struct kmt_book *ret);

/*
 * How far apart the two may be and still balance. slabinfo counts objects on
 * per-CPU lists as active, so its number moves by whole slabs as these lists
 * fill and empty: two slabs' worth, and never less than 32 objects.
 */
uint64_t kmt_books_tolerance(uint32_t objs_per_slab);

/* Events that are missing and may have been any cache's. */
uint64_t kmt_books_lost(const struct kmt_quality *q);

#endif
