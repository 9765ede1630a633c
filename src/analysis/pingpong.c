// SPDX-License-Identifier: GPL-2.0-only
/* Sites by objects that one CPU allocates and another one frees. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/pairs.h"
#include "analysis/rows.h"
#include "analysis/summary.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_pingpong;

static const struct kmt_column columns[] = {
	{ "cross_cpu_frees", "CROSS-CPU", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "cross_cpu_percent", "CROSS%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	{ "frees", "FREES", KMT_UNIT_COUNT, KMT_SHOWN, false },
	{ "cross_cpu_bytes", "MOVED", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "top_pair", "MOSTLY", KMT_UNIT_TEXT, KMT_SHOWN, false },
	{ "top_pair_frees", "OF THE PAIR", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	{ "pairs", "PAIRS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMN_UNTRACED(KMT_HIDDEN),
	KMT_COLUMNS_RCU(KMT_HIDDEN),
	{ "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	KMT_COLUMNS_SITE,
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },
	{ "caches", "CACHES", KMT_UNIT_LIST, KMT_HIDDEN, false },
};

/* A site's pairs, all its rows together. */
struct pair {
	uint32_t group, from, to;
	uint64_t frees;
};

struct ctx {
	const struct kmt_pairs *watched;	/* NULL: only counts are known */
	const struct kmt_groups *groups;	/* whose numbers 'v' was sorted by */
	struct pair *v;
	size_t n;
};

static int compare(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Gather the pairs by group, once the groups are known. */
static int gather(const struct kmt_row_source *s, struct ctx *ctx)
{
	const struct kmt_pairs *p = ctx->watched;
	size_t n = 0;

	ctx->groups = s->groups;
	ctx->v = calloc(p->n + 1, sizeof(*ctx->v));
	if (!ctx->v)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; i < p->n; i++)
		ctx->v[i] = (struct pair){ .group = s->groups->of[p->v[i].site],
					   .from = p->v[i].from, .to = p->v[i].to,
					   .frees = p->v[i].frees };
	qsort(ctx->v, p->n, sizeof(*ctx->v), compare);
	for (size_t i = 0; i < p->n; i++) {
		if (n && !compare(&ctx->v[n - 1], &ctx->v[i]))
			ctx->v[n - 1].frees = kmt_sat_add(ctx->v[n - 1].frees, ctx->v[i].frees);
		else
			ctx->v[n++] = ctx->v[i];
	}
	ctx->n = n;
	return 0;
}

/* Where a group's pairs begin, or would. */
static size_t first_of(const struct ctx *ctx, uint32_t group)
{
	size_t low = 0, high = ctx->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ctx->v[mid].group < group)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* How many pairs a group has, and the one with the most frees, of equal ones the first. */
static const struct pair *top_of(const struct ctx *ctx, uint32_t group, size_t *ret_n)
{
	size_t first = first_of(ctx, group), i = first;
	const struct pair *top = NULL;

	for (; i < ctx->n && ctx->v[i].group == group; i++)
		if (!top || ctx->v[i].frees > top->frees)
			top = &ctx->v[i];
	*ret_n = i - first;
	return top;
}

static int fill_pair(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	struct ctx *ctx = s->ctx;
	const struct pair *top;
	char text[32];
	size_t n;
	int err;

	if (!ctx->watched)
		return 1;
	if (ctx->groups != s->groups) {
		err = gather(s, ctx);
		if (err)
			return err;
	}
	top = top_of(ctx, s->groups->of[s->groups->members[s->g->start]], &n);
	if (!strcmp(key, "pairs"))
		kmt_cell_int(cell, kmt_cell_value(n));
	else if (top && !strcmp(key, "top_pair_frees"))
		kmt_cell_int(cell, kmt_cell_value(top->frees));
	if (!top || strcmp(key, "top_pair"))
		return 1;
	snprintf(text, sizeof(text), "%" PRIu32 " to %" PRIu32, top->from, top->to);
	return kmt_cell_text(cell, text) ? -ENOMEM : 1;
}

static int fill(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	const struct kmt_counts *c = &s->g->window;

	if (!strcmp(key, "cross_cpu_percent")) {
		if (c->frees)
			kmt_cell_percent(cell, 100.0 * (double)c->cross_cpu_frees /
					       (double)c->frees);
		return 1;
	}
	if (!strcmp(key, "cross_cpu_bytes")) {
		const size_t counter = offsetof(struct kmt_counts, cross_cpu_frees);

		kmt_cell_int(cell, kmt_cell_value(kmt_row_given_bytes(s, counter)));
		return 1;
	}
	if (!strcmp(key, "top_pair") || !strcmp(key, "top_pair_frees") || !strcmp(key, "pairs"))
		return fill_pair(s, key, cell);
	return 0;
}

static bool wants(const struct kmt_row_source *s)
{
	return s->g->window.cross_cpu_frees;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	struct ctx ctx = { .watched = kmt_pairs_of(in) };
	const struct kmt_rows_view view = {
		.name = "pingpong", .by = KMT_GROUP_SITE, .columns = columns,
		.n_columns = KMT_N(columns), .sort = "cross_cpu_frees", .wants = wants,
		.fill = fill, .ctx = &ctx,
	};
	int err;

	/* a session that is fed by snapshots has nothing to watch */
	if (ctx.watched && !ctx.watched->n)
		ctx.watched = NULL;
	err = kmt_rows_run(in, &view, ret_report);
	free(ctx.v);
	return err;
}

const struct kmt_analysis kmt_analysis_pingpong = {
	.name = "pingpong",
	.help = "call sites by objects that another CPU frees",
	.needs = KMT_NEEDS_OBJECTS,
	.observer = &kmt_pairs_observer,
	.run = run,
};
