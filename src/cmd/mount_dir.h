/* SPDX-License-Identifier: GPL-2.0-only */
/* The directory that 'kmemtrace mount' mounts on, and what of it was left by others. */
#ifndef KMT_CMD_MOUNT_DIR_H
#define KMT_CMD_MOUNT_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define KMT_MOUNT_TYPE	"fuse.kmemtrace"

/*
 * The type of the file system on top of 'path' by the text of
 * /proc/self/mountinfo. False: nothing is mounted there.
 */
bool kmt_mountinfo_type(FILE *mountinfo, const char *path, char *type, size_t size);

/*
 * Its absolute path, free(). The mount of a kmemtrace that was killed is removed,
 * which *ret_stale tells. -EBUSY a kmemtrace is mounted there, -ENOTEMPTY, -ENOTDIR,
 * -ENOENT; with the text.
 */
int kmt_mount_dir(const char *dir, char **ret_path, bool *ret_stale);

#endif
