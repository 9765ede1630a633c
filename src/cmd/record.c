// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace record: every slab event into a file that answers later. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/from_boot.h"
#include "cmd/live.h"
#include "cmd/progress.h"
#include "cmd/recorder.h"
#include "cmd/select.h"
#include "core/session.h"
#include "symbol/nodes.h"

#define SEC	1000000000ull
#define TICK_NS	(SEC / 10)	/* how often peaks are looked at, with --aggregate */

struct record_opts {
	struct kmt_select select;	/* first: its option rows count from here */
	const char *output;
	uint64_t max_bytes, ring_bytes;
	bool force, stacks, aggregate;
	bool from_boot, clear, stop;
};

struct record_run {
	const struct record_opts *o;
	struct kmt_recorder recorder;
	struct kmt_session *session;	/* with --aggregate: keeps the peaks */
	struct kmt_sink sink;		/* of the one or the other */
	struct kmt_nodes *nodes;
	struct kmt_run child;
	struct kmt_progress progress;
	uint64_t next_tick_ns;
};

#define OFF(f) offsetof(struct record_opts, f)

static const struct kmt_option record_options[] = {
	{ "output", 'o', KMT_OPT_STRING, OFF(output), "FILE",
	  "the recording ('-': standard output)", 0, 0, NULL },
	{ "force", 'f', KMT_OPT_FLAG, OFF(force), NULL, "overwrite a file that exists", 0, 0, NULL },
	{ "max-size", 0, KMT_OPT_SIZE, OFF(max_bytes), "SIZE",
	  "stop before the file is larger than this", 65536, 0, NULL },
	{ "ring", 0, KMT_OPT_SIZE, OFF(ring_bytes), "SIZE",
	  "flight recorder: keep only the last events, about so many bytes of them",
	  65536, 0, NULL },
	{ "stacks", 0, KMT_OPT_FLAG, OFF(stacks), NULL, "with the kernel stack of allocations",
	  0, 0, NULL },
	{ "aggregate", 0, KMT_OPT_FLAG, OFF(aggregate), NULL,
	  "no events: only the books of 'stat', in a small file", 0, 0, NULL },
	{ "from-boot", 0, KMT_OPT_FLAG, OFF(from_boot), NULL,
	  "no new events: what the kernel recorded since its boot (see 'kmemtrace boot')",
	  0, 0, NULL },
	{ "clear", 0, KMT_OPT_FLAG, OFF(clear), NULL,
	  "with --from-boot: empty its buffer, once the file is written", 0, 0, NULL },
	{ "stop", 0, KMT_OPT_FLAG, OFF(stop), NULL,
	  "with --from-boot: switch its events off first", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const record_tables[] = { record_options, kmt_select_options,
							  NULL };

extern const struct kmt_command kmt_command_record;

/* ---- the run ---- */

/* The kernel's books into the session, which keeps the peaks. */
static int take_books(struct record_run *run)
{
	struct kmt_source *src = run->o->select.source;

	return src->ops->counted ? src->ops->snapshot(src, &run->sink) : 0;
}

static int on_turn(void *ctx)
{
	struct record_run *run = ctx;
	uint64_t now = kmt_live_now();
	int err;

	if (run->session) {
		if (now < run->next_tick_ns)
			return 0;
		run->next_tick_ns = now + TICK_NS;
		err = take_books(run);
	} else {
		err = kmt_recorder_turn(&run->recorder);
	}
	if (!err && kmt_progress_is_due(&run->progress, now)) {
		struct kmt_quality q = { 0 };

		run->o->select.source->ops->quality(run->o->select.source, &q);
		kmt_progress_show(&run->progress, now, run->session ? q.events :
				  run->recorder.events, kmt_quality_lost(&q),
				  kmt_recorder_bytes(&run->recorder));
	}
	return err;
}

static int on_start(void *ctx)
{
	struct record_run *run = ctx;

	return kmt_recorder_start(&run->recorder);
}

/* What the end of the file says. An input that ended early is not the whole of it. */
static int write_end(struct record_run *run, bool is_cut)
{
	struct kmt_source *src = run->o->select.source;
	struct kmt_quality q = { 0 };
	int err = 0;

	if (run->session)
		err = take_books(run);
	src->ops->quality(src, &q);
	if (run->session) {
		kmt_session_set_quality(run->session, &q);
		kmt_session_quality(run->session, &q);
		err = err ? err : kmt_recorder_session(&run->recorder, run->session);
	} else if (is_cut) {
		q.events = run->recorder.events;
	}
	return err ? err : kmt_recorder_end(&run->recorder, NULL, &q);
}

/*
 * The reader at real-time priority, and with it the thread that writes: made
 * after that, it has the same.
 */
static int record(struct record_run *run, char **argv, char **command, int *ret_status)
{
	const struct record_opts *o = run->o;
	const struct kmt_live live = {
		.select = &o->select, .child = &run->child, .sink = &run->sink,
		.started = on_start, .turn = on_turn, .ctx = run,
	};
	struct kmt_buf filters = { 0 };
	const struct kmt_recorder_opts ro = {
		.symbols = o->select.symbols, .gfp_names = o->select.gfp_names, .argv = argv,
		.source = o->select.source->ops->name,
		.filters = kmt_select_filters_text(&o->select, &filters),
		.max_bytes = o->max_bytes, .ring_bytes = o->ring_bytes, .run = &run->child,
		.temporary_ns = o->aggregate ? SEC / 1000 : 0,
	};
	int err, end_err = 0;

	if (!o->aggregate)
		kmt_live_realtime(&o->select);
	err = kmt_recorder_begin(&run->recorder, &ro);
	if (!err) {
		err = kmt_live_run(&live, command, ret_status);
		kmt_recorder_stop(&run->recorder);
		/* after a failed write the file ends with its last whole block */
		if (*ret_status)
			run->recorder.has_begun = false;	/* the command could not be run */
		else if (!err || err == -EFBIG || !run->recorder.failed)
			end_err = write_end(run, err != 0);
	}
	kmt_live_normal();
	kmt_buf_done(&filters);
	kmt_progress_clear(&run->progress);
	return err ? err : end_err;
}

/* ---- set-up ---- */

static int check(const struct record_opts *o)
{
	if (!o->output)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "record needs --output FILE (see 'kmemtrace "
				    "record --help')");
	if ((o->clear || o->stop) && !o->from_boot)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--clear and --stop belong to --from-boot");
	if (o->ring_bytes && o->max_bytes)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--ring and --max-size exclude each other");
	if (o->ring_bytes && o->aggregate)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--ring and --aggregate exclude each other");
	if (o->ring_bytes && !strcmp(o->output, "-"))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--ring needs a file: standard output cannot "
				    "be written over");
	if (o->select.row_filters.n)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--filter: '%s' is a condition on the rows of "
				    "a view; record has none", o->select.row_filters.v[0]);
	/* events of several are told apart by their reader; books are not */
	return o->aggregate ? kmt_select_one_layer(&o->select) : 0;
}

