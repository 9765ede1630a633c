// SPDX-License-Identifier: GPL-2.0-only
#include "core/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/observer.h"
#include "core/sat.h"
#include "core/session_priv.h"

#define ZERO_SIZE_PTR	16	/* what kmalloc(0) returns */

#define DEFAULT_TEMPORARY_NS	1000000
#define DEFAULT_MAX_OBJECTS	(16u << 20)
#define DEFAULT_MAX_SITES	(1u << 20)

int kmt_session_new(const struct kmt_session_opts *opts, struct kmt_session **ret)
{
	struct kmt_session *s = calloc(1, sizeof(*s));

	if (!s)
		return kmt_err(-ENOMEM, "out of memory");
	if (opts)
		s->opts = *opts;
	if (!s->opts.temporary_ns)
		s->opts.temporary_ns = DEFAULT_TEMPORARY_NS;
	if (!s->opts.max_objects)
		s->opts.max_objects = DEFAULT_MAX_OBJECTS;
	if (!s->opts.max_sites)
		s->opts.max_sites = DEFAULT_MAX_SITES;
	s->objects.max = s->opts.max_objects;
	s->sites.max = s->opts.max_sites < KMT_INDEX_MAX ? s->opts.max_sites : KMT_INDEX_MAX;
	s->free_sites.max = s->sites.max;
	*ret = s;
	return 0;
}

void kmt_session_free(struct kmt_session *s)
{
	if (!s)
		return;
	kmt_site_table_done(&s->sites);
	kmt_free_table_done(&s->free_sites);
	kmt_objects_done(&s->objects);
	kmt_older_done(&s->older);
	kmt_cpu_table_done(&s->cpus);
	for (size_t i = 0; i < s->n_observers; i++) {
		if (s->observers[i].ops->done)
			s->observers[i].ops->done(s->observers[i].state);
		free(s->observers[i].state);
	}
	free(s->shapes.row);
	kmt_arena_done(&s->arena);
	free(s->site_of);
	free(s);
}

void kmt_session_saw_time(struct kmt_session *s, uint64_t ns)
{
	if (!ns)
		return;
	if (!s->has_time || ns < s->first_ns)
		s->first_ns = ns;
	if (ns > s->now_ns)	/* a clock that steps back makes nothing younger */
		s->now_ns = ns;
	s->has_time = true;
}

void kmt_session_saw_live(struct kmt_session *s)
{
	uint64_t live = kmt_sat_add(s->live_events, s->live_counted);

	if (live > s->peak)
		s->peak = live;
}

int kmt_session_observe(struct kmt_session *s, const struct kmt_observer *o)
{
	struct kmt_observer_slot *slot = &s->observers[s->n_observers];

	if (kmt_session_observed(s, o))
		return 0;
	if (s->n_observers == KMT_OBSERVERS)
		return kmt_err(-E2BIG, "more than %d views that watch the run", KMT_OBSERVERS);
	slot->state = calloc(1, o->state_size);
	if (!slot->state)
		return kmt_err(-ENOMEM, "out of memory");
	slot->ops = o;
	s->n_observers++;
	return 0;
}

void kmt_session_count_cpus(struct kmt_session *s)
{
	s->cpus.of_events = true;
}

const void *kmt_session_observed(const struct kmt_session *s, const struct kmt_observer *o)
{
	for (size_t i = 0; i < s->n_observers; i++)
		if (s->observers[i].ops == o)
			return s->observers[i].state;
	return NULL;
}

static int count_cpu_alloc(struct kmt_session *s, const struct kmt_event *ev)
{
	struct kmt_cpu_row *row;
	int err = kmt_cpu_table_get(&s->cpus, ev->cpu, ev->type, &row);

	if (err)
		return err;
	row->events.allocs++;
	row->events.bytes_req = kmt_sat_add(row->events.bytes_req, ev->bytes_req);
	row->events.bytes_alloc = kmt_sat_add(row->events.bytes_alloc, ev->bytes_alloc);
	return 0;
}

/* Where the object was allocated is told by its row, where it was freed by the event. */
static int count_cpu_free(struct kmt_session *s, const struct kmt_event *ev,
			  const struct kmt_object *o)
{
	unsigned type = s->sites.v[o->site].site.key.type;
	struct kmt_cpu_row *row;
	int err = kmt_cpu_table_get(&s->cpus, ev->cpu, type, &row);

	if (err)
		return err;
	row->events.frees++;
	row->events.bytes_freed = kmt_sat_add(row->events.bytes_freed, o->bytes_alloc);
	row->events.cross_cpu_frees += o->cpu != (ev->cpu & KMT_LIVE_CPU_MASK);
	row->events.temporary += o->birth_ns && ev->has_time &&
				 kmt_sat_sub(ev->ts_ns, o->birth_ns) < s->opts.temporary_ns;
	return 0;
}

