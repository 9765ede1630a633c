// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace convert: any recording that can be read, as a .kmt file. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/feed.h"
#include "cmd/progress.h"
#include "cmd/recorder.h"
#include "cmd/select.h"
#include "cmd/trim.h"
#include "core/only.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"
#include "tracers/tracers.h"

struct convert_opts {
	struct kmt_select select;	/* first: its option rows count from here */
	const char *output;
	uint64_t max_bytes;
	bool force, trim;
	struct kmt_symbols *symbols;	/* made for 'trim' */
};

#define OFF(f) offsetof(struct convert_opts, f)

static const struct kmt_option convert_options[] = {
	{ "output", 'o', KMT_OPT_STRING, OFF(output), "FILE",
	  "the recording that is made ('-': standard output)", 0, 0, NULL },
	{ "force", 'f', KMT_OPT_FLAG, OFF(force), NULL, "overwrite a file that exists", 0, 0, NULL },
	{ "trim", 0, KMT_OPT_FLAG, OFF(trim), NULL,
	  "keep only the kernel symbols that the events name: a smaller file", 0, 0, NULL },
	{ "max-size", 0, KMT_OPT_SIZE, OFF(max_bytes), "SIZE",
	  "stop before the file is larger than this", 65536, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const convert_tables[] = { convert_options,
							   kmt_select_file_options, NULL };

extern const struct kmt_command kmt_command_convert;

/* Emptying the output would empty the input. */
static bool is_same_file(const char *in, const char *out)
{
	struct stat a, b;
	int res = strcmp(in, "-") ? stat(in, &a) : fstat(0, &a);

	if (res || (strcmp(out, "-") ? stat(out, &b) : fstat(1, &b)))
		return false;
	return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int check(const struct convert_opts *o)
{
	if (!o->output)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "convert needs --output FILE (see 'kmemtrace "
				    "convert --help')");
	if (o->select.row_filters.n)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--filter: '%s' is a condition on the rows of "
				    "a view; convert has none", o->select.row_filters.v[0]);
	if (is_same_file(o->select.from, o->output))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "'%s' is the input too", o->output);
	return 0;
}

/*
 * Names come before the events in the file that is made: where the input tells
 * them with its events, it has to be read twice, if it can be.
 */
static bool has_late_symbols(const char *path)
{
	const struct kmt_source_ops *ops;
	struct stat st;

	return strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode) &&
	       !kmt_source_for_file(path, &ops) && ops->late_symbols;
}

static int open_source(struct convert_opts *o, struct kmt_run *run)
{
	struct kmt_source_opts so = {
		.mode = KMT_MODE_STREAMED, .want_task = true, .want_stacks = true,
		.want_cache = true, .want_real_node = true,
	};

	int status;

	if (!o->trim && !has_late_symbols(o->select.from))
		return kmt_select_open(&o->select, &so);
	status = kmt_trim_symbols(&o->select, &so, run, &o->symbols);
	return status ? status : kmt_select_open(&o->select, &so);
}

/* What the input was made with: "kmt (bpf)" of a recording of ours is "bpf" again. */
static const char *first_source(const struct kmt_source *src, struct kmt_quality *q)
{
	static const char ours[] = "kmt (";
	size_t len = strlen(q->source), skip = sizeof(ours) - 1;

	if (!len)
		return src->ops->name;
	if (len <= skip || strncmp(q->source, ours, skip) || q->source[len - 1] != ')')
		return q->source;
	q->source[len - 1] = '\0';
	return q->source + skip;
}

/* ---- from the source into the file ---- */

struct conversion {
	const struct convert_opts *o;
	struct kmt_recorder *r;
	struct kmt_run *run;
	struct kmt_only only;		/* what --tracer lets through */
	struct kmt_sink out;		/* of the recorder */
	struct kmt_facts unknown;	/* of an input that says nothing */
};

static const struct kmt_facts *facts_of(struct conversion *c)
{
	struct kmt_source *src = c->o->select.source;
	const struct kmt_facts *facts = src->ops->facts ? src->ops->facts(src) : NULL;

	return facts ? facts : &c->unknown;
}

static int begin(struct conversion *c)
{
	const struct kmt_select *s = &c->o->select;
	struct kmt_gfp_names *old_names = NULL;
	struct kmt_buf filters = { 0 };
	struct kmt_quality q = { 0 };
	int err;

	s->source->ops->quality(s->source, &q);
	/* a text that knows nothing of its kernel: as old as its format */
	if (!s->facts && !kmt_gfp_names_2008(&old_names))
		c->unknown.gfp_names = old_names;
	const struct kmt_recorder_opts ro = {
		.facts = facts_of(c), .symbols = c->o->symbols ? c->o->symbols : kmt_select_symbols(s),
		.source = first_source(s->source, &q),
		.filters = kmt_select_filters_text(s, &filters),
		.max_bytes = c->o->max_bytes, .run = c->run,
	};

	err = kmt_recorder_begin(c->r, &ro);
	if (!err)
		err = kmt_recorder_start(c->r);
	kmt_buf_done(&filters);
	kmt_gfp_names_free(old_names);
	c->unknown.gfp_names = NULL;
	return err;
}

