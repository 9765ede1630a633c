/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Running figures that an analysis needs beyond the books: what was live at the
 * peak, how the footprint went over time. 'cmd' hangs the observers of the
 * chosen views on the session before the first event.
 *
 *   event ──► session (books) ──► observer: the books already hold the event
 */
#ifndef KMT_CORE_OBSERVER_H
#define KMT_CORE_OBSERVER_H

#include <stddef.h>

struct kmt_event;
struct kmt_object;
struct kmt_session;

struct kmt_observer {
	size_t state_size;	/* zeroed memory, owned by the session */
	/*
	 * After a successful allocation was counted against row 'site'; also of
	 * one that the object table had no room for. 0 or a negative errno, which
	 * ends the run. Any callback may be NULL.
	 */
	int (*on_alloc)(void *state, const struct kmt_session *s, const struct kmt_event *ev,
			size_t site);
	/*
	 * After an object's end was counted. ev is its free, or what gave it up to
	 * RCU (the free that follows is no second end), or the allocation that
	 * handed its address out again (ev->op tells: an untraced free).
	 */
	int (*on_free)(void *state, const struct kmt_session *s, const struct kmt_event *ev,
		       const struct kmt_object *o);
	/* After a snapshot replaced the counted rows (counted mode has no events). */
	int (*on_snapshot)(void *state, const struct kmt_session *s);
	void (*done)(void *state);
};

#endif
