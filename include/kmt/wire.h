/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The border between the BPF programs and user space: the only header that
 * both sides compile. Fixed-width fields only; no pointers, enums, bools or
 * bit-fields in the structs; every size is asserted. All tables are BPF
 * arrays that user space maps and reads while the programs run.
 *
 *   kmt_site_row[sites]      who allocates what: claimed once, then read-mostly
 *        ▲ index        └─── kmt_wire_cache[caches]  name and sizes
 *        │
 *   kmt_cpu[cpus]            head (clock, counters by program) and one
 *        │                   kmt_site_cpu per site: the hot counters
 *        │
 *   kmt_bucket[buckets]      live objects, three to a cache line
 *
 *   stream: one BPF ring per CPU of kmt_rec, kmt_rec_alloc, kmt_rec_overflow
 */
#ifndef KMT_WIRE_H
#define KMT_WIRE_H

#ifdef __bpf__
/* linux/types.h comes with linux/bpf.h */
#else
#include <linux/types.h>
#endif

/*
 * Of the tables and of what is counted in them: one more whenever what a reader
 * finds there means something else. Sessions of other versions are not read.
 */
#define KMT_WIRE_VERSION	1

#define KMT_WIRE_ASSERT(cond, msg) _Static_assert(cond, msg)

/* What allocated: the original's type ids, then ours. */
#define KMT_WIRE_KMALLOC	0	/* kmalloc/kfree */
#define KMT_WIRE_CACHE		1	/* kmem_cache_alloc/kmem_cache_free */
#define KMT_WIRE_PAGE		2	/* pages: addr = frame number * page size */
#define KMT_WIRE_PERCPU		3
#define KMT_WIRE_VMALLOC	4
#define KMT_WIRE_FREE_SITE	16	/* a row that counts frees by freeing site */

#define KMT_CACHE_NAME_LEN	56
#define KMT_COMM_LEN		16
#define KMT_STACK_DEPTH		40	/* frames kept per stack, the tracer's own included */

/* ---- call sites ------------------------------------------------------- */

/* What a row of the site table is: read-mostly, two cache lines. */
struct kmt_wire_site {
	__u64 key;		/* 64-bit fingerprint of (who, cache, type); 0 = empty slot */
	__u64 who;		/* call site address, stack row + 1, tgid, or cgroup: KMT_F_BY_* */
	__u64 cache;		/* struct kmem_cache *, 0 = unknown */
	__u64 call_site;	/* of the first event (differs from who for stacks and tasks) */
	__u32 bytes_alloc;	/* given bytes per object */
	__u32 bytes_req;	/* requested bytes per object, 0 = varies (kmalloc) */
	__u32 cache_row;	/* row of the cache table + 1, 0 = none */
	__u32 gfp;		/* union of the gfp flags seen */
	__u8  type;		/* KMT_WIRE_* */
	__u8  state;		/* KMT_SITE_*, written last by the claimer */
	__u8  gfp_class;	/* KMT_GFP_*: which kmalloc family; pages: migratetype */
	__u8  free_type;	/* free rows: KMT_WIRE_* of the freeing call */
	__u8  is_retired;	/* by user space: the cache was destroyed */
	__u8  pad[3];
	char  comm[KMT_COMM_LEN];	/* task at the first event */
	__u8  reserved[56];
};
KMT_WIRE_ASSERT(sizeof(struct kmt_wire_site) == 128, "wire layout");

#define KMT_SITE_NEW		0
#define KMT_SITE_READY		1
#define KMT_SITE_EXCLUDED	2	/* a filter rejects it: events are not counted */
#define KMT_SITE_GONE		3	/* a cache that was destroyed; its ptr has bit 0 set */

#define KMT_GFP_NORMAL		0
#define KMT_GFP_CGROUP		1	/* kmalloc-cg-* */
#define KMT_GFP_RECLAIM		2	/* kmalloc-rcl-* */
#define KMT_GFP_DMA		3	/* dma-kmalloc-* */

#define KMT_LIFETIME_BUCKETS	32	/* log2 of the lifetime in units of 8.192 us */

