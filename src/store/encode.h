/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside store/ only: one block of events. It stands for itself: what repeats
 * is in dictionaries of the block's own, what differs in columns.
 *
 *   event ─► shape (what it has in common with others) ─► number
 *         ─► address: distance to the last one of this shape
 *         ─► time: distance to the last event; CPU; slack; real node
 */
#ifndef KMT_STORE_ENCODE_H
#define KMT_STORE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

struct kmt_cols_out;
struct kmt_encoder;
struct kmt_event;
struct kmt_lost;

int kmt_encoder_new(struct kmt_encoder **ret);
void kmt_encoder_free(struct kmt_encoder *e);
/* At most KMT_BLOCK_EVENTS of each, until the block is put or cleared. */
int kmt_encoder_event(struct kmt_encoder *e, const struct kmt_event *ev);
int kmt_encoder_lost(struct kmt_encoder *e, const struct kmt_lost *lost);
/* Events and losses in the block. */
size_t kmt_encoder_count(const struct kmt_encoder *e);
/* No less than what the block will take in the file. */
size_t kmt_encoder_bound(const struct kmt_encoder *e);
/* Append the columns; the block stays as it is, and may go on. Errors stick in c. */
void kmt_encoder_put(struct kmt_encoder *e, struct kmt_cols_out *c);
void kmt_encoder_clear(struct kmt_encoder *e);

#endif
