/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event filter in user space, for sources that get every event.
 *
 * Allocations are asked about themselves. A free carries neither size nor the
 * allocating site or task: it passes when its address belongs to an allocation
 * that passed, which takes a bounded set of those addresses.
 */
#ifndef KMT_SOURCE_SELECT_H
#define KMT_SOURCE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/source.h"

struct kmt_select;
struct kmt_tasks;

/*
 * tasks: who runs as which thread; may be NULL if kmt_select_wants_tasks() is
 * false for this filter. Borrows everything. -EINVAL: the filter needs something
 * that is not there.
 */
int kmt_select_new(const struct kmt_source_opts *opts, struct kmt_tasks *tasks,
		   struct kmt_select **ret);
void kmt_select_free(struct kmt_select *s);

/* The filter asks about names, processes or cgroups of tasks. */
bool kmt_select_wants_tasks(const struct kmt_filter *f);

/*
 * Does the event pass? 1, 0 or a negative errno. Events must come in order;
 * ev->pid is the thread, ev->cache the real or inferred cache.
 */
int kmt_select_event(struct kmt_select *s, const struct kmt_event *ev);

/* A thread was born (filters with follow need to know). */
int kmt_select_born(struct kmt_select *s, uint32_t parent, uint32_t tid, bool thread,
		    const char *comm);

/* Allocations that passed although the address set was full: their frees will not. */
uint64_t kmt_select_untracked(const struct kmt_select *s);
/* Allocations that did not pass because what the filter asks of a task is not known. */
uint64_t kmt_select_unknown_tasks(const struct kmt_select *s);
size_t kmt_select_bytes(const struct kmt_select *s);

#endif
