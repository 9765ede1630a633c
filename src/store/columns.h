/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside store/ only: a payload of columns. A column is one number for each
 * row; it is stored as base plus so many byte planes: the lowest bytes of all
 * rows, then the next, ... Bytes of one kind together are what zstd compresses
 * best and fastest, and a plane that does not shrink is stored as it is.
 *
 *   u16 id, u8 width, u8 0, u32 rows, u64 base; width times: u32 stored, bytes
 */
#ifndef KMT_STORE_COLUMNS_H
#define KMT_STORE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/format.h"

#define KMT_COL_HEAD 16u

struct kmt_zip;

/* Writing. Errors stick in out->error. */
struct kmt_cols_out {
	struct kmt_zip *zip;	/* borrowed */
	struct kmt_buf out;	/* the payload so far */
	uint64_t raw;		/* bytes of all planes */
	uint8_t *plane, *packed;
	size_t cap;		/* of both */
};

void kmt_cols_out_done(struct kmt_cols_out *c);
void kmt_cols_out_clear(struct kmt_cols_out *c);
/* v[0], v[stride], v[2 * stride], ... in as few planes as there can be. */
void kmt_cols_put(struct kmt_cols_out *c, unsigned id, const uint64_t *v, size_t n, size_t stride);
/* The same with base 0 and so many planes. */
void kmt_cols_put_wide(struct kmt_cols_out *c, unsigned id, const uint64_t *v, size_t n,
		       unsigned width);
/* One plane of bytes. */
void kmt_cols_put_bytes(struct kmt_cols_out *c, unsigned id, const void *v, size_t n);

/* Reading. */
struct kmt_col {
	uint32_t n;
	uint8_t width;
	uint64_t base;
	const uint8_t *plane[8];
};

struct kmt_cols {
	struct kmt_col col[KMT_COL_MAX];	/* by id; n = 0 where there is none */
	uint8_t *mem;				/* unpacked planes */
	size_t cap;
};

void kmt_cols_done(struct kmt_cols *c);
/*
 * Planes are borrowed from the payload or lie in c->mem: valid until the next
 * call. -EBADMSG with text when the payload is not what it should be.
 */
int kmt_cols_parse(struct kmt_cols *c, struct kmt_zip *zip, const uint8_t *payload,
		   const struct kmt_block *b);

static inline uint64_t kmt_col_at(const struct kmt_col *c, size_t i)
{
	uint64_t v = 0;

	for (unsigned k = 0; k < c->width; k++)
		v |= (uint64_t)c->plane[k][i] << 8 * k;
	return c->base + v;
}

/* Rows from..from+n into v. */
void kmt_col_expand(const struct kmt_col *c, size_t from, size_t n, uint64_t *v);

#endif
