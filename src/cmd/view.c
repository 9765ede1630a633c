// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/feed.h"
#include "cmd/key.h"
#include "core/sat.h"
#include "core/session.h"
#include "render/render.h"
#include "report/report.h"
#include "source/kept.h"
#include "symbol/gfp.h"
#include "symbol/lines.h"
#include "symbol/nodes.h"
#include "symbol/slabs.h"
#include "tracers/tracers.h"

#define SEC 1000000000ull
#define TAIL "10%"
#define OFF(f) offsetof(struct kmt_ask, f)

const struct kmt_option kmt_ask_options[] = {
	{ "stacks", 0, KMT_OPT_FLAG, OFF(stacks), NULL,
	  "one row per kernel stack instead of call site", 0, 0, NULL },
	{ "min-age", 0, KMT_OPT_DURATION, OFF(min_age_ns), "T",
	  "only objects that are live and at least this old", 1, 366 * 86400ull * SEC, NULL },
	{ "temporary", 0, KMT_OPT_DURATION, OFF(temporary_ns), "T",
	  "freed sooner than this is temporary (default: 1ms)", 1024, 3600 * SEC, NULL },
	{ "tail", 0, KMT_OPT_STRING, OFF(tail), "PERCENT",
	  "leaks: what was allocated in this last part of the time proves nothing (default: 10%)",
	  0, 0, NULL },
	{ "inverted", 0, KMT_OPT_FLAG, OFF(inverted), NULL,
	  "stacks: the tree begins with the function that allocates", 0, 0, NULL },
	{ "callers", 0, KMT_OPT_STRING, OFF(callers), "FUNC",
	  "stacks: the tree of those who call FUNC, a pattern", 0, 0, NULL },
	{ "callees", 0, KMT_OPT_STRING, OFF(callees), "FUNC",
	  "stacks: the tree of those whom FUNC calls, a pattern", 0, 0, NULL },
	{ "vmlinux", 0, KMT_OPT_STRING, OFF(vmlinux), "FILE",
	  "directory: the traced kernel's vmlinux, with debug information", 0, 0, NULL },
	{ "sort", 's', KMT_OPT_STRING, OFF(sort), "COLUMN",
	  "sort by a column; COLUMN:asc or COLUMN:desc", 0, 0, NULL },
	{ "limit", 'n', KMT_OPT_U64, OFF(limit), "N",
	  "rows shown (default: 20, more in some views; 0: all)", 0, UINT32_MAX, NULL },
	{ "columns", 'c', KMT_OPT_STRING, OFF(columns), "A,B,...",
	  "columns shown, by their JSON names", 0, 0, NULL },
	{ "bytes", 0, KMT_OPT_FLAG, OFF(bytes), NULL, "exact bytes instead of KiB and MiB", 0, 0, NULL },
	{ "format", 'F', KMT_OPT_STRING, OFF(format), "FORMAT",
	  "text, json, csv or ndjson (default: text)", 0, 0, NULL },
	{ "no-header", 0, KMT_OPT_FLAG, OFF(no_header), NULL, "no header line in text and CSV",
	  0, 0, NULL },
	{ 0 }
};

void kmt_ask_init(struct kmt_ask *a, const char *by)
{
	*a = (struct kmt_ask){ .by = by, .format = "text", .limit = UINT64_MAX };
	kmt_select_init(&a->select);
}

/* "10%" or "10" */
static int parse_tail(struct kmt_view *v)
{
	const char *tail = v->ask->tail ? v->ask->tail : TAIL;
	size_t len = strlen(tail);
	char text[16];

	if (len && tail[len - 1] == '%')
		len--;
	snprintf(text, sizeof(text), "%.*s", len < sizeof(text) ? (int)len : 0, tail);
	if (kmt_parse_decimal(text, "--tail", &v->tail_percent) || v->tail_percent > 99)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--tail must be a percentage from 0 to 99, not "
				    "'%s'", tail);
	return 0;
}

/* An option that one view alone understands would change nothing in another. */
static int check_owners(const struct kmt_view *v)
{
	const struct kmt_ask *a = v->ask;
	const struct { const char *option, *view; bool given; } owners[] = {
		{ "inverted", "stacks", a->inverted },
		{ "callers", "stacks", a->callers },
		{ "callees", "stacks", a->callees },
		{ "tail", "leaks", a->tail },
		{ "vmlinux", "directory", a->vmlinux },
	};

	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
		if (owners[i].given && strcmp(owners[i].view, v->analysis->name))
			return kmt_cmd_fail(KMT_EXIT_USAGE, "--%s belongs to the view %s, not to %s",
					    owners[i].option, owners[i].view, v->analysis->name);
	return 0;
}

