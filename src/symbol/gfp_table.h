/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside symbol/ only: how the three sources of gfp names fill the table. */
#ifndef KMT_SYMBOL_GFP_TABLE_H
#define KMT_SYMBOL_GFP_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct btf;

#define KMT_GFP_NAME_LEN	40
#define KMT_GFP_MAX		128

/*
 * Names in the order in which the kernel tries them: composites, largest
 * first, then single bits. A name whose bits are all set is printed, and its
 * bits are done with.
 */
struct kmt_gfp_names {
	char zero[KMT_GFP_NAME_LEN];	/* what no bit at all is called */
	size_t n;
	struct {
		uint64_t mask;
		char name[KMT_GFP_NAME_LEN];
	} v[KMT_GFP_MAX];
};

struct kmt_gfp_names *kmt_gfp_names_new(const char *zero);
/* Append; -E2BIG when full or the name is too long, -EINVAL for an empty one. */
int kmt_gfp_names_add(struct kmt_gfp_names *g, uint64_t mask, const char *name, size_t len);

/*
 * Put the composites in front of the single bits that are there already. Each
 * is made of the bits' names, so only composites whose bits this kernel has
 * come into being. -E2BIG when full.
 */
int kmt_gfp_names_compose(struct kmt_gfp_names *g);

/* The single bits of the ___GFP_*_BIT enum among types. -ENOENT if there is none. */
int kmt_gfp_names_from_btf(const struct btf *btf, struct kmt_gfp_names **ret);

#endif
