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
	char *target;		/* directory its link in /sys/kernel/slab points to, or NULL */
};

struct kmt_slabs {
	struct kmt_slab_row *v;		/* sorted by name */
	size_t n, cap;
	struct kmt_slabs_memory memory;
};

/* The list without aliases: of /proc/slabinfo alone. */
int kmt_slabs_load_counts(const char *root, struct kmt_slabs **ret);
/* By the cache's own name alone; NULL if unknown. */
struct kmt_slab_row *kmt_slab_row_of(const struct kmt_slabs *s, const char *name);

#endif
