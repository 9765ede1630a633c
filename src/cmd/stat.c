// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace stat: who holds and takes the kernel's memory, counted in the kernel. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/select.h"
#include "core/session.h"
#include "render/render.h"
#include "report/report.h"
#include "symbol/gfp.h"
#include "symbol/slabs.h"

#define SEC 1000000000ull
#define TICK_MS 100		/* how often peaks are looked at */

struct stat_opts {
	struct kmt_select select;	/* first: its option rows count from here */
	const char *by, *sort, *columns, *format;
	uint64_t interval_ns, limit, min_age_ns, temporary_ns;
	bool bytes, stacks, no_objects, no_header;
};

struct stat_run {
	const struct stat_opts *o;
	const struct kmt_analysis *view;
	const struct kmt_renderer *renderer;
	struct kmt_session *session;
	struct kmt_source *source;
	struct kmt_sink sink;
	struct kmt_slabs *slabs_start;
	struct kmt_gfp_names *gfp_names;
	struct kmt_run child;
	struct kmt_output out;
	uint64_t start_ns, mark_ns;
	bool printed;		/* a report came out already */
};

#define OFF(f) offsetof(struct stat_opts, f)

static const struct kmt_option stat_options[] = {
	{ "by", 'b', KMT_OPT_STRING, OFF(by), "VIEW",
	  "site, cache, site,cache, object, free-site or task (default: site,cache)", 0, 0, NULL },
	{ "interval", 'i', KMT_OPT_DURATION, OFF(interval_ns), "T",
	  "print every T: counts of that time, live memory as it is", 10000000, 86400 * SEC, NULL },
	{ "stacks", 0, KMT_OPT_FLAG, OFF(stacks), NULL,
	  "one row per kernel stack instead of call site", 0, 0, NULL },
	{ "min-age", 0, KMT_OPT_DURATION, OFF(min_age_ns), "T",
	  "only objects that are live and at least this old", 1, 366 * 86400ull * SEC, NULL },
	{ "temporary", 0, KMT_OPT_DURATION, OFF(temporary_ns), "T",
	  "freed sooner than this is temporary (default: 1ms)", 1024, 3600 * SEC, NULL },
	{ "no-objects", 0, KMT_OPT_FLAG, OFF(no_objects), NULL,
	  "count allocations only: cheaper, but nothing is known to be live", 0, 0, NULL },
	{ "sort", 's', KMT_OPT_STRING, OFF(sort), "COLUMN",
	  "sort by a column; COLUMN:asc or COLUMN:desc", 0, 0, NULL },
	{ "limit", 'n', KMT_OPT_U64, OFF(limit), "N", "rows shown (default: 20; 0: all)",
	  0, UINT32_MAX, NULL },
	{ "columns", 'c', KMT_OPT_STRING, OFF(columns), "A,B,...",
	  "columns shown, by their JSON names", 0, 0, NULL },
	{ "bytes", 0, KMT_OPT_FLAG, OFF(bytes), NULL, "exact bytes instead of KiB and MiB", 0, 0, NULL },
	{ "format", 'F', KMT_OPT_STRING, OFF(format), "FORMAT",
	  "text, json, csv or ndjson (default: text)", 0, 0, NULL },
	{ "no-header", 0, KMT_OPT_FLAG, OFF(no_header), NULL, "no header line in text and CSV",
	  0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const stat_tables[] = { stat_options, kmt_select_options, NULL };

extern const struct kmt_command kmt_command_stat;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

/* ---- the report ---- */

static int shape(const struct stat_opts *o, struct kmt_report *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < o->select.row_filters.n; i++)
		err = kmt_report_filter(r, o->select.row_filters.v[i]);
	if (!err && o->sort)
		err = kmt_report_sort(r, o->sort);
	if (!err)
		kmt_report_limit(r, o->limit);
	if (!err && o->columns)
		err = kmt_report_choose(r, o->columns);
	return err;
}

static int make_report(struct stat_run *run, const struct kmt_slabs *slabs_end,
		       uint64_t interval_ns, struct kmt_report **ret)
{
	const struct stat_opts *o = run->o;
	struct kmt_analysis_in in = {
		.session = run->session,
		.symbols = o->select.symbols,
		.slabs_start = run->slabs_start,
		.slabs_end = slabs_end,
		.gfp_names = run->gfp_names,
		.command = "stat",
		.min_age_ns = o->min_age_ns,
		.temporary_ns = o->temporary_ns ? o->temporary_ns : 1000000,
		.interval_ns = interval_ns,
		.filtered = !kmt_filter_empty(&o->select.filter),
	};
	struct kmt_report *r = NULL;
	int err = run->view->run(&in, &r);

	if (!err)
		err = shape(o, r);
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

/* Into memory first: a stalled reader must not keep us from hearing a signal. */
static int render(struct stat_run *run, const struct kmt_report *r,
		  const struct kmt_render_opts *opts)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err;

	if (!f)
		return kmt_err_errno(-errno, "report");
	err = run->renderer->render(r, opts, f);
	if (fclose(f) && !err)
		err = kmt_err_errno(-errno, "report");
	if (err)
		return err;
	kmt_buf_add(&run->out.buf, text, len);
	return kmt_output_flush(&run->out);
}

static int print_report(struct stat_run *run, uint64_t interval_ns)
{
	const struct kmt_render_opts opts = {
		.exact_bytes = run->o->bytes,
		.no_header = run->o->no_header,
		.color = kmt_cmd_color(),
		.width = kmt_cmd_width(),
		.first = !run->printed,
	};
	struct kmt_slabs *slabs_end = NULL;
	struct kmt_report *r = NULL;
	int err;

	if (!run->o->select.from)
		kmt_slabs_load(NULL, &slabs_end);
	err = make_report(run, slabs_end, interval_ns, &r);
	if (!err)
		err = render(run, r, &opts);
	run->printed = true;
	kmt_report_free(r);
	kmt_slabs_free(slabs_end);
	return err;
}

/* Names of columns and filters are checked before anything is traced. */
static int try_report(struct stat_run *run)
{
	struct kmt_report *r = NULL;
	int err = make_report(run, NULL, 0, &r);

	kmt_report_free(r);
	return err;
}

/* ---- the run ---- */

static int update(struct stat_run *run)
{
	const struct kmt_source_ops *ops = run->source->ops;
	struct kmt_quality q = { 0 };
	int err = 0;

	if (ops->counted && ops->snapshot)
		err = ops->snapshot(run->source, &run->sink);
	ops->quality(run->source, &q);
	kmt_session_set_quality(run->session, &q);
	return err;
}

static int on_interval(struct stat_run *run, uint64_t now)
{
	int err = update(run);

	if (!err)
		err = print_report(run, now - run->mark_ns);
	kmt_session_mark(run->session);
	run->mark_ns = now;
	return err;
}

static int poll_source(struct stat_run *run, int timeout_ms)
{
	int n = run->source->ops->poll(run->source, &run->sink, timeout_ms);

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
	const uint64_t end = run->o->select.for_ns ? run->start_ns + run->o->select.for_ns : 0;
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
			err = update(run);
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
		n = run->source->ops->poll(run->source, &run->sink, 0);
	while (n > 0);
	return n == -ENODATA || n == -EINTR ? 0 : n;
}

static int trace_live(struct stat_run *run, char **argv, int *ret_status)
{
	const struct kmt_source_ops *ops = run->source->ops;
	int err = ops->start(run->source);

	run->start_ns = run->mark_ns = now_ns();
	kmt_slabs_load(NULL, &run->slabs_start);
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
		err = update(run);
	if (!err)
		err = print_report(run, run->o->interval_ns ? now_ns() - run->mark_ns : 0);
	kmt_run_done(&run->child);
	*ret_status = kmt_run_status(&run->child);
	return err;
}

static int read_file(struct stat_run *run)
{
	int n;

	do
		n = run->source->ops->poll(run->source, &run->sink, 100);
	while (n >= 0);
	if (n != -ENODATA)
		return n;
	n = update(run);
	return n ? n : print_report(run, 0);
}

static int check_opts(struct stat_opts *o, struct stat_run *run)
{
	run->view = kmt_analysis_find(o->by);
	if (!run->view)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--by: there is no view '%s' (see 'kmemtrace "
				    "list')", o->by);
	run->renderer = kmt_renderer_find(o->format);
	if (!run->renderer)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--format: there is no format '%s' (see "
				    "'kmemtrace list')", o->format);
	if (o->no_objects && (o->min_age_ns || (run->view->needs & KMT_NEEDS_OBJECTS)))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--no-objects leaves no objects for %s",
				    o->min_age_ns ? "--min-age" : "this view");
	if (o->stacks && (run->view->needs & KMT_NEEDS_TASKS))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--stacks and --by task exclude each other");
	if (o->select.from && o->interval_ns)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--interval belongs to tracing, not to --from");
	return 0;
}

