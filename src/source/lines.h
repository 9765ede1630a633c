/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside source/ only: a text file, pipe or standard input, line by line in bounded memory. */
#ifndef KMT_SOURCE_LINES_H
#define KMT_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/words.h"

#define KMT_LINE_MAX	4096	/* a longer one comes out once, with more than this of it */

struct kmt_lines {
	int fd;
	bool at_end;			/* read() gave 0 */
	bool in_long_line;		/* its beginning was thrown away already */
	uint64_t line_no;		/* of the line that came out last */
	size_t pos, len;		/* what is still to be read of buf */
	char buf[65536];
};

/* path "-": standard input. */
int kmt_lines_open(struct kmt_lines *l, const char *path);
void kmt_lines_close(struct kmt_lines *l);
/*
 * The next line without its end, valid until the next call. 1: there is one; 0:
 * none within the time; -ENODATA: end of the file; or the error of reading.
 */
int kmt_lines_next(struct kmt_lines *l, int timeout_ms, struct kmt_word *ret);

#endif
