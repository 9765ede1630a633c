/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: the sizes that kmalloc comes in. Those of the traced
 * kernel where its caches are known, else the usual ones; above the largest
 * cache whole pages, powers of two.
 *
 *   requested  1..8   9..16   ...   65..96   97..128   ...   4097..8192   8193..16384
 */
#ifndef KMT_ANALYSIS_CLASSES_H
#define KMT_ANALYSIS_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_slabs;

#define KMT_CLASSES 48		/* caches at most; a kernel has 13 to 20 */

struct kmt_class {
	uint64_t from, to;	/* requested bytes that belong here */
	uint64_t given;		/* what they are given (more than 'to' in a debug kernel) */
	char	 name[24];	/* "kmalloc-96"; of whole pages "16384" */
};

struct kmt_classes {
	size_t n;
	struct kmt_class v[KMT_CLASSES];
};

/* slabs may be NULL. */
void kmt_classes_init(struct kmt_classes *c, const struct kmt_slabs *slabs);
/* The class of a request. false: none, it is 0 or beyond all powers of two. */
bool kmt_classes_of(const struct kmt_classes *c, uint64_t bytes, struct kmt_class *ret);
/* The class that gives so many bytes, else the one that as many would belong to. */
bool kmt_classes_giving(const struct kmt_classes *c, uint64_t given, struct kmt_class *ret);

#endif
