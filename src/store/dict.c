// SPDX-License-Identifier: GPL-2.0-only
#include "store/dict.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/columns.h"
#include "store/format.h"

/* Sums of products do not wait for each other, as a chain of them would. */
static uint64_t hash_words(const uint64_t *v, size_t n)
{
	uint64_t h = n, k = 0x9e3779b97f4a7c15ULL;

	for (size_t i = 0; i < n; i++) {
		h += (v[i] ^ v[i] >> 29) * k;
		k += 0x5851f42d4c957f2eULL;	/* even: k stays odd */
	}
	return (h ^ h >> 32) * 0xd6e8feb86659fd93ULL;
}

void kmt_dict_rows_done(struct kmt_dict_rows *d)
{
	free(d->v);
	kmt_index_done(&d->ix);
	*d = (struct kmt_dict_rows){ .width = d->width };
}

void kmt_dict_rows_clear(struct kmt_dict_rows *d)
{
	d->n = 0;
	kmt_index_done(&d->ix);
}

int kmt_dict_rows_add(struct kmt_dict_rows *d, const uint64_t *row)
{
	if (d->n == d->cap) {
		size_t cap = d->cap ? d->cap * 2 : 64;
		uint64_t *v = reallocarray(d->v, cap, d->width * sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory for the recording");
		d->v = v;
		d->cap = cap;
	}
	memcpy(d->v + d->n++ * d->width, row, d->width * sizeof(*row));
	return 0;
}

struct row_key {
	const struct kmt_dict_rows *d;
	const uint64_t *row;
};

static bool is_row(const void *ctx, size_t i)
{
	const struct row_key *k = ctx;
	const uint64_t *v = k->d->v + i * k->d->width;

	for (unsigned f = 0; f < k->d->width; f++)
		if (v[f] != k->row[f])
			return false;
	return true;
}

int kmt_dict_rows_get(struct kmt_dict_rows *d, const uint64_t *row, size_t *ret)
{
	const struct row_key key = { d, row };
	uint64_t hash = hash_words(row, d->width);
	size_t i = kmt_index_find(&d->ix, hash, is_row, &key);
	int err = 0;

	if (i == KMT_INDEX_NONE) {
		i = d->n;
		err = kmt_dict_rows_add(d, row);
		if (!err)
			err = kmt_index_add(&d->ix, hash, i);
	}
	if (!err)
		*ret = i;
	return err;
}

void kmt_dict_rows_put(const struct kmt_dict_rows *d, struct kmt_cols_out *c, unsigned id)
{
	for (unsigned f = 0; f < d->width && d->n; f++)
		kmt_cols_put(c, id + f, d->v + f, d->n, d->width);
}

void kmt_dict_strings_done(struct kmt_dict_strings *d)
{
	kmt_buf_done(&d->bytes);
	kmt_dict_rows_done(&d->ends);
	kmt_index_done(&d->ix);
}

void kmt_dict_strings_clear(struct kmt_dict_strings *d)
{
	kmt_buf_clear(&d->bytes);
	kmt_dict_rows_clear(&d->ends);
	kmt_index_done(&d->ix);
	memset(d->recent, 0, sizeof(d->recent));
}

const char *kmt_dict_strings_at(const struct kmt_dict_strings *d, uint64_t id)
{
	return d->bytes.data + d->ends.v[id - 1];
}

struct string_key {
	const struct kmt_dict_strings *d;
	const char *s;
};

static bool is_string(const void *ctx, size_t i)
{
	const struct string_key *k = ctx;

	return !strcmp(kmt_dict_strings_at(k->d, i + 1), k->s);
}

static uint64_t hash_string(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;	/* FNV-1a */

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3ULL;
	return h;
}

static int find_string(struct kmt_dict_strings *d, const char *s, uint64_t *ret)
{
	const struct string_key key = { d, s };
	uint64_t hash = hash_string(s), at = d->bytes.len;
	size_t i = kmt_index_find(&d->ix, hash, is_string, &key);
	size_t len = strlen(s);
	int err;

	if (i == KMT_INDEX_NONE) {
		if (len > KMT_STRING_MAX)
			return kmt_err(-EINVAL, "a name of %zu bytes is too long to be recorded",
				       len);
		i = d->ends.n;
		d->ends.width = 1;
		kmt_buf_add(&d->bytes, s, len + 1);
		err = d->bytes.error;
		if (err)
			return kmt_err(err, "out of memory for the recording");
		err = kmt_dict_rows_add(&d->ends, &at);
		if (!err)
			err = kmt_index_add(&d->ix, hash, i);
		if (err)
			return err;
	}
	*ret = i + 1;
	return 0;
}

int kmt_dict_strings_get(struct kmt_dict_strings *d, const char *s, uint64_t *ret)
{
	size_t slot = ((uintptr_t)s ^ (uintptr_t)s >> 7) / 8 % KMT_DICT_RECENT;
	int err;

	if (!s) {
		*ret = 0;
		return 0;
	}
	/* the same place may hold another name by now */
	if (d->recent[slot].p == s && !strcmp(kmt_dict_strings_at(d, d->recent[slot].id), s)) {
		*ret = d->recent[slot].id;
		return 0;
	}
	err = find_string(d, s, ret);
	if (!err) {
		d->recent[slot].p = s;
		d->recent[slot].id = *ret;
	}
	return err;
}

void kmt_dict_strings_put(const struct kmt_dict_strings *d, struct kmt_cols_out *c)
{
	const size_t n = d->ends.n;
	uint64_t *len = n ? calloc(n, sizeof(*len)) : NULL;

	if (!n)
		return;
	if (!len) {
		c->out.error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < n; i++)
		len[i] = (i + 1 < n ? d->ends.v[i + 1] : d->bytes.len) - d->ends.v[i] - 1;
	kmt_cols_put(c, KMT_COL_STRING_LEN, len, n, 1);
	kmt_cols_put_bytes(c, KMT_COL_STRING_BYTES, d->bytes.data, d->bytes.len);
	free(len);
}

void kmt_dict_stacks_done(struct kmt_dict_stacks *d)
{
	kmt_dict_rows_done(&d->ips);
	kmt_dict_rows_done(&d->lens);
	kmt_index_done(&d->ix);
}

void kmt_dict_stacks_clear(struct kmt_dict_stacks *d)
{
	kmt_dict_rows_clear(&d->ips);
	kmt_dict_rows_clear(&d->lens);
	kmt_index_done(&d->ix);
}

struct stack_key {
	const struct kmt_dict_stacks *d;
	const uint64_t *ips;
	size_t n;
};

static bool is_stack(const void *ctx, size_t i)
{
	const struct stack_key *k = ctx;
	const uint64_t *row = k->d->lens.v + 2 * i;

	return row[0] == k->n && !memcmp(k->d->ips.v + row[1], k->ips, k->n * sizeof(*k->ips));
}

int kmt_dict_stacks_get(struct kmt_dict_stacks *d, const uint64_t *ips, size_t n, uint64_t *ret)
{
	const struct stack_key key = { d, ips, n };
	const uint64_t row[2] = { n, d->ips.n };
	uint64_t hash;
	size_t i;
	int err = 0;

	if (!n || !ips) {
		*ret = 0;
		return 0;
	}
	if (n > KMT_STACK_MAX)
		return kmt_err(-EINVAL, "a call chain of %zu frames is too long to be recorded", n);
	hash = hash_words(ips, n);
	i = kmt_index_find(&d->ix, hash, is_stack, &key);
	if (i == KMT_INDEX_NONE) {
		i = d->lens.n;
		d->ips.width = 1;
		d->lens.width = 2;
		for (size_t k = 0; !err && k < n; k++)
			err = kmt_dict_rows_add(&d->ips, &ips[k]);
		if (!err)
			err = kmt_dict_rows_add(&d->lens, row);
		if (!err)
			err = kmt_index_add(&d->ix, hash, i);
	}
	if (!err)
		*ret = i + 1;
	return err;
}

void kmt_dict_stacks_put(const struct kmt_dict_stacks *d, struct kmt_cols_out *c)
{
	kmt_cols_put(c, KMT_COL_STACK_LEN, d->lens.v, d->lens.n, 2);
	kmt_cols_put(c, KMT_COL_STACK_IPS, d->ips.v, d->ips.n, 1);
}
