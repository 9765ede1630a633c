// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace status: which sessions run, since when, how full, what they lost. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/losses.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "cmd/key.h"
#include "cmd/select.h"
#include "core/quality.h"
#include "core/sat.h"
#include "render/render.h"
#include "report/report.h"

#define SEC 1000000000ull

struct status_opts {
	const char *format, *columns;
	bool bytes;
};

#define OFF(f) offsetof(struct status_opts, f)

static const struct kmt_option status_options[] = {
	{ "format", 'F', KMT_OPT_STRING, OFF(format), "FORMAT",
	  "text, json, csv or ndjson (default: text)", 0, 0, NULL },
	{ "columns", 'c', KMT_OPT_STRING, OFF(columns), "A,B,...",
	  "columns shown, by their JSON names", 0, 0, NULL },
	{ "bytes", 0, KMT_OPT_FLAG, OFF(bytes), NULL, "exact bytes instead of KiB and MiB", 0, 0, NULL },
	{ 0 }
};

static const struct kmt_option *const status_tables[] = { status_options, NULL };

extern const struct kmt_command kmt_command_status;

enum {
	NAME, SINCE, RUNNING, KEY, TRACERS, EVENTS, LOST, SITES, SITES_SIZE, OBJECTS, OBJECTS_SIZE,
	CACHES, CACHES_SIZE, STACKS, STACKS_SIZE, SITES_PERCENT, OBJECTS_PERCENT, MEMORY, FILTERS,
	LOST_RING, LOST_SITES, LOST_OBJECTS, LOST_STACKS, LOST_CACHES, LOST_INPUT,
	LOST_BEGINNING, COUNTS, FUNCTIONS = COUNTS + KMT_COUNT_MAX, COMMAND, FAULT, COLUMNS
};
_Static_assert(COUNTS - LOST_RING == KMT_LOSS_MAX, "a column for each reason");

static const struct kmt_column columns[COLUMNS] = {
	[NAME] = { .key = "session", .title = "SESSION" },
	[SINCE] = { .key = "since", .title = "SINCE", .show = KMT_HIDDEN },
	[RUNNING] = { .key = "running_ns", .title = "RUNS FOR", .unit = KMT_UNIT_NS },
	[KEY] = { .key = "counts_by", .title = "BY" },
	[TRACERS] = { .key = "tracer", .title = "TRACER", .show = KMT_HIDDEN },
	[EVENTS] = { .key = "events", .title = "EVENTS", .unit = KMT_UNIT_COUNT },
	[LOST] = { .key = "lost", .title = "LOST", .unit = KMT_UNIT_COUNT },
	[SITES] = { .key = "sites_used", .title = "SITES", .unit = KMT_UNIT_COUNT,
		    .show = KMT_HIDDEN },
	[SITES_SIZE] = { .key = "sites_size", .title = "OF", .unit = KMT_UNIT_COUNT,
			 .show = KMT_HIDDEN },
	[OBJECTS] = { .key = "objects_used", .title = "OBJECTS", .unit = KMT_UNIT_COUNT,
		      .show = KMT_HIDDEN },
	[OBJECTS_SIZE] = { .key = "objects_size", .title = "OF", .unit = KMT_UNIT_COUNT,
			   .show = KMT_HIDDEN },
	[CACHES] = { .key = "caches_used", .title = "CACHES", .unit = KMT_UNIT_COUNT,
		     .show = KMT_HIDDEN },
	[CACHES_SIZE] = { .key = "caches_size", .title = "OF", .unit = KMT_UNIT_COUNT,
			  .show = KMT_HIDDEN },
	[STACKS] = { .key = "stacks_used", .title = "STACKS", .unit = KMT_UNIT_COUNT,
		     .show = KMT_HIDDEN },
	[STACKS_SIZE] = { .key = "stacks_size", .title = "OF", .unit = KMT_UNIT_COUNT,
			  .show = KMT_HIDDEN },
	[SITES_PERCENT] = { .key = "sites_percent", .title = "SITES%", .unit = KMT_UNIT_PERCENT },
	[OBJECTS_PERCENT] = { .key = "objects_percent", .title = "OBJECTS%",
			      .unit = KMT_UNIT_PERCENT },
	[MEMORY] = { .key = "table_bytes", .title = "MEMORY", .unit = KMT_UNIT_BYTES },
	[FILTERS] = { .key = "filters", .title = "FILTERS" },
	[LOST_RING] = { .key = "lost_ring", .title = "LOST RING", .unit = KMT_UNIT_COUNT,
			.show = KMT_HIDDEN },
	[LOST_SITES] = { .key = "lost_sites", .title = "LOST SITES", .unit = KMT_UNIT_COUNT,
			 .show = KMT_HIDDEN },
	[LOST_OBJECTS] = { .key = "lost_objects", .title = "LOST OBJECTS", .unit = KMT_UNIT_COUNT,
			   .show = KMT_HIDDEN },
	[LOST_STACKS] = { .key = "lost_stacks", .title = "LOST STACKS", .unit = KMT_UNIT_COUNT,
			  .show = KMT_HIDDEN },
	[LOST_CACHES] = { .key = "lost_caches", .title = "LOST CACHES", .unit = KMT_UNIT_COUNT,
			  .show = KMT_HIDDEN },
	[LOST_INPUT] = { .key = "lost_input", .title = "LOST INPUT", .unit = KMT_UNIT_COUNT,
			 .show = KMT_HIDDEN },
	[LOST_BEGINNING] = { .key = "lost_beginning", .title = "LOST BEGINNING",
			     .unit = KMT_UNIT_COUNT, .show = KMT_HIDDEN },
#define QUALITY_COUNT(field, name, text, how) \
	[COUNTS + KMT_COUNT_##field] = { .key = #field, .title = name, .unit = KMT_UNIT_COUNT, \
					 .show = KMT_HIDDEN },
#include "core/quality.def"
#undef QUALITY_COUNT
	[FUNCTIONS] = { .key = "functions", .title = "FUNCTIONS", .show = KMT_HIDDEN },
	[COMMAND] = { .key = "command_line", .title = "COMMAND", .show = KMT_HIDDEN },
	[FAULT] = { .key = "fault", .title = "FAULT", .show = KMT_HIDDEN },
};

