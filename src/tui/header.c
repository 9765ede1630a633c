// SPDX-License-Identifier: GPL-2.0-only
/* The lines that are always there: what is looked at, how far to trust it, how much is live. */
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "report/cell_text.h"
#include "tui/priv.h"

struct line {
	struct kmt_tui *t;
	int row, col, cols;
};

/* Text behind what the line holds; nothing is begun that does not fit. */
static void put(struct line *l, unsigned attr, const char *text)
{
	int len = (int)strlen(text);

	if (l->col + len > l->cols)
		return;
	l->t->term->ops->put(l->t->term, l->row, l->col, attr, text);
	l->col += len + 2;
}

static const struct kmt_field *field_of(const struct kmt_report *r, const char *key)
{
	const struct kmt_field *f = r ? kmt_fields_find(&r->quality, key) : NULL;

	return f || !r ? f : kmt_fields_find(&r->summary, key);
}

/* "title value"; a value that must be seen when it is not zero is in reverse video then. */
static void put_field(struct line *l, const char *key, const char *title, bool is_alarm)
{
	const struct kmt_field *f = field_of(l->t->report, key);
	struct kmt_buf b = { 0 };

	if (!f)
		return;
	kmt_buf_puts(&b, title ? title : f->title);
	kmt_buf_puts(&b, " ");
	kmt_field_print(&b, f, l->t->exact_bytes);
	if (!b.error)
		put(l, is_alarm && f->cell.i ? KMT_ATTR_REVERSE | KMT_ATTR_BOLD | KMT_ATTR_RED : 0,
		    kmt_buf_str(&b));
	kmt_buf_done(&b);
}

/* ---- what is looked at ---- */

static void put_since(struct line *l)
{
	const struct kmt_tui *t = l->t;
	char text[64], time[KMT_FMT_LEN];
	uint64_t window = t->report ? t->report->window_ns : 0;

	kmt_fmt_duration(time, window);
	snprintf(text, sizeof(text), "counts of %s%s%s",
		 t->since == KMT_SINCE_READING ? "the last " : t->since == KMT_SINCE_BASELINE ?
		 "the baseline's " : "all ", time, "");
	put(l, t->since == KMT_SINCE_BASELINE ? KMT_ATTR_BOLD : 0, text);
}

static void put_where(struct line *l)
{
	const struct kmt_tui_data *d = l->t->data;
	char text[96], at[KMT_FMT_LEN], length[KMT_FMT_LEN];

	if (!d->seek || !d->length_ns)
		return;
	snprintf(text, sizeof(text), "at %s of %s", kmt_fmt_duration(at, d->at_ns),
		 kmt_fmt_duration(length, d->length_ns));
	put(l, KMT_ATTR_BOLD, text);
}

static void put_what(struct line *l)
{
	struct kmt_tui *t = l->t;
	struct kmt_buf b = { 0 };

	kmt_buf_puts(&b, "kmemtrace top: ");
	kmt_buf_escape(&b, t->data->title, 40);
	put(l, KMT_ATTR_BOLD | KMT_ATTR_CYAN, kmt_buf_str(&b));
	kmt_buf_done(&b);
	if (t->data->state && *t->data->state)
		put(l, KMT_ATTR_BOLD, t->data->state);
	if (t->is_paused && !t->data->seek)
		put(l, KMT_ATTR_BOLD, "[paused]");
	put_where(l);
	put_since(l);
	put_field(l, "window_ns", "traced", false);
	put_field(l, "mode", "mode", false);
	put_field(l, "kernel", "kernel", false);
}

/* ---- how far to trust it ---- */

static void put_trust(struct line *l)
{
	const struct kmt_report *r = l->t->report;

	put_field(l, "lost_total", "lost", true);
	put_field(l, "recursion_misses", "skipped", true);
	put_field(l, "untraced_frees", "untraced frees", true);
	if (!r)
		return;
	for (size_t i = 0; i < r->quality.n; i++) {	/* of what kind */
		const struct kmt_field *f = &r->quality.v[i];

		if (f->alarm && strcmp(f->key, "lost_total") && strcmp(f->key, "recursion_misses"))
			put_field(l, f->key, NULL, true);
	}
	put_field(l, "frees_before_start", "frees of older objects", false);
}

/* ---- how much ---- */

static void put_rate(struct line *l, const char *key, const char *title)
{
	const struct kmt_report *r = l->t->report;
	const struct kmt_field *f = field_of(r, key);
	char text[64], n[KMT_FMT_LEN];

	if (!f || f->cell.is_null || !r->window_ns)
		return;
	snprintf(text, sizeof(text), "%s %s/s", title,
		 kmt_fmt_count(n, (int64_t)((double)f->cell.i * 1e9 / (double)r->window_ns)));
	put(l, 0, text);
}

static void put_amounts(struct line *l)
{
	put_field(l, "live_bytes_allocated", "live", false);
	put_field(l, "live_objects", "objects", false);
	put_field(l, "growth_bytes_per_s", "growth", false);
	put_rate(l, "allocs", "allocs");
	put_rate(l, "frees", "frees");
	put_field(l, "waste_percent", "waste", false);
	put_field(l, "live_bytes_requested", "requested", false);
}

