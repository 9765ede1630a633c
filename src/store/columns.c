// SPDX-License-Identifier: GPL-2.0-only
#include "store/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/zip.h"

#define LEVEL		1	/* higher ones: 1 % smaller at three times the time */
#define WORTH(n)	((n) - (n) / 16)	/* less than that is not worth unpacking */

void kmt_cols_out_done(struct kmt_cols_out *c)
{
	kmt_buf_done(&c->out);
	free(c->plane);
	free(c->packed);
	*c = (struct kmt_cols_out){ 0 };
}

void kmt_cols_out_clear(struct kmt_cols_out *c)
{
	kmt_buf_clear(&c->out);
	c->raw = 0;
}

/* Room for one plane of n bytes and its packed form. */
static bool reserve(struct kmt_cols_out *c, size_t n)
{
	uint8_t *plane, *packed;

	if (n <= c->cap)
		return true;
	plane = realloc(c->plane, n);
	if (plane)
		c->plane = plane;
	packed = realloc(c->packed, n);
	if (packed)
		c->packed = packed;
	if (plane && packed)
		c->cap = n;
	else
		c->out.error = -ENOMEM;
	return plane && packed;
}

static void put_head(struct kmt_cols_out *c, unsigned id, unsigned width, size_t n, uint64_t base)
{
	uint8_t head[KMT_COL_HEAD];

	kmt_put_le(head, id, 2);
	kmt_put_le(head + 2, width, 2);
	kmt_put_le(head + 4, n, 4);
	kmt_put_le(head + 8, base, 8);
	kmt_buf_add(&c->out, (const char *)head, sizeof(head));
}

static void put_plane(struct kmt_cols_out *c, const uint8_t *plane, size_t n)
{
	size_t packed = 0;
	uint8_t len[4];

	if (n > 32)
		packed = kmt_zip_pack(c->zip, LEVEL, plane, n, c->packed, WORTH(n));
	kmt_put_le(len, packed ? packed : n, sizeof(len));
	kmt_buf_add(&c->out, (const char *)len, sizeof(len));
	kmt_buf_add(&c->out, (const char *)(packed ? c->packed : plane), packed ? packed : n);
	c->raw += n;
}

static void put_planes(struct kmt_cols_out *c, const uint64_t *v, size_t n, size_t stride,
		       uint64_t base, unsigned width)
{
	if (!reserve(c, n))
		return;
	for (unsigned k = 0; k < width; k++) {
		for (size_t i = 0; i < n; i++)
			c->plane[i] = (uint8_t)((v[i * stride] - base) >> 8 * k);
		put_plane(c, c->plane, n);
	}
}

static unsigned width_of(uint64_t v)
{
	unsigned width = 0;

	for (; v; v >>= 8)
		width++;
	return width;
}

void kmt_cols_put(struct kmt_cols_out *c, unsigned id, const uint64_t *v, size_t n, size_t stride)
{
	uint64_t min = UINT64_MAX, max = 0;
	unsigned width;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t x = v[i * stride];

		min = x < min ? x : min;
		max = x > max ? x : max;
	}
	width = width_of(max - min);
	if (min && width && width == width_of(max))
		min = 0;	/* a base that saves nothing only hides what repeats */
	put_head(c, id, width, n, min);
	put_planes(c, v, n, stride, min, width);
}

void kmt_cols_put_wide(struct kmt_cols_out *c, unsigned id, const uint64_t *v, size_t n,
		       unsigned width)
{
	if (!n)
		return;
	put_head(c, id, width, n, 0);
	put_planes(c, v, n, 1, 0, width);
}

void kmt_cols_put_bytes(struct kmt_cols_out *c, unsigned id, const void *v, size_t n)
{
	if (!n || !reserve(c, n))
		return;
	put_head(c, id, 1, n, 0);
	put_plane(c, v, n);
}

void kmt_cols_done(struct kmt_cols *c)
{
	free(c->mem);
	*c = (struct kmt_cols){ 0 };
}

struct parse {
	struct kmt_cols *c;
	struct kmt_zip *zip;
	const uint8_t *p, *end;
	size_t used;		/* of c->mem */
	size_t raw;		/* planes so far, of */
	size_t raw_len;
};

static int bad(const char *what)
{
	return kmt_err(-EBADMSG, "%s", what);
}

static int parse_plane(struct parse *ps, struct kmt_col *col, unsigned k)
{
	uint32_t stored;

	if (ps->end - ps->p < 4)
		return bad("a column ends too early");
	stored = kmt_le32(ps->p);
	ps->p += 4;
	if (stored > (size_t)(ps->end - ps->p))
		return bad("a column is longer than its block");
	if (col->n > ps->raw_len - ps->raw)
		return bad("columns are longer than their block says");
	ps->raw += col->n;
	col->plane[k] = ps->p;
	if (stored != col->n) {
		uint8_t *to = ps->c->mem + ps->used;
		int err = kmt_zip_unpack(ps->zip, ps->p, stored, to, col->n);

		if (err)
			return err == -ENOMEM ? kmt_err(err, "out of memory") :
			       bad("a column does not unpack");
		col->plane[k] = to;
		ps->used += col->n;
	}
	ps->p += stored;
	return 0;
}

static int parse_column(struct parse *ps)
{
	struct kmt_col col = { 0 };
	unsigned id, width;
	int err = 0;

	if (ps->end - ps->p < KMT_COL_HEAD)
		return bad("a column has no head");
	id = ps->p[0] | ps->p[1] << 8;
	width = ps->p[2];
	col.n = kmt_le32(ps->p + 4);
	col.base = kmt_le64(ps->p + 8);
	if (width > 8 || ps->p[3] || col.n > KMT_BLOCK_MAX)
		return bad("a column's head cannot be true");
	col.width = (uint8_t)width;
	ps->p += KMT_COL_HEAD;
	for (unsigned k = 0; !err && k < width; k++)
		err = parse_plane(ps, &col, k);
	if (!err && id < KMT_COL_MAX)	/* later versions may know more columns */
		ps->c->col[id] = col;
	return err;
}

int kmt_cols_parse(struct kmt_cols *c, struct kmt_zip *zip, const uint8_t *payload,
		   const struct kmt_block *b)
{
	struct parse ps = { .c = c, .zip = zip, .p = payload, .end = payload + b->stored_len,
			    .raw_len = b->raw_len };
	int err = 0;

	memset(c->col, 0, sizeof(c->col));
	if (b->codec != KMT_CODEC_COLUMNS)
		return bad("it has no columns");
	if (b->raw_len > c->cap) {
		uint8_t *mem = realloc(c->mem, b->raw_len);

		if (!mem)
			return kmt_err(-ENOMEM, "out of memory");
		c->mem = mem;
		c->cap = b->raw_len;
	}
	while (!err && ps.p < ps.end)
		err = parse_column(&ps);
	return err;
}

void kmt_col_expand(const struct kmt_col *c, size_t from, size_t n, uint64_t *v)
{
	const uint64_t base = c->base;

	if (!c->width) {
		for (size_t i = 0; i < n; i++)
			v[i] = base;
		return;
	}
	for (size_t i = 0; i < n; i++)
		v[i] = base + c->plane[0][from + i];
	for (unsigned k = 1; k < c->width; k++) {
		const uint8_t *p = c->plane[k] + from;

		for (size_t i = 0; i < n; i++)
			v[i] += (uint64_t)p[i] << 8 * k;
	}
}
