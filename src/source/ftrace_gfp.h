/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside source/ only: gfp flags that were printed by name, of a kernel whose
 * bits nobody wrote down.
 *
 * Each name gets bits here: a single flag one of its own, a composite a mark of
 * its own besides its parts, so that "GFP_NOWAIT|__GFP_NOWARN" comes out as it
 * went in although later kernels have both in GFP_NOWAIT. The low 32 bits are
 * single flags where v6.10 has them.
 */
#ifndef KMT_SOURCE_FTRACE_GFP_H
#define KMT_SOURCE_FTRACE_GFP_H

#include <stdbool.h>
#include <stdint.h>

#include "source/words.h"

struct kmt_gfp_names;

struct kmt_ftrace_gfp {
	uint64_t bits;		/* is_named: in this numbering; else the kernel's own number */
	uint64_t number;
	bool is_named;
	bool is_old;		/* spelled as before v4.6: "GFP_ZERO" */
};

/* The names of this numbering; owned by the caller. */
int kmt_ftrace_gfp_names(bool old, struct kmt_gfp_names **ret);
/* "GFP_KERNEL|__GFP_ZERO", "none", "0xcc0", "GFP_KERNEL|0x4000000". False: no such text. */
bool kmt_ftrace_gfp_parse(struct kmt_word w, struct kmt_ftrace_gfp *ret);

#endif
