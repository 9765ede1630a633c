// SPDX-License-Identifier: GPL-2.0-only
#include "control/stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "render/emit.h"
#include "report/report.h"

#define STAT(name_, analysis_, sort_, columns_, text_) \
	{ .name = (name_), .analysis = (analysis_), .sort = (sort_), .columns = (columns_), \
	  .text = (text_) },

const struct kmt_stat_file kmt_stat_files[] = {
#include "control/stats.def"
	{ 0 }
};
#undef STAT

const size_t kmt_n_stat_files = sizeof(kmt_stat_files) / sizeof(kmt_stat_files[0]) - 1;

struct column {
	const char *title;	/* in the row of stats.def: not ended by a NUL */
	size_t title_len;
	size_t index;		/* in the report; unused without one */
	size_t width;
	enum kmt_unit unit;
};

struct table {
	const struct kmt_report *r;	/* NULL: no rows */
	struct column *v;
	size_t n;
	struct kmt_buf cell;		/* the one at hand */
};

#define _cleanup_table_ _cleanup_(table_done)

static void table_done(struct table *t)
{
	free(t->v);
	kmt_buf_done(&t->cell);
}

/* "key" or "title=key", 'len' long. */
static int add_column(struct table *t, const char *spec, size_t len)
{
	const char *key = memchr(spec, '=', len);
	size_t title_len = key ? (size_t)(key - spec) : len;
	_cleanup_buf_ struct kmt_buf name = { 0 };
	int index = 0;

	key = key ? key + 1 : spec;
	kmt_buf_add(&name, key, len - (key - spec));
	if (name.error)
		return kmt_err(-ENOMEM, "out of memory");
	if (t->r)
		index = kmt_report_column(t->r, kmt_buf_str(&name));
	if (index < 0)
		return kmt_err(-EINVAL, "view '%s' has no column '%s'", t->r->view,
			       kmt_buf_str(&name));
	t->v[t->n++] = (struct column){
		.title = spec, .title_len = title_len, .width = title_len, .index = index,
		.unit = t->r ? t->r->columns[index].unit : KMT_UNIT_TEXT,
	};
	return 0;
}

static int table_init(struct table *t, const char *columns, const struct kmt_report *r)
{
	int err = 0;

	*t = (struct table){ .r = r, .v = calloc(strlen(columns) + 1, sizeof(*t->v)) };
	if (!t->v)
		return kmt_err(-ENOMEM, "out of memory");
	while (*columns && !err) {
		size_t len = strcspn(columns, " ");

		err = add_column(t, columns, len);
		columns += len;
		columns += strspn(columns, " ");
	}
	return err;
}

/* One word: a module is glued to its function, entries of a list are joined by commas. */
static void put_word(struct kmt_buf *b, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " \n");

		kmt_buf_escape(b, text, len);
		text += len;
		if (*text == '\n')
			kmt_buf_puts(b, ",");
		else if (*text == ' ' && text[1] != '[')
			kmt_buf_puts(b, "_");
		text += *text != '\0';
	}
}

static void put_cell(struct kmt_buf *b, enum kmt_unit unit, const struct kmt_cell *c)
{
	if (!kmt_cell_is_null(c, unit)) {
		if (kmt_unit_is_text(unit))
			put_word(b, c->text);
		else
			kmt_emit_number(b, unit, c);
	}
	if (!b->len)
		kmt_buf_puts(b, "-");
}

static void pad(struct kmt_buf *b, size_t n)
{
	static const char blanks[] = "                                ";

	for (size_t part; n; n -= part) {
		part = n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1;
		kmt_buf_add(b, blanks, part);
	}
}

static void put_aligned(const struct table *t, size_t i, const char *s, size_t len,
			struct kmt_buf *out)
{
	const struct column *c = &t->v[i];
	size_t blanks = c->width > len ? c->width - len : 0;
	bool is_text = kmt_unit_is_text(c->unit);

