// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/books.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/lists.h"
#include "analysis/names.h"
#include "analysis/summary.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/session.h"
#include "symbol/gfp.h"

#define _cleanup_groups_ _cleanup_(kmt_groups_done)
#define _cleanup_books_ _cleanup_(kmt_books_done)
#define _cleanup_report_ _cleanup_(cleanup_report)

static void cleanup_report(struct kmt_report **r)
{
	kmt_report_free(*r);
}

/* Columns that are one counter of the window. */
static const struct counter {
	const char *key;
	size_t	offset;
	bool	needs_objects;
} counters[] = {
#define COUNTER(key, field, objects) { key, offsetof(struct kmt_counts, field), objects }
	COUNTER("allocs", allocs, false),
	COUNTER("frees", frees, true),
	COUNTER("failures", failures, false),
	COUNTER("bytes_requested", bytes_req, false),
	COUNTER("bytes_allocated", bytes_alloc, false),
	COUNTER("cross_cpu_frees", cross_cpu_frees, true),
	COUNTER("temporary", temporary, true),
	COUNTER("untraced_frees", untraced_frees, true),
	COUNTER("awaiting_rcu", awaiting, true),	/* now, whatever the window */
	COUNTER("bytes_awaiting_rcu", bytes_awaiting, true),
	COUNTER("untracked", untracked, true),
#undef COUNTER
};

static void fill_counter(const struct kmt_row_source *s, const struct counter *c,
			 struct kmt_cell *cell)
{
	uint64_t v;

	memcpy(&v, (const char *)&s->g->window + c->offset, sizeof(v));
	if (s->has_objects || !c->needs_objects)
		kmt_cell_int(cell, kmt_cell_value(v));
}

static int fill_live_bytes(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->has_objects)
		kmt_cell_int(cell, kmt_cell_value(kmt_counts_live_alloc(&s->g->now)));
	return 0;
}

static int fill_live_objects(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->has_objects)
		kmt_cell_int(cell, kmt_cell_value(kmt_counts_live(&s->g->now)));
	return 0;
}

static int fill_live_requested(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->has_objects)
		kmt_cell_int(cell, kmt_cell_value(kmt_counts_live_req(&s->g->now)));
	return 0;
}

static int fill_waste(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	const struct kmt_counts *now = &s->g->now;

	if (s->has_objects)
		kmt_cell_int(cell, kmt_cell_value(kmt_sat_sub(kmt_counts_live_alloc(now),
							      kmt_counts_live_req(now))));
	return 0;
}

static void put_percent(uint64_t part, uint64_t whole, struct kmt_cell *cell)
{
	if (part > whole)	/* freed in this window, allocated before it */
		part = whole;
	if (whole)
		kmt_cell_percent(cell, 100.0 * (double)part / (double)whole);
}

static int fill_temporary_percent(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->has_objects)
		put_percent(s->g->window.temporary, s->g->window.allocs, cell);
	return 0;
}

/* Of what was allocated in the window: live or not, objects known or not. */
static int fill_waste_percent(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	const struct kmt_counts *w = &s->g->window;

	put_percent(kmt_sat_sub(w->bytes_alloc, w->bytes_req), w->bytes_alloc, cell);
	return 0;
}

/* Of several rows' peaks only a bound is known: they need not have been at one time. */
static int fill_peak(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	uint64_t peak = s->g->now.peak_bytes, all = kmt_session_peak(s->in->session);

	if (s->has_objects)
		kmt_cell_int(cell, kmt_cell_value(peak < all ? peak : all));
	return 0;
}

static int fill_survivor_bytes(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->in->min_age_ns)
		kmt_cell_int(cell, kmt_cell_value(s->g->survivor_bytes));
	return 0;
}

static int fill_survivors(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->in->min_age_ns)
		kmt_cell_int(cell, kmt_cell_value(s->g->survivors));
	return 0;
}

static int fill_age(const struct kmt_row_source *s, uint64_t age, struct kmt_cell *cell)
{
	if (s->g->survivors)
		kmt_cell_int(cell, kmt_cell_value(age));
	return 0;
}

