/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which functions only hand memory on: tracing itself and the allocators. Page
 * and vmalloc events name no call site; it is the first frame behind these.
 */
#ifndef KMT_SYMBOL_FRAMES_H
#define KMT_SYMBOL_FRAMES_H

#include <stdbool.h>

/*
 * True for a function of the tracer or an allocator. What compilers and the
 * kernel's profiling append (".part.0", "_noprof") does not count.
 */
bool kmt_frame_is_allocator(const char *name);

#endif
