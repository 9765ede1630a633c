// SPDX-License-Identifier: GPL-2.0-only
/* For people: summary, table, notes and how far to trust it, in 80 columns. */
#include "render/render.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <libsmartcols.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "render/emit.h"
#include "report/cell_text.h"
#include "report/layout.h"

#define WIDTH		80
#define GAP		2	/* blanks between a title, its value and the next field */
#define DETAIL_INDENT	4

#define ALARM_ON	"\033[1;7m"
#define ALARM_OFF	"\033[0m"

struct text {
	const struct kmt_report *r;
	const struct kmt_render_opts *opts;
	struct kmt_buf *out;
	size_t width;
	bool utf8;
};

/* A part that was short of memory fails the whole. */
static void take_error(const struct text *t, const struct kmt_buf *part)
{
	if (part->error)
		t->out->error = part->error;
}

static void put_blanks(struct kmt_buf *b, size_t n)
{
	while (n--)
		kmt_buf_puts(b, " ");
}

static void put_alarm(const struct text *t, const char *text)
{
	if (t->opts->color)
		kmt_buf_printf(t->out, ALARM_ON "%s" ALARM_OFF, text);
	else
		kmt_buf_puts(t->out, text);
}

/* One field of the summary; returns the cells its value takes. */
static size_t put_summary_field(const struct text *t, const struct kmt_field *f,
				const char *value, size_t title_width)
{
	size_t column = title_width + GAP;

	kmt_buf_puts(t->out, f->title);
	put_blanks(t->out, title_width - strlen(f->title) + GAP);
	if (f->alarm)
		put_alarm(t, value);
	else
		kmt_buf_wrap(t->out, value, column, column, t->width);
	return strlen(value);
}

static bool is_left_out(const struct kmt_field *f)
{
	return f->quiet && (f->cell.is_null || !f->cell.i);
}

/* Two fields share a line if both are short; a long one has its own. */
static void put_summary(const struct text *t)
{
	const struct kmt_fields *f = &t->r->summary;
	size_t title_width = 0, half = (t->width - GAP) / 2, room, used = 0;
	bool is_right = false;

	for (size_t i = 0; i < f->n; i++)
		if (!is_left_out(&f->v[i]) && strlen(f->v[i].title) > title_width)
			title_width = strlen(f->v[i].title);
	room = half > title_width + GAP ? half - title_width - GAP : 0;
	for (size_t i = 0; i < f->n; i++) {
		_cleanup_buf_ struct kmt_buf value = { 0 };

		if (is_left_out(&f->v[i]))
			continue;
		kmt_buf_puts(&value, f->v[i].alarm ? "! " : "");
		kmt_field_print(&value, &f->v[i], t->opts->exact_bytes);
		take_error(t, &value);
		if (is_right && value.len > room) {
			kmt_buf_puts(t->out, "\n");
			is_right = false;
		} else if (is_right) {
			put_blanks(t->out, room - used + GAP);
		}
		used = put_summary_field(t, &f->v[i], kmt_buf_str(&value), title_width);
		is_right = !is_right && used <= room && i + 1 < f->n;
		if (!is_right)
			kmt_buf_puts(t->out, "\n");
	}
}

static int add_columns(const struct text *t, const struct kmt_layout *l, struct libscols_table *tb)
{
	for (size_t i = 0; i < l->n; i++) {
		_cleanup_buf_ struct kmt_buf title = { 0 };
		enum kmt_unit unit = t->r->columns[l->v[i].index].unit;

		if (l->v[i].dropped)
			continue;
		kmt_title_print(&title, t->r, l->v[i].index, t->utf8);
		if (title.error || !scols_table_new_column(tb, kmt_buf_str(&title), 0,
					kmt_unit_is_text(unit) || unit == KMT_UNIT_BAR ?
					0 : SCOLS_FL_RIGHT))
			return -ENOMEM;
	}
	return 0;
}

static int add_line(const struct text *t, const struct kmt_layout *l, const struct kmt_row *row,
		    struct libscols_table *tb)
{
	struct libscols_line *line = scols_table_new_line(tb, NULL);
	_cleanup_buf_ struct kmt_buf b = { 0 };
	size_t n = 0;

	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		enum kmt_unit unit = t->r->columns[l->v[i].index].unit;

