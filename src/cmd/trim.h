/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of a recording's symbols its events name: for small files. */
#ifndef KMT_CMD_TRIM_H
#define KMT_CMD_TRIM_H

struct kmt_run;
struct kmt_select;
struct kmt_source_opts;
struct kmt_symbols;

/*
 * Read the whole recording of --from once, for the addresses of call sites and
 * stacks, and close it again. *ret_symbols stays NULL if there are no symbols to
 * choose from. Returns 0 or an exit status after having told the user.
 */
int kmt_trim_symbols(struct kmt_select *s, const struct kmt_source_opts *so, struct kmt_run *run,
		     struct kmt_symbols **ret_symbols);

#endif
