// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/group.h"
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

void kmt_places_add_object(struct kmt_place *p, const struct kmt_object *o)
{
	if (o->awaiting) {
		p->awaiting++;
		p->bytes_awaiting += o->bytes_alloc;
	} else {
		p->live_objects++;
		p->live_bytes += o->bytes_alloc;
	}
}

int kmt_places_add_untraced(struct kmt_places *p, const struct kmt_analysis_in *in)
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

void kmt_places_rate(const struct kmt_analysis_in *in, uint64_t n, struct kmt_cell *cell)
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

unsigned kmt_places_layer(uint8_t type)
{
	return kmt_layer_of(&(struct kmt_site_key){ .type = type });
}
