/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything seen so far. One writer (the sink), then read-only.
 *
 *   events ───► object table ──► sites, free sites ─┐
 *   snapshots ─────────────────► sites, free sites ─┴─► analyses (const)
 */
#ifndef KMT_CORE_SESSION_H
#define KMT_CORE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/quality.h"
#include "core/site.h"
#include "core/snapshot.h"

struct kmt_session_opts {
	bool by_stack;			/* events: key rows by their call chain */
	bool by_task;
	uint64_t temporary_ns;		/* 0 = 1 ms */
	uint64_t max_objects;		/* live objects kept, 0 = 16 Mi; above: counted as lost */
	uint64_t max_sites;		/* 0 = 1 Mi */
};

struct kmt_session;

int kmt_session_new(const struct kmt_session_opts *opts, struct kmt_session **ret);
void kmt_session_free(struct kmt_session *s);

/*
 * The sink that feeds it; valid as long as the session. Every event is exactly
 * one of: allocation, free of a tracked object (giving it up to RCU is one),
 * free of an unknown one (frees_before_start, also of what the object table had
 * no room for), giving up of such a one or of what was given up already
 * (given_up_before_start), failed allocation (address 0), null (NULL or
 * ZERO_SIZE_PTR, freed or handed out), the late free of what was given up, or lost
 * because the site table is full. (A free whose freeing site finds no row is a
 * free all the same, and counted among the lost sites besides.) Rows fed by events
 * and rows fed by snapshots are kept apart.
 */
struct kmt_sink kmt_session_sink(struct kmt_session *s);

struct kmt_observer;

/*
 * Let an observer see every event from here on. The same one twice is one.
 * 0 or -ENOMEM.
 */
int kmt_session_observe(struct kmt_session *s, const struct kmt_observer *o);
/* The observer's state; NULL if it was not hung on this session. */
const void *kmt_session_observed(const struct kmt_session *s, const struct kmt_observer *o);

/*
 * The sources' counts of losses, misses and so on, and what is reported of
 * them: what both may have counted (events, failures, null, unknown and
 * untraced frees, losses told through the sink) is the larger of the two
 * numbers; rows that the session's own tables had no room for are added to
 * the source's; the rest is the source's word. A window the source does not
 * know is the time from the first event to the last.
 */
void kmt_session_set_quality(struct kmt_session *s, const struct kmt_quality *q);
void kmt_session_quality(const struct kmt_session *s, struct kmt_quality *ret);

/*
 * Before a report: what was given up to RCU so long ago that its memory is
 * certainly back awaits no more (kmt_counts.awaiting, and the walk of objects).
 * By the time of the events, and for the report only: a later one may find it
 * freed or handed out again as before. 0, or the error of the source's walk.
 */
int kmt_session_settle(struct kmt_session *s);

/* From here on kmt_site.base holds today's counts: the start of an interval. */
void kmt_session_mark(struct kmt_session *s);

size_t kmt_session_n_sites(const struct kmt_session *s);
const struct kmt_site *kmt_session_site(const struct kmt_session *s, size_t i);
size_t kmt_session_n_free_sites(const struct kmt_session *s);
const struct kmt_free_site *kmt_session_free_site(const struct kmt_session *s, size_t i);

/* Latest time seen in an event or snapshot, CLOCK_MONOTONIC of the traced machine; 0 unknown. */
uint64_t kmt_session_now(const struct kmt_session *s);
/* Of the machine whose page events were seen; 0: none were. */
uint64_t kmt_session_page_size(const struct kmt_session *s);
/* Sum over all sites; the peak is kmt_session_peak(). */
void kmt_session_total(const struct kmt_session *s, struct kmt_counts *ret);
/* Highest total of live given bytes: at any event, or at any snapshot. */
uint64_t kmt_session_peak(const struct kmt_session *s);
/*
 * Are live objects known? Without them frees cannot be told by site, and live
 * counts and ages are unknown.
 */
bool kmt_session_has_objects(const struct kmt_session *s);

/*
 * What belongs to no row, one cache after the other, since the start; false: no
 * more. The unknown cache is NULL.
 */
bool kmt_session_older_at(const struct kmt_session *s, size_t i, struct kmt_snap_older *ret);
/* false: the source has not counted it. */
bool kmt_session_has_older(const struct kmt_session *s);

/*
 * Count events by CPU too, from here on; a snapshot's rows of CPUs are kept in any
 * case.
 */
void kmt_session_count_cpus(struct kmt_session *s);
/* false: nobody counted by CPU. */
bool kmt_session_has_cpus(const struct kmt_session *s);
/* One CPU and type after the other, in all or since the mark; false: no more. */
bool kmt_session_cpu_at(const struct kmt_session *s, size_t i, bool since_mark,
			struct kmt_snap_cpu *ret);

struct kmt_object {
	uint64_t addr;
	uint64_t bytes_req;
	uint64_t bytes_alloc;
	uint64_t birth_ns;		/* 0 unknown */
	size_t	 site;			/* kmt_session_site() */
	uint32_t cpu;
	bool	 awaiting;		/* given up to RCU, at birth_ns: not live */
};
/* Walk the live objects and those that await RCU; cb returns nonzero to stop, which is returned. */
int kmt_session_each_object(const struct kmt_session *s,
			    int (*cb)(void *ctx, const struct kmt_object *o), void *ctx);

#endif
