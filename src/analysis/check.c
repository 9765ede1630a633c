// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "report/report.h"

#define N_BLAMED 3	/* call sites named beside a broken limit */

enum place { SUMMARY, QUALITY, ROWS, RATIO };

struct limit {
	const char *option, *key, *title;
	enum place place;
	enum kmt_unit unit;
};

static const struct limit table[] = {
#define LIMIT(id, option, place, key, unit, title, help)				\
	{ option, key, title, place, KMT_UNIT_##unit },
#include "analysis/limits.def"
#undef LIMIT
};

enum { COL_CHECK, COL_VERDICT, COL_IS, COL_MAX, COL_VALUE, COL_LIMIT, COL_UNIT, N_COLUMNS };

static const struct kmt_column columns[N_COLUMNS] = {
	[COL_CHECK] = { "check", "CHECK", KMT_UNIT_TEXT, false, true },
	[COL_VERDICT] = { "verdict", "VERDICT", KMT_UNIT_TEXT, false, false },
	[COL_IS] = { "value_text", "IS", KMT_UNIT_TEXT, false, false },
	[COL_MAX] = { "limit_text", "LIMIT", KMT_UNIT_TEXT, false, false },
	[COL_VALUE] = { "value", "VALUE", KMT_UNIT_COUNT, true, false },
	[COL_LIMIT] = { "limit", "LIMIT", KMT_UNIT_COUNT, true, false },
	[COL_UNIT] = { "unit", "UNIT", KMT_UNIT_TEXT, true, false },
};

const char *kmt_limit_option(enum kmt_limit_id id)
{
	return table[id].option;
}

/* ---- limits as they are written ---- */

static bool drop_end(char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	if (len <= n || strcmp(s + len - n, end))
		return false;
	s[len - n] = '\0';
	return true;
}

static int parse_percent(const char *s, const char *what, int64_t *ret)
{
	double d;
	int err = kmt_parse_decimal(s, what, &d);

	if (err)
		return err;
	if (d > 1e9)
		return kmt_err(-EINVAL, "%s must be a percentage, not '%s'", what, s);
	*ret = (int64_t)(d * 1000 + 0.5);
	return 0;
}

int kmt_limit_parse(enum kmt_limit_id id, const char *s, struct kmt_limits *limits)
{
	const struct limit *l = &table[id];
	_cleanup_free_ char *copy = strdup(s);
	char what[40];
	uint64_t v = 0;
	int err;

	if (!copy)
		return kmt_err(-ENOMEM, "out of memory");
	snprintf(what, sizeof(what), "--%s", l->option);
	if (l->unit == KMT_UNIT_PERCENT) {
		drop_end(copy, "%");
		err = parse_percent(copy, what, &limits->value[id]);
		limits->set[id] = !err;
		return err;
	}
	if (l->unit == KMT_UNIT_BYTES_PER_S)
		drop_end(copy, "/s");
	err = l->unit == KMT_UNIT_COUNT ? kmt_parse_u64(copy, what, 0, INT64_MAX, &v) :
					  kmt_parse_size(copy, what, 0, INT64_MAX, &v);
	limits->value[id] = (int64_t)v;
	limits->set[id] = !err;
	return err;
}

/* ---- values ---- */

static bool field_value(const struct kmt_fields *f, const char *key, int64_t *ret)
{
	const struct kmt_field *field = kmt_fields_find(f, key);

	if (!field || field->cell.is_null)
		return false;
	if (field->unit == KMT_UNIT_PERCENT)
		*ret = (int64_t)(field->cell.d * 1000 + (field->cell.d < 0 ? -0.5 : 0.5));
	else
		*ret = field->cell.i;
	return true;
}

static bool rows_value(const struct kmt_report *r, const char *key, int64_t *ret)
{
	int c = kmt_report_column(r, key);

	*ret = 0;
	if (c < 0)
		return false;
	for (size_t i = 0; i < r->n_rows; i++) {
		if (r->rows[i].cells[c].is_null)
			return false;
		if (__builtin_add_overflow(*ret, r->rows[i].cells[c].i, ret))
			*ret = INT64_MAX;
	}
	return true;
}

static bool ratio_value(const struct kmt_report *r, const char *key, int64_t *ret)
{
	int64_t part, whole;

	if (!field_value(&r->summary, key, &part) || !field_value(&r->summary, "allocs", &whole))
		return false;
	*ret = whole ? (int64_t)((__int128)part * 100000 / whole) : 0;
	return true;
}

/* The two views of one run. */
struct run {
	const struct kmt_report *sites, *survivors;
};

static bool value_of(const struct run *run, const struct limit *l, int64_t *ret)
{
	switch (l->place) {
	case SUMMARY: return field_value(&run->sites->summary, l->key, ret);
	case QUALITY: return field_value(&run->sites->quality, l->key, ret);
	case ROWS: return rows_value(run->survivors, l->key, ret);
	case RATIO: return ratio_value(run->sites, l->key, ret);
	}
	return false;
}

/* ---- the answer ---- */

static void put_value(struct kmt_buf *b, enum kmt_unit unit, int64_t v, bool exact)
{
	char t[KMT_FMT_LEN];

	switch (unit) {
	case KMT_UNIT_BYTES:
		kmt_buf_puts(b, kmt_fmt_bytes(t, v, exact));
		break;
	case KMT_UNIT_BYTES_PER_S:
		kmt_buf_printf(b, "%s/s", kmt_fmt_bytes(t, v, exact));
		break;
	case KMT_UNIT_PERCENT:
		kmt_buf_printf(b, "%s%%", kmt_fmt_percent(t, (double)v / 1000));
		break;
	default:
		kmt_buf_puts(b, kmt_fmt_count(t, v));
		break;
	}
}

static const char *unit_name(enum kmt_unit unit)
{
	return unit == KMT_UNIT_BYTES ? "bytes" : unit == KMT_UNIT_BYTES_PER_S ? "bytes/s" :
	       unit == KMT_UNIT_PERCENT ? "percent/1000" : "count";
}

static int set_text(struct kmt_cell *cell, enum kmt_unit unit, int64_t v, bool exact)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };

	put_value(&b, unit, v, exact);
	return b.error ? kmt_err(b.error, "out of memory") : kmt_cell_text(cell, kmt_buf_str(&b));
}

