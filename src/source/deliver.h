/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a CPU's queue to the sink, for sources that see every event in user
 * space: own events and null frees are left out, the filter is asked, names of
 * tasks and kmalloc caches are filled in. Everything that is left out is counted.
 */
#ifndef KMT_SOURCE_DELIVER_H
#define KMT_SOURCE_DELIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/addrset.h"
#include "source/caller.h"
#include "source/kmalloc_names.h"
#include "source/source.h"

struct kmt_node;
struct kmt_tasks;
struct kmt_select;

#define KMT_OWN_THREADS 64

struct kmt_deliver {
	struct kmt_source_opts opts;
	struct kmt_tasks *tasks;		/* NULL: nobody asks for tasks */
	struct kmt_select *select;		/* NULL: no filter */
	struct kmt_kmalloc_names *kmalloc_names;	/* NULL: nobody asks for them */
	struct kmt_kmalloc_gfp kmalloc_gfp;
	struct kmt_addrset own;			/* live objects of this process */
	struct kmt_caller caller;		/* its symbols may be set later than init */
	struct kmt_pages *pages;		/* NULL: user pages are wanted too, or no pages at all */
	uint32_t own_tid[KMT_OWN_THREADS];
	size_t	 n_own_tids;
	uint64_t n_out, n_failed, n_null, n_filtered, n_own;
	uint64_t untracked_told;
};

int kmt_deliver_init(struct kmt_deliver *d, const struct kmt_source_opts *opts);
void kmt_deliver_done(struct kmt_deliver *d);

/* Which threads are ours now; before each batch. */
void kmt_deliver_refresh_own(struct kmt_deliver *d);
/* Nodes must come in order of time. 0, or the sink's error. */
int kmt_deliver_node(struct kmt_deliver *d, const struct kmt_sink *sink, uint32_t cpu,
		     struct kmt_node *node);
int kmt_deliver_lost(const struct kmt_sink *sink, enum kmt_loss reason, uint32_t cpu,
		     uint64_t events, uint64_t ts_ns);
/* After a batch: the filter could not remember all that passed. */
int kmt_deliver_untracked(struct kmt_deliver *d, const struct kmt_sink *sink, uint64_t ts_ns);

/* Events, failures, null frees, filtered, own, lost objects. */
void kmt_deliver_quality(const struct kmt_deliver *d, struct kmt_quality *q);
size_t kmt_deliver_bytes(const struct kmt_deliver *d);

#endif
