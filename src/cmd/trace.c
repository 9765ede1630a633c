// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace trace: the event stream as text, in the original's two forms. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/output.h"
#include "cmd/select.h"
#include "core/only.h"
#include "eventfmt/eventfmt.h"
#include "symbol/gfp.h"
#include "symbol/nodes.h"
#include "tracers/tracers.h"

#define FLUSH_BYTES (256u << 10)

struct trace_opts {
	struct kmt_select select;	/* first: its option rows count from here */
	const char *format;
	uint64_t limit;
	bool gfp, time, task, cache, real_node, stacks, no_header;
};

struct trace_run {
	const struct trace_opts *o;
	const struct kmt_eventfmt *format;
	struct kmt_eventfmt_opts fmt;
	struct kmt_gfp_names *gfp_names;
	struct kmt_nodes *nodes;
	struct kmt_output out;
	struct kmt_run child;
	uint64_t events, lost;
};

#define OFF(f) offsetof(struct trace_opts, f)

static const struct kmt_option trace_options[] = {
	{ "format", 'F', KMT_OPT_STRING, OFF(format), "FORMAT",
	  "default or table (the original's two outputs; kmem_minimalistic and kmem_alternative "
	  "are names of the table)", 0, 0, NULL },
	{ "gfp", 0, KMT_OPT_FLAG, OFF(gfp), NULL, "add gfp names as the last column", 0, 0, NULL },
	{ "time", 0, KMT_OPT_FLAG, OFF(time), NULL, "add the time", 0, 0, NULL },
	{ "task", 0, KMT_OPT_FLAG, OFF(task), NULL, "add task and CPU", 0, 0, NULL },
	{ "cache", 0, KMT_OPT_FLAG, OFF(cache), NULL, "add the slab cache", 0, 0, NULL },
	{ "real-node", 0, KMT_OPT_FLAG, OFF(real_node), NULL,
	  "add the NUMA node the memory lies on", 0, 0, NULL },
	{ "stacks", 0, KMT_OPT_FLAG, OFF(stacks), NULL, "add the kernel stack of allocations",
	  0, 0, NULL },
	{ "limit", 'n', KMT_OPT_U64, OFF(limit), "N", "stop after this many events", 0, 0, NULL },
	{ "no-header", 0, KMT_OPT_FLAG, OFF(no_header), NULL, "no header lines", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const trace_tables[] = { trace_options, kmt_select_options,
							 kmt_select_from_options, NULL };

extern const struct kmt_command kmt_command_trace;

/* ---- the sink ---- */

static int full(struct trace_run *run)
{
	return run->out.buf.len >= FLUSH_BYTES ? kmt_output_flush(&run->out) : 0;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct trace_run *run = ctx;
	struct kmt_event with_node;

	if (run->o->limit && run->events >= run->o->limit)
		return -ECANCELED;
	run->events++;
	/* a text shows only as it goes in which words its flags are spelt */
	if (run->o->select.facts)
		run->fmt.gfp_names = run->o->select.facts->gfp_names;
	if (run->nodes && ev->real_node < 0 && ev->addr) {
		with_node = *ev;
		with_node.real_node = kmt_nodes_of(run->nodes, ev->addr);
		ev = &with_node;
	}
	run->format->event(&run->fmt, ev, &run->out.buf);
	return full(run);
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct trace_run *run = ctx;

	run->lost += lost->events ? lost->events : 1;
	run->format->lost(&run->fmt, lost, &run->out.buf);
	return full(run);
}

/* ---- the run ---- */

static int on_turn(void *ctx)
{
	struct trace_run *run = ctx;

	return kmt_output_flush(&run->out);
}

static int trace_live(struct trace_run *run, char **argv, const struct kmt_sink *sink,
		      int *ret_status)
{
	const struct kmt_live live = {
		.select = &run->o->select, .child = &run->child, .sink = sink, .turn = on_turn,
		.ctx = run,
	};
	int err;

	kmt_live_realtime(&run->o->select);
	err = kmt_live_run(&live, argv, ret_status);
	kmt_live_normal();
	return err;
}

static int read_file(struct trace_run *run, const struct kmt_sink *sink)
{
	struct kmt_source *src = run->o->select.source;
	int n;

	do {
		int err;

		n = src->ops->poll(src, sink, 100);
		err = kmt_output_flush(&run->out);
		if (err)
			return err;
	} while (n >= 0 && !kmt_run_over(&run->child));
	return n == -ENODATA || n >= 0 ? 0 : n;
}

/* What the reader of a recording's addresses must know, and the text itself cannot say. */
static void tell_hashes(struct trace_run *run)
{
	struct kmt_source *src = run->o->select.source;
	struct kmt_quality q = { 0 };

	src->ops->quality(src, &q);
	if (q.hashed_addresses)
		kmt_cmd_warn("addresses of objects are hashes (%%p): the recording has no others");
}

/* One line at the end, on standard error: the stream itself stays machine-readable. */
static void tell_end(struct trace_run *run)
{
	struct kmt_source *src = run->o->select.source;
	struct kmt_quality q = { 0 };
	struct kmt_buf line = { 0 };

	src->ops->quality(src, &q);
	run->lost = kmt_quality_lost(&q);
	if (run->out.dropped && !run->out.failed)
		kmt_cmd_warn("standard output is stalled: its reader did not take the last %llu "
			     "bytes", (unsigned long long)run->out.dropped);
	kmt_buf_printf(&line, "%llu events printed", (unsigned long long)run->events);
	kmt_live_losses(&q, &line);
	kmt_cmd_warn("%s", kmt_buf_str(&line));
	kmt_buf_done(&line);
}

static int finish(struct trace_run *run, int err, int status)
{
	if (err == -EPIPE || err == -ECANCELED || err == -EINTR)
		err = 0;
	if (err)
		return kmt_cmd_fail(run->o->select.from && !run->out.failed ? KMT_EXIT_INPUT :
				    KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (!status && run->o->select.strict && run->lost)
		return KMT_EXIT_LOST;
	return status;
}

static int prepare(struct trace_opts *o, struct trace_run *run)
{
	int status;

	run->format = kmt_eventfmt_find(o->format);
	if (!run->format)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--format: there is no format '%s' (see "
				    "'kmemtrace list')", o->format);
	status = kmt_select_prepare(&o->select, "trace");
	if (status)
		return status;
	if (o->select.row_filters.n)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--filter: '%s' is a condition on the rows of "
				    "a view; trace has none", o->select.row_filters.v[0]);
	if (o->real_node && !o->select.from && kmt_nodes_load(NULL, &run->nodes))
		kmt_cmd_warn("%s; real nodes are unknown", kmt_err_text());
	run->fmt = (struct kmt_eventfmt_opts) {
		.gfp = o->gfp, .time = o->time, .task = o->task, .cache = o->cache,
		.real_node = o->real_node, .stacks = o->stacks,
	};
	return 0;
}

/* The running kernel's bits and addresses mean something else in a recording. */
static void find_names(struct trace_run *run)
{
	const struct kmt_facts *facts = run->o->select.facts;

	run->fmt.symbols = kmt_select_symbols(&run->o->select);
	run->fmt.gfp_names = facts ? facts->gfp_names : NULL;
	if (!run->fmt.gfp_names && !run->o->select.from)
		run->fmt.gfp_names = run->o->select.gfp_names;
	if (!run->o->gfp || run->fmt.gfp_names)
		return;
	if (run->o->select.from && !facts)
		kmt_gfp_names_2008(&run->gfp_names);
	else if (!run->o->select.from)
		kmt_cmd_warn("no gfp names: neither the kernel's BTF nor a kmem event format has "
			     "them; gfp flags are shown in hex");
	run->fmt.gfp_names = run->gfp_names;
}

static int run_trace(struct trace_opts *o, char **argv)
{
	struct trace_run run = { .o = o, .child = KMT_RUN_NONE };
	/* of a recording everything, unless some of it was asked for */
	struct kmt_only only = {
		.types = UINT32_MAX, .to = { .event = on_event, .lost = on_lost, .ctx = &run },
	};
	const struct kmt_sink sink = kmt_only_sink(&only);
	struct kmt_source_opts so = {
		.mode = KMT_MODE_STREAMED, .want_task = o->task, .want_stacks = o->stacks,
		.want_cache = o->cache, .want_real_node = o->real_node,
		.force_objects = o->select.objects > 0,
	};
	int status = prepare(o, &run), err = 0;

	/* what is shown of other layers is looked for as if they had been named */
	if (!status && o->select.from && !o->select.tracer) {
		o->select.tracers = KMT_TRACERS_OF_EVENTS(~0u);
		o->select.user_pages = true;
	}
	if (!status)
		status = kmt_select_command(&o->select, &run.child, argv);
	if (!status)
		status = kmt_select_open(&o->select, &so);
	if (!status) {
		kmt_output_init(&run.out, STDOUT_FILENO, &run.child);
		find_names(&run);
		if (o->select.from && o->select.tracer)
			only.types = kmt_tracers_types(o->select.tracers);
		if (!err && run.format->header && !o->no_header)
			run.format->header(&run.fmt, &run.out.buf);
		if (!err)
			err = o->select.from ? read_file(&run, &sink) :
			      trace_live(&run, argv, &sink, &status);
		if (!err || err == -ECANCELED)
			err = kmt_output_flush(&run.out);
		kmt_run_done(&run.child);
		if (err != -EPIPE && !o->select.from)
			tell_end(&run);
		if (err != -EPIPE && o->select.from)
			tell_hashes(&run);
		status = finish(&run, err, status ? status : kmt_run_status(&run.child));
	}
	kmt_run_done(&run.child);
	kmt_output_done(&run.out);
	kmt_nodes_free(run.nodes);
	kmt_gfp_names_free(run.gfp_names);
	return status;
}

static int run(int argc, char **argv)
{
	struct trace_opts o = { .format = "default" };
	bool help = false;
	int next = argc, status;

	kmt_select_init(&o.select);
	if (kmt_options_parse(trace_tables, &o, argc, argv, &next, &help))
		status = kmt_cmd_usage_error("trace");
	else if (help)
		status = kmt_cmd_help(&kmt_command_trace);
	else if (next < argc && o.select.from)
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "--from runs no command");
	else
		status = run_trace(&o, next < argc ? argv + next : NULL);
	kmt_select_done(&o.select);
	return status;
}

const struct kmt_command kmt_command_trace = {
	.name = "trace",
	.synopsis = "trace [OPTIONS] [-- CMD [ARG...]]",
	.help = "print every slab event, in order",
	.options = trace_tables,
	.run = run,
};