/* With the first of them: by then a text has shown how it spells its gfp flags. */
static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct conversion *c = ctx;
	int err = c->r->has_begun ? 0 : begin(c);

	return err ? err : c->out.event(c->out.ctx, ev);
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct conversion *c = ctx;
	int err = c->r->has_begun ? 0 : begin(c);

	return err ? err : c->out.lost(c->out.ctx, lost);
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct conversion *c = ctx;
	int err = c->r->has_begun ? 0 : begin(c);

	return err ? err : c->out.snapshot(c->out.ctx, snap);
}

/* The input to its end, or as far as it can be read; the output ends well in any case. */
static int convert(struct conversion *c)
{
	const struct kmt_select *s = &c->o->select;
	struct kmt_quality q = { 0 };
	struct kmt_sink sink;
	int err, end_err = 0;

	c->out = kmt_recorder_sink(c->r);
	c->only = (struct kmt_only){
		.types = s->tracer ? kmt_tracers_types(s->tracers) : UINT32_MAX,
		.to = { .event = on_event, .lost = on_lost, .snapshot = on_snapshot, .ctx = c },
	};
	sink = kmt_only_sink(&c->only);
	err = kmt_feed_file(s, &sink, c->run);
	if (!c->r->has_begun && !c->r->failed) {
		end_err = begin(c);
		err = err ? err : end_err;
	}
	s->source->ops->quality(s->source, &q);
	if (err == -EFBIG || err == -EINTR || c->only.left_out)
		q.events = c->r->events;
	q.filtered += c->only.left_out;
	if (!end_err && (err == -EFBIG || !c->r->failed))
		end_err = kmt_recorder_end(c->r, facts_of(c), &q);
	return err ? err : end_err;
}

static int finish(const struct convert_opts *o, const struct kmt_recorder *r,
		  const struct kmt_run *run, int err)
{
	struct kmt_quality q = { 0 };

	if (err == -EPIPE && !strcmp(o->output, "-"))
		return KMT_EXIT_OK;	/* its reader went away */
	if (err && err != -EFBIG && err != -EINTR)
		return kmt_cmd_fail(r->failed ? KMT_EXIT_IMPOSSIBLE : KMT_EXIT_INPUT, "%s",
				    kmt_err_text());
	if (err == -EFBIG)
		kmt_cmd_warn("%s", kmt_err_text());
	o->select.source->ops->quality(o->select.source, &q);
	kmt_progress_end(o->output, r->events, kmt_recorder_bytes(r), true, &q);
	if (err == -EINTR)
		return 128 + run->signal;
	return o->select.strict && kmt_quality_lost(&q) ? KMT_EXIT_LOST : KMT_EXIT_OK;
}

static int run_convert(struct convert_opts *o)
{
	struct kmt_recorder r = KMT_RECORDER_NONE;
	struct kmt_run run = KMT_RUN_NONE;
	struct conversion c = { .o = o, .r = &r, .run = &run };
	int status = kmt_select_prepare(&o->select, "convert");

	if (!status)
		status = check(o);
	if (!status && kmt_run_init(&run, NULL))
		status = kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (!status)
		status = open_source(o, &run);
	if (!status)
		status = kmt_recorder_open(&r, o->output, o->force);
	if (!status)
		status = finish(o, &r, &run, convert(&c));
	kmt_run_done(&run);
	kmt_recorder_done(&r);
	kmt_symbols_free(o->symbols);
	return status;
}

static int run(int argc, char **argv)
{
	struct convert_opts o = { 0 };
	const char *operands[1] = { 0 };
	bool help = false;
	size_t n = 0;
	int status;

	kmt_select_init(&o.select);
	status = kmt_cmd_parse(&kmt_command_convert, &o, argc, argv, operands, 1, &n, &help);
	o.select.from = operands[0];
	if (!status && help)
		status = kmt_cmd_help(&kmt_command_convert);
	else if (!status && !n)
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "convert needs an IN file (see 'kmemtrace "
				      "convert --help')");
	else if (!status)
		status = run_convert(&o);
	kmt_select_done(&o.select);
	return status;
}

const struct kmt_command kmt_command_convert = {
	.name = "convert",
	.synopsis = "convert [OPTIONS] IN -o FILE",
	.help = "write any recording that can be read as a .kmt file",
	.options = convert_tables,
	.run = run,
};
