/* SPDX-License-Identifier: GPL-2.0-only */
/* Sessions that are kept (source/kept.h), as commands use them. */
#ifndef KMT_CMD_KEPT_H
#define KMT_CMD_KEPT_H

#include <stdbool.h>

#include "source/kept.h"

struct kmt_ask;
struct kmt_select;

/* All return 0 or an exit status after having told the user. */

/* Where sessions lie: KMEMTRACE_BPFFS or the usual place; 'make' what is not there. */
int kmt_kept_find(bool make, struct kmt_kept *ret);
/* The same, making nothing; nobody is told: 0 or a negative errno with text. */
int kmt_kept_place(struct kmt_kept *ret);
/* The stored error of what was done there, as an exit status. */
int kmt_kept_fail(int err);

struct kmt_kept_job {
	const char *name;
	bool replace;			/* the session of that name, which there is */
	char **argv;			/* of this process */
	const char *command;		/* that the session is said to be of; NULL: this one */
};

/* Load, attach and keep what 's' and 'ask' say. The options of 's' are checked already. */
int kmt_kept_start(struct kmt_select *s, const struct kmt_kept_ask *ask, struct kmt_kept *k,
		   const struct kmt_kept_job *job);

/* Open the source of s->session. Nobody is told: 0 or a negative errno with text. */
int kmt_kept_source(struct kmt_select *s, const struct kmt_kept *k);
/*
 * Of a session that is open: what its rows are counted by chooses the view, if none
 * was asked for, and --stacks. -EOPNOTSUPP, and nobody is told: the view that was
 * asked for needs rows of another kind.
 */
int kmt_kept_view(struct kmt_ask *a);
/*
 * --session, before anything else is looked at: open it, and let what rows are
 * counted by choose the view and --stacks, or refuse what was asked.
 */
int kmt_kept_ask(struct kmt_ask *a);
/* Of kmt_select_prepare(): refuse what belongs to the start, and take over its filters. */
int kmt_kept_select(struct kmt_select *s);

#endif
