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

static int compare_aged(const void *pa, const void *pb)
{
	const struct aged *a = pa, *b = pb;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->age > b->age) - (a->age < b->age);
}

int kmt_groups_ages(const struct kmt_analysis_in *in, struct kmt_groups *groups)
{
	struct gather g = { .in = in, .groups = groups, .now = kmt_session_now(in->session) };
	_cleanup_free_ struct aged *v = NULL;
	int err = kmt_session_each_object(in->session, gather_object, &g);

	v = g.v;
	if (err)
		return err;
	if (v)
		qsort(v, g.n, sizeof(*v), compare_aged);
	for (size_t i = 0; i < g.n;) {
		struct kmt_group *to = &groups->v[v[i].group];
		size_t n = to->survivors;

		to->age_min = v[i].age;
		to->age_p50 = v[i + (n - 1) / 2].age;
		to->age_max = v[i + n - 1].age;
		i += n;
	}
	return 0;
}
