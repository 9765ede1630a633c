// SPDX-License-Identifier: GPL-2.0-only
/* kmemtrace top: the live screen; the same tables without one; a recording on it. */
#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "base/err.h"
#include "cmd/books.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "cmd/key.h"
#include "cmd/live.h"
#include "cmd/recorder.h"
#include "cmd/replay.h"
#include "cmd/view.h"
#include "core/session.h"
#include "report/report.h"
#include "symbol/slabs.h"
#include "tracers/tracers.h"
#include "tui/term.h"
#include "tui/tui.h"

#define SEC	1000000000ull
#define LOOK_MS	50		/* how often a recording's screen is looked at, but for keys */
#define LONGEST_LOOK_MS 100	/* the same of a live one: no interval is off by more */

static const int keys_fd = STDIN_FILENO;

struct top_opts {
	struct kmt_ask ask;	/* first: its option rows count from here */
	uint64_t interval_ns, iterations;
	bool batch;
};

#define OFF(f) offsetof(struct top_opts, f)

static const struct kmt_option top_options[] = {
	{ "by", 'b', KMT_OPT_STRING, OFF(ask.by), "VIEW",
	  "the view to begin with (default: site)", 0, 0, NULL },
	{ "interval", 'i', KMT_OPT_DURATION, OFF(interval_ns), "T",
	  "take a reading every T (default: 1s)", SEC / 10, 86400 * SEC, NULL },
	{ "batch", 0, KMT_OPT_FLAG, OFF(batch), NULL,
	  "no screen: print the table every T", 0, 0, NULL },
	{ "iterations", 'n', KMT_OPT_U64, OFF(iterations), "N",
	  "with --batch: so many tables, then end", 1, UINT32_MAX, NULL },
	{ 0 }
};

static const struct kmt_option *const top_tables[] = { top_options, kmt_ask_options,
						       kmt_select_options,
						       kmt_select_session_options, NULL };

extern const struct kmt_command kmt_command_top;

#define CURVE	256		/* parts of a recording, at most */

struct top {
	struct top_opts *o;
	char **own_argv, **argv;	/* argv: the command; NULL: none */
	struct kmt_view view;
	struct kmt_run run;
	struct kmt_replay replay;
	struct kmt_tui_data data;
	struct kmt_term *term;
	struct kmt_tui *tui;
	uint64_t read_ns, mark_ns;	/* CLOCK_MONOTONIC; a recording: after its start */
	uint64_t next_ns, printed;	/* --batch */
	int held_fd, stderr_fd;		/* what is said while the screen is on; standard error */
	char title[80], state[48];
	int64_t curve[CURVE];		/* of a recording: what was live at most, part by part */
};

/* ---- standard error, which would be written across the screen ---- */

static void hold_stderr(struct top *t)
{
	fflush(stderr);
	t->held_fd = memfd_create("held", MFD_CLOEXEC);
	t->stderr_fd = t->held_fd < 0 ? -1 : dup(STDERR_FILENO);
	if (t->stderr_fd >= 0)
		dup2(t->held_fd, STDERR_FILENO);
}

static void let_stderr_go(struct top *t)
{
	char text[4096];
	ssize_t n;

	if (t->stderr_fd >= 0) {
		fflush(stderr);
		dup2(t->stderr_fd, STDERR_FILENO);
		close(t->stderr_fd);
		lseek(t->held_fd, 0, SEEK_SET);
		while ((n = read(t->held_fd, text, sizeof(text))) > 0)
			if (write(STDERR_FILENO, text, (size_t)n) < 0)
				break;
	}
	if (t->held_fd >= 0)
		close(t->held_fd);
	t->held_fd = t->stderr_fd = -1;
}

/* What was said since 'from', for the screen instead of later. */
static void take_said(struct top *t, off_t from, char *out, size_t size)
{
	ssize_t n;

	fflush(stderr);
	n = t->held_fd < 0 ? 0 : pread(t->held_fd, out, size - 1, from);
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (n > 0 && !ftruncate(t->held_fd, from))
		lseek(t->held_fd, from, SEEK_SET);
}

