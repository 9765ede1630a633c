/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a recording knows about the machine it was made on, besides its events.
 * Whoever reads the recording must use this and not the running kernel's.
 */
#ifndef KMT_CORE_FACTS_H
#define KMT_CORE_FACTS_H

#include <stdint.h>

struct kmt_symbols;
struct kmt_slabs;
struct kmt_gfp_names;

/*
 * Owned by the source that hands it out, with everything in it; valid until
 * the source is closed. What is unknown is NULL or 0.
 */
struct kmt_facts {
	const struct kmt_symbols *symbols;
	const struct kmt_slabs *slabs_start;	/* the kernel's own counts when it began */
	const struct kmt_slabs *slabs_end;	/* and when it ended */
	const struct kmt_gfp_names *gfp_names;
	const char *kernel;		/* release */
	const char *build_id;		/* of vmlinux, lower-case hex */
	const char *machine;		/* "x86_64" */
	const char *command;		/* command line that made the recording */
	const char *filters;		/* "--filter cache=a*": what was left out; NULL: nothing */
	const char *clock;		/* "mono", "local", ...; what ts_ns counts */
	uint64_t start_realtime_ns;	/* since 1970, when it began */
	uint64_t start_ns;		/* the same moment on the events' clock */
	uint64_t end_ns;
	uint64_t temporary_ns;		/* threshold that counted tables were made with */
	uint32_t page_size;
	uint32_t n_cpus;
};

#endif
