/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside store/ and its reader: a block of events, handed to a sink. */
#ifndef KMT_STORE_DECODE_H
#define KMT_STORE_DECODE_H

#include <stddef.h>
#include <stdint.h>

struct kmt_block;
struct kmt_decoder;
struct kmt_sink;
struct kmt_zip;

/* zip is borrowed. */
int kmt_decoder_new(struct kmt_zip *zip, struct kmt_decoder **ret);
void kmt_decoder_free(struct kmt_decoder *d);
/*
 * Take a block up; the payload is borrowed until the next one. -EBADMSG with
 * text when it contradicts itself.
 */
int kmt_decoder_block(struct kmt_decoder *d, const uint8_t *payload, const struct kmt_block *b);
/*
 * Hand on at most 'max' events, and the losses between them to another sink. Returns the number
 * of events, 0 when the block is done, or the sink's error. Events have a
 * shape number that is the same over all blocks.
 */
int kmt_decoder_run(struct kmt_decoder *d, const struct kmt_sink *events,
		    const struct kmt_sink *losts, int max);

#endif
