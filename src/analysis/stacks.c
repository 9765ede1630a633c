// SPDX-License-Identifier: GPL-2.0-only
/* The tree of calls, with what is live below each function. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/calltree.h"
#include "analysis/columns.h"
#include "analysis/own_rows.h"
#include "analysis/summary.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_stacks;

#define _cleanup_tree_ _cleanup_(kmt_calltree_done)

#define INDENT_MAX	16	/* levels; beyond, a line would be all blanks */

enum { PERCENT, LIVE, OBJS, RCU, RCU_BYTES, ALLOCS, FREES, UNTRACED, GIVEN, TEMPORARY, OWN, DEPTH,
       ID, PARENT, FUNCTION, TREE };

static const struct kmt_column columns[] = {
	[PERCENT]   = { "percent", "%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	[LIVE]	    = { "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[OBJS]	    = { "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[RCU]	    = KMT_COLUMN_RCU(KMT_IF_ANY),
	[RCU_BYTES] = KMT_COLUMN_RCU_BYTES,
	[ALLOCS]    = { "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[FREES]	    = { "frees", "FREES", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[UNTRACED]  = KMT_COLUMN_UNTRACED(KMT_IF_ANY),
	[GIVEN]	    = { "bytes_allocated", "GIVEN", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[TEMPORARY] = { "temporary", "TEMPORARY", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[OWN]	    = { "own_live_bytes_allocated", "OWN", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[DEPTH]	    = { "depth", "DEPTH", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[ID]	    = { "id", "ID", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[PARENT]    = { "parent", "PARENT", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[FUNCTION]  = { "function", "FUNCTION", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	[TREE]	    = { "tree", "CALLS", KMT_UNIT_TEXT, KMT_SHOWN, true },
};

struct order {
	const struct kmt_calltree *t;
	int column;		/* a weight, or FUNCTION */
	bool ascending;
};

static uint64_t weight(const struct kmt_call_node *n, int column)
{
	switch (column) {
	case OBJS: return n->live_objects;
	case RCU: return n->awaiting;
	case RCU_BYTES: return n->bytes_awaiting;
	case UNTRACED: return n->untraced_frees;
	case ALLOCS: return n->allocs;
	case FREES: return n->frees;
	case GIVEN: return n->bytes_allocated;
	case TEMPORARY: return n->temporary;
	case OWN: return n->own_live_bytes;
	default: return n->live_bytes;
	}
}

/* "allocs", "allocs:asc": a weight, or the functions' names. */
static int parse_order(const struct kmt_analysis_in *in, struct kmt_report *r, struct order *o)
{
	int heaviest = kmt_session_has_objects(in->session) ? LIVE : GIVEN, err;

	o->column = heaviest;
	if (!in->sort)
		return 0;
	/* there are no rows yet: this only reads the words */
	err = kmt_report_sort(r, in->sort);
	if (err)
		return err;
	if (r->sort_column >= DEPTH && r->sort_column != FUNCTION && r->sort_column != TREE)
		return kmt_err(-EINVAL, "a tree cannot be sorted by '%s'",
			       columns[r->sort_column].key);
	o->column = r->sort_column == TREE ? FUNCTION :
		    r->sort_column == PERCENT ? heaviest : r->sort_column;
	o->ascending = r->sort_ascending;
	return 0;
}

/* What percentages are of: the order, where that is a weight that parents pass on. */
static int base_of(const struct kmt_analysis_in *in, const struct order *o)
{
	if (o->column != FUNCTION && o->column != OWN)
		return o->column;
	return kmt_session_has_objects(in->session) ? LIVE : GIVEN;
}

static int compare_numbers(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/* Heaviest first; a parent before its child, which cannot be heavier. */
static int heavier(const void *pa, const void *pb, void *arg)
{
	const struct order *o = arg;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
	uint64_t wa = weight(&o->t->v[a], o->column), wb = weight(&o->t->v[b], o->column);

	return wa != wb ? wa < wb ? 1 : -1 : compare_numbers(a, b);
}

/* Children of one parent together, in the order asked for. */
static int before(const void *pa, const void *pb, void *arg)
{
	const struct order *o = arg;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
	const struct kmt_call_node *na = &o->t->v[a], *nb = &o->t->v[b];
	uint64_t wa = weight(na, o->column), wb = weight(nb, o->column);
	int order;

	if (na->parent != nb->parent)
		return compare_numbers(na->parent, nb->parent);
	if (o->column == FUNCTION)
		order = strcmp(o->t->names[na->name], o->t->names[nb->name]);
	else
		order = (wa > wb) - (wa < wb);
	if (!o->ascending)
		order = -order;
	return order ? order : compare_numbers(a, b);
}

/* The nodes that are shown, gathered by parent. */
struct shown {
	const struct kmt_analysis_in *in;
	const struct kmt_calltree *t;
	int base;
	size_t *v, n;
	size_t *first, *count;	/* of each node's children in v; roots are those of t->n */
	unsigned *indent;
};

static void choose(const struct order *o, struct shown *s)
{
	struct order by_base = { .t = o->t, .column = s->base };
	uint64_t limit = s->in->limit;

	for (size_t i = 0; i < o->t->n; i++)
		s->v[i] = i;
	qsort_r(s->v, o->t->n, sizeof(*s->v), heavier, &by_base);
	s->n = limit && limit < o->t->n ? limit : o->t->n;
	qsort_r(s->v, s->n, sizeof(*s->v), before, (void *)o);
	for (size_t i = s->n; i-- > 0;) {
		size_t parent = o->t->v[s->v[i]].parent;

		parent = parent == KMT_CALLTREE_NONE ? o->t->n : parent;
		s->first[parent] = i;
		s->count[parent]++;
	}
}

/*
 * A line begins further right where its parent has several children; a chain of
 * calls goes straight down. '+' begins a branch.
 */
static int put_tree(const struct shown *s, size_t i, struct kmt_cell *cell)
{
	const struct kmt_call_node *n = &s->t->v[i];
	bool is_root = n->parent == KMT_CALLTREE_NONE;
	bool is_branch = is_root || s->count[n->parent] > 1;
	_cleanup_buf_ struct kmt_buf b = { 0 };
	unsigned indent = is_root ? 0 : s->indent[n->parent] + is_branch;

	s->indent[i] = indent < INDENT_MAX ? indent : INDENT_MAX;
	for (unsigned k = 0; k < s->indent[i]; k++)
		kmt_buf_puts(&b, "  ");
	kmt_buf_printf(&b, "%s%s", is_branch ? "+ " : "  ", s->t->names[n->name]);
	return b.error ? kmt_err(b.error, "out of memory") : kmt_cell_text(cell, kmt_buf_str(&b));
}

static int add_row(const struct shown *s, size_t i, struct kmt_report *r)
{
	const struct kmt_call_node *n = &s->t->v[i];
	uint64_t whole = weight(&s->t->total[n->layer], s->base);
	bool objects = kmt_session_has_objects(s->in->session);
	struct kmt_row *row = kmt_report_row(r);
	int err;

	if (!row)
		return -ENOMEM;
	for (int c = LIVE; c <= OWN; c++)
		if (objects || c == ALLOCS || c == GIVEN)
			kmt_cell_int(&row->cells[c], kmt_cell_value(weight(n, c)));
	if (whole)
		kmt_cell_percent(&row->cells[PERCENT],
				 100.0 * (double)weight(n, s->base) / (double)whole);
	kmt_cell_int(&row->cells[DEPTH], n->depth);
	kmt_cell_int(&row->cells[ID], kmt_cell_value(i));
	if (n->parent != KMT_CALLTREE_NONE)
		kmt_cell_int(&row->cells[PARENT], kmt_cell_value(n->parent));
	err = kmt_cell_text(&row->cells[FUNCTION], s->t->names[n->name]);
	return err ? err : put_tree(s, i, &row->cells[TREE]);
}

/* Down to the children, on to the next sibling, or back up until there is one. */
static int add_tree(struct shown *s, struct kmt_report *r)
{
	_cleanup_free_ size_t *next = calloc(s->t->n + 1, sizeof(*next));
	size_t parent = s->t->n;
	int err = next ? 0 : kmt_err(-ENOMEM, "out of memory");

	while (!err) {
		if (next[parent] < s->count[parent]) {
			size_t i = s->v[s->first[parent] + next[parent]++];

			err = add_row(s, i, r);
			parent = i;
		} else if (parent == s->t->n) {
			break;
		} else {
			parent = s->t->v[parent].parent;
			parent = parent == KMT_CALLTREE_NONE ? s->t->n : parent;
		}
	}
	return err;
}

static int note(const struct kmt_analysis_in *in, const struct kmt_calltree *t,
		struct kmt_report *r)
{
	const char *pattern = in->callers ? in->callers : in->callees;

	if (!kmt_session_n_sites(in->session))
		return 0;
	if (pattern && !t->n)
		return kmt_report_note(r, "no stack has a function that matches '%s'", pattern);
	if (!t->has_stacks)
		return kmt_report_note(r, "there are no stacks: all that is known of a call is who "
				       "allocated");
	return 0;
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	_cleanup_tree_ struct kmt_calltree t = { 0 };
	struct order o = { .t = &t };
	int err = parse_order(in, r, &o);

	if (!err)
		err = kmt_calltree_make(in, &t);
	if (err)
		return err;
	_cleanup_free_ size_t *v = calloc(t.n + 1, sizeof(*v));
	_cleanup_free_ size_t *first = calloc(t.n + 1, sizeof(*first));
	_cleanup_free_ size_t *count = calloc(t.n + 1, sizeof(*count));
	_cleanup_free_ unsigned *indent = calloc(t.n + 1, sizeof(*indent));
	struct shown s = { .in = in, .t = &t, .base = base_of(in, &o), .v = v, .first = first,
			   .count = count, .indent = indent };

	if (!v || !first || !count || !indent)
		return kmt_err(-ENOMEM, "out of memory");
	choose(&o, &s);
	err = add_tree(&s, r);
	r->rows_total = t.n;
	r->sort_column = o.column;
	r->sort_ascending = o.ascending;
	return err ? err : note(in, &t, r);
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_own_view view = {
		.name = "stacks", .columns = columns, .n_columns = KMT_N(columns),
		.add_rows = add_rows,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_stacks = {
	.name = "stacks",
	.aliases = { "stack" },
	.help = "the tree of calls, with what is live below each",
	.needs = KMT_NEEDS_STACKS,
	.rows = 60,
	.own_order = true,
	.run = run,
};