static int make_session(struct stat_run *run)
{
	const struct stat_opts *o = run->o;
	const struct kmt_session_opts so = {
		.by_stack = o->stacks,
		.by_task = run->view->needs & KMT_NEEDS_TASKS,
		.temporary_ns = o->temporary_ns,
		.max_objects = o->select.objects,
		.max_sites = o->select.sites,
	};
	int err = kmt_session_new(&so, &run->session);

	if (err)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	run->sink = kmt_session_sink(run->session);
	/* the running kernel's bits mean something else in a text of the original's time */
	if (o->select.from)
		kmt_gfp_names_2008(&run->gfp_names);
	else
		kmt_gfp_names_running(&run->gfp_names);
	if (try_report(run))
		return kmt_cmd_usage_error("stat");
	return 0;
}

static int open_source(struct stat_opts *o, struct stat_run *run)
{
	struct kmt_source_opts so = {
		.mode = KMT_MODE_COUNTED,
		.key = o->stacks ? KMT_BY_STACK :
		       run->view->needs & KMT_NEEDS_TASKS ? KMT_BY_TASK : KMT_BY_SITE,
		.no_objects = o->no_objects,
		.temporary_ns = o->temporary_ns,
		.want_stacks = o->stacks,
		.want_task = run->view->needs & KMT_NEEDS_TASKS,
	};
	int status = kmt_select_open(&o->select, &so);

	run->source = o->select.source;
	return status;
}

