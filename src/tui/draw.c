// SPDX-License-Identifier: GPL-2.0-only
/* The table, or the pane that covers it, and the last line. */
#include "tui/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "report/cell_text.h"

#define MARKS	2	/* cells before a row: the cursor, and what makes its numbers doubtful */

struct area {
	int row, rows, cols;
};

static void put(struct kmt_tui *t, int row, int col, unsigned attr, const char *text)
{
	t->term->ops->put(t->term, row, col, attr, text);
}

static void pad(struct kmt_buf *b, size_t n)
{
	while (n--)
		kmt_buf_puts(b, " ");
}

/* ---- the table ---- */

static bool is_left(enum kmt_unit unit)
{
	return kmt_unit_is_text(unit) || unit == KMT_UNIT_BAR;
}

/* One cell of text, 'used' wide, in its column. */
static void add_text(struct kmt_buf *line, const struct kmt_layout_column *c, bool left,
		     const char *text, size_t used, bool is_first)
{
	size_t blanks = c->width > used ? c->width - used : 0;

	pad(line, is_first ? 0 : 1);
	pad(line, left ? 0 : blanks);
	kmt_buf_puts(line, text);
	pad(line, left ? blanks : 0);
}

static void head_line(const struct kmt_tui *t, struct kmt_buf *line)
{
	const struct kmt_report *r = t->report;
	bool is_first = true;

	for (size_t i = 0; i < t->layout.n; i++) {
		const struct kmt_layout_column *c = &t->layout.v[i];
		struct kmt_buf title = { 0 };

		if (c->dropped)
			continue;
		kmt_title_print(&title, r, c->index, t->term->utf8);
		add_text(line, c, is_left(r->columns[c->index].unit), kmt_buf_str(&title),
			 c->title_width, is_first);
		line->error = line->error ? line->error : title.error;
		kmt_buf_done(&title);
		is_first = false;
	}
}

static void row_line(const struct kmt_tui *t, const struct kmt_row *row, struct kmt_buf *line)
{
	const struct kmt_report *r = t->report;
	bool is_first = true;

	for (size_t i = 0; i < t->layout.n; i++) {
		const struct kmt_layout_column *c = &t->layout.v[i];
		enum kmt_unit unit = r->columns[c->index].unit;
		struct kmt_buf text = { 0 };
		size_t used;

		if (c->dropped)
			continue;
		kmt_cell_print(&text, unit, &row->cells[c->index], t->exact_bytes);
		used = text.len < c->width ? text.len : c->width;
		kmt_text_cut(&text, c->width, t->term->utf8);
		add_text(line, c, is_left(unit), kmt_buf_str(&text), used, is_first);
		line->error = line->error ? line->error : text.error;
		kmt_buf_done(&text);
		is_first = false;
	}
}

/* Objects here were freed without an event, or the cache's books are off: no live count holds. */
static bool is_doubtful(const struct kmt_report *r, const struct kmt_row *row)
{
	int frees = kmt_report_column(r, "untraced_frees");
	int books = kmt_report_column(r, "balance.verdict");

	if (frees >= 0 && !row->cells[frees].is_null && row->cells[frees].i > 0)
		return true;
	return books >= 0 && row->cells[books].text && !strncmp(row->cells[books].text, "off", 3);
}

static bool is_suspect(const struct kmt_report *r, const struct kmt_row *row)
{
	int state = kmt_report_column(r, "state");

	return state >= 0 && row->cells[state].text && !strcmp(row->cells[state].text, "suspect");
}

static int draw_row(struct kmt_tui *t, size_t i, int at, int cols)
{
	const struct kmt_row *row = &t->report->rows[i];
	struct kmt_buf line = { 0 };
	bool is_here = i == t->cursor;
	int err;

	row_line(t, row, &line);
	err = line.error;
	if (!err) {
		put(t, at, 0, KMT_ATTR_BOLD, is_here ? ">" : " ");
		if (is_doubtful(t->report, row))
			put(t, at, 1, KMT_ATTR_REVERSE | KMT_ATTR_RED, "!");
		put(t, at, MARKS, (is_here ? KMT_ATTR_BOLD : 0) |
				  (is_suspect(t->report, row) ? KMT_ATTR_YELLOW : 0),
		    kmt_buf_str(&line));
	}
	kmt_buf_done(&line);
	return err;
}