/* Counters of a site that are rare, or written by several programs: atomic. */
struct kmt_site_cold {
	__u64 failures;
	__u64 lost_objects;	/* allocations the object table had no room for */
	__u64 untraced_frees;	/* closed because the address was allocated again */
	__u64 slack_untraced;	/* given minus requested bytes of those */
	__u64 frees_other;	/* freed through another kind of call (kfree of a cache object) */
	__u64 slack_other;
	__u64 cross_cpu_other;
	__u64 temporary_other;
	__u64 slack_lost;
	__u64 rcu_given;	/* of the frees: given up to a grace period (kvfree_call_rcu) */
	__u64 rcu_ended;	/* of those: seen freed, or their address handed out again */
	__u64 spare[5];
};
KMT_WIRE_ASSERT(sizeof(struct kmt_site_cold) == 128, "wire layout");

struct kmt_site_row {
	struct kmt_wire_site id;
	struct kmt_site_cold cold;
};
KMT_WIRE_ASSERT(sizeof(struct kmt_site_row) == 256, "wire layout");

/*
 * Hot counters, one cache line per CPU and site, written without atomics: a
 * row belongs to one kind of call and so, on one CPU, to one program, which
 * the kernel never lets interrupt itself. What a second program may write
 * lives in struct kmt_site_cold.
 */
struct kmt_site_cpu {
	__u64 allocs;
	__u64 slack;		/* kmalloc: given minus requested bytes of those */
	__u64 frees;		/* frees on this CPU of this site's objects */
	__u64 slack_freed;
	__u64 cross_cpu_frees;
	__u64 temporary;	/* freed within kmt_temporary */
	__u64 spare[2];
};
KMT_WIRE_ASSERT(sizeof(struct kmt_site_cpu) == 64, "wire layout");

/* Lifetimes of a site's freed objects; atomic, sharded over the CPUs. */
struct kmt_lifetimes {
	__u64 n[KMT_LIFETIME_BUCKETS];
};

/* ---- slab caches ------------------------------------------------------ */

struct kmt_wire_cache {
	__u64 ptr;		/* struct kmem_cache *; claimed by compare-and-swap */
	__u32 object_size;
	__u32 size;
	__u8  state;		/* KMT_SITE_* */
	__u8  pad[7];
	char  name[KMT_CACHE_NAME_LEN];
	__u64 older_frees;	/* of objects that were not tracked; atomic */
	__u64 own_allocs;	/* left out, and not tracked; atomic */
	__u64 older_given;	/* of older_frees: given up to RCU, their end will not be seen; atomic */
};
KMT_WIRE_ASSERT(sizeof(struct kmt_wire_cache) == 104, "wire layout");

/* ---- live objects ----------------------------------------------------- */

#define KMT_BUCKET_WAYS	3
#define KMT_GROUP	32	/* buckets that share the objects of one 4 KiB page */

/*
 * A bucket is one cache line with everything about three objects, so that an
 * allocation or a free costs one miss here. A full bucket spills to a second
 * place; 'spilled' counts how many of this bucket's objects live elsewhere, so
 * that a look-up goes there only if it must.
 *
 * addr:  0 = free slot; bit 0 set = being filled in; else the object's address.
 * what:  bits 63..40 given minus requested bytes, 39..20 site index,
 *        19 lowest bit of the type (KMT_WIRE_*), 18 given up to a grace period
 *        of RCU, 17..8 allocating CPU, 7..0 bits 39..32 of the time of allocation
 *        (of what was given up: of that).
 * birth: bits 31..0 of that time, in units of 8.192 us (clock >> 13): good for
 *        104 days.
 *
 * An object that is given up to RCU counts as freed then, by its own site and
 * the giving one, and stays here until its memory is seen to be free.
 */
struct kmt_bucket {
	__u64 addr[KMT_BUCKET_WAYS];
	__u64 what[KMT_BUCKET_WAYS];
	__u32 birth[KMT_BUCKET_WAYS];
	__u32 spilled;
};
KMT_WIRE_ASSERT(sizeof(struct kmt_bucket) == 64, "wire layout");

/*
 * Slab objects and vmalloc areas go by their address. What the other layers
 * have could be an address too, so their keys have upper bits of their own;
 * neighbouring pages share a group. Never with bit 0 set.
 */
#define KMT_KEY_PAGE		(1ull << 60)	/* | frame number << KMT_KEY_PAGE_SHIFT */
#define KMT_KEY_PAGE_SHIFT	7
#define KMT_KEY_PERCPU		(3ull << 60)	/* | the pointer's lower 60 bits */
#define KMT_KEY_MASK		(0xfull << 60)

