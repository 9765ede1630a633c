/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which functions only hand memory on: tracing itself and the allocators. Page
 * and vmalloc events name no call site; it is the first frame behind these.
 */
#ifndef KMT_SYMBOL_FRAMES_H
#define KMT_SYMBOL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

struct kmt_symbols;

/*
 * True for a function of the tracer or an allocator. What compilers and the
 * kernel's profiling append (".part.0", "_noprof") does not count.
 */
bool kmt_frame_is_allocator(const char *name);

/*
 * Where a stack of n frames begins, what the tracer and the allocator add left out: the
 * frame that is the event's call site; else the first whose name is not one of theirs.
 */
uint32_t kmt_frames_first(const struct kmt_symbols *s, uint64_t call_site, const uint64_t *ips,
			  uint32_t n);

#endif
