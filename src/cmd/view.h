/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is asked and how the answer is shown: all that 'stat' and 'report' have
 * in common. One analysis, two sources.
 *
 *   kmt_ask (options) ──► kmt_view: session ◄── events │ snapshots
 *                              └──► analysis ──► renderer ──► standard output
 */
#ifndef KMT_CMD_VIEW_H
#define KMT_CMD_VIEW_H

#include "cmd/output.h"
#include "cmd/select.h"
#include "core/only.h"

struct kmt_ask {
	struct kmt_select select;	/* first: its option rows count from here */
	const char *by, *sort, *columns, *format, *tail, *callers, *callees, *vmlinux;
	uint64_t limit, min_age_ns, temporary_ns;
	bool stacks, inverted, bytes, no_header;
};

/* Rows for an options struct that has 'struct kmt_ask ask' as its FIRST member. */
extern const struct kmt_option kmt_ask_options[];

struct kmt_analysis;
struct kmt_report;
struct kmt_renderer;
struct kmt_run;

struct kmt_view {
	const struct kmt_ask *ask;
	const char *command;
	const struct kmt_analysis *analysis;
	const struct kmt_renderer *renderer;
	double tail_percent;
	bool in_part;			/* only part of the run is counted: no books */
	const uint64_t *left_out;	/* events outside that part; NULL = none */
	struct kmt_session *session;
	struct kmt_only only;		/* the layer that the report is about */
	struct kmt_sink sink;		/* of the session, behind 'only' */
	/* the running kernel's counts: at the start, at the last report */
	struct kmt_slabs *slabs_start, *slabs_end;
	bool brief;			/* reports without lists and stacks of their rows */
	bool keeps_count;		/* whoever takes readings counts the kernel's objects with them */
	bool exact;			/* shrink every cache before each count */
	bool is_over;			/* slabs_end is the last count: reports do not count again */
	struct kmt_module_life module;	/* that is followed; no name: none is */
	struct kmt_gfp_names *gfp_names;
	struct kmt_nodes *nodes;	/* of this machine, for the views that ask; NULL: none do */
	char no_nodes[160];		/* why there are none; "" */
	struct kmt_lines *lines;	/* of --vmlinux; NULL: not given */
	struct kmt_output out;
	bool printed;			/* a report came out already */
	char fault[512];		/* why the recording could not be read to its end; "" it was */
	bool interrupted;		/* a signal ended the reading */
};

void kmt_ask_init(struct kmt_ask *a, const char *by);
/*
 * Check what is asked ('option' names where the view came from, "--by: " or
 * ""). Returns 0 or an exit status after having told the user.
 */
int kmt_view_init(struct kmt_view *v, const struct kmt_ask *a, const char *command,
		  const char *option);
/*
 * Make the session, with the view's observer on it, and try the names of columns
 * and filters. Before the source is opened; kmt_select_prepare() comes first.
 * Returns 0 or an exit status after having told the user.
 */
int kmt_view_session(struct kmt_view *v);
/*
 * An analysis may be asked for on this session: what it needs there beside the books.
 * kmt_view_session() does so for the view's own. Before the first event.
 */
int kmt_view_wants(struct kmt_view *v, const struct kmt_analysis *a);
/* What the source has to do for this view: key, tasks and stacks are filled in. */
void kmt_view_source_opts(const struct kmt_view *v, struct kmt_source_opts *ret);
/* Take over the source's snapshot, if it counts, and its quality. */
int kmt_view_update(struct kmt_view *v);
/*
 * Take the running kernel's own counts into *slabs, in place of what is there.
 * What cannot be had leaves NULL behind: the books say why.
 */
void kmt_view_count(const struct kmt_view *v, struct kmt_slabs **slabs);
/* Make the report, shaped as was asked; interval_ns as in kmt_analysis_in. */
int kmt_view_report(struct kmt_view *v, uint64_t interval_ns, struct kmt_report **ret_report);
/* Print a report, this view's or one made from it. */
int kmt_view_show(struct kmt_view *v, const struct kmt_report *r);
/* Both. */
int kmt_view_print(struct kmt_view *v, uint64_t interval_ns);
/*
 * Read the whole recording of --from, with 'sink' between (NULL: straight into
 * the session). 0 when there is something to report, which 'fault' and
 * 'interrupted' may say is only a part; else an error, also told in 'fault'.
 */
int kmt_view_read(struct kmt_view *v, const struct kmt_sink *sink, struct kmt_run *run);
/*
 * The same, and print the report, also when a signal or a fault ends the
 * reading. Returns the exit status after having told the user.
 */
int kmt_view_file(struct kmt_view *v, const struct kmt_sink *sink, struct kmt_run *run);
/* The exit status that a run ends with: of an error, of losses with --strict, or 'status'. */
int kmt_view_finish(const struct kmt_view *v, int err, int status);
void kmt_view_done(struct kmt_view *v);

#endif
