// SPDX-License-Identifier: GPL-2.0-only
/* A tracer's source, from opening to closing, and the thread that reads it. */
#include "cmd/tracer.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/live.h"
#include "cmd/names.h"
#include "store/recent.h"
#include "symbol/slabs.h"

#define LOOK_NS		5000000ull	/* between looks at the source */
#define TICK_NS		100000000ull	/* between looks at the books: how exact peaks are */
#define SYNC_NS		2000000000ull	/* a reader waits no longer than that */
#define NSEC		1000000000ull
/* Below, a table as memory may be less than a kernel's hash map can be made for: as rows then. */
#define HASHED_KB	8

void kmt_poller_init(struct kmt_poller *p)
{
	pthread_condattr_t attr;

	*p = (struct kmt_poller){ 0 };
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->cond, &attr);
	pthread_condattr_destroy(&attr);
}

void kmt_poller_done(struct kmt_poller *p)
{
	pthread_cond_destroy(&p->cond);
	pthread_mutex_destroy(&p->lock);
}

/* With p->lock held: until somebody changes something, or this time has come. */
static int wait_until(struct kmt_poller *p, uint64_t ns)
{
	const struct timespec ts = { .tv_sec = (time_t)(ns / NSEC), .tv_nsec = (long)(ns % NSEC) };

	return pthread_cond_timedwait(&p->cond, &p->lock, &ts);
}

/* ---- what is traced ---- */

struct kmt_selection {
	char *exprs[3 * KMT_FILTER_MAX + 3];	/* which the filter borrows from */
	size_t n_exprs;
	struct kmt_filter filter;
	struct kmt_slabs *slabs;
	struct kmt_names *names;
	struct kmt_source *source;
};

static void selection_free(struct kmt_selection *s)
{
	if (!s)
		return;
	if (s->source)
		s->source->ops->close(s->source);
	for (size_t i = 0; i < s->n_exprs; i++)
		free(s->exprs[i]);
	kmt_slabs_free(s->slabs);
	kmt_names_drop(s->names);
	free(s);
}

static int add_expr(struct kmt_selection *s, const char *key, const char *value, size_t len)
{
	struct kmt_buf b = { 0 };
	int res;

	if (s->n_exprs == sizeof(s->exprs) / sizeof(s->exprs[0]))
		return kmt_err(-E2BIG, "too many filters");
	kmt_buf_printf(&b, "%s%.*s", key, (int)len, value);
	s->exprs[s->n_exprs] = kmt_buf_take(&b);
	if (!s->exprs[s->n_exprs])
		return kmt_err_errno(-ENOMEM, "filters");
	res = kmt_filter_add(&s->filter, s->exprs[s->n_exprs++]);
	return res < 0 ? res : 0;
}

static int add_list(struct kmt_selection *s, const char *key, const char *list)
{
	int err = 0;

	while (!err && *(list += strspn(list, " "))) {
		size_t len = strcspn(list, " ");

		err = add_expr(s, key, list, len);
		list += len;
	}
	return err;
}

static int open_source(struct kmt_tracer *t, struct kmt_selection *s)
{
	const struct kmt_settings *set = &t->set;
	const struct kmt_source_opts opts = {
		.mode = KMT_MODE_STREAMED, .books = true, .key = KMT_BY_SITE,
		.filter = &s->filter, .symbols = s->names->symbols, .slabs = s->slabs,
		.objects = kmt_objects_of_kb(set->objects_kb),
		.objects_bytes = set->objects_kb >= HASHED_KB ? set->objects_kb * 1024 : 0,
		.sites = set->sites,
		.want_task = true, .want_cache = true, .want_stacks = set->look.stacks,
		.own = t->all->opts.own, .threads = true,
	};
	const char *name = t->all->opts.source;
	const struct kmt_source_ops *ops = name ? kmt_source_find(name) : NULL;
	char why[KMT_SOURCE_WHY];

	if (!name)
		return kmt_source_open_live(&opts, &s->source, why);
	if (!ops || !ops->live)
		return kmt_err(-EINVAL, "there is no live source '%s'", name);
	return ops->open(&opts, &s->source);
}

