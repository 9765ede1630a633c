// SPDX-License-Identifier: GPL-2.0-only
/* What covers the table: all about one row, the notes, the keys. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "report/cell_text.h"
#include "tui/priv.h"

#define BAR	30	/* cells of the longest bar */
#define INDENT	4

static void pad(struct kmt_buf *b, size_t n)
{
	while (n--)
		kmt_buf_puts(b, " ");
}

/* ---- histograms, as reports have them: "lifetimes_log2", "sizes" ---- */

static uint64_t greatest(const char *list, char before)
{
	uint64_t max = 0;

	for (const char *s = list; s; s = strchr(s, '\n')) {
		const char *n;
		uint64_t v;

		s += *s == '\n';
		n = before ? strchr(s, before) : NULL;
		v = strtoull(n ? n + 1 : s, NULL, 10);
		max = v > max ? v : max;
	}
	return max;
}

static void add_bar(struct kmt_buf *out, const char *label, size_t width, uint64_t n, uint64_t max)
{
	size_t len = max ? (size_t)((double)n * BAR / (double)max + 0.5) : 0;

	pad(out, INDENT + (width > strlen(label) ? width - strlen(label) : 0));
	kmt_buf_printf(out, "%s %10" PRIu64 " ", label, n);
	for (size_t i = 0; i < len || (n && !i); i++)
		kmt_buf_puts(out, "#");
	kmt_buf_puts(out, "\n");
}

/* Entry i counts objects that lived less than 2.048 us << i, and no less than half of that. */
static void add_lifetimes(struct kmt_buf *out, const char *list)
{
	uint64_t max = greatest(list, 0);
	unsigned i = 0;

	if (!max)
		return;
	kmt_buf_puts(out, "lifetimes of what was freed\n");
	for (const char *s = list; s; s = strchr(s, '\n'), i++) {
		char label[64], to[KMT_FMT_LEN];
		uint64_t n;

		s += *s == '\n';
		n = strtoull(s, NULL, 10);
		snprintf(label, sizeof(label), "below %s", kmt_fmt_duration(to, UINT64_C(2048) << i));
		if (n)
			add_bar(out, label, 14, n, max);
	}
}

/* "SIZE:ALLOCATIONS" */
static void add_sizes(struct kmt_buf *out, const char *list)
{
	uint64_t max = greatest(list, ':');

	kmt_buf_puts(out, "allocations by given size\n");
	for (const char *s = list; s; s = strchr(s, '\n')) {
		char label[KMT_FMT_LEN], *end;
		uint64_t size;

		s += *s == '\n';
		size = strtoull(s, &end, 10);
		if (*end == ':')
			add_bar(out, kmt_fmt_bytes(label, (int64_t)size, false), 14,
				strtoull(end + 1, NULL, 10), max);
	}
}

/* ---- one row ---- */

static void add_list(struct kmt_buf *out, const struct kmt_column *c, const char *list)
{
	if (!strcmp(c->key, "lifetimes_log2")) {
		add_lifetimes(out, list);
		return;
	}
	if (!strcmp(c->key, "sizes")) {
		add_sizes(out, list);
		return;
	}
	kmt_buf_printf(out, "%s\n", c->key);
	while (*list) {
		size_t len = strcspn(list, "\n");

		pad(out, INDENT);
		kmt_buf_escape(out, list, len);
		kmt_buf_puts(out, "\n");
		list += len + (list[len] == '\n');
	}
}

/* Numbers two a line; what is unknown is left out. */
static void add_numbers(const struct kmt_tui *t, const struct kmt_row *row, struct kmt_buf *out)
{
	const struct kmt_report *r = t->report;
	size_t n = 0;

	for (size_t c = 0; c < r->n_columns; c++) {
		struct kmt_buf v = { 0 };
		enum kmt_unit unit = r->columns[c].unit;

		if (kmt_unit_is_text(unit) || kmt_cell_is_null(&row->cells[c], unit))
			continue;
		kmt_cell_print(&v, unit, &row->cells[c], t->exact_bytes);
		kmt_buf_printf(out, "%-22s %14s%s", r->columns[c].key, kmt_buf_str(&v),
			       n++ % 2 ? "\n" : "  ");
		kmt_buf_done(&v);
	}
	kmt_buf_puts(out, n % 2 ? "\n" : "");
}

static void add_texts(const struct kmt_tui *t, const struct kmt_row *row, size_t cols,
		      struct kmt_buf *out)
{
	const struct kmt_report *r = t->report;

