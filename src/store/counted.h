/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside store/ and its reader: the counted books (struct kmt_snapshot) as blocks. */
#ifndef KMT_STORE_COUNTED_H
#define KMT_STORE_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "core/snapshot.h"

struct kmt_block;
struct kmt_cols;
struct kmt_cols_out;

/* ---- writing ---- */

/* The last snapshot, copied; its objects are only walked when it is put. */
struct kmt_counted {
	bool is_set;
	struct kmt_snapshot snap;
	struct kmt_arena arena;
};

void kmt_counted_done(struct kmt_counted *c);
int kmt_counted_set(struct kmt_counted *c, const struct kmt_snapshot *snap);
/* Calls 'put' with the columns of each block; they are cleared after it. */
int kmt_counted_put(const struct kmt_counted *c, struct kmt_cols_out *cols,
		    int (*put)(void *ctx, unsigned type, struct kmt_cols_out *cols), void *ctx);

/* ---- reading ---- */

struct kmt_counted_in {
	struct kmt_snap_site *sites;
	struct kmt_snap_free_site *free_sites;
	struct kmt_snap_object *objects;
	struct kmt_snap_older *older;
	size_t n_sites, n_free_sites, n_objects, n_older;
	size_t cap_sites, cap_free_sites, cap_objects, cap_older;
	uint64_t left_out;		/* rows for which there is no room */
	struct kmt_arena arena;
};

void kmt_counted_in_done(struct kmt_counted_in *in);
void kmt_counted_in_clear(struct kmt_counted_in *in);
/* The columns of a block of sites or objects. -EBADMSG with text. */
int kmt_counted_in_add(struct kmt_counted_in *in, const struct kmt_cols *cols);
/*
 * The block that ends them: the snapshot, which borrows from 'in'. ret_missing:
 * rows of blocks that were not there.
 */
int kmt_counted_in_end(struct kmt_counted_in *in, const struct kmt_cols *cols,
		       struct kmt_snapshot *ret, uint64_t *ret_missing);

#endif
