// SPDX-License-Identifier: GPL-2.0-only
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for 'more' bytes and the NUL; false once memory was short. */
static bool reserve(struct kmt_buf *b, size_t more)
{
	size_t need, cap;
	char *data;

	if (b->error)
		return false;
	if (__builtin_add_overflow(b->len, more, &need) || need > SIZE_MAX / 2 - 1) {
		b->error = -ENOMEM;
		return false;
	}
	need++;
	if (need <= b->cap)
		return true;
	cap = b->cap ? b->cap : 64;
	while (cap < need)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data) {
		b->error = -ENOMEM;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void kmt_buf_done(struct kmt_buf *b)
{
	if (!b)
		return;
	free(b->data);
	*b = (struct kmt_buf){ 0 };
}

void kmt_buf_reserve(struct kmt_buf *b, size_t more)
{
	if (reserve(b, more) && !b->len)
		b->data[0] = '\0';
}

void kmt_buf_clear(struct kmt_buf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = '\0';
}

void kmt_buf_add(struct kmt_buf *b, const char *data, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void kmt_buf_puts(struct kmt_buf *b, const char *s)
{
	kmt_buf_add(b, s, strlen(s));
}

void kmt_buf_printf(struct kmt_buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	if (!reserve(b, 0))
		return;
	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->error = -ENOMEM;
	} else if ((size_t)n < b->cap - b->len) {
		b->len += n;
	} else if (reserve(b, n)) {
		vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
		b->len += n;
	}
	va_end(again);
	if (b->error)
		b->data[b->len] = '\0';	/* not the half of an append */
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c <= 0x7e && c != '\\';
}

void kmt_buf_escape(struct kmt_buf *b, const char *s, size_t max)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t i = 0, run; i < max && s[i]; i += run) {
		unsigned char c = s[i];
		char esc[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

		/* most strings are one run */
		for (run = 0; i + run < max && is_plain(s[i + run]); run++)
			;
		if (run) {
			kmt_buf_add(b, s + i, run);
		} else {
			kmt_buf_add(b, esc, sizeof(esc));
			run = 1;
		}
	}
}

static void pad(struct kmt_buf *b, size_t n)
{
	while (n--)
		kmt_buf_add(b, " ", 1);
}

void kmt_buf_wrap(struct kmt_buf *b, const char *text, size_t column, size_t indent, size_t width)
{
	bool is_start = true;

	while (*(text += strspn(text, " "))) {
		size_t len = strcspn(text, " ");

		if (!is_start && column + 1 + len > width) {
			kmt_buf_puts(b, "\n");
			pad(b, indent);
			column = indent;
			is_start = true;
		}
		if (!is_start) {
			kmt_buf_puts(b, " ");
			column++;
		}
		kmt_buf_add(b, text, len);
		column += len;
		text += len;
		is_start = false;
	}
}

const char *kmt_buf_str(const struct kmt_buf *b)
{
	return b->data ? b->data : "";
}

char *kmt_buf_take(struct kmt_buf *b)
{
	char *data = NULL;

	kmt_buf_add(b, "", 0);	/* an empty buffer gives "", not NULL */
	if (!b->error) {
		data = b->data;
		b->data = NULL;
	}
	kmt_buf_done(b);
	return data;
}