/* What is known of a session. */
struct state {
	struct kmt_select select;	/* its source is open, if it can be */
	const struct kmt_kept_ask *ask;
	const struct kmt_facts *facts;
	struct kmt_quality q;
	struct kmt_kept_fill sites, caches, stacks, objects;
	char since[40];
	struct kmt_buf filters;
};

static int ask_state(struct state *s)
{
	struct kmt_source *src = s->select.source;
	struct tm tm;
	time_t t;

	s->ask = kmt_kept_ask_of(src);
	s->facts = kmt_kept_facts(src);
	src->ops->quality(src, &s->q);
	t = (time_t)(s->facts->start_realtime_ns / SEC);
	if (localtime_r(&t, &tm))
		strftime(s->since, sizeof(s->since), "%Y-%m-%dT%H:%M:%S%z", &tm);
	for (size_t i = 0; i < s->ask->filters.n; i++)
		kmt_buf_printf(&s->filters, "%s%s", i ? " " : "", s->ask->filters.v[i]);
	if (s->ask->follow)
		kmt_buf_printf(&s->filters, "%sfollow", s->filters.len ? " " : "");
	return kmt_kept_fills(src, &s->sites, &s->caches, &s->stacks, &s->objects);
}

/* ---- as a row ---- */

static void set_fill(struct kmt_cell *cells, int used, const struct kmt_kept_fill *f, int percent)
{
	if (!f->size)
		return;
	kmt_cell_int(&cells[used], (int64_t)f->used);
	kmt_cell_int(&cells[used + 1], (int64_t)f->size);
	if (percent)
		kmt_cell_percent(&cells[percent], 100.0 * (double)f->used / (double)f->size);
}

static int set_numbers(struct kmt_cell *c, const struct state *s)
{
	kmt_cell_int(&c[RUNNING], (int64_t)s->q.window_ns);
	kmt_cell_int(&c[EVENTS], (int64_t)s->q.events);
	kmt_cell_int(&c[LOST], (int64_t)kmt_quality_lost(&s->q));
	kmt_cell_int(&c[MEMORY], (int64_t)s->q.table_bytes);
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		kmt_cell_int(&c[LOST_RING + i], (int64_t)s->q.lost[i]);
	for (int i = 0; i < KMT_COUNT_MAX; i++)
		kmt_cell_int(&c[COUNTS + i], (int64_t)kmt_quality_get(&s->q, i));
	set_fill(c, SITES, &s->sites, SITES_PERCENT);
	set_fill(c, OBJECTS, &s->objects, OBJECTS_PERCENT);
	set_fill(c, CACHES, &s->caches, 0);
	set_fill(c, STACKS, &s->stacks, 0);
	return 0;
}

static int set_texts(struct kmt_cell *c, const struct state *s)
{
	const struct { int at; const char *text; } texts[] = {
		{ SINCE, s->since }, { KEY, kmt_key_name(s->ask->key) },
		{ TRACERS, s->ask->tracer ? s->ask->tracer : "slab" },
		{ FILTERS, s->filters.len ? kmt_buf_str(&s->filters) : NULL },
		{ FUNCTIONS, *s->q.functions ? s->q.functions : NULL },
		{ COMMAND, s->facts->command },
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(texts) / sizeof(texts[0]); i++)
		err = kmt_cell_text(&c[texts[i].at], texts[i].text);
	return err;
}

static int fill_row(struct kmt_report *r, const char *name, const struct state *s,
		    const char *fault)
{
	struct kmt_row *row = kmt_report_row(r);
	int err = row ? kmt_cell_text(&row->cells[NAME], name) : -ENOMEM;

	if (err)
		return err;
	if (fault) {
		err = kmt_cell_text(&row->cells[FAULT], fault);
		return err ? err : kmt_report_note(r, "%s", fault);
	}
	err = set_numbers(row->cells, s);
	return err ? err : set_texts(row->cells, s);
}