int kmt_view_init(struct kmt_view *v, const struct kmt_ask *a, const char *command,
		  const char *option)
{
	*v = (struct kmt_view){ .ask = a, .command = command };
	v->analysis = kmt_analysis_find(a->by);
	if (!v->analysis)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "%sthere is no view '%s' (see 'kmemtrace list')",
				    option, a->by);
	v->renderer = kmt_renderer_find(a->format);
	if (!v->renderer)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--format: there is no format '%s' (see "
				    "'kmemtrace list')", a->format);
	if (a->stacks && (v->analysis->needs & KMT_NEEDS_WHO))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--stacks and the view %s exclude each other",
				    v->analysis->name);
	if (a->inverted + !!a->callers + !!a->callees > 1)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--inverted, --callers and --callees exclude each "
				    "other");
	return check_owners(v) ? KMT_EXIT_USAGE : parse_tail(v);
}

/* ---- the report ---- */

static uint64_t limit_of(const struct kmt_view *v)
{
	if (v->ask->limit != UINT64_MAX)
		return v->ask->limit;
	return v->analysis->rows ? v->analysis->rows : 20;
}

static int shape(const struct kmt_view *v, struct kmt_report *r)
{
	const struct kmt_ask *a = v->ask;
	const struct kmt_strlist *filters = &a->select.row_filters;

	return kmt_report_shape(r, filters->v, filters->n, v->analysis->own_order ? NULL : a->sort,
				limit_of(v), a->columns);
}

/* Whose facts hold: the recording's, or those of the kernel that runs here. */
static void ask_of(const struct kmt_view *v, struct kmt_analysis_in *in)
{
	const struct kmt_ask *a = v->ask;
	const struct kmt_facts *f = a->select.facts;
	/* a session's kernel is the one that runs here, but its start is not ours */
	const struct kmt_facts *kept = a->select.session ? kmt_kept_facts(a->select.source) : f;
	uint64_t temporary_ns = kept ? kept->temporary_ns : 0;

	if (a->temporary_ns)
		temporary_ns = a->temporary_ns;
	*in = (struct kmt_analysis_in){
		.session = v->session,
		.symbols = kmt_select_symbols(&a->select),
		.slabs_start = kept ? kept->slabs_start : v->slabs_start,
		.slabs_end = f ? f->slabs_end : v->slabs_end,
		.gfp_names = f ? f->gfp_names : a->select.from ? v->gfp_names :
			     a->select.gfp_names,
		.lines = v->lines,
		.nodes = v->nodes,
		.no_nodes = *v->no_nodes ? v->no_nodes : NULL,
		.command = v->command,
		.min_age_ns = a->min_age_ns,
		.temporary_ns = temporary_ns ? temporary_ns : 1000000,
		.filtered = v->in_part || !kmt_filter_empty(&a->select.filter) || (f && f->filters),
		.facts = f,
		.module = *v->module.name ? &v->module : NULL,
		.sort = a->sort,
		.limit = limit_of(v),
		.tail_percent = v->tail_percent,
		.brief = v->brief,
		.inverted = a->inverted,
		.callers = a->callers,
		.callees = a->callees,
	};
}

/* Move the source lines to where the traced kernel lay; they must be its own. */
static int place_lines(struct kmt_view *v)
{
	const struct kmt_facts *f = v->ask->select.facts;
	const char *id = v->lines ? kmt_lines_build_id(v->lines) : NULL;

	if (!v->lines)
		return 0;
	if (id && f && f->build_id && strcmp(id, f->build_id))
		return kmt_err(-EINVAL, "%s is another kernel's: its build id is %s, the "
			       "recording's %s", v->ask->vmlinux, id, f->build_id);
	kmt_lines_place(v->lines, kmt_select_symbols(&v->ask->select));
	return 0;
}

static int note_session(const struct kmt_select *s, struct kmt_report *r)
{
	if (kmt_kept_is_over(s->source))
		return kmt_report_note(r, "session '%s' was stopped or reset while it was read: this is "
				       "what it counted until then; peaks are the highest that this "
				       "command has read", s->session);
	return kmt_report_note(r, "session '%s' goes on without a process: peaks are the highest "
			       "that this command has read", s->session);
}

