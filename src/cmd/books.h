/* SPDX-License-Identifier: GPL-2.0-only */
/* A view's books as a recording: what 'stat --output', 'top' and 'snapshot' write. */
#ifndef KMT_CMD_BOOKS_H
#define KMT_CMD_BOOKS_H

struct kmt_recorder;
struct kmt_view;

/*
 * Into a file that is open and empty; the kernel's counts are the view's.
 * own_argv: of this process. 0 or a negative errno with text.
 */
int kmt_books_write(const struct kmt_view *v, struct kmt_recorder *r, char **own_argv);

#endif