/* ---- what the screen asks for ---- */

static uint64_t now_of(void *ctx)
{
	return kmt_live_now();
}

/* SReclaimable and SUnreclaim; 0: not known. */
static uint64_t slab_bytes(const struct kmt_slabs *slabs)
{
	const struct kmt_slabs_memory *m = kmt_slabs_memory(slabs);

	return m ? m->reclaimable + m->unreclaimable : 0;
}

static int read_live(void *ctx)
{
	struct top *t = ctx;
	int err;

	/* the kernel's own counts are of this moment, for all that is shown until the next */
	if (t->view.keeps_count)
		kmt_view_count(&t->view, &t->view.slabs_end);
	t->data.slab_bytes = slab_bytes(t->view.slabs_end);
	err = kmt_view_update(&t->view);
	t->read_ns = kmt_live_now();
	return err;
}

static int read_nothing(void *ctx)
{
	return 0;
}

static void mark_live(void *ctx)
{
	struct top *t = ctx;

	kmt_session_mark(t->view.session);
	t->mark_ns = t->read_ns;
}

static void mark_replay(void *ctx)
{
	struct top *t = ctx;

	kmt_session_mark(t->view.session);
	t->mark_ns = t->replay.mark_ns = t->data.at_ns;
	t->replay.has_mark = true;
}

/* By what rows are counted is decided when it begins: a session's start, or the first view. */
static enum kmt_key key_now(const struct top *t)
{
	const struct kmt_ask *a = &t->o->ask;

	return a->select.session ? kmt_kept_ask_of(a->select.source)->key :
				   kmt_key_of(kmt_analysis_find(a->by), a->stacks);
}

static int can_show(const struct top *t, const struct kmt_analysis *a)
{
	const bool stacks = t->o->ask.stacks;
	enum kmt_key now = key_now(t), wanted = kmt_key_of(a, stacks);

	if (!strcmp(a->name, "page") && !(t->o->ask.select.tracers & KMT_TRACER_BIT(page)))
		return kmt_err(-ENOTSUP, "pages are not traced: start with --tracer page");
	if (kmt_key_serves(now, a, stacks))
		return 0;
	if (wanted != KMT_BY_SITE)
		return kmt_err(-ENOTSUP, "not counted by %s: start with %s", kmt_key_name(wanted),
			       kmt_key_option(wanted));
	return kmt_err(-ENOTSUP, "counted by %s: for call sites start without %s",
		       kmt_key_name(now), kmt_key_option(now));
}

/* The screen's wishes hold while the tree is made: to another view they are an error. */
static int tree_report(struct top *t, uint64_t interval, struct kmt_report **ret)
{
	struct kmt_ask *a = &t->o->ask;
	const char *callers = a->callers;
	bool inverted = a->inverted;
	int err;

	if (t->data.callers[0])
		a->callers = t->data.callers;
	else if (t->data.inverted)
		a->inverted = true;
	err = kmt_view_report(&t->view, interval, ret);
	a->callers = callers;
	a->inverted = inverted;
	return err;
}

static int report_of(struct top *t, const struct kmt_analysis *a, bool since_mark,
		     struct kmt_report **ret)
{
	uint64_t interval = 0;

	if (!t->view.session)
		return kmt_err(-EIO, "the recording cannot be read any more");
	if (since_mark && t->read_ns <= t->mark_ns)
		return kmt_err(-ERANGE, "nothing lies after the baseline yet");
	if (since_mark)
		interval = t->read_ns - t->mark_ns;
	t->view.analysis = a;
	t->view.brief = t->data.brief;
	return strcmp(a->name, "stacks") ? kmt_view_report(&t->view, interval, ret) :
					   tree_report(t, interval, ret);
}

static int report_live(void *ctx, const char *analysis, bool since_mark, struct kmt_report **ret)
{
	struct top *t = ctx;
	const struct kmt_analysis *a = kmt_analysis_find(analysis);
	int err = can_show(t, a);

	return err ? err : report_of(t, a, since_mark, ret);
}

