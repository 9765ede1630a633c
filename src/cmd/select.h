/* SPDX-License-Identifier: GPL-2.0-only */
/* What to trace and how: the options that 'stat' and 'trace' share. */
#ifndef KMT_CMD_SELECT_H
#define KMT_CMD_SELECT_H

#include "base/options.h"
#include "core/filter.h"
#include "core/module.h"
#include "source/source.h"

struct kmt_buf;
struct kmt_gfp_names;

struct kmt_select {
	/* options */
	uint64_t for_ns;
	const char *source_name, *from, *kallsyms, *tracer;
	const char *session;		/* read a kept one; of the commands that can */
	const char *module;		/* of the commands that can follow one */
	struct kmt_strlist filter_exprs;
	uint64_t objects, objects_kb, sites, buffer_bytes;
	bool hash_maps;
	bool quiet_command;		/* set by the command: the terminal is ours */
	bool follow, own, strict, realtime, user_pages;
	/* made from them */
	char module_name[KMT_MODULE_NAME];
	uint32_t tracers;		/* set of KMT_TRACER_BIT() */
	struct kmt_filter filter;
	struct kmt_strlist row_filters;	/* the expressions that are conditions on rows */
	struct kmt_symbols *symbols;
	struct kmt_symbols *unreadable;	/* the table that stayed empty */
	char no_symbols[256];		/* why there are none; told once tracing is possible */
	struct kmt_slabs *slabs;
	struct kmt_gfp_names *gfp_names;	/* live: this kernel's, once the source is open */
	struct kmt_source *source;
	const struct kmt_facts *facts;	/* of --from's recording; NULL: live, or nothing known */
};

/* Rows for an options struct that has 'struct kmt_select select' as its FIRST member. */
extern const struct kmt_option kmt_select_options[];
/* More of them, for a command that reads recordings too instead of tracing. */
extern const struct kmt_option kmt_select_from_options[];
/* Only those that a command has use for that always reads a recording. */
extern const struct kmt_option kmt_select_file_options[];

/* Of a command that starts what is kept: no time, no stream, no reader. */
extern const struct kmt_option kmt_select_start_options[];
/* For a command that reads a kept session instead of tracing. */
extern const struct kmt_option kmt_select_session_options[];

void kmt_select_init(struct kmt_select *s);
/*
 * Check the options, load the symbols of --kallsyms, parse the filters. Returns 0
 * or an exit status after having told the user.
 */
int kmt_select_prepare(struct kmt_select *s, const char *command);
/* The running kernel's symbols, for who does without kmt_select_open(). */
void kmt_select_read_symbols(struct kmt_select *s);
struct kmt_run;

/*
 * Fork the command (argv may be NULL), which then waits, so that --follow can
 * name it. Returns 0 or an exit status after having told the user.
 */
int kmt_select_command(struct kmt_select *s, struct kmt_run *run, char **argv);
/*
 * Open the source: --from, --source, or the first live one that works here.
 * 'opts' holds what the command wants; the rest is filled in from 's'.
 * Returns 0 or an exit status after having told the user.
 */
int kmt_select_open(struct kmt_select *s, struct kmt_source_opts *opts);
/* "--filter A --filter B --follow" for people, as text of 'buf'; NULL: everything passes. */
const char *kmt_select_filters_text(const struct kmt_select *s, struct kmt_buf *buf);
/* Whose names apply: --kallsyms, the recording's own, or the running kernel's. May be NULL. */
const struct kmt_symbols *kmt_select_symbols(const struct kmt_select *s);
/*
 * One report is about one layer: 0, or a usage error when --tracer names
 * several. After kmt_select_prepare().
 */
int kmt_select_one_layer(const struct kmt_select *s);
struct kmt_only;
/* A recording has more than the report: tell the user which layers. */
void kmt_select_tell_left_out(const struct kmt_select *s, const struct kmt_only *o);
void kmt_select_done(struct kmt_select *s);

#endif
