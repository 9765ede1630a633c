// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects that were given up to a grace period of RCU: freed for whoever
 * counts, their memory not yet.
 *
 *   live ──give up──► awaiting ──free│address handed out again│30 s──► gone
 *
 * An object that waits stays in the table for as long as nothing is heard of
 * it, or the free that comes late would be one of an unknown object. Only what
 * is said to await ends after 30 s, and only when a report is made: the books
 * do not depend on how often they are looked at.
 */
#include <stdbool.h>

#include "core/sat.h"
#include "core/session_priv.h"

/*
 * The kernel hands over its batches after 5 s at the latest (KFREE_DRAIN_JIFFIES)
 * and complains of a grace period that takes 21 s (RCU_CPU_STALL_TIMEOUT): after
 * both together and some seconds for the work itself the memory is back, though
 * nothing said so.
 */
#define GRACE_NS 30000000000ull

bool kmt_rcu_is_over(const struct kmt_session *s, uint64_t since_ns)
{
	return since_ns && kmt_sat_sub(s->now_ns, since_ns) > GRACE_NS;
}

/* The row's counts with all that waits in them, also what is over. */
static struct kmt_counts *unsettle(struct kmt_site_slot *slot)
{
	struct kmt_counts *c = &slot->site.counts;

	c->awaiting = kmt_sat_add(c->awaiting, slot->over);
	c->bytes_awaiting = kmt_sat_add(c->bytes_awaiting, slot->bytes_over);
	slot->over = slot->bytes_over = 0;
	return c;
}

static uint64_t given_bytes(const struct kmt_session *s, const struct kmt_live *o)
{
	uint64_t req, given;

	kmt_objects_bytes(&s->objects, o, &req, &given);
	return given;
}

int kmt_rcu_give_up(struct kmt_session *s, const struct kmt_event *ev, struct kmt_live *o)
{
	struct kmt_object gone = { .addr = o->addr, .birth_ns = o->birth_ns, .site = o->site,
				   .cpu = o->cpu };
	struct kmt_counts *c = unsettle(&s->sites.v[o->site]);

	kmt_objects_bytes(&s->objects, o, &gone.bytes_req, &gone.bytes_alloc);
	kmt_session_take_away(s, o);
	kmt_session_count_free(s, ev, o);
	c->given_up++;
	c->awaiting = kmt_sat_add(c->awaiting, 1);
	c->bytes_awaiting = kmt_sat_add(c->bytes_awaiting, gone.bytes_alloc);
	o->awaiting = 1;
	o->birth_ns = ev->has_time ? ev->ts_ns : 0;
	return kmt_session_tell_free(s, ev, &gone);
}

void kmt_rcu_end(struct kmt_session *s, struct kmt_live *o)
{
	struct kmt_counts *c = unsettle(&s->sites.v[o->site]);

	c->awaiting = kmt_sat_sub(c->awaiting, 1);
	c->bytes_awaiting = kmt_sat_sub(c->bytes_awaiting, given_bytes(s, o));
	kmt_objects_remove(&s->objects, o);
}

/* Older objects have no time each: what was given up by a mark is over a period after it. */
void kmt_rcu_settle_older(struct kmt_session *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->older.n; i++) {
		struct kmt_older *o = &s->older.v[i];

		if (o->mark_ns && kmt_sat_sub(now_ns, o->mark_ns) <= GRACE_NS)
			continue;
		if (o->mark_ns)
			o->settled = o->given_mark;
		o->given_mark = o->given;
		o->mark_ns = now_ns;
	}
}

static void count_over(struct kmt_site_slot *slot, uint64_t bytes)
{
	struct kmt_counts *c = &slot->site.counts;

	if (!c->awaiting)	/* a table that is read while it changes */
		return;
	bytes = bytes < c->bytes_awaiting ? bytes : c->bytes_awaiting;
	c->awaiting--;
	c->bytes_awaiting -= bytes;
	slot->over++;
	slot->bytes_over += bytes;
}

static int settle_counted(void *ctx, const struct kmt_snap_object *o)
{
	struct kmt_session *s = ctx;
	struct kmt_site_slot *slot;

	if (!o->awaiting || !kmt_rcu_is_over(s, o->birth_ns) || o->site >= s->n_site_of ||
	    !s->site_of[o->site])
		return 0;
	slot = &s->sites.v[s->site_of[o->site] - 1];
	count_over(slot, slot->site.key.size ? slot->site.key.size : o->bytes_req);
	return 0;
}

int kmt_session_settle(struct kmt_session *s)
{
	bool events = false, counted = false;

	for (size_t i = 0; i < s->sites.n; i++)
		if (unsettle(&s->sites.v[i])->awaiting)
			*(s->sites.v[i].counted ? &counted : &events) = true;
	for (size_t i = 0; events && i < s->objects.slots; i++) {
		const struct kmt_live *o = &s->objects.v[i];

		if (o->addr && o->awaiting && kmt_rcu_is_over(s, o->birth_ns))
			count_over(&s->sites.v[o->site], given_bytes(s, o));
	}
	return counted && s->each_object ? s->each_object(s->objects_ctx, settle_counted, s) : 0;
}