/* With the lock of all openings held. */
static int fill_selection(struct kmt_tracer *t, struct kmt_selection *s)
{
	struct kmt_names *names = NULL;
	int err = add_list(s, "pid=", t->set.pids);

	if (!err)
		err = add_list(s, "cache=", t->set.caches);
	if (!err)
		err = add_list(s, "cache!=", t->set.caches_not);
	if (!err)
		err = kmt_names_load(t->all->names, &names);
	if (err)
		return err;
	kmt_names_drop(t->all->names);
	t->all->names = names;
	s->names = kmt_names_get(names);
	/* without them there are no cache names and no aliases */
	kmt_slabs_load(NULL, &s->slabs);
	return open_source(t, s);
}

static int new_selection(struct kmt_tracer *t, struct kmt_selection **ret)
{
	struct kmt_selection *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return kmt_err_errno(-ENOMEM, "tracer");
	pthread_mutex_lock(&t->all->opening);
	err = fill_selection(t, s);
	pthread_mutex_unlock(&t->all->opening);
	if (err) {
		selection_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

static void close_selection(struct kmt_tracer *t)
{
	pthread_mutex_lock(&t->all->opening);
	selection_free(take_ptr(t->run.selection));
	pthread_mutex_unlock(&t->all->opening);
}

/* ---- the thread ---- */

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct kmt_tracer *t = ctx;
	const struct kmt_sink kept = kmt_recent_sink(t->kept);
	struct kmt_count *c = &t->count;
	int err = kept.event(kept.ctx, ev);

	if (!c->counted && c->sink.event(c->sink.ctx, ev))
		err = -ENOMEM;
	if (err)	/* the next one may find room */
		__atomic_add_fetch(&c->not_kept, 1, __ATOMIC_RELAXED);
	return 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct kmt_tracer *t = ctx;
	const struct kmt_sink kept = kmt_recent_sink(t->kept);
	struct kmt_count *c = &t->count;

	kept.lost(kept.ctx, lost);
	if (!c->counted)
		c->sink.lost(c->sink.ctx, lost);
	return 0;
}

static void note_fault(struct kmt_tracer *t)
{
	pthread_mutex_lock(&t->count.lock);
	snprintf(t->count.fault, sizeof(t->count.fault), "%s", kmt_err_text());
	pthread_mutex_unlock(&t->count.lock);
}

/* One look; false: the source can no more. */
static bool look(struct kmt_tracer *t)
{
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = t };
	struct kmt_source *source = t->run.selection->source;
	const bool shared = !t->count.counted;
	int n;

	/* what keeps the books itself can be read while they are */
	if (shared)
		pthread_mutex_lock(&t->count.lock);
	n = source->ops->poll(source, &sink, 0);
	if (shared)
		pthread_mutex_unlock(&t->count.lock);
	if (n >= 0 || n == -EINTR || n == -ENODATA)
		return true;
	note_fault(t);
	return false;
}

/* Off, and everything that is still buffered taken in. */
static void switch_off(struct kmt_tracer *t)
{
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = t };
	struct kmt_source *source = t->run.selection->source;
	int n;

	pthread_mutex_lock(&t->count.lock);
	source->ops->stop(source);
	do
		n = source->ops->poll(source, &sink, 0);
	while (n > 0);
	pthread_mutex_unlock(&t->count.lock);
	kmt_count_switched(&t->count, false);
	kmt_count_tick(&t->count, t->kept, true);
}

static int switch_on(struct kmt_tracer *t)
{
	struct kmt_source *source = t->run.selection->source;
	int err;

	pthread_mutex_lock(&t->count.lock);
	err = source->ops->start(source);
	pthread_mutex_unlock(&t->count.lock);
	if (!err)
		kmt_count_switched(&t->count, true);
	return err;
}

/* Signals are the main thread's; the lowest real-time priority, for the reader decides what is lost. */
static void set_up_thread(const struct kmt_tracer *t)
{
	const struct sched_param p = { .sched_priority = 1 };
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	if (t->all->opts.realtime)
		pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
}

/* With run.lock held, which is given up meanwhile: do what is wanted. */
static void follow(struct kmt_tracer *t)
{
	struct kmt_poller *p = &t->run;
	const bool on = p->want_on && !p->want_end;
	int err = 0;

	pthread_mutex_unlock(&p->lock);
	if (on)
		err = switch_on(t);
	else
		switch_off(t);
	pthread_mutex_lock(&p->lock);
	p->is_on = on && !err;
	p->err = err;
	if (err) {
		p->want_on = false;
		snprintf(p->err_text, sizeof(p->err_text), "%s", kmt_err_text());
	}
	pthread_cond_broadcast(&p->cond);
}

