// SPDX-License-Identifier: GPL-2.0-only
/*
 * Areas of the kernel's address space. A free is told when the area is given
 * up; its address is used again only after a purge, some time later.
 *
 *   alloc_vmap_area		addr size align vstart vend failed
 *   free_vmap_area_noflush	va_start nr_lazy nr_lazy_max
 */
#include "bpf/account.bpf.h"
#include "bpf/caller.bpf.h"
#include "bpf/guard.bpf.h"

static __always_inline int kmt_vmap_new(struct bpf_raw_tracepoint_args *ctx)
{
	struct kmt_alloc a = {
		.call_site = kmt_caller(ctx, KMT_PROG_VMAP_ALLOC),
		.addr = (__u32)ctx->args[5] ? 0 : ctx->args[0],
		.bytes_req = ctx->args[1], .bytes_alloc = ctx->args[1], .node = -1,
		.type = KMT_WIRE_VMALLOC,
	};

	return kmt_on_alloc(ctx, &a, KMT_PROG_VMAP_ALLOC, 0, kmt_flags);
}

SEC("?raw_tp/alloc_vmap_area")
int kmt_vmap_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_VMAP_ALLOC, kmt_vmap_new(ctx));
	return 0;
}

SEC("?raw_tp/free_vmap_area_noflush")
int kmt_vmap_free(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_VMAP_FREE,
		    kmt_on_free(KMT_WIRE_VMALLOC, KMT_PROG_VMAP_FREE,
				kmt_caller(ctx, KMT_PROG_VMAP_FREE), ctx->args[0], 0, kmt_flags));
	return 0;
}