static int fill_age_min(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return fill_age(s, s->g->age_min, cell);
}

static int fill_age_p50(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return fill_age(s, s->g->age_p50, cell);
}

static int fill_age_max(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return fill_age(s, s->g->age_max, cell);
}

/* How long the window of the counts is; 0 unknown. */
static uint64_t window_ns(const struct kmt_row_source *s)
{
	struct kmt_quality q;

	if (s->in->interval_ns)
		return s->in->interval_ns;
	kmt_session_quality(s->in->session, &q);
	return q.window_ns;
}

static void put_per_s(const struct kmt_row_source *s, __int128 n, struct kmt_cell *cell)
{
	uint64_t ns = window_ns(s);

	if (!ns)
		return;
	n = n * 1000000000 / ns;
	kmt_cell_int(cell, n > INT64_MAX ? INT64_MAX : n < INT64_MIN ? INT64_MIN : (int64_t)n);
}

/* What is live now and was not when the window began, less what was and is not. */
static int fill_net_rate(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	const struct kmt_counts *w = &s->g->window;

	if (s->has_objects)
		put_per_s(s, (__int128)w->bytes_alloc - w->bytes_alloc_freed -
			  w->bytes_alloc_untracked, cell);
	return 0;
}

static int fill_alloc_rate(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	put_per_s(s, s->g->window.allocs, cell);
	return 0;
}

static int fill_type(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	char text[2] = { kmt_type_letter(s->key->type) };

	return s->g->mixed_types ? 0 : kmt_cell_text(cell, text);
}

static int fill_gfp(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };

	kmt_gfp_print(s->in->gfp_names, s->g->gfp, &b);
	return kmt_name_take(&b, cell);
}

static int fill_lifetimes(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return s->has_objects ? kmt_list_lifetimes(s->g, cell) : 0;
}

static int fill_sizes(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return kmt_list_sizes(s->in, s->groups, s->g, cell);
}

static int fill_cache(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	char text[32];

	if (s->n_caches == 1)
		return kmt_name_cache(s->key, cell);
	snprintf(text, sizeof(text), "%zu caches", s->n_caches);
	return kmt_cell_text(cell, text);
}

static int fill_caches(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return kmt_list_caches(s->in, s->groups, s->g, cell);
}

static int fill_aliases(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return s->n_caches == 1 ? kmt_name_aliases(s->in, s->key->cache, cell) : 0;
}

/* Given bytes per object: one number only if all of them are equal. */
static int fill_object_size(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	for (size_t i = 0; i < s->g->n; i++) {
		size_t row = s->groups->members[s->g->start + i];

		if (kmt_session_site(s->in->session, row)->key.size != s->key->size)
			return 0;
	}
	if (s->key->size)
		kmt_cell_int(cell, s->key->size);
	return 0;
}

static const struct kmt_book *book_of(const struct kmt_row_source *s)
{
	return &s->books->v[s->books->of[s->groups->members[s->g->start]]];
}

static int fill_book(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	return s->n_caches == 1 ? kmt_book_cell(book_of(s), key, s->has_objects, cell) : 0;
}

/* Of several caches the worst: the one that is most off, else one not comparable. */
static int fill_verdict(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	const struct kmt_book *worst = book_of(s);

	for (size_t i = 1; i < s->g->n; i++) {
		size_t row = s->groups->members[s->g->start + i];
		const struct kmt_book *b = &s->books->v[s->books->of[row]];
		bool is_off = b->verdict == KMT_BOOK_OFF;

		if ((is_off && (worst->verdict != KMT_BOOK_OFF || b->off > worst->off)) ||
		    (b->verdict == KMT_BOOK_NOT_COMPARABLE && worst->verdict == KMT_BOOK_BALANCED))
			worst = b;
	}
	return kmt_cell_text(cell, worst->text);
}

static int fill_site(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return kmt_name_key(s->in, s->key, cell, NULL);
}

static int fill_module(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return kmt_name_key(s->in, s->key, NULL, cell);
}