/* The cursor stays on the screen, the screen on the table. */
static void scroll(struct kmt_tui *t, size_t rows)
{
	size_t n = t->report->n_rows;

	if (t->cursor >= n)
		t->cursor = n ? n - 1 : 0;
	if (t->cursor < t->top)
		t->top = t->cursor;
	if (t->cursor >= t->top + rows)
		t->top = t->cursor - rows + 1;
	if (t->top + rows > n)
		t->top = n > rows ? n - rows : 0;
	t->page = rows > 1 ? rows - 1 : 1;
}

/* The title of the column that is sorted by once more, in colour. */
static int mark_sorted(struct kmt_tui *t, const struct area *a)
{
	const struct kmt_report *r = t->report;
	struct kmt_buf title = { 0 };
	size_t at = 0, i;
	int err;

	for (i = 0; i < t->layout.n; i++) {
		const struct kmt_layout_column *c = &t->layout.v[i];

		if (!c->dropped && (int)c->index == r->sort_column)
			break;
		at += c->dropped ? 0 : c->width + 1;
	}
	if (i == t->layout.n)
		return 0;
	if (!is_left(r->columns[t->layout.v[i].index].unit))
		at += t->layout.v[i].width - t->layout.v[i].title_width;
	kmt_title_print(&title, r, t->layout.v[i].index, t->term->utf8);
	err = title.error;
	if (!err)
		put(t, a->row, MARKS + (int)at, KMT_ATTR_BOLD | KMT_ATTR_UNDERLINE | KMT_ATTR_CYAN,
		    kmt_buf_str(&title));
	kmt_buf_done(&title);
	return err;
}

static int draw_head(struct kmt_tui *t, const struct area *a)
{
	struct kmt_buf line = { 0 };
	int err;

	kmt_layout_fit(&t->layout, t->report, (size_t)(a->cols - MARKS));
	head_line(t, &line);
	err = line.error;
	if (!err)
		put(t, a->row, MARKS, KMT_ATTR_BOLD | KMT_ATTR_UNDERLINE, kmt_buf_str(&line));
	kmt_buf_done(&line);
	return err ? err : mark_sorted(t, a);
}

static int draw_table(struct kmt_tui *t, const struct area *a)
{
	size_t rows = (size_t)a->rows - 1;
	int err;

	if (!kmt_tui_has_table(t)) {
		put(t, a->row + 1, MARKS, 0, t->no_table);
		return 0;
	}
	scroll(t, rows);
	err = draw_head(t, a);
	if (!t->report->n_rows)
		put(t, a->row + 1, MARKS, 0, t->filter[0] ? "no row passes the filter" : "no rows");
	for (size_t i = 0; i < rows && t->top + i < t->report->n_rows && !err; i++)
		err = draw_row(t, t->top + i, a->row + 1 + (int)i, a->cols);
	return err;
}

/* ---- a pane ---- */

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static int draw_pane(struct kmt_tui *t, const struct area *a)
{
	struct kmt_buf b = { 0 };
	size_t rows = (size_t)a->rows, n;
	char *rest, *line;
	int err;

	kmt_tui_pane_text(t, (size_t)a->cols, &b);
	err = b.error;
	n = err ? 0 : count_lines(kmt_buf_str(&b));
	if (t->pane_top + rows > n)
		t->pane_top = n > rows ? n - rows : 0;
	t->page = rows > 1 ? rows - 1 : 1;
	rest = b.data;
	for (size_t i = 0; !err && i < t->pane_top + rows && (line = strsep(&rest, "\n")); i++)
		if (i >= t->pane_top)
			put(t, a->row + (int)(i - t->pane_top), 0, 0, line);
	kmt_buf_done(&b);
	return err;
}

