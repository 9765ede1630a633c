// SPDX-License-Identifier: GPL-2.0-only
#include "report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

static int no_memory(void)
{
	return kmt_err(-ENOMEM, "out of memory");
}

int kmt_report_new(const char *command, const char *view, const struct kmt_column *columns,
		   size_t n_columns, struct kmt_report **ret_report)
{
	struct kmt_report *r = calloc(1, sizeof(*r));

	if (!r)
		return no_memory();
	r->command = strdup(command);
	r->view = strdup(view);
	if (!r->command || !r->view) {
		kmt_report_free(r);
		return no_memory();
	}
	r->columns = columns;
	r->n_columns = n_columns;
	r->sort_column = -1;
	*ret_report = r;
	return 0;
}

static void cell_done(struct kmt_cell *c)
{
	if (c->has_text && !c->is_shared)
		free(c->text);
}

static void fields_done(struct kmt_fields *f)
{
	for (size_t i = 0; i < f->n; i++)
		cell_done(&f->v[i].cell);
	free(f->v);
}

static void strings_free(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

void kmt_report_row_done(const struct kmt_report *r, struct kmt_row *row)
{
	for (size_t c = 0; c < r->n_columns; c++)
		cell_done(&row->cells[c]);
	free(row->cells);
	strings_free(row->detail, row->n_detail);
}

void kmt_report_free(struct kmt_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_rows; i++)
		kmt_report_row_done(r, &r->rows[i]);
	free(r->rows);
	fields_done(&r->summary);
	fields_done(&r->quality);
	strings_free(r->notes, r->n_notes);
	kmt_arena_done(&r->shared);
	free(r->shown);
	free(r->command);
	free(r->view);
	free(r->kernel);
	free(r);
}

/* Room for one more element of 'size' in an array that grows by doubling. */
static void *grow(void *v, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 16;

	if (n < *cap)
		return v;
	v = reallocarray(v, more, size);
	if (v)
		*cap = more;
	return v;
}

struct kmt_row *kmt_report_row(struct kmt_report *r)
{
	struct kmt_row *rows = grow(r->rows, r->n_rows, &r->cap_rows, sizeof(*rows));
	struct kmt_row *row;

	if (!rows) {
		no_memory();
		return NULL;
	}
	r->rows = rows;
	row = &rows[r->n_rows];
	*row = (struct kmt_row){ .cells = calloc(r->n_columns + 1, sizeof(*row->cells)) };
	if (!row->cells) {
		no_memory();
		return NULL;
	}
	for (size_t c = 0; c < r->n_columns; c++)
		row->cells[c].is_null = true;
	r->n_rows++;
	r->rows_total++;
	return row;
}

static int strings_add(char ***v, size_t *n, char *owned)
{
	char **more = owned ? reallocarray(*v, *n + 1, sizeof(*more)) : NULL;

	if (!more) {
		free(owned);
		return no_memory();
	}
	*v = more;
	more[(*n)++] = owned;
	return 0;
}

int kmt_row_detail(struct kmt_row *row, const char *line)
{
	return strings_add(&row->detail, &row->n_detail, strdup(line));
}

int kmt_cell_text(struct kmt_cell *c, const char *text)
{
	char *copy = NULL;

	if (text) {
		copy = strdup(text);
		if (!copy)
			return no_memory();
	}
	cell_done(c);
	*c = (struct kmt_cell){ .is_null = !text, .has_text = copy, .text = copy };
	return 0;
}

int kmt_cell_share(struct kmt_report *r, struct kmt_cell *c)
{
	char *kept;

	if (!c->has_text || c->is_shared)
		return 0;
	kept = kmt_arena_str(&r->shared, c->text);
	if (!kept)
		return no_memory();
	free(c->text);
	c->text = kept;
	c->is_shared = true;
	return 0;
}

bool kmt_unit_is_text(enum kmt_unit unit)
{
	return unit == KMT_UNIT_TEXT || unit == KMT_UNIT_LIST;
}

bool kmt_cell_is_null(const struct kmt_cell *c, enum kmt_unit unit)
{
	return c->is_null || (kmt_unit_is_text(unit) && !c->has_text);
}

void kmt_cell_int(struct kmt_cell *c, int64_t v)
{
	cell_done(c);
	*c = (struct kmt_cell){ .i = v };
}

void kmt_cell_percent(struct kmt_cell *c, double v)
{
	cell_done(c);
	*c = (struct kmt_cell){ .d = v };
}

int kmt_report_note(struct kmt_report *r, const char *fmt, ...)
{
	char *line = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	return strings_add(&r->notes, &r->n_notes, n < 0 ? NULL : line);
}

static struct kmt_field *field_add(struct kmt_fields *f, const char *key, const char *title,
				   enum kmt_unit unit)
{
	struct kmt_field *v = grow(f->v, f->n, &f->cap, sizeof(*v));

	if (!v) {
		no_memory();
		return NULL;
	}
	f->v = v;
	v[f->n] = (struct kmt_field){ .key = key, .title = title, .unit = unit };
	return &v[f->n++];
}

int kmt_fields_int(struct kmt_fields *f, const char *key, const char *title, enum kmt_unit unit,
		   int64_t v)
{
	struct kmt_field *field = field_add(f, key, title, unit);

	if (!field)
		return -ENOMEM;
	kmt_cell_int(&field->cell, v);
	return 0;
}

int kmt_fields_percent(struct kmt_fields *f, const char *key, const char *title, double v)
{
	struct kmt_field *field = field_add(f, key, title, KMT_UNIT_PERCENT);

	if (!field)
		return -ENOMEM;
	kmt_cell_percent(&field->cell, v);
	return 0;
}

int kmt_fields_text(struct kmt_fields *f, const char *key, const char *title, const char *v)
{
	struct kmt_field *field = field_add(f, key, title, KMT_UNIT_TEXT);

	if (!field)
		return -ENOMEM;
	if (kmt_cell_text(&field->cell, v)) {
		f->n--;
		return -ENOMEM;
	}
	return 0;
}

int kmt_fields_copy(struct kmt_fields *f, const struct kmt_field *from, const char *key,
		    const char *title)
{
	int err;

	if (kmt_unit_is_text(from->unit))
		err = kmt_fields_text(f, key, title, from->cell.text);
	else if (from->unit == KMT_UNIT_PERCENT)
		err = kmt_fields_percent(f, key, title, from->cell.d);
	else
		err = kmt_fields_int(f, key, title, from->unit, from->cell.i);
	if (err)
		return err;
	f->v[f->n - 1].cell.is_null = from->cell.is_null;
	f->v[f->n - 1].alarm = from->alarm;
	f->v[f->n - 1].quiet = from->quiet;
	return 0;
}

const struct kmt_field *kmt_fields_find(const struct kmt_fields *f, const char *key)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].key, key))
			return &f->v[i];
	return NULL;
}

bool kmt_report_shows(const struct kmt_report *r, size_t column)
{
	if (r->columns[column].show != KMT_IF_ANY)
		return r->columns[column].show == KMT_SHOWN;
	for (size_t i = 0; i < r->n_rows; i++)
		if (!r->rows[i].cells[column].is_null && r->rows[i].cells[column].i)
			return true;
	return false;
}

int kmt_report_column(const struct kmt_report *r, const char *key)
{
	for (size_t c = 0; c < r->n_columns; c++)
		if (!strcmp(r->columns[c].key, key))
			return c;
	for (size_t c = 0; c < r->n_columns; c++)
		if (!strcasecmp(r->columns[c].title, key))
			return c;
	return -1;
}
