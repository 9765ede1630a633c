/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of one CPU that were read from a perf.data file and not yet handed on,
 * by time. perf writes a CPU's records nearly in order, but in rounds: what one
 * CPU did may stand a good way behind what another did later.
 */
#ifndef KMT_SOURCE_PERF_PENDING_H
#define KMT_SOURCE_PERF_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kmt_perf_kind { KMT_PERF_SAMPLE, KMT_PERF_LOST, KMT_PERF_COMM, KMT_PERF_FORK };

struct kmt_perf_item {
	uint8_t	 kind;		/* enum kmt_perf_kind */
	bool	 has_time;
	uint8_t	 event;		/* SAMPLE: number in the tracing data */
	uint16_t n_ips;
	uint32_t len;		/* bytes of data: tracepoint's record, or name of the task */
	uint32_t tid, pid;	/* of the thread it is about; pid: its process, 0 unknown */
	uint32_t cpu;
	uint32_t parent;	/* FORK: thread that made it */
	uint64_t time;
	uint64_t lost;		/* LOST: how many, 0 unknown */
};

struct kmt_perf_place {
	uint64_t time;
	uint64_t at;		/* in 'data' */
};

struct kmt_perf_pending {
	struct kmt_perf_place *place;
	unsigned char *data;	/* items, each with its addresses and data behind it */
	size_t	 first, n, cap;	/* of 'place' */
	size_t	 len, data_cap;
	size_t	 live;		/* bytes of the items that are in 'place' */
	bool	 unsorted;
};

void kmt_perf_pending_done(struct kmt_perf_pending *q);
/* Add a copy of the item with n_ips addresses and len bytes. -ENOMEM. */
int kmt_perf_pending_add(struct kmt_perf_pending *q, const struct kmt_perf_item *item,
			 const uint64_t *ips, const void *data);
/* Before a series of looks: put it into order. */
void kmt_perf_pending_sort(struct kmt_perf_pending *q);
/* The oldest item, NULL if none is older than 'bound'; valid until something is added. */
const struct kmt_perf_item *kmt_perf_pending_head(const struct kmt_perf_pending *q,
						  uint64_t bound, const uint64_t **ret_ips,
						  const void **ret_data);
void kmt_perf_pending_pop(struct kmt_perf_pending *q);
/* After a series of pops: use the memory again. */
void kmt_perf_pending_compact(struct kmt_perf_pending *q);
/* What is in it, in bytes. */
size_t kmt_perf_pending_bytes(const struct kmt_perf_pending *q);

#endif