static int fill_row(struct kmt_report *r, const struct limit *l, bool known, int64_t value,
		    int64_t max)
{
	const char *verdict = !known ? "unknown" : value > max ? "broken" : "ok";
	struct kmt_row *row = kmt_report_row(r);

	if (!row || kmt_cell_text(&row->cells[COL_CHECK], l->title) ||
	    kmt_cell_text(&row->cells[COL_VERDICT], verdict) ||
	    kmt_cell_text(&row->cells[COL_UNIT], unit_name(l->unit)) ||
	    set_text(&row->cells[COL_MAX], l->unit, max, false))
		return -ENOMEM;
	kmt_cell_int(&row->cells[COL_LIMIT], max);
	if (!known)
		return 0;
	kmt_cell_int(&row->cells[COL_VALUE], value);
	if (set_text(&row->cells[COL_IS], l->unit, value, false))
		return -ENOMEM;
	if (value == max || strcmp(row->cells[COL_IS].text, row->cells[COL_MAX].text))
		return 0;
	/* "50 KiB is more than 50.0 KiB" says nothing */
	if (set_text(&row->cells[COL_MAX], l->unit, max, true))
		return -ENOMEM;
	return set_text(&row->cells[COL_IS], l->unit, value, true);
}

/* Who is to blame: the largest rows of the column that the limit is about. */
static int blame(struct kmt_report *r, const struct run *run, const struct limit *l)
{
	const struct kmt_report *sites = l->place == ROWS ? run->survivors : run->sites;
	const char *key = l->place == ROWS || l->place == RATIO ? l->key :
			  l->unit == KMT_UNIT_PERCENT ? "waste_bytes" :
			  !strcmp(l->key, "growth_bytes_per_s") ? "live_bytes_allocated" : l->key;
	int c = kmt_report_column(sites, key), name = kmt_report_column(sites, "site");
	_cleanup_free_ bool *told = calloc(sites->n_rows + 1, sizeof(*told));
	_cleanup_buf_ struct kmt_buf b = { 0 };

	if (!told)
		return kmt_err(-ENOMEM, "out of memory");
	for (int n = 0; c >= 0 && name >= 0 && n < N_BLAMED; n++) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < sites->n_rows; i++) {
			const struct kmt_cell *cell = &sites->rows[i].cells[c];

			if (!told[i] && !cell->is_null && cell->i > 0 &&
			    (best == SIZE_MAX || cell->i > sites->rows[best].cells[c].i))
				best = i;
		}
		if (best == SIZE_MAX)
			break;
		told[best] = true;
		kmt_buf_puts(&b, b.len ? ", " : "");
		kmt_buf_escape(&b, sites->rows[best].cells[name].text ?
			       sites->rows[best].cells[name].text : "?", 128);
		kmt_buf_puts(&b, " ");
		put_value(&b, sites->columns[c].unit, sites->rows[best].cells[c].i, false);
	}
	if (b.error)
		return kmt_err(b.error, "out of memory");
	return b.len ? kmt_report_note(r, "%s, most of it: %s", l->title, kmt_buf_str(&b)) : 0;
}

