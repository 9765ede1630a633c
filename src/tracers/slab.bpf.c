// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slab events through raw tracepoints. The argument lists changed over time;
 * user space looks them up in BTF (btf_trace_<event>) and sets the positions:
 *
 *   kmalloc           <= 5.19  site ptr req alloc gfp
 *                        6.0   site ptr s req alloc gfp
 *                     >= 6.1   site ptr req alloc gfp node
 *   kmem_cache_alloc  <= 5.19  as kmalloc      6.0 as kmalloc
 *                     >= 6.1   site ptr s gfp node
 *   *_node            <= 6.0   as the plain event, node last; gone in 6.1:
 *                     Linux commit 11e9734bcb6a "mm/slab_common: unify NUMA
 *                     and UMA version of tracepoints" (in v6.1)
 *   kmem_cache_free   <  5.12  site ptr        < 6.1 site ptr name
 *                     >= 6.1   site ptr s
 */
#include "bpf/account.bpf.h"
#include "bpf/guard.bpf.h"

const volatile struct kmt_args kmt_args_kmalloc = { KMT_ARG_NONE, 2, 3, 4, 5 };
const volatile struct kmt_args kmt_args_kmalloc_node = { KMT_ARG_NONE, 2, 3, 4, 5 };
const volatile struct kmt_args kmt_args_cache = { 2, KMT_ARG_NONE, KMT_ARG_NONE, 3, 4 };
const volatile struct kmt_args kmt_args_cache_node = { KMT_ARG_NONE, 2, 3, 4, 5 };
const volatile __u8 kmt_arg_free_cache = KMT_ARG_NONE;	/* struct kmem_cache * of kmem_cache_free */

/*
 * The knob is a constant to the verifier, which allows only constant offsets
 * into the context; in plain C the compiler joins the cases into one computed
 * pointer, which it refuses.
 */
#define KMT_LOAD_ARG(dst, ctx, n)						\
	asm volatile("%0 = *(u64 *)(%1 + " #n " * 8)" : "=r"(dst) : "r"(ctx))

static __always_inline __u64 kmt_arg(struct bpf_raw_tracepoint_args *ctx, __u8 n)
{
	__u64 v = 0;

	if (n == 2)
		KMT_LOAD_ARG(v, ctx, 2);
	else if (n == 3)
		KMT_LOAD_ARG(v, ctx, 3);
	else if (n == 4)
		KMT_LOAD_ARG(v, ctx, 4);
	else if (n == 5)
		KMT_LOAD_ARG(v, ctx, 5);
	else if (n == 6)
		KMT_LOAD_ARG(v, ctx, 6);
	return v;
}

static __always_inline int kmt_slab_alloc(struct bpf_raw_tracepoint_args *ctx,
					  const volatile struct kmt_args *at, __u32 type,
					  __u32 prog, __u32 ask_cache)
{
	struct kmt_alloc a = {
		.call_site = ctx->args[0],
		.addr = ctx->args[1],
		.cache = at->cache != KMT_ARG_NONE ? kmt_arg(ctx, at->cache) : 0,
		.bytes_req = kmt_arg(ctx, at->req),
		.bytes_alloc = kmt_arg(ctx, at->alloc),
		.gfp = kmt_arg(ctx, at->gfp),
		.node = at->node != KMT_ARG_NONE ? (__s32)kmt_arg(ctx, at->node) : -1,
		.type = type,
	};

	/* one site may allocate from several caches of one size */
	if (type == KMT_WIRE_CACHE && at->cache == KMT_ARG_NONE && a.addr)
		a.cache = kmt_page_cache(a.addr, a.bytes_alloc);
	return kmt_on_alloc(ctx, &a, prog, ask_cache, kmt_flags);
}

/* ---- general programs: any kernel, any option ---- */

SEC("?raw_tp/kmalloc")
int kmt_kmalloc(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_KMALLOC,
		    kmt_slab_alloc(ctx, &kmt_args_kmalloc, KMT_WIRE_KMALLOC, KMT_PROG_KMALLOC, 0));
	return 0;
}

/* Loaded in place of the one above where the kernel can tell an address's cache. */
SEC("?raw_tp/kmalloc")
int kmt_kmalloc_cache(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_KMALLOC,
		    kmt_slab_alloc(ctx, &kmt_args_kmalloc, KMT_WIRE_KMALLOC, KMT_PROG_KMALLOC, 1));
	return 0;
}

SEC("?raw_tp/kmalloc_node")
int kmt_kmalloc_node(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_KMALLOC_NODE,
		    kmt_slab_alloc(ctx, &kmt_args_kmalloc_node, KMT_WIRE_KMALLOC,
				   KMT_PROG_KMALLOC_NODE, 0));
	return 0;
}

SEC("?raw_tp/kmem_cache_alloc")
int kmt_cache_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_CACHE_ALLOC,
		    kmt_slab_alloc(ctx, &kmt_args_cache, KMT_WIRE_CACHE, KMT_PROG_CACHE_ALLOC, 0));
	return 0;
}

