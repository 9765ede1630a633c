// SPDX-License-Identifier: GPL-2.0-only
/* Every row of every table: what this kmemtrace can do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "cmd/cmd.h"
#include "eventfmt/eventfmt.h"
#include "render/render.h"
#include "source/kept.h"
#include "source/source.h"
#include "tracers/tracers.h"

static void list_tracers(void)
{
	printf("tracers:\n");
	for (size_t i = 0; kmt_tracers[i].name; i++)
		printf("  %-12s %s\n  %-12s %s\n", kmt_tracers[i].name, kmt_tracers[i].help, "",
		       kmt_tracers[i].events);
}

static void list_sources(void)
{
	printf("sources:\n");
	for (size_t i = 0; kmt_sources[i]; i++)
		printf("  %-12s %s (%s)\n", kmt_sources[i]->name, kmt_sources[i]->help,
		       kmt_sources[i]->live ? "--source" :
		       kmt_sources[i]->detect ? "--from" : "--session");
}

static void list_views(void)
{
	printf("views (stat --by, report):\n");
	for (size_t i = 0; kmt_analyses[i]; i++)
		printf("  %-12s %s%s%s%s\n", kmt_analyses[i]->name, kmt_analyses[i]->help,
		       kmt_analyses[i]->aliases[0] ? " (also: " : "",
		       kmt_analyses[i]->aliases[0] ? kmt_analyses[i]->aliases[0] : "",
		       kmt_analyses[i]->aliases[0] ? ")" : "");
}

static void list_formats(void)
{
	printf("report formats (stat --format):\n");
	for (size_t i = 0; kmt_renderers[i]; i++)
		printf("  %-12s %s\n", kmt_renderers[i]->name, kmt_renderers[i]->help);
	printf("event formats (trace --format):\n");
	for (size_t i = 0; kmt_eventfmts[i]; i++)
		printf("  %-12s %s%s%s%s\n", kmt_eventfmts[i]->name, kmt_eventfmts[i]->help,
		       kmt_eventfmts[i]->aliases ? " (also: " : "",
		       kmt_eventfmts[i]->aliases ? kmt_eventfmts[i]->aliases : "",
		       kmt_eventfmts[i]->aliases ? ")" : "");
}

static void list_live_sources(void)
{
	for (size_t i = 0; kmt_sources[i]; i++)
		if (kmt_sources[i]->live)
			printf("%s\n", kmt_sources[i]->name);
}

/* For the completion: where there are none, or one may not look, there is nothing to say. */
static int list_sessions(void)
{
	struct kmt_strlist names = { 0 };
	struct kmt_kept k = KMT_KEPT_NONE;

	if (!kmt_kept_open(getenv("KMEMTRACE_BPFFS"), false, &k) && !kmt_kept_names(&k, &names))
		for (size_t i = 0; i < names.n; i++)
			printf("%s\n", names.v[i]);
	kmt_kept_names_done(&names);
	kmt_kept_done(&k);
	return KMT_EXIT_OK;
}

/* Names only, one a line: what the shell completion reads. */
static int list_names(const char *what)
{
	if (!strcmp(what, "commands"))
		for (size_t i = 0; kmt_commands[i]; i++)
			printf("%s\n", kmt_commands[i]->name);
	else if (!strcmp(what, "views"))
		for (size_t i = 0; kmt_analyses[i]; i++)
			printf("%s\n", kmt_analyses[i]->name);
	else if (!strcmp(what, "formats"))
		for (size_t i = 0; kmt_renderers[i]; i++)
			printf("%s\n", kmt_renderers[i]->name);
	else if (!strcmp(what, "event-formats"))
		for (size_t i = 0; kmt_eventfmts[i]; i++)
			printf("%s\n", kmt_eventfmts[i]->name);
	else if (!strcmp(what, "sources"))
		for (size_t i = 0; kmt_sources[i]; i++)
			printf("%s\n", kmt_sources[i]->name);
	else if (!strcmp(what, "live-sources"))
		list_live_sources();
	else if (!strcmp(what, "tracers"))
		for (size_t i = 0; kmt_tracers[i].name; i++)
			printf("%s\n", kmt_tracers[i].name);
	else if (!strcmp(what, "sessions"))
		return list_sessions();
	else if (!strncmp(what, "options:", 8))
		return kmt_cmd_option_names(what + 8);
	else
		return kmt_cmd_fail(KMT_EXIT_USAGE, "list: nothing is called '%s'", what);
	return KMT_EXIT_OK;
}

struct list_opts {
	const char *names;
};

static const struct kmt_option list_options[] = {
	{ "names", 0, KMT_OPT_STRING, offsetof(struct list_opts, names), "TABLE",
	  "only the names in one table: commands, tracers, sources, live-sources, views, formats, "
	  "event-formats, sessions, options:COMMAND", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const list_tables[] = { list_options, NULL };

extern const struct kmt_command kmt_command_list;

static int run(int argc, char **argv)
{
	struct list_opts o = { 0 };
	bool help = false;
	int next;

	if (kmt_options_parse(list_tables, &o, argc, argv, &next, &help))
		return kmt_cmd_usage_error("list");
	if (help)
		return kmt_cmd_help(&kmt_command_list);
	if (next < argc)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "list takes no argument '%s'", argv[next]);
	if (o.names)
		return list_names(o.names);
	list_tracers();
	list_sources();
	list_views();
	list_formats();
	return KMT_EXIT_OK;
}

const struct kmt_command kmt_command_list = {
	.name = "list",
	.synopsis = "list [OPTIONS]",
	.help = "list the tracers, sources, views and formats",
	.options = list_tables,
	.run = run,
};
