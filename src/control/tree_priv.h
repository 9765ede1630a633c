/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside control/ only: instances, open files, and what each type of file does. */
#ifndef KMT_CONTROL_TREE_PRIV_H
#define KMT_CONTROL_TREE_PRIV_H

#include <pthread.h>

#include "base/buf.h"
#include "control/control.h"
#include "control/error_log.h"
#include "control/tree.h"

struct kmt_stat_file;
struct kmt_file_type;

enum kmt_instance_state {
	KMT_INSTANCE_MAKING,	/* its name is taken, there is nothing yet */
	KMT_INSTANCE_LIVE,
	KMT_INSTANCE_ENDING,	/* gone for all, but its name is still taken */
};

/* The root or one below instances/. */
struct kmt_instance {
	struct kmt_instance *next;
	struct kmt_tree *tree;
	char	*name;		/* "" the root's */
	uint64_t number;	/* part of its nodes; 0 the root's */
	enum kmt_instance_state state;	/* these and the rest: the tree's lock */
	unsigned n_users;	/* open files, and calls that are under way */
	void	*tracer;	/* fixed while it is live */
	struct kmt_error_log errors;
};

struct kmt_tree {
	struct kmt_tree_opts opts;
	const struct kmt_control_ops *ops;
	pthread_mutex_t lock;
	pthread_cond_t dropped;	/* an instance has no users any more */
	struct kmt_instance *first;	/* the root; then in the order of making */
	uint64_t n_made;
	uint64_t stat_bytes;	/* of open files of trace_stat/ */
};

/* A row of files.def, of the options, or of stats.def. */
struct kmt_file_row {
	const char *dir;	/* "" or "options/", "trace_stat/" */
	const char *name;
	mode_t	mode;
	const struct kmt_file_type *type;
	enum kmt_knob knob;
	const struct kmt_stat_file *stat;
};

struct kmt_file {
	struct kmt_file_row row;
	struct kmt_instance *instance;	/* held, so that it does not end */
	int	flags;		/* of open(2) */
	pthread_mutex_t lock;	/* of what follows: threads may share an open file */
	struct kmt_buf text;	/* all there is to read, from open on */
	uint64_t held_bytes;	/* of it, in the tree's sum */
	void	*kept;		/* trace: of ops->text_open() */
	struct kmt_buf list;	/* list: what was written up to now */
	struct kmt_buf left;	/* pipe: the rest of a line of which a part was read */
	size_t	left_pos;
	bool	has_read;	/* pipe: something came through it */
};

/* What a type of file does; what is NULL it does not do. Errors leave kmt_err_text(). */
struct kmt_file_type {
	/* The whole text, when it is opened for reading. */
	int (*text)(struct kmt_file *f, struct kmt_buf *out);
	/* Instead of a text: prepare when it is opened for reading; read. */
	int (*open)(struct kmt_file *f);
	ssize_t (*read)(struct kmt_file *f, char *out, size_t size, uint64_t offset);
	int (*write)(struct kmt_file *f, const char *data, size_t size);
	int (*truncate)(struct kmt_file *f);
	void (*close)(struct kmt_file *f);
	bool	is_pipe;
};

/* The files of a directory: each an array that ends where name is NULL. */
extern const struct kmt_file_row kmt_root_files[];
extern const struct kmt_file_row kmt_option_files[];
extern const struct kmt_file_type kmt_type_stat;	/* of all below trace_stat/ */

extern const char kmt_readme[];

/* Which file a node is, in which instance, which then is held. -ENOENT, -EISDIR */
int kmt_tree_hold(struct kmt_tree *t, kmt_node node, struct kmt_file_row *ret_row,
		  struct kmt_instance **ret_instance);
void kmt_tree_drop(struct kmt_instance *i);
/* Into the error_log: why it failed, from kmt_err_text(). */
void kmt_tree_refused(struct kmt_instance *i, const char *where, int err, const char *command,
		      size_t len);

#endif
