/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: what each row of the session holds, as an observer last
 * saw it, and the sum of each layer. Layers lie on each other (slab objects in
 * pages), so they are never added up.
 */
#ifndef KMT_ANALYSIS_LIVE_ROWS_H
#define KMT_ANALYSIS_LIVE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/group.h"

struct kmt_session;

struct kmt_held {
	uint64_t bytes, requested, objects;
};

struct kmt_live_rows {
	struct kmt_held *v;
	size_t n;
	unsigned __int128 bytes[KMT_LAYERS], objects[KMT_LAYERS];
};

/*
 * Row i of the session has changed; tells what it held before and its layer.
 * 0 or -ENOMEM.
 */
int kmt_live_rows_change(struct kmt_live_rows *l, const struct kmt_session *s, size_t i,
			 struct kmt_held *ret_before, unsigned *ret_layer);
void kmt_live_rows_done(struct kmt_live_rows *l);

/* How many layers the session's rows are of. */
unsigned kmt_count_layers(const struct kmt_session *s);

#endif