#define KMT_ADDR_BUSY		1ull
#define KMT_WHAT_SLACK_SHIFT	40
#define KMT_WHAT_SLACK_MAX	0xffffffull	/* more waste in one object: not tracked */
#define KMT_WHAT_SITE_SHIFT	20
#define KMT_WHAT_SITE_MASK	0xfffffu
#define KMT_WHAT_TYPE_SHIFT	19
#define KMT_WHAT_RCU		(1ull << 18)
#define KMT_WHAT_CPU_SHIFT	8
#define KMT_WHAT_CPU_MASK	0x3ffu
#define KMT_WHAT_TIME_MASK	0xffu
#define KMT_TIME_BITS		40
#define KMT_TIME_UNIT_SHIFT	13	/* 8.192 us */

/* The same where the table is one of the kernel's hash maps (bpf/objects_hash.bpf.h). */
struct kmt_hashed_object {
	__u64 what;
	__u64 birth;		/* 32 bits of it; no padding, which a map would have to be given */
};
KMT_WIRE_ASSERT(sizeof(struct kmt_hashed_object) == 16, "wire layout");

/* ---- stacks ----------------------------------------------------------- */

struct kmt_stack {
	__u64 key;		/* fingerprint; 0 = empty */
	__u32 depth;		/* frames valid; written last */
	__u32 pad;
	__u64 ip[KMT_STACK_DEPTH];	/* innermost first */
};
KMT_WIRE_ASSERT(sizeof(struct kmt_stack) == 336, "wire layout");

/* ---- counters: losses by reason and facts about the run ----------------- */

enum kmt_wire_counter {
	KMT_CNT_ALLOCS,
	KMT_CNT_FREES,			/* frees of known objects; without a table: all */
	KMT_CNT_FAILED_ALLOCS,
	KMT_CNT_FREES_UNKNOWN,		/* free of an address that is not in the table */
	KMT_CNT_NULL_FREES,		/* kfree(NULL), kfree(ZERO_SIZE_PTR): not frees */
	KMT_CNT_FILTERED,		/* rejected by a filter */
	KMT_CNT_OWN,			/* kmemtrace's own, left out */
	KMT_CNT_UNTRACED_FREES,		/* allocation at a live address */
	KMT_CNT_LOST_RING,		/* ring full: records not written */
	KMT_CNT_LOST_SITES,
	KMT_CNT_LOST_OBJECTS,
	KMT_CNT_LOST_STACKS,
	KMT_CNT_LOST_CACHES,
	KMT_CNT_OVERFLOW_RECORDS,	/* overflow records written to the stream */
	KMT_CNT_REPORTED_RING,		/* of the losses above, those told in the stream */
	KMT_CNT_REPORTED_OBJECTS,
	KMT_CNT_REPORTED_AT,		/* timer tick of the last overflow record */
	KMT_CNT_RCU_UNKNOWN,		/* given up to RCU, but not in the table */
	KMT_CNT_RUNNING,		/* 1 while the program runs: bpf/guard.bpf.h */
	KMT_CNT_RECURSION,		/* events it skipped because it was running; objects of
					   bulk allocations whose return it missed */
	KMT_CNT_FREES_NO_CACHE,		/* of those and our own, whose cache is unknown */
	KMT_CNT_MAX = 24
};

/* The programs; each counts in a row of its own, so no counter is shared on a CPU. */
enum kmt_prog {
	KMT_PROG_KMALLOC,
	KMT_PROG_KMALLOC_NODE,
	KMT_PROG_CACHE_ALLOC,
	KMT_PROG_CACHE_ALLOC_NODE,
	KMT_PROG_KFREE,
	KMT_PROG_CACHE_FREE,
	KMT_PROG_PAGE_ALLOC,
	KMT_PROG_PAGE_FREE,
	KMT_PROG_PERCPU_ALLOC,
	KMT_PROG_PERCPU_FAIL,
	KMT_PROG_PERCPU_FREE,
	KMT_PROG_VMAP_ALLOC,
	KMT_PROG_VMAP_FREE,
	KMT_PROG_BULK_ALLOC,
	KMT_PROG_BULK_FREE,
	KMT_PROG_RCU_FREE,
	KMT_PROG_MAX
};

