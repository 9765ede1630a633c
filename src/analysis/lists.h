/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: LIST cells of a group. All return 0 or -ENOMEM. */
#ifndef KMT_ANALYSIS_LISTS_H
#define KMT_ANALYSIS_LISTS_H

#include <stddef.h>

struct kmt_analysis_in;
struct kmt_cell;
struct kmt_group;
struct kmt_groups;

/* KMT_LIFETIMES counts, buckets of core/site.h */
int kmt_list_lifetimes(const struct kmt_group *g, struct kmt_cell *cell);
/* "2048:1000": given bytes and allocations in the window, by size */
int kmt_list_sizes(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		   const struct kmt_group *g, struct kmt_cell *cell);
/* Names of the group's caches, sorted; null if none is known. */
int kmt_list_caches(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		    const struct kmt_group *g, struct kmt_cell *cell);
/* Different caches, all unknown ones together counting as one. */
int kmt_list_n_caches(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		      const struct kmt_group *g, size_t *ret);

#endif
