// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/mount_session.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "cmd/overruns.h"
#include "cmd/tracer.h"
#include "cmd/view.h"
#include "cmd/watch.h"
#include "control/control.h"
#include "core/session.h"
#include "report/report.h"

static const char no_events[] = "# tracer: kmemtrace\n#\n"
				"# a session keeps no events: see trace_stat/\n";

/* A session is opened anew for each look: 'kmemtrace reset' may have put another in its place. */
struct kmt_mount_session {
	const char *name;
	pthread_mutex_t lock;	/* one look at a time: libraries have one state */
};

/* Nobody is told what is wrong: whoever reads the file gets the errno. */
static int open_session(struct kmt_ask *ask)
{
	struct kmt_kept k = KMT_KEPT_NONE;
	int err = kmt_kept_place(&k);

	err = err ? err : kmt_kept_source(&ask->select, &k);
	kmt_kept_done(&k);
	return err;
}

/* What is done with a view that has read the session. */
typedef int (*look_fn)(struct kmt_view *v, void *arg);

static int look_view(struct kmt_ask *ask, struct kmt_view *v, look_fn fn, void *arg)
{
	struct kmt_watch w = { .view = v };
	struct kmt_source_opts so;
	int err = open_session(ask);

	err = err ? err : kmt_kept_view(ask);
	if (err)
		return err;
	if (!ask->by)
		ask->by = "site,cache";
	if (kmt_view_init(v, ask, "mount", "") ||
	    kmt_select_prepare(&ask->select, "mount") || kmt_view_session(v))
		return kmt_err(-EINVAL, "the session cannot be shown");
	kmt_view_source_opts(v, &so);
	if (kmt_select_open(&ask->select, &so))
		return kmt_err(-EINVAL, "the session cannot be shown");
	err = kmt_watch_session(&w);
	return err ? err : fn(v, arg);
}

