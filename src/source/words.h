/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside source/ only: text that a kernel or kmemtrace printed, taken apart word by word. */
#ifndef KMT_SOURCE_WORDS_H
#define KMT_SOURCE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KMT_WORDS_MAX	48

/* A piece of somebody's line; not NUL-terminated. */
struct kmt_word {
	const char *p;
	size_t len;
};

struct kmt_words {
	struct kmt_word v[KMT_WORDS_MAX];
	unsigned n;
};

bool kmt_word_is(struct kmt_word w, const char *s);
bool kmt_word_starts(struct kmt_word w, const char *s);
/* Without its first 'skip' bytes, as far as it has them. */
struct kmt_word kmt_word_rest(struct kmt_word w, size_t skip);
/* Without blanks and tabs at both ends. */
struct kmt_word kmt_word_trim(struct kmt_word w);
/* Cut the last word off. */
struct kmt_word kmt_word_pop(struct kmt_word *line);
/* False when there are more words than any line of ours has. */
bool kmt_words_split(struct kmt_word line, struct kmt_words *ret);

/* The value of a digit of any base up to 16, else 99. */
int kmt_word_digit(char c);
/* The whole word is a number of this base and fits. */
bool kmt_word_number(struct kmt_word w, unsigned base, uint64_t max, uint64_t *ret);
/* "0x..." */
bool kmt_word_hex_0x(struct kmt_word w, uint64_t *ret);
/* A NUMA node or -1. */
bool kmt_word_node(struct kmt_word w, int16_t *ret);
/* "12.345678901", or with microseconds only. */
bool kmt_word_time(struct kmt_word w, uint64_t *ret_ns);
/* A printable word, with \xNN undone; false also where it is empty or does not fit. */
bool kmt_word_text(struct kmt_word w, char *out, size_t size);
/* "[...]" */
bool kmt_word_in_brackets(struct kmt_word w);

#endif
