// SPDX-License-Identifier: GPL-2.0-only
/* When the screen reads, what it keeps of it, and when it draws. */
#include "tui/tui.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "report/cell_text.h"
#include "report/match.h"
#include "tui/priv.h"

#define SEC		1000000000ull
#define HEADER_OF	"cache"		/* an analysis that can always be made */

void kmt_tui_say(struct kmt_tui *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->message, sizeof(t->message), fmt, ap);
	va_end(ap);
}

/* ---- the report ---- */

bool kmt_tui_has_table(const struct kmt_tui *t)
{
	return t->report && !t->no_table[0];
}

char *kmt_tui_name(const struct kmt_report *r, const struct kmt_row *row)
{
	static const char *const more[] = { "order", "object_size", "tgid", "id" };
	struct kmt_buf b = { 0 };

	for (size_t c = 0; c < r->n_columns; c++) {
		bool tells = r->columns[c].frozen;

		for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
			tells |= !strcmp(r->columns[c].key, more[i]);
		if (!tells)
			continue;
		kmt_buf_puts(&b, b.len ? "\t" : "");
		kmt_cell_print(&b, r->columns[c].unit, &row->cells[c], true);
	}
	kmt_buf_puts(&b, "");
	return kmt_buf_take(&b);
}

void kmt_tui_select(struct kmt_tui *t, size_t row)
{
	free(t->selected);
	t->selected = NULL;
	t->cursor = 0;
	if (!kmt_tui_has_table(t) || !t->report->n_rows)
		return;
	t->cursor = row < t->report->n_rows ? row : t->report->n_rows - 1;
	t->selected = kmt_tui_name(t->report, &t->report->rows[t->cursor]);
}

static bool is_selected(const struct kmt_tui *t, size_t row)
{
	_cleanup_free_ char *name = kmt_tui_name(t->report, &t->report->rows[row]);

	return name && !strcmp(name, t->selected);
}

/* The row that was selected may be another one now; where it is gone, its place is kept. */
static void find_selected(struct kmt_tui *t)
{
	size_t n = t->report->n_rows;
	/* the first place belongs to whoever is first */
	bool stays = !t->cursor && t->pane != KMT_PANE_DETAIL;

	if (!t->selected || stays || (t->cursor < n && is_selected(t, t->cursor))) {
		kmt_tui_select(t, t->cursor);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (is_selected(t, i)) {
			t->cursor = i;
			return;
		}
	}
	kmt_tui_select(t, t->cursor);
}

static int measure(struct kmt_tui *t)
{
	int err;

	kmt_layout_done(&t->layout);
	err = kmt_layout_init(&t->layout, t->report);
	return err ? err : kmt_layout_measure(&t->layout, t->report, true, t->exact_bytes);
}

int kmt_tui_sort(struct kmt_tui *t)
{
	int err = 0;

	t->is_dirty = true;
	if (!kmt_tui_has_table(t))
		return 0;
	if (t->sort[t->view][0])
		err = kmt_report_sort(t->report, t->sort[t->view]);
	if (err == -EINVAL) {	/* the analysis has no such column any more, or never had */
		kmt_tui_say(t, "%s", kmt_err_text());
		t->sort[t->view][0] = '\0';
		err = 0;
	}
	if (err)
		return err;
	find_selected(t);
	return measure(t);
}

static int shape(struct kmt_tui *t)
{
	int err = kmt_tui_view_choose(kmt_tui_views[t->view], t->report);

	if (err)
		return err;
	/* rows of a tree stand for those below them, in which the filter may be */
	if (t->filter[0] && !kmt_tui_views[t->view]->has_order)
		err = kmt_report_match(t->report, t->filter);
	if (err == -EINVAL) {
		kmt_tui_say(t, "%s", kmt_err_text());
		t->filter[0] = '\0';
		err = 0;
	}
	return err ? err : kmt_tui_sort(t);
}

int kmt_tui_reload(struct kmt_tui *t)
{
	struct kmt_tui_data *d = t->data;
	int err;

	kmt_layout_done(&t->layout);
	kmt_report_free(t->report);
	t->report = NULL;
	t->is_dirty = true;
	t->no_table[0] = '\0';
	/* a filter and the detail look at everything */
	d->brief = !t->filter[0] && t->pane != KMT_PANE_DETAIL;
	err = d->report(d->ctx, kmt_tui_views[t->view]->analysis, t->since != KMT_SINCE_START,
			&t->report);
	if (!err)
		return shape(t);
	if (err == -ENOMEM || err == -EINTR)
		return err;
	/* why there is no table; what stands above it is known all the same */
	snprintf(t->no_table, sizeof(t->no_table), "%s", kmt_err_text());
	err = d->report(d->ctx, HEADER_OF, t->since != KMT_SINCE_START, &t->report);
	if (err == -ERANGE)
		err = d->report(d->ctx, HEADER_OF, false, &t->report);
	return err == -ENOMEM || err == -EINTR ? err : 0;
}

