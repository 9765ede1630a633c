/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that takes the place of another one when it is whole, and not before. */
#ifndef KMT_CMD_BESIDE_H
#define KMT_CMD_BESIDE_H

/*
 * A file without a name in the directory of 'path', which is open as 'there': with
 * its owner and mode. Returns the descriptor, or -1 where it cannot be had: no regular
 * file, a file of several names, a file system that has no such files, no right to the
 * directory. Then the file itself is to be written.
 */
int kmt_beside_open(const char *path, int there);
/* Now it is whole: it becomes 'path', which is gone. 0 or a negative errno with text. */
int kmt_beside_replace(const char *path, int fd);

#endif
