// SPDX-License-Identifier: GPL-2.0-only
#include "source/words.h"

#include <string.h>

#define NSEC 1000000000ULL

bool kmt_word_is(struct kmt_word w, const char *s)
{
	return w.len == strlen(s) && !memcmp(w.p, s, w.len);
}

bool kmt_word_starts(struct kmt_word w, const char *s)
{
	return w.len >= strlen(s) && !memcmp(w.p, s, strlen(s));
}

struct kmt_word kmt_word_rest(struct kmt_word w, size_t skip)
{
	skip = skip < w.len ? skip : w.len;
	return (struct kmt_word){ w.p + skip, w.len - skip };
}

bool kmt_words_split(struct kmt_word line, struct kmt_words *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < line.len;) {
		size_t start;

		while (i < line.len && (line.p[i] == ' ' || line.p[i] == '\t'))
			i++;
		start = i;
		while (i < line.len && line.p[i] != ' ' && line.p[i] != '\t')
			i++;
		if (i == start)
			break;
		if (ret->n == KMT_WORDS_MAX)
			return false;
		ret->v[ret->n++] = (struct kmt_word){ line.p + start, i - start };
	}
	return true;
}

int kmt_word_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

bool kmt_word_number(struct kmt_word w, unsigned base, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (!w.len)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		int d = kmt_word_digit(w.p[i]);

		if (d >= (int)base || v > (max - (uint64_t)d) / base || (uint64_t)d > max)
			return false;
		v = v * base + (uint64_t)d;
	}
	*ret = v;
	return true;
}

bool kmt_word_hex_0x(struct kmt_word w, uint64_t *ret)
{
	return kmt_word_starts(w, "0x") && kmt_word_number(kmt_word_rest(w, 2), 16, UINT64_MAX, ret);
}

bool kmt_word_node(struct kmt_word w, int16_t *ret)
{
	bool negative = kmt_word_starts(w, "-");
	uint64_t v;

	if (!kmt_word_number(kmt_word_rest(w, negative), 10, INT16_MAX, &v))
		return false;
	*ret = (int16_t)(negative ? -(int)v : (int)v);
	return true;
}

bool kmt_word_time(struct kmt_word w, uint64_t *ret)
{
	const char *dot = memchr(w.p, '.', w.len);
	uint64_t sec, frac;

	if (!dot)
		return false;

	struct kmt_word left = { w.p, (size_t)(dot - w.p) }, right = kmt_word_rest(w, left.len + 1);

	if ((right.len != 6 && right.len != 9) ||
	    !kmt_word_number(left, 10, UINT64_MAX / NSEC - 1, &sec) ||
	    !kmt_word_number(right, 10, NSEC, &frac))
		return false;
	*ret = sec * (uint64_t)NSEC + (right.len == 6 ? frac * 1000 : frac);
	return true;
}

bool kmt_word_text(struct kmt_word w, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < w.len; i++) {
		unsigned char c = (unsigned char)w.p[i];

		if (c < 0x20 || c > 0x7e)
			return false;
		if (c == '\\' && w.len - i >= 4 && w.p[i + 1] == 'x' && kmt_word_digit(w.p[i + 2]) < 16 &&
		    kmt_word_digit(w.p[i + 3]) < 16) {
			c = (unsigned char)(kmt_word_digit(w.p[i + 2]) << 4 | kmt_word_digit(w.p[i + 3]));
			i += 3;
			if (!c)
				return false;
		}
		if (n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return n;
}

bool kmt_word_in_brackets(struct kmt_word w)
{
	return w.len > 2 && w.p[0] == '[' && w.p[w.len - 1] == ']';
}

struct kmt_word kmt_word_trim(struct kmt_word w)
{
	while (w.len && (w.p[0] == ' ' || w.p[0] == '\t'))
		w = kmt_word_rest(w, 1);
	while (w.len && (w.p[w.len - 1] == ' ' || w.p[w.len - 1] == '\t'))
		w.len--;
	return w;
}

struct kmt_word kmt_word_pop(struct kmt_word *line)
{
	size_t end = line->len, start;

	while (end && line->p[end - 1] == ' ')
		end--;
	start = end;
	while (start && line->p[start - 1] != ' ')
		start--;
	line->len = start;
	return (struct kmt_word){ line->p + start, end - start };
}
