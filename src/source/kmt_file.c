// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace's own recordings (kmemtrace-file(5)). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/legacy_filter.h"
#include "source/select.h"
#include "source/source.h"
#include "source/tasks.h"
#include "store/recording.h"

extern const struct kmt_source_ops kmt_source_kmt_file;

#define NO_PROC "/dev/null"	/* below which no task is found: the recording's are meant */

struct kmt_file {
	struct kmt_source base;
	int fd;
	struct kmt_recording *recording;
	struct kmt_select *select;	/* NULL: no filter */
	struct kmt_tasks *tasks;	/* NULL: the filter does not ask for them */
	struct kmt_legacy_filter legacy;	/* for what was text once: names without addresses */
	bool is_legacy;
	const struct kmt_sink *sink;	/* while polled */
	uint64_t passed, rejected;
	uint64_t untracked_told;
};

static struct kmt_file *file_of(struct kmt_source *src)
{
	return (struct kmt_file *)src;
}

static void file_close(struct kmt_source *src)
{
	struct kmt_file *f = file_of(src);

	if (!f)
		return;
	kmt_recording_free(f->recording);
	kmt_select_free(f->select);
	kmt_tasks_free(f->tasks);
	if (f->is_legacy)
		kmt_legacy_filter_done(&f->legacy);
	if (f->fd > STDIN_FILENO)
		close(f->fd);
	free(f);
}

static int open_filter(struct kmt_file *f, const struct kmt_source_opts *opts)
{
	const struct kmt_facts *facts = kmt_recording_facts(f->recording);
	struct kmt_source_opts with = *opts;
	int err = 0;

	if (!opts->filter || kmt_filter_empty(opts->filter))
		return 0;
	if (!with.symbols)
		with.symbols = facts->symbols;
	if (!with.slabs)
		with.slabs = facts->slabs_start;
	if (!strcmp(kmt_recording_source(f->recording), "legacy")) {
		err = kmt_legacy_filter_init(&f->legacy, opts->filter, with.symbols);
		f->is_legacy = !err;
		return err;
	}
	if (opts->filter->cgroup || opts->filter->follow)
		return kmt_err(-EINVAL, "a recording knows no cgroups and no births of tasks");
	if (kmt_select_wants_tasks(opts->filter))
		err = kmt_tasks_new(NO_PROC, &f->tasks);
	return err ? err : kmt_select_new(&with, f->tasks, &f->select);
}

static int file_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	const bool is_stdin = !strcmp(opts->path, "-");
	struct kmt_file *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f)
		return kmt_err(-ENOMEM, "out of memory for reading '%s'", opts->path);
	f->base.ops = &kmt_source_kmt_file;
	f->fd = is_stdin ? STDIN_FILENO : open(opts->path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		err = kmt_err_errno(-errno, "cannot open '%s'", opts->path);
	if (!err) {
		err = kmt_recording_new(f->fd, &f->recording);
		if (err)
			kmt_err_prefix(err, "'%s': ", is_stdin ? "standard input" : opts->path);
	}
	if (!err)
		err = open_filter(f, opts);
	if (err) {
		file_close(&f->base);
		return err;
	}
	*ret = &f->base;
	return 0;
}

/* Who runs as which thread is what the events say. */
static int know_task(struct kmt_file *f, const struct kmt_event *ev)
{
	struct kmt_task *task = kmt_tasks_get(f->tasks, ev->pid);

	if (!task)
		return kmt_err(-ENOMEM, "no memory for the task table");
	if (ev->tgid)
		task->tgid = ev->tgid;
	if (ev->has_task && ev->comm && strcmp(task->comm, ev->comm))
		kmt_tasks_rename(f->tasks, ev->pid, ev->comm);
	return 0;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct kmt_file *f = ctx;
	int res = f->tasks ? know_task(f, ev) : 0;

	if (!res)
		res = f->is_legacy ? kmt_legacy_filter_event(&f->legacy, ev) :
		      kmt_select_event(f->select, ev);
	if (res < 0)
		return res;
	f->rejected += !res;
	f->passed += (uint64_t)res;
	return res && f->sink->event ? f->sink->event(f->sink->ctx, ev) : 0;
}

static uint64_t untracked(const struct kmt_file *f)
{
	return f->select ? kmt_select_untracked(f->select) : f->legacy.untracked;
}

/* The filter could not remember everything that passed. */
static int tell_untracked(struct kmt_file *f, const struct kmt_sink *sink)
{
	const struct kmt_lost lost = {
		.reason = KMT_LOSS_OBJECTS, .cpu = UINT32_MAX,
		.events = untracked(f) - f->untracked_told,
	};

	if (!lost.events)
		return 0;
	f->untracked_told += lost.events;
	return sink->lost ? sink->lost(sink->ctx, &lost) : 0;
}

/* Whose rows would pass is known for some filters only, and frees follow objects. */
static int refuse_books(void *ctx, const struct kmt_snapshot *snap)
{
	return kmt_err(-EINVAL, "the recording has no events but the books of a run: filters of "
		       "events come too late, conditions on columns do not");
}

static int file_poll(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms)
{
	struct kmt_file *f = file_of(src);
	const struct kmt_sink filtered = { .event = on_event, .ctx = f };
	struct kmt_sink rest = *sink;
	int n, err;

	if (!f->select && !f->is_legacy)
		return kmt_recording_poll(f->recording, sink, sink, timeout_ms);
	f->sink = sink;
	rest.snapshot = refuse_books;
	n = kmt_recording_poll(f->recording, &filtered, &rest, timeout_ms);
	f->sink = NULL;
	err = tell_untracked(f, sink);
	return err ? err : n;
}

static void file_quality(struct kmt_source *src, struct kmt_quality *q)
{
	struct kmt_file *f = file_of(src);
	const bool is_filtered = f->select || f->is_legacy;

	kmt_recording_quality(f->recording, is_filtered, q);
	if (!is_filtered)
		return;
	q->events = f->passed;
	q->filtered += f->rejected;
	q->unknown_tasks += f->select ? kmt_select_unknown_tasks(f->select) :
					f->legacy.unknown_tasks;
	q->lost[KMT_LOSS_OBJECTS] += untracked(f);
}

static const struct kmt_facts *file_facts(struct kmt_source *src)
{
	return kmt_recording_facts(file_of(src)->recording);
}

const struct kmt_source_ops kmt_source_kmt_file = {
	.name	 = "kmt",
	.help	 = "kmemtrace's own recordings (.kmt)",
	.detect	 = kmt_recording_detect,
	.open	 = file_open,
	.poll	 = file_poll,
	.quality = file_quality,
	.facts	 = file_facts,
	.close	 = file_close,
};
