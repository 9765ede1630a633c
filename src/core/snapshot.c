// SPDX-License-Identifier: GPL-2.0-only
/* The books as the kernel side keeps them, taken over into a session. */
#include "core/observer.h"
#include "core/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/sat.h"
#include "core/session_priv.h"

/* A source's rows are few; this only keeps a wrong index from taking all memory. */
#define MAX_INDEX (1u << 24)

/* Counts are cumulative: everything counted so far is said again. */
static void forget_counted(struct kmt_session *s)
{
	for (size_t i = 0; i < s->sites.n; i++) {
		struct kmt_site_slot *slot = &s->sites.v[i];

		if (!slot->counted)
			continue;
		slot->site.counts = (struct kmt_counts){ 0 };
		slot->site.closed = 0;
		slot->over = slot->bytes_over = 0;
		memset(slot->site.lifetimes, 0, sizeof(slot->site.lifetimes));
	}
	for (size_t i = 0; i < s->free_sites.n; i++)
		if (s->free_sites.v[i].counted)
			s->free_sites.v[i].site.frees = 0;
	for (size_t i = 0; i < s->older.n; i++)
		s->older.v[i].counted = s->older.v[i].own = s->older.v[i].given = 0;
	for (size_t i = 0; i < s->cpus.n; i++)
		s->cpus.v[i].counted = (struct kmt_cpu_counts){ 0 };
	s->snap_no_site = 0;
	if (s->site_of)
		memset(s->site_of, 0, s->n_site_of * sizeof(*s->site_of));
}

static int name_index(struct kmt_session *s, uint32_t index, size_t row)
{
	size_t n = s->n_site_of ? s->n_site_of : 1024;
	uint32_t *bigger;

	if (index >= MAX_INDEX)
		return kmt_err(-EINVAL, "snapshot: site index %u out of range", index);
	while (n <= index)
		n *= 2;
	if (n > s->n_site_of) {
		bigger = reallocarray(s->site_of, n, sizeof(*bigger));
		if (!bigger)
			return kmt_err(-ENOMEM, "out of memory");
		memset(bigger + s->n_site_of, 0, (n - s->n_site_of) * sizeof(*bigger));
		s->site_of = bigger;
		s->n_site_of = n;
	}
	s->site_of[index] = row + 1;
	return 0;
}

/* Two of the source's rows can be one of ours (a cache made anew under its old name). */
static int take_site(struct kmt_session *s, const struct kmt_snap_site *snap)
{
	const struct kmt_counts *c = &snap->counts;
	struct kmt_site *site;
	size_t row;
	int err = kmt_site_table_get(&s->sites, &s->arena, &snap->key, true, &row);

	if (err == -ENOSPC) {
		s->snap_no_site = kmt_sat_add(s->snap_no_site, kmt_sat_add(c->allocs, c->failures));
		return 0;
	}
	if (err)
		return err;
	site = &s->sites.v[row].site;
	kmt_counts_add(&site->counts, c);
	site->gfp |= snap->gfp;
	site->closed = kmt_sat_add(site->closed, snap->closed);
	for (int i = 0; i < KMT_LIFETIMES; i++)
		site->lifetimes[i] = kmt_sat_add(site->lifetimes[i], snap->lifetimes[i]);
	return name_index(s, snap->index, row);
}

static int take_free_site(struct kmt_session *s, const struct kmt_snap_free_site *snap)
{
	struct kmt_free_site key = { .call_site = snap->call_site, .type = snap->type };
	struct kmt_free_site *site;
	size_t row;
	int err = kmt_free_table_get(&s->free_sites, &s->arena, &key, true, &row);

	if (err == -ENOSPC) {
		s->snap_no_site = kmt_sat_add(s->snap_no_site, snap->frees);
		return 0;
	}
	if (err)
		return err;
	site = &s->free_sites.v[row].site;
	site->frees = kmt_sat_add(site->frees, snap->frees);
	return 0;
}

static int take_older(struct kmt_session *s, const struct kmt_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_older; i++) {
		struct kmt_older *o;
		int err = kmt_older_get(&s->older, &s->arena, snap->older[i].cache, &o);

		if (err)
			return err;
		o->counted = kmt_sat_add(o->counted, snap->older[i].frees);
		o->own = kmt_sat_add(o->own, snap->older[i].own_allocs);
		o->given = kmt_sat_add(o->given, snap->older[i].given_up);
	}
	kmt_rcu_settle_older(s, snap->now_ns);
	s->has_older = snap->has_older;
	return 0;
}

static int take_cpus(struct kmt_session *s, const struct kmt_snapshot *snap)
{
	s->cpus.of_snapshot = snap->cpus;
	for (size_t i = 0; i < snap->n_cpus; i++) {
		const struct kmt_snap_cpu *c = &snap->cpus[i];
		struct kmt_cpu_row *row;
		int err = kmt_cpu_table_get(&s->cpus, c->cpu, c->type, &row);

		if (err)
			return err;
		kmt_cpu_counts_add(&row->counted, &c->counts);
	}
	return 0;
}

/* The peak of what is counted is the highest seen so far, here or by the source. */
static void see_peaks(struct kmt_session *s)
{
	s->live_counted = 0;
	for (size_t i = 0; i < s->sites.n; i++) {
		struct kmt_site_slot *slot = &s->sites.v[i];
		struct kmt_counts *c = &slot->site.counts;
		uint64_t live = kmt_counts_live_alloc(c);

		if (!slot->counted)
			continue;
		if (live > c->peak_bytes)
			c->peak_bytes = live;
		if (slot->peak_seen > c->peak_bytes)
			c->peak_bytes = slot->peak_seen;
		slot->peak_seen = c->peak_bytes;
		s->live_counted = kmt_sat_add(s->live_counted, live);
	}
	kmt_session_saw_live(s);
}

int kmt_session_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct kmt_session *s = ctx;
	int err;

	forget_counted(s);
	for (size_t i = 0; i < snap->n_sites; i++) {
		err = take_site(s, &snap->sites[i]);
		if (err)
			return err;
	}
	for (size_t i = 0; i < snap->n_free_sites; i++) {
		err = take_free_site(s, &snap->free_sites[i]);
		if (err)
			return err;
	}
	err = take_older(s, snap);
	if (!err)
		err = take_cpus(s, snap);
	if (err)
		return err;
	see_peaks(s);
	kmt_session_saw_time(s, snap->now_ns);
	s->has_snapshot = true;
	s->each_object = snap->each_object;
	s->objects_ctx = snap->objects_ctx;
	err = 0;
	for (size_t i = 0; !err && i < s->n_observers; i++)
		if (s->observers[i].ops->on_snapshot)
			err = s->observers[i].ops->on_snapshot(s->observers[i].state, s);
	return err;
}
