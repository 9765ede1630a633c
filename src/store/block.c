// SPDX-License-Identifier: GPL-2.0-only
#include "store/format.h"

#include <errno.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY	/* the state lies on the stack */
#include <xxhash.h>

#define AT_SUM 24	/* of the checksum in the head */

void kmt_put_le(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* The checksum field itself counts as 0. */
static uint64_t checksum(const struct kmt_block *b, const uint8_t *at)
{
	uint8_t head[KMT_BLOCK_HEAD];
	XXH3_state_t state;

	memcpy(head, at, KMT_BLOCK_HEAD);
	memset(head + AT_SUM, 0, 8);
	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, head, sizeof(head));
	XXH3_64bits_update(&state, at + KMT_BLOCK_HEAD, b->stored_len);
	return XXH3_64bits_digest(&state);
}

void kmt_block_seal(const struct kmt_block *b, uint8_t *at)
{
	kmt_put_le(at, KMT_BLOCK_MAGIC, 4);
	kmt_put_le(at + 4, b->type, 2);
	kmt_put_le(at + 6, b->codec, 2);
	kmt_put_le(at + 8, b->stored_len, 4);
	kmt_put_le(at + 12, b->raw_len, 4);
	kmt_put_le(at + 16, b->seq, 8);
	kmt_put_le(at + AT_SUM, checksum(b, at), 8);
}

int kmt_block_parse(const uint8_t at[KMT_BLOCK_HEAD], struct kmt_block *ret)
{
	const struct kmt_block b = {
		.type = (uint16_t)(at[4] | at[5] << 8),
		.codec = (uint16_t)(at[6] | at[7] << 8),
		.stored_len = kmt_le32(at + 8),
		.raw_len = kmt_le32(at + 12),
		.seq = kmt_le64(at + 16),
	};

	if (kmt_le32(at) != KMT_BLOCK_MAGIC)
		return -EINVAL;
	if (b.stored_len > KMT_BLOCK_MAX || b.raw_len > KMT_BLOCK_MAX)
		return -EINVAL;
	*ret = b;
	return 0;
}

int kmt_block_check(const struct kmt_block *b, const uint8_t *at)
{
	return checksum(b, at) == kmt_le64(at + AT_SUM) ? 0 : -EBADMSG;
}
