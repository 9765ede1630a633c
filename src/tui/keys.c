// SPDX-License-Identifier: GPL-2.0-only
/* What each key does. */
#include "tui/priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/fmt.h"

#define STEPS	50	/* time keys: so many of them from the start of a recording to its end */

static size_t n_views(void)
{
	size_t n = 0;

	while (kmt_tui_views[n])
		n++;
	return n;
}

/* ---- the order of the rows ---- */

static void set_sort(struct kmt_tui *t, size_t column, bool ascending)
{
	snprintf(t->sort[t->view], sizeof(t->sort[0]), "%s:%s", t->report->columns[column].key,
		 ascending ? "asc" : "desc");
}

static bool can_sort(struct kmt_tui *t)
{
	if (kmt_tui_views[t->view]->has_order) {
		kmt_tui_say(t, "these rows have an order of their own");
		return false;
	}
	return kmt_tui_has_table(t) && t->layout.n;
}

/* The next column to the left or right of the one that is sorted by, of those on the screen. */
static int sort_beside(struct kmt_tui *t, int by)
{
	const struct kmt_layout *l = &t->layout;
	size_t at = 0, n = l->n;

	if (!can_sort(t))
		return 0;
	for (size_t i = 0; i < n; i++)
		if ((int)l->v[i].index == t->report->sort_column)
			at = i;
	for (size_t i = 0; i < n; i++) {
		at = (at + n + (by < 0 ? n - 1 : 1)) % n;
		if (!l->v[at].dropped)
			break;
	}
	set_sort(t, l->v[at].index, kmt_unit_is_text(t->report->columns[l->v[at].index].unit));
	return kmt_tui_sort(t);
}

static int reverse(struct kmt_tui *t)
{
	if (!can_sort(t) || t->report->sort_column < 0)
		return 0;
	set_sort(t, (size_t)t->report->sort_column, !t->report->sort_ascending);
	return kmt_tui_sort(t);
}

/* ---- what is counted ---- */

/* Counts since the last reading, or since the start. */
static int other_counts(struct kmt_tui *t)
{
	t->since = t->since == KMT_SINCE_START ? KMT_SINCE_READING : KMT_SINCE_START;
	if (t->since == KMT_SINCE_READING && t->data->seek) {
		t->since = KMT_SINCE_START;
		kmt_tui_say(t, "a recording is counted from its start, or from a baseline (b)");
	}
	return kmt_tui_reload(t);
}

static int set_baseline(struct kmt_tui *t)
{
	int err = 0;

	if (t->since == KMT_SINCE_BASELINE) {
		t->since = t->data->seek ? KMT_SINCE_START : KMT_SINCE_READING;
		kmt_tui_say(t, "no baseline any more");
		return kmt_tui_reload(t);
	}
	if (t->data->seek)
		t->baseline_ns = t->data->at_ns;
	else
		err = kmt_tui_refresh(t);	/* what is counted by now lies before it */
	if (err)
		return err;
	t->data->mark(t->data->ctx);
	t->since = KMT_SINCE_BASELINE;
	if (!t->data->seek)
		t->baseline_ns = t->data->now(t->data->ctx);
	kmt_tui_say(t, "counts are from here on; b again: no more");
	return kmt_tui_reload(t);
}

static int save(struct kmt_tui *t)
{
	if (!t->data->save) {
		kmt_tui_say(t, "this is a recording already");
		return 0;
	}
	/* success or not: it is said */
	return t->data->save(t->data->ctx, t->message, sizeof(t->message)) == -ENOMEM ?
	       -ENOMEM : 0;
}

/* ---- time ---- */

static int go_to(struct kmt_tui *t, uint64_t at)
{
	struct kmt_tui_data *d = t->data;
	int err;

	if (!d->seek) {
		kmt_tui_say(t, "time keys are for recordings: kmemtrace top FILE");
		return 0;
	}
	if (!d->length_ns) {
		kmt_tui_say(t, "this recording does not say when things happened");
		return 0;
	}
	err = d->seek(d->ctx, at < d->length_ns ? at : d->length_ns);
	t->play_at_ns = d->at_ns;
	t->play_from_ns = d->now(d->ctx);
	return err ? err : kmt_tui_reload(t);
}

static int step_time(struct kmt_tui *t, int steps)
{
	uint64_t at = t->data->at_ns, step = t->data->length_ns / STEPS + 1;

	if (steps > 0)
		return go_to(t, at + step * (uint64_t)steps);
	step *= (uint64_t)-steps;
	return go_to(t, at > step ? at - step : 1);
}

