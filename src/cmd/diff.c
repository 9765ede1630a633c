// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace diff: what became of each row from one recording to the next. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/diff.h"
#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/view.h"
#include "report/report.h"

struct diff_opts {
	const char *by, *sort, *columns, *format, *tracer, *kallsyms;
	struct kmt_strlist filters;
	uint64_t limit;
	bool bytes, no_header, strict, user_pages;
};

#define OFF(f) offsetof(struct diff_opts, f)

static const struct kmt_option diff_options[] = {
	{ "by", 'b', KMT_OPT_STRING, OFF(by), "WHAT",
	  "site, cache, site,cache or stack (default: site)", 0, 0, NULL },
	{ "tracer", 0, KMT_OPT_STRING, OFF(tracer), "NAME",
	  "slab, page, percpu or vmalloc (default: slab)", 0, 0, NULL },
	{ "user-pages", 0, KMT_OPT_FLAG, OFF(user_pages), NULL,
	  "with tracer page: pages of processes and page cache too", 0, 0, NULL },
	{ "filter", 'f', KMT_OPT_LIST, OFF(filters), "EXPR",
	  "only events with cache=GLOB, site=GLOB, ..., in both; any column of the result: "
	  "COLUMN>=VALUE; may be given several times", 0, 0, NULL },
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
	{ "kallsyms", 0, KMT_OPT_STRING, OFF(kallsyms), "FILE",
	  "kernel symbols of both (default: each recording's own)", 0, 0, NULL },
	{ "strict", 0, KMT_OPT_FLAG, OFF(strict), NULL, "exit with 5 when either lacks data",
	  0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const diff_tables[] = { diff_options, NULL };

extern const struct kmt_command kmt_command_diff;

static const struct {
	const char *name, *view;
	unsigned by;
} kinds[] = {
	{ "site", "site", KMT_DIFF_SITE },
	{ "cache", "cache", KMT_DIFF_CACHE },
	{ "site,cache", "site,cache", KMT_DIFF_SITE | KMT_DIFF_CACHE },
	{ "stack", "site", KMT_DIFF_STACK },
};

/* One of the two recordings. */
struct side {
	struct kmt_ask ask;
	struct kmt_view view;
	struct kmt_report *report;
};

/* The whole view: what is shown of the comparison is decided later. */
static int side_init(struct side *s, const struct diff_opts *o, size_t kind, const char *file)
{
	int status;

	kmt_ask_init(&s->ask, kinds[kind].view);
	s->ask.select.from = file;
	s->ask.select.strict = o->strict;
	s->ask.select.tracer = o->tracer;
	s->ask.select.user_pages = o->user_pages;
	s->ask.select.kallsyms = o->kallsyms;
	s->ask.limit = 0;
	s->ask.format = o->format;
	s->ask.bytes = o->bytes;
	s->ask.no_header = o->no_header;
	s->ask.stacks = kinds[kind].by & KMT_DIFF_STACK;
	for (size_t i = 0; i < o->filters.n; i++)
		if (kmt_strlist_add(&s->ask.select.filter_exprs, o->filters.v[i]))
			return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	status = kmt_view_init(&s->view, &s->ask, "diff", "");
	return status ? status : kmt_select_prepare(&s->ask.select, "diff");
}

static int side_read(struct side *s, struct kmt_run *run)
{
	struct kmt_source_opts so;
	struct kmt_strlist *rows = &s->ask.select.row_filters;
	size_t n = rows->n;
	int status;

	rows->n = 0;	/* conditions on rows are about the comparison */
	status = kmt_view_session(&s->view);
	if (!status) {
		kmt_view_source_opts(&s->view, &so);
		status = kmt_select_open(&s->ask.select, &so);
	}
	if (!status && (kmt_view_read(&s->view, NULL, run) ||
			kmt_view_report(&s->view, 0, &s->report)))
		status = kmt_cmd_fail(KMT_EXIT_INPUT, "%s", s->view.fault[0] ? s->view.fault :
				      kmt_err_text());
	rows->n = n;
	return status;
}

static void side_done(struct side *s)
{
	kmt_report_free(s->report);
	kmt_view_done(&s->view);
	kmt_select_done(&s->ask.select);
}

/* What was wrong with either file comes after the answer. */
static int tell_faults(const struct side sides[2], int status)
{
	for (int i = 0; i < 2; i++) {
		if (sides[i].view.fault[0])
			status = kmt_cmd_fail(KMT_EXIT_INPUT, "%s", sides[i].view.fault);
		if (sides[i].view.interrupted)
			kmt_cmd_warn("interrupted: only a part of '%s' was read",
				     sides[i].ask.select.from);
	}
	return status;
}

static int compare(const struct diff_opts *o, size_t kind, struct side sides[2],
		   struct kmt_run *run)
{
	const struct kmt_strlist *filters = &sides[0].ask.select.row_filters;
	struct kmt_report *r = NULL;
	int err = kmt_diff_run(sides[0].report, sides[1].report, kinds[kind].by, &r), status;

	if (!err && kmt_report_shape(r, filters->v, filters->n, o->sort, o->limit, o->columns)) {
		kmt_report_free(r);
		return kmt_cmd_usage_error("diff");
	}
	if (!err) {
		kmt_output_init(&sides[0].view.out, STDOUT_FILENO, run);
		err = kmt_view_show(&sides[0].view, r);
	}
	kmt_report_free(r);
	/* the output is the first one's */
	status = kmt_view_finish(&sides[0].view, err, 0);
	return status ? status : kmt_view_finish(&sides[1].view, 0, 0);
}

static int run_diff(const struct diff_opts *o, const char *const files[2])
{
	struct side sides[2] = { 0 };
	struct kmt_run run = KMT_RUN_NONE;
	size_t kind = 0;
	int status = 0;

	while (kind < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kinds[kind].name, o->by))
		kind++;
	if (kind == sizeof(kinds) / sizeof(kinds[0]))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--by must be site, cache, site,cache or stack, "
				    "not '%s'", o->by);
	if (kmt_run_init(&run, NULL))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	for (int i = 0; !status && i < 2; i++)
		status = side_init(&sides[i], o, kind, files[i]);
	for (int i = 0; !status && i < 2; i++)
		status = side_read(&sides[i], &run);
	if (!status)
		status = tell_faults(sides, compare(o, kind, sides, &run));
	kmt_run_done(&run);
	side_done(&sides[0]);
	side_done(&sides[1]);
	return status;
}

static int run(int argc, char **argv)
{
	struct diff_opts o = { .by = "site", .format = "text", .limit = 20 };
	const char *files[2] = { 0 };
	bool help = false;
	size_t n = 0;
	int status = kmt_cmd_parse(&kmt_command_diff, &o, argc, argv, files, 2, &n, &help);

	if (status)
		;
	else if (help)
		status = kmt_cmd_help(&kmt_command_diff);
	else if (n < 2)
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "diff needs two recordings, A and B (see "
				      "'kmemtrace diff --help')");
	else if (!strcmp(files[0], "-") && !strcmp(files[1], "-"))
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "only one of the recordings can be standard "
				      "input");
	else
		status = run_diff(&o, files);
	kmt_strlist_done(&o.filters);
	return status;
}

const struct kmt_command kmt_command_diff = {
	.name = "diff",
	.synopsis = "diff [OPTIONS] A B",
	.help = "compare two recordings, by call site, cache or stack",
	.options = diff_tables,
	.run = run,
};
