// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace stat: who holds and takes the kernel's memory, counted in the kernel. */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "base/fmt.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/view.h"
#include "core/session.h"
#include "symbol/slabs.h"

#define SEC 1000000000ull
#define TICK_MS 100		/* how often peaks are looked at */

struct stat_opts {
	struct kmt_ask ask;	/* first: its option rows count from here */
	uint64_t interval_ns;
	bool no_objects;
};

struct stat_run {
	const struct stat_opts *o;
	struct kmt_view view;
	struct kmt_source *source;
	struct kmt_run child;
	uint64_t start_ns, mark_ns;
};

#define OFF(f) offsetof(struct stat_opts, f)

static const struct kmt_option stat_options[] = {
	{ "by", 'b', KMT_OPT_STRING, OFF(ask.by), "VIEW",
	  "a view of 'kmemtrace list' (default: site,cache)", 0, 0, NULL },
	{ "interval", 'i', KMT_OPT_DURATION, OFF(interval_ns), "T",
	  "print every T: counts of that time, live memory as it is", 10000000, 86400 * SEC, NULL },
	{ "no-objects", 0, KMT_OPT_FLAG, OFF(no_objects), NULL,
	  "count allocations only: cheaper, but nothing is known to be live", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const stat_tables[] = { stat_options, kmt_ask_options,
							kmt_select_options, NULL };

extern const struct kmt_command kmt_command_stat;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

/* ---- the run ---- */

static int on_interval(struct stat_run *run, uint64_t now)
{
	int err = kmt_view_update(&run->view);

	if (!err)
		err = kmt_view_print(&run->view, now - run->mark_ns);
	kmt_session_mark(run->view.session);
	run->mark_ns = now;
	return err;
}

static int poll_source(struct stat_run *run, int timeout_ms)
{
	int n = run->source->ops->poll(run->source, &run->view.sink, timeout_ms);

	return n >= 0 || n == -EINTR ? 0 : n;
}

static uint64_t next_stop(const struct stat_run *run, uint64_t tick, uint64_t end)
{
	uint64_t t = tick;

	if (run->o->interval_ns && run->mark_ns + run->o->interval_ns < t)
		t = run->mark_ns + run->o->interval_ns;
	return end && end < t ? end : t;
}

static int watch(struct stat_run *run)
{
	const uint64_t end = run->o->ask.select.for_ns ? run->start_ns + run->o->ask.select.for_ns : 0;
	uint64_t tick = run->start_ns + TICK_MS * 1000000ull;
	int err = 0;

	while (!err && !kmt_run_over(&run->child)) {
		uint64_t now = now_ns(), stop = next_stop(run, tick, end);

		if (end && now >= end)
			break;
		if (now < stop) {
			err = poll_source(run, (stop - now) / 1000000 + 1);
			continue;
		}
		if (run->o->interval_ns && now >= run->mark_ns + run->o->interval_ns)
			err = on_interval(run, now);
		else if (now >= tick)
			err = kmt_view_update(&run->view);
		if (now >= tick)
			tick = now + TICK_MS * 1000000ull;
	}
	return err;
}

/* What is still in the buffers after the events were switched off. */
static int drain(struct stat_run *run)
{
	int n;

	if (run->source->ops->counted && run->source->ops->snapshot)
		return 0;
	do
		n = run->source->ops->poll(run->source, &run->view.sink, 0);
	while (n > 0);
	return n == -ENODATA || n == -EINTR ? 0 : n;
}

static int trace_live(struct stat_run *run, char **argv, int *ret_status)
{
	const struct kmt_source_ops *ops = run->source->ops;
	int err = ops->start(run->source);

	run->start_ns = run->mark_ns = now_ns();
	kmt_slabs_load(NULL, &run->view.slabs_start);
	if (!err && kmt_run_go(&run->child)) {
		ops->stop(run->source);
		*ret_status = kmt_cmd_fail(KMT_EXIT_USAGE, "cannot run '%s'", argv[0]);
		return 0;
	}
	if (!err)
		err = watch(run);
	ops->stop(run->source);
	if (!err)
		err = drain(run);
	if (!err)
		err = kmt_view_update(&run->view);
	if (!err)
		err = kmt_view_print(&run->view, run->o->interval_ns ? now_ns() - run->mark_ns : 0);
	kmt_run_done(&run->child);
	*ret_status = kmt_run_status(&run->child);
	return err;
}

static int check_opts(const struct stat_opts *o, const struct kmt_view *v)
{
	if (o->no_objects && (o->ask.min_age_ns || (v->analysis->needs & KMT_NEEDS_OBJECTS)))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--no-objects leaves no objects for %s",
				    o->ask.min_age_ns ? "--min-age" : "this view");
	if (o->ask.select.from && o->interval_ns)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--interval belongs to tracing, not to --from");
	return 0;
}

static int open_source(struct stat_opts *o, struct stat_run *run)
{
	struct kmt_source_opts so;
	int status;

	kmt_view_source_opts(&run->view, &so);
	so.no_objects = o->no_objects;
	status = kmt_select_open(&o->ask.select, &so);
	run->source = o->ask.select.source;
	return status;
}

static void tell_start(const struct stat_opts *o, char **argv)
{
	char t[KMT_FMT_LEN];

	if (!isatty(STDERR_FILENO) || o->ask.select.from || o->interval_ns || argv)
		return;
	if (o->ask.select.for_ns)
		fprintf(stderr, "kmemtrace: tracing for %s, ^C ends early\n",
			kmt_fmt_duration(t, o->ask.select.for_ns));
	else
		fprintf(stderr, "kmemtrace: tracing, ^C ends and reports\n");
}

static int run_stat(struct stat_opts *o, char **argv)
{
	struct stat_run run = { .o = o, .child = KMT_RUN_NONE };
	struct kmt_view *v = &run.view;
	int status = kmt_view_init(v, &o->ask, "stat", "--by: ");

	if (!status)
		status = check_opts(o, v);
	if (!status)
		status = kmt_select_prepare(&o->ask.select, "stat");
	if (!status)
		status = kmt_view_session(v);
	if (!status)
		status = kmt_select_command(&o->ask.select, &run.child, argv);
	if (!status)
		status = open_source(o, &run);
	if (!status) {
		kmt_output_init(&v->out, STDOUT_FILENO, &run.child);
		tell_start(o, argv);
		if (o->ask.select.from) {
			status = kmt_view_file(v, NULL, &run.child);
		} else {
			int err = trace_live(&run, argv, &status);

			status = kmt_view_finish(v, err, status);
		}
	}
	kmt_run_done(&run.child);
	kmt_view_done(v);
	return status;
}

static int run(int argc, char **argv)
{
	struct stat_opts o = { 0 };
	bool help = false;
	int next = argc, status;

	kmt_ask_init(&o.ask, "site,cache");
	if (kmt_options_parse(stat_tables, &o, argc, argv, &next, &help))
		status = kmt_cmd_usage_error("stat");
	else if (help)
		status = kmt_cmd_help(&kmt_command_stat);
	else if (next < argc && o.ask.select.from)
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "--from runs no command");
	else
		status = run_stat(&o, next < argc ? argv + next : NULL);
	kmt_select_done(&o.ask.select);
	return status;
}

const struct kmt_command kmt_command_stat = {
	.name = "stat",
	.synopsis = "stat [OPTIONS] [-- CMD [ARG...]]",
	.help = "count who allocates the kernel's memory, and what stays",
	.options = stat_tables,
	.run = run,
};