/* Exit statuses are for the user; the screen wants an error, and has what was said. */
static int read_again(struct top *t, uint64_t at)
{
	char said[512];
	off_t from = lseek(t->held_fd, 0, SEEK_CUR);
	int status = kmt_replay_read(&t->replay, at);

	take_said(t, from < 0 ? 0 : from, said, sizeof(said));
	if (status)
		return kmt_err(-EIO, "%s", said);
	return t->view.interrupted ? -EINTR : 0;
}

static int seek(void *ctx, uint64_t at)
{
	struct top *t = ctx;
	bool is_end = at >= t->replay.length_ns;

	t->data.at_ns = t->read_ns = is_end ? t->replay.length_ns : at;
	return read_again(t, is_end ? 0 : at);
}

/* What is counted otherwise is another reading; if that cannot be, the old one is made again. */
static int count_otherwise(struct top *t, const struct kmt_analysis *a)
{
	const char *by = t->o->ask.by;
	char why[512];
	int err;

	t->o->ask.by = a->name;
	err = seek(t, t->data.at_ns);
	if (!err || err == -EINTR)
		return err;
	snprintf(why, sizeof(why), "%s", kmt_err_text());
	t->o->ask.by = by;
	seek(t, t->data.at_ns);
	return kmt_err(err, "%s", why);
}

static int report_replay(void *ctx, const char *analysis, bool since_mark,
			 struct kmt_report **ret)
{
	struct top *t = ctx;
	const struct kmt_analysis *a = kmt_analysis_find(analysis);
	int err = 0;

	if (!(a->needs & KMT_NEEDS_NO_KEY) && kmt_key_of(a, t->o->ask.stacks) != key_now(t))
		err = count_otherwise(t, a);
	if (!err)
		err = can_show(t, a);
	return err ? err : report_of(t, a, since_mark, ret);
}

/* ---- w ---- */

static int write_books(struct top *t, const char *path)
{
	struct kmt_recorder r = KMT_RECORDER_NONE;
	int status = kmt_recorder_open(&r, path, false);

	/* the kernel's own counts are of this moment; so must ours be */
	if (!status)
		kmt_view_count(&t->view, &t->view.slabs_end);
	if (!status && (kmt_view_update(&t->view) ||
			kmt_books_write(&t->view, &r, t->own_argv)))
		status = kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	kmt_recorder_done(&r);	/* which leaves no part of them */
	return status;
}

static int save_live(void *ctx, char *said, size_t size)
{
	struct top *t = ctx;
	off_t from = t->held_fd < 0 ? 0 : lseek(t->held_fd, 0, SEEK_CUR);
	char path[64];
	struct tm tm;
	time_t now = time(NULL);

	localtime_r(&now, &tm);
	strftime(path, sizeof(path), "kmemtrace-%Y%m%d-%H%M%S.kmt", &tm);
	if (write_books(t, path)) {
		take_said(t, from < 0 ? 0 : from, said, size);
		return -EIO;
	}
	snprintf(said, size, "written: %s", path);
	return 0;
}

/* ---- what all ways have in common ---- */

/* Any view may be asked for: what they need beside the books begins with the session. */
static int hang_observers(struct kmt_view *v)
{
	for (size_t i = 0; kmt_tui_views[i]; i++) {
		const struct kmt_analysis *a = kmt_analysis_find(kmt_tui_views[i]->analysis);

		if (kmt_view_wants(v, a))
			return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	}
	if (v->ask->select.from && kmt_view_wants(v, kmt_analysis_find("timeline")))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	return 0;
}

static void set_title(struct top *t)
{
	char path[4096];

	if (t->o->ask.select.from) {
		snprintf(path, sizeof(path), "%s", t->o->ask.select.from);
		snprintf(t->title, sizeof(t->title), "%s", basename(path));
	} else if (t->o->ask.select.session) {
		snprintf(t->title, sizeof(t->title), "%s", t->o->ask.select.session);
	} else if (gethostname(t->title, sizeof(t->title) - 1)) {
		t->title[0] = '\0';
	}
}

