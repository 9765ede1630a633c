// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace snapshot: a session's books of this moment into a recording. */
#include <string.h>

#include "base/err.h"
#include "cmd/books.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "cmd/recorder.h"
#include "cmd/view.h"

struct snapshot_opts {
	struct kmt_ask ask;	/* first: as all that ask; it has no rows of its own here */
	const char *output;
	bool force;
};

#define OFF(f) offsetof(struct snapshot_opts, f)

static const struct kmt_option snapshot_options[] = {
	{ "output", 'o', KMT_OPT_STRING, OFF(output), "FILE",
	  "the recording to make ('-': standard output)", 0, 0, NULL },
	{ "force", 'f', KMT_OPT_FLAG, OFF(force), NULL, "overwrite a file that exists", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const snapshot_tables[] = { snapshot_options, NULL };

extern const struct kmt_command kmt_command_snapshot;

static int write_file(struct snapshot_opts *o, struct kmt_view *v, char **argv)
{
	struct kmt_recorder r = KMT_RECORDER_NONE;
	int status = kmt_recorder_open(&r, o->output, o->force), err = 0;

	if (!status) {
		/* the kernel's own counts are of this moment; so must ours be */
		kmt_view_count(v, &v->slabs_end);
		err = kmt_view_update(v);
		err = err ? err : kmt_books_write(v, &r, argv);
	}
	if (err)
		status = kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	kmt_recorder_done(&r);
	return status;
}

static int snapshot(struct snapshot_opts *o, char **argv)
{
	struct kmt_source_opts so;
	struct kmt_view v = { 0 };
	int status = kmt_kept_ask(&o->ask);

	if (status)
		return status;
	if (!o->ask.by)
		o->ask.by = "site,cache";
	status = kmt_view_init(&v, &o->ask, "snapshot", "");
	if (!status)
		status = kmt_select_prepare(&o->ask.select, "snapshot");
	if (!status)
		status = kmt_view_session(&v);
	if (!status) {
		kmt_view_source_opts(&v, &so);
		status = kmt_select_open(&o->ask.select, &so);
	}
	if (!status)
		status = write_file(o, &v, argv);
	kmt_view_done(&v);
	return status;
}

static int run(int argc, char **argv)
{
	struct snapshot_opts o = { 0 };
	const char *name = NULL;
	bool help = false;
	size_t n = 0;
	int status;

	kmt_ask_init(&o.ask, NULL);
	status = kmt_cmd_parse(&kmt_command_snapshot, &o, argc, argv, &name, 1, &n, &help);
	o.ask.select.session = name;
	if (!status && help)
		status = kmt_cmd_help(&kmt_command_snapshot);
	else if (!status && !(n && o.output))
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "snapshot needs the NAME of a session and "
				      "-o FILE");
	else if (!status)
		status = snapshot(&o, argv);
	kmt_select_done(&o.ask.select);
	return status;
}

const struct kmt_command kmt_command_snapshot = {
	.name = "snapshot",
	.synopsis = "snapshot NAME -o FILE",
	.help = "take a session's books of this moment into a recording",
	.options = snapshot_tables,
	.run = run,
};
