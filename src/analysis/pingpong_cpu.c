// SPDX-License-Identifier: GPL-2.0-only
/* Between which CPUs objects went: a row for each pair, all sites together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/hist.h"
#include "analysis/names.h"
#include "analysis/own_rows.h"
#include "analysis/pairs.h"
#include "analysis/summary.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_pingpong_cpu;

#define _cleanup_groups_ _cleanup_(kmt_groups_done)

#define BAR 18

enum { FROM, TO, FREES, SHARE, BYTES, BARS, TOP_FREES, TOP_SITE };

static const struct kmt_column columns[] = {
	[FROM]	    = { "from_cpu", "FROM", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[TO]	    = { "to_cpu", "TO", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[FREES]	    = { "cross_cpu_frees", "FREES", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[SHARE]	    = { "pair_percent", "SHARE%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	[BYTES]	    = { "cross_cpu_bytes", "MOVED", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[BARS]	    = { "bar", "BAR", KMT_UNIT_TEXT, KMT_SHOWN, false },
	[TOP_FREES] = { "top_site_frees", "OF THE SITE", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[TOP_SITE]  = { "top_site", "MOSTLY", KMT_UNIT_TEXT, KMT_SHOWN, true },
};

/* One site's part of a pair; then, merged, all sites together. */
struct part {
	uint32_t from, to, group;
	uint64_t frees, bytes, top_frees;
};

static int compare(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

static bool same_cpus(const struct part *a, const struct part *b)
{
	return a->from == b->from && a->to == b->to;
}

/* Merge sorted parts, first by site, and find each pair's top site on the way. */
static size_t merge(struct part *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n;) {
		struct part all = { .from = v[i].from, .to = v[i].to };

		while (i < n && same_cpus(&all, &v[i])) {
			uint32_t group = v[i].group;
			uint64_t frees = 0;

			for (; i < n && same_cpus(&all, &v[i]) && v[i].group == group; i++) {
				frees = kmt_sat_add(frees, v[i].frees);
				all.bytes = kmt_sat_add(all.bytes, v[i].bytes);
			}
			all.frees = kmt_sat_add(all.frees, frees);
			if (frees > all.top_frees) {
				all.top_frees = frees;
				all.group = group;
			}
		}
		v[kept++] = all;
	}
	return kept;
}

static int add_row(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		   const struct part *p, const struct part *sum, struct kmt_report *r)
{
	_cleanup_buf_ struct kmt_buf bar = { 0 };
	struct kmt_row *row = kmt_report_row(r);
	int err;

	if (!row)
		return -ENOMEM;
	kmt_cell_int(&row->cells[FROM], p->from);
	kmt_cell_int(&row->cells[TO], p->to);
	kmt_cell_int(&row->cells[FREES], kmt_cell_value(p->frees));
	kmt_cell_percent(&row->cells[SHARE], 100.0 * (double)p->frees / (double)sum->frees);
	kmt_cell_int(&row->cells[BYTES], kmt_cell_value(p->bytes));
	kmt_cell_int(&row->cells[TOP_FREES], kmt_cell_value(p->top_frees));
	kmt_hist_bar(p->frees, sum->top_frees, BAR, &bar);
	err = kmt_name_take(&bar, &row->cells[BARS]);
	if (err)
		return err;
	return kmt_name_key(in, &groups->v[p->group].first->key, &row->cells[TOP_SITE], NULL);
}

static int add_pairs(const struct kmt_analysis_in *in, const struct kmt_pairs *pairs,
		     struct kmt_report *r)
{
	_cleanup_groups_ struct kmt_groups groups = { 0 };
	_cleanup_free_ struct part *v = calloc(pairs->n + 1, sizeof(*v));
	struct part sum = { 0 };	/* top_frees: of the largest pair */
	size_t n;
	int err = v ? kmt_groups_make(in, KMT_GROUP_SITE, &groups) :
		      kmt_err(-ENOMEM, "out of memory");

	if (err)
		return err;
	for (size_t i = 0; i < pairs->n; i++) {
		const struct kmt_pair *p = &pairs->v[i];

		v[i] = (struct part){ .from = p->from, .to = p->to, .frees = p->frees,
				      .group = groups.of[p->site], .bytes = p->bytes };
	}
	qsort(v, pairs->n, sizeof(*v), compare);
	n = merge(v, pairs->n);
	for (size_t i = 0; i < n; i++) {
		sum.frees = kmt_sat_add(sum.frees, v[i].frees);
		if (v[i].frees > sum.top_frees)
			sum.top_frees = v[i].frees;
	}
	for (size_t i = 0; i < n && !err; i++)
		err = add_row(in, &groups, &v[i], &sum, r);
	if (!err && pairs->left_out)
		err = kmt_report_note(r, "%llu frees on another CPU are in no row: the table of "
				      "pairs was full", (unsigned long long)pairs->left_out);
	return err;
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	const struct kmt_pairs *pairs = kmt_pairs_of(in);
	struct kmt_quality q;

	kmt_session_quality(in->session, &q);
	if (!strcmp(q.mode, "counted"))
		return kmt_err(-EINVAL, "this view needs the event stream: record first");
	return pairs ? add_pairs(in, pairs, r) : 0;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_own_view view = {
		.name = "pingpong,cpu", .columns = columns, .n_columns = KMT_N(columns),
		.sort = "cross_cpu_frees", .add_rows = add_rows,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_pingpong_cpu = {
	.name = "pingpong,cpu",
	.help = "between which CPUs objects went; needs the event stream",
	.needs = KMT_NEEDS_OBJECTS | KMT_NEEDS_EVENTS,
	.observer = &kmt_pairs_observer,
	.run = run,
};