static int tell_alloc(struct kmt_session *s, const struct kmt_event *ev, size_t site)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->n_observers; i++)
		if (s->observers[i].ops->on_alloc)
			err = s->observers[i].ops->on_alloc(s->observers[i].state, s, ev, site);
	return err;
}

int kmt_session_tell_free(struct kmt_session *s, const struct kmt_event *ev,
			  const struct kmt_object *o)
{
	int err = 0;

	if (s->cpus.of_events && ev->op != KMT_OP_ALLOC)
		err = count_cpu_free(s, ev, o);
	for (size_t i = 0; !err && i < s->n_observers; i++)
		if (s->observers[i].ops->on_free)
			err = s->observers[i].ops->on_free(s->observers[i].state, s, ev, o);
	return err;
}

/* Out of the table first: an observer sees the books as they are after the event. */
static int end_object(struct kmt_session *s, const struct kmt_event *ev, struct kmt_live *l)
{
	struct kmt_object o = { .addr = l->addr, .birth_ns = l->birth_ns, .site = l->site,
				.cpu = l->cpu };

	if (s->n_observers || s->cpus.of_events)
		kmt_objects_bytes(&s->objects, l, &o.bytes_req, &o.bytes_alloc);
	kmt_objects_remove(&s->objects, l);
	return kmt_session_tell_free(s, ev, &o);
}

/* Where the row of a shape is kept; NULL: this event has none, or no memory for it. */
static uint32_t *shape_row(struct kmt_session *s, const struct kmt_event *ev)
{
	struct kmt_shape_map *m = &s->shapes;

	if (!ev->shape || s->opts.by_task)
		return NULL;
	if (ev->shape >= m->n) {
		size_t n = (size_t)ev->shape + 1 < 1024 ? 1024 : ((size_t)ev->shape + 1) * 2;
		uint32_t *row = reallocarray(m->row, n, sizeof(*row));

		if (!row)
			return NULL;
		memset(row + m->n, 0, (n - m->n) * sizeof(*row));
		m->row = row;
		m->n = n;
	}
	return &m->row[ev->shape];
}

static void key_of(const struct kmt_session *s, const struct kmt_event *ev,
		   struct kmt_site_key *key)
{
	*key = (struct kmt_site_key){
		.type = ev->type, .cache = ev->cache, .cache_inferred = ev->cache_inferred,
		.call_site = ev->call_site, .call_site_name = ev->call_site_name,
		.migratetype = ev->type == KMT_TYPE_PAGES ? ev->migratetype : 0,
		.size = ev->bytes_alloc > UINT32_MAX ? UINT32_MAX : ev->bytes_alloc,
	};
	if (s->opts.by_task) {
		key->by_task = true;
		key->tgid = ev->tgid ? ev->tgid : ev->pid;
		key->comm = ev->has_task ? ev->comm : NULL;
	} else if (s->opts.by_stack && ev->n_ips) {
		key->ips = ev->ips;
		key->n_ips = ev->n_ips;
	}
	if (ev->type == KMT_TYPE_CACHE && ev->bytes_req <= UINT32_MAX)
		key->object_size = ev->bytes_req;
}

/* The row of an allocation. 1: it has one; 0: the table is full, which was counted. */
static int site_of(struct kmt_session *s, const struct kmt_event *ev, size_t *ret)
{
	uint32_t *row = shape_row(s, ev);
	struct kmt_site_key key;
	struct kmt_site *site;
	int err;

	if (row && *row) {
		*ret = *row - 1;
		site = &s->sites.v[*ret].site;
		if (ev->type == KMT_TYPE_CACHE && site->key.object_size != ev->bytes_req)
			site->key.object_size = 0;
		return 1;
	}
	key_of(s, ev, &key);
	err = kmt_site_table_get(&s->sites, &s->arena, &key, false, ret);
	if (err == -ENOSPC) {
		s->no_site++;
		return 0;
	}
	if (err)
		return err;
	site = &s->sites.v[*ret].site;
	site->gfp |= ev->gfp;
	if (site->key.object_size != key.object_size)
		site->key.object_size = 0;
	if (row)
		*row = (uint32_t)*ret + 1;
	return 1;
}

