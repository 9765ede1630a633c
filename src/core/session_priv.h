/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside core/ only: what a session is made of. */
#ifndef KMT_CORE_SESSION_PRIV_H
#define KMT_CORE_SESSION_PRIV_H

#include "base/arena.h"
#include "core/object.h"
#include "core/session.h"
#include "core/site_table.h"

#define KMT_OBSERVERS 8

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
	struct kmt_objects objects;	/* of the events */

	struct kmt_observer_slot observers[KMT_OBSERVERS];
	size_t	 n_observers;
	struct kmt_shape_map shapes;	/* of allocations and of frees: each shape is one of them */

	bool	 has_time;
	uint64_t first_ns, now_ns;
	uint64_t live_events;		/* given bytes live, by events */
	uint64_t live_counted;		/* the same at the last snapshot */
	uint64_t objects_counted;	/* live objects then */
	uint64_t peak;

	/* found by the session itself */
	uint64_t events, frees_before_start, untraced_frees, failures, nulls;
	uint64_t no_site, no_object;
	uint64_t told[KMT_LOSS_MAX];	/* through the sink */
	bool	 told_unknown;
	struct kmt_quality q;		/* the source's */

	/* the last snapshot */
	bool	 has_snapshot;
	uint64_t snap_no_site;
	uint32_t *site_of;		/* snapshot's index -> row + 1, 0 = none */
	size_t	 n_site_of;
	int (*each_object)(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
			   void *cb_ctx);
	void	*objects_ctx;
};

void kmt_session_saw_time(struct kmt_session *s, uint64_t ns);
void kmt_session_saw_live(struct kmt_session *s);

/* snapshot.c: the sink's callback */
int kmt_session_snapshot(void *ctx, const struct kmt_snapshot *snap);

#endif