		if (l->v[i].dropped)
			continue;
		kmt_buf_clear(&b);
		kmt_cell_print(&b, unit, &row->cells[l->v[i].index], t->opts->exact_bytes);
		if (kmt_unit_is_text(unit))
			kmt_text_cut(&b, l->v[i].width, t->utf8);
		if (b.error || scols_line_set_data(line, n++, kmt_buf_str(&b)))
			return -ENOMEM;
	}
	return 0;
}

/* The table's lines as one string; free() it. */
static int print_table(const struct text *t, const struct kmt_layout *l, char **ret_lines)
{
	struct libscols_table *tb = scols_new_table();
	int err;

	if (!tb)
		return -ENOMEM;
	err = add_columns(t, l, tb);
	for (size_t i = 0; i < t->r->n_rows && !err; i++)
		err = add_line(t, l, &t->r->rows[i], tb);
	if (!err) {
		scols_table_set_termforce(tb, SCOLS_TERMFORCE_NEVER);
		scols_table_enable_noencoding(tb, 1);	/* cells are escaped already */
		scols_table_enable_noheadings(tb, t->opts->no_header);
		err = scols_print_table_to_string(tb, ret_lines);
	}
	scols_unref_table(tb);
	return err < 0 ? err : err ? -EIO : 0;
}

static void put_detail(const struct text *t, const struct kmt_row *row)
{
	for (size_t i = 0; i < row->n_detail; i++) {
		_cleanup_buf_ struct kmt_buf line = { 0 };

		put_blanks(&line, DETAIL_INDENT);
		kmt_buf_escape(&line, row->detail[i], SIZE_MAX);
		kmt_text_cut(&line, t->width, t->utf8);
		kmt_buf_printf(t->out, "%s\n", kmt_buf_str(&line));
		take_error(t, &line);
	}
}

/* Columns that did not fit are named: they are one option away. */
static void put_dropped(const struct text *t, const struct kmt_layout *l)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].dropped)
			kmt_buf_printf(&b, "%s%s", n++ ? ", " : "columns left out for width: ",
				       t->r->columns[l->v[i].index].key);
	if (!n)
		return;
	kmt_buf_puts(&b, " (see --columns)");
	take_error(t, &b);
	kmt_buf_wrap(t->out, kmt_buf_str(&b), 0, 0, t->width);
	kmt_buf_puts(t->out, "\n");
}

/* The library prints lines; the rows' own detail goes between them. */
static int put_rows(const struct text *t, const struct kmt_layout *l)
{
	_cleanup_free_ char *lines = NULL;
	char *rest, *line;
	size_t i = 0;
	int err = print_table(t, l, &lines);

	if (err)
		return kmt_err_errno(err, "cannot lay out the table");
	rest = lines;
	if (!t->opts->no_header)
		kmt_buf_printf(t->out, "%s\n", (line = strsep(&rest, "\n")) ? line : "");
	while ((line = strsep(&rest, "\n")) && i < t->r->n_rows) {
		kmt_buf_printf(t->out, "%s\n", line);
		put_detail(t, &t->r->rows[i++]);
	}
	/* the library does not tell when its stream was short of memory */
	return i < t->r->n_rows ? kmt_err(-ENOMEM, "out of memory") : 0;
}

static int put_table(const struct text *t)
{
	struct kmt_layout l _cleanup_(kmt_layout_done) = { 0 };
	int err = kmt_layout_init(&l, t->r);

	if (err || !l.n)
		return err;
	if (!t->r->n_rows && !t->r->rows_total) {
		kmt_buf_puts(t->out, "no rows\n");
		return 0;
	}
	if (t->r->n_rows) {
		err = kmt_layout_measure(&l, t->r, !t->opts->no_header, t->opts->exact_bytes);
		if (err)
			return err;
		kmt_layout_fit(&l, t->r, t->width);
		err = put_rows(t, &l);
		if (err)
			return err;
		put_dropped(t, &l);
	}
	if (t->r->n_rows < t->r->rows_total)
		kmt_buf_printf(t->out, "%zu of %" PRIu64 " rows shown\n", t->r->n_rows,
			       t->r->rows_total);
	return 0;
}

