// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/group.h"
#include "analysis/summary.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/session.h"
#include "report/report.h"

#define MAX_ID 65536	/* higher numbers are nobody's: they count as unknown */

void kmt_places_done(struct kmt_places *p)
{
	free(p->v);
	*p = (struct kmt_places){ 0 };
}

struct kmt_place *kmt_places_at(struct kmt_places *p, int64_t id, unsigned layer)
{
	size_t at = id < 0 || id >= MAX_ID ? 0 : (size_t)id + 1, n = p->n ? p->n : 16 * KMT_LAYERS;
	struct kmt_place *v;

	at = at * KMT_LAYERS + layer;
	while (n <= at)
		n *= 2;
	if (n > p->n) {
		v = reallocarray(p->v, n, sizeof(*v));
		if (!v)
			return NULL;
		memset(v + p->n, 0, (n - p->n) * sizeof(*v));
		p->v = v;
		p->n = n;
	}
	return &p->v[at];
}

static bool is_used(const struct kmt_place *p)
{
	return kmt_cpu_counts_any(&p->window) || p->live_objects || p->awaiting || p->untraced ||
	       p->asked || p->placed;
}

const struct kmt_place *kmt_places_each(const struct kmt_places *p, size_t i, int64_t *ret_id,
					unsigned *ret_layer)
{
	*ret_id = (int64_t)(i / KMT_LAYERS) - 1;
	*ret_layer = i % KMT_LAYERS;
	return is_used(&p->v[i]) ? &p->v[i] : NULL;
}

struct walk {
	struct kmt_places *places;
	const struct kmt_analysis_in *in;
	const struct kmt_places_how *how;
};

static int on_object(void *ctx, const struct kmt_object *o)
{
	const struct walk *w = ctx;
	uint8_t type = kmt_session_site(w->in->session, o->site)->key.type;
	int64_t at = w->how->of_object(w->in, o), by = w->how->of_cpu(w->in, o->cpu);
	struct kmt_place *p = kmt_places_at(w->places, at, kmt_places_layer(type));

	if (!p)
		return kmt_err(-ENOMEM, "out of memory");
	if (o->awaiting) {
		p->awaiting++;
		p->bytes_awaiting += o->bytes_alloc;
		return 0;
	}
	p->live_objects++;
	p->live_bytes += o->bytes_alloc;
	if (at >= 0 && by >= 0 && at != by)
		p->remote_bytes += o->bytes_alloc;
	return 0;
}

static int add_counts(const struct walk *w)
{
	struct kmt_snap_cpu c;

	for (size_t i = 0; kmt_session_cpu_at(w->in->session, i, w->in->interval_ns, &c); i++) {
		struct kmt_place *p;

		if (!kmt_cpu_counts_any(&c.counts))
			continue;
		p = kmt_places_at(w->places, c.cpu == KMT_CPU_NONE ? -1 :
				  w->how->of_cpu(w->in, c.cpu), kmt_places_layer(c.type));
		if (!p)
			return kmt_err(-ENOMEM, "out of memory");
		kmt_cpu_counts_add(&p->window, &c.counts);
	}
	return 0;
}

/* Frees that no event told, in the place without a number. */
static int add_untraced(struct kmt_places *p, const struct kmt_analysis_in *in)
{
	for (size_t i = 0; i < kmt_session_n_sites(in->session); i++) {
		const struct kmt_site *site = kmt_session_site(in->session, i);
		struct kmt_counts window;
		struct kmt_place *place;

		kmt_window_counts(in, site, &window);
		if (!window.untraced_frees)
			continue;
		place = kmt_places_at(p, -1, kmt_layer_of(&site->key));
		if (!place)
			return kmt_err(-ENOMEM, "out of memory");
		place->untraced = kmt_sat_add(place->untraced, window.untraced_frees);
	}
	return 0;
}

int kmt_places_gather(struct kmt_places *p, const struct kmt_analysis_in *in,
		      const struct kmt_places_how *how)
{
	struct walk w = { .places = p, .in = in, .how = how };
	int err = kmt_session_each_object(in->session, on_object, &w);

	err = err ? err : add_counts(&w);
	if (!err && kmt_session_has_objects(in->session))
		err = add_untraced(p, in);
	return err;
}

void kmt_places_fill_live(const struct kmt_places_columns *c, const struct kmt_place *p,
			  struct kmt_cell *cells)
{
	kmt_cell_int(&cells[c->live], kmt_cell_value(p->live_bytes));
	kmt_cell_int(&cells[c->objects], kmt_cell_value(p->live_objects));
	kmt_cell_int(&cells[c->rcu], kmt_cell_value(p->awaiting));
	kmt_cell_int(&cells[c->rcu_bytes], kmt_cell_value(p->bytes_awaiting));
}

/* How many per second of the report's window; unknown without one. */
static void fill_rate(const struct kmt_analysis_in *in, uint64_t n, struct kmt_cell *cell)
{
	uint64_t ns = in->interval_ns;
	struct kmt_quality q;

	if (!ns) {
		kmt_session_quality(in->session, &q);
		ns = q.window_ns;
	}
	if (ns)
		kmt_cell_int(cell, (int64_t)((double)n * 1e9 / (double)ns));
}

void kmt_places_fill_counts(const struct kmt_places_columns *c, const struct kmt_analysis_in *in,
			    const struct kmt_place *p, struct kmt_cell *cells)
{
	const struct kmt_cpu_counts *n = &p->window;

	kmt_cell_int(&cells[c->allocs], kmt_cell_value(n->allocs));
	kmt_cell_int(&cells[c->given], kmt_cell_value(n->bytes_alloc));
	fill_rate(in, n->allocs, &cells[c->alloc_rate]);
	if (!kmt_session_has_objects(in->session))
		return;
	kmt_cell_int(&cells[c->frees], kmt_cell_value(n->frees));
	kmt_cell_int(&cells[c->freed], kmt_cell_value(n->bytes_freed));
	fill_rate(in, n->frees, &cells[c->free_rate]);
}

unsigned kmt_places_layer(uint8_t type)
{
	return kmt_layer_of(&(struct kmt_site_key){ .type = type });
}