static int look(struct kmt_mount_session *s, const char *analysis, look_fn fn, void *arg)
{
	struct kmt_view v = { 0 };
	struct kmt_ask ask;
	int err;

	pthread_mutex_lock(&s->lock);
	kmt_ask_init(&ask, analysis);
	ask.limit = 0;
	ask.select.session = s->name;
	err = look_view(&ask, &v, fn, arg);
	kmt_view_done(&v);
	kmt_select_done(&ask.select);
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* ---- what the tree asks ---- */

static int op_make(void *ctx, const char *name, void **ret_tracer)
{
	if (*name)
		return kmt_err(-EPERM, "this directory shows one session");
	*ret_tracer = ctx;
	return 0;
}

static void op_end(void *tracer)
{
}

/* It may have been stopped meanwhile. */
static bool is_there(const char *name)
{
	struct kmt_kept k = KMT_KEPT_NONE;
	bool there = !kmt_kept_place(&k) && kmt_kept_exists(&k, name);

	kmt_kept_done(&k);
	return there;
}

static void print_words(const struct kmt_globs *g, struct kmt_buf *out)
{
	for (size_t i = 0; i < g->n; i++)
		kmt_buf_printf(out, "%s%s", i ? " " : "", g->v[i]);
}

static void print_pids(const struct kmt_filter *f, struct kmt_buf *out)
{
	for (size_t i = 0; i < f->n_tgid; i++)
		kmt_buf_printf(out, "%s%u", out->len ? " " : "", f->tgid[i]);
	for (size_t i = 0; i < f->n_pid; i++)
		kmt_buf_printf(out, "%s%u", out->len ? " " : "", f->pid[i]);
}

/* As it was started, by what its description says. */
static void print_setting(const struct kmt_source *src, enum kmt_knob knob, struct kmt_buf *out)
{
	const struct kmt_kept_ask *ask = kmt_kept_ask_of(src);
	struct kmt_filter f = { 0 };
	uint64_t sites, object_bytes;

	for (size_t i = 0; i < ask->filters.n; i++)
		kmt_filter_add(&f, ask->filters.v[i]);
	kmt_kept_sizes(src, &sites, &object_bytes);
	if (knob == KMT_KNOB_EVENT_PID)
		print_pids(&f, out);
	else if (knob == KMT_KNOB_CACHE_FILTER)
		print_words(&f.cache, out);
	else if (knob == KMT_KNOB_CACHE_NOTRACE)
		print_words(&f.cache_not, out);
	else if (knob == KMT_KNOB_OBJECT_TABLE_KB)
		kmt_buf_printf(out, "%" PRIu64, object_bytes / 1024);
	else if (knob == KMT_KNOB_CALL_SITE_TABLE)
		kmt_buf_printf(out, "%" PRIu64, sites);
	else
		kmt_buf_puts(out, ask->key == KMT_BY_STACK ? "1" : "0");
}

static int get_setting(struct kmt_mount_session *s, enum kmt_knob knob, struct kmt_buf *out)
{
	struct kmt_ask ask;
	int err;

	pthread_mutex_lock(&s->lock);
	kmt_ask_init(&ask, NULL);
	ask.select.session = s->name;
	err = open_session(&ask);
	if (!err)
		print_setting(ask.select.source, knob, out);
	kmt_select_done(&ask.select);
	pthread_mutex_unlock(&s->lock);
	return err ? err : out->error;
}

static int op_get(void *tracer, enum kmt_knob knob, struct kmt_buf *out)
{
	struct kmt_mount_session *s = tracer;

	switch (knob) {
	case KMT_KNOB_TRACER:
		kmt_buf_puts(out, is_there(s->name) ? "kmemtrace" : "nop");
		return 0;
	case KMT_KNOB_TRACING_ON:
		kmt_buf_puts(out, is_there(s->name) ? "1" : "0");
		return 0;
	case KMT_KNOB_EVENT_PID:
	case KMT_KNOB_CACHE_FILTER:
	case KMT_KNOB_CACHE_NOTRACE:
	case KMT_KNOB_OBJECT_TABLE_KB:
	case KMT_KNOB_CALL_SITE_TABLE:
	case KMT_KNOB_STACKTRACE:
		return get_setting(s, knob, out);
	default:	/* of events, of which none is kept */
		kmt_buf_puts(out, "0");
		return 0;
	}
}

static int read_only(void)
{
	return kmt_err(-EROFS, "the session can only be read here");
}

static int op_set(void *tracer, enum kmt_knob knob, const char *value)
{
	return read_only();
}

static int print_losses(struct kmt_view *v, void *arg)
{
	struct kmt_quality q;

	kmt_session_quality(v->session, &q);
	kmt_overruns_print(&q, arg);
	return 0;
}

static int op_overruns(void *tracer, struct kmt_buf *out)
{
	return look(tracer, NULL, print_losses, out);
}

static int op_text_open(void *tracer, void **ret_text)
{
	*ret_text = (void *)no_events;
	return 0;
}

static ssize_t op_text_read(void *text, char *out, size_t size, uint64_t offset)
{
	size_t len = strlen(text);

	if (offset >= len)
		return 0;
	if (size > len - offset)
		size = len - offset;
	memcpy(out, (const char *)text + offset, size);
	return (ssize_t)size;
}

static void op_text_close(void *text)
{
}

static int op_clear(void *tracer)
{
	return read_only();
}

static ssize_t op_pipe_read(void *tracer, char *out, size_t size)
{
	return kmt_err(-EOPNOTSUPP, "a session keeps no events");
}

static bool op_pipe_ready(void *tracer)
{
	return true;
}

static int make_report(struct kmt_view *v, void *arg)
{
	return kmt_view_report(v, 0, arg);
}

static int op_report(void *tracer, const char *analysis, struct kmt_report **ret_report)
{
	return look(tracer, analysis, make_report, ret_report);
}

void kmt_mount_session_control(struct kmt_mount_session *s, struct kmt_control_ops *ret_ops)
{
	*ret_ops = (struct kmt_control_ops){
		.make = op_make, .end = op_end, .get = op_get, .set = op_set,
		.overruns = op_overruns, .text_open = op_text_open, .text_read = op_text_read,
		.text_close = op_text_close, .clear = op_clear, .pipe_read = op_pipe_read,
		.pipe_ready = op_pipe_ready, .report = op_report, .reset = op_clear, .ctx = s,
	};
}

static int nothing(struct kmt_view *v, void *arg)
{
	return 0;
}

int kmt_mount_session_new(const char *name, struct kmt_mount_session **ret)
{
	struct kmt_mount_session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "no memory for the session");
	s->name = name;
	pthread_mutex_init(&s->lock, NULL);
	err = look(s, NULL, nothing, NULL);
	if (err) {
		kmt_mount_session_free(s);
		return kmt_kept_fail(err);
	}
	*ret = s;
	return 0;
}

void kmt_mount_session_free(struct kmt_mount_session *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s);
}
