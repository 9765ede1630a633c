/* SPDX-License-Identifier: GPL-2.0-only */
/* What a record of perf.data says, whatever its attribute chose to put into it. */
#ifndef KMT_SOURCE_PERF_SAMPLE_H
#define KMT_SOURCE_PERF_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/perf_file.h"

struct kmt_perf_id {
	uint64_t id;
	uint32_t attr;
};

/* Which attribute a sample belongs to. Zero-initialised is empty. */
struct kmt_perf_ids {
	struct kmt_perf_id *v;		/* by id */
	size_t	 n, n_attrs;		/* n_attrs: that many are in */
	bool	 same_type;		/* all attributes have the same sample_type */
	int	 id_at;			/* words before a sample's id, -1: they have none */
	int	 id_from_end;		/* the same of other records: 1 = the last word */
};

struct kmt_perf_sample {
	uint32_t pid, tid, cpu;
	bool	 has_task, has_time, has_cpu;
	bool	 has_chain;
	uint64_t time;
	uint64_t id;			/* 0: none */
	uint64_t n_chain;		/* words at 'chain', context markers among them */
	const unsigned char *chain;
	const unsigned char *raw;	/* the tracepoint's record, NULL: none */
	uint32_t raw_len;
};

void kmt_perf_ids_done(struct kmt_perf_ids *ids);
/*
 * Take in attributes that came since the last time. -EBADMSG: their samples
 * cannot be told apart.
 */
int kmt_perf_ids_update(struct kmt_perf_ids *ids, const struct kmt_perf_file *f);

/* A sample. -EBADMSG: of no known event, or it does not fit into its record. */
int kmt_perf_sample_parse(const struct kmt_perf_file *f, const struct kmt_perf_ids *ids,
			  const struct kmt_perf_record *rec, struct kmt_perf_sample *ret);
/* Time, CPU and task at the end of any other record; nothing if it has none. */
void kmt_perf_trailer_parse(const struct kmt_perf_file *f, const struct kmt_perf_ids *ids,
			    const struct kmt_perf_record *rec, struct kmt_perf_sample *ret);

/*
 * The kernel's part of a call chain without context markers; at most 'max'
 * addresses. Returns how many.
 */
size_t kmt_perf_chain(const struct kmt_perf_file *f, const struct kmt_perf_sample *s,
		      uint64_t *out, size_t max);

#endif
