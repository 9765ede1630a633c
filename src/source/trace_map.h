/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pages of one CPU's trace buffer, looked at without taking them out.
 *
 * Reading trace_pipe_raw consumes. Since Linux commit 117c39200d9d "ring-buffer:
 * Introducing ring-buffer mapping functions" (in v6.10) the buffer can be mapped
 * instead: a page that says what is there, the page at the reader, and the ring
 * from its oldest page on.
 *
 * Writers may go on. Only pages that had something in them at the start are
 * looked at, each is copied, and one that was overwritten meanwhile is told.
 */
#ifndef KMT_SOURCE_TRACE_MAP_H
#define KMT_SOURCE_TRACE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct kmt_trace_map;

/*
 * Of an open trace_pipe_raw. -EOPNOTSUPP: this kernel, or this buffer, cannot be
 * mapped. The descriptor stays the caller's and may be closed.
 */
int kmt_trace_map_new(int fd, size_t page_size, struct kmt_trace_map **ret);
void kmt_trace_map_free(struct kmt_trace_map *m);
/*
 * A copy of the next page into 'page' (of page_size). 1: it is there, and
 * *ret_skip bytes at the begin of its records were read by somebody before;
 * 0: that was all; -ESTALE: it was overwritten meanwhile, go on (no error text).
 */
int kmt_trace_map_next(struct kmt_trace_map *m, void *page, uint32_t *ret_skip);

#endif
