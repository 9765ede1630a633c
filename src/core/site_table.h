/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside core/ only: the session's rows, found by key. */
#ifndef KMT_CORE_SITE_TABLE_H
#define KMT_CORE_SITE_TABLE_H

#include "base/arena.h"
#include "base/index.h"
#include "core/site.h"

struct kmt_site_slot {
	struct kmt_site site;
	uint64_t peak_seen;	/* of the snapshots so far */
	uint64_t over, bytes_over;	/* awaiting RCU for too long: not in the counts (rcu.c) */
	bool counted;		/* fed by snapshots, not by events */
};

struct kmt_site_table {
	struct kmt_site_slot *v;
	size_t n, cap, max;
	struct kmt_index index;
};

struct kmt_free_slot {
	struct kmt_free_site site;
	bool counted;
};

struct kmt_free_table {
	struct kmt_free_slot *v;
	size_t n, cap, max;
	struct kmt_index index;
};

void kmt_site_table_done(struct kmt_site_table *t);
void kmt_free_table_done(struct kmt_free_table *t);

/*
 * The row of a key, made if it is new: strings and frames are copied into the
 * arena. 0, -ENOSPC when the table is full (no error text), -ENOMEM.
 */
int kmt_site_table_get(struct kmt_site_table *t, struct kmt_arena *arena,
		       const struct kmt_site_key *key, bool counted, size_t *ret);
int kmt_free_table_get(struct kmt_free_table *t, struct kmt_arena *arena,
		       const struct kmt_free_site *key, bool counted, size_t *ret);

#endif