static int open_screen(struct top *t)
{
	const struct top_opts *o = t->o;
	const struct kmt_tui_view *first = kmt_tui_view_of(t->view.analysis->name);
	int err = kmt_term_open(&t->term);

	if (err)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "no screen: %s (see --batch)",
				    kmt_err_text());
	hold_stderr(t);
	set_title(t);
	t->data.ctx = t;
	t->data.title = t->title;
	t->data.state = t->state;
	t->data.interval_ns = o->interval_ns;
	t->data.now = now_of;
	err = kmt_tui_new(t->term, &t->data, first, &t->tui);
	if (!err)
		kmt_tui_preset(t->tui, o->ask.sort, o->ask.bytes);
	/* the screen sorts and limits on its own, and keeps what the tree's keys change */
	t->o->ask.sort = NULL;
	t->o->ask.limit = 0;
	t->data.inverted = o->ask.inverted;
	snprintf(t->data.callers, sizeof(t->data.callers), "%s", o->ask.callers ? o->ask.callers : "");
	t->o->ask.inverted = false;
	t->o->ask.callers = NULL;
	return err ? kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text()) : 0;
}

static void close_screen(struct top *t)
{
	kmt_tui_free(t->tui);
	t->tui = NULL;
	if (t->term)
		t->term->ops->close(t->term);
	t->term = NULL;
	let_stderr_go(t);
}

/* The table as the screen has it, for text; other formats have all columns. */
static int print_table(struct top *t, bool since_mark)
{
	const struct kmt_tui_view *tv = kmt_tui_view_of(t->view.analysis->name);
	struct kmt_report *r = NULL;
	int err = report_of(t, t->view.analysis, since_mark, &r);

	if (!err && !t->o->ask.columns && !strcmp(t->o->ask.format, "text"))
		err = kmt_tui_view_choose(tv, r);
	if (!err)
		err = kmt_view_show(&t->view, r);
	kmt_report_free(r);
	t->printed++;
	return err;
}

/* ---- live ---- */

static int started(void *ctx)
{
	struct top *t = ctx;
	int err;

	if (!t->o->ask.select.session)	/* that began when it was started */
		kmt_view_count(&t->view, &t->view.slabs_start);
	err = read_live(t);
	mark_live(t);
	t->next_ns = t->read_ns + t->o->interval_ns;
	return err;
}

/* -ECANCELED: enough */
static int turn_batch(void *ctx)
{
	struct top *t = ctx;
	int err;

	if (kmt_live_now() < t->next_ns)
		return 0;
	mark_live(t);
	err = read_live(t);
	if (!err)
		err = print_table(t, true);
	t->next_ns += t->o->interval_ns;
	return err ? err : t->printed == t->o->iterations ? -ECANCELED : 0;
}

/* The screen stays: what the command left behind is what one wants to see. */
static void tell_end(struct top *t)
{
	int status = kmt_run_status(&t->run);

	if (status > 128)
		snprintf(t->state, sizeof(t->state), "[command ended by signal %d]", status - 128);
	else
		snprintf(t->state, sizeof(t->state), "[command ended: %d]", status);
}

static int turn_screen(void *ctx)
{
	struct top *t = ctx;
	int res;

	if (t->run.ended && !t->state[0])
		tell_end(t);
	if (t->o->ask.select.session && kmt_kept_is_over(t->o->ask.select.source))
		snprintf(t->state, sizeof(t->state), "[session was stopped or reset]");
	res = kmt_tui_step(t->tui);
	return res > 0 ? -ECANCELED : res;
}

/* Ended before its time, or with its command: there is a table yet of what there is. */
static bool is_one_missing(const struct top *t)
{
	uint64_t wanted = t->o->iterations;

	if (t->argv)
		return t->run.started && (!wanted || t->printed < wanted);
	return t->printed < (wanted ? wanted : 1);
}

