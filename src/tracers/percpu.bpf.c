// SPDX-License-Identifier: GPL-2.0-only
/*
 * Per-CPU memory. Sizes in the events are those of one CPU's share:
 *
 *   percpu_alloc_percpu  < 5.19  reserved atomic size align base off ptr
 *                       >= 5.19  site reserved atomic size align base off ptr bytes gfp
 *                                Linux commit f67bed134a05 (in v5.19)
 *   percpu_free_percpu           base off ptr
 *   percpu_alloc_percpu_fail     reserved atomic size align
 */
#include "bpf/account.bpf.h"
#include "bpf/caller.bpf.h"
#include "bpf/guard.bpf.h"

static __always_inline int kmt_percpu_on_alloc(void *ctx, __u64 site, __u64 size, __u64 bytes,
					       __u64 ptr, __u64 gfp, __u32 prog)
{
	struct kmt_alloc a = {
		.call_site = site ? site : kmt_caller(ctx, prog), .addr = ptr,
		.bytes_req = size * kmt_cpus, .bytes_alloc = bytes ? bytes : size * kmt_cpus,
		.gfp = gfp, .node = -1, .type = KMT_WIRE_PERCPU,
	};

	return kmt_on_alloc(ctx, &a, prog, 0, kmt_flags);
}

SEC("?raw_tp/percpu_alloc_percpu")
int kmt_percpu_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_PERCPU_ALLOC,
		    kmt_percpu_on_alloc(ctx, ctx->args[0], ctx->args[3], ctx->args[8],
					ctx->args[7], ctx->args[9], KMT_PROG_PERCPU_ALLOC));
	return 0;
}

SEC("?raw_tp/percpu_alloc_percpu")
int kmt_percpu_alloc_old(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_PERCPU_ALLOC,
		    kmt_percpu_on_alloc(ctx, 0, ctx->args[2], 0, ctx->args[6], 0,
					KMT_PROG_PERCPU_ALLOC));
	return 0;
}

SEC("?raw_tp/percpu_alloc_percpu_fail")
int kmt_percpu_fail(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_PERCPU_FAIL,
		    kmt_percpu_on_alloc(ctx, 0, ctx->args[2], 0, 0, 0, KMT_PROG_PERCPU_FAIL));
	return 0;
}

SEC("?raw_tp/percpu_free_percpu")
int kmt_percpu_free(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_PERCPU_FREE,
		    kmt_on_free(KMT_WIRE_PERCPU, KMT_PROG_PERCPU_FREE,
				kmt_caller(ctx, KMT_PROG_PERCPU_FREE), ctx->args[2], 0, kmt_flags));
	return 0;
}
