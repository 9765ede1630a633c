// SPDX-License-Identifier: GPL-2.0-only
/* The reading half of a session. */
#include "core/session.h"

#include "core/sat.h"
#include "core/session_priv.h"

size_t kmt_session_n_sites(const struct kmt_session *s)
{
	return s->sites.n;
}

const struct kmt_site *kmt_session_site(const struct kmt_session *s, size_t i)
{
	return &s->sites.v[i].site;
}

size_t kmt_session_n_free_sites(const struct kmt_session *s)
{
	return s->free_sites.n;
}

const struct kmt_free_site *kmt_session_free_site(const struct kmt_session *s, size_t i)
{
	return &s->free_sites.v[i].site;
}

uint64_t kmt_session_now(const struct kmt_session *s)
{
	return s->now_ns;
}

uint64_t kmt_session_page_size(const struct kmt_session *s)
{
	return s->pages.unit;
}

bool kmt_session_older_at(const struct kmt_session *s, size_t i, struct kmt_snap_older *ret)
{
	const struct kmt_older *o = &s->older.v[i];

	if (i >= s->older.n)
		return false;
	*ret = (struct kmt_snap_older){
		.cache = o->cache,
		.frees = kmt_sat_add(o->counted, o->events),
		.own_allocs = o->own,
		.given_up = kmt_sat_sub(o->given, o->settled),
	};
	return true;
}

bool kmt_session_has_older(const struct kmt_session *s)
{
	return !s->has_snapshot || s->has_older;
}

bool kmt_session_has_cpus(const struct kmt_session *s)
{
	return s->has_snapshot ? s->cpus.of_snapshot : s->cpus.of_events;
}

bool kmt_session_cpu_at(const struct kmt_session *s, size_t i, bool since_mark,
			struct kmt_snap_cpu *ret)
{
	return kmt_cpu_table_at(&s->cpus, i, since_mark, ret);
}

void kmt_session_total(const struct kmt_session *s, struct kmt_counts *ret)
{
	struct kmt_counts sum = { 0 };

	for (size_t i = 0; i < s->sites.n; i++)
		kmt_counts_add(&sum, &s->sites.v[i].site.counts);
	sum.peak_bytes = s->peak;
	*ret = sum;
}

uint64_t kmt_session_peak(const struct kmt_session *s)
{
	return s->peak;
}

bool kmt_session_has_objects(const struct kmt_session *s)
{
	return !s->has_snapshot || s->each_object;
}

void kmt_session_set_quality(struct kmt_session *s, const struct kmt_quality *q)
{
	s->q = *q;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void kmt_session_quality(const struct kmt_session *s, struct kmt_quality *ret)
{
	struct kmt_quality q = s->q;
	uint64_t no_site = kmt_sat_add(s->no_site, s->snap_no_site);

	/* these the source may have counted too, as the same events */
	q.events = larger(q.events, s->events);
	q.frees_before_start = larger(q.frees_before_start, s->frees_before_start);
	q.given_up_before_start = larger(q.given_up_before_start, s->given_up_before_start);
	q.untraced_frees = larger(q.untraced_frees, s->untraced_frees);
	q.failed_allocations = larger(q.failed_allocations, s->failures);
	q.null_frees = larger(q.null_frees, s->nulls);
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		q.lost[i] = larger(q.lost[i], s->told[i]);
	/* these are rows of tables of our own */
	q.lost[KMT_LOSS_SITES] = kmt_sat_add(q.lost[KMT_LOSS_SITES], no_site);
	q.lost[KMT_LOSS_OBJECTS] = kmt_sat_add(q.lost[KMT_LOSS_OBJECTS], s->no_object);
	q.lost_unknown |= s->told_unknown;
	if (!q.window_ns && s->has_time)
		q.window_ns = s->now_ns - s->first_ns;
	*ret = q;
}

struct walk {
	const struct kmt_session *s;
	int (*cb)(void *ctx, const struct kmt_object *o);
	void *ctx;
};

/* An object of the kernel's table. One whose site is newer than the snapshot is not told. */
static int walk_counted(void *ctx, const struct kmt_snap_object *snap)
{
	const struct walk *w = ctx;
	struct kmt_object o = { .addr = snap->addr, .bytes_req = snap->bytes_req,
				.birth_ns = snap->birth_ns, .cpu = snap->cpu,
				.awaiting = snap->awaiting };
	uint32_t size;

	if (o.awaiting && kmt_rcu_is_over(w->s, o.birth_ns))
		return 0;
	if (snap->site >= w->s->n_site_of || !w->s->site_of[snap->site])
		return 0;
	o.site = w->s->site_of[snap->site] - 1;
	size = w->s->sites.v[o.site].site.key.size;
	o.bytes_alloc = size ? size : o.bytes_req;
	return w->cb(w->ctx, &o);
}

int kmt_session_each_object(const struct kmt_session *s,
			    int (*cb)(void *ctx, const struct kmt_object *o), void *ctx)
{
	struct walk w = { .s = s, .cb = cb, .ctx = ctx };

	for (size_t i = 0; s->objects.v && i < s->objects.slots; i++) {
		const struct kmt_live *l = &s->objects.v[i];
		struct kmt_object o = { .addr = l->addr, .birth_ns = l->birth_ns,
					.site = l->site, .cpu = l->cpu, .awaiting = l->awaiting };
		int res;

		if (!l->addr || l->layer == KMT_LIVE_SPLIT)
			continue;
		if (l->awaiting && kmt_rcu_is_over(s, l->birth_ns))
			continue;
		kmt_objects_bytes(&s->objects, l, &o.bytes_req, &o.bytes_alloc);
		if (l->layer == KMT_LIVE_PART)
			o.bytes_req = o.bytes_alloc;
		res = cb(ctx, &o);
		if (res)
			return res;
	}
	return s->each_object ? s->each_object(s->objects_ctx, walk_counted, &w) : 0;
}
