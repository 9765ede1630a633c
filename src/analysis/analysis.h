/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_ANALYSIS_ANALYSIS_H
#define KMT_ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

struct kmt_session;
struct kmt_report;
struct kmt_symbols;
struct kmt_slabs;
struct kmt_gfp_names;

#define KMT_NEEDS_OBJECTS	1u	/* ages or single objects */
#define KMT_NEEDS_TASKS		2u	/* rows keyed by task */

struct kmt_analysis_in {
	const struct kmt_session *session;
	const struct kmt_symbols *symbols;	/* may be NULL: addresses */
	const struct kmt_slabs *slabs_start;	/* the kernel's own counts; may be NULL */
	const struct kmt_slabs *slabs_end;	/* may be NULL; names and aliases come from here */
	const struct kmt_gfp_names *gfp_names;	/* may be NULL */
	const char *command;			/* "stat" */
	uint64_t min_age_ns;			/* 0: all live objects; else survivors at least this old */
	uint64_t temporary_ns;			/* the threshold the source used, for the summary */
	uint64_t interval_ns;			/* > 0: counts since kmt_session_mark(), over this time */
	bool filtered;				/* an event filter is set: books cannot be compared */
};

/* A view: one file, one row in analyses.def. A pure function of its input. */
struct kmt_analysis {
	const char *name;	/* "site", "site,cache", ... as in --by */
	const char *help;
	unsigned needs;		/* KMT_NEEDS_* */
	int (*run)(const struct kmt_analysis_in *in, struct kmt_report **ret_report);
};

extern const struct kmt_analysis *const kmt_analyses[];	/* NULL-terminated */
const struct kmt_analysis *kmt_analysis_find(const char *name);

#endif
