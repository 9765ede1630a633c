/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracing directory as a tree of nodes: what there is, who may use it, what
 * reading and writing does. Knows nothing of FUSE.
 *
 *   /                    the root: a tracer
 *   ├── current_tracer …      files (files.def)
 *   ├── options/              one file for each option
 *   ├── trace_stat/           one file for each row of stats.def
 *   └── instances/            at the root only
 *       └── NAME/             another tracer: all of the above
 *
 * Any thread may call anything at any time. The tree's lock is never held while
 * the tracers (struct kmt_control_ops) are called. Errors are negative errnos; what
 * was refused is told in the error_log of the tracer.
 */
#ifndef KMT_CONTROL_TREE_H
#define KMT_CONTROL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kmt_control_ops;
struct kmt_tree;
struct kmt_file;

/* A node: as a number, so that nothing is kept for it. Those of instances that ended
 * are gone for good: numbers are not used again. */
typedef uint64_t kmt_node;
#define KMT_NODE_ROOT	1	/* as FUSE counts */

struct kmt_tree_opts {
	const struct kmt_control_ops *ops;	/* borrowed */
	bool	has_stat_group;		/* trace_stat/ can be read by stat_gid */
	gid_t	stat_gid;
	/*
	 * How long rmdir waits for files to be closed: FUSE tells of that after close(2)
	 * has returned, so what was open a moment ago may be on its way.
	 */
	unsigned close_wait_ms;
	/*
	 * Most bytes that all open files of trace_stat/ take together: who may only read
	 * them must not have all memory by opening again and again. 0: 512 MiB. One alone
	 * may be larger.
	 */
	uint64_t max_stat_bytes;
};

struct kmt_tree_stat {
	mode_t	mode;			/* with the type */
	unsigned n_links;
	gid_t	gid;
};

struct kmt_tree_entry {
	char	*name;			/* owned */
	kmt_node node;
	mode_t	mode;
};

/* With the root's tracer, made at rest. */
int kmt_tree_new(const struct kmt_tree_opts *opts, struct kmt_tree **ret_tree);
/* Ends all tracers. No file may be open. */
void kmt_tree_free(struct kmt_tree *t);

/* The node of that name in a directory. -ENOENT, -ENOTDIR */
int kmt_tree_lookup(struct kmt_tree *t, kmt_node dir, const char *name, kmt_node *ret_node);
/* "instances/web/trace"; "" is the root. */
int kmt_tree_path(struct kmt_tree *t, const char *path, kmt_node *ret_node);
int kmt_tree_stat(struct kmt_tree *t, kmt_node node, struct kmt_tree_stat *ret_stat);
/* What is in a directory at this moment, without . and .. */
int kmt_tree_list(struct kmt_tree *t, kmt_node dir, struct kmt_tree_entry **ret_entries,
		  size_t *ret_n);
void kmt_tree_entries_free(struct kmt_tree_entry *entries, size_t n);
/* Below instances/ only, else -EPERM. */
int kmt_tree_mkdir(struct kmt_tree *t, kmt_node dir, const char *name, kmt_node *ret_node);
/* -EBUSY while one of its files is open. */
int kmt_tree_rmdir(struct kmt_tree *t, kmt_node dir, const char *name);
/* As O_TRUNC does: forgets the events of 'trace', empties a list, else nothing. */
int kmt_tree_truncate(struct kmt_tree *t, kmt_node node);

/* flags as of open(2); O_TRUNC is done here. What a small file says is fixed here. */
int kmt_tree_open(struct kmt_tree *t, kmt_node node, int flags, struct kmt_file **ret_file);
void kmt_file_close(struct kmt_file *f);
/*
 * Bytes read, 0 at the end. A pipe takes no notice of the offset; -EAGAIN: nothing
 * is there now, and nothing here ever waits.
 */
ssize_t kmt_file_read(struct kmt_file *f, char *out, size_t size, uint64_t offset);
/* All of it or an error: a value as a whole, a list also in pieces. */
ssize_t kmt_file_write(struct kmt_file *f, const char *data, size_t size);
/* Reading waits for events. */
bool kmt_file_is_pipe(const struct kmt_file *f);
/* A read would not wait: events or the end. Always true for what is no pipe. */
bool kmt_file_is_ready(struct kmt_file *f);

#endif