static int fill_stack(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return kmt_name_stack(s->in, s->key, NULL, cell);
}

static int fill_sites(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->g->n_sites)
		kmt_cell_int(cell, kmt_cell_value(s->g->n_sites));
	return 0;
}

static int fill_task(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	return kmt_cell_text(cell, s->key->by_task ? s->key->comm : NULL);
}

static int fill_tgid(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->key->by_task)
		kmt_cell_int(cell, s->key->tgid);
	return 0;
}

static int fill_cgroup(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	char text[64];

	if (!s->key->by_cgroup || s->key->cgroup_path)
		return kmt_cell_text(cell, s->key->cgroup_path);
	snprintf(text, sizeof(text), "number %" PRIu64 ", no more", s->key->cgroup);
	return kmt_cell_text(cell, text);
}

static int fill_cgroup_id(const struct kmt_row_source *s, struct kmt_cell *cell)
{
	if (s->key->by_cgroup)
		kmt_cell_int(cell, kmt_cell_value(s->key->cgroup));
	return 0;
}

static const struct filler {
	const char *key;
	int (*fill)(const struct kmt_row_source *s, struct kmt_cell *cell);
} fillers[] = {
	{ "live_bytes_allocated", fill_live_bytes },
	{ "live_objects", fill_live_objects },
	{ "live_bytes_requested", fill_live_requested },
	{ "waste_bytes", fill_waste },
	{ "waste_percent", fill_waste_percent },
	{ "temporary_percent", fill_temporary_percent },
	{ "peak_bytes_allocated", fill_peak },
	{ "surviving_bytes", fill_survivor_bytes },
	{ "surviving_objects", fill_survivors },
	{ "age_min_ns", fill_age_min },
	{ "age_p50_ns", fill_age_p50 },
	{ "age_max_ns", fill_age_max },
	{ "net_bytes_per_s", fill_net_rate },
	{ "allocs_per_s", fill_alloc_rate },
	{ "type", fill_type },
	{ "gfp", fill_gfp },
	{ "lifetimes_log2", fill_lifetimes },
	{ "sizes", fill_sizes },
	{ "cache", fill_cache },
	{ "caches", fill_caches },
	{ "aliases", fill_aliases },
	{ "object_size", fill_object_size },
	{ "balance.verdict", fill_verdict },
	{ "site", fill_site },
	{ "module", fill_module },
	{ "stack", fill_stack },
	{ "sites", fill_sites },
	{ "task", fill_task },
	{ "tgid", fill_tgid },
	{ "cgroup", fill_cgroup },
	{ "cgroup_id", fill_cgroup_id },
};

/* How a column is filled: looked up by its key once, not for each row. */
struct plan {
	bool left_out;
	bool is_label, is_book;
	const struct counter *counter;
	const struct filler *filler;
};

static struct plan plan_of(const struct kmt_analysis_in *in, const struct kmt_rows_view *view,
			   const struct kmt_column *column)
{
	const char *key = column->key;
	struct plan p = { .left_out = in->brief && column->unit == KMT_UNIT_LIST };

	p.is_label = view->label_key && !strcmp(view->label_key, key);
	p.is_book = kmt_book_has_cell(key);
	for (size_t i = 0; i < KMT_N(counters); i++)
		if (!strcmp(counters[i].key, key))
			p.counter = &counters[i];
	for (size_t i = 0; i < KMT_N(fillers); i++)
		if (!strcmp(fillers[i].key, key))
			p.filler = &fillers[i];
	return p;
}

static int fill_cell(const struct kmt_row_source *s, const struct kmt_rows_view *view,
		     const struct plan *p, const char *key, struct kmt_cell *cell)
{
	int res = 0;

	if (p->left_out)
		return 0;
	if (view->fill)
		res = view->fill(s, key, cell);
	if (res)
		return res < 0 ? res : 0;
	if (p->is_label)
		return kmt_cell_text(cell, s->g->label);
	if (p->is_book)
		return fill_book(s, key, cell);
	if (p->filler)
		return p->filler->fill(s, cell);
	if (!p->counter)
		return kmt_err(-EINVAL, "column '%s' has nothing to fill it", key);
	fill_counter(s, p->counter, cell);
	return 0;
}

