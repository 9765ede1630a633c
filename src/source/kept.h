/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions that are kept: counted tracing that goes on without a process, held
 * by pins in a BPF file system.
 *
 *   /sys/fs/bpf/kmemtrace/      the place: one lock for everything that changes
 *     ├── NAME/                 a whole session: maps, programs, links
 *     ├── ~new/                 being pinned; of a killed command: nothing
 *     ├── ~swap=NAME/           whole, takes NAME's place next ('reset')
 *     └── ~old/                 being taken down
 *
 * A session comes and goes by rename(2). Whoever has the lock knows that what
 * begins with '~' is left over, for it is only made, and used up, under the lock.
 */
#ifndef KMT_SOURCE_KEPT_H
#define KMT_SOURCE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "source/source.h"

struct kmt_facts;

#define KMT_KEPT_DIR	"kmemtrace"
#define KMT_KEPT_BPFFS	"/sys/fs/bpf"
#define KMT_KEPT_NAME	32		/* characters of a name, at most */
#define KMT_KEPT_PATH	512
#define KMT_KEPT_NEW	"~new"		/* below the place: what is pinned here becomes a session */

/* Letters, digits, '_' and '-', which is not the first. -EINVAL with text. */
int kmt_kept_check_name(const char *name);

/* ---- the place ---- */

struct kmt_kept {
	int fd;				/* of the place, for the lock; -1: there is none */
	char path[KMT_KEPT_PATH];
	bool mounted;			/* we mounted the BPF file system */
};

#define KMT_KEPT_NONE { .fd = -1 }

/*
 * bpffs: where it is mounted, or is to be; NULL: the usual place. With 'make' what
 * is not there is made; without it fd stays -1, and there are no sessions.
 */
int kmt_kept_open(const char *bpffs, bool make, struct kmt_kept *ret);
/* What was opened is in a BPF file system, and root's or ours; else nothing is to be changed there. */
int kmt_kept_check_place(const struct kmt_kept *k);
void kmt_kept_done(struct kmt_kept *k);
/*
 * Alone from here on (or with other readers), and what killed commands left is
 * gone. Waits; 'try': -EWOULDBLOCK, without text, if somebody else is at it.
 */
int kmt_kept_lock(struct kmt_kept *k);
int kmt_kept_lock_reading(struct kmt_kept *k);
int kmt_kept_try_lock(struct kmt_kept *k);
void kmt_kept_unlock(struct kmt_kept *k);
bool kmt_kept_exists(const struct kmt_kept *k, const char *name);
/* The sessions by name; strings and array are freed by kmt_kept_names_done(). */
int kmt_kept_names(const struct kmt_kept *k, struct kmt_strlist *ret);
void kmt_kept_names_done(struct kmt_strlist *names);
/* -ENOENT, which names those that there are. */
int kmt_kept_missing(const struct kmt_kept *k, const char *name);

/* ---- under the lock ---- */

/* Let '~new' be NAME: a new session (-EEXIST), or in place of the one that there is. */
int kmt_kept_commit(struct kmt_kept *k, const char *name, bool replace);
/* Take a session down, of whatever version; -ENOENT. */
int kmt_kept_remove(struct kmt_kept *k, const char *name);
/* Remove what killed commands left, or complete it. */
int kmt_kept_sweep(struct kmt_kept *k);

/* ---- a session ---- */

/* What it was started with, so that it can be started again. */
struct kmt_kept_ask {
	struct kmt_strlist filters;
	const char *tracer;		/* NULL: the default */
	enum kmt_key key;
	uint64_t sites, objects, objects_bytes, temporary_ns;
	bool follow, own, user_pages, hash_maps, no_objects;
};

/*
 * Pin what a source of this kind has loaded and attached, so that it outlives us,
 * with what readers must know. The source was opened with opts.kept, and has
 * started. -EEXIST.
 */
int kmt_kept_pin(struct kmt_source *src, struct kmt_kept *k, const char *name, bool replace,
		 const struct kmt_kept_ask *ask, const struct kmt_facts *facts);

/* How full a table is. */
struct kmt_kept_fill {
	uint64_t used, size;
};

/* Of a source "session", which opts.path names: the session's directory. */
const struct kmt_kept_ask *kmt_kept_ask_of(const struct kmt_source *src);
const struct kmt_facts *kmt_kept_facts(const struct kmt_source *src);
/* The sizes its tables have, whatever was asked for; bytes 0: live objects are not known. */
void kmt_kept_sizes(const struct kmt_source *src, uint64_t *ret_sites, uint64_t *ret_object_bytes);
/* It was stopped, or another has taken its place: nothing is counted any more. */
bool kmt_kept_is_over(const struct kmt_source *src);
int kmt_kept_fills(const struct kmt_source *src, struct kmt_kept_fill *ret_sites,
		   struct kmt_kept_fill *ret_caches, struct kmt_kept_fill *ret_stacks,
		   struct kmt_kept_fill *ret_objects);

#endif
