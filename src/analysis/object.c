// SPDX-License-Identifier: GPL-2.0-only
/* Single objects, live or awaiting RCU, the oldest first. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/names.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_object;

#define _cleanup_report_ _cleanup_(cleanup_report)

/* Rows at most: a report is for people and scripts, and a kernel has millions of objects. */
#define MAX_ROWS 100000

static void cleanup_report(struct kmt_report **r)
{
	kmt_report_free(*r);
}

enum { ADDRESS, GIVEN, REQUESTED, WASTE, AGE, STATE, CPU, SITE, MODULE, TYPE, CACHE, ALIASES, TASK,
       TGID };

#define COLUMNS(show_state) {									\
	[ADDRESS]   = { "address", "ADDRESS", KMT_UNIT_ADDR, KMT_SHOWN, false },		\
	[GIVEN]	    = { "bytes_allocated", "GIVEN", KMT_UNIT_BYTES, KMT_SHOWN, false },		\
	[REQUESTED] = { "bytes_requested", "REQUESTED", KMT_UNIT_BYTES, KMT_HIDDEN, false },	\
	[WASTE]	    = { "waste_bytes", "WASTE", KMT_UNIT_BYTES, KMT_HIDDEN, false },		\
	[AGE]	    = { "age_ns", "AGE", KMT_UNIT_NS, KMT_SHOWN, false },			\
	[STATE]	    = { "state", "STATE", KMT_UNIT_TEXT, (show_state), false },			\
	[CPU]	    = { "cpu", "CPU", KMT_UNIT_COUNT, KMT_SHOWN, false },			\
	[SITE]	    = { "site", "SITE", KMT_UNIT_TEXT, KMT_SHOWN, true },			\
	[MODULE]    = { "module", "MODULE", KMT_UNIT_TEXT, KMT_HIDDEN, false },			\
	[TYPE]	    = { "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },			\
	[CACHE]	    = { "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },			\
	[ALIASES]   = { "aliases", "ALIASES", KMT_UNIT_LIST, KMT_HIDDEN, false },		\
	[TASK]	    = { "task", "TASK", KMT_UNIT_TEXT, KMT_HIDDEN, false },			\
	[TGID]	    = { "tgid", "PID", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
}

/* Most often all are live, and text need not say so. */
static const struct kmt_column columns[] = COLUMNS(KMT_HIDDEN);
static const struct kmt_column state_columns[] = COLUMNS(KMT_SHOWN);

struct gather {
	const struct kmt_analysis_in *in;
	uint64_t now;
	struct kmt_object *v;
	size_t n, cap;
};

static int gather_object(void *ctx, const struct kmt_object *o)
{
	struct gather *g = ctx;

	/* what survives is live; the age of what awaits is that of its waiting */
	if (g->in->min_age_ns &&
	    (o->awaiting || !o->birth_ns || kmt_sat_sub(g->now, o->birth_ns) < g->in->min_age_ns))
		return 0;
	if (g->n == g->cap) {
		size_t cap = g->cap ? g->cap * 2 : 4096;
		struct kmt_object *v = reallocarray(g->v, cap, sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory");
		g->v = v;
		g->cap = cap;
	}
	g->v[g->n++] = *o;
	return 0;
}

/* Unknown births last; of equal ones the lower address first. */
static int compare_births(const void *pa, const void *pb)
{
	const struct kmt_object *a = pa, *b = pb;

	if (!a->birth_ns != !b->birth_ns)
		return !a->birth_ns - !b->birth_ns;
	if (a->birth_ns != b->birth_ns)
		return a->birth_ns < b->birth_ns ? -1 : 1;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

static int fill_names(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		      struct kmt_cell *cells)
{
	char type[2] = { kmt_type_letter(key->type) };
	int err = kmt_name_key(in, key, &cells[SITE], &cells[MODULE]);

	if (!err)
		err = kmt_cell_text(&cells[TYPE], type);
	if (!err)
		err = kmt_name_cache(key, &cells[CACHE]);
	if (!err)
		err = kmt_name_aliases(in, key->cache, &cells[ALIASES]);
	if (err || !key->by_task)
		return err;
	kmt_cell_int(&cells[TGID], key->tgid);
	return kmt_cell_text(&cells[TASK], key->comm);
}

static int add_row(const struct gather *g, const struct kmt_object *o, struct kmt_report *r)
{
	struct kmt_row *row = kmt_report_row(r);

	if (!row)
		return -ENOMEM;
	kmt_cell_int(&row->cells[ADDRESS], (int64_t)o->addr);
	kmt_cell_int(&row->cells[GIVEN], kmt_cell_value(o->bytes_alloc));
	kmt_cell_int(&row->cells[REQUESTED], kmt_cell_value(o->bytes_req));
	kmt_cell_int(&row->cells[WASTE],
		     kmt_cell_value(kmt_sat_sub(o->bytes_alloc, o->bytes_req)));
	if (o->birth_ns)
		kmt_cell_int(&row->cells[AGE], kmt_cell_value(kmt_sat_sub(g->now, o->birth_ns)));
	kmt_cell_int(&row->cells[CPU], o->cpu);
	if (kmt_cell_text(&row->cells[STATE], o->awaiting ? "awaiting RCU" : "live"))
		return -ENOMEM;
	return fill_names(g->in, &kmt_session_site(g->in->session, o->site)->key, row->cells);
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	struct gather g = { .in = in, .now = kmt_session_now(in->session) };
	_cleanup_free_ struct kmt_object *v = NULL;
	int err = kmt_session_each_object(in->session, gather_object, &g);

	v = g.v;
	if (err || !v)
		return err;
	qsort(v, g.n, sizeof(*v), compare_births);
	for (size_t i = 0; i < g.n && i < MAX_ROWS && !err; i++)
		err = add_row(&g, &v[i], r);
	if (!err && g.n > MAX_ROWS)
		err = kmt_report_note(r, "only the %d oldest of %zu objects are listed",
				      MAX_ROWS, g.n);
	if (!err)
		r->rows_total = g.n;
	return err;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	_cleanup_report_ struct kmt_report *r = NULL;
	struct kmt_counts c;
	int err;

	kmt_session_total(in->session, &c);
	err = kmt_report_new(in->command ? in->command : "", "object",
			     c.awaiting ? state_columns : columns, KMT_N(columns), &r);

	if (!err)
		err = kmt_summary_fill(in, r);
	if (!err)
		err = add_rows(in, r);
	if (!err)
		err = kmt_report_sort(r, "age_ns:desc");
	if (err)
		return err;
	*ret_report = take_ptr(r);
	return 0;
}

const struct kmt_analysis kmt_analysis_object = {
	.name = "object",
	.aliases = { "objects" },
	.help = "live objects and those that await RCU, the oldest first",
	.needs = KMT_NEEDS_OBJECTS,
	.run = run,
};