static void put_notes(const struct text *t)
{
	static const char head[] = "note: ";

	for (size_t i = 0; i < t->r->n_notes; i++) {
		_cleanup_buf_ struct kmt_buf note = { 0 };

		kmt_buf_escape(&note, t->r->notes[i], SIZE_MAX);
		kmt_buf_puts(t->out, head);
		kmt_buf_wrap(t->out, kmt_buf_str(&note), strlen(head), strlen(head), t->width);
		kmt_buf_puts(t->out, "\n");
		take_error(t, &note);
	}
}

/* Where the next item of the quality lines goes. */
struct flow {
	size_t column;
	bool is_start;
};

static void put_item(const struct text *t, struct flow *flow, const char *item, bool is_alarm)
{
	static const char head[] = "quality  ";
	size_t len = strlen(item), indent = strlen(head);

	if (!flow->column) {
		kmt_buf_puts(t->out, head);
		flow->column = indent;
		flow->is_start = true;
	}
	/* one cell is kept for the comma after it */
	if (!flow->is_start && flow->column + 2 + len + 1 > t->width) {
		kmt_buf_puts(t->out, ",\n");
		put_blanks(t->out, indent);
		flow->column = indent;
	} else if (!flow->is_start) {
		kmt_buf_puts(t->out, ", ");
		flow->column += 2;
	}
	if (is_alarm)
		put_alarm(t, item);
	else
		kmt_buf_wrap(t->out, item, flow->column, indent, t->width);
	flow->column += len;
	flow->is_start = false;
}

static void put_quality_fields(const struct text *t, struct flow *flow, bool alarms)
{
	for (size_t i = 0; i < t->r->quality.n; i++) {
		const struct kmt_field *f = &t->r->quality.v[i];
		_cleanup_buf_ struct kmt_buf item = { 0 };

		if (kmt_emit_is_alarm(f) != alarms || is_left_out(f))
			continue;
		kmt_buf_printf(&item, "%s%s ", alarms ? "! " : "", f->title);
		kmt_field_print(&item, f, t->opts->exact_bytes);
		put_item(t, flow, kmt_buf_str(&item), alarms);
		take_error(t, &item);
	}
}

static bool has_field(const struct kmt_report *r, const char *key)
{
	return kmt_fields_find(&r->summary, key) || kmt_fields_find(&r->quality, key);
}

/* Losses that are not zero first, then the rest, then window and kernel. */
static void put_quality(const struct text *t)
{
	struct flow flow = { 0 };
	char out[KMT_FMT_LEN];

	put_quality_fields(t, &flow, true);
	put_quality_fields(t, &flow, false);
	if (!has_field(t->r, "window_ns")) {
		_cleanup_buf_ struct kmt_buf item = { 0 };

		kmt_buf_printf(&item, "window %s", kmt_fmt_duration(out, t->r->window_ns));
		put_item(t, &flow, kmt_buf_str(&item), false);
		take_error(t, &item);
	}
	if (t->r->kernel && !has_field(t->r, "kernel")) {
		_cleanup_buf_ struct kmt_buf item = { 0 };

		kmt_buf_puts(&item, "kernel ");
		kmt_buf_escape(&item, t->r->kernel, SIZE_MAX);
		put_item(t, &flow, kmt_buf_str(&item), false);
		take_error(t, &item);
	}
	kmt_buf_puts(t->out, flow.column ? "\n" : "");
}

static int render(const struct kmt_report *r, const struct kmt_render_opts *opts, FILE *out)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };
	struct text t = {
		.r = r, .opts = opts, .out = &b, .width = opts->width ? opts->width : WIDTH,
		.utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	int err;

	if (!opts->first)
		kmt_buf_puts(&b, "\n");	/* between the reports of a run */
	put_summary(&t);
	if (r->summary.n)
		kmt_buf_puts(&b, "\n");
	err = put_table(&t);
	if (err)
		return err;
	if (r->n_columns)
		kmt_buf_puts(&b, "\n");
	put_notes(&t);
	put_quality(&t);
	return kmt_emit(&b, out);
}

const struct kmt_renderer kmt_renderer_text = {
	.name = "text",
	.help = "for people: summary, table, notes, quality",
	.render = render,
};
