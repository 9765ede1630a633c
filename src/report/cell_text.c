// SPDX-License-Identifier: GPL-2.0-only
#include "report/cell_text.h"

#include <string.h>

#include "base/buf.h"
#include "base/fmt.h"

#define BAR_WIDTH	20

/* "a, b" from "a\nb" */
static void put_list(struct kmt_buf *b, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		kmt_buf_escape(b, text, len);
		text += len;
		if (*text && *++text)
			kmt_buf_puts(b, ", ");
	}
}

/* As many characters of BAR_WIDTH as hundredths; what is not nothing has one at least. */
static void put_bar(struct kmt_buf *b, double percent)
{
	double n = percent * BAR_WIDTH / 100;

	if (!(n > 0))
		return;
	for (int i = 0; i < BAR_WIDTH && (!i || n >= i + 0.5); i++)
		kmt_buf_puts(b, "#");
}

static void put_number(struct kmt_buf *b, enum kmt_unit unit, const struct kmt_cell *c,
		       bool exact)
{
	char out[KMT_FMT_LEN];

	switch (unit) {
	case KMT_UNIT_BYTES:
		kmt_buf_puts(b, kmt_fmt_bytes(out, c->i, exact));
		break;
	case KMT_UNIT_BYTES_PER_S:
		kmt_buf_printf(b, "%s/s", kmt_fmt_bytes(out, c->i, exact));
		break;
	case KMT_UNIT_COUNT_PER_S:
		kmt_buf_printf(b, "%s/s", kmt_fmt_count(out, c->i));
		break;
	case KMT_UNIT_PERCENT:
		kmt_buf_puts(b, kmt_fmt_percent(out, c->d));
		break;
	case KMT_UNIT_BAR:
		put_bar(b, c->d);
		break;
	case KMT_UNIT_NS:
		if (c->i < 0)
			kmt_buf_puts(b, "-");
		kmt_buf_puts(b, kmt_fmt_duration(out, c->i < 0 ? 0 - (uint64_t)c->i
							       : (uint64_t)c->i));
		break;
	case KMT_UNIT_ADDR:
		kmt_buf_puts(b, kmt_fmt_addr(out, (uint64_t)c->i));
		break;
	default:
		kmt_buf_puts(b, kmt_fmt_count(out, c->i));
		break;
	}
}

void kmt_cell_print(struct kmt_buf *b, enum kmt_unit unit, const struct kmt_cell *c, bool exact)
{
	if (kmt_cell_is_null(c, unit))
		kmt_buf_puts(b, "-");
	else if (unit == KMT_UNIT_TEXT)
		kmt_buf_escape(b, c->text, SIZE_MAX);
	else if (unit == KMT_UNIT_LIST)
		put_list(b, c->text);
	else
		put_number(b, unit, c, exact);
}

void kmt_field_print(struct kmt_buf *b, const struct kmt_field *f, bool exact)
{
	kmt_cell_print(b, f->unit, &f->cell, exact);
	if (f->unit == KMT_UNIT_PERCENT && !f->cell.is_null)
		kmt_buf_puts(b, "%");
}

void kmt_title_print(struct kmt_buf *b, const struct kmt_report *r, size_t column, bool utf8)
{
	kmt_buf_puts(b, r->columns[column].title);
	if ((int)column != r->sort_column)
		return;
	if (utf8)
		kmt_buf_puts(b, r->sort_ascending ? "\u25b2" : "\u25bc");
	else
		kmt_buf_puts(b, r->sort_ascending ? "^" : "v");
}

void kmt_text_cut(struct kmt_buf *b, size_t width, bool utf8)
{
	size_t dots = utf8 ? 1 : 3;

	if (b->error || b->len <= width)
		return;
	b->len = width > dots ? width - dots : 0;
	b->data[b->len] = '\0';
	kmt_buf_puts(b, utf8 ? "\u2026" : "...");
}
