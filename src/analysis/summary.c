// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/summary.h"

#include <errno.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/group.h"
#include "analysis/losses.h"
#include "analysis/memory.h"
#include "analysis/notes.h"
#include "analysis/unload.h"
#include "base/err.h"
#include "core/quality.h"
#include "core/sat.h"
#include "core/session.h"
#include "report/report.h"

int64_t kmt_cell_value(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* What the summary is made of; sums over all rows. */
struct sums {
	struct kmt_counts window, now, base;
	uint64_t free_calls;	/* frees by freeing site, of known objects or not */
	uint64_t sites, window_ns;
	bool has_objects;
};

static int sum_up(const struct kmt_analysis_in *in, const struct kmt_quality *q, struct sums *ret)
{
	const struct kmt_session *s = in->session;
	struct kmt_groups g;
	int err = kmt_groups_make(in, KMT_GROUP_SITE, &g);

	if (err)
		return err;
	*ret = (struct sums){ .sites = g.n, .has_objects = kmt_session_has_objects(s),
			      .window_ns = in->interval_ns ? in->interval_ns : q->window_ns };
	kmt_groups_done(&g);
	for (size_t i = 0; i < kmt_session_n_sites(s); i++) {
		const struct kmt_site *site = kmt_session_site(s, i);
		struct kmt_counts c;

		kmt_window_counts(in, site, &c);
		kmt_counts_add(&ret->window, &c);
		kmt_counts_add(&ret->now, &site->counts);
		if (in->interval_ns)
			kmt_counts_add(&ret->base, &site->base);
	}
	for (size_t i = 0; i < kmt_session_n_free_sites(s); i++) {
		const struct kmt_free_site *f = kmt_session_free_site(s, i);

		ret->free_calls += kmt_sat_sub(f->frees, in->interval_ns ? f->base : 0);
	}
	return 0;
}

static int add(struct kmt_fields *f, const char *key, const char *title, enum kmt_unit unit,
	       bool known, uint64_t v)
{
	int err = kmt_fields_int(f, key, title, unit, known ? kmt_cell_value(v) : 0);

	if (!err)
		f->v[f->n - 1].cell.is_null = !known;
	return err;
}

/* What is there most often is nothing: text has it only if there is something. */
static int add_quiet(struct kmt_fields *f, const char *key, const char *title, enum kmt_unit unit,
		     bool known, uint64_t v)
{
	int err = add(f, key, title, unit, known, v);

	if (!err)
		f->v[f->n - 1].quiet = true;
	return err;
}

/* Per second; live bytes can also become fewer. */
static int add_growth(struct kmt_fields *f, const struct sums *s)
{
	uint64_t now = kmt_counts_live_alloc(&s->now), was = kmt_counts_live_alloc(&s->base);
	__int128 growth = (__int128)now - was;
	bool known = s->has_objects && s->window_ns;
	int err;

	if (known)
		growth = growth * 1000000000 / s->window_ns;
	growth = growth > INT64_MAX ? INT64_MAX : growth < INT64_MIN ? INT64_MIN : growth;
	err = kmt_fields_int(f, "growth_bytes_per_s", "growth", KMT_UNIT_BYTES_PER_S,
			     known ? (int64_t)growth : 0);
	if (!err)
		f->v[f->n - 1].cell.is_null = !known;
	return err;
}

static int add_waste(struct kmt_fields *f, const struct sums *s)
{
	uint64_t given = kmt_counts_live_alloc(&s->now);
	uint64_t waste = kmt_sat_sub(given, kmt_counts_live_req(&s->now));
	bool known = s->has_objects && given;
	int err = add(f, "waste_bytes", "waste", KMT_UNIT_BYTES, s->has_objects, waste);

	if (!err)
		err = kmt_fields_percent(f, "waste_percent", "waste of live",
					 known ? 100.0 * (double)waste / (double)given : 0);
	if (!err)
		f->v[f->n - 1].cell.is_null = !known;
	return err;
}

#define COUNT	KMT_UNIT_COUNT
#define BYTES	KMT_UNIT_BYTES

static int fill_summary(const struct kmt_analysis_in *in, const struct kmt_quality *q,
			const struct sums *s, struct kmt_fields *f)
{
	const struct kmt_counts *w = &s->window, *now = &s->now;
	bool counted = !strcmp(q->mode, "counted"), objects = s->has_objects;
	uint64_t frees = objects ? w->frees : s->free_calls;
	uint64_t events = in->interval_ns ? w->allocs + s->free_calls + w->failures : q->events;
	uint64_t temporary_ns = in->temporary_ns ? in->temporary_ns : 1000000;

	if (add(f, "events", "events", COUNT, true, events) ||
	    add(f, "allocs", "allocations", COUNT, true, w->allocs) ||
	    add(f, "frees", "frees", COUNT, true, frees) ||
	    add(f, "live_objects", "live objects", COUNT, objects, kmt_counts_live(now)) ||
	    add(f, "live_bytes_requested", "live, requested", BYTES, objects,
		kmt_counts_live_req(now)) ||
	    add(f, "live_bytes_allocated", "live, given", BYTES, objects,
		kmt_counts_live_alloc(now)) ||
	    add_quiet(f, "awaiting_rcu", "awaiting RCU", COUNT, objects, now->awaiting) ||
	    add_quiet(f, "bytes_awaiting_rcu", "awaiting RCU, given", BYTES, objects,
		      now->bytes_awaiting) ||
	    add_growth(f, s) ||
	    add(f, "bytes_requested", "requested", BYTES, true, w->bytes_req) ||
	    add(f, "bytes_allocated", "given", BYTES, true, w->bytes_alloc) ||
	    add_waste(f, s) ||
	    add(f, "peak_bytes_allocated", counted ? "highest live seen" : "peak, given", BYTES,
		objects, kmt_session_peak(in->session)) ||
	    add(f, "cross_cpu_frees", "cross-CPU frees", COUNT, objects, w->cross_cpu_frees) ||
	    add(f, "temporary", "temporary", COUNT, objects, w->temporary) ||
	    add(f, "temporary_threshold_ns", "temporary is below", KMT_UNIT_NS, true,
		temporary_ns) ||
	    add(f, "failures", "failures", COUNT, true, w->failures))
		return -ENOMEM;
	return add(f, "sites", "call sites", COUNT, true, s->sites);
}

static int fill_quality(const struct kmt_quality *q, struct kmt_fields *f)
{
	if (kmt_fields_text(f, "source", "source", *q->source ? q->source : NULL) ||
	    kmt_fields_text(f, "mode", "mode", *q->mode ? q->mode : NULL) ||
	    kmt_fields_text(f, "kernel", "kernel", *q->kernel ? q->kernel : NULL) ||
	    (*q->functions && kmt_fields_text(f, "functions", "functions", q->functions)) ||
	    add(f, "window_ns", "window", KMT_UNIT_NS, q->window_ns != 0, q->window_ns) ||
	    add(f, "events", "events", COUNT, true, q->events) ||
	    kmt_losses_fill(q, f) ||
	    add(f, "sample_bytes", "bytes between samples", BYTES, true, q->sample_bytes) ||
	    add(f, "table_bytes", "tables and rings", BYTES, true, q->table_bytes) ||
	    add(f, "objects_capacity", "object table rows", COUNT, true, q->objects_capacity))
		return -ENOMEM;
	if (add(f, "clock_resolution_ns", "resolution of ages", KMT_UNIT_NS,
		q->clock_resolution_ns != 0, q->clock_resolution_ns))
		return -ENOMEM;
	return add(f, "hashed_addresses", "addresses are hashes", COUNT, true,
		   q->hashed_addresses);
}

int kmt_summary_fill(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	struct kmt_quality q;
	struct sums sums;
	int err;

	kmt_session_quality(in->session, &q);
	err = sum_up(in, &q, &sums);
	if (err)
		return err;
	r->window_ns = sums.window_ns;
	if (*q.kernel) {
		r->kernel = strdup(q.kernel);
		if (!r->kernel)
			return kmt_err(-ENOMEM, "out of memory");
	}
	err = fill_summary(in, &q, &sums, &r->summary);
	if (!err)
		err = kmt_memory_fill(in, r);
	if (!err)
		err = fill_quality(&q, &r->quality);
	if (!err)
		err = kmt_unload_fill(in, r);
	return err ? err : kmt_notes_fill(in, &q, r);
}
