// SPDX-License-Identifier: GPL-2.0-only
/* Statistics of a tracer: a session, fed by the source's tables or by its events. */
#include "cmd/tracer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/key.h"
#include "cmd/live.h"
#include "cmd/names.h"
#include "cmd/overruns.h"
#include "core/sat.h"
#include "core/session.h"
#include "report/report.h"
#include "store/recent.h"
#include "symbol/slabs.h"

#define TEMPORARY_NS 1000000
#define TAIL_PERCENT 10		/* as of 'stat --tail' */
#define MAX_OBJECTS 4000000	/* rows of trace_stat/object: a GiB */

void kmt_count_init(struct kmt_count *c)
{
	*c = (struct kmt_count){ 0 };
	pthread_mutex_init(&c->lock, NULL);
}

static void forget_slabs(struct kmt_slabs **slabs)
{
	kmt_slabs_free(*slabs);
	*slabs = NULL;
}

static void forget_run(struct kmt_count *c)
{
	kmt_session_free(take_ptr(c->session));
	kmt_names_drop(take_ptr(c->names));
	forget_slabs(&c->slabs_start);
	forget_slabs(&c->slabs_end);
	free(take_ptr(c->objects));
	c->n_objects = c->cap_objects = 0;
	c->quality = (struct kmt_quality){ 0 };
	memset(c->told, 0, sizeof(c->told));
	c->mark_ns = c->end_ns = c->off_ns = c->off_since_ns = c->not_kept = 0;
	c->fault[0] = '\0';
	c->source = NULL;
}

void kmt_count_done(struct kmt_count *c)
{
	forget_run(c);
	pthread_mutex_destroy(&c->lock);
}

