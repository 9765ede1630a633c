// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace stat: who holds and takes the kernel's memory, counted in the kernel. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "base/err.h"
#include "base/fmt.h"
#include "cmd/books.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "cmd/live.h"
#include "cmd/recorder.h"
#include "cmd/view.h"
#include "cmd/watch.h"

#define SEC 1000000000ull

struct stat_opts {
	struct kmt_ask ask;	/* first: its option rows count from here */
	uint64_t interval_ns;
	const char *output;
	bool no_objects, force, exact;
};

#define OFF(f) offsetof(struct stat_opts, f)

static const struct kmt_option stat_options[] = {
	{ "by", 'b', KMT_OPT_STRING, OFF(ask.by), "VIEW",
	  "a view of 'kmemtrace list' (default: site,cache)", 0, 0, NULL },
	{ "module", 'm', KMT_OPT_STRING, OFF(ask.select.module), "NAME",
	  "follow a module from its load to its unload: what survives, by stack", 0, 0, NULL },
	{ "interval", 'i', KMT_OPT_DURATION, OFF(interval_ns), "T",
	  "print every T: counts of that time, live memory as it is", 10000000, 86400 * SEC, NULL },
	{ "no-objects", 0, KMT_OPT_FLAG, OFF(no_objects), NULL,
	  "count allocations only: cheaper, but nothing is known to be live", 0, 0, NULL },
	{ "exact", 0, KMT_OPT_FLAG, OFF(exact), NULL,
	  "shrink every slab cache before each count of the kernel's: closer books, at a cost",
	  0, 0, NULL },
	{ "output", 'o', KMT_OPT_STRING, OFF(output), "FILE",
	  "keep the books in a recording too, for 'report'", 0, 0, NULL },
	{ "force", 0, KMT_OPT_FLAG, OFF(force), NULL, "overwrite a file that exists", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const stat_tables[] = { stat_options, kmt_ask_options,
							kmt_select_options,
							kmt_select_from_options,
							kmt_select_session_options, NULL };

extern const struct kmt_command kmt_command_stat;

static int check_opts(const struct stat_opts *o, const struct kmt_view *v)
{
	if (o->no_objects && (o->ask.min_age_ns || (v->analysis->needs & KMT_NEEDS_OBJECTS)))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--no-objects leaves no objects for %s",
				    o->ask.min_age_ns ? "--min-age" : "this view");
	if (o->ask.select.from && o->interval_ns)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--interval belongs to tracing, not to --from");
	if (o->ask.select.from && o->exact)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--exact belongs to tracing, not to --from");
	if (o->ask.select.from && o->output)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--output belongs to tracing: see 'kmemtrace "
				    "convert'");
	if (o->ask.select.session && (o->no_objects || o->exact))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--no-objects and --exact belong to tracing, not "
				    "to --session");
	if (o->ask.select.session && o->output)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--output belongs to tracing: see 'kmemtrace "
				    "snapshot'");
	if (o->ask.select.session && o->ask.select.for_ns && !o->interval_ns)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "a session is read at once: --for belongs to "
				    "--interval here");
	if (o->output && !strcmp(o->output, "-"))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--output must be a file: the report goes to "
				    "standard output");
	return 0;
}

static int open_source(struct stat_opts *o, const struct kmt_view *v)
{
	const struct kmt_source *source;
	struct kmt_source_opts so;
	int status;

	kmt_view_source_opts(v, &so);
	so.no_objects = o->no_objects;
	status = kmt_select_open(&o->ask.select, &so);
	source = o->ask.select.source;
	if (!status && !o->ask.select.from && source->ops->counted &&
	    (v->analysis->needs & KMT_NEEDS_EVENTS))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "the view %s needs the event stream: record "
				    "first, or use --source tracefs", v->analysis->name);
	return status;
}

static void tell_start(const struct stat_opts *o, char **argv)
{
	char t[KMT_FMT_LEN];

	if (!isatty(STDERR_FILENO) || o->ask.select.from || o->ask.select.session || o->interval_ns || argv)
		return;
	if (o->ask.select.for_ns)
		fprintf(stderr, "kmemtrace: tracing for %s, ^C ends early\n",
			kmt_fmt_duration(t, o->ask.select.for_ns));
	else if (o->ask.select.module)
		fprintf(stderr, "kmemtrace: waiting for '%s' to be unloaded, ^C ends and reports\n",
			o->ask.select.module);
	else
		fprintf(stderr, "kmemtrace: tracing, ^C ends and reports\n");
}

static int trace_live(struct stat_opts *o, struct kmt_view *v, struct kmt_run *child,
		      char **argv, struct kmt_recorder *r, char **own_argv)
{
	struct kmt_watch w = { .view = v, .run = child, .interval_ns = o->interval_ns,
			       .symbols = o->ask.select.module ? &o->ask.select.symbols : NULL };
	int status = 0, err;

	v->exact = o->exact;
	err = o->ask.select.session ? kmt_watch_session(&w) : kmt_watch_live(&w, argv, &status);
	if (err == -ECANCELED)
		return status;
	/* a file that cannot be written is no reason to keep the answer back */
	if (!err && o->output && kmt_books_write(v, r, own_argv))
		status = kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (!err)
		err = kmt_view_print(v, o->interval_ns ? kmt_live_now() - w.mark_ns : 0);
	return kmt_view_finish(v, err, status);
}

static int run_stat(struct stat_opts *o, char **argv, char **own_argv)
{
	struct kmt_recorder recorder = KMT_RECORDER_NONE;
	struct kmt_run child = KMT_RUN_NONE;
	struct kmt_view v;
	int status = o->ask.select.session ? kmt_kept_ask(&o->ask) : 0;

	if (!o->ask.by)
		o->ask.by = o->ask.select.module ? "unload" : "site,cache";
	if (status)
		return status;
	status = kmt_view_init(&v, &o->ask, "stat", "--by: ");
	/* what survives is told by stack */
	if (!status && o->ask.select.module && !(v.analysis->needs & KMT_NEEDS_WHO))
		o->ask.stacks = true;
	if (!status)
		status = check_opts(o, &v);
	if (!status)
		status = kmt_select_prepare(&o->ask.select, "stat");
	if (!status)
		status = kmt_view_session(&v);
	if (!status && o->output)
		status = kmt_recorder_open(&recorder, o->output, o->force);
	if (!status)
		status = kmt_select_command(&o->ask.select, &child, argv);
	if (!status)
		status = open_source(o, &v);
	if (!status) {
		kmt_output_init(&v.out, STDOUT_FILENO, &child);
		tell_start(o, argv);
		status = o->ask.select.from ? kmt_view_file(&v, NULL, &child) :
					      trace_live(o, &v, &child, argv, &recorder, own_argv);
	}
	kmt_run_done(&child);
	kmt_recorder_done(&recorder);
	kmt_view_done(&v);
	return status;
}

static int run(int argc, char **argv)
{
	struct stat_opts o = { 0 };
	bool help = false;
	int next = argc, status;

	kmt_ask_init(&o.ask, NULL);
	if (kmt_options_parse(stat_tables, &o, argc, argv, &next, &help))
		status = kmt_cmd_usage_error("stat");
	else if (help)
		status = kmt_cmd_help(&kmt_command_stat);
	else if (next < argc && (o.ask.select.from || o.ask.select.session))
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "--%s runs no command",
				      o.ask.select.from ? "from" : "session");
	else
		status = run_stat(&o, next < argc ? argv + next : NULL, argv);
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
