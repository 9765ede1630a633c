/* SPDX-License-Identifier: GPL-2.0-only */
/* Event attributes of a perf.data file, of any version. */
#ifndef KMT_SOURCE_PERF_ATTR_H
#define KMT_SOURCE_PERF_ATTR_H

#include <stddef.h>
#include <stdint.h>

struct kmt_perf_file;
struct kmt_perf_record;

#define KMT_PERF_ATTR_MAX	4096U
#define KMT_PERF_IDS_MAX	16384U		/* per event: one for each CPU or thread */

/* Take in one attribute, which lies at offset 'at', with the ids of its samples. */
int kmt_perf_attr_add(struct kmt_perf_file *f, uint64_t at, const unsigned char *attr, size_t len,
		      const unsigned char *ids, size_t ids_len);
/* The same from a record of pipe mode. */
int kmt_perf_attr_record(struct kmt_perf_file *f, const struct kmt_perf_record *rec);

#endif
