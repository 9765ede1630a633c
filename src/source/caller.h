/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The call site of an event that names none (pages, vmalloc, percpu before
 * 5.19), out of its stack:
 *
 *   tracing | allocator ... | first other frame = call site | its callers
 */
#ifndef KMT_SOURCE_CALLER_H
#define KMT_SOURCE_CALLER_H

#include <stdbool.h>
#include <stddef.h>

#include "source/addrset.h"

struct kmt_event;
struct kmt_symbols;

struct kmt_caller {
	const struct kmt_symbols *symbols;	/* borrowed; NULL: nothing can be found */
	struct kmt_addrset yes, no;		/* frames that were looked up */
};

void kmt_caller_init(struct kmt_caller *c, const struct kmt_symbols *symbols);
void kmt_caller_done(struct kmt_caller *c);

/*
 * Where ev->call_site is 0 and there are frames: set it, and let ev->ips begin
 * there. The event is left alone where all frames are the allocator's.
 */
void kmt_caller_fill(struct kmt_caller *c, struct kmt_event *ev);

#endif