/* Only what concerns events that were recorded already. */
static int check_from_boot(const struct record_opts *o, char **command)
{
	const struct kmt_select *s = &o->select;

	if (command || s->for_ns || s->follow || s->source_name || o->ring_bytes || o->aggregate ||
	    s->buffer_bytes || s->objects)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--from-boot takes what was recorded already: CMD, "
				    "--for, --follow, --source, --ring, --aggregate, --buffer and "
				    "--objects belong to a new recording");
	return 0;
}

static int run_from_boot(struct record_opts *o, char **argv, char **command)
{
	const struct kmt_from_boot fb = {
		.select = &o->select, .output = o->output, .argv = argv, .max_bytes = o->max_bytes,
		.force = o->force, .clear = o->clear, .stop = o->stop,
	};
	int status = kmt_select_prepare(&o->select, "record");

	if (!status)
		status = check_from_boot(o, command);
	if (!status)
		status = check(o);
	return status ? status : kmt_from_boot(&fb);
}

static int open_source(struct record_opts *o)
{
	struct kmt_source_opts so = {
		.mode = o->aggregate ? KMT_MODE_COUNTED : KMT_MODE_STREAMED,
		.key = o->aggregate && o->stacks ? KMT_BY_STACK : KMT_BY_SITE,
		.want_stacks = o->stacks,
	};

	if (!o->aggregate) {
		so.want_task = so.want_cache = so.want_real_node = true;
		so.force_objects = o->select.objects > 0;
		so.no_objects = !so.force_objects;	/* who reads the file follows them */
		so.threads = true;
	}
	return kmt_select_open(&o->select, &so);
}

