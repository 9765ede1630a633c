// SPDX-License-Identifier: GPL-2.0-only
/* Filter, sort, limit, choose columns: the view's shaping of a report. */
#include "report/report.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"

/* A column by name, or -EINVAL with the names there are. */
static int need_column(const struct kmt_report *r, const char *name)
{
	_cleanup_buf_ struct kmt_buf known = { 0 }, got = { 0 };
	int column = kmt_report_column(r, name);

	if (column >= 0)
		return column;
	for (size_t c = 0; c < r->n_columns; c++)
		kmt_buf_printf(&known, "%s%s", c ? ", " : "", r->columns[c].key);
	kmt_buf_escape(&got, name, 64);
	return kmt_err(-EINVAL, "unknown column '%s', known here: %s", kmt_buf_str(&got),
		       kmt_buf_str(&known));
}

enum cmp { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };

struct filter {
	int column;
	enum cmp cmp;
	enum kmt_unit unit;
	const char *glob;	/* TEXT, LIST */
	int64_t i;		/* as the cell's: ADDR is unsigned */
	double d;		/* PERCENT */
};

/* The operator at s; *ret_len its length, 0 if there is none. */
static enum cmp scan_operator(const char *s, size_t *ret_len)
{
	static const struct { const char *text; enum cmp cmp; } ops[] = {
		{ "!=", CMP_NE }, { "<=", CMP_LE }, { ">=", CMP_GE },
		{ "=", CMP_EQ }, { "<", CMP_LT }, { ">", CMP_GT },
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (!strncmp(s, ops[i].text, strlen(ops[i].text))) {
			*ret_len = strlen(ops[i].text);
			return ops[i].cmp;
		}
	}
	*ret_len = 0;
	return CMP_EQ;
}

static int parse_addr(const char *s, const char *what, int64_t *ret)
{
	_cleanup_buf_ struct kmt_buf got = { 0 };
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 16);
	if (!strchr("0123456789abcdefABCDEF", *s) || !*s || *end || errno) {
		kmt_buf_escape(&got, s, 64);
		return kmt_err(-EINVAL, "%s must be a hexadecimal address, not '%s'", what,
			       kmt_buf_str(&got));
	}
	*ret = (int64_t)v;
	return 0;
}

/* The value in the column's unit; a minus sign is allowed before all but addresses. */
static int parse_value(struct filter *f, const char *s, const char *what)
{
	bool minus = *s == '-' && f->unit != KMT_UNIT_ADDR;
	uint64_t u = 0;
	int err;

	s += minus;
	switch (f->unit) {
	case KMT_UNIT_ADDR:
		return parse_addr(s, what, &f->i);
	case KMT_UNIT_PERCENT:
	case KMT_UNIT_BAR:
		err = kmt_parse_decimal(s, what, &f->d);
		if (minus)
			f->d = -f->d;
		return err;
	case KMT_UNIT_BYTES:
	case KMT_UNIT_BYTES_PER_S:
		err = kmt_parse_size(s, what, 0, INT64_MAX, &u);
		break;
	case KMT_UNIT_NS:
		err = kmt_parse_duration(s, what, 0, INT64_MAX, &u);
		break;
	default:
		err = kmt_parse_u64(s, what, 0, INT64_MAX, &u);
		break;
	}
	f->i = minus ? -(int64_t)u : (int64_t)u;
	return err;
}

static int parse_filter(const struct kmt_report *r, const char *expr, char *key, struct filter *f)
{
	_cleanup_buf_ struct kmt_buf got = { 0 };
	size_t key_len = strcspn(expr, "=!<>"), op_len;
	const char *value;

	f->cmp = scan_operator(expr + key_len, &op_len);
	if (!key_len || !op_len) {
		kmt_buf_escape(&got, expr, 64);
		return kmt_err(-EINVAL,
			       "filter must be COLUMN=VALUE (or !=, <, <=, >, >=), not '%s'",
			       kmt_buf_str(&got));
	}
	key[key_len] = '\0';
	value = expr + key_len + op_len;
	f->column = need_column(r, key);
	if (f->column < 0)
		return f->column;
	f->unit = r->columns[f->column].unit;
	if (!kmt_unit_is_text(f->unit))
		return parse_value(f, value, key);
	if (f->cmp != CMP_EQ && f->cmp != CMP_NE)
		return kmt_err(-EINVAL, "'%s' is text and can only be compared with = and !=", key);
	f->glob = value;
	return 0;
}

