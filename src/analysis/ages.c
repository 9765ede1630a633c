// SPDX-License-Identifier: GPL-2.0-only
/* Ages of live objects, group by group; medians are exact. */
#include "analysis/group.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/session.h"

struct aged {
	uint64_t age;
	uint32_t group;
};

struct gather {
	const struct kmt_analysis_in *in;
	struct kmt_groups *groups;
	uint64_t now;
	struct aged *v;
	size_t n, cap;
};

static int gather_object(void *ctx, const struct kmt_object *o)
{
	struct gather *g = ctx;
	uint64_t age = g->now > o->birth_ns ? g->now - o->birth_ns : 0;
	struct kmt_group *to = &g->groups->v[g->groups->of[o->site]];

	if (o->awaiting || !o->birth_ns || age < g->in->min_age_ns)
		return 0;
	if (g->n == g->cap) {
		size_t cap = g->cap ? g->cap * 2 : 4096;
		struct aged *v = reallocarray(g->v, cap, sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory");
		g->v = v;
		g->cap = cap;
	}
	g->v[g->n++] = (struct aged){ .age = age, .group = g->groups->of[o->site] };
	to->survivors++;
	to->survivor_bytes += o->bytes_alloc;
	return 0;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t t = *a;

	*a = *b;
	*b = t;
}

/* The k-th smallest (from 0) of n; they are put into another order. */
static uint64_t kth(uint64_t *v, size_t n, size_t k)
{
	size_t from = 0, to = n;	/* it is in v[from .. to - 1], at k */

	while (to - from > 2) {
		uint64_t a = v[from], b = v[from + (to - from) / 2], c = v[to - 1];
		uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : a < c ? a : b < c ? c : b;
		size_t i = from, j = to - 1;

		while (i <= j) {	/* none stops outside: the pivot is one of them */
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i > j)
				break;
			swap(&v[i++], &v[j]);
			if (!j--)
				break;
		}
		/* up to j none is greater than the pivot, from i on none is less */
		if (k < i && k > j)
			return v[k];
		if (k >= i)
			from = i;
		else
			to = j + 1;
	}
	if (to - from == 2 && v[from] > v[from + 1])
		swap(&v[from], &v[from + 1]);
	return v[k];
}

static void fill_ages(struct kmt_group *to, uint64_t *ages)
{
	size_t n = to->survivors;

	to->age_min = to->age_max = ages[0];
	for (size_t i = 1; i < n; i++) {
		if (ages[i] < to->age_min)
			to->age_min = ages[i];
		if (ages[i] > to->age_max)
			to->age_max = ages[i];
	}
	to->age_p50 = kth(ages, n, (n - 1) / 2);
}

/* Group by group without comparing: sorting them all took longer than finding them. */
static int sort_out(const struct gather *g)
{
	_cleanup_free_ uint64_t *ages = calloc(g->n + 1, sizeof(*ages));
	_cleanup_free_ size_t *at = calloc(g->groups->n + 1, sizeof(*at));
	size_t from = 0;

	if (!ages || !at)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; i < g->groups->n; i++) {
		at[i] = from;
		from += g->groups->v[i].survivors;
	}
	for (size_t i = 0; i < g->n; i++)
		ages[at[g->v[i].group]++] = g->v[i].age;
	for (size_t i = 0; i < g->groups->n; i++)
		if (g->groups->v[i].survivors)
			fill_ages(&g->groups->v[i], ages + at[i] - g->groups->v[i].survivors);
	return 0;
}

int kmt_groups_ages(const struct kmt_analysis_in *in, struct kmt_groups *groups)
{
	struct gather g = { .in = in, .groups = groups, .now = kmt_session_now(in->session) };
	_cleanup_free_ struct aged *v = NULL;
	int err = kmt_session_each_object(in->session, gather_object, &g);

	v = g.v;
	return err ? err : sort_out(&g);
}
