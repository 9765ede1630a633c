/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside symbol/ only: what the list of slab caches is made of. */
#ifndef KMT_SYMBOL_SLABS_PRIV_H
#define KMT_SYMBOL_SLABS_PRIV_H

#include "base/buf.h"
#include "symbol/slabs.h"

struct kmt_slab_row {
	struct kmt_slab pub;
	char *name;
	struct kmt_buf aliases;
	uint64_t capacity;	/* of a sheaf */
	bool has_capacity;	/* it was asked for */
	char *target;		/* directory its link in /sys/kernel/slab points to, or NULL */
};

struct kmt_slabs {
	struct kmt_slab_row *v;		/* sorted by name */
	size_t n, cap;
	struct kmt_slabs_memory memory;
	uint64_t listing;		/* which entries /sys/kernel/slab has; 0 not known */
};

/* The same with aliases; 'before' as in kmt_slabs_count_again(). */
int kmt_slabs_load_again(const char *root, const struct kmt_slabs *before, struct kmt_slabs **ret);
/* The list without aliases: of /proc/slabinfo alone. */
int kmt_slabs_load_counts(const char *root, struct kmt_slabs **ret);
/* By the cache's own name alone; NULL if unknown. */
struct kmt_slab_row *kmt_slab_row_of(const struct kmt_slabs *s, const char *name);

#endif