/* What a free, traced or not, takes away from the object's own row. */
struct kmt_site *kmt_session_take_away(struct kmt_session *s, const struct kmt_live *o)
{
	struct kmt_site *site = &s->sites.v[o->site].site;
	struct kmt_counts *c = &site->counts;
	uint64_t req, given;

	kmt_objects_bytes(&s->objects, o, &req, &given);
	c->bytes_req_freed = kmt_sat_add(c->bytes_req_freed, req);
	c->bytes_alloc_freed = kmt_sat_add(c->bytes_alloc_freed, given);
	s->live_events = kmt_sat_sub(s->live_events, given);
	return site;
}

/* The address is handed out again, so its free fired no event. */
static int close_untraced(struct kmt_session *s, const struct kmt_event *ev)
{
	struct kmt_live *old;
	bool found;

	if (ev->type == KMT_TYPE_PAGES && kmt_pages_exact(s, ev))
		return kmt_pages_end(s, ev, &found);
	old = kmt_objects_find(&s->objects, kmt_object_layer(ev->type), ev->addr);
	if (!old)
		return 0;
	if (old->awaiting) {	/* its free was counted when it was given up */
		kmt_rcu_end(s, old);
		return 0;
	}
	kmt_session_take_away(s, old)->counts.untraced_frees++;
	s->untraced_frees++;
	return end_object(s, ev, old);
}

static void track(struct kmt_session *s, const struct kmt_event *ev, size_t i)
{
	struct kmt_counts *c = &s->sites.v[i].site.counts;
	struct kmt_live live = {
		.addr = ev->addr,
		.birth_ns = ev->has_time ? ev->ts_ns : 0, .site = i,
		.cpu = ev->cpu & KMT_LIVE_CPU_MASK, .layer = kmt_object_layer(ev->type),
	};
	uint64_t now;

	if (!kmt_objects_insert(&s->objects, &live, ev->bytes_req, ev->bytes_alloc)) {
		c->untracked++;
		c->bytes_req_untracked = kmt_sat_add(c->bytes_req_untracked, ev->bytes_req);
		c->bytes_alloc_untracked = kmt_sat_add(c->bytes_alloc_untracked, ev->bytes_alloc);
		s->no_object++;
		return;
	}
	now = kmt_counts_live_alloc(c);
	if (now > c->peak_bytes)
		c->peak_bytes = now;
	s->live_events = kmt_sat_add(s->live_events, ev->bytes_alloc);
	kmt_session_saw_live(s);
}

static int on_alloc(struct kmt_session *s, const struct kmt_event *ev)
{
	struct kmt_counts *c;
	size_t i;
	int res = 0;

	if (ev->addr && ev->addr <= ZERO_SIZE_PTR) {
		s->nulls++;
		return 0;
	}
	if (ev->addr)
		res = close_untraced(s, ev);
	if (!res)
		res = site_of(s, ev, &i);
	if (res <= 0)
		return res;
	c = &s->sites.v[i].site.counts;
	if (!ev->addr) {
		c->failures++;
		s->failures++;
		return 0;
	}
	c->allocs++;
	c->bytes_req = kmt_sat_add(c->bytes_req, ev->bytes_req);
	c->bytes_alloc = kmt_sat_add(c->bytes_alloc, ev->bytes_alloc);
	track(s, ev, i);
	if (s->cpus.of_events)
		res = count_cpu_alloc(s, ev);
	if (res < 0)
		return res;
	return s->n_observers ? tell_alloc(s, ev, i) : 0;
}

static int count_free_site(struct kmt_session *s, const struct kmt_event *ev)
{
	struct kmt_free_site key = { .call_site = ev->call_site, .name = ev->call_site_name,
				     .type = ev->type };
	uint32_t *row = shape_row(s, ev);
	size_t i;
	int err;

	if (row && *row) {
		s->free_sites.v[*row - 1].site.frees++;
		return 0;
	}
	err = kmt_free_table_get(&s->free_sites, &s->arena, &key, false, &i);
	if (!err) {
		s->free_sites.v[i].site.frees++;
		if (row)
			*row = (uint32_t)i + 1;
	}
	if (err == -ENOSPC) {
		s->no_site++;
		return 0;
	}
	return err;
}

/* Buckets of 1.024 us by powers of two. */
static unsigned lifetime_bucket(uint64_t ns)
{
	uint64_t units = ns >> 10;
	unsigned bucket = units ? 63 - (unsigned)__builtin_clzll(units) : 0;

	return bucket < KMT_LIFETIMES ? bucket : KMT_LIFETIMES - 1;
}

