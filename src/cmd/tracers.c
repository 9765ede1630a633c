// SPDX-License-Identifier: GPL-2.0-only
/* All tracers of a tracing directory, and what the tree asks of them. */
#include "cmd/tracers.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/names.h"
#include "cmd/tracer.h"
#include "control/control.h"
#include "store/recent.h"

static void tracer_free(struct kmt_tracer *t)
{
	kmt_tracer_stop(t);
	kmt_pipe_free(t->pipe);
	kmt_recent_free(t->kept);
	kmt_names_drop(t->names);
	kmt_settings_done(&t->set);
	kmt_count_done(&t->count);
	kmt_poller_done(&t->run);
	pthread_mutex_destroy(&t->control);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->pipe_lock);
	free(t);
}

static int op_make(void *ctx, const char *name, void **ret_tracer)
{
	struct kmt_tracers *all = ctx;
	struct kmt_tracer *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return kmt_err_errno(-ENOMEM, "tracer");
	t->all = all;
	pthread_mutex_init(&t->control, NULL);
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->pipe_lock, NULL);
	kmt_count_init(&t->count);
	kmt_poller_init(&t->run);
	err = kmt_settings_init(&t->set);
	if (!err)
		err = kmt_recent_new(kmt_buffer_bytes(all, t->set.buffer_kb), &t->kept);
	if (!err)
		err = kmt_pipe_new(&t->pipe);
	if (err) {
		tracer_free(t);
		return err;
	}
	pthread_mutex_lock(&all->lock);
	t->next = all->first;
	all->first = t;
	pthread_mutex_unlock(&all->lock);
	*ret_tracer = t;
	return 0;
}

static void op_end(void *tracer)
{
	struct kmt_tracer *t = tracer, **at;

	pthread_mutex_lock(&t->all->lock);
	for (at = &t->all->first; *at && *at != t; at = &(*at)->next)
		;
	if (*at)
		*at = t->next;
	pthread_mutex_unlock(&t->all->lock);
	tracer_free(t);
	malloc_trim(0);	/* smaller pieces, see cmd/mount.c for the large ones */
}

static int op_get(void *tracer, enum kmt_knob knob, struct kmt_buf *out)
{
	return kmt_knob_get(tracer, knob, out);
}

static int op_set(void *tracer, enum kmt_knob knob, const char *value)
{
	return kmt_knob_set(tracer, knob, value);
}

static int op_overruns(void *tracer, struct kmt_buf *out)
{
	struct kmt_tracer *t = tracer;
	struct kmt_recent_state kept;
	uint64_t missed;

	kmt_recent_state(t->kept, &kept);
	pthread_mutex_lock(&t->pipe_lock);
	missed = kmt_pipe_missed(t->pipe);
	pthread_mutex_unlock(&t->pipe_lock);
	kmt_buf_printf(out, "overwritten: %" PRIu64 "\npipe_missed: %" PRIu64 "\n",
		       kept.overwritten, missed);
	kmt_count_overruns(&t->count, out);
	return out->error;
}

/* What readers print by; the names are the caller's to drop. */
static void look_of(struct kmt_tracer *t, struct kmt_look *look, bool *traces,
		    struct kmt_names **names)
{
	pthread_mutex_lock(&t->lock);
	*look = t->set.look;
	*traces = t->traces;
	*names = t->names ? kmt_names_get(t->names) : NULL;
	pthread_mutex_unlock(&t->lock);
}

static int op_text_open(void *tracer, void **ret_text)
{
	struct kmt_tracer *t = tracer;
	struct kmt_names *names;
	struct kmt_look look;
	struct kmt_text *text;
	bool traces;
	int err;

	kmt_tracer_sync(t);
	look_of(t, &look, &traces, &names);
	err = kmt_text_new(t->kept, &look, traces ? "kmemtrace" : "nop", names, &text);
	kmt_names_drop(names);
	if (!err)
		*ret_text = text;
	return err;
}

static ssize_t op_text_read(void *text, char *out, size_t size, uint64_t offset)
{
	return kmt_text_read(text, out, size, offset);
}

static void op_text_close(void *text)
{
	kmt_text_free(text);
}

void kmt_tracer_forget(struct kmt_tracer *t)
{
	pthread_mutex_lock(&t->pipe_lock);
	kmt_recent_clear(t->kept);
	kmt_pipe_clear(t->pipe);
	pthread_mutex_unlock(&t->pipe_lock);
	malloc_trim(0);
}

static int op_clear(void *tracer)
{
	/* what happened before belongs to what is forgotten */
	kmt_tracer_sync(tracer);
	kmt_tracer_forget(tracer);
	return 0;
}

static ssize_t op_pipe_read(void *tracer, char *out, size_t size)
{
	struct kmt_tracer *t = tracer;
	struct kmt_names *names;
	struct kmt_look look;
	bool traces;
	ssize_t n;

	look_of(t, &look, &traces, &names);
	pthread_mutex_lock(&t->pipe_lock);
	n = kmt_pipe_read(t->pipe, t->kept, &look, names, out, size);
	pthread_mutex_unlock(&t->pipe_lock);
	kmt_names_drop(names);
	return n;
}

static bool op_pipe_ready(void *tracer)
{
	struct kmt_tracer *t = tracer;
	bool is_ready;

	pthread_mutex_lock(&t->pipe_lock);
	is_ready = kmt_pipe_ready(t->pipe, t->kept);
	pthread_mutex_unlock(&t->pipe_lock);
	return is_ready;
}

static int op_report(void *tracer, const char *analysis, struct kmt_report **ret_report)
{
	struct kmt_tracer *t = tracer;

	kmt_tracer_sync(t);
	return kmt_count_report(&t->count, analysis, ret_report);
}

static int op_reset(void *tracer)
{
	struct kmt_tracer *t = tracer;

	kmt_tracer_sync(t);
	return kmt_count_reset(&t->count);
}

void kmt_tracers_control(struct kmt_tracers *t, struct kmt_control_ops *ret_ops)
{
	*ret_ops = (struct kmt_control_ops){
		.make = op_make, .end = op_end, .get = op_get, .set = op_set,
		.overruns = op_overruns,
		.text_open = op_text_open, .text_read = op_text_read,
		.text_close = op_text_close, .clear = op_clear,
		.pipe_read = op_pipe_read, .pipe_ready = op_pipe_ready,
		.report = op_report, .reset = op_reset,
		.ctx = t,
	};
}

int kmt_tracers_new(const struct kmt_tracers_opts *opts, struct kmt_tracers **ret)
{
	struct kmt_tracers *t = calloc(1, sizeof(*t));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct sysinfo si;

	if (!t || sysinfo(&si)) {
		free(t);
		return kmt_err_errno(-ENOMEM, "tracers");
	}
	t->opts = *opts;
	t->ram_bytes = (uint64_t)si.totalram * si.mem_unit;
	t->n_cpus = cpus > 0 ? (uint32_t)cpus : 1;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->opening, NULL);
	*ret = t;
	return 0;
}

void kmt_tracers_free(struct kmt_tracers *t)
{
	if (!t)
		return;
	while (t->first)
		op_end(t->first);
	kmt_names_drop(t->names);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->opening);
	free(t);
}
