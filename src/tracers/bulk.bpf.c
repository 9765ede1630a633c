// SPDX-License-Identifier: GPL-2.0-only
/*
 * What fires no slab event, seen where functions can be attached to:
 *
 *   kmem_cache_alloc_bulk	s gfp n p, returns how many; bool instead of int
 *				in 7.x. Named _noprof since Linux commit
 *				7bd230a26648 "mm/slab: enable slab allocation
 *				tagging for kmalloc and friends" (in v6.10)
 *   kmem_cache_free_bulk	s n p; kfree_bulk() is this with s = NULL
 *   kvfree_call_rcu		head func: the object begins func bytes before head,
 *				or head is NULL and func the object (up to 6.1);
 *				later: head ptr
 *   kmem_cache_destroy		s: what is in the cache ends with it
 *
 * By fentry and fexit, which cost less, where they may ask for arguments by
 * number: Linux commit f92c1e183604 "bpf: Add get_func_[arg|ret|arg_cnt]
 * helpers" (in v5.17), for the verifier lets no program read a 'void **' from
 * its context. By kprobes else.
 *
 * Left alone: sheaves being filled, flushed and handed around
 * (kmem_cache_prefill_sheaf() and the like), for these are no allocations and
 * what is taken from a sheaf fires an event; kmalloc_nolock() and
 * kfree_nolock(), silent both, of BPF's own objects; mempools, page pools and the
 * networks' lists of packets, whose objects stay allocated while they lie there. The allocator's own bulk
 * functions (__kmem_cache_alloc_bulk() and the like) move free objects.
 */
#include <linux/ptrace.h>
#include "bpf/bulk.bpf.h"
#include "bpf/guard.bpf.h"
#include <bpf/bpf_tracing.h>

const volatile __u8 kmt_bulk_bool = 0;	/* kmem_cache_alloc_bulk() returns a bool */
const volatile __u8 kmt_rcu_func = 0;	/* kvfree_call_rcu() is given a function */

static __always_inline __u64 kmt_given_up(__u64 head, __u64 arg)
{
	return kmt_rcu_func && head ? head - arg : arg;
}

static __always_inline __u32 kmt_bulk_got(__u64 ret, __u64 n)
{
	if (kmt_bulk_bool)
		return ret & 0xff ? n : 0;
	return (__s32)ret > 0 ? (__u32)ret : 0;
}

/* ---- fentry, fexit ---- */

#define KMT_CALLER_FRAMES 8

/*
 * Who called the function this program is attached to. Before it in the stack
 * stand this program and its trampoline, then a place within its first bytes.
 */
static __always_inline __u64 kmt_func_caller(void *ctx)
{
	__u64 ip[KMT_CALLER_FRAMES] = { 0 }, func = bpf_get_func_ip(ctx);
	long len = bpf_get_stack(ctx, ip, sizeof(ip), 0);

#pragma unroll
	for (int i = 0; i < KMT_CALLER_FRAMES - 1; i++)
		if (len >= (i + 2) * 8 && ip[i] - func <= 32)
			return ip[i + 1];
	return 0;
}

static __always_inline __u64 kmt_func_arg(void *ctx, __u32 n)
{
	__u64 v = 0;

	bpf_get_func_arg(ctx, n, &v);
	return v;
}

static __always_inline int kmt_bulk_alloc_done(void *ctx)
{
	__u64 n = kmt_func_arg(ctx, 2), ret = 0;
	struct kmt_alloc a = {
		.call_site = kmt_func_caller(ctx), .cache = kmt_func_arg(ctx, 0),
		.gfp = (__u32)kmt_func_arg(ctx, 1),
	};

	bpf_get_func_ret(ctx, &ret);
	return n ? kmt_on_bulk_alloc(ctx, &a, (const __u64 *)kmt_func_arg(ctx, 3),
				     kmt_bulk_got(ret, n), 1) : 0;
}

SEC("?fexit/kmem_cache_alloc_bulk")
int kmt_bulk_alloc_fexit(void *ctx)
{
	KMT_WHOLE(kmt_bulk_alloc_done(ctx));
	return 0;
}

SEC("?fentry/kmem_cache_free_bulk")
int kmt_bulk_free_fentry(void *ctx)
{
	KMT_WHOLE(kmt_on_bulk_free(kmt_func_caller(ctx), kmt_func_arg(ctx, 0),
				(const __u64 *)kmt_func_arg(ctx, 2), kmt_func_arg(ctx, 1), 1, 0));
	return 0;
}

/* Loaded in place of the one above where the kernel can tell an address's cache. */
SEC("?fentry/kmem_cache_free_bulk")
int kmt_bulk_free_fentry_cache(void *ctx)
{
	KMT_WHOLE(kmt_on_bulk_free(kmt_func_caller(ctx), kmt_func_arg(ctx, 0),
				(const __u64 *)kmt_func_arg(ctx, 2), kmt_func_arg(ctx, 1), 1, 1));
	return 0;
}