/* One entry of a LIST is enough. Entries are cut off in place, and put together again. */
static bool match_text(const struct kmt_cell *c, enum kmt_unit unit, const char *glob)
{
	bool found = false;

	if (unit == KMT_UNIT_TEXT)
		return !fnmatch(glob, c->text, 0);
	for (char *entry = c->text, *end; entry && !found; entry = end) {
		end = strchr(entry, '\n');
		if (end)
			*end = '\0';
		found = !fnmatch(glob, entry, 0);
		if (end)
			*end++ = '\n';
	}
	return found;
}

static int compare_cells(const struct kmt_cell *a, const struct kmt_cell *b, enum kmt_unit unit)
{
	switch (unit) {
	case KMT_UNIT_TEXT:
	case KMT_UNIT_LIST:
		return strcmp(a->text, b->text);
	case KMT_UNIT_PERCENT:
	case KMT_UNIT_BAR:
		return (a->d > b->d) - (a->d < b->d);
	case KMT_UNIT_ADDR:
		return ((uint64_t)a->i > (uint64_t)b->i) - ((uint64_t)a->i < (uint64_t)b->i);
	default:
		return (a->i > b->i) - (a->i < b->i);
	}
}

static bool match(const struct filter *f, const struct kmt_cell *c)
{
	bool is_percent = f->unit == KMT_UNIT_PERCENT || f->unit == KMT_UNIT_BAR;
	struct kmt_cell want = { .i = f->i };
	int order;

	if (is_percent)
		want.d = f->d;
	/* unknown: not equal to anything, neither more nor less */
	if (kmt_cell_is_null(c, f->unit))
		return f->cmp == CMP_NE;
	if (f->glob)
		return match_text(c, f->unit, f->glob) == (f->cmp == CMP_EQ);
	order = compare_cells(c, &want, f->unit);
	switch (f->cmp) {
	case CMP_EQ: return order == 0;
	case CMP_NE: return order != 0;
	case CMP_LT: return order < 0;
	case CMP_LE: return order <= 0;
	case CMP_GT: return order > 0;
	case CMP_GE: return order >= 0;
	}
	return false;
}

void kmt_report_keep(struct kmt_report *r, bool (*stays)(const void *ctx, size_t row),
		     const void *ctx)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_rows; i++) {
		if (stays(ctx, i)) {
			r->rows[kept++] = r->rows[i];
		} else {
			kmt_report_row_done(r, &r->rows[i]);
			r->rows_total--;
		}
	}
	r->n_rows = kept;
}

struct filtered {
	const struct kmt_report *r;
	const struct filter *f;
};

static bool passes(const void *ctx, size_t row)
{
	const struct filtered *x = ctx;

	return match(x->f, &x->r->rows[row].cells[x->f->column]);
}

int kmt_report_filter(struct kmt_report *r, const char *expr)
{
	_cleanup_free_ char *key = strdup(expr);
	struct filter f = { 0 };
	int err;

	if (!key)
		return kmt_err(-ENOMEM, "out of memory");
	err = parse_filter(r, expr, key, &f);
	if (err)
		return err;
	kmt_report_keep(r, passes, &(struct filtered){ .r = r, .f = &f });
	return 0;
}

struct sort {
	const struct kmt_row *rows;
	int column;
	enum kmt_unit unit;
	bool ascending;
};