/* ---- the last line ---- */

/* What the selected row says besides: evidence, or the innermost frame. */
static const char *evidence(const struct kmt_tui *t)
{
	const struct kmt_report *r = t->report;

	if (t->pane != KMT_PANE_NONE || !kmt_tui_has_table(t) || t->cursor >= r->n_rows ||
	    !r->rows[t->cursor].n_detail)
		return NULL;
	return r->rows[t->cursor].detail[0];
}

/* The views that share a key, the one that is shown in brackets. */
static void add_tab(const struct kmt_tui *t, struct kmt_buf *b)
{
	bool is_first = true;

	for (size_t i = 0; kmt_tui_views[i]; i++) {
		if (!kmt_tui_views[i]->tab || !kmt_tui_same_tab(i, t->view))
			continue;
		if (is_first)
			kmt_buf_printf(b, "  %zu:", kmt_tui_tab(i) + 1);
		kmt_buf_printf(b, i == t->view ? " [%s]" : " %s", kmt_tui_views[i]->title);
		is_first = false;
	}
}

static void add_callers(const struct kmt_tui *t, struct kmt_buf *b)
{
	if (!kmt_tui_views[t->view]->has_order || !t->data->callers[0])
		return;
	kmt_buf_puts(b, "  callers of ");
	kmt_buf_escape(b, t->data->callers, SIZE_MAX);
	kmt_buf_puts(b, " (t: all)");
}

static void draw_last(struct kmt_tui *t, int row, int cols)
{
	struct kmt_buf b = { 0 };
	const char *more = evidence(t);

	if (t->is_typing) {
		kmt_buf_printf(&b, "filter: %s", t->typed);
	} else if (t->message[0]) {
		kmt_buf_escape(&b, t->message, SIZE_MAX);
	} else if (t->pane != KMT_PANE_NONE) {
		kmt_buf_puts(&b, "Esc back  up, down scroll");
	} else {
		kmt_buf_puts(&b, t->data->seek ? "? help  [ ] time  space play" : "? help");
		if (kmt_tui_has_table(t))
			kmt_buf_printf(&b, "  %zu row%s", t->report->n_rows,
				       t->report->n_rows == 1 ? "" : "s");
		add_tab(t, &b);
		add_callers(t, &b);
		if (t->filter[0] && !kmt_tui_views[t->view]->has_order) {
			kmt_buf_puts(&b, "  filter: ");
			kmt_buf_escape(&b, t->filter, SIZE_MAX);
		}
		kmt_buf_puts(&b, more ? "  " : "");
		kmt_buf_escape(&b, more ? more : "", SIZE_MAX);
	}
	kmt_text_cut(&b, (size_t)cols, t->term->utf8);
	if (!b.error)
		put(t, row, 0, t->message[0] && !t->is_typing ? KMT_ATTR_BOLD : 0,
		    kmt_buf_str(&b));
	t->term->ops->cursor(t->term, t->is_typing ? row : -1, (int)b.len);
	kmt_buf_done(&b);
}

int kmt_tui_draw(struct kmt_tui *t)
{
	struct kmt_term *term = t->term;
	char text[96];
	struct area a;
	int rows, err = 0;

	term->ops->size(term, &rows, &a.cols);
	term->ops->clear(term);
	if (rows < KMT_TUI_ROWS || a.cols < KMT_TUI_COLS) {
		snprintf(text, sizeof(text), "%dx%d is too small: %dx%d, or q", a.cols, rows,
			 KMT_TUI_COLS, KMT_TUI_ROWS);
		term->ops->cursor(term, -1, 0);
		put(t, 0, 0, 0, text);
	} else {
		a.row = kmt_tui_header(t, a.cols);
		a.rows = rows - a.row - 1;
		err = t->pane == KMT_PANE_NONE ? draw_table(t, &a) : draw_pane(t, &a);
		draw_last(t, rows - 1, a.cols);
	}
	term->ops->show(term);
	return err ? kmt_err(err, "out of memory") : 0;
}
