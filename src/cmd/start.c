// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace start: counted tracing that goes on when the command has ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "cmd/key.h"
#include "cmd/select.h"

#define SEC 1000000000ull

struct start_opts {
	struct kmt_select select;	/* first: its option rows count from here */
	const char *by;
	uint64_t temporary_ns;
	bool stacks, no_objects;
};

#define OFF(f) offsetof(struct start_opts, f)

static const struct kmt_option start_options[] = {
	{ "by", 'b', KMT_OPT_STRING, OFF(by), "VIEW",
	  "a view that will be asked for: task counts by process, cgroup by cgroup, stacks by "
	  "stack, all others by call site", 0, 0, NULL },
	{ "stacks", 0, KMT_OPT_FLAG, OFF(stacks), NULL,
	  "count by kernel stack instead of call site", 0, 0, NULL },
	{ "temporary", 0, KMT_OPT_DURATION, OFF(temporary_ns), "T",
	  "freed sooner than this is temporary (default: 1ms)", 1024, 3600 * SEC, NULL },
	{ "no-objects", 0, KMT_OPT_FLAG, OFF(no_objects), NULL,
	  "count allocations only: cheaper, but nothing is known to be live", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const start_tables[] = { start_options,
							 kmt_select_start_options, NULL };

extern const struct kmt_command kmt_command_start;

static int choose_key(const struct start_opts *o, enum kmt_key *ret)
{
	const struct kmt_analysis *a = kmt_analysis_find(o->by ? o->by : "site");

	if (!a)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--by: there is no view '%s' (see 'kmemtrace "
				    "list')", o->by);
	if (a->needs & KMT_NEEDS_EVENTS)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--by: the view %s needs the event stream: see "
				    "'kmemtrace record'", a->name);
	if (o->stacks && (a->needs & KMT_NEEDS_WHO))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--stacks and the view %s exclude each other",
				    a->name);
	if (o->no_objects && (a->needs & KMT_NEEDS_OBJECTS))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--no-objects leaves no objects for the view %s",
				    a->name);
	*ret = kmt_key_of(a, o->stacks);
	return 0;
}

static int check(struct start_opts *o, const char *name)
{
	struct kmt_select *s = &o->select;
	int status;

	if (kmt_kept_check_name(name))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "%s", kmt_err_text());
	status = kmt_select_prepare(s, "start");
	if (!status)
		status = kmt_select_one_layer(s);
	if (status)
		return status;
	if (s->row_filters.n)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--filter: '%s' is a condition on a column: give "
				    "it to 'stat --session'", s->row_filters.v[0]);
	if (s->follow && !s->filter.n_tgid && !s->filter.n_pid)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--follow needs --filter tgid=N");
	return 0;
}

static int start(struct start_opts *o, const char *name, char **argv)
{
	struct kmt_select *s = &o->select;
	struct kmt_kept k = KMT_KEPT_NONE;
	struct kmt_kept_ask ask;
	enum kmt_key key = KMT_BY_SITE;
	int status = choose_key(o, &key);

	if (!status)
		status = check(o, name);
	if (!status)
		status = kmt_kept_find(true, &k);
	/* what takes a second is not begun in vain; asked again when it counts */
	if (!status && kmt_kept_exists(&k, name))
		status = kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "a session '%s' exists already (see "
				      "'kmemtrace stop' and 'reset')", name);
	ask = (struct kmt_kept_ask){
		.filters = s->filter_exprs, .tracer = s->tracer, .key = key, .sites = s->sites,
		.objects = s->objects, .objects_bytes = s->objects_kb * 1024,
		.temporary_ns = o->temporary_ns ? o->temporary_ns : SEC / 1000,
		.follow = s->follow, .own = s->own, .user_pages = s->user_pages,
		.hash_maps = s->hash_maps, .no_objects = o->no_objects,
	};
	if (!status)
		status = kmt_kept_start(s, &ask, &k, &(struct kmt_kept_job){ .name = name,
									     .argv = argv });
	if (!status)
		printf("session '%s' is running\n", name);
	kmt_kept_done(&k);
	return status;
}

static int run(int argc, char **argv)
{
	/* what reads the options puts others in their place */
	_cleanup_free_ char **own_argv = calloc((size_t)argc + 1, sizeof(*own_argv));
	struct start_opts o = { 0 };
	const char *name = "default";
	bool help = false;
	size_t n = 0;
	int status;

	if (!own_argv)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "out of memory");
	memcpy(own_argv, argv, (size_t)argc * sizeof(*own_argv));
	kmt_select_init(&o.select);
	status = kmt_cmd_parse(&kmt_command_start, &o, argc, argv, &name, 1, &n, &help);
	if (!status)
		status = help ? kmt_cmd_help(&kmt_command_start) : start(&o, name, own_argv);
	kmt_select_done(&o.select);
	return status;
}

const struct kmt_command kmt_command_start = {
	.name = "start",
	.synopsis = "start [OPTIONS] [NAME]",
	.help = "start a session: counted tracing that needs no process",
	.options = start_tables,
	.run = run,
};