SEC("?raw_tp/kmem_cache_alloc_node")
int kmt_cache_alloc_node(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_CACHE_ALLOC_NODE,
		    kmt_slab_alloc(ctx, &kmt_args_cache_node, KMT_WIRE_CACHE,
				   KMT_PROG_CACHE_ALLOC_NODE, 0));
	return 0;
}

SEC("?raw_tp/kfree")
int kmt_kfree(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_KFREE,
		    kmt_on_free(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, ctx->args[0], ctx->args[1], 0,
				kmt_flags));
	return 0;
}

/* As kmt_kmalloc_cache: asks for the cache of an object older than the trace. */
SEC("?raw_tp/kfree")
int kmt_kfree_cache(struct bpf_raw_tracepoint_args *ctx)
{
	KMT_GUARDED(KMT_PROG_KFREE,
		    kmt_on_free_of(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, ctx->args[0], ctx->args[1],
				   0, 1, kmt_flags));
	return 0;
}

SEC("?raw_tp/kmem_cache_free")
int kmt_cache_free(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 cache = 0;

	if (kmt_arg_free_cache == 2)
		cache = ctx->args[2];
	KMT_GUARDED(KMT_PROG_CACHE_FREE,
		    kmt_on_free(KMT_WIRE_CACHE, KMT_PROG_CACHE_FREE, ctx->args[0], ctx->args[1],
				cache, kmt_flags));
	return 0;
}

/*
 * ---- fast programs: the argument lists of 6.1 and later, no filter ----
 *
 * The same code with what to do known to the compiler. Half the instructions
 * and loads of the general programs; user space takes them where they fit.
 */
#define KMT_FAST_KMALLOC(name, ask_cache, flags)				\
static __always_inline int name##_body(struct bpf_raw_tracepoint_args *ctx)	\
{										\
	struct kmt_alloc a = {							\
		.call_site = ctx->args[0], .addr = ctx->args[1],		\
		.bytes_req = ctx->args[2], .bytes_alloc = ctx->args[3],		\
		.gfp = ctx->args[4], .node = ctx->args[5],			\
		.type = KMT_WIRE_KMALLOC,					\
	};									\
										\
	return kmt_on_alloc(ctx, &a, KMT_PROG_KMALLOC, ask_cache, flags);	\
}										\
										\
SEC("?raw_tp/kmalloc")								\
int name(struct bpf_raw_tracepoint_args *ctx)					\
{										\
	KMT_WHOLE(name##_body(ctx));						\
	return 0;								\
}

#define KMT_FAST_CACHE_ALLOC(name, flags)					\
static __always_inline int name##_body(struct bpf_raw_tracepoint_args *ctx)	\
{										\
	struct kmt_alloc a = {							\
		.call_site = ctx->args[0], .addr = ctx->args[1],		\
		.cache = ctx->args[2], .gfp = ctx->args[3], .node = ctx->args[4], \
		.type = KMT_WIRE_CACHE,						\
	};									\
										\
	return kmt_on_alloc(ctx, &a, KMT_PROG_CACHE_ALLOC, 0, flags);		\
}										\
										\
SEC("?raw_tp/kmem_cache_alloc")							\
int name(struct bpf_raw_tracepoint_args *ctx)					\
{										\
	KMT_WHOLE(name##_body(ctx));						\
	return 0;								\
}

#define KMT_FAST_PROGRAMS(mode, flags)						\
KMT_FAST_KMALLOC(kmt_kmalloc_##mode, 0, flags)					\
KMT_FAST_KMALLOC(kmt_kmalloc_cache_##mode, 1, flags)				\
KMT_FAST_CACHE_ALLOC(kmt_cache_alloc_##mode, flags)				\
										\
SEC("?raw_tp/kfree")								\
int kmt_kfree_##mode(struct bpf_raw_tracepoint_args *ctx)			\
{										\
	KMT_WHOLE(kmt_on_free(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, ctx->args[0],	\
			      ctx->args[1], 0, flags));				\
	return 0;								\
}										\
										\
SEC("?raw_tp/kfree")								\
int kmt_kfree_cache_##mode(struct bpf_raw_tracepoint_args *ctx)			\
{										\
	KMT_WHOLE(kmt_on_free_of(KMT_WIRE_KMALLOC, KMT_PROG_KFREE, ctx->args[0], \
				 ctx->args[1], 0, 1, flags));			\
	return 0;								\
}										\
										\
SEC("?raw_tp/kmem_cache_free")							\
int kmt_cache_free_##mode(struct bpf_raw_tracepoint_args *ctx)			\
{										\
	KMT_WHOLE(kmt_on_free(KMT_WIRE_CACHE, KMT_PROG_CACHE_FREE, ctx->args[0], \
			      ctx->args[1], ctx->args[2], flags));		\
	return 0;								\
}

KMT_FAST_PROGRAMS(count, KMT_F_COUNT)
KMT_FAST_PROGRAMS(track, KMT_F_COUNT | KMT_F_TRACK)
KMT_FAST_PROGRAMS(emit, KMT_F_EMIT)
KMT_FAST_PROGRAMS(record, KMT_F_COUNT | KMT_F_EMIT | KMT_F_TAIL)
