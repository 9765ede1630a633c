// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages of the buddy allocator. The arguments have been the same since 2.6.32:
 *
 *   mm_page_alloc	struct page *, order, gfp, migratetype
 *   mm_page_free	struct page *, order	(mm_page_free_direct before 3.3)
 *
 * mm_page_free_batched comes in addition to mm_page_free and is left alone.
 */
#include "bpf/account.bpf.h"
#include "bpf/caller.bpf.h"
#include "bpf/guard.bpf.h"

const volatile __u32 kmt_page_flags = 0;	/* KMT_F_*: what these programs do */
const volatile __u64 kmt_page_skip = 0;		/* gfp bits of pages that are left out */
/* frame number = (page & mask) / size of a struct page */
const volatile __u64 kmt_page_mask = ~0ull;

#define KMT_PAGE_ORDER_MAX 30

static __always_inline __u64 kmt_page_addr(__u64 page)
{
	return page ? (page & kmt_page_mask) / kmt_page_struct << kmt_page_shift : 0;
}

static __always_inline int kmt_page_new(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 order = ctx->args[1] < KMT_PAGE_ORDER_MAX ? ctx->args[1] : KMT_PAGE_ORDER_MAX;
	struct kmt_alloc a = {
		.addr = kmt_page_addr(ctx->args[0]),
		.bytes_req = 1ull << (kmt_page_shift + order),
		.bytes_alloc = 1ull << (kmt_page_shift + order),
		.gfp = ctx->args[2], .migratetype = ctx->args[3], .node = -1,
		.type = KMT_WIRE_PAGE,
	};

	if (a.gfp & kmt_page_skip) {
		struct kmt_cpu *c = kmt_cpu_at(kmt_base(), bpf_get_smp_processor_id());

		if (c)
			c->count[KMT_PROG_PAGE_ALLOC][KMT_CNT_FILTERED]++;
		return 0;
	}
	a.call_site = kmt_caller(ctx, KMT_PROG_PAGE_ALLOC);
	return kmt_on_alloc(ctx, &a, KMT_PROG_PAGE_ALLOC, 0, kmt_page_flags);
}

SEC("?raw_tp/mm_page_alloc")
int kmt_page_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_PAGE_ALLOC, kmt_page_new(ctx));
	return 0;
}

/*
 * In a stream every free goes out: it may give back a part of a block, which
 * only user space can tell (source/pages.h), also whether it was left out.
 */
static __always_inline int kmt_page_emit_free(__u64 call_site, __u64 addr, __u64 order)
{
	__u32 cpu = bpf_get_smp_processor_id();
	void *base = kmt_base();
	struct kmt_cpu *c;
	__u64 *count;

	c = kmt_cpu_at(base, cpu);
	if (!c)
		return 0;
	count = c->count[KMT_PROG_PAGE_FREE];
	if (kmt_page_flags & KMT_F_COUNT)
		kmt_count_free_site(base, c, count, call_site, KMT_WIRE_PAGE);
	else
		count[KMT_CNT_FREES]++;
	kmt_emit_free(kmt_page_flags, cpu, count, KMT_WIRE_PAGE, call_site, addr, order);
	return 0;
}

static __always_inline int kmt_page_gone(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 addr = kmt_page_addr(ctx->args[0]), order = (__u32)ctx->args[1];
	__u64 call_site = kmt_caller(ctx, KMT_PROG_PAGE_FREE);

	if (kmt_page_flags & KMT_F_EMIT)
		return kmt_page_emit_free(call_site, addr, order);
	return kmt_on_free(KMT_WIRE_PAGE, KMT_PROG_PAGE_FREE, call_site, addr, 0, kmt_page_flags);
}

SEC("?raw_tp/mm_page_free")
int kmt_page_free(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_PAGE_FREE, kmt_page_gone(ctx));
	return 0;
}