static int pause_or_go_on(struct kmt_tui *t)
{
	struct kmt_tui_data *d = t->data;
	int err = 0;

	t->is_dirty = true;
	if (d->seek && t->is_paused && d->at_ns >= d->length_ns)
		err = go_to(t, 1);	/* from the beginning again */
	if (d->seek && !d->length_ns)
		return err;
	t->is_paused = !t->is_paused;
	t->play_at_ns = d->at_ns;
	t->play_from_ns = d->now(d->ctx);
	t->next_read_ns = 1;	/* at once */
	return err;
}

/* ---- where one looks ---- */

static int show_view(struct kmt_tui *t, size_t view)
{
	if (view >= n_views())
		return 0;
	t->pane = KMT_PANE_NONE;
	t->view = view;
	t->tab_view[kmt_tui_tab(view)] = view + 1;
	t->top = 0;
	kmt_tui_select(t, 0);
	return kmt_tui_reload(t);
}

/* The first of a tab that has something to show; else its first. */
static int enter_tab(struct kmt_tui *t, size_t first)
{
	size_t view = first;
	int err;

	do
		err = show_view(t, view);
	while (!err && t->no_table[0] && ++view < n_views() && kmt_tui_same_tab(first, view));
	return err || !t->no_table[0] ? err : show_view(t, first);
}

/* ---- the tree of calls ---- */

static size_t tree_view(void)
{
	size_t i = 0;

	while (kmt_tui_views[i] && !kmt_tui_views[i]->has_order)
		i++;
	return i;
}

/* The function of the selected row's call site: "f+0x1c" is in f. */
static bool function_of(const struct kmt_tui *t, char *out, size_t size)
{
	int c = kmt_tui_has_table(t) ? kmt_report_column(t->report, "site") : -1;
	const char *site;

	if (c < 0 || t->cursor >= t->report->n_rows)
		return false;
	site = t->report->rows[t->cursor].cells[c].text;
	if (!site || !*site)
		return false;
	snprintf(out, size, "%.*s", (int)strcspn(site, "+ "), site);
	return true;
}

/* Who calls the selected call site; in the tree: all of it again. */
static int show_callers(struct kmt_tui *t)
{
	char *callers = t->data->callers;

	if (t->view == tree_view()) {
		callers[0] = '\0';
		return kmt_tui_reload(t);
	}
	if (!function_of(t, callers, sizeof(t->data->callers))) {
		kmt_tui_say(t, "this row is no call site");
		return 0;
	}
	return show_view(t, tree_view());
}

static int invert(struct kmt_tui *t)
{
	t->data->inverted = !t->data->inverted;
	t->data->callers[0] = '\0';
	return t->view == tree_view() ? kmt_tui_reload(t) : show_view(t, tree_view());
}

/* ---- tabs ---- */

/* A tab by its number; again: the next of its views. */
static int show_tab(struct kmt_tui *t, size_t tab)
{
	size_t first = 0, view = t->view;

	while (first < n_views() && kmt_tui_tab(first) != tab)
		first++;
	if (first == n_views())
		return 0;
	if (kmt_tui_tab(view) == tab) {
		view++;
		return show_view(t, view < n_views() && kmt_tui_same_tab(first, view) ? view : first);
	}
	if (t->tab_view[tab])
		return show_view(t, t->tab_view[tab] - 1);
	return enter_tab(t, first);
}

static int next_tab(struct kmt_tui *t)
{
	size_t n = kmt_tui_tab(n_views() - 1) + 1;

	return show_tab(t, (kmt_tui_tab(t->view) + 1) % n);
}

static void move(struct kmt_tui *t, long by)
{
	size_t *at = t->pane == KMT_PANE_NONE ? &t->cursor : &t->pane_top;
	size_t step = (size_t)(by < 0 ? -by : by);

	if (by < 0)
		*at = *at > step ? *at - step : 0;
	else
		*at += step;	/* drawing stops at the end */
	if (t->pane == KMT_PANE_NONE)
		kmt_tui_select(t, t->cursor);
	t->is_dirty = true;
}

static void open_pane(struct kmt_tui *t, enum kmt_tui_pane pane)
{
	t->pane = t->pane == pane ? KMT_PANE_NONE : pane;
	t->pane_top = 0;
	t->is_dirty = true;
}

