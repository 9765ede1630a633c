/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside core/ only: what a session is made of. */
#ifndef KMT_CORE_SESSION_PRIV_H
#define KMT_CORE_SESSION_PRIV_H

#include "base/arena.h"
#include "core/cpus.h"
#include "core/object.h"
#include "core/older.h"
#include "core/session.h"
#include "core/site_table.h"

#define KMT_OBSERVERS 8

/*
 * What the session knows of the page layer beyond single blocks (pages.c):
 * blocks that were given back in part.
 */
struct kmt_page_layer {
	uint64_t unit;		/* page size as the events show it, 0 = not yet known */
	uint32_t orders;	/* bit k: a block of order k was ever live */
	uint64_t splits;	/* blocks split so far: their numbers */
};

struct kmt_observer_slot {
	const struct kmt_observer *ops;
	void *state;
};

/* Row of each of a source's shapes, +1; 0 = not seen yet. */
struct kmt_shape_map {
	uint32_t *row;
	size_t n;
};

struct kmt_session {
	struct kmt_session_opts opts;
	struct kmt_arena arena;		/* strings and frames of the rows */
	struct kmt_site_table sites;
	struct kmt_free_table free_sites;
	struct kmt_older_table older;
	struct kmt_cpu_table cpus;
	struct kmt_objects objects;	/* of the events */
	struct kmt_page_layer pages;

	struct kmt_observer_slot observers[KMT_OBSERVERS];
	size_t	 n_observers;
	struct kmt_shape_map shapes;	/* of allocations and of frees: each shape is one of them */

	bool	 has_time;
	uint64_t first_ns, now_ns;
	uint64_t live_events;		/* given bytes live, by events */
	uint64_t live_counted;		/* the same at the last snapshot */
	uint64_t peak;

	/* found by the session itself */
	uint64_t events, frees_before_start, given_up_before_start, untraced_frees, failures, nulls;
	uint64_t no_site, no_object;
	uint64_t told[KMT_LOSS_MAX];	/* through the sink */
	bool	 told_unknown;
	struct kmt_quality q;		/* the source's */

	/* the last snapshot */
	bool	 has_snapshot;
	bool	 has_older;		/* it counted frees of older objects by cache */
	uint64_t snap_no_site;
	uint32_t *site_of;		/* snapshot's index -> row + 1, 0 = none */
	size_t	 n_site_of;
	int (*each_object)(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
			   void *cb_ctx);
	void	*objects_ctx;
};

void kmt_session_saw_time(struct kmt_session *s, uint64_t ns);
void kmt_session_saw_live(struct kmt_session *s);

/* session.c: the object's bytes are live no more; returns its row */
struct kmt_site *kmt_session_take_away(struct kmt_session *s, const struct kmt_live *o);
/* session.c: an object's end by a traced free, in its row; its bytes are taken away already */
void kmt_session_count_free(struct kmt_session *s, const struct kmt_event *ev,
			    const struct kmt_live *o);
int kmt_session_tell_free(struct kmt_session *s, const struct kmt_event *ev,
			  const struct kmt_object *o);

/* rcu.c: a live object is given up, and told to the observers */
int kmt_rcu_give_up(struct kmt_session *s, const struct kmt_event *ev, struct kmt_live *o);
/* rcu.c: its wait has an end: out of the table */
void kmt_rcu_end(struct kmt_session *s, struct kmt_live *o);
/* rcu.c: after a snapshot of this time: which older objects have certainly passed theirs? */
void kmt_rcu_settle_older(struct kmt_session *s, uint64_t now_ns);
/* rcu.c: has the grace period of what was given up at this time certainly passed? 0: unknown */
bool kmt_rcu_is_over(const struct kmt_session *s, uint64_t since_ns);

/* pages.c: does the event say exactly which page frames it is about? */
bool kmt_pages_exact(struct kmt_session *s, const struct kmt_event *ev);
/*
 * End what is live in the event's frames, whole blocks or parts: by its free,
 * or (an allocation) because they are handed out again. *ret: there was any.
 */
int kmt_pages_end(struct kmt_session *s, const struct kmt_event *ev, bool *ret);

/* snapshot.c: the sink's callback */
int kmt_session_snapshot(void *ctx, const struct kmt_snapshot *snap);

#endif
