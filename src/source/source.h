/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SOURCE_SOURCE_H
#define KMT_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/event.h"
#include "core/facts.h"
#include "core/filter.h"
#include "core/quality.h"

struct btf;
struct kmt_gfp_names;
struct kmt_module_life;
struct kmt_symbols;
struct kmt_slabs;

enum kmt_mode { KMT_MODE_COUNTED, KMT_MODE_STREAMED };
enum kmt_key { KMT_BY_SITE, KMT_BY_STACK, KMT_BY_TASK, KMT_BY_CGROUP, KMT_BY_MAX };

struct kmt_source_opts {
	enum kmt_mode mode;
	enum kmt_key key;		/* counted mode: what a row of the site table is; cgroups: only there */
	const char *path;		/* file sources: what to read ("-" = standard input) */
	const struct kmt_filter *filter;	/* may be NULL */
	const struct kmt_symbols *symbols;	/* may be NULL: site filters then fail */
	const struct kmt_slabs *slabs;		/* may be NULL: no aliases */
	const struct kmt_gfp_names *gfp_names;	/* the running kernel's; may be NULL */
	const struct btf *btf;		/* its types, borrowed until open() is back; may be NULL */
	uint64_t sites;			/* rows of the call-site table, 0 = default 16384 */
	uint64_t objects;		/* rows of the object table, 0 = from the slab population */
	uint64_t objects_bytes;		/* the same as memory; 0 = not asked that way */
	/*
	 * Do not track objects at all, but for a filtered stream, whose frees
	 * follow them. A stream then has no cache with kfree().
	 */
	bool	 no_objects;
	uint64_t ring_bytes;		/* per CPU, 0 = default */
	uint64_t temporary_ns;		/* freed sooner than this = temporary, 0 = 1 ms */
	bool	 want_task;		/* comm in every event */
	bool	 want_stacks;
	bool	 want_cache;		/* cache name of kmalloc events too */
	bool	 want_real_node;
	bool	 force_objects;		/* streamed: keep the object table although no filter needs it */
	bool	 books;			/* streamed: as counted besides, where the source can: snapshot() */
	bool	 hash_maps;		/* as on a kernel whose BPF cannot compare and swap */
	bool	 own;			/* do not leave kmemtrace's own events out */
	bool	 realtime;		/* reader at SCHED_FIFO where allowed */
	bool	 threads;		/* others of ours work while poll() sleeps */
	/*
	 * A file descriptor, borrowed: poll() may come back early when it can be read.
	 * For screens, which have keys to answer while nothing happens. NULL: none.
	 */
	const int *wake_fd;
	bool	 kept;			/* what is attached must be able to outlive us: kept.h */
	uint32_t tracers;		/* set of KMT_TRACER_BIT(); 0 = kmt_tracers_default() */
	bool	 must_bulk;		/* no source without that tracer */
	bool	 user_pages;		/* pages of user memory and page cache too */
	/*
	 * tracefs: no trace of its own, but what lies in a buffer already, that of
	 * an instance or the top-level one (""). It is looked at and left as it is,
	 * or taken out with 'consume'. Ends like a file. NULL: a trace.
	 */
	const char *buffer;
	bool	 consume;
};

struct kmt_source;

/* A place events come from: one file, one row in sources.def. */
struct kmt_source_ops {
	const char *name;	/* "bpf", "tracefs", "legacy" */
	const char *help;
	bool live;		/* traces this machine; else reads opts->path */
	bool late_symbols;	/* a file source whose facts()->symbols grow as it is read */
	bool counted;		/* can keep the books in the kernel (snapshot()) */
	/* file sources: do the first bytes look like ours? Reads nothing itself. */
	bool (*detect)(const void *head, size_t len);
	/*
	 * Acquire everything, start nothing. On error nothing is left behind,
	 * in the kernel or here, and kmt_err_text() has the cause.
	 */
	int (*open)(const struct kmt_source_opts *opts, struct kmt_source **ret);
	/*
	 * Switch the events on, frees first; also again, after a stop() and a poll()
	 * that found nothing. NULL for files.
	 */
	int (*start)(struct kmt_source *src);
	/*
	 * Hand on what is there; wait at most timeout_ms for it. Returns the
	 * number of events, -ENODATA at the end of a file, -EINTR on a signal,
	 * or the sink's error.
	 */
	int (*poll)(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms);
	/* Switch the events off; what is still buffered can be polled. */
	int (*stop)(struct kmt_source *src);
	/* counted: hand the current books to sink->snapshot. Works while running. */
	int (*snapshot)(struct kmt_source *src, const struct kmt_sink *sink);
	/*
	 * What became so far of the module that the filter follows; -ENOENT:
	 * none is. Its symbols, as they come to be known, are taken into *symbols,
	 * which is made if it is NULL. NULL: this source cannot follow one.
	 */
	int (*module)(struct kmt_source *src, struct kmt_symbols **symbols,
		      struct kmt_module_life *ret);
	/* Fill in what this source knows (source, losses, misses, ...). */
	void (*quality)(struct kmt_source *src, struct kmt_quality *q);
	/*
	 * File sources: what the recording says about its machine. Complete for
	 * what lies before the first event once open() is back; the end of the
	 * run, with slabs_end, is known when poll() has said -ENODATA. NULL:
	 * nothing is known.
	 */
	const struct kmt_facts *(*facts)(struct kmt_source *src);
	/* Release everything, also in the kernel; NULL allowed. */
	void (*close)(struct kmt_source *src);
};

/* Common head of every source's own struct. */
struct kmt_source {
	const struct kmt_source_ops *ops;
};

extern const struct kmt_source_ops *const kmt_sources[];	/* NULL-terminated */
const struct kmt_source_ops *kmt_source_find(const char *name);
#define KMT_SOURCE_WHY 512
/*
 * The first live source that opens and can do what is asked. *ret_why: the cause
 * why it is not the first one that could have been, or "".
 */
int kmt_source_open_live(const struct kmt_source_opts *opts, struct kmt_source **ret,
			 char ret_why[KMT_SOURCE_WHY]);
/* Can it do what is asked? */
bool kmt_source_suits(const struct kmt_source_ops *ops, const struct kmt_source_opts *opts);
/*
 * The file source whose detect() accepts the first bytes of the file, pipe or
 * standard input ("-"); nothing of it is consumed. -EINVAL if none does.
 */
int kmt_source_for_file(const char *path, const struct kmt_source_ops **ret);

#endif
