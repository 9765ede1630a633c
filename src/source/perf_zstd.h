/* SPDX-License-Identifier: GPL-2.0-only */
/* The one zstd stream that all compressed records of a perf.data file make together. */
#ifndef KMT_SOURCE_PERF_ZSTD_H
#define KMT_SOURCE_PERF_ZSTD_H

#include <stddef.h>

struct kmt_perf_zstd;

int kmt_perf_zstd_new(struct kmt_perf_zstd **ret);
void kmt_perf_zstd_free(struct kmt_perf_zstd *z);
/*
 * Decompress from *in, which moves on, as far as 'room' bytes at 'out' go; what
 * came out is in *ret_len. -EBADMSG: damaged; nothing after it can be read.
 */
int kmt_perf_zstd_run(struct kmt_perf_zstd *z, const unsigned char **in, size_t *in_len,
		      void *out, size_t room, size_t *ret_len);

#endif
