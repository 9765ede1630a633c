// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace reset: a session's statistics begin at zero. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "cmd/select.h"

static const struct kmt_option *const reset_tables[] = { NULL };

extern const struct kmt_command kmt_command_reset;

/* What the session was started with, as options again; 'old' must live as long. */
static int as_options(const struct kmt_kept_ask *ask, struct kmt_select *s)
{
	for (size_t i = 0; i < ask->filters.n; i++)
		if (kmt_strlist_add(&s->filter_exprs, ask->filters.v[i]))
			return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "out of memory");
	s->tracer = ask->tracer;
	s->sites = ask->sites;
	s->objects = ask->objects_bytes ? 0 : ask->objects;
	s->objects_kb = ask->objects_bytes / 1024;
	s->follow = ask->follow;
	s->own = ask->own;
	s->user_pages = ask->user_pages;
	s->hash_maps = ask->hash_maps;
	return 0;
}

/*
 * A second session of the same kind takes the first one's name, so that no reader
 * ever sees half of a reset, and nothing happens unseen between the two.
 */
static int reset(const char *name, char **argv)
{
	struct kmt_select old, new;
	struct kmt_kept k = KMT_KEPT_NONE;
	struct kmt_kept_job job = { .name = name, .replace = true, .argv = argv };
	int status = kmt_kept_find(false, &k), err;

	if (status)
		return status;
	kmt_select_init(&old);
	kmt_select_init(&new);
	old.session = name;
	err = kmt_kept_source(&old, &k);
	status = err ? kmt_kept_fail(err) : as_options(kmt_kept_ask_of(old.source), &new);
	if (!status)
		status = kmt_select_prepare(&new, "reset");
	if (!status) {
		job.command = kmt_kept_facts(old.source)->command;
		status = kmt_kept_start(&new, kmt_kept_ask_of(old.source), &k, &job);
	}
	kmt_select_done(&new);
	kmt_select_done(&old);
	kmt_kept_done(&k);
	return status;
}

static int run(int argc, char **argv)
{
	const char *name = NULL;
	bool help = false;
	size_t n = 0;
	int status = kmt_cmd_parse(&kmt_command_reset, NULL, argc, argv, &name, 1, &n, &help);

	if (status)
		return status;
	if (help)
		return kmt_cmd_help(&kmt_command_reset);
	return n ? reset(name, argv) :
		   kmt_cmd_fail(KMT_EXIT_USAGE, "reset needs the NAME of a session");
}

const struct kmt_command kmt_command_reset = {
	.name = "reset",
	.synopsis = "reset NAME",
	.help = "begin a session's statistics at zero",
	.options = reset_tables,
	.run = run,
};
