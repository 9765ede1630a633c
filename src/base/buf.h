/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_BUF_H
#define KMT_BASE_BUF_H

#include <stddef.h>

#include "base/cleanup.h"

/*
 * A growing string. Memory errors stick: append what you like, look at
 * kmt_buf_error() once at the end.
 */
struct kmt_buf {
	char *data;	/* NUL-terminated once something was appended, else NULL */
	size_t len;
	size_t cap;
	int error;	/* 0 or -ENOMEM */
};

void kmt_buf_done(struct kmt_buf *b);
#define _cleanup_buf_ _cleanup_(kmt_buf_done)
void kmt_buf_clear(struct kmt_buf *b);	/* keep the memory, forget the text */
void kmt_buf_reserve(struct kmt_buf *b, size_t more);	/* room for so many bytes more */
void kmt_buf_add(struct kmt_buf *b, const char *data, size_t len);
void kmt_buf_puts(struct kmt_buf *b, const char *s);
void kmt_buf_printf(struct kmt_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Append a string that came from the kernel or a file (up to its NUL, at most
 * 'max' bytes of it; SIZE_MAX for all) with control characters,
 * backslashes and bytes above 0x7e as \xNN, so that no output can be forged
 * or a terminal driven by a task's name.
 */
void kmt_buf_escape(struct kmt_buf *b, const char *s, size_t max);

/*
 * Append the words of 'text' with line breaks so that no line passes 'width'
 * (unless a word alone does). 'column' is where the buffer's last line stands,
 * 'indent' where the following lines start. No newline at the end.
 */
void kmt_buf_wrap(struct kmt_buf *b, const char *text, size_t column, size_t indent, size_t width);

/* The text, "" if empty; owned by the buffer. */
const char *kmt_buf_str(const struct kmt_buf *b);
/* Hand the text to the caller (free()), NULL on memory error. Empties b. */
char *kmt_buf_take(struct kmt_buf *b);

#endif
