/* SPDX-License-Identifier: GPL-2.0-only */
/* The tree of tree.h mounted with libfuse. */
#ifndef KMT_CONTROL_FUSE_H
#define KMT_CONTROL_FUSE_H

#include <stdbool.h>

struct kmt_tree;
struct kmt_fuse;

struct kmt_fuse_opts {
	const char *dir;
	const char *options;	/* as of mount -o; NULL none */
	bool	allow_other;
	bool	signals;	/* SIGINT, SIGTERM and SIGHUP end it */
	/* In the thread that serves, once the kernel has answered. NULL allowed. */
	void	(*ready)(void *ctx);
	void	*ctx;
};

/*
 * Mount; the tree and the strings are borrowed. Errors have their text: -ENODEV
 * there is no /dev/fuse, -EPERM, -EACCES, -EINVAL bad options.
 */
int kmt_fuse_mount(struct kmt_tree *tree, const struct kmt_fuse_opts *opts,
		   struct kmt_fuse **ret_fuse);
/* Answer with several threads until it is unmounted or a signal comes. */
int kmt_fuse_serve(struct kmt_fuse *fuse);
/* Unmount, if it still is mounted, and close all files of the tree. */
void kmt_fuse_free(struct kmt_fuse *fuse);

#endif