static int copy_quality(struct kmt_report *to, const struct kmt_report *from)
{
	int err = 0;

	to->window_ns = from->window_ns;
	to->kernel = from->kernel ? strdup(from->kernel) : NULL;
	if (from->kernel && !to->kernel)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; !err && i < from->quality.n; i++) {
		const struct kmt_field *f = &from->quality.v[i];

		err = kmt_fields_copy(&to->quality, f, f->key, f->title);
	}
	return err;
}

static int check_all(const struct run *run, const struct kmt_limits *limits,
		     struct kmt_report *r, size_t *ret_broken)
{
	int err = copy_quality(r, run->sites);

	*ret_broken = 0;
	for (size_t i = 0; !err && i < KMT_N_LIMITS; i++) {
		int64_t value = 0;
		bool known, ok;

		if (!limits->set[i])
			continue;
		known = value_of(run, &table[i], &value);
		ok = known && value <= limits->value[i];
		err = fill_row(r, &table[i], known, value, limits->value[i]);
		if (!err && known && !ok)
			err = blame(r, run, &table[i]);
		*ret_broken += !ok;
	}
	return err;
}

int kmt_check_run(const struct kmt_report *sites, const struct kmt_report *survivors,
		  const struct kmt_limits *limits, struct kmt_report **ret_report,
		  size_t *ret_broken)
{
	const struct run run = { sites, survivors };
	struct kmt_report *r = NULL;
	int err = kmt_report_new("check", "limits", columns, N_COLUMNS, &r);

	if (!err)
		err = check_all(&run, limits, r, ret_broken);
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret_report = r;
	return 0;
}

static const char *option_of(const char *title)
{
	for (size_t i = 0; i < KMT_N_LIMITS; i++)
		if (!strcmp(table[i].title, title))
			return table[i].option;
	return "";
}

void kmt_check_sentence(const struct kmt_report *r, size_t i, struct kmt_buf *out)
{
	const struct kmt_cell *c = r->rows[i].cells;

	if (c[COL_IS].is_null)
		kmt_buf_printf(out, "%s is unknown in this run (--%s)", c[COL_CHECK].text,
			       option_of(c[COL_CHECK].text));
	else
		kmt_buf_printf(out, "%s %s is %s %s (--%s)", c[COL_CHECK].text, c[COL_IS].text,
			       strcmp(c[COL_VERDICT].text, "ok") ? "more than" : "within",
			       c[COL_MAX].text, option_of(c[COL_CHECK].text));
}