/* A key is answered at once; what else is to be done waits for a tenth of an interval. */
static int look_ms(uint64_t interval_ns)
{
	const uint64_t ms = interval_ns / 10 / 1000000;

	return ms < LONGEST_LOOK_MS ? (int)ms : LONGEST_LOOK_MS;
}

static int run_live(struct top *t)
{
	const struct top_opts *o = t->o;
	const struct kmt_live live = {
		.select = &o->ask.select, .child = &t->run, .sink = &t->view.sink,
		.started = started, .turn = o->batch ? turn_batch : turn_screen, .ctx = t,
		.look_ms = o->batch ? 0 : look_ms(o->interval_ns),
	};
	int status = 0, err;

	kmt_output_init(&t->view.out, STDOUT_FILENO, &t->run);
	t->data = (struct kmt_tui_data){ .read = read_live, .mark = mark_live,
					 .report = report_live, .save = save_live };
	t->view.keeps_count = !o->batch;
	if (!o->batch)
		status = open_screen(t);
	if (status) {
		close_screen(t);
		return status;
	}
	err = kmt_live_run(&live, t->argv, &status);
	close_screen(t);
	if (!status && t->run.ended)
		status = kmt_run_status(&t->run);
	if (err == -ECANCELED)
		err = 0;
	else if (!err && o->batch && is_one_missing(t)) {
		err = read_live(t);
		if (!err)
			err = print_table(t, true);
	}
	return kmt_view_finish(&t->view, err, status);
}

static int open_live(struct top *t)
{
	struct kmt_source_opts so;
	int status = kmt_view_session(&t->view);

	if (!status)
		status = hang_observers(&t->view);
	if (!status)
		status = kmt_select_command(&t->o->ask.select, &t->run, t->argv);
	t->run.goes_on = !t->o->batch;
	if (!status) {
		kmt_view_source_opts(&t->view, &so);
		so.wake_fd = t->o->batch ? NULL : &keys_fd;
		status = kmt_select_open(&t->o->ask.select, &so);
	}
	return status;
}

/* ---- a recording ---- */

/* What was live at most in each part of the recording, which was read to its end; or nothing. */
static void read_curve(struct top *t)
{
	const struct kmt_analysis *shown = t->view.analysis;
	struct kmt_report *r = NULL;
	int layer, peak;

	t->data.curve = t->curve;
	t->view.analysis = kmt_analysis_find("timeline");
	if (!kmt_view_report(&t->view, 0, &r)) {
		layer = kmt_report_column(r, "layer");
		peak = kmt_report_column(r, "peak_bytes_allocated");
		for (size_t i = 0; i < r->n_rows && t->data.n_curve < CURVE; i++) {
			const struct kmt_cell *c = r->rows[i].cells;

			/* the first is that of the objects, where there are several */
			if (peak >= 0 && layer >= 0 && c[layer].text &&
			    !strcmp(c[layer].text, r->rows[0].cells[layer].text))
				t->curve[t->data.n_curve++] = c[peak].i;
		}
		kmt_report_free(r);
	}
	t->view.analysis = shown;
}

static int show_recording(struct top *t, const char *fault)
{
	struct pollfd keys = { .fd = keys_fd, .events = POLLIN };
	const uint64_t end = t->replay.length_ns;
	int status, res = 0;

	t->data = (struct kmt_tui_data){ .read = read_nothing, .mark = mark_replay,
					 .report = report_replay, .seek = seek, .at_ns = end,
					 .length_ns = end, .notice = fault };
	t->read_ns = end;
	status = open_screen(t);
	if (!status)
		read_curve(t);
	while (!status && !res && !kmt_run_over(&t->run)) {
		res = kmt_tui_step(t->tui);
		if (!res)
			poll(&keys, 1, LOOK_MS);
	}
	close_screen(t);
	return status ? status : kmt_view_finish(&t->view, res < 0 ? res : 0, 0);
}

