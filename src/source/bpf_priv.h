/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the bpf*.c files of the BPF source; nobody else includes it. */
#ifndef KMT_SOURCE_BPF_PRIV_H
#define KMT_SOURCE_BPF_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kmt/wire.h"
#include "source/kmalloc_names.h"
#include "source/source.h"

struct kmt_gfp_names;

/* Rows of every table, decided before anything is loaded. */
struct kmt_bpf_plan {
	uint32_t cpus;		/* possible CPUs */
	uint32_t sites;		/* power of two */
	uint32_t caches;	/* power of two */
	uint32_t stacks;	/* power of two, 1 = not kept */
	uint32_t buckets;	/* multiple of KMT_GROUP, or less than one group */
	uint32_t hashed_objects;	/* entries of the hash map in their place, 0 = none */
	uint32_t shards;	/* of the lifetime table, power of two */
	uint64_t ring_bytes;	/* per online CPU, power of two; 0 = no stream */
	/* the tables' places in one map element: see bpf/maps.bpf.h */
	uint64_t cpu_stride, shard_stride;
	uint64_t at_sites, at_lifetimes, at_caches, at_stacks, at_objects, table_bytes;
	uint64_t total_bytes;	/* tables and rings together */
	/* what they would be by default: to ask for more takes nothing from the others */
	uint32_t usual_sites;
	uint64_t usual_ring_bytes;
	bool	 count, track, emit, tail;
	bool	 hashed;	/* programs and maps are those without compare-and-swap */
};

/* What the plan depends on. */
struct kmt_bpf_machine {
	uint64_t ram_bytes;
	uint32_t possible_cpus, online_cpus;
	uint64_t slab_objects;	/* active objects now, 0 unknown */
	uint32_t page_size;
	bool	 hashed;	/* BPF has no compare-and-swap: bpf/claim.bpf.h */
};

/* Pure: sizes from options and machine; -EINVAL with the limit in the text when absurd. */
int kmt_bpf_make_plan(const struct kmt_source_opts *o, const struct kmt_bpf_machine *m,
		      struct kmt_bpf_plan *ret);

/* Places from the sizes, of tables that there are already; -EINVAL without text: impossible ones. */
int kmt_bpf_plan_again(struct kmt_bpf_plan *p);
/* Memory of the table of live objects; 0: there is none. */
uint64_t kmt_bpf_plan_object_bytes(const struct kmt_bpf_plan *p);

struct kmt_bpf_ring {
	int fd;
	const uint8_t *data;	/* mapped twice in a row, so records never wrap */
	unsigned long *consumer;	/* ours to write */
	const unsigned long *producer;
	uint64_t size;
	uint64_t pos;		/* next record to hand on */
	uint64_t end;		/* producer position at the last look */
	uint64_t last_ns;	/* time of the last record handed on */
	uint32_t cpu;
};

/* The loaded programs and their mapped tables. */
struct kmt_bpf_load;

struct kmt_bpf {
	struct kmt_source src;
	struct kmt_bpf_plan plan;
	struct kmt_bpf_load *load;
	const uint8_t *tables;		/* the whole element, mapped; the rest points into it */
	const struct kmt_site_row *sites;
	const uint8_t *lifetimes;	/* plan.shard_stride bytes per shard */
	const struct kmt_bucket *objects;
	int hashed_fd;			/* the hash map in their place; borrowed */
	const struct kmt_wire_cache *caches;
	const struct kmt_stack *stacks;
	struct kmt_bpf_ring *rings;
	size_t n_rings;
	struct kmt_bpf_ring **heap;	/* rings with a record ready, by time */
	size_t n_heap;
	struct kmt_kmalloc_names *kmalloc_names;
	struct kmt_cgroups *cgroups;	/* counted by cgroup; else NULL */
	struct kmt_kmalloc_gfp kmalloc_gfp;
	struct kmt_pages *pages;	/* which frees of pages are told; NULL: all */
	uint64_t pages_left_out;
	struct kmt_source_opts opts;	/* as given; borrowed pointers */
	uint64_t start_ns, stop_ns;	/* 0 = not yet */
	bool running;
	uint64_t named_loads;		/* of the module that is followed: those whose names are known */
	bool no_module_names;
	bool no_functions;		/* the kernel refuses the programs on functions */
	char functions[80];		/* by what silent paths are seen: quality.h */
	uint64_t told[KMT_LOSS_MAX];	/* losses told to the sink so far */
	uint64_t next_tell_ns;		/* of those that no record tells */
};

