// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/err.h"
#include "core/event.h"
#include "core/observer.h"
#include "core/session.h"

/* By row of the session; those beyond 'n' have had no event. */
struct seen {
	struct kmt_request *v;
	size_t n;
};

static void widen(struct kmt_request *r, uint64_t bytes)
{
	if (!r->known || bytes < r->min)
		r->min = bytes;
	if (!r->known || bytes > r->max)
		r->max = bytes;
	r->known = true;
}

static int on_alloc(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		    size_t site)
{
	struct seen *seen = state;

	if (site >= seen->n) {
		size_t n = site < 512 ? 1024 : site * 2;
		struct kmt_request *v = reallocarray(seen->v, n, sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory");
		memset(v + seen->n, 0, (n - seen->n) * sizeof(*v));
		seen->v = v;
		seen->n = n;
	}
	widen(&seen->v[site], ev->bytes_req);
	return 0;
}

static void done(void *state)
{
	struct seen *seen = state;

	free(seen->v);
}

const struct kmt_observer kmt_requests_observer = {
	.state_size = sizeof(struct seen),
	.on_alloc = on_alloc,
	.done = done,
};

static int look_at_object(void *ctx, const struct kmt_object *o)
{
	struct kmt_request *v = ctx;

	widen(&v[o->site], o->bytes_req);
	return 0;
}

/* What a row that no observer saw asked for; 'live': its live objects. */
static struct kmt_request deduce(const struct kmt_site *site, const struct kmt_request *live)
{
	const struct kmt_site_key *k = &site->key;
	const struct kmt_counts *c = &site->counts;
	uint64_t one = 0;

	if (k->type == KMT_TYPE_CACHE && k->object_size)
		one = k->object_size;
	else if (c->allocs && k->size && c->bytes_req == c->bytes_alloc)
		one = k->size;	/* none asked for more than it was given */
	else if (c->allocs && live->known && live->min == live->max &&
		 (unsigned __int128)c->allocs * live->min == c->bytes_req)
		one = live->min;
	return (struct kmt_request){ .min = one, .max = one, .known = one };
}

int kmt_requests_make(const struct kmt_analysis_in *in, struct kmt_request **ret)
{
	const struct seen *seen = kmt_session_observed(in->session, &kmt_requests_observer);
	size_t n = kmt_session_n_sites(in->session);
	struct kmt_request *v = calloc(n + 1, sizeof(*v));
	int err;

	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	err = kmt_session_each_object(in->session, look_at_object, v);
	if (err) {
		free(v);
		return err;
	}
	for (size_t i = 0; i < n; i++) {
		if (seen && i < seen->n && seen->v[i].known)
			v[i] = seen->v[i];
		else
			v[i] = deduce(kmt_session_site(in->session, i), &v[i]);
	}
	*ret = v;
	return 0;
}