/* The same: one look, and the books now and then. */
static void take_a_look(struct kmt_tracer *t, uint64_t *tick)
{
	struct kmt_poller *p = &t->run;
	bool good;

	p->begun++;
	pthread_mutex_unlock(&p->lock);
	good = look(t);
	if (kmt_live_now() >= *tick) {
		kmt_count_tick(&t->count, t->kept, false);
		*tick = kmt_live_now() + TICK_NS;
	}
	pthread_mutex_lock(&p->lock);
	p->done = p->begun;
	if (!good)
		p->want_on = false;
	pthread_cond_broadcast(&p->cond);
}

static void *poller_main(void *ctx)
{
	struct kmt_tracer *t = ctx;
	struct kmt_poller *p = &t->run;
	uint64_t tick = 0;

	set_up_thread(t);
	pthread_mutex_lock(&p->lock);
	while (!p->want_end || p->is_on) {
		if (p->is_on != (p->want_on && !p->want_end)) {
			follow(t);
		} else if (p->is_on) {
			uint64_t next;

			take_a_look(t, &tick);
			next = kmt_live_now() + LOOK_NS;
			while (p->want_on && !p->want_end && !wait_until(p, next))
				;
		} else {
			pthread_cond_wait(&p->cond, &p->lock);
		}
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- control ---- */

int kmt_tracer_switch(struct kmt_tracer *t, bool on)
{
	struct kmt_poller *p = &t->run;
	int err;

	pthread_mutex_lock(&p->lock);
	p->err = 0;
	p->want_on = on;
	pthread_cond_broadcast(&p->cond);
	while (p->has_thread && p->is_on != p->want_on)
		pthread_cond_wait(&p->cond, &p->lock);
	err = p->err ? kmt_err(p->err, "%s", p->err_text) : 0;
	pthread_mutex_unlock(&p->lock);
	return err;
}

static void end_thread(struct kmt_poller *p)
{
	pthread_mutex_lock(&p->lock);
	p->want_end = true;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	if (p->has_thread)
		pthread_join(p->thread, NULL);
	pthread_mutex_lock(&p->lock);
	p->has_thread = p->want_end = p->want_on = p->is_on = false;
	pthread_mutex_unlock(&p->lock);
}

void kmt_tracer_stop(struct kmt_tracer *t)
{
	end_thread(&t->run);
	kmt_count_end(&t->count);
	close_selection(t);
	pthread_mutex_lock(&t->lock);
	t->traces = false;
	pthread_mutex_unlock(&t->lock);
}

static int begin(struct kmt_tracer *t)
{
	struct kmt_poller *p = &t->run;
	const struct kmt_count_opts opts = {
		.source = p->selection->source, .names = p->selection->names,
		.filtered = !kmt_filter_empty(&p->selection->filter),
		.objects = kmt_objects_of_kb(t->set.objects_kb), .sites = t->set.sites,
	};
	int err = kmt_count_begin(&t->count, &opts);

	if (err)
		return err;
	err = -pthread_create(&p->thread, NULL, poller_main, t);
	if (err)
		return kmt_err_errno(err, "tracing thread");
	pthread_mutex_lock(&p->lock);
	p->has_thread = true;
	pthread_mutex_unlock(&p->lock);
	return t->set.is_on ? kmt_tracer_switch(t, true) : 0;
}

int kmt_tracer_start(struct kmt_tracer *t)
{
	struct kmt_selection *s = NULL;
	int err = new_selection(t, &s);

	if (err)
		return err;
	kmt_tracer_stop(t);
	t->run.selection = s;
	err = begin(t);
	if (err) {
		char text[KMT_SOURCE_WHY];

		snprintf(text, sizeof(text), "%s", kmt_err_text());
		kmt_tracer_stop(t);
		return kmt_err(err, "%s", text);
	}
	pthread_mutex_lock(&t->lock);
	t->traces = true;
	kmt_names_drop(t->names);
	t->names = kmt_names_get(s->names);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

void kmt_tracer_sync(struct kmt_tracer *t)
{
	const uint64_t end = kmt_live_now() + SYNC_NS;
	struct kmt_poller *p = &t->run;
	uint64_t due;

	pthread_mutex_lock(&p->lock);
	/* what was written a moment ago a source may hand on only with the look after the next */
	due = p->begun + 2;
	while (p->is_on && p->done < due && wait_until(p, end) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&p->lock);
}
