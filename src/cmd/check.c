// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace check: hold a run to limits, with an exit status for scripts. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analysis/check.h"
#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/view.h"
#include "cmd/watch.h"
#include "report/report.h"

#define SEC	1000000000ull
#define MAX_ARGS 1

struct check_opts {
	struct kmt_ask ask;	/* first: the selection's rows count from here */
	const char *limits[KMT_N_LIMITS];
	bool live, quiet;
};

#define OFF(f) offsetof(struct check_opts, f)

static const struct kmt_option check_options[] = {
#define LIMIT(id, option, place, key, unit, title, help)				\
	{ option, 0, KMT_OPT_STRING, OFF(limits[KMT_LIMIT_##id]), "LIMIT", help, 0, 0, NULL },
#include "analysis/limits.def"
#undef LIMIT
	{ "live", 0, KMT_OPT_FLAG, OFF(live), NULL, "trace this kernel instead of reading a file",
	  0, 0, NULL },
	{ "min-age", 0, KMT_OPT_DURATION, OFF(ask.min_age_ns), "T",
	  "what is older survives (default: 1s)", 1, 366 * 86400ull * SEC, NULL },
	{ "temporary", 0, KMT_OPT_DURATION, OFF(ask.temporary_ns), "T",
	  "freed sooner than this is temporary (default: 1ms)", 1024, 3600 * SEC, NULL },
	{ "format", 'F', KMT_OPT_STRING, OFF(ask.format), "FORMAT",
	  "text, json, csv or ndjson (default: text)", 0, 0, NULL },
	{ "quiet", 'q', KMT_OPT_FLAG, OFF(quiet), NULL,
	  "only what is broken, on standard error", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const check_tables[] = { check_options, kmt_select_options, NULL };

extern const struct kmt_command kmt_command_check;

static int parse_limits(const struct check_opts *o, struct kmt_limits *limits)
{
	bool any = false;

	for (size_t i = 0; i < KMT_N_LIMITS; i++) {
		if (!o->limits[i])
			continue;
		if (kmt_limit_parse(i, o->limits[i], limits))
			return kmt_cmd_usage_error("check");
		any = true;
	}
	return any ? 0 : kmt_cmd_fail(KMT_EXIT_USAGE, "check needs a limit, such as --max-surviving "
				      "1M (see 'kmemtrace check --help')");
}

/* All objects, then only the survivors. */
static int check(struct check_opts *o, struct kmt_view *v, const struct kmt_limits *limits,
		 struct kmt_report **ret_report, size_t *ret_broken)
{
	const uint64_t min_age_ns = o->ask.min_age_ns;
	struct kmt_report *sites = NULL, *survivors = NULL;
	int err;

	o->ask.min_age_ns = 0;
	err = kmt_view_report(v, 0, &sites);
	o->ask.min_age_ns = min_age_ns;
	if (!err)
		err = kmt_view_report(v, 0, &survivors);
	if (!err)
		err = kmt_check_run(sites, survivors, limits, ret_report, ret_broken);
	kmt_report_free(sites);
	kmt_report_free(survivors);
	return err;
}

/* The answer, the broken limits in words, and the exit status. */
static int tell(struct check_opts *o, struct kmt_view *v, const struct kmt_limits *limits,
		int status)
{
	struct kmt_report *r = NULL;
	size_t broken = 0;
	int err = check(o, v, limits, &r, &broken);

	if (!err && !o->quiet)
		err = kmt_view_show(v, r);
	for (size_t i = 0; r && i < r->n_rows; i++) {
		struct kmt_buf line = { 0 };

		kmt_check_sentence(r, i, &line);
		if (strcmp(r->rows[i].cells[kmt_report_column(r, "verdict")].text, "ok"))
			kmt_cmd_warn("check: %s", kmt_buf_str(&line));
		kmt_buf_done(&line);
	}
	kmt_report_free(r);
	status = kmt_view_finish(v, err, status);
	return !status && broken ? KMT_EXIT_CHECK : status;
}

static int check_file(struct check_opts *o, struct kmt_view *v, const struct kmt_limits *limits,
		      struct kmt_run *run)
{
	int status;

	if (kmt_view_read(v, NULL, run))
		return kmt_cmd_fail(KMT_EXIT_INPUT, "%s",
				    v->fault[0] ? v->fault : kmt_err_text());
	status = tell(o, v, limits, 0);
	/* a part of a recording proves nothing */
	if (v->fault[0])
		return kmt_cmd_fail(KMT_EXIT_INPUT, "%s", v->fault);
	return v->interrupted ? 128 + run->signal : status;
}

static int check_live(struct check_opts *o, struct kmt_view *v, const struct kmt_limits *limits,
		      struct kmt_run *run, char **argv)
{
	struct kmt_watch w = { .view = v, .run = run };
	int status = 0, err = kmt_watch_live(&w, argv, &status);

	if (err == -ECANCELED)
		return status;
	return err ? kmt_view_finish(v, err, status) : tell(o, v, limits, status);
}

static int run_check(struct check_opts *o, char **argv)
{
	struct kmt_limits limits = { 0 };
	struct kmt_run run = KMT_RUN_NONE;
	struct kmt_source_opts so;
	struct kmt_view v = { 0 };
	int status = parse_limits(o, &limits);

	if (!status)
		status = kmt_view_init(&v, &o->ask, "check", "");
	if (!status)
		status = kmt_select_prepare(&o->ask.select, "check");
	if (!status && o->ask.select.row_filters.n)
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "--filter: '%s' is a condition on the rows of "
				      "a view; a check is about events",
				      o->ask.select.row_filters.v[0]);
	if (!status)
		status = kmt_view_session(&v);
	if (!status)
		status = kmt_select_command(&o->ask.select, &run, argv);
	if (!status) {
		kmt_view_source_opts(&v, &so);
		status = kmt_select_open(&o->ask.select, &so);
	}
	if (!status) {
		kmt_output_init(&v.out, STDOUT_FILENO, &run);
		status = o->live ? check_live(o, &v, &limits, &run, argv) :
				   check_file(o, &v, &limits, &run);
	}
	kmt_run_done(&run);
	kmt_view_done(&v);
	return status;
}

static int check_args(struct check_opts *o, const char *file, char **command)
{
	o->ask.select.from = file;
	if (o->live && o->ask.select.from)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "check takes a FILE or --live, not both");
	if (!o->live && !o->ask.select.from)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "check needs a FILE, or --live (see 'kmemtrace "
				    "check --help')");
	if (command && !o->live)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "a CMD is run only with --live");
	return 0;
}

/* What stands behind "--" is the command, before it there is at most a file. */
static char **split_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		char **command = i + 1 < *argc ? argv + i + 1 : NULL;

		argv[i] = NULL;
		*argc = i;
		return command;
	}
	return NULL;
}

static int run(int argc, char **argv)
{
	struct check_opts o = { 0 };
	const char *file = NULL;
	char **command = split_command(&argc, argv);
	bool help = false;
	size_t n = 0;
	int status;

	kmt_ask_init(&o.ask, "site");
	o.ask.min_age_ns = SEC;
	o.ask.limit = 0;
	status = kmt_cmd_parse(&kmt_command_check, &o, argc, argv, &file, MAX_ARGS, &n, &help);
	if (help)
		status = kmt_cmd_help(&kmt_command_check);
	else if (!status)
		status = check_args(&o, file, command);
	if (!status && !help)
		status = run_check(&o, command);
	kmt_select_done(&o.ask.select);
	return status;
}

const struct kmt_command kmt_command_check = {
	.name = "check",
	.synopsis = "check [OPTIONS] LIMIT... FILE | --live [-- CMD [ARG...]]",
	.help = "hold a run to limits: exit status 1 when one is broken",
	.options = check_tables,
	.run = run,
};