static void remember(struct kmt_tui *t)
{
	const struct kmt_field *f;

	if (!t->report || t->data->seek)
		return;
	f = kmt_fields_find(&t->report->summary, "live_bytes_allocated");
	if (f && !f->cell.is_null)
		t->history[t->n_history++ % KMT_TUI_HISTORY] = f->cell.i;
}

int kmt_tui_refresh(struct kmt_tui *t)
{
	struct kmt_tui_data *d = t->data;
	int err;

	if (t->since == KMT_SINCE_READING)
		d->mark(d->ctx);
	err = d->read(d->ctx);
	if (!err)
		err = kmt_tui_reload(t);
	if (!err)
		remember(t);
	return err;
}

/* ---- life ---- */

int kmt_tui_new(struct kmt_term *term, struct kmt_tui_data *data,
		const struct kmt_tui_view *first, struct kmt_tui **ret)
{
	struct kmt_tui *t = calloc(1, sizeof(*t));

	if (!t)
		return kmt_err(-ENOMEM, "out of memory");
	t->term = term;
	t->data = data;
	/* a recording is there as a whole: no part of it is the last one */
	t->since = data->seek ? KMT_SINCE_START : KMT_SINCE_READING;
	t->is_paused = data->seek != NULL;
	t->is_dirty = true;
	t->page = 1;
	for (size_t i = 0; kmt_tui_views[i]; i++)
		if (kmt_tui_views[i] == first)
			t->view = i;
	t->tab_view[kmt_tui_tab(t->view)] = t->view + 1;
	*ret = t;
	return 0;
}

int kmt_tui_preset(struct kmt_tui *t, const char *sort, bool exact_bytes)
{
	t->exact_bytes = exact_bytes;
	if (sort)
		snprintf(t->sort[t->view], sizeof(t->sort[0]), "%s", sort);
	return 0;
}

void kmt_tui_free(struct kmt_tui *t)
{
	if (!t)
		return;
	kmt_layout_done(&t->layout);
	kmt_report_free(t->report);
	free(t->selected);
	free(t);
}

/* ---- a turn ---- */

/* A recording that plays: as fast as it was. At its end it stops. */
static int play(struct kmt_tui *t, uint64_t now)
{
	struct kmt_tui_data *d = t->data;
	uint64_t at = t->play_at_ns + (now - t->play_from_ns);
	int err;

	if (at >= d->length_ns) {
		at = d->length_ns;
		t->is_paused = true;
		t->is_dirty = true;
	}
	err = d->seek(d->ctx, at);
	if (!err)
		err = kmt_tui_reload(t);
	if (!err)
		remember(t);
	return err;
}

static int read_if_due(struct kmt_tui *t, uint64_t now)
{
	bool is_first = !t->next_read_ns;
	int err;

	if ((t->is_paused && !is_first) || now < t->next_read_ns)
		return 0;
	t->next_read_ns = now + t->data->interval_ns;
	if (is_first && t->data->notice)
		kmt_tui_say(t, "%s", t->data->notice);
	err = t->data->seek && !is_first ? play(t, now) : kmt_tui_refresh(t);
	return err;
}

/* At once for a key, unless there were too many in the last second. */
static bool may_draw(const struct kmt_tui *t, uint64_t now)
{
	return t->n_drawn < KMT_TUI_DRAWS || now - t->drawn_ns[t->n_drawn % KMT_TUI_DRAWS] >= SEC;
}

int kmt_tui_step(struct kmt_tui *t)
{
	uint64_t now;
	int key, res = 0;

	while (!res && (key = t->term->ops->key(t->term)) != KMT_KEY_NONE)
		res = kmt_tui_key(t, key);
	now = t->data->now(t->data->ctx);
	if (!res)
		res = read_if_due(t, now);
	if (res)
		return res;
	if (!t->is_dirty || !may_draw(t, now))
		return 0;
	t->is_dirty = false;
	t->drawn_ns[t->n_drawn++ % KMT_TUI_DRAWS] = now;
	return kmt_tui_draw(t);
}
