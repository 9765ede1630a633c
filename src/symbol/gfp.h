/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SYMBOL_GFP_H
#define KMT_SYMBOL_GFP_H

#include <stddef.h>
#include <stdint.h>

struct btf;
struct kmt_buf;
struct kmt_gfp_names;

/*
 * Names of gfp bits. Order of sources: the ___GFP_*_BIT enum in the kernel's
 * BTF; the "print fmt" of a kmem event's format file where tracefs is mounted.
 * -ENOENT if neither has them: pass NULL then, and hex is printed. Never
 * chosen by version number.
 */
int kmt_gfp_names_running(struct kmt_gfp_names **ret);
/* The same, of types that were loaded already; NULL: this kernel has none. */
int kmt_gfp_names_of(const struct btf *btf, struct kmt_gfp_names **ret);
/*
 * The running kernel's types. Loading them takes longer than most other things at
 * the start: once for all who ask. -ENOENT if it has none.
 */
int kmt_kernel_btf_load(struct btf **ret);
void kmt_kernel_btf_free(struct btf *btf);
/* The layout of the original's time (2.6.28-2.6.35: GFP_KERNEL = 0xd0), for its text files. */
int kmt_gfp_names_2008(struct kmt_gfp_names **ret);
/*
 * From the "print fmt" line of a kmem event's format file, wherever it was
 * stored. -ENOENT if it has no flag list.
 */
int kmt_gfp_names_from_format(const char *text, size_t len, struct kmt_gfp_names **ret);
/* From the stored form: lines "0xMASK NAME" in order, 0 first. -EINVAL if it is none. */
int kmt_gfp_names_parse(const char *text, size_t len, struct kmt_gfp_names **ret);
/* Append the stored form. */
void kmt_gfp_names_store(const struct kmt_gfp_names *g, struct kmt_buf *out);
void kmt_gfp_names_free(struct kmt_gfp_names *g);

/*
 * "GFP_KERNEL|__GFP_ZERO": composite names first, largest first; leftover bits
 * as hex. 0 is what the kernel calls it: "none", in 2008 "GFP_NOWAIT". With
 * NULL names always "0x...".
 */
void kmt_gfp_print(const struct kmt_gfp_names *g, uint64_t gfp, struct kmt_buf *out);
/* Mask of one name ("__GFP_ACCOUNT"), 0 if unknown. */
uint64_t kmt_gfp_mask(const struct kmt_gfp_names *g, const char *name);

#endif
