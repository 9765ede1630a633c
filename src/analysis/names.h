/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: how call sites, stacks and caches are called. */
#ifndef KMT_ANALYSIS_NAMES_H
#define KMT_ANALYSIS_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct kmt_analysis_in;
struct kmt_buf;
struct kmt_cell;
struct kmt_row;
struct kmt_site_key;

/*
 * "func+0x1c [mod]" and the module ("vmlinux": built in) of a call site, by the
 * source's own name or by its address; null cells if nothing is known. Either
 * cell may be NULL. 0 or -ENOMEM.
 */
int kmt_name_address(const struct kmt_analysis_in *in, uint64_t addr, const char *name,
		     struct kmt_cell *site, struct kmt_cell *module);
/* The same for a row's key: with a stack, its first frame that is not the allocator's. */
int kmt_name_key(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		 struct kmt_cell *site, struct kmt_cell *module);

/* That frame's number. */
uint32_t kmt_name_first_frame(const struct kmt_analysis_in *in, const struct kmt_site_key *key);

/* The address that kmt_name_key() names; 0: it has a name and no address. */
uint64_t kmt_name_place(const struct kmt_analysis_in *in, const struct kmt_site_key *key);

/*
 * Frames of a stack from the allocating function on, outermost last: as detail
 * lines of the row (NULL = none wanted) and as a list (NULL = none wanted).
 */
int kmt_name_stack(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		   struct kmt_row *row, struct kmt_cell *list);

/* "dentry", "kmalloc-64 (inferred)", null. */
int kmt_name_cache(const struct kmt_site_key *key, struct kmt_cell *cell);
/* All other names of this cache, '\n' between; null for none. */
int kmt_name_aliases(const struct kmt_analysis_in *in, const char *cache, struct kmt_cell *cell);

/* Take a buffer's text into a cell and empty it. */
int kmt_name_take(struct kmt_buf *b, struct kmt_cell *cell);

#endif