void kmt_session_count_free(struct kmt_session *s, const struct kmt_event *ev,
			    const struct kmt_live *o)
{
	struct kmt_site *site = &s->sites.v[o->site].site;

	site->counts.frees++;
	if (o->cpu != (ev->cpu & KMT_LIVE_CPU_MASK))
		site->counts.cross_cpu_frees++;
	if (o->birth_ns && ev->has_time) {
		uint64_t age = kmt_sat_sub(ev->ts_ns, o->birth_ns);

		site->lifetimes[lifetime_bucket(age)]++;
		if (age < s->opts.temporary_ns)
			site->counts.temporary++;
	}
}

static int on_free_pages(struct kmt_session *s, const struct kmt_event *ev)
{
	bool found = false;
	int err = kmt_pages_end(s, ev, &found);

	s->frees_before_start += !err && !found;
	return err;
}

/* Of what is not live: before the start, or given up a second time. */
static int on_unknown(struct kmt_session *s, const struct kmt_event *ev, struct kmt_live *o)
{
	struct kmt_older *older;
	int err;

	*(ev->op == KMT_OP_GIVE_UP ? &s->given_up_before_start : &s->frees_before_start) += 1;
	if (o)	/* what happened in between was not seen; the wait begins anew */
		o->birth_ns = ev->has_time ? ev->ts_ns : 0;
	if (o || ev->type > KMT_TYPE_CACHE || ev->op != KMT_OP_FREE)
		return 0;
	err = kmt_older_get(&s->older, &s->arena, ev->cache, &older);
	if (!err)
		older->events = kmt_sat_add(older->events, 1);
	return err;
}

static int on_free(struct kmt_session *s, const struct kmt_event *ev)
{
	bool is_exact = ev->type == KMT_TYPE_PAGES && kmt_pages_exact(s, ev);
	struct kmt_live *o = NULL;
	int err;

	if (ev->addr <= ZERO_SIZE_PTR) {
		s->nulls++;
		return 0;
	}
	if (!is_exact)
		o = kmt_objects_find(&s->objects, kmt_object_layer(ev->type), ev->addr);
	if (o && o->awaiting && ev->op == KMT_OP_FREE) {	/* counted when it was given up */
		kmt_rcu_end(s, o);
		return 0;
	}
	err = count_free_site(s, ev);
	if (err)
		return err;
	if (is_exact)
		return on_free_pages(s, ev);
	if (!o || o->awaiting)
		return on_unknown(s, ev, o);
	if (ev->op == KMT_OP_GIVE_UP)
		return kmt_rcu_give_up(s, ev, o);
	kmt_session_take_away(s, o);
	kmt_session_count_free(s, ev, o);
	return end_object(s, ev, o);
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct kmt_session *s = ctx;

	s->events++;
	if (ev->has_time)
		kmt_session_saw_time(s, ev->ts_ns);
	if (ev->op == KMT_OP_GIVE_UP && ev->type == KMT_TYPE_PAGES) {
		struct kmt_event ended = *ev;

		ended.op = KMT_OP_FREE;	/* pages are not given up in this way */
		return on_free(s, &ended);
	}
	return ev->op == KMT_OP_ALLOC ? on_alloc(s, ev) : on_free(s, ev);
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct kmt_session *s = ctx;
	unsigned reason = lost->reason;

	if (reason >= KMT_LOSS_MAX)
		return kmt_err(-EINVAL, "loss of unknown kind %u", reason);
	if (!lost->events)
		s->told_unknown = true;
	s->told[reason] = kmt_sat_add(s->told[reason], lost->events ? lost->events : 1);
	kmt_session_saw_time(s, lost->ts_ns);
	return 0;
}

static void on_soon(void *ctx, uint8_t type, uint64_t addr)
{
	const struct kmt_session *s = ctx;

	kmt_objects_soon(&s->objects, kmt_object_layer(type), addr);
}

struct kmt_sink kmt_session_sink(struct kmt_session *s)
{
	return (struct kmt_sink){ .event = on_event, .lost = on_lost, .soon = on_soon,
				  .snapshot = kmt_session_snapshot, .ctx = s };
}

void kmt_session_mark(struct kmt_session *s)
{
	for (size_t i = 0; i < s->sites.n; i++) {
		struct kmt_site *site = &s->sites.v[i].site;

		site->base = site->counts;
		memcpy(site->lifetimes_base, site->lifetimes, sizeof(site->lifetimes));
	}
	for (size_t i = 0; i < s->free_sites.n; i++)
		s->free_sites.v[i].site.base = s->free_sites.v[i].site.frees;
	kmt_cpu_table_mark(&s->cpus);
}