/* ---- the curve ---- */

#define STEPS 8

/* The highest has the full block (or '#'), and nobody else has. */
static const char *block(int64_t v, int64_t max, bool utf8)
{
	static const char *const blocks[] = { " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585",
					      "\u2586", "\u2587", "\u2588" };
	static const char *const ascii[] = { " ", "_", ".", ",", "-", "=", "+", "*", "#" };
	int i = STEPS;

	if (v <= 0 || max <= 0)
		i = v < max || max <= 0 ? 0 : STEPS;
	else if (v < max)
		i = 1 + (int)((double)v * (STEPS - 1) / (double)max);
	if (v < max && i >= STEPS)
		i = STEPS - 1;
	return utf8 ? blocks[i] : ascii[i];
}

/* Of the parts that share a cell the highest. */
static size_t take_curve(const struct kmt_tui_data *d, size_t room, int64_t *cells)
{
	size_t n = d->n_curve < room ? d->n_curve : room;

	for (size_t i = 0; i < n; i++) {
		cells[i] = 0;
		for (size_t k = i * d->n_curve / n; k < (i + 1) * d->n_curve / n; k++)
			if (d->curve[k] > cells[i])
				cells[i] = d->curve[k];
	}
	return n;
}

static size_t take_history(const struct kmt_tui *t, size_t room, int64_t *cells)
{
	size_t n = t->n_history < KMT_TUI_HISTORY ? t->n_history : KMT_TUI_HISTORY;

	if (n > room)
		n = room;
	for (size_t i = 0; i < n; i++)
		cells[i] = t->history[(t->n_history - n + i) % KMT_TUI_HISTORY];
	return n;
}

/* All of the machine's, whoever's objects lie in it and since when. */
static void put_slab(struct line *l)
{
	char text[KMT_FMT_LEN + 8], size[KMT_FMT_LEN];

	if (!l->t->data->slab_bytes)
		return;
	snprintf(text, sizeof(text), "slab %s",
		 kmt_fmt_bytes(size, l->t->data->slab_bytes, l->t->exact_bytes));
	put(l, 0, text);
}

/* Where in a recording we are; n: not in one. */
static size_t place_of(const struct kmt_tui_data *d, size_t n)
{
	double part = d->length_ns ? (double)d->at_ns / (double)d->length_ns : 1;
	size_t at = part < 1 ? (size_t)(part * (double)n) : n - 1;

	return d->seek ? at : n;
}

/*
 * The last readings, one a cell, or the whole of a recording; the highest cell stands
 * out, and the place in the recording. Then the greatest that was ever seen.
 */
static void put_curve(struct line *l)
{
	const struct kmt_tui *t = l->t;
	int64_t cells[KMT_TUI_HISTORY], max = 0;
	size_t room = (size_t)l->cols - 40, n, here;

	if (room > KMT_TUI_HISTORY)
		room = KMT_TUI_HISTORY;
	n = t->data->seek ? take_curve(t->data, room, cells) : take_history(t, room, cells);
	here = n ? place_of(t->data, n) : 0;
	for (size_t i = 0; i < n; i++)
		max = cells[i] > max ? cells[i] : max;
	put(l, 0, "live");
	for (size_t i = 0; i < n; i++) {
		unsigned attr = max > 0 && cells[i] == max ? KMT_ATTR_BOLD | KMT_ATTR_CYAN : 0;

		t->term->ops->put(t->term, l->row, l->col + (int)i,
				  attr | (i == here ? KMT_ATTR_REVERSE : 0),
				  block(cells[i], max, t->term->utf8));
	}
	l->col += (int)n + (n ? 2 : 0);
	put_field(l, "peak_bytes_allocated", "peak", false);
	put_slab(l);
}

/* ---- the views ---- */

static void put_views(struct line *l)
{
	size_t here = l->t->view;
	char text[32];

	for (size_t i = 0; kmt_tui_views[i]; i++) {
		const struct kmt_tui_view *v = kmt_tui_views[i];
		bool is_here = kmt_tui_same_tab(i, here);

		if (i && kmt_tui_same_tab(i - 1, i))
			continue;
		snprintf(text, sizeof(text), is_here ? "[%zu %s]" : "%zu %s", kmt_tui_tab(i) + 1,
			 is_here ? kmt_tui_views[here]->title : v->tab ? v->tab : v->title);
		put(l, is_here ? KMT_ATTR_BOLD | KMT_ATTR_CYAN : 0, text);
		l->col--;	/* one blank is enough here */
	}
}

int kmt_tui_header(struct kmt_tui *t, int cols)
{
	static void (*const parts[])(struct line *l) = { put_what, put_trust, put_amounts,
							 put_curve, put_views };
	int n = sizeof(parts) / sizeof(parts[0]);

	for (int i = 0; i < n; i++) {
		struct line l = { .t = t, .row = i, .cols = cols };

		parts[i](&l);
	}
	return n;
}