/* What one CPU keeps: followed by one kmt_site_cpu per row of the site table. */
struct kmt_cpu {
	__u64 jiffies;		/* of the last look at the clock */
	__u64 now;		/* that look, in units of 8.192 us */
	__u64 uses;		/* events since jiffies changed, as of the last look */
	__u64 left;		/* events until the next look */
	__u64 stride;		/* events between two looks */
	__u64 pad[3];
	__u64 count[KMT_PROG_MAX][KMT_CNT_MAX];
};
KMT_WIRE_ASSERT(sizeof(struct kmt_cpu) == 3136, "wire layout");

/*
 * A call of kmem_cache_alloc_bulk() of which only the beginning was seen so far,
 * by the stack pointer after its return: no two calls have it at the same time.
 */
struct kmt_wire_bulk_call {
	__u64 cache, p, n, gfp, call_site;
};
#define KMT_BULK_CALLS	4096	/* rows of the map of them */

/* Positions of an alloc tracepoint's arguments; KMT_ARG_NONE = this kernel does not pass it. */
#define KMT_ARG_NONE	0xff
struct kmt_args {
	__u8 cache, req, alloc, gfp, node;
};

/* ---- filters: written once, before the programs are attached ------------- */

#define KMT_GLOB_LEN	62	/* positions in a glob */
#define KMT_GLOBS	16
#define KMT_RANGES	256

/*
 * A glob as a bit-parallel automaton: bit i is set while the text so far
 * matches the first i positions. One step per character, no backtracking, so
 * that the verifier has a straight line to follow.
 */
struct kmt_glob {
	__u64 star;		/* positions that are '*' */
	__u64 accept;		/* the bit behind the last position */
	__u64 match[256];	/* positions that take this character */
};

struct kmt_range {
	__u64 start, end;	/* start < return address <= end */
};

/* Address ranges of tracing and the allocators, ascending; the rest starts at ~0. */
#define KMT_FRAMES	512
struct kmt_frame_table {
	struct kmt_range range[KMT_FRAMES];
};

/* given bytes and family -> may this kmalloc bucket pass the cache filter? */
struct kmt_kmalloc_verdict {
	__u32 bytes_alloc;
	__u32 gfp_class;
};
#define KMT_VERDICTS	128

struct kmt_filter_tables {
	struct kmt_glob cache[KMT_GLOBS];
	struct kmt_glob cache_not[KMT_GLOBS];
	struct kmt_glob task[KMT_GLOBS];
	__u32 pid[KMT_GLOBS];
	__u32 n_cache, n_cache_not, n_task, n_pid;
	__u32 n_ranges, n_verdicts;
	struct kmt_range range[KMT_RANGES];
	struct kmt_kmalloc_verdict kmalloc_ok[KMT_VERDICTS];
};

/* ---- one module, from its load to its unload ----------------------------- */

#define KMT_MODULE_NAME_LEN	56
#define KMT_MODULE_LOADS	32	/* loads of one run that are remembered: the last ones */

struct kmt_wire_load {
	__u64 loaded_ns;	/* CLOCK_MONOTONIC; 0: it was there before the programs */
	__u64 unloaded_ns;	/* 0: still there */
	struct kmt_range text;
	struct kmt_range init;	/* of its init functions; end 0: it has none */
};

/*
 * Written by the programs on module_load and module_free, which the kernel
 * never runs at the same time for one name; before they are attached, by user
 * space. 'text' and 'init' are what the filter compares, as they are now.
 */
struct kmt_wire_module {
	__u64 changes;		/* loads and unloads; written last */
	__u64 loads;
	__u64 ptr;		/* struct module * while it is loaded, 0 unknown */
	struct kmt_range text;	/* end 0: it is not loaded */
	struct kmt_range init;
	struct kmt_wire_load load[KMT_MODULE_LOADS];	/* [loads % KMT_MODULE_LOADS] */
};

/*
 * Its symbols, copied while it loads: when user space hears of it, it may be
 * gone. What is too long is cut off.
 */
#define KMT_MODULE_NAMES	4	/* loads whose symbols wait for user space */
#define KMT_MODULE_SYMS		16384
#define KMT_MODULE_STRS		(512u << 10)

struct kmt_wire_sym {		/* Elf64_Sym */
	__u32 name;
	__u8  info;
	__u8  other;
	__u16 section;
	__u64 value;
	__u64 size;
};
KMT_WIRE_ASSERT(sizeof(struct kmt_wire_sym) == 24, "wire layout");

struct kmt_module_names {
	__u64 load;		/* number of the load, from 1; written last */
	__u32 sym_bytes;	/* valid of sym[] */
	__u32 str_bytes;
	struct kmt_wire_sym sym[KMT_MODULE_SYMS];
	char  str[KMT_MODULE_STRS];
};