static bool data_lost(const struct stat_run *run)
{
	struct kmt_quality q;

	kmt_session_quality(run->session, &q);
	return kmt_quality_lost(&q) > 0;
}

static void tell_start(const struct stat_opts *o, char **argv)
{
	char t[KMT_FMT_LEN];

	if (!isatty(STDERR_FILENO) || o->select.from || o->interval_ns || argv)
		return;
	if (o->select.for_ns)
		fprintf(stderr, "kmemtrace: tracing for %s, ^C ends early\n",
			kmt_fmt_duration(t, o->select.for_ns));
	else
		fprintf(stderr, "kmemtrace: tracing, ^C ends and reports\n");
}

static int finish(struct stat_run *run, int err, int status)
{
	if (err == -EPIPE || err == -EINTR)
		return status;
	if (err)
		return kmt_cmd_fail(run->o->select.from && !run->out.failed ? KMT_EXIT_INPUT :
				    KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (!status && run->o->select.strict && data_lost(run))
		return KMT_EXIT_LOST;
	return status;
}

static int run_stat(struct stat_opts *o, char **argv)
{
	struct stat_run run = { .o = o, .child = KMT_RUN_NONE };
	int status = check_opts(o, &run), err;

	if (!status)
		status = kmt_select_prepare(&o->select, "stat");
	if (!status)
		status = make_session(&run);
	if (!status)
		status = kmt_select_command(&o->select, &run.child, argv);
	if (!status)
		status = open_source(o, &run);
	if (!status) {
		kmt_output_init(&run.out, STDOUT_FILENO, &run.child);
		tell_start(o, argv);
		err = o->select.from ? read_file(&run) : trace_live(&run, argv, &status);
		status = finish(&run, err, status);
	}
	kmt_run_done(&run.child);
	kmt_output_done(&run.out);
	kmt_session_free(run.session);
	kmt_slabs_free(run.slabs_start);
	kmt_gfp_names_free(run.gfp_names);
	return status;
}

static int run(int argc, char **argv)
{
	struct stat_opts o = { .by = "site,cache", .format = "text", .limit = 20 };
	bool help = false;
	int next = argc, status;

	kmt_select_init(&o.select);
	if (kmt_options_parse(stat_tables, &o, argc, argv, &next, &help))
		status = kmt_cmd_usage_error("stat");
	else if (help)
		status = kmt_cmd_help(&kmt_command_stat);
	else if (next < argc && o.select.from)
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "--from runs no command");
	else
		status = run_stat(&o, next < argc ? argv + next : NULL);
	kmt_select_done(&o.select);
	return status;
}

const struct kmt_command kmt_command_stat = {
	.name = "stat",
	.synopsis = "stat [OPTIONS] [-- CMD [ARG...]]",
	.help = "count who allocates the kernel's memory, and what stays",
	.options = stat_tables,
	.run = run,
};
