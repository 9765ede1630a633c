/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SYMBOL_SLABS_H
#define KMT_SYMBOL_SLABS_H

#include <stddef.h>
#include <stdint.h>

struct kmt_buf;
struct kmt_slabs;

/*
 * The kernel's own account of its slab caches: /proc/slabinfo and the alias
 * links of /sys/kernel/slab (merged caches).
 */
struct kmt_slab {
	const char *name;	/* borrowed from the table */
	const char *aliases;	/* other names merged into this cache, '\n' between; "" none */
	uint64_t active_objs;	/* counts objects on per-CPU lists as active */
	uint64_t num_objs;
	uint32_t object_size;	/* slabinfo's objsize: the stride */
	uint32_t objs_per_slab;
};

/* root: NULL = "" (a prefix for tests). -EACCES when slabinfo is not readable. */
int kmt_slabs_load(const char *root, struct kmt_slabs **ret);
/*
 * A list that is not this machine's, from its stored form: a line for each
 * cache, "active num object_size objs_per_slab NAME[\tALIAS...]". 'what' names
 * the text in errors (-EINVAL, with the line).
 */
int kmt_slabs_parse(const char *text, size_t len, const char *what, struct kmt_slabs **ret);
/* Append the stored form. */
void kmt_slabs_store(const struct kmt_slabs *s, struct kmt_buf *out);
void kmt_slabs_free(struct kmt_slabs *s);
size_t kmt_slabs_count(const struct kmt_slabs *s);
const struct kmt_slab *kmt_slabs_at(const struct kmt_slabs *s, size_t i);
/* By name or by any alias; NULL if unknown. */
const struct kmt_slab *kmt_slabs_find(const struct kmt_slabs *s, const char *name);

#endif