/* Columns that say so may not be on the page. */
static int note_no_count(const struct kmt_view *v, struct kmt_report *r)
{
	const struct kmt_select *s = &v->ask->select;

	if (s->from || s->session || v->slabs_start || !kmt_session_has_objects(v->session))
		return 0;
	return kmt_report_note(r, "the kernel's own counts (/proc/slabinfo) cannot be read: nothing "
			       "tells how far live counts can be believed");
}

static int make_report(struct kmt_view *v, uint64_t interval_ns, struct kmt_report **ret_report)
{
	struct kmt_analysis_in in;
	struct kmt_report *r = NULL;
	int err;

	ask_of(v, &in);
	in.interval_ns = interval_ns;
	err = place_lines(v);
	if (!err)
		err = kmt_session_settle(v->session);
	if (!err)
		err = v->analysis->run(&in, &r);
	if (!err)
		err = note_no_count(v, r);
	if (!err && v->ask->select.session)
		err = note_session(&v->ask->select, r);
	if (!err)
		err = shape(v, r);
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret_report = r;
	return 0;
}

/* Into memory first: a stalled reader must not keep us from hearing a signal. */
static int render(struct kmt_view *v, const struct kmt_report *r,
		  const struct kmt_render_opts *opts)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err;

	if (!f)
		return kmt_err_errno(-errno, "report");
	err = v->renderer->render(r, opts, f);
	if (fclose(f) && !err)
		err = kmt_err_errno(-errno, "report");
	if (err)
		return err;
	kmt_buf_add(&v->out.buf, text, len);
	return kmt_output_flush(&v->out);
}

int kmt_view_report(struct kmt_view *v, uint64_t interval_ns, struct kmt_report **ret_report)
{
	if (!v->ask->select.from && !v->is_over && !v->keeps_count)
		kmt_view_count(v, &v->slabs_end);
	return make_report(v, interval_ns, ret_report);
}

void kmt_view_count(const struct kmt_view *v, struct kmt_slabs **slabs)
{
	int n = v->exact ? kmt_slabs_shrink(NULL) : 0;
	struct kmt_slabs *before = take_ptr(*slabs);

	if (n < 0 && slabs == &v->slabs_start)
		kmt_cmd_warn("--exact: %s; the kernel's counts are taken as they are",
			     kmt_err_text());
	kmt_slabs_count_again(NULL, before ? before : v->slabs_start, n > 0, slabs);
	kmt_slabs_free(before);
}

int kmt_view_show(struct kmt_view *v, const struct kmt_report *r)
{
	const struct kmt_render_opts opts = {
		.exact_bytes = v->ask->bytes,
		.no_header = v->ask->no_header,
		.color = kmt_cmd_color(),
		.width = kmt_cmd_width(),
		.first = !v->printed,
	};

	v->printed = true;
	return render(v, r, &opts);
}

int kmt_view_print(struct kmt_view *v, uint64_t interval_ns)
{
	struct kmt_report *r = NULL;
	int err = kmt_view_report(v, interval_ns, &r);

	if (!err)
		err = kmt_view_show(v, r);
	kmt_report_free(r);
	return err;
}

/* ---- the session ---- */

/* Names of columns and filters are checked before anything is traced. */
static int try_report(struct kmt_view *v)
{
	struct kmt_report *r = NULL;
	int err = make_report(v, 0, &r);

	kmt_report_free(r);
	return err;
}

int kmt_view_wants(struct kmt_view *v, const struct kmt_analysis *a)
{
	if (a->needs & KMT_NEEDS_CPUS)
		kmt_session_count_cpus(v->session);
	/* a recording's machine is not this one */
	if ((a->needs & KMT_NEEDS_NODES) && !v->ask->select.from && !v->nodes &&
	    kmt_nodes_load(NULL, &v->nodes))
		snprintf(v->no_nodes, sizeof(v->no_nodes), "%s", kmt_err_text());
	return a->observer ? kmt_session_observe(v->session, a->observer) : 0;
}

