/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The screen of 'kmemtrace top'. Where the answers come from is not its business:
 *
 *   cmd/top.c ──kmt_tui_data──► kmt_tui ──► kmt_term
 *                 reports                    cells
 */
#ifndef KMT_TUI_TUI_H
#define KMT_TUI_TUI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_report;
struct kmt_term;

/* What is shown and where it comes from; all calls get 'ctx'. */
struct kmt_tui_data {
	void *ctx;
	const char *title;		/* whose memory: a host, a file */
	const char *state;		/* what became of it, behind the title; NULL or "": nothing */
	const char *notice;		/* what must be known first; NULL or "": nothing */
	uint64_t interval_ns;		/* between two readings */
	bool brief;			/* the next report may be without lists and stacks */
	/* What the screen wants of the tree of calls; its keys change it. */
	bool inverted;			/* from the allocating function outwards */
	char callers[128];		/* of this function alone; "" the whole tree */
	/*
	 * A recording: where in it we stand, and how long it is; seek() keeps at_ns.
	 * Live: seek is NULL.
	 */
	uint64_t at_ns, length_ns;
	uint64_t slab_bytes;	/* of the machine: SReclaimable and SUnreclaim; 0 unknown */
	/* A recording: the most that was live in each of so many equal parts of it. */
	const int64_t *curve;
	size_t n_curve;
	uint64_t (*now)(void *ctx);	/* CLOCK_MONOTONIC */
	/* Take over what was counted by now. An error ends the screen. */
	int (*read)(void *ctx);
	/* Counts of reports with 'since_mark' begin here, at the reading before this call. */
	void (*mark)(void *ctx);
	/*
	 * All rows of an analysis, as of the last reading; the caller's to free. An
	 * error other than -ENOMEM says why there is no such report, in its text.
	 */
	int (*report)(void *ctx, const char *analysis, bool since_mark,
		      struct kmt_report **ret_report);
	/* Write what is known into a recording, whose name or the fault goes to 'said'. */
	int (*save)(void *ctx, char *said, size_t size);
	/* A recording: as if it ended at this time after its start. */
	int (*seek)(void *ctx, uint64_t at_ns);
};

/* A table that the screen can show: one file, one row in views.def. */
struct kmt_tui_view {
	const char *title;	/* "Sites" */
	const char *tab;	/* whose key it shares with its neighbours; NULL: its own */
	const char *analysis;	/* as in 'stat --by' */
	/* Columns in the order of their use: from the right they go where it is narrow. */
	const char *columns;
	const char *help;	/* one line, lower case, no full stop */
	bool has_order;		/* its rows mean nothing in another order: the tree of calls */
};

extern const struct kmt_tui_view *const kmt_tui_views[];	/* NULL-terminated; keys 1, 2, ... */
/* The view that shows an analysis; NULL if none does. */
const struct kmt_tui_view *kmt_tui_view_of(const char *analysis);
/* Propose the view's columns. 0 or -ENOMEM. */
int kmt_tui_view_choose(const struct kmt_tui_view *v, struct kmt_report *r);

struct kmt_tui;

/* The terminal and the data are borrowed. 'first': the view it begins with. */
int kmt_tui_new(struct kmt_term *term, struct kmt_tui_data *data,
		const struct kmt_tui_view *first, struct kmt_tui **ret);
/* Start with the rows sorted ("COLUMN:asc") or filtered; either may be NULL. 0 or -ENOMEM. */
int kmt_tui_preset(struct kmt_tui *t, const char *sort, bool exact_bytes);
/*
 * What is to be done now: answer keys, read if it is time, draw if there is
 * something new, at most four times a second. Never waits; call it some twenty
 * times a second. 1: the user wants to leave. 0, or an error with its text.
 */
int kmt_tui_step(struct kmt_tui *t);
void kmt_tui_free(struct kmt_tui *t);

#endif
