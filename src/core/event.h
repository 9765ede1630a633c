/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One allocation or free, from any source, and the interface by which sources
 * hand it on. A session, a text writer and a file writer are all sinks.
 *
 *   source ──► kmt_sink { event, lost, snapshot } ──► session / event format
 */
#ifndef KMT_CORE_EVENT_H
#define KMT_CORE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Giving up: kvfree_call_rcu() was handed the object, nobody may use it any
 * more, and its memory is given back after a grace period of RCU, by a free
 * that fires an event or by one that fires none. For whoever counts this is
 * the object's free; the free that may follow ends the wait and is no second.
 */
enum kmt_op { KMT_OP_ALLOC, KMT_OP_FREE, KMT_OP_GIVE_UP };

/* The original's type ids (kmemtrace ABI v1: 0..2), then ours. */
enum kmt_type {
	KMT_TYPE_KMALLOC = 0,
	KMT_TYPE_CACHE = 1,
	KMT_TYPE_PAGES = 2,
	KMT_TYPE_PERCPU = 3,
	KMT_TYPE_VMALLOC = 4,
};

/*
 * Pages: addr is the page frame number times the page size; order and
 * migratetype mean something for this type alone. A free may give back a part
 * of what was allocated: split blocks.
 */
#define KMT_MIGRATE_UNMOVABLE	0
#define KMT_MIGRATE_MOVABLE	1
#define KMT_MIGRATE_RECLAIMABLE	2

/* "unmovable", "movable", "reclaimable"; NULL for anything else. */
const char *kmt_migratetype_name(int migratetype);

struct kmt_event;

/*
 * The object's address and layer in one number, for sets of objects of several
 * layers: what pages and per-CPU memory have are no virtual addresses.
 */
uint64_t kmt_event_key(const struct kmt_event *ev);

/* K C P U V, '?' for anything else. */
char kmt_type_letter(unsigned type);

struct kmt_event {
	enum kmt_op op;
	uint8_t  type;		/* enum kmt_type; other values are kept as they came */
	bool	 has_time;	/* ts_ns is known (the original's text has none) */
	bool	 has_task;	/* pid and comm are known */
	bool	 cache_inferred;	/* 'cache' is a guess from size and gfp flags */
	int8_t	 order;		/* pages: 2^order of them, also of a free; -1 unknown */
	int8_t	 migratetype;	/* pages: what was asked for, KMT_MIGRATE_*; -1 unknown */
	int16_t	 node;		/* requested NUMA node, -1 any or unknown */
	int16_t	 real_node;	/* node the memory lies on, -1 unknown */
	uint32_t cpu;		/* CPU of the event */
	uint32_t pid;
	uint32_t tgid;		/* process of the thread pid, 0 unknown */
	uint32_t n_ips;
	/*
	 * Not 0: the source's number for op, type, call_site, call_site_name,
	 * cache, cache_inferred, bytes_alloc, gfp, migratetype and ips together,
	 * the same for as long as it is open, counted up from 1 (a session keeps
	 * a table by it, and saves the look-up by content).
	 */
	uint32_t shape;
	uint64_t ts_ns;		/* CLOCK_MONOTONIC of the traced machine */
	uint64_t call_site;	/* address after the call; 0 unknown */
	uint64_t addr;		/* object address; 0 on a failed allocation */
	uint64_t bytes_req;	/* 0 on free */
	uint64_t bytes_alloc;	/* 0 on free */
	uint64_t gfp;		/* raw bits of the traced kernel */
	const char *comm;	/* borrowed for the call, may be NULL */
	const char *cache;	/* borrowed for the call, NULL unknown */
	/*
	 * "func", "func+0x1c" or "func+0x1c [mod]" where the source has a name
	 * (old tables), else NULL. Goes before a look-up of call_site, which
	 * is then 0 or, found by that name, func's start + 1 (or + 0x1c). Borrowed.
	 */
	const char *call_site_name;
	const uint64_t *ips;	/* call chain, innermost first; borrowed for the call */
};

enum kmt_loss {
	KMT_LOSS_RING,		/* ring or trace buffer full */
	KMT_LOSS_SITES,		/* call-site table full */
	KMT_LOSS_OBJECTS,	/* live-object table full */
	KMT_LOSS_STACKS,
	KMT_LOSS_CACHES,
	KMT_LOSS_INPUT,		/* unreadable part of an input file */
	KMT_LOSS_BEGINNING,	/* what a recording with a ring wrote over */
	KMT_LOSS_MAX
};

/* JSON key of a reason: "lost_ring", "lost_sites", ... */
const char *kmt_loss_key(enum kmt_loss reason);
/* words for people: "ring buffer full", ... */
const char *kmt_loss_text(enum kmt_loss reason);

/* Something is missing here, and we know it: the overflow record. */
struct kmt_lost {
	enum kmt_loss reason;
	uint32_t cpu;		/* UINT32_MAX = not of one CPU */
	uint64_t events;	/* 0 = unknown number */
	uint64_t ts_ns;		/* when it was noticed, 0 unknown */
};

struct kmt_snapshot;		/* core/snapshot.h: the books kept in the kernel */

/*
 * What a source feeds. Each callback returns 0 to go on, a negative errno to
 * stop the source with that error. NULL callbacks are skipped.
 */
struct kmt_sink {
	int (*event)(void *ctx, const struct kmt_event *ev);
	int (*lost)(void *ctx, const struct kmt_lost *lost);
	int (*snapshot)(void *ctx, const struct kmt_snapshot *snap);
	/*
	 * Only a hint, from sources that know some events ahead: one about this
	 * address is coming, so what is known of it may be fetched from memory.
	 */
	void (*soon)(void *ctx, uint8_t type, uint64_t addr);
	void *ctx;
};

#endif
