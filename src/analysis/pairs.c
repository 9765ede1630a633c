// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/pairs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/err.h"
#include "base/hash.h"
#include "core/event.h"
#include "core/observer.h"
#include "core/sat.h"
#include "core/session.h"

#define CPU_MASK 0x7fffffu	/* as many bits as an object keeps of its CPU */

struct query {
	const struct kmt_pair *v;
	uint32_t site, from, to;
};

static bool is_pair(const void *ctx, size_t i)
{
	const struct query *q = ctx;
	const struct kmt_pair *p = &q->v[i];

	return p->site == q->site && p->from == q->from && p->to == q->to;
}

/* The pair's row, made if it is new; NULL in *ret: there is no room for another. */
static int get(struct kmt_pairs *p, uint32_t site, uint32_t from, uint32_t to,
	       struct kmt_pair **ret)
{
	struct query q = { .v = p->v, .site = site, .from = from, .to = to };
	uint64_t hash = kmt_hash_mix(kmt_hash_mix(site, from), to);
	size_t at = kmt_index_find(&p->index, hash, is_pair, &q);
	int err;

	*ret = NULL;
	if (at == KMT_INDEX_NONE && p->n == KMT_PAIRS_MAX)
		return 0;
	if (at == KMT_INDEX_NONE && p->n == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 256;
		struct kmt_pair *v = reallocarray(p->v, cap, sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory");
		p->v = v;
		p->cap = cap;
	}
	if (at == KMT_INDEX_NONE) {
		err = kmt_index_add(&p->index, hash, p->n);
		if (err)
			return err;
		at = p->n++;
		p->v[at] = (struct kmt_pair){ .site = site, .from = from, .to = to };
	}
	*ret = &p->v[at];
	return 0;
}

static int on_free(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		   const struct kmt_object *o)
{
	struct kmt_pairs *p = state;
	struct kmt_pair *pair;
	int err;

	/* nobody knows which CPU an untraced free was on */
	if (ev->op == KMT_OP_ALLOC || o->cpu == (ev->cpu & CPU_MASK))
		return 0;
	err = get(p, o->site, o->cpu, ev->cpu & CPU_MASK, &pair);
	if (err)
		return err;
	if (!pair) {
		p->left_out++;
		return 0;
	}
	pair->frees++;
	pair->bytes = kmt_sat_add(pair->bytes, o->bytes_alloc);
	return 0;
}

static void done(void *state)
{
	struct kmt_pairs *p = state;

	free(p->v);
	kmt_index_done(&p->index);
}

const struct kmt_observer kmt_pairs_observer = {
	.state_size = sizeof(struct kmt_pairs),
	.on_free = on_free,
	.done = done,
};

const struct kmt_pairs *kmt_pairs_of(const struct kmt_analysis_in *in)
{
	return kmt_session_observed(in->session, &kmt_pairs_observer);
}
