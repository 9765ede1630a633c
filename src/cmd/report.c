// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace report: the views on a recording. */
#include <errno.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/view.h"
#include "core/window.h"

#define SEC	1000000000ull
#define FOREVER	(366 * 86400ull * SEC)

struct report_opts {
	struct kmt_ask ask;	/* first: its option rows count from here */
	uint64_t since_ns, until_ns;
};

#define OFF(f) offsetof(struct report_opts, f)

static const struct kmt_option report_options[] = {
	{ "since", 0, KMT_OPT_DURATION, OFF(since_ns), "T",
	  "count only from this time after the recording's start on", 0, FOREVER, NULL },
	{ "until", 0, KMT_OPT_DURATION, OFF(until_ns), "T",
	  "count only up to this time after the recording's start", 1, FOREVER, NULL },
	{ 0 }
};

static const struct kmt_option *const report_tables[] = { report_options, kmt_ask_options,
							  kmt_select_file_options, NULL };

extern const struct kmt_command kmt_command_report;

/* Only a part of the time: what lies outside is no loss, but it is told. */
static int read_part(const struct report_opts *o, struct kmt_view *v, struct kmt_run *run)
{
	struct kmt_window w = { .since_ns = o->since_ns, .until_ns = o->until_ns, .next = v->sink };
	const struct kmt_facts *f = o->ask.select.facts;
	struct kmt_sink sink;
	int status;

	if (!o->since_ns && !o->until_ns)
		return kmt_view_file(v, NULL, run);
	w.has_start = f && f->start_ns;
	w.start_ns = w.has_start ? f->start_ns : 0;
	sink = kmt_window_sink(&w);
	v->in_part = true;
	v->left_out = &w.left_out;
	status = kmt_view_file(v, &sink, run);
	v->left_out = NULL;
	if (w.no_time)
		kmt_cmd_warn("%llu events have no time and were left out by --since and --until",
			     (unsigned long long)w.no_time);
	return status;
}

static int run_report(struct report_opts *o)
{
	struct kmt_run run = KMT_RUN_NONE;
	struct kmt_source_opts so;
	struct kmt_view v;
	int status = kmt_view_init(&v, &o->ask, "report", "");

	if (!status && o->until_ns && o->until_ns <= o->since_ns)
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "--until must be later than --since");
	if (!status)
		status = kmt_select_prepare(&o->ask.select, "report");
	if (!status)
		status = kmt_view_session(&v);
	if (!status) {
		kmt_view_source_opts(&v, &so);
		status = kmt_select_open(&o->ask.select, &so);
	}
	if (!status && kmt_run_init(&run, NULL))
		status = kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (!status) {
		kmt_output_init(&v.out, STDOUT_FILENO, &run);
		status = read_part(o, &v, &run);
	}
	kmt_run_done(&run);
	kmt_view_done(&v);
	return status;
}

static int parse(struct report_opts *o, int argc, char **argv, bool *ret_help)
{
	const char *operands[2] = { 0 };
	size_t n = 0;
	int status = kmt_cmd_parse(&kmt_command_report, o, argc, argv, operands, 2, &n, ret_help);

	if (status || *ret_help)
		return status;
	o->ask.select.from = operands[0];
	if (operands[1])
		o->ask.by = operands[1];
	return n ? 0 : kmt_cmd_fail(KMT_EXIT_USAGE, "report needs a FILE (see 'kmemtrace report "
				    "--help')");
}

static int run(int argc, char **argv)
{
	struct report_opts o = { 0 };
	bool help = false;
	int status;

	kmt_ask_init(&o.ask, "summary");
	status = parse(&o, argc, argv, &help);
	if (!status)
		status = help ? kmt_cmd_help(&kmt_command_report) : run_report(&o);
	kmt_select_done(&o.ask.select);
	return status;
}

const struct kmt_command kmt_command_report = {
	.name = "report",
	.synopsis = "report [OPTIONS] FILE [VIEW]",
	.help = "answer from a recording: who holds, takes, wastes memory",
	.options = report_tables,
	.run = run,
};
