/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside source/ only: stacks that were printed as names. Frames have addresses
 * everywhere else, so a function without one gets a made-up address, and the
 * table that says whose it is; names with addresses go into the same table.
 */
#ifndef KMT_SOURCE_FTRACE_FRAMES_H
#define KMT_SOURCE_FTRACE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/index.h"
#include "source/symbol_text.h"

struct kmt_symbols;

struct kmt_ftrace_func;

struct kmt_ftrace_frames {
	struct kmt_symbols *symbols;		/* what was seen so far; grows */
	const struct kmt_symbols *given;	/* of --kallsyms; may be NULL */
	struct kmt_ftrace_func *v;
	size_t n, cap;
	struct kmt_index index;
	struct kmt_arena names;
};

int kmt_ftrace_frames_init(struct kmt_ftrace_frames *f, const struct kmt_symbols *given);
void kmt_ftrace_frames_done(struct kmt_ftrace_frames *f);
/*
 * The return address of a frame: addr if it was printed (else 0), name if that
 * was (else NULL). -ENOSPC: more functions than a kernel has (no error text).
 */
int kmt_ftrace_frames_address(struct kmt_ftrace_frames *f, const struct kmt_symbol_text *name,
			      uint64_t addr, uint64_t *ret);

#endif
