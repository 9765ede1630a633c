/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: columns that several views share, as pieces of their
 * static tables. What a view hides differs, what a key means does not: rows.c
 * fills cells by key.
 *
 *   s: rows of survivors (--min-age), which show ages instead of counts
 */
#ifndef KMT_ANALYSIS_COLUMNS_H
#define KMT_ANALYSIS_COLUMNS_H

#include "report/report.h"

/*
 * What is neither live nor simply freed, beside every live object and every
 * allocation: given up to RCU and not yet seen to be free, and ended without a
 * free that fired an event. Most often there is nothing, and text shows nothing.
 */
#define KMT_COLUMN_RCU(how)									\
	{ "awaiting_rcu", "RCU", KMT_UNIT_COUNT, (how), false }
#define KMT_COLUMN_RCU_BYTES									\
	{ "bytes_awaiting_rcu", "RCU BYTES", KMT_UNIT_BYTES, KMT_HIDDEN, false }
#define KMT_COLUMNS_RCU(how) KMT_COLUMN_RCU(how), KMT_COLUMN_RCU_BYTES
#define KMT_COLUMN_UNTRACED(how)								\
	{ "untraced_frees", "UNTRACED", KMT_UNIT_COUNT, (how), false }

/* Default text: 10 + 8 + 9 + 9 + 10 + 7 cells at most, which leaves 21 for the name. */
#define KMT_COLUMNS_MAIN(s, hide_frees, hide_waste, hide_age)					\
	{ "surviving_bytes", "SURVIVING", KMT_UNIT_BYTES, !(s), false },			\
	{ "surviving_objects", "SURVIVORS", KMT_UNIT_COUNT, !(s), false },			\
	{ "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, (s), false },				\
	{ "live_objects", "OBJS", KMT_UNIT_COUNT, (s), false },					\
	KMT_COLUMNS_RCU((s) ? KMT_HIDDEN : KMT_IF_ANY),						\
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, (s), false },					\
	{ "frees", "FREES", KMT_UNIT_COUNT, (s) || (hide_frees), false },			\
	KMT_COLUMN_UNTRACED((s) ? KMT_HIDDEN : KMT_IF_ANY),					\
	{ "waste_bytes", "WASTE", KMT_UNIT_BYTES, (s) || (hide_waste), false },			\
	{ "age_min_ns", "AGE MIN", KMT_UNIT_NS, !(s), false },					\
	{ "age_p50_ns", "AGE P50", KMT_UNIT_NS, !(s) && (hide_age), false },			\
	{ "age_max_ns", "AGE MAX", KMT_UNIT_NS, !(s), false }

#define KMT_COLUMNS_MORE									\
	{ "failures", "FAILED", KMT_UNIT_COUNT, KMT_HIDDEN, false },				\
	{ "bytes_requested", "REQUESTED", KMT_UNIT_BYTES, KMT_HIDDEN, false },			\
	{ "bytes_allocated", "GIVEN", KMT_UNIT_BYTES, KMT_HIDDEN, false },			\
	{ "live_bytes_requested", "LIVE REQ", KMT_UNIT_BYTES, KMT_HIDDEN, false },		\
	{ "peak_bytes_allocated", "PEAK", KMT_UNIT_BYTES, KMT_HIDDEN, false },			\
	{ "cross_cpu_frees", "CROSS-CPU", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	{ "temporary", "TEMPORARY", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	{ "temporary_percent", "TEMP%", KMT_UNIT_PERCENT, KMT_HIDDEN, false },			\
	{ "waste_percent", "WASTE%", KMT_UNIT_PERCENT, KMT_HIDDEN, false },			\
	{ "untracked", "UNTRACKED", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	{ "net_bytes_per_s", "NET/S", KMT_UNIT_BYTES_PER_S, KMT_HIDDEN, false },		\
	{ "allocs_per_s", "ALLOC/S", KMT_UNIT_COUNT_PER_S, KMT_HIDDEN, false },			\
	{ "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },					\
	{ "gfp", "GFP", KMT_UNIT_TEXT, KMT_HIDDEN, false },					\
	{ "lifetimes_log2", "LIFETIMES", KMT_UNIT_LIST, KMT_HIDDEN, false },			\
	{ "sizes", "SIZES", KMT_UNIT_LIST, KMT_HIDDEN, false }

/*
 * What the kernel's slabs of the cache hold, how much of that is objects, and whether
 * it counts as SReclaimable.
 */
#define KMT_COLUMN_SLAB_BYTES									\
	{ "slab_bytes", "SLAB", KMT_UNIT_BYTES, KMT_HIDDEN, false }
#define KMT_COLUMN_UTILISATION									\
	{ "utilisation_percent", "UTIL%", KMT_UNIT_PERCENT, KMT_HIDDEN, false }
#define KMT_COLUMN_RECLAIMABLE									\
	{ "reclaimable", "RECL", KMT_UNIT_TEXT, KMT_HIDDEN, false }
#define KMT_COLUMNS_SLABS									\
	KMT_COLUMN_SLAB_BYTES, KMT_COLUMN_UTILISATION, KMT_COLUMN_RECLAIMABLE

/* Of the row's cache, whatever part of it the row is. */
#define KMT_COLUMNS_CACHE(hide_size, hide_books)						\
	{ "object_size", "SIZE", KMT_UNIT_BYTES, (hide_size), false },				\
	{ "aliases", "ALIASES", KMT_UNIT_LIST, KMT_HIDDEN, false },				\
	KMT_COLUMNS_SLABS,									\
	{ "balance.traced_net", "TRACED NET", KMT_UNIT_COUNT, KMT_HIDDEN, false },		\
	{ "balance.real_net", "REAL NET", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	{ "balance.difference", "DIFF", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	{ "balance.tolerance", "TOLERANCE", KMT_UNIT_COUNT, KMT_HIDDEN, false },		\
	{ "older_frees", "OLDER", KMT_UNIT_COUNT, KMT_HIDDEN, false },				\
	{ "baseline_objects", "BASELINE", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	{ "total_objects", "TOTAL", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	{ "kernel_objects", "KERNEL", KMT_UNIT_COUNT, KMT_HIDDEN, false },			\
	{ "balance.verdict", "BOOKS", KMT_UNIT_TEXT, (hide_books), false }

#define KMT_COLUMNS_SITE									\
	{ "site", "SITE", KMT_UNIT_TEXT, KMT_SHOWN, true },					\
	{ "module", "MODULE", KMT_UNIT_TEXT, KMT_HIDDEN, false },				\
	{ "stack", "STACK", KMT_UNIT_LIST, KMT_HIDDEN, false }

/* A view by label: module, subsystem, directory. */
#define KMT_COLUMNS_LABEL(s, key, title) {							\
	KMT_COLUMNS_MAIN(s, KMT_SHOWN, KMT_SHOWN, KMT_SHOWN),					\
	{ "sites", "SITES", KMT_UNIT_COUNT, KMT_SHOWN, false },					\
	{ "caches", "CACHES", KMT_UNIT_LIST, KMT_HIDDEN, false },				\
	{ key, title, KMT_UNIT_TEXT, KMT_SHOWN, true },						\
	KMT_COLUMNS_MORE,									\
}

#define KMT_N(a) (sizeof(a) / sizeof((a)[0]))

#endif
