/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which page frames belong to allocations that passed. A block may be given
 * back in parts, so each of its frames is remembered, and a free passes when
 * one of its frames is known:
 *
 *   alloc frame 8, order 2 ──► { 8, 9, 10, 11 } ◄── free frame 10, order 0
 */
#ifndef KMT_SOURCE_PAGES_H
#define KMT_SOURCE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/addrset.h"

struct kmt_event;

struct kmt_frames {
	struct kmt_addrset set;		/* addresses of frames */
	uint64_t page_size;		/* as the allocations show it, 0 = not yet known */
	bool is_full;			/* some are missing: an unknown free may be of theirs */
};

void kmt_frames_init(struct kmt_frames *f, size_t max);
void kmt_frames_done(struct kmt_frames *f);
/* Remember a block. 0; -ENOSPC: not all of it; -ENOMEM. No error text. */
int kmt_frames_add(struct kmt_frames *f, const struct kmt_event *ev);
/* Forget a block; true if a part of it was there, or may have been. */
bool kmt_frames_del(struct kmt_frames *f, const struct kmt_event *ev);

/* ___GFP_MOVABLE, the same since 2.6.32 */
#define KMT_GFP_MOVABLE 0x08u

/* Memory of processes and page cache: what may be moved. */
bool kmt_pages_is_user(const struct kmt_event *ev);

/* Leaves user pages out, and the frees of all that was left out. */
struct kmt_pages;

/* 'user': they pass too, so that only frees of what was filtered out do not. */
int kmt_pages_new(bool user, struct kmt_pages **ret);
void kmt_pages_free(struct kmt_pages *p);
/* Does the page event pass? Events must come in order. */
bool kmt_pages_pass(struct kmt_pages *p, const struct kmt_event *ev);
size_t kmt_pages_bytes(const struct kmt_pages *p);

#endif