/* ---- stream records ---------------------------------------------------- */

#define KMT_REC_ALLOC		0
#define KMT_REC_FREE		1
#define KMT_REC_OVERFLOW	2
#define KMT_REC_RCU		3	/* given up to a grace period: a struct kmt_rec as of a free */

#define KMT_REC_F_TASK		1	/* comm is valid */

/* 'size' covers the whole record: skip what you do not know. */
struct kmt_rec {
	__u16 size;
	__u8  op;		/* KMT_REC_* */
	__u8  type;		/* KMT_WIRE_* */
	__u32 pid;
	__u64 ts_ns;		/* CLOCK_MONOTONIC, read after the space was reserved */
	__u64 call_site;
	__u64 addr;
	__u64 cache;		/* struct kmem_cache * or 0; pages: migratetype, of a free the order */
};
KMT_WIRE_ASSERT(sizeof(struct kmt_rec) == 40, "wire layout");

struct kmt_rec_alloc {
	struct kmt_rec rec;
	__u64 bytes_req;
	__u64 bytes_alloc;
	__u32 gfp;
	__s32 node;		/* requested node, -1 = any */
};
KMT_WIRE_ASSERT(sizeof(struct kmt_rec_alloc) == 64, "wire layout");

/* With task name and stack asked for, this tail follows either record. */
struct kmt_rec_tail {
	char  comm[KMT_COMM_LEN];
	__u32 stack;		/* row of the stack table + 1, 0 = none */
	__u32 pad;
};
KMT_WIRE_ASSERT(sizeof(struct kmt_rec_tail) == 24, "wire layout");

/* Written before the first record that fits again; what was lost on this CPU. */
struct kmt_rec_overflow {
	__u16 size;
	__u8  op;		/* KMT_REC_OVERFLOW */
	__u8  pad;
	__u32 pad2;
	__u64 ts_ns;
	__u64 lost_ring;
	__u64 lost_objects;
};
KMT_WIRE_ASSERT(sizeof(struct kmt_rec_overflow) == 32, "wire layout");

/*
 * No helpers of the kernel's: placeholders, in place of which user space writes the call
 * of what the kernel has, or nothing, before it loads a program (source/bpf_preempt.c).
 */
#define KMT_CALL_PREEMPT_OFF	0x4b4d5401
#define KMT_CALL_PREEMPT_ON	0x4b4d5402
#define KMT_CALL_IRQ_OFF	0x4b4d5403
#define KMT_CALL_IRQ_ON		0x4b4d5404
#define KMT_CALL_TASK		0x4b4d5405	/* or NULL */

/* What the programs do; without a key flag a row is a call site. */
#define KMT_F_COUNT		(1u << 0)	/* keep site counters */
#define KMT_F_TRACK		(1u << 1)	/* keep the object table */
#define KMT_F_EMIT		(1u << 2)	/* write the stream */
#define KMT_F_TAIL		(1u << 3)	/* records carry task and stack */
#define KMT_F_STACK		(1u << 4)	/* take stacks */
#define KMT_F_BY_STACK		(1u << 5)	/* a row is a stack */
#define KMT_F_BY_TASK		(1u << 6)	/* a row is a process */
#define KMT_F_OWN_SHARD		(1u << 7)	/* every CPU has a lifetime table of its own */
/* filters; FILTER is set with any of them: frees follow their object */
#define KMT_F_FILTER		(1u << 8)
#define KMT_F_CACHE		(1u << 9)
#define KMT_F_SITE		(1u << 10)
#define KMT_F_SIZE		(1u << 11)
#define KMT_F_TASK		(1u << 12)
#define KMT_F_PID		(1u << 13)
#define KMT_F_TGID		(1u << 14)
#define KMT_F_CGROUP		(1u << 15)
#define KMT_F_GUARD		(1u << 16)	/* the kernel lets a program interrupt itself */
#define KMT_F_MODULE		(1u << 17)	/* calls from the module that is followed */
#define KMT_F_BY_CGROUP	(1u << 18)	/* a row is a cgroup (v2) */
#define KMT_F_BY_WHOM	(KMT_F_BY_TASK | KMT_F_BY_CGROUP)	/* a row has many call sites */
#define KMT_F_WHO		(KMT_F_TASK | KMT_F_PID | KMT_F_TGID | KMT_F_CGROUP)

#endif