	if (i)
		kmt_buf_add(out, " ", 1);
	if (!is_text)
		pad(out, blanks);
	kmt_buf_add(out, s, len);
	if (is_text && i + 1 < t->n)
		pad(out, blanks);
}

static void measure_row(struct table *t, const struct kmt_row *row)
{
	for (size_t i = 0; i < t->n; i++) {
		struct column *c = &t->v[i];

		if (i + 1 == t->n && kmt_unit_is_text(c->unit))
			break;	/* nothing stands behind it */
		kmt_buf_clear(&t->cell);
		put_cell(&t->cell, c->unit, &row->cells[c->index]);
		if (t->cell.len > c->width)
			c->width = t->cell.len;
	}
}

static void put_row(struct table *t, const struct kmt_row *row, struct kmt_buf *out)
{
	for (size_t i = 0; i < t->n; i++) {
		kmt_buf_clear(&t->cell);
		put_cell(&t->cell, t->v[i].unit, &row->cells[t->v[i].index]);
		put_aligned(t, i, kmt_buf_str(&t->cell), t->cell.len, out);
		if (t->cell.error)
			out->error = t->cell.error;
	}
	kmt_buf_add(out, "\n", 1);
}

static int put_table(struct table *t, struct kmt_buf *out)
{
	size_t n = t->r ? t->r->n_rows : 0, before = out->len;

	for (size_t row = 0; row < n; row++)
		measure_row(t, &t->r->rows[row]);
	for (size_t i = 0; i < t->n; i++)
		put_aligned(t, i, t->v[i].title, t->v[i].title_len, out);
	kmt_buf_add(out, "\n", 1);
	for (size_t row = 0; row < n && !out->error; row++)
		put_row(t, &t->r->rows[row], out);
	if (t->r && t->r->rows_total > n)
		kmt_buf_printf(out, "# %" PRIu64 " more\n", t->r->rows_total - n);
	if (!out->error)
		return 0;
	out->len = before;
	return kmt_err(out->error, "out of memory");
}

int kmt_stat_table(const struct kmt_stat_file *f, struct kmt_report *r, struct kmt_buf *out)
{
	_cleanup_table_ struct table t = { 0 };
	int err = table_init(&t, f->columns, r);

	if (!err && r && f->sort)
		err = kmt_report_sort(r, f->sort);
	return err ? err : put_table(&t, out);
}

/* A row of "reason: N", 'len' long; lines of another form are none. */
static int add_loss(struct kmt_report *r, const char *line, size_t len)
{
	const char *colon = memrchr(line, ':', len);
	_cleanup_buf_ struct kmt_buf reason = { 0 }, number = { 0 };
	struct kmt_row *row;
	uint64_t n;

	if (!colon)
		return 0;
	kmt_buf_add(&reason, line, colon - line);
	while (++colon < line + len && *colon == ' ')
		;
	kmt_buf_add(&number, colon, line + len - colon);
	row = kmt_report_row(r);
	if (!row || reason.error || number.error)
		return kmt_err(-ENOMEM, "out of memory");
	if (!kmt_parse_u64(kmt_buf_str(&number), "a loss", 0, INT64_MAX, &n))
		kmt_cell_int(&row->cells[0], n);
	return kmt_cell_text(&row->cells[1], kmt_buf_str(&reason));
}

int kmt_stat_losses(const char *overruns, struct kmt_report **ret_report)
{
	static const struct kmt_column columns[] = {
		{ "events", "EVENTS", KMT_UNIT_COUNT, KMT_SHOWN, false },
		{ "reason", "REASON", KMT_UNIT_TEXT, KMT_SHOWN, true },
	};
	struct kmt_report *r = NULL;
	int err = kmt_report_new("mount", "overflow", columns, 2, &r);

	while (!err && *overruns) {
		size_t len = strcspn(overruns, "\n");

		err = add_loss(r, overruns, len);
		overruns += len + (overruns[len] == '\n');
	}
	if (err)
		kmt_report_free(r);
	else
		*ret_report = r;
	return err;
}
