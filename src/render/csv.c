// SPDX-License-Identifier: GPL-2.0-only
/*
 * RFC 4180. The format has no place for remarks, so each row ends with the
 * report's losses.
 */
#include "render/render.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fmt.h"
#include "render/emit.h"

/* Quoted if it has to be, quotes doubled. */
static void put_field(struct kmt_buf *b, bool is_first, const char *s)
{
	bool quote = strpbrk(s, ",\"\r\n") || *s == ' ' || (*s && s[strlen(s) - 1] == ' ');

	if (!is_first)
		kmt_buf_puts(b, ",");
	if (!quote) {
		kmt_buf_puts(b, s);
		return;
	}
	kmt_buf_puts(b, "\"");
	for (; *s; s++)
		kmt_buf_add(b, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	kmt_buf_puts(b, "\"");
}

/* An entry of a list: lists are joined by ';', which is escaped inside. */
static void put_entry(struct kmt_buf *b, bool is_first, const char *s, size_t len)
{
	if (!is_first)
		kmt_buf_puts(b, ";");
	while (len && *s) {
		size_t part = strcspn(s, ";");

		part = part < len ? part : len;
		kmt_buf_escape(b, s, part);
		s += part;
		len -= part;
		if (len && *s == ';') {
			kmt_buf_puts(b, "\\x3b");
			s++;
			len--;
		}
	}
}

static void put_list(struct kmt_buf *b, const char *text)
{
	bool is_first = true;

	while (*text) {
		size_t len = strcspn(text, "\n");

		put_entry(b, is_first, text, len);
		is_first = false;
		text += len + (text[len] == '\n');
	}
}

static void put_value(struct kmt_buf *b, enum kmt_unit unit, const struct kmt_cell *c)
{
	if (kmt_cell_is_null(c, unit))
		return;
	if (unit == KMT_UNIT_TEXT)
		kmt_buf_escape(b, c->text, SIZE_MAX);
	else if (unit == KMT_UNIT_LIST)
		put_list(b, c->text);
	else
		kmt_emit_number(b, unit, c);
}

/* The stack's column is always there, so that all rows of a run have the same fields. */
static bool has_stack_column(const struct kmt_report *r)
{
	return !r->shown && kmt_emit_has_stack(r);
}

static void put_header(struct kmt_buf *b, const struct kmt_report *r)
{
	size_t n = kmt_emit_n_columns(r);

	for (size_t i = 0; i < n; i++)
		put_field(b, !i, r->columns[kmt_emit_column(r, i)].key);
	if (has_stack_column(r))
		put_field(b, !n++, "stack");
	for (size_t i = 0; i < KMT_EMIT_LOSSES; i++)
		put_field(b, !n++, kmt_emit_loss_keys[i]);
	kmt_buf_puts(b, "\r\n");
}

/* put_field() of what was gathered in 'value'. */
static void put_gathered(struct kmt_buf *b, bool is_first, const struct kmt_buf *value)
{
	put_field(b, is_first, kmt_buf_str(value));
	if (value->error)
		b->error = value->error;
}

static void put_row(struct kmt_buf *b, struct kmt_buf *value, const struct kmt_report *r,
		    const struct kmt_row *row)
{
	size_t n = kmt_emit_n_columns(r);
	char out[KMT_FMT_LEN];

	for (size_t i = 0; i < n; i++) {
		size_t c = kmt_emit_column(r, i);

		kmt_buf_clear(value);
		put_value(value, r->columns[c].unit, &row->cells[c]);
		put_gathered(b, !i, value);
	}
	if (has_stack_column(r)) {
		kmt_buf_clear(value);
		for (size_t i = 0; i < row->n_detail; i++)
			put_entry(value, !i, row->detail[i], SIZE_MAX);
		put_gathered(b, !n++, value);
	}
	for (size_t i = 0; i < KMT_EMIT_LOSSES; i++)
		put_field(b, !n++, kmt_fmt_count(out, kmt_emit_loss(r, i)));
	kmt_buf_puts(b, "\r\n");
}

static int render(const struct kmt_report *r, const struct kmt_render_opts *opts, FILE *out)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 }, value _cleanup_(kmt_buf_done) = { 0 };
	int err = 0;

	if (opts->first && !opts->no_header)
		put_header(&b, r);
	for (size_t i = 0; i < r->n_rows && !err; i++) {
		put_row(&b, &value, r, &r->rows[i]);
		if (b.len >= KMT_EMIT_CHUNK)
			err = kmt_emit(&b, out);
	}
	return err ? err : kmt_emit(&b, out);
}

const struct kmt_renderer kmt_renderer_csv = {
	.name = "csv",
	.help = "comma separated values (RFC 4180), losses in every row",
	.render = render,
};