static int prepare(struct record_opts *o, struct record_run *run)
{
	const struct kmt_session_opts so = { .by_stack = o->stacks };

	run->sink = kmt_recorder_sink(&run->recorder);
	kmt_progress_init(&run->progress);
	if (o->aggregate) {
		if (kmt_session_new(&so, &run->session))
			return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
		run->sink = kmt_session_sink(run->session);
	} else if (kmt_nodes_load(NULL, &run->nodes)) {
		kmt_cmd_warn("%s; real nodes are unknown", kmt_err_text());
	}
	run->recorder.nodes = run->nodes;
	return 0;
}

static int finish(struct record_run *run, int err, int status)
{
	struct kmt_source *src = run->o->select.source;
	struct kmt_quality q = { 0 };

	if (err == -EPIPE && !strcmp(run->o->output, "-"))
		return status;	/* its reader went away */
	if (err == -EFBIG && !run->recorder.writer) {
		run->recorder.has_begun = false;	/* nothing in it that could be read */
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--max-size is too small: the kernel's symbols "
				    "alone take more");
	}
	if (err && err != -EFBIG)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (err)
		kmt_cmd_warn("%s", kmt_err_text());
	src->ops->quality(src, &q);
	kmt_progress_end(run->o->output, run->session ? q.events : run->recorder.events,
			 kmt_recorder_bytes(&run->recorder), !run->session, &q);
	if (!status && run->o->select.strict && kmt_quality_lost(&q))
		return KMT_EXIT_LOST;
	return status;
}

static int run_record(struct record_opts *o, char **argv, char **command)
{
	struct record_run run = { .o = o, .child = KMT_RUN_NONE, .recorder = KMT_RECORDER_NONE };
	int status = kmt_select_prepare(&o->select, "record"), err;

	if (!status)
		status = check(o);
	if (!status)
		status = kmt_recorder_open(&run.recorder, o->output, o->force);
	if (!status)
		status = prepare(o, &run);
	if (!status)
		status = kmt_select_command(&o->select, &run.child, command);
	if (!status)
		status = open_source(o);
	if (!status) {
		err = record(&run, argv, command, &status);
		kmt_run_done(&run.child);
		if (!status)
			status = finish(&run, err, kmt_run_status(&run.child));
	}
	kmt_run_done(&run.child);
	kmt_recorder_done(&run.recorder);
	kmt_session_free(run.session);
	kmt_nodes_free(run.nodes);
	return status;
}

static int run(int argc, char **argv)
{
	struct record_opts o = { 0 };
	bool help = false;
	int next = argc, status;

	kmt_select_init(&o.select);
	if (kmt_options_parse(record_tables, &o, argc, argv, &next, &help))
		status = kmt_cmd_usage_error("record");
	else if (help)
		status = kmt_cmd_help(&kmt_command_record);
	else
		status = (o.from_boot ? run_from_boot : run_record)(&o, argv, next < argc ?
								    argv + next : NULL);
	kmt_select_done(&o.select);
	return status;
}

const struct kmt_command kmt_command_record = {
	.name = "record",
	.synopsis = "record -o FILE [OPTIONS] [-- CMD [ARG...]]",
	.help = "write every slab event into a file that answers later",
	.options = record_tables,
	.run = run,
};