	for (size_t c = 0; c < r->n_columns; c++) {
		struct kmt_buf v = { 0 };

		if (r->columns[c].unit != KMT_UNIT_TEXT ||
		    kmt_cell_is_null(&row->cells[c], KMT_UNIT_TEXT))
			continue;
		kmt_cell_print(&v, KMT_UNIT_TEXT, &row->cells[c], false);
		kmt_buf_printf(out, "%-22s ", r->columns[c].key);
		kmt_buf_wrap(out, kmt_buf_str(&v), 23, 23, cols);
		kmt_buf_puts(out, "\n");
		kmt_buf_done(&v);
	}
}

static void detail(const struct kmt_tui *t, size_t cols, struct kmt_buf *out)
{
	const struct kmt_report *r = t->report;
	const struct kmt_row *row;

	if (!kmt_tui_has_table(t) || t->cursor >= r->n_rows) {
		kmt_buf_puts(out, "there is no row\n");
		return;
	}
	row = &r->rows[t->cursor];
	add_texts(t, row, cols, out);
	for (size_t i = 0; i < row->n_detail; i++) {	/* the callers, or the evidence */
		pad(out, INDENT);
		kmt_buf_escape(out, row->detail[i], SIZE_MAX);
		kmt_buf_puts(out, "\n");
	}
	kmt_buf_puts(out, "\n");
	add_numbers(t, row, out);
	kmt_buf_puts(out, "\n");
	for (size_t c = 0; c < r->n_columns; c++)
		if (r->columns[c].unit == KMT_UNIT_LIST &&
		    !kmt_cell_is_null(&row->cells[c], KMT_UNIT_LIST) && *row->cells[c].text)
			add_list(out, &r->columns[c], row->cells[c].text);
}

/* ---- notes ---- */

static void add_fields(const struct kmt_tui *t, const struct kmt_fields *f, struct kmt_buf *out)
{
	for (size_t i = 0; i < f->n; i++) {
		kmt_buf_printf(out, "%s %-38s ", f->v[i].alarm ? "!" : " ", f->v[i].title);
		kmt_field_print(out, &f->v[i], t->exact_bytes);
		kmt_buf_puts(out, "\n");
	}
}

static void notes(const struct kmt_tui *t, size_t cols, struct kmt_buf *out)
{
	const struct kmt_report *r = t->report;

	if (!r) {
		kmt_buf_printf(out, "%s\n", t->no_table);
		return;
	}
	for (size_t i = 0; i < r->n_notes; i++) {
		struct kmt_buf b = { 0 };

		kmt_buf_escape(&b, r->notes[i], SIZE_MAX);
		kmt_buf_puts(out, "note: ");
		kmt_buf_wrap(out, kmt_buf_str(&b), 6, 6, cols);
		kmt_buf_puts(out, "\n");
		kmt_buf_done(&b);
	}
	kmt_buf_puts(out, r->n_notes ? "\n" : "");
	add_fields(t, &r->quality, out);
	kmt_buf_puts(out, "\n");
	add_fields(t, &r->summary, out);
}

/* ---- help ---- */

static const char keys[] =
	"Tab         next view            up down     choose a row (also k j, PgUp PgDn,\n"
	"Enter       all about the row                Home End)\n"
	"< >         sort by another      r           the other way round\n"
	"            column\n"
	"/           filter: REGEX in any text, COLUMN~REGEX, COLUMN!~REGEX, COLUMN>=1M;\n"
	"            an empty one shows all rows again; a tree of calls is not filtered\n"
	"space p     stop the display, tracing goes on (a recording: play)\n"
	"b           count from here on   c           count the last reading, or all\n"
	"t           who calls this site  i           the tree of calls the other way up\n"
	"n           notes, and how far to trust the numbers\n"
	"B           exact bytes          w           write what is known to a .kmt file\n"
	"[ ] { }     a recording: back, on, to its start, to its end (also left right)\n"
	"?           this help            q           leave\n";

static void help(struct kmt_buf *out)
{
	for (size_t i = 0; kmt_tui_views[i]; i++)
		kmt_buf_printf(out, "%zu %-10s %s\n", kmt_tui_tab(i) + 1, kmt_tui_views[i]->title,
			       kmt_tui_views[i]->help);
	kmt_buf_printf(out, "\n%s", keys);
	kmt_buf_puts(out, "\nA row marked ! has frees that no event told, or is of a cache whose "
			  "books\nare off: what it seems to hold proves nothing.\n");
}

void kmt_tui_pane_text(const struct kmt_tui *t, size_t cols, struct kmt_buf *out)
{
	if (t->pane == KMT_PANE_HELP)
		help(out);
	else if (t->pane == KMT_PANE_NOTES)
		notes(t, cols, out);
	else
		detail(t, cols, out);
}
