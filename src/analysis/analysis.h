/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_ANALYSIS_ANALYSIS_H
#define KMT_ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

struct kmt_facts;
struct kmt_module_life;
struct kmt_observer;
struct kmt_session;
struct kmt_report;
struct kmt_symbols;
struct kmt_slabs;
struct kmt_gfp_names;
struct kmt_lines;
struct kmt_nodes;

#define KMT_NEEDS_OBJECTS	1u	/* ages or single objects */
#define KMT_NEEDS_TASKS		2u	/* rows keyed by task */
#define KMT_NEEDS_STACKS	4u	/* rows keyed by stack */
#define KMT_NEEDS_EVENTS	8u	/* nothing to say of what is counted in the kernel */
#define KMT_NEEDS_CGROUPS	16u	/* rows keyed by cgroup */
#define KMT_NEEDS_WHO		(KMT_NEEDS_TASKS | KMT_NEEDS_CGROUPS)
#define KMT_NEEDS_CPUS		32u	/* events counted by CPU */
#define KMT_NEEDS_NODES		64u	/* the running machine's NUMA nodes */
#define KMT_NEEDS_NO_KEY	128u	/* by what rows are keyed is all the same */

struct kmt_analysis_in {
	const struct kmt_session *session;
	const struct kmt_symbols *symbols;	/* may be NULL: addresses */
	const struct kmt_slabs *slabs_start;	/* the kernel's own counts; may be NULL */
	const struct kmt_slabs *slabs_end;	/* may be NULL; names and aliases come from here */
	const struct kmt_gfp_names *gfp_names;	/* may be NULL */
	const struct kmt_lines *lines;		/* of its vmlinux, in place; may be NULL */
	const struct kmt_nodes *nodes;		/* of the machine that is traced; may be NULL */
	const char *no_nodes;			/* why there are none, of this machine; may be NULL */
	const char *command;			/* "stat" */
	uint64_t min_age_ns;			/* 0: all live objects; else survivors at least this old */
	uint64_t temporary_ns;			/* the threshold the source used, for the summary */
	uint64_t interval_ns;			/* > 0: counts since kmt_session_mark(), over this time */
	bool filtered;				/* an event filter is set: books cannot be compared */
	const struct kmt_facts *facts;		/* of the recording; NULL: live, or nothing known */
	const struct kmt_module_life *module;	/* that was followed; NULL: none was */
	const char *sort;			/* --sort, for views with own_order; NULL: default */
	uint64_t limit;				/* --limit, for views with own_order; 0: all */
	uint64_t max_objects;			/* rows of single objects at most, 0: 100 000 */
	double tail_percent;			/* leaks: allocations of this last part do not count */
	/*
	 * Only what a row shows of itself: no lists, no stacks below it. For who makes
	 * reports all the time and seldom looks at these.
	 */
	bool brief;
	bool inverted;				/* stacks: from the allocating function outwards */
	const char *callers, *callees;		/* stacks: of functions that match; may be NULL */
};

/* A view: one file, one row in analyses.def. A pure function of its input. */
struct kmt_analysis {
	const char *name;	/* "site", "site,cache", ... as in --by */
	const char *aliases[2];	/* other names for it, NULL = none */
	const char *help;
	unsigned needs;		/* KMT_NEEDS_* */
	uint64_t rows;		/* shown unless --limit says otherwise; 0: 20 */
	bool own_order;		/* the order of the rows means something: run() looks at in->sort */
	/*
	 * Hung on the session before the first event; run() finds its state with
	 * kmt_session_observed(), NULL if nobody hung it. May be NULL.
	 */
	const struct kmt_observer *observer;
	int (*run)(const struct kmt_analysis_in *in, struct kmt_report **ret_report);
};

extern const struct kmt_analysis *const kmt_analyses[];	/* NULL-terminated */
/* By name or alias; NULL if there is none. */
const struct kmt_analysis *kmt_analysis_find(const char *name);

#endif
