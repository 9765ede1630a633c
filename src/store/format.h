/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes of a .kmt recording; kmemtrace-file(5) says the same in words.
 *
 *   [ file head 16 ][ block head 32 | payload ][ block head 32 | payload ] ...
 *
 * All numbers are little endian.
 */
#ifndef KMT_STORE_FORMAT_H
#define KMT_STORE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define KMT_FILE_MAGIC	"KMTRACE\n"
#define KMT_FILE_VERSION 1u
#define KMT_FILE_HEAD	16u
#define KMT_FILE_RING	1u		/* flag: events lie in a circular region */

#define KMT_BLOCK_MAGIC	0x42544d4bu	/* "KMTB" */
#define KMT_BLOCK_HEAD	32u
#define KMT_BLOCK_MAX	(16u << 20)	/* of a payload, stored and unpacked */
#define KMT_BLOCK_EVENTS 65536u		/* events of one block: a shape has 16 bits */
#define KMT_STACK_MAX	1024u		/* frames of one call chain */
#define KMT_STRING_MAX	4096u		/* bytes of one name */

enum kmt_block_type {
	KMT_BLOCK_META = 1,
	KMT_BLOCK_SYMBOLS = 2,
	KMT_BLOCK_GFP = 3,
	KMT_BLOCK_SLABS_START = 4,
	KMT_BLOCK_SLABS_END = 5,
	KMT_BLOCK_EVENT = 6,
	KMT_BLOCK_COUNTED = 9,		/* ends what types 12 and 13 began */
	KMT_BLOCK_QUALITY = 10,
	KMT_BLOCK_END = 11,
	KMT_BLOCK_COUNTED_SITES = 12,
	KMT_BLOCK_COUNTED_OBJECTS = 13,
	KMT_BLOCK_BOUNDS_START = 14,	/* of the counts in SLABS_*, which stands before it */
	KMT_BLOCK_BOUNDS_END = 15,
};

enum kmt_codec {
	KMT_CODEC_RAW = 0,
	KMT_CODEC_ZSTD = 1,
	KMT_CODEC_COLUMNS = 2,		/* columns, each plane compressed for itself */
};

/* Columns of a block; which block has which is said in kmemtrace-file(5). */
enum kmt_col_id {
	KMT_COL_STRING_LEN = 1,
	KMT_COL_STRING_BYTES = 2,
	KMT_COL_STACK_LEN = 3,
	KMT_COL_STACK_IPS = 4,
	KMT_COL_TASK = 8,		/* pid, tgid, flags, comm */
	KMT_COL_CPU = 12,
	KMT_COL_SHAPE = 16,		/* flags, type, node, site, name, cache, gfp, alloc, stack */
	KMT_COL_SHAPE_SHIFT = 25,
	KMT_COL_SHAPE_SLACK = 26,
	KMT_COL_TIME_START = 32,
	KMT_COL_EV_SHAPE = 33,
	KMT_COL_EV_CPU = 34,
	KMT_COL_EV_ADDR = 35,
	KMT_COL_EV_ADDR_FAR = 36,
	KMT_COL_EV_TIME = 37,
	KMT_COL_EV_TIME_FAR = 38,
	KMT_COL_EV_SLACK = 39,
	KMT_COL_EV_REAL_NODE = 40,
	KMT_COL_SWITCH = 44,		/* at, cpu, task */
	KMT_COL_LOST = 48,		/* at, reason, cpu, events, time */
	KMT_COL_SITE = 64,		/* key, counts, gfp, index: KMT_SITE_FIELDS columns */
	KMT_COL_SITE_LIVES = 96,	/* 32 buckets */
	KMT_COL_OBJECT = 128,		/* addr, req, birth, site, cpu, awaiting */
	KMT_COL_FREE_SITE = 136,	/* site, type, frees */
	KMT_COL_TOTALS = 140,		/* now, sites, freeing sites, objects, older + 1 */
	KMT_COL_OLDER = 148,		/* cache, frees, own allocations */
	KMT_COL_MAX = 152,
};

enum {
	KMT_SHAPE_FREE = 1,
	KMT_SHAPE_HAS_TIME = 2,
	KMT_SHAPE_INFERRED = 4,
	KMT_SHAPE_SLACK_VARIES = 8,
	KMT_SHAPE_GIVE_UP = 16,	/* besides KMT_SHAPE_FREE: readers of 0.1.0 see a free */
	/* of pages, plus 1: 0 is unknown; eight bits each */
	KMT_SHAPE_ORDER_SHIFT = 8,
	KMT_SHAPE_MIGRATETYPE_SHIFT = 16,
};

enum kmt_shape_field {
	KMT_SHAPE_FLAGS, KMT_SHAPE_TYPE, KMT_SHAPE_NODE, KMT_SHAPE_SITE, KMT_SHAPE_NAME,
	KMT_SHAPE_CACHE, KMT_SHAPE_GFP, KMT_SHAPE_ALLOC, KMT_SHAPE_STACK, KMT_SHAPE_FIELDS
};
enum kmt_task_field {
	KMT_TASK_PID, KMT_TASK_TGID, KMT_TASK_FLAGS, KMT_TASK_NAME, KMT_TASK_FIELDS
};
enum { KMT_TASK_KNOWN = 1 };
enum kmt_switch_field { KMT_SWITCH_AT, KMT_SWITCH_CPU, KMT_SWITCH_TASK, KMT_SWITCH_FIELDS };
enum kmt_lost_field {
	KMT_LOST_AT, KMT_LOST_REASON, KMT_LOST_CPU, KMT_LOST_EVENTS, KMT_LOST_TIME,
	KMT_LOST_FIELDS
};

/* A block's head; 'sum' is filled in and checked by the two functions. */
struct kmt_block {
	uint16_t type;
	uint16_t codec;
	uint32_t stored_len;
	uint32_t raw_len;
	uint64_t seq;		/* counted up from 1 */
};

/* Write the head in front of the payload: 'at' has room for both, the payload is there. */
void kmt_block_seal(const struct kmt_block *b, uint8_t *at);
/* -EINVAL without text: no head, or one that cannot be true. */
int kmt_block_parse(const uint8_t at[KMT_BLOCK_HEAD], struct kmt_block *ret);
/* 'at': head and payload. -EBADMSG without text when the checksum is another. */
int kmt_block_check(const struct kmt_block *b, const uint8_t *at);

static inline uint32_t kmt_le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t kmt_le64(const uint8_t *p)
{
	return kmt_le32(p) | (uint64_t)kmt_le32(p + 4) << 32;
}

void kmt_put_le(uint8_t *p, uint64_t v, unsigned bytes);

#endif