static bool move_key(struct kmt_tui *t, int key)
{
	long page = (long)t->page;

	switch (key) {
	case KMT_KEY_UP: case 'k': move(t, -1); return true;
	case KMT_KEY_DOWN: case 'j': move(t, 1); return true;
	case KMT_KEY_PAGE_UP: move(t, -page); return true;
	case KMT_KEY_PAGE_DOWN: move(t, page); return true;
	case KMT_KEY_HOME: move(t, -(1l << 40)); return true;
	case KMT_KEY_END: move(t, 1l << 40); return true;
	default: return false;
	}
}

static bool pane_key(struct kmt_tui *t, int key)
{
	switch (key) {
	case KMT_KEY_ENTER:
		if (t->pane != KMT_PANE_NONE || (kmt_tui_has_table(t) && t->report->n_rows))
			open_pane(t, t->pane == KMT_PANE_NONE ? KMT_PANE_DETAIL : t->pane);
		return true;
	case KMT_KEY_ESCAPE:
		open_pane(t, KMT_PANE_NONE);
		return true;
	case '?': case 'h':
		open_pane(t, KMT_PANE_HELP);
		return true;
	case 'n':
		open_pane(t, KMT_PANE_NOTES);
		return true;
	default:
		return false;
	}
}

/* ---- the filter ---- */

/* One that is wrong is told, and the former one stays. */
static int set_filter(struct kmt_tui *t)
{
	char former[sizeof(t->filter)];
	int err;

	t->is_typing = false;
	t->top = 0;
	memcpy(former, t->filter, sizeof(former));
	memcpy(t->filter, t->typed, sizeof(t->filter));
	err = kmt_tui_reload(t);
	if (err || t->filter[0] || !t->typed[0])
		return err;
	memcpy(t->filter, former, sizeof(t->filter));
	return kmt_tui_reload(t);
}

static int typing_key(struct kmt_tui *t, int key)
{
	size_t len = strlen(t->typed);

	t->is_dirty = true;
	if (key == KMT_KEY_ENTER)
		return set_filter(t);
	if (key == KMT_KEY_ESCAPE)
		t->is_typing = false;
	else if (key == KMT_KEY_BACKSPACE && len)
		t->typed[len - 1] = '\0';
	else if (key >= ' ' && key < 127 && len + 1 < sizeof(t->typed))
		t->typed[len] = (char)key;
	return 0;
}

static void start_typing(struct kmt_tui *t)
{
	t->is_typing = true;
	memset(t->typed, 0, sizeof(t->typed));
	snprintf(t->typed, sizeof(t->typed), "%s", t->filter);
	t->pane = KMT_PANE_NONE;
	t->is_dirty = true;
}

/* ---- all ---- */

static int time_key(struct kmt_tui *t, int key)
{
	switch (key) {
	case KMT_KEY_LEFT: case '[': return step_time(t, -1);
	case KMT_KEY_RIGHT: case ']': return step_time(t, 1);
	case '{': return go_to(t, 1);
	case '}': return go_to(t, t->data->length_ns);
	default: return 0;
	}
}

static int other_key(struct kmt_tui *t, int key)
{
	switch (key) {
	case '<': case ',': return sort_beside(t, -1);
	case '>': case '.': return sort_beside(t, 1);
	case 'r': return reverse(t);
	case 'c': return other_counts(t);
	case 'b': return set_baseline(t);
	case 'w': return save(t);
	case 't': return show_callers(t);
	case 'i': return invert(t);
	case ' ': case 'p': return pause_or_go_on(t);
	case '\t': return next_tab(t);
	case '/': start_typing(t); return 0;
	case 'B': t->exact_bytes = !t->exact_bytes; return kmt_tui_sort(t);
	case 'q': case KMT_KEY_GONE: return 1;
	default: return time_key(t, key);
	}
}

int kmt_tui_key(struct kmt_tui *t, int key)
{
	if (key == KMT_KEY_GONE)
		return 1;
	t->is_dirty = true;
	if (key == KMT_KEY_RESIZE)
		return 0;
	t->message[0] = '\0';
	if (t->is_typing)
		return typing_key(t, key);
	if (key >= '1' && key <= '9')
		return show_tab(t, (size_t)(key - '1'));
	if (move_key(t, key) || pane_key(t, key))
		return t->pane == KMT_PANE_DETAIL && t->data->brief ? kmt_tui_reload(t) : 0;
	return other_key(t, key);
}