/* Unknown values last in both directions; equal ones keep their order. */
static int compare_rows(const void *pa, const void *pb, void *arg)
{
	size_t ia = *(const size_t *)pa, ib = *(const size_t *)pb;
	const struct sort *s = arg;
	const struct kmt_cell *a = &s->rows[ia].cells[s->column];
	const struct kmt_cell *b = &s->rows[ib].cells[s->column];
	bool a_null = kmt_cell_is_null(a, s->unit), b_null = kmt_cell_is_null(b, s->unit);
	int order;

	if (a_null || b_null) {
		order = (int)a_null - (int)b_null;
	} else {
		order = compare_cells(a, b, s->unit);
		if (!s->ascending)
			order = -order;
	}
	return order ? order : (ia > ib) - (ia < ib);
}

static int parse_sort(const struct kmt_report *r, const char *spec, struct sort *s)
{
	_cleanup_free_ char *key = strdup(spec);
	_cleanup_buf_ struct kmt_buf got = { 0 };
	char *order;

	if (!key)
		return kmt_err(-ENOMEM, "out of memory");
	order = strrchr(key, ':');
	if (order)
		*order++ = '\0';
	s->column = need_column(r, key);
	if (s->column < 0)
		return s->column;
	s->unit = r->columns[s->column].unit;
	s->ascending = kmt_unit_is_text(s->unit);
	if (order && !strcmp(order, "asc")) {
		s->ascending = true;
	} else if (order && !strcmp(order, "desc")) {
		s->ascending = false;
	} else if (order) {
		kmt_buf_escape(&got, order, 64);
		return kmt_err(-EINVAL, "sort order must be asc or desc, not '%s'",
			       kmt_buf_str(&got));
	}
	return 0;
}

int kmt_report_sort(struct kmt_report *r, const char *spec)
{
	struct sort s = { .rows = r->rows };
	_cleanup_free_ size_t *order = calloc(r->n_rows + 1, sizeof(*order));
	struct kmt_row *sorted = calloc(r->n_rows + 1, sizeof(*sorted));
	int err;

	if (!order || !sorted)
		err = kmt_err(-ENOMEM, "out of memory");
	else
		err = parse_sort(r, spec, &s);
	if (err) {
		free(sorted);
		return err;
	}
	for (size_t i = 0; i < r->n_rows; i++)
		order[i] = i;
	qsort_r(order, r->n_rows, sizeof(*order), compare_rows, &s);
	for (size_t i = 0; i < r->n_rows; i++)
		sorted[i] = r->rows[order[i]];
	free(r->rows);
	r->rows = sorted;
	r->cap_rows = r->n_rows + 1;
	r->sort_column = s.column;
	r->sort_ascending = s.ascending;
	return 0;
}

void kmt_report_limit(struct kmt_report *r, uint64_t limit)
{
	if (!limit)
		return;
	while (r->n_rows > limit)
		kmt_report_row_done(r, &r->rows[--r->n_rows]);
}

int kmt_report_choose(struct kmt_report *r, const char *comma_list)
{
	_cleanup_free_ char *copy = strdup(comma_list);
	_cleanup_free_ size_t *shown = calloc(r->n_columns + 1, sizeof(*shown));
	char *rest = copy, *name;
	size_t n = 0;

	if (!copy || !shown)
		return kmt_err(-ENOMEM, "out of memory");
	while ((name = strsep(&rest, ","))) {
		int column = need_column(r, name);

		if (column < 0)
			return column;
		for (size_t i = 0; i < n; i++)
			if (shown[i] == (size_t)column)
				return kmt_err(-EINVAL, "column '%s' is named twice",
					       r->columns[column].key);
		shown[n++] = column;
	}
	free(r->shown);
	r->shown = take_ptr(shown);
	r->n_shown = n;
	return 0;
}

int kmt_report_shape(struct kmt_report *r, const char *const *filters, size_t n_filters,
		     const char *sort, uint64_t limit, const char *columns)
{
	int err = 0;

	for (size_t i = 0; !err && i < n_filters; i++)
		err = kmt_report_filter(r, filters[i]);
	if (!err && sort)
		err = kmt_report_sort(r, sort);
	if (!err)
		kmt_report_limit(r, limit);
	return !err && columns ? kmt_report_choose(r, columns) : err;
}