/* ---- one alone: more of it ---- */

static int add_fill(struct kmt_report *r, const char *key, const char *title,
		    const struct kmt_kept_fill *f)
{
	char text[64];

	if (!f->size)
		return 0;
	snprintf(text, sizeof(text), "%llu of %llu", (unsigned long long)f->used,
		 (unsigned long long)f->size);
	return kmt_fields_text(&r->summary, key, title, text);
}

static int add_summary(struct kmt_report *r, const struct state *s)
{
	struct kmt_fields *f = &r->summary;
	int err = kmt_fields_text(f, "since", "since", s->since);

	if (!err && s->facts->command)
		err = kmt_fields_text(f, "command_line", "command", s->facts->command);
	err = err ? err : add_fill(r, "sites", "call sites", &s->sites);
	err = err ? err : add_fill(r, "objects", "live objects", &s->objects);
	err = err ? err : add_fill(r, "caches", "caches", &s->caches);
	err = err ? err : add_fill(r, "stacks", "stacks", &s->stacks);
	err = err ? err : kmt_losses_fill(&s->q, &r->quality);
	if (!err && *s->q.functions)
		err = kmt_fields_text(&r->quality, "functions", "functions", s->q.functions);
	r->window_ns = s->q.window_ns;
	return err;
}

/* ---- the report ---- */

static void state_done(struct state *s)
{
	kmt_buf_done(&s->filters);
	kmt_select_done(&s->select);
}

/* What cannot be read is a row all the same, for it can be stopped. */
static int add_session(struct kmt_report *r, const struct kmt_kept *k, const char *name,
		       bool is_alone)
{
	struct state s = { .select.session = name };
	char fault[256] = "";
	int err;

	err = kmt_kept_source(&s.select, k);
	if (!err)
		err = ask_state(&s);
	if (err)
		snprintf(fault, sizeof(fault), "%s", kmt_err_text());
	/* it ended while we looked */
	if (err == -ENOENT && !is_alone)
		err = 0;
	else
		err = err == -EPERM || err == -EACCES || (err == -ENOENT) ? err :
		      fill_row(r, name, &s, err ? fault : NULL);
	if (!err && is_alone && !*fault)
		err = add_summary(r, &s);
	state_done(&s);
	return err;
}

static int make_report(const struct kmt_kept *k, const char *name, struct kmt_report *r)
{
	_cleanup_(kmt_kept_names_done) struct kmt_strlist names = { 0 };
	int err = 0;

	if (name) {
		err = add_session(r, k, name, true);
	} else {
		err = kmt_kept_names(k, &names);
		for (size_t i = 0; !err && i < names.n; i++)
			err = add_session(r, k, names.v[i], false);
		/* of so many, no one time was looked at */
		if (!err)
			err = kmt_fields_int(&r->summary, "window_ns", "window", KMT_UNIT_NS, 0);
		if (!err)
			r->summary.v[r->summary.n - 1].quiet = true;
	}
	r->rows_total = r->n_rows;
	return err;
}

static int show(const struct status_opts *o, const struct kmt_renderer *renderer,
		const struct kmt_kept *k, const char *name)
{
	const struct kmt_render_opts opts = { .exact_bytes = o->bytes, .color = kmt_cmd_color(),
					      .width = kmt_cmd_width(), .first = true };
	struct kmt_report *r = NULL;
	int err = kmt_report_new("status", "sessions", columns, COLUMNS, &r);

	if (!err)
		err = make_report(k, name, r);
	if (!err)
		err = kmt_report_shape(r, NULL, 0, NULL, 0, o->columns);
	if (err) {
		kmt_report_free(r);
		return kmt_kept_fail(err);
	}
	err = renderer->render(r, &opts, stdout);
	kmt_report_free(r);
	return err && err != -EPIPE ? kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text()) : 0;
}

static int run_status(const struct status_opts *o, const char *name)
{
	const struct kmt_renderer *renderer = kmt_renderer_find(o->format);
	struct kmt_kept k = KMT_KEPT_NONE;
	int status;

	if (!renderer)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--format: there is no format '%s' (see "
				    "'kmemtrace list')", o->format);
	status = kmt_kept_find(false, &k);
	if (status)
		return status;
	/* what killed commands left goes, unless somebody is at work there */
	if (!kmt_kept_try_lock(&k))
		kmt_kept_unlock(&k);
	status = show(o, renderer, &k, name);
	kmt_kept_done(&k);
	return status;
}

static int run(int argc, char **argv)
{
	struct status_opts o = { .format = "text" };
	const char *name = NULL;
	bool help = false;
	size_t n = 0;
	int status = kmt_cmd_parse(&kmt_command_status, &o, argc, argv, &name, 1, &n, &help);

	if (status)
		return status;
	return help ? kmt_cmd_help(&kmt_command_status) : run_status(&o, name);
}

const struct kmt_command kmt_command_status = {
	.name = "status",
	.synopsis = "status [OPTIONS] [NAME]",
	.help = "show which sessions run, how full their tables are, what they lost",
	.options = status_tables,
	.run = run,
};