static int run_recording(struct top *t)
{
	char fault[sizeof(t->view.fault)];
	int status;

	t->replay = (struct kmt_replay){ .ask = &t->o->ask, .view = &t->view, .run = &t->run,
					 .made = hang_observers };
	status = kmt_replay_read(&t->replay, 0);
	if (status || t->view.interrupted)
		return status ? status : 128 + t->run.signal;
	memcpy(fault, t->view.fault, sizeof(fault));
	kmt_output_init(&t->view.out, STDOUT_FILENO, &t->run);
	if (t->o->batch) {
		int err = print_table(t, false);

		status = kmt_view_finish(&t->view, err, 0);
	} else {
		status = show_recording(t, fault);
	}
	return fault[0] ? kmt_cmd_fail(KMT_EXIT_INPUT, "%s", fault) : status;
}

/* ---- the command ---- */

static int check_opts(const struct top_opts *o, const struct kmt_view *v)
{
	if (!kmt_tui_view_of(v->analysis->name))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--by: top has no view %s (see 'kmemtrace stat')",
				    v->analysis->name);
	if (o->iterations && !o->batch)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--iterations belongs to --batch");
	if ((o->ask.columns || o->ask.no_header || strcmp(o->ask.format, "text")) && !o->batch)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--columns, --format and --no-header belong to "
				    "--batch");
	if (!o->batch && o->ask.select.from && !strcmp(o->ask.select.from, "-"))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "standard input has the keys: give a FILE, or "
				    "--batch");
	return 0;
}

static int run_top(struct top_opts *o, char **own_argv, char **argv)
{
	int status = o->ask.select.session ? kmt_kept_ask(&o->ask) : 0;
	struct top t = { .o = o, .own_argv = own_argv, .argv = argv, .run = KMT_RUN_NONE,
			 .held_fd = -1, .stderr_fd = -1 };
	const char *from = o->ask.select.from;

	if (!o->ask.by)
		o->ask.by = "site";
	if (!status)
		status = kmt_view_init(&t.view, &o->ask, "top", "--by: ");
	if (!status)
		status = check_opts(o, &t.view);
	if (!status)
		status = kmt_select_prepare(&o->ask.select, "top");
	o->ask.select.quiet_command = !o->batch;
	if (!status && from && kmt_run_init(&t.run, NULL))
		status = kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (!status && !from)
		status = open_live(&t);
	if (!status)
		status = from ? run_recording(&t) : run_live(&t);
	kmt_run_done(&t.run);
	kmt_view_done(&t.view);
	return status;
}

/* Where the command begins: behind "--"; argc: there is none. */
static int command_at(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--"))
		i++;
	return i < argc ? i : argc;
}

static int run(int argc, char **argv)
{
	struct top_opts o = { .interval_ns = SEC };
	const char *operands[1] = { 0 };
	int n_args = command_at(argc, argv);
	char **command = n_args < argc ? argv + n_args + 1 : NULL;
	bool help = false;
	size_t n = 0;
	int status;

	kmt_ask_init(&o.ask, NULL);
	status = kmt_cmd_parse(&kmt_command_top, &o, n_args, argv, operands, 1, &n, &help);
	o.ask.select.from = operands[0];
	if (!status && command && o.ask.select.session)
		status = kmt_cmd_fail(KMT_EXIT_USAGE, "--session runs no command");
	if (!status && command && (operands[0] || !*command))
		status = kmt_cmd_fail(KMT_EXIT_USAGE, operands[0] ? "a FILE runs no command" :
				      "there is no command behind '--'");
	if (!status)
		status = help ? kmt_cmd_help(&kmt_command_top) : run_top(&o, argv, command);
	kmt_select_done(&o.ask.select);
	return status;
}

const struct kmt_command kmt_command_top = {
	.name = "top",
	.synopsis = "top [OPTIONS] [FILE | -- CMD [ARG...]]",
	.help = "watch who holds and takes the kernel's memory, or a recording of it",
	.options = top_tables,
	.run = run,
};
