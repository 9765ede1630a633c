/* SPDX-License-Identifier: GPL-2.0-only */
/* What the feature sections of perf.data say about the recorded machine. */
#ifndef KMT_SOURCE_PERF_INFO_H
#define KMT_SOURCE_PERF_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of the features that are read (tools/perf/util/header.h). */
#define KMT_PERF_FEAT_TRACING	1
#define KMT_PERF_FEAT_BUILD_ID	2
#define KMT_PERF_FEAT_HOSTNAME	3	/* every perf since v2.6.38 writes it */

struct kmt_perf_info {
	char	 release[72], machine[32], command[1024];	/* "" unknown */
	char	 build_id[41];
	uint32_t n_cpus;
	bool	 has_wall;		/* the moment of the next two is known */
	uint64_t wall_ns;		/* since 1970 */
	uint64_t wall_clock_ns;		/* on the events' clock */
	uint64_t first_ns, last_ns;	/* times of the first and the last sample, 0 unknown */
};

/* Take in the bytes of one feature; what is too short or unknown is left out. */
void kmt_perf_info_feature(struct kmt_perf_info *info, unsigned feature,
			   const unsigned char *data, size_t len, bool swap);
/* Take in build ids: records one after the other. */
void kmt_perf_info_build_ids(struct kmt_perf_info *info, const unsigned char *data, size_t len,
			     bool swap);
/* Name of a clock id, as tracefs and 'perf record -k' call them. */
const char *kmt_perf_clock_name(bool is_set, uint32_t clockid);

#endif
