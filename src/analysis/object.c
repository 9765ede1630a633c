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

/* Rows at most, if nobody says so: a report is for people, and a kernel has millions of objects. */
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

/* What all objects of a row of the session are called: found once, shared by their rows. */
struct names {
	struct kmt_cell site, module, type, cache, aliases, tgid, task;
	bool is_known;
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

static int find_names(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		      struct kmt_report *r, struct names *n)
{
	char type[2] = { kmt_type_letter(key->type) };
	struct kmt_cell *const cells[] = { &n->site, &n->module, &n->type, &n->cache,
					   &n->aliases, &n->tgid, &n->task };
	int err;

	for (size_t i = 0; i < KMT_N(cells); i++)
		cells[i]->is_null = true;
	err = kmt_name_key(in, key, &n->site, &n->module);
	if (!err)
		err = kmt_cell_text(&n->type, type);
	if (!err)
		err = kmt_name_cache(key, &n->cache);
	if (!err)
		err = kmt_name_aliases(in, key->cache, &n->aliases);
	if (!err && key->by_task) {
		kmt_cell_int(&n->tgid, key->tgid);
		err = kmt_cell_text(&n->task, key->comm);
	}
	for (size_t i = 0; i < KMT_N(cells); i++) {
		int e = kmt_cell_share(r, cells[i]);

		err = err ? err : e;
	}
	n->is_known = !err;
	return err;
}

static int add_row(const struct gather *g, const struct kmt_object *o, const struct names *n,
		   const struct kmt_cell *state, struct kmt_report *r)
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
	row->cells[STATE] = *state;
	row->cells[SITE] = n->site;
	row->cells[MODULE] = n->module;
	row->cells[TYPE] = n->type;
	row->cells[CACHE] = n->cache;
	row->cells[ALIASES] = n->aliases;
	row->cells[TGID] = n->tgid;
	row->cells[TASK] = n->task;
	return 0;
}

static int add_sorted(const struct gather *g, size_t n, struct kmt_report *r)
{
	const struct kmt_session *s = g->in->session;
	_cleanup_free_ struct names *names = calloc(kmt_session_n_sites(s) + 1, sizeof(*names));
	struct kmt_cell states[2] = { { .is_null = true }, { .is_null = true } };
	int err = names ? 0 : kmt_err(-ENOMEM, "out of memory");

	for (size_t i = 0; i < 2 && !err; i++) {
		err = kmt_cell_text(&states[i], i ? "awaiting RCU" : "live");
		if (!err)
			err = kmt_cell_share(r, &states[i]);
	}
	for (size_t i = 0; i < n && !err; i++) {
		const struct kmt_object *o = &g->v[i];
		struct names *of = &names[o->site];

		if (!of->is_known)
			err = find_names(g->in, &kmt_session_site(s, o->site)->key, r, of);
		if (!err)
			err = add_row(g, o, of, &states[o->awaiting], r);
	}
	return err;
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	struct gather g = { .in = in, .now = kmt_session_now(in->session) };
	uint64_t max = in->max_objects ? in->max_objects : MAX_ROWS;
	_cleanup_free_ struct kmt_object *v = NULL;
	int err = kmt_session_each_object(in->session, gather_object, &g);

	v = g.v;
	if (err || !v)
		return err;
	qsort(v, g.n, sizeof(*v), compare_births);
	err = add_sorted(&g, g.n < max ? g.n : max, r);
	if (!err && g.n > max)
		err = kmt_report_note(r, "only the %" PRIu64 " oldest of %zu objects are listed",
				      max, g.n);
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
