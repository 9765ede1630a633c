/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside store/ and its reader: the blocks that are text. META and QUALITY are
 * lines "key value", values escaped as kmt_buf_escape() does it; SYMBOLS are
 * lines "DISTANCE NAME[\tMODULE]", the distance to the line before in hex.
 */
#ifndef KMT_STORE_TEXT_H
#define KMT_STORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_buf;
struct kmt_facts;
struct kmt_quality;
struct kmt_symbols;
struct kmt_writer_opts;

/* ---- lines "key value" ---- */

struct kmt_text_line {
	const char *key, *value;	/* borrowed from the text; nothing ends them */
	size_t key_len, value_len;
};

/* No line for NULL and "". */
void kmt_text_put_str(struct kmt_buf *out, const char *key, const char *value);
void kmt_text_put_u64(struct kmt_buf *out, const char *key, uint64_t value);
/* The next line at *at; false at the end. */
bool kmt_text_next(const char **at, const char *end, struct kmt_text_line *l);
bool kmt_text_is_key(const struct kmt_text_line *l, const char *key);
/* If it is this key: its value, without escapes; what does not fit is cut off. */
bool kmt_text_take(const struct kmt_text_line *l, const char *key, char *to, size_t size);
uint64_t kmt_text_number(const struct kmt_text_line *l);

/* ---- the blocks ---- */

void kmt_text_meta(const struct kmt_writer_opts *opts, struct kmt_buf *out);
/* facts may be NULL. */
void kmt_text_quality(const struct kmt_quality *q, const struct kmt_facts *facts,
		      struct kmt_buf *out);
/* Calls put for each piece (cleared afterwards); in each, the first line counts from 0. */
int kmt_text_symbols(const struct kmt_symbols *s, struct kmt_buf *out,
		     int (*put)(void *ctx, struct kmt_buf *text), void *ctx);

/* Strings of a recording's META. */
struct kmt_text_names {
	char kernel[128], build_id[128], machine[64], clock[32], source[24];
	char command[1024], options[1024];
};

/* Unknown keys are passed over; so are lines that are none. facts gets pointers into names. */
void kmt_text_parse_meta(const char *text, size_t len, struct kmt_text_names *names,
			 struct kmt_facts *facts);
void kmt_text_parse_quality(const char *text, size_t len, struct kmt_quality *q,
			    struct kmt_facts *facts);
/* Append the form of kallsyms. false: a line is none, and what is behind it is left out. */
bool kmt_text_parse_symbols(const char *text, size_t len, struct kmt_buf *out);

#endif
