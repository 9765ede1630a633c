/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was done on each CPU, all call sites together: one row for each CPU and type.
 *
 *   events (kmt_session_count_cpus()) ─┐
 *   snapshots that say so ─────────────┴─► kmt_cpu_row ──► analyses
 */
#ifndef KMT_CORE_CPUS_H
#define KMT_CORE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KMT_CPU_NONE	UINT32_MAX	/* it is not known on which */
#define KMT_CPU_TYPES	6		/* enum kmt_type, and the rest */

/* All cumulative since the start, or as a difference of two such. */
struct kmt_cpu_counts {
	uint64_t allocs;		/* on this CPU */
	uint64_t frees;			/* on this CPU, wherever the objects came from */
	uint64_t bytes_req;		/* of the allocations */
	uint64_t bytes_alloc;
	uint64_t bytes_freed;		/* given bytes of the frees */
	uint64_t cross_cpu_frees;	/* of the frees: allocated on another CPU */
	uint64_t temporary;
};

struct kmt_snap_cpu {
	uint32_t cpu;			/* or KMT_CPU_NONE */
	uint8_t	 type;			/* enum kmt_type; KMT_CPU_TYPES - 1: another one */
	struct kmt_cpu_counts counts;
};

void kmt_cpu_counts_add(struct kmt_cpu_counts *to, const struct kmt_cpu_counts *c);
/* Did anything happen? */
bool kmt_cpu_counts_any(const struct kmt_cpu_counts *c);

/* Inside a session: events and the last snapshot apart, and both at the last mark. */
struct kmt_cpu_row {
	struct kmt_cpu_counts events, counted, base;
};

struct kmt_cpu_table {
	struct kmt_cpu_row *v;		/* [(cpu + 1) * KMT_CPU_TYPES + type]; first: KMT_CPU_NONE */
	size_t n;
	bool of_events;			/* events are counted here */
	bool of_snapshot;		/* the last snapshot had them */
};

void kmt_cpu_table_done(struct kmt_cpu_table *t);
/* A row's place; *ret is valid until the next call. 0 or -ENOMEM. */
int kmt_cpu_table_get(struct kmt_cpu_table *t, uint32_t cpu, unsigned type,
		      struct kmt_cpu_row **ret);
/* From here on 'base' holds today's counts. */
void kmt_cpu_table_mark(struct kmt_cpu_table *t);
/* In all or since the mark; false: there is no row i. */
bool kmt_cpu_table_at(const struct kmt_cpu_table *t, size_t i, bool since_mark,
		      struct kmt_snap_cpu *ret);

#endif