/* bpf.c: 0 after that time, or as wake_fd can be read (NULL: none); -EINTR on a signal. */
int kmt_bpf_sleep(const int *wake_fd, int ms);

/* bpf_load.c: the only user of libbpf */
int kmt_bpf_load(struct kmt_bpf *b);
void kmt_bpf_unload(struct kmt_bpf *b);
int kmt_bpf_attach(struct kmt_bpf *b);
void kmt_bpf_detach(struct kmt_bpf *b);
/*
 * Runs of programs that the kernel skipped; *ret_untold: of how many programs it
 * does not say all (kmt_quality.misses_untold).
 */
uint64_t kmt_bpf_missed(const struct kmt_bpf *b, uint64_t *ret_untold);
/* Before and after the tool sleeps: while it does, no event can be its own. */
void kmt_bpf_awake(struct kmt_bpf *b, bool awake);
uint64_t kmt_bpf_follow_lost(const struct kmt_bpf *b);
/* The module that is followed, as the programs see it; theirs to write once they are attached. */
struct kmt_wire_module *kmt_bpf_module_seen(const struct kmt_bpf *b);
/* Symbols of its n-th load (from 1); -ESTALE: another load's have taken their place. */
int kmt_bpf_module_copy(const struct kmt_bpf *b, uint64_t load, struct kmt_module_names *ret);

/* bpf_module.c: a module that was loaded before the programs were attached */
int kmt_bpf_module_start(struct kmt_bpf *b);
int kmt_bpf_module_look(struct kmt_bpf *b, struct kmt_symbols **symbols,
			struct kmt_module_life *ret);

/* bpf_rings.c: one for each online CPU, put into the map of rings */
int kmt_bpf_rings_make(struct kmt_bpf *b, int map_fd);
void kmt_bpf_rings_free(struct kmt_bpf *b);

/* bpf_hashed.c: every object of the hash map; 0, cb's answer or a negative errno */
int kmt_bpf_each_hashed(const struct kmt_bpf *b,
			int (*cb)(void *ctx, uint64_t key, const struct kmt_hashed_object *o),
			void *ctx);

/* bpf_filter.c: the filter in the kernel's form; globs have fnmatch()'s meaning */
int kmt_bpf_glob_compile(const char *text, struct kmt_glob *ret);
int kmt_bpf_filter_tables(const struct kmt_source_opts *o, struct kmt_filter_tables *t);

/* bpf_tables.c */
uint64_t kmt_bpf_count(const struct kmt_bpf *b, enum kmt_wire_counter c);
/* All allocations and frees seen; frees of objects that are not in the table apart. */
void kmt_bpf_totals(const struct kmt_bpf *b, uint64_t *ret_allocs, uint64_t *ret_frees);
uint64_t kmt_bpf_lost_caches(const struct kmt_bpf *b);
const struct kmt_wire_cache *kmt_bpf_cache(const struct kmt_bpf *b, uint64_t ptr);
int kmt_bpf_snapshot(struct kmt_bpf *b, const struct kmt_sink *sink);
/* Where the tables lie in the mapped element. */
void kmt_bpf_place_tables(struct kmt_bpf *b);
/* All that the tables say; not what the kernel counts of programs. */
void kmt_bpf_quality(const struct kmt_bpf *b, struct kmt_quality *q);

/* bpf_ring.c: merge the rings; number of records or negative errno */
int kmt_bpf_drain(struct kmt_bpf *b, const struct kmt_sink *sink, bool final);

uint64_t kmt_monotonic_ns(void);

#endif