int kmt_view_session(struct kmt_view *v)
{
	const struct kmt_ask *a = v->ask;
	const enum kmt_key key = kmt_key_of(v->analysis, a->stacks);
	const struct kmt_session_opts so = {
		.by_stack = key == KMT_BY_STACK,
		.by_task = key == KMT_BY_TASK,
		.temporary_ns = a->temporary_ns,
		.max_objects = a->select.objects,
		.max_sites = a->select.sites,
	};
	int err = kmt_select_one_layer(&a->select);

	if (err)
		return err;
	if (a->select.filter.follow_module)
		snprintf(v->module.name, sizeof(v->module.name), "%s",
			 a->select.filter.follow_module);
	err = kmt_session_new(&so, &v->session);
	if (!err)
		err = kmt_view_wants(v, v->analysis);
	if (err)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (a->vmlinux && kmt_lines_load(a->vmlinux, &v->lines))
		return kmt_cmd_fail(KMT_EXIT_INPUT, "%s", kmt_err_text());
	v->only = (struct kmt_only){ .types = kmt_tracers_types(a->select.tracers),
				     .to = kmt_session_sink(v->session) };
	v->sink = kmt_only_sink(&v->only);
	/*
	 * The running kernel's bits mean something else in a recording; one that
	 * says nothing of its own is a text of the original's time. Those of the
	 * running kernel come with the source.
	 */
	if (a->select.from)
		kmt_gfp_names_2008(&v->gfp_names);
	return try_report(v) ? kmt_cmd_usage_error(v->command) : 0;
}

void kmt_view_source_opts(const struct kmt_view *v, struct kmt_source_opts *ret)
{
	const enum kmt_key key = kmt_key_of(v->analysis, v->ask->stacks);

	*ret = (struct kmt_source_opts){
		.mode = KMT_MODE_COUNTED,
		.key = key,
		.temporary_ns = v->ask->temporary_ns,
		.want_stacks = key == KMT_BY_STACK,
		.want_task = key == KMT_BY_TASK,
	};
}

int kmt_view_update(struct kmt_view *v)
{
	struct kmt_source *source = v->ask->select.source;
	struct kmt_quality q = { 0 };
	int err = 0;

	if (source->ops->counted && source->ops->snapshot)
		err = source->ops->snapshot(source, &v->sink);
	source->ops->quality(source, &q);
	if (v->in_part)
		q.window_ns = 0;	/* from the first event that counts to the last */
	if (v->left_out) {
		q.filtered = kmt_sat_add(q.filtered, *v->left_out);
		q.events = kmt_sat_sub(q.events, *v->left_out);
	}
	q.filtered = kmt_sat_add(q.filtered, v->only.left_out);
	q.events = kmt_sat_sub(q.events, v->only.left_out);
	kmt_session_set_quality(v->session, &q);
	return err;
}

/* ---- a recording ---- */

static uint64_t events_of(const struct kmt_view *v)
{
	struct kmt_quality q;

	kmt_session_quality(v->session, &q);
	return q.events;
}

int kmt_view_read(struct kmt_view *v, const struct kmt_sink *sink, struct kmt_run *run)
{
	int err = kmt_feed_file(&v->ask->select, sink ? sink : &v->sink, run);

	if (err && err != -EINTR) {
		snprintf(v->fault, sizeof(v->fault), "%s", kmt_err_text());
		/* short of memory, or nothing to report */
		if (err == -ENOMEM || !events_of(v))
			return err;
	}
	v->interrupted = err == -EINTR;
	kmt_select_tell_left_out(&v->ask->select, &v->only);
	return kmt_view_update(v);
}

int kmt_view_file(struct kmt_view *v, const struct kmt_sink *sink, struct kmt_run *run)
{
	int err = kmt_view_read(v, sink, run);

	if (!err)
		err = kmt_view_print(v, 0);
	if (v->fault[0])
		return kmt_cmd_fail(KMT_EXIT_INPUT, "%s", v->fault);
	if (v->interrupted)
		kmt_cmd_warn("interrupted: the report is about the part that was read");
	return kmt_view_finish(v, err, v->interrupted ? 128 + run->signal : 0);
}

static bool data_lost(const struct kmt_view *v)
{
	struct kmt_quality q;

	kmt_session_quality(v->session, &q);
	return kmt_quality_lost(&q) > 0;
}

int kmt_view_finish(const struct kmt_view *v, int err, int status)
{
	if (err == -EPIPE || err == -EINTR)
		return status;
	if (err)
		return kmt_cmd_fail(v->ask->select.from && !v->out.failed ? KMT_EXIT_INPUT :
				    KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (!status && v->ask->select.strict && data_lost(v))
		return KMT_EXIT_LOST;
	return status;
}

void kmt_view_done(struct kmt_view *v)
{
	kmt_output_done(&v->out);
	kmt_session_free(v->session);
	kmt_slabs_free(v->slabs_start);
	kmt_slabs_free(v->slabs_end);
	kmt_gfp_names_free(v->gfp_names);
	kmt_lines_free(v->lines);
	kmt_nodes_free(v->nodes);
}
