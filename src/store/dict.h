/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside store/ only: the dictionaries of one block while it is being filled.
 * What is equal gets one number.
 */
#ifndef KMT_STORE_DICT_H
#define KMT_STORE_DICT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/index.h"

struct kmt_cols_out;

/* Rows of 'width' numbers. Zero-initialised but for width is empty. */
struct kmt_dict_rows {
	unsigned width;
	uint64_t *v;
	size_t n, cap;
	struct kmt_index ix;
};

void kmt_dict_rows_done(struct kmt_dict_rows *d);
void kmt_dict_rows_clear(struct kmt_dict_rows *d);
int kmt_dict_rows_add(struct kmt_dict_rows *d, const uint64_t *row);
/* The number of the row, which is added if it is new. */
int kmt_dict_rows_get(struct kmt_dict_rows *d, const uint64_t *row, size_t *ret);
/* One column for each number of a row: id, id + 1, ... */
void kmt_dict_rows_put(const struct kmt_dict_rows *d, struct kmt_cols_out *c, unsigned id);

#define KMT_DICT_RECENT 64

/* Strings by number from 1; 0 is NULL. */
struct kmt_dict_strings {
	struct kmt_buf bytes;		/* all of them, each with its NUL */
	struct kmt_dict_rows ends;	/* where each begins; never looked up by content */
	struct kmt_index ix;
	struct {
		const char *p;		/* the caller's pointer: probably the same string again */
		uint64_t id;
	} recent[KMT_DICT_RECENT];
};

void kmt_dict_strings_done(struct kmt_dict_strings *d);
void kmt_dict_strings_clear(struct kmt_dict_strings *d);
int kmt_dict_strings_get(struct kmt_dict_strings *d, const char *s, uint64_t *ret);
const char *kmt_dict_strings_at(const struct kmt_dict_strings *d, uint64_t id);
void kmt_dict_strings_put(const struct kmt_dict_strings *d, struct kmt_cols_out *c);

/* Call chains by number from 1; 0 is none. */
struct kmt_dict_stacks {
	struct kmt_dict_rows ips;	/* one number wide: all frames of all chains */
	struct kmt_dict_rows lens;	/* length and first frame */
	struct kmt_index ix;
};

void kmt_dict_stacks_done(struct kmt_dict_stacks *d);
void kmt_dict_stacks_clear(struct kmt_dict_stacks *d);
int kmt_dict_stacks_get(struct kmt_dict_stacks *d, const uint64_t *ips, size_t n, uint64_t *ret);
void kmt_dict_stacks_put(const struct kmt_dict_stacks *d, struct kmt_cols_out *c);

#endif