/* Every view's running figures, for any may be asked for. */
static int new_session(const struct kmt_session_opts *opts, struct kmt_session **ret)
{
	struct kmt_session *s;
	int err = kmt_session_new(opts, &s);

	if (err)
		return err;
	for (size_t i = 0; !err && kmt_analyses[i]; i++)
		if (kmt_analyses[i]->observer)
			err = kmt_session_observe(s, kmt_analyses[i]->observer);
	if (err) {
		kmt_session_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

int kmt_count_begin(struct kmt_count *c, const struct kmt_count_opts *opts)
{
	const bool counted = opts->source->ops->counted && opts->source->ops->snapshot;
	const struct kmt_session_opts so = {
		.max_objects = counted ? 0 : opts->objects,
		.max_sites = counted ? 0 : opts->sites,
	};
	struct kmt_session *s;
	int err = new_session(&so, &s);

	if (err)
		return err;
	pthread_mutex_lock(&c->lock);
	forget_run(c);
	c->session = s;
	c->sink = kmt_session_sink(s);
	c->source = opts->source;
	c->counted = counted;
	c->filtered = opts->filtered;
	c->names = opts->names ? kmt_names_get(opts->names) : NULL;
	/* what cannot be had leaves NULL behind: the books say why */
	kmt_slabs_count_now(NULL, false, &c->slabs_start);
	c->off_since_ns = kmt_live_now();
	pthread_mutex_unlock(&c->lock);
	return 0;
}

void kmt_count_switched(struct kmt_count *c, bool on)
{
	const uint64_t now = kmt_live_now();

	pthread_mutex_lock(&c->lock);
	if (on && c->off_since_ns) {
		/* what happened until the events were on for the first time is nobody's */
		if (!c->quality.window_ns && c->slabs_start)
			kmt_slabs_recount(NULL, c->slabs_start);
		else
			c->off_ns += now - c->off_since_ns;
		c->off_since_ns = 0;
	} else if (!on && !c->off_since_ns) {
		c->off_since_ns = now;
	}
	pthread_mutex_unlock(&c->lock);
}

/* ---- taking over; with the lock held ---- */

static int take_over(struct kmt_count *c, const struct kmt_sink *sink)
{
	int err = c->counted ? c->source->ops->snapshot(c->source, sink) : 0;

	c->quality = (struct kmt_quality){ 0 };
	c->source->ops->quality(c->source, &c->quality);
	kmt_session_set_quality(c->session, &c->quality);
	return err;
}

static int keep_object(void *ctx, const struct kmt_snap_object *o)
{
	struct kmt_count *c = ctx;

	if (c->n_objects == c->cap_objects) {
		size_t cap = c->cap_objects ? 2 * c->cap_objects : 4096;
		struct kmt_snap_object *v = reallocarray(c->objects, cap, sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory for live objects");
		c->objects = v;
		c->cap_objects = cap;
	}
	c->objects[c->n_objects++] = *o;
	return 0;
}

static int each_kept(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
		     void *cb_ctx)
{
	const struct kmt_count *c = ctx;
	int res = 0;

	for (size_t i = 0; !res && i < c->n_objects; i++)
		res = cb(cb_ctx, &c->objects[i]);
	return res;
}

/* The last snapshot: its objects are walked when the source is gone. */
static int last_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct kmt_count *c = ctx;
	struct kmt_snapshot copy = *snap;
	int err = 0;

	if (snap->each_object) {
		err = snap->each_object(snap->objects_ctx, keep_object, c);
		copy.each_object = each_kept;
		copy.objects_ctx = c;
	}
	return err ? err : c->sink.snapshot(c->sink.ctx, &copy);
}

void kmt_count_end(struct kmt_count *c)
{
	const struct kmt_sink last = { .snapshot = last_snapshot, .ctx = c };

	pthread_mutex_lock(&c->lock);
	if (c->source) {
		/* without memory for its objects there is nothing left that could be walked */
		if (take_over(c, &last))
			kmt_session_free(take_ptr(c->session));
		c->source = NULL;
		c->end_ns = kmt_live_now();
		if (c->off_since_ns)
			c->off_ns += c->end_ns - c->off_since_ns;
		c->off_since_ns = 0;
		forget_slabs(&c->slabs_end);
		kmt_slabs_count_now(NULL, false, &c->slabs_end);
	}
	pthread_mutex_unlock(&c->lock);
}

/* The tables are the session's: what they had no room for has no record in the stream. */
static void tell_session(struct kmt_count *c, struct kmt_recent *kept)
{
	static const enum kmt_loss reasons[] = { KMT_LOSS_SITES, KMT_LOSS_OBJECTS };
	const struct kmt_sink sink = kmt_recent_sink(kept);
	struct kmt_quality q;

	kmt_session_quality(c->session, &q);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		const enum kmt_loss reason = reasons[i];
		const struct kmt_lost lost = {
			.reason = reason, .cpu = UINT32_MAX,
			.events = q.lost[reason] - c->told[reason], .ts_ns = kmt_live_now(),
		};

		if (q.lost[reason] <= c->told[reason])
			continue;
		c->told[reason] = q.lost[reason];
		sink.lost(sink.ctx, &lost);
	}
}

void kmt_count_tick(struct kmt_count *c, struct kmt_recent *kept, bool must)
{
	if (must)
		pthread_mutex_lock(&c->lock);
	else if (pthread_mutex_trylock(&c->lock))
		return;
	if (c->source) {
		take_over(c, &c->sink);
		if (!c->counted)
			tell_session(c, kept);
	}
	pthread_mutex_unlock(&c->lock);
}

/* ---- reports ---- */

/*
 * With the kernel's own counts of a moment ago, which take long: they are taken
 * before the lock, which whoever reads the events may need. Takes them over.
 */
static int look_now(struct kmt_count *c, struct kmt_slabs **slabs)
{
	int err;

	if (!c->source)
		return 0;
	err = take_over(c, &c->sink);
	kmt_slabs_free(c->slabs_end);
	c->slabs_end = take_ptr(*slabs);
	return err;
}

static void describe(const struct kmt_count *c, struct kmt_analysis_in *in)
{
	const uint64_t now = c->end_ns ? c->end_ns : kmt_live_now();

	*in = (struct kmt_analysis_in){
		.session = c->session,
		.symbols = c->names ? c->names->symbols : NULL,
		.gfp_names = c->names ? c->names->gfp_names : NULL,
		.slabs_start = c->slabs_start,
		.slabs_end = c->slabs_end,
		.command = "mount",
		.temporary_ns = TEMPORARY_NS,
		.interval_ns = c->mark_ns ? now - c->mark_ns + 1 : 0,
		.filtered = c->filtered,
		.tail_percent = TAIL_PERCENT,
		.max_objects = MAX_OBJECTS,
	};
}

static int add_notes(const struct kmt_count *c, struct kmt_report *r)
{
	uint64_t off = c->off_ns + (c->off_since_ns ? kmt_live_now() - c->off_since_ns : 0);
	int err = 0;

	if (off)
		err = kmt_report_note(r, "events were switched off for %" PRIu64 " ms: what was freed "
				      "meanwhile counts as live until its address is handed out again",
				      off / 1000000);
	if (!err && c->fault[0])
		err = kmt_report_note(r, "tracing ended early: %s", c->fault);
	return err;
}

static int make_report(struct kmt_count *c, const struct kmt_analysis *a,
		       struct kmt_slabs **slabs, struct kmt_report **ret)
{
	struct kmt_analysis_in in;
	struct kmt_report *r = NULL;
	int err = look_now(c, slabs);

	if (!err)
		err = kmt_session_settle(c->session);
	if (!err) {
		describe(c, &in);
		err = a->run(&in, &r);
	}
	if (!err)
		err = add_notes(c, r);
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

/* Without the lock. NULL: it does not trace, or they cannot be had. */
static struct kmt_slabs *count_slabs(struct kmt_count *c)
{
	struct kmt_slabs *slabs = NULL;
	bool traces;

	pthread_mutex_lock(&c->lock);
	traces = c->source;
	pthread_mutex_unlock(&c->lock);
	if (traces)
		kmt_slabs_count_now(NULL, false, &slabs);
	return slabs;
}

int kmt_count_report(struct kmt_count *c, const char *analysis, struct kmt_report **ret_report)
{
	const struct kmt_analysis *a = kmt_analysis_find(analysis);
	struct kmt_slabs *slabs;
	int err;

	if (!a)
		return kmt_err(-EINVAL, "there is no analysis '%s'", analysis);
	if (!kmt_key_serves(KMT_BY_SITE, a, false))
		return kmt_err(-EOPNOTSUPP, "analysis '%s' needs rows by %s, and here they are by "
			       "call site", analysis, kmt_key_name(kmt_key_of(a, false)));
	slabs = count_slabs(c);
	pthread_mutex_lock(&c->lock);
	if (c->session)
		err = make_report(c, a, &slabs, ret_report);
	else
		err = kmt_err(-ENODATA, "nothing was traced yet");
	pthread_mutex_unlock(&c->lock);
	kmt_slabs_free(slabs);
	return err;
}

/* Running figures begin anew too, where what is live is known to the source. */
static int renew_session(struct kmt_count *c)
{
	const struct kmt_session_opts so = { 0 };
	struct kmt_session *s;
	struct kmt_sink sink;
	int err = new_session(&so, &s);

	if (err)
		return err;
	sink = kmt_session_sink(s);
	err = c->source->ops->snapshot(c->source, &sink);
	if (err) {
		kmt_session_free(s);
		return err;
	}
	kmt_session_free(c->session);
	c->session = s;
	c->sink = sink;
	kmt_session_set_quality(s, &c->quality);
	return 0;
}

int kmt_count_reset(struct kmt_count *c)
{
	struct kmt_slabs *slabs = count_slabs(c);
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (c->session) {
		err = look_now(c, &slabs);
		if (!err && c->source && c->counted)
			err = renew_session(c);
	}
	if (c->session && !err) {
		kmt_session_mark(c->session);
		c->mark_ns = c->end_ns ? c->end_ns : kmt_live_now();
	}
	pthread_mutex_unlock(&c->lock);
	kmt_slabs_free(slabs);
	return err;
}

void kmt_count_overruns(struct kmt_count *c, struct kmt_buf *out)
{
	struct kmt_quality q = { 0 };

	pthread_mutex_lock(&c->lock);
	if (c->session && c->source)
		take_over(c, &c->sink);
	if (c->session)
		kmt_session_quality(c->session, &q);
	pthread_mutex_unlock(&c->lock);
	kmt_buf_printf(out, "not_kept: %" PRIu64 "\n",
		       __atomic_load_n(&c->not_kept, __ATOMIC_RELAXED));
	kmt_overruns_print(&q, out);
}