SEC("?fentry/kvfree_call_rcu")
int kmt_give_up_fentry(void *ctx)
{
	KMT_WHOLE(kmt_on_give_up(kmt_func_caller(ctx),
			      kmt_given_up(kmt_func_arg(ctx, 0), kmt_func_arg(ctx, 1)), 0));
	return 0;
}

SEC("?fentry/kvfree_call_rcu")
int kmt_give_up_fentry_cache(void *ctx)
{
	KMT_WHOLE(kmt_on_give_up(kmt_func_caller(ctx),
			      kmt_given_up(kmt_func_arg(ctx, 0), kmt_func_arg(ctx, 1)), 1));
	return 0;
}

/* ---- kprobes ---- */

struct kmt_map_bulk_calls {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KMT_BULK_CALLS);
	__type(key, __u64);
	__type(value, struct kmt_wire_bulk_call);
};

struct kmt_map_bulk_calls kmt_bulk_calls SEC(".maps");

#ifdef __TARGET_ARCH_x86
#define KMT_SP_AFTER(regs)	(PT_REGS_SP(regs) + 8)	/* the return address is on the stack */
#else
#define KMT_SP_AFTER(regs)	PT_REGS_SP(regs)
#endif

static __always_inline __u64 kmt_probe_caller(struct pt_regs *ctx)
{
	__u64 ip = 0;

	BPF_KPROBE_READ_RET_IP(ip, ctx);
	return ip;
}

/*
 * The kernel has room for a number of calls only that are on their way to a
 * return probe (10, or two for each CPU), which perf_event_open() cannot raise,
 * and counts what it misses for itself alone (rp->nmissed). It is found here:
 * one whose place on the stack is another call's by now has returned unseen.
 */
SEC("?kprobe")
int kmt_bulk_alloc_entry(struct pt_regs *ctx)
{
	__u64 sp = KMT_SP_AFTER(ctx);
	struct kmt_wire_bulk_call call = {
		.cache = PT_REGS_PARM1(ctx), .gfp = (__u32)PT_REGS_PARM2(ctx),
		.n = PT_REGS_PARM3(ctx), .p = PT_REGS_PARM4(ctx),
		.call_site = kmt_probe_caller(ctx),
	};
	struct kmt_wire_bulk_call *missed = bpf_map_lookup_elem(&kmt_bulk_calls, &sp);

	if (missed)
		kmt_bulk_missed(missed->n);
	if (call.n)	/* a full map: its return counts it */
		bpf_map_update_elem(&kmt_bulk_calls, &sp, &call, BPF_ANY);
	else if (missed)
		bpf_map_delete_elem(&kmt_bulk_calls, &sp);
	return 0;
}

SEC("?kretprobe")
int kmt_bulk_alloc_kprobe(struct pt_regs *ctx)
{
	__u64 sp = PT_REGS_SP(ctx), p, n;
	struct kmt_wire_bulk_call *call = bpf_map_lookup_elem(&kmt_bulk_calls, &sp);
	struct kmt_alloc a = { 0 };

	if (!call) {	/* how many it was given a bool does not tell: one at least */
		kmt_bulk_missed(kmt_bulk_got(PT_REGS_RC(ctx), 1));
		return 0;
	}
	a.call_site = call->call_site;
	a.cache = call->cache;
	a.gfp = call->gfp;
	p = call->p;
	n = call->n;
	bpf_map_delete_elem(&kmt_bulk_calls, &sp);
	return kmt_on_bulk_alloc(ctx, &a, (const __u64 *)p, kmt_bulk_got(PT_REGS_RC(ctx), n), 0);
}

SEC("?kprobe")
int kmt_bulk_free_kprobe(struct pt_regs *ctx)
{
	return kmt_on_bulk_free(kmt_probe_caller(ctx), PT_REGS_PARM1(ctx),
				(const __u64 *)PT_REGS_PARM3(ctx), PT_REGS_PARM2(ctx), 0, 0);
}

SEC("?kprobe")
int kmt_bulk_free_kprobe_cache(struct pt_regs *ctx)
{
	return kmt_on_bulk_free(kmt_probe_caller(ctx), PT_REGS_PARM1(ctx),
				(const __u64 *)PT_REGS_PARM3(ctx), PT_REGS_PARM2(ctx), 0, 1);
}

SEC("?kprobe")
int kmt_give_up_kprobe(struct pt_regs *ctx)
{
	return kmt_on_give_up(kmt_probe_caller(ctx),
			      kmt_given_up(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx)), 0);
}

SEC("?kprobe")
int kmt_give_up_kprobe_cache(struct pt_regs *ctx)
{
	return kmt_on_give_up(kmt_probe_caller(ctx),
			      kmt_given_up(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx)), 1);
}

/* ---- the end of a cache ---- */

/* Counted, with or without tracer bulk; without it a cache's books stay open. */
SEC("?fentry/kmem_cache_destroy")
int kmt_cache_destroy_fentry(void *ctx)
{
	KMT_WHOLE(kmt_cache_gone(kmt_func_arg(ctx, 0)));
	return 0;
}

SEC("?kprobe")
int kmt_cache_destroy_kprobe(struct pt_regs *ctx)
{
	return kmt_cache_gone(PT_REGS_PARM1(ctx));
}