static int add_row(struct kmt_row_source *s, const struct kmt_rows_view *view,
		   const struct plan *plans, struct kmt_report *r)
{
	struct kmt_row *row = kmt_report_row(r);
	int err = row ? 0 : -ENOMEM;

	if (err)
		return err;
	err = kmt_list_n_caches(s->in, s->groups, s->g, &s->n_caches);
	for (size_t c = 0; c < r->n_columns && !err; c++)
		err = fill_cell(s, view, &plans[c], r->columns[c].key, &row->cells[c]);
	if (!err && (view->by & KMT_GROUP_SITE) && !s->in->brief)
		err = kmt_name_stack(s->in, s->key, row, NULL);
	return err;
}

static bool has_row(const struct kmt_row_source *s, const struct kmt_rows_view *view)
{
	if (view->wants && !view->wants(s))
		return false;
	return !s->in->min_age_ns || !view->survivor_columns || s->g->survivors;
}

static int add_rows(const struct kmt_analysis_in *in, const struct kmt_rows_view *view,
		    struct kmt_report *r)
{
	_cleanup_groups_ struct kmt_groups groups = { 0 };
	_cleanup_books_ struct kmt_books books = { 0 };
	struct kmt_row_source s = { .in = in, .groups = &groups, .books = &books, .ctx = view->ctx,
				    .has_objects = kmt_session_has_objects(in->session) };
	_cleanup_free_ struct plan *plans = calloc(r->n_columns + 1, sizeof(*plans));
	int err = !plans ? kmt_err(-ENOMEM, "out of memory") :
		  view->label ? kmt_groups_by_label(in, view->label, &groups) :
				kmt_groups_make(in, view->by, &groups);

	for (size_t c = 0; plans && c < r->n_columns; c++)
		plans[c] = plan_of(in, view, &r->columns[c]);
	if (!err && s.has_objects)
		err = kmt_groups_ages(in, &groups);
	if (!err)
		err = kmt_books_make(in, &books);
	for (size_t i = 0; i < groups.n && !err; i++) {
		s.g = &groups.v[i];
		s.key = &s.g->first->key;
		if (has_row(&s, view))
			err = add_row(&s, view, plans, r);
	}
	if (!err && in->min_age_ns && !view->survivor_columns)
		err = kmt_report_note(r, "--min-age does not change this view");
	return err;
}

static const char *sort_of(const struct kmt_analysis_in *in, const struct kmt_rows_view *view)
{
	if (view->sort)
		return view->sort;
	if (in->min_age_ns)
		return "surviving_bytes";
	return kmt_session_has_objects(in->session) ? "live_bytes_allocated" : "bytes_allocated";
}

uint64_t kmt_row_given_bytes(const struct kmt_row_source *s, size_t counter)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->g->n; i++) {
		size_t row = s->groups->members[s->g->start + i];
		const struct kmt_site *site = kmt_session_site(s->in->session, row);
		struct kmt_counts c;
		uint64_t n;

		kmt_window_counts(s->in, site, &c);
		memcpy(&n, (const char *)&c + counter, sizeof(n));
		sum = kmt_sat_add(sum, kmt_given_bytes(site, n));
	}
	return sum;
}

int kmt_rows_run(const struct kmt_analysis_in *in, const struct kmt_rows_view *view,
		 struct kmt_report **ret_report)
{
	_cleanup_report_ struct kmt_report *r = NULL;
	bool survivors = in->min_age_ns && view->survivor_columns;
	int err = kmt_report_new(in->command ? in->command : "", view->name,
				 survivors ? view->survivor_columns : view->columns,
				 view->n_columns, &r);

	if (!err)
		err = kmt_summary_fill(in, r);
	if (!err)
		err = add_rows(in, view, r);
	if (!err)
		err = kmt_report_sort(r, sort_of(in, view));
	if (err)
		return err;
	*ret_report = take_ptr(r);
	return 0;
}
