// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/trend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/event.h"
#include "core/observer.h"
#include "core/sat.h"
#include "core/session.h"

#define WINDOW_NS	1000000ull	/* the shortest */

struct row {
	uint64_t floor[KMT_TREND_WINDOWS];	/* up to 'last' */
	uint64_t live;				/* since the last change */
	unsigned last;				/* window of that */
};

struct state {
	struct row *v;
	size_t n;
	bool started;
	uint64_t start_ns, width_ns, now_ns;
	uint64_t end_ns;	/* of the window of now: saves a division per event */
	unsigned window;
};

static int grow(struct state *st, size_t need)
{
	size_t n = st->n ? st->n : 256;
	struct row *v;

	if (need <= st->n)
		return 0;
	while (n < need)
		n *= 2;
	v = reallocarray(st->v, n, sizeof(*v));
	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	memset(v + st->n, 0, (n - st->n) * sizeof(*v));
	st->v = v;
	st->n = n;
	return 0;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Of what lies behind the last change only what is live is known, and that is no lower. */
static void join_windows(struct row *r)
{
	for (unsigned k = 0; k <= r->last / 2; k++)
		r->floor[k] = 2 * k == r->last ? r->floor[2 * k] :
			      lower(r->floor[2 * k], r->floor[2 * k + 1]);
	r->last /= 2;
}

/* The window of now; the session's time never goes back. */
static unsigned window_now(struct state *st, const struct kmt_session *s)
{
	uint64_t now = kmt_session_now(s);

	if (!st->started && now) {
		st->started = true;
		st->start_ns = now;
		st->width_ns = WINDOW_NS;
	}
	if (!st->started)
		return 0;
	st->now_ns = now;
	if (now < st->end_ns)
		return st->window;
	while ((now - st->start_ns) / st->width_ns >= KMT_TREND_WINDOWS) {
		for (size_t i = 0; i < st->n; i++)
			join_windows(&st->v[i]);
		st->width_ns *= 2;
	}
	st->window = (now - st->start_ns) / st->width_ns;
	st->end_ns = kmt_sat_add(st->start_ns, (st->window + UINT64_C(1)) * st->width_ns);
	return st->window;
}

static int change(struct state *st, const struct kmt_session *s, size_t i)
{
	unsigned w = window_now(st, s);
	uint64_t live = kmt_counts_live_alloc(&kmt_session_site(s, i)->counts);
	struct row *r;
	int err = grow(st, i + 1);

	if (err)
		return err;
	r = &st->v[i];
	while (r->last < w)
		r->floor[++r->last] = r->live;
	r->live = live;
	r->floor[w] = lower(r->floor[w], live);
	return 0;
}

static int on_alloc(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		    size_t site)
{
	return change(state, s, site);
}

static int on_free(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		   const struct kmt_object *o)
{
	return change(state, s, o->site);
}

static int on_snapshot(void *state, const struct kmt_session *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < kmt_session_n_sites(s); i++)
		err = change(state, s, i);
	return err;
}

static void done(void *state)
{
	free(((struct state *)state)->v);
}

const struct kmt_observer kmt_trend_observer = {
	.state_size = sizeof(struct state),
	.on_alloc = on_alloc,
	.on_free = on_free,
	.on_snapshot = on_snapshot,
	.done = done,
};

static uint64_t floor_of(const struct state *st, const size_t *rows, size_t n, unsigned window)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct row *r = rows[i] < st->n ? &st->v[rows[i]] : NULL;

		if (r)
			sum = kmt_sat_add(sum, window <= r->last ? r->floor[window] : r->live);
	}
	return sum;
}

void kmt_trend_of(const struct kmt_session *s, const size_t *rows, size_t n,
		  struct kmt_trend *ret)
{
	const struct state *st = kmt_session_observed(s, &kmt_trend_observer);
	struct kmt_trend t = { 0 };

	if (st && st->started) {
		t.width_ns = st->width_ns;
		t.windows = (st->now_ns - st->start_ns) / st->width_ns + 1;
		t.first_floor = t.last_floor = floor_of(st, rows, n, 0);
	}
	for (unsigned w = 1; w < t.windows; w++) {
		uint64_t here = floor_of(st, rows, n, w);

		if (here > t.last_floor) {
			t.rose++;
			t.last_rise = w;
		}
		t.fell += here < t.last_floor;
		t.last_floor = here;
	}
	*ret = t;
}
