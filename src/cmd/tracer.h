/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One tracer of the tracing directory. Inside cmd/tracer*.c only.
 *
 *   control   held while a setting is changed, which may take a second
 *   lock      held for moments: what readers look at
 *   count     has a lock of its own: statistics, and the source they come from
 *   run       has one too: the polling thread
 *
 * They are taken in this order; no two of the last three at once.
 */
#ifndef KMT_CMD_TRACER_H
#define KMT_CMD_TRACER_H

#include <pthread.h>

#include "cmd/text.h"
#include "cmd/tracers.h"
#include "core/filter.h"
#include "core/quality.h"
#include "core/snapshot.h"
#include "source/source.h"

struct kmt_buf;
struct kmt_gfp_names;
struct kmt_recent;
struct kmt_report;
struct kmt_session;
struct kmt_slabs;

/* ---- statistics: cmd/tracer_count.c ---- */

struct kmt_count {
	pthread_mutex_t lock;
	struct kmt_source *source;	/* borrowed; NULL: it does not trace */
	bool counted;			/* the source keeps the books, else the session */
	struct kmt_session *session;	/* of the last run; NULL: it never traced */
	struct kmt_sink sink;		/* of the session */
	struct kmt_quality quality;	/* the source's, at the last look */
	bool filtered;
	struct kmt_names *names;
	struct kmt_slabs *slabs_start, *slabs_end;
	uint64_t mark_ns;		/* of the last reset; 0: none since the start */
	uint64_t end_ns;		/* 0: it has not ended */
	uint64_t off_since_ns, off_ns;	/* while events were switched off: since when; in all */
	uint64_t told[KMT_LOSS_MAX];	/* of the session's own tables: overflow records made */
	uint64_t not_kept;		/* events, for want of memory; atomic */
	char fault[KMT_SOURCE_WHY];	/* that ended the run; "" */
	/* live objects at the end, when the source is closed */
	struct kmt_snap_object *objects;
	size_t n_objects, cap_objects;
};

void kmt_count_init(struct kmt_count *c);
void kmt_count_done(struct kmt_count *c);
struct kmt_count_opts {
	struct kmt_source *source;	/* open, not started */
	struct kmt_names *names;
	bool filtered;
	uint64_t objects, sites;	/* rows, where the session has the tables; 0: its default */
};
/* A new run: statistics begin anew. */
int kmt_count_begin(struct kmt_count *c, const struct kmt_count_opts *opts);
/* The events are on now, or off. */
void kmt_count_switched(struct kmt_count *c, bool on);
/*
 * The source has stopped and was drained, and is closed next. Also of one that
 * was never started, or not begun.
 */
void kmt_count_end(struct kmt_count *c);
/*
 * Take over what was counted so far; 'kept' gets the overflow records of the
 * session's tables. Unless it must be, it is left for the next time when somebody
 * makes a report: events do not wait for that.
 */
void kmt_count_tick(struct kmt_count *c, struct kmt_recent *kept, bool must);
int kmt_count_report(struct kmt_count *c, const char *analysis, struct kmt_report **ret_report);
int kmt_count_reset(struct kmt_count *c);
/* What kmt_overruns_print() says, and what was not kept. */
void kmt_count_overruns(struct kmt_count *c, struct kmt_buf *out);

/* ---- the polling thread: cmd/tracer_run.c ---- */

struct kmt_selection;

struct kmt_poller {
	pthread_mutex_t lock;
	pthread_cond_t cond;		/* something below has changed; CLOCK_MONOTONIC */
	pthread_t thread;
	bool has_thread;
	struct kmt_selection *selection;	/* what the source borrows, and the source */
	bool want_on, want_end;
	bool is_on;
	uint64_t begun, done;		/* looks at the source */
	int err;			/* of the last switching on */
	char err_text[KMT_SOURCE_WHY];
};

struct kmt_tracer;

void kmt_poller_init(struct kmt_poller *p);
void kmt_poller_done(struct kmt_poller *p);
/* All with 'control' held. Open a source by the settings and start; a run before is ended. */
int kmt_tracer_start(struct kmt_tracer *t);
/* Everything is closed then; kept events and statistics stay. */
void kmt_tracer_stop(struct kmt_tracer *t);
/* Of a run: events on or off. */
int kmt_tracer_switch(struct kmt_tracer *t, bool on);
/* Wait until what has happened so far was looked at; for moments, and never long. Any thread. */
void kmt_tracer_sync(struct kmt_tracer *t);

/* ---- the tracer ---- */

struct kmt_settings {
	uint64_t buffer_kb;		/* per CPU */
	uint64_t objects_kb, sites;	/* 0: by the machine */
	char *pids, *caches, *caches_not;	/* lists, blanks between; never NULL */
	struct kmt_look look;
	bool is_on;
};

struct kmt_tracer {
	struct kmt_tracers *all;
	struct kmt_tracer *next;
	pthread_mutex_t control, lock;
	struct kmt_settings set;	/* written with both locks held */
	bool traces;			/* the same: is it kmemtrace, or nop */
	struct kmt_names *names;	/* the same: of the last run; NULL: there was none */
	struct kmt_recent *kept;
	pthread_mutex_t pipe_lock;
	struct kmt_pipe *pipe;
	struct kmt_poller run;
	struct kmt_count count;
};

struct kmt_tracers {
	struct kmt_tracers_opts opts;
	pthread_mutex_t lock;		/* of the list */
	pthread_mutex_t opening;	/* libraries have one state for all sources */
	struct kmt_tracer *first;
	struct kmt_names *names;	/* the last ones; with 'opening' held */
	uint64_t ram_bytes;
	uint32_t n_cpus;
};

/* Empty the kept events and the pipe. Any thread. */
void kmt_tracer_forget(struct kmt_tracer *t);

/* cmd/tracer_knobs.c */
int kmt_settings_init(struct kmt_settings *s);
void kmt_settings_done(struct kmt_settings *s);
int kmt_knob_get(void *tracer, int knob, struct kmt_buf *out);
int kmt_knob_set(void *tracer, int knob, const char *value);

/* Rows of a live-object table of so many KiB. */
uint64_t kmt_objects_of_kb(uint64_t kb);
uint64_t kmt_buffer_bytes(const struct kmt_tracers *all, uint64_t kb);

#endif
