// SPDX-License-Identifier: GPL-2.0-only
#include "source/bpf_desc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "store/format.h"
#include "store/writer.h"
#include "symbol/slabs.h"

#define BLOCK_SESSION	64	/* in a recording there is none */
#define FILTERS_MAX	256
#define EXPR_MAX	1024	/* of one filter */
#define TRACERS_MAX	256	/* the text of --tracer */

/* Numbers: key, place and size. */
static const struct {
	const char *key;
	size_t at, size;
} numbers[] = {
#define ROW(key, field) { key, offsetof(struct kmt_bpf_desc, field), \
			  sizeof(((struct kmt_bpf_desc *)NULL)->field) }
	ROW("cpus", plan.cpus), ROW("sites", plan.sites), ROW("caches", plan.caches),
	ROW("stacks", plan.stacks), ROW("buckets", plan.buckets),
	ROW("hashed_objects", plan.hashed_objects), ROW("shards", plan.shards),
	ROW("total_bytes", plan.total_bytes), ROW("track", plan.track), ROW("hashed", plan.hashed),
	ROW("key", ask.key), ROW("ask_sites", ask.sites), ROW("ask_objects", ask.objects),
	ROW("ask_objects_bytes", ask.objects_bytes), ROW("ask_temporary_ns", ask.temporary_ns),
	ROW("follow", ask.follow), ROW("own", ask.own), ROW("user_pages", ask.user_pages),
	ROW("hash_maps", ask.hash_maps), ROW("no_objects", ask.no_objects),
#undef ROW
};
#define N_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

_Static_assert(sizeof(enum kmt_key) == 4 && sizeof(bool) == 1, "as number_at() takes them");

static uint64_t get_number(const struct kmt_bpf_desc *d, size_t i)
{
	const void *at = (const char *)d + numbers[i].at;

	return numbers[i].size == 8 ? *(const uint64_t *)at :
	       numbers[i].size == 4 ? *(const uint32_t *)at : *(const bool *)at;
}

static bool set_number(struct kmt_bpf_desc *d, size_t i, uint64_t v)
{
	void *at = (char *)d + numbers[i].at;

	if (numbers[i].size == 8)
		*(uint64_t *)at = v;
	else if (numbers[i].size == 4 && v <= UINT32_MAX)
		*(uint32_t *)at = (uint32_t)v;
	else if (numbers[i].size == 1 && v <= 1)
		*(bool *)at = v;
	else
		return false;
	return true;
}

/* ---- to bytes ---- */

static void put_block(struct kmt_buf *out, unsigned type, const struct kmt_buf *text)
{
	const struct kmt_block b = { .type = (uint16_t)type, .codec = KMT_CODEC_RAW,
				     .stored_len = (uint32_t)text->len,
				     .raw_len = (uint32_t)text->len, .seq = 1 };
	const char head[KMT_BLOCK_HEAD] = { 0 };
	size_t at = out->len;

	kmt_buf_add(out, head, sizeof(head));
	kmt_buf_add(out, kmt_buf_str(text), text->len);
	if (text->error)
		out->error = text->error;
	if (!out->error)
		kmt_block_seal(&b, (uint8_t *)out->data + at);
}

static void put_session(const struct kmt_bpf_desc *d, struct kmt_buf *text)
{
	/* first, and never in another form: what is compared before anything else */
	kmt_text_put_str(text, "layout", d->layout);
	kmt_text_put_str(text, "version", d->version);
	kmt_text_put_str(text, "functions", d->functions);
	kmt_text_put_str(text, "tracer", d->ask.tracer);
	for (size_t i = 0; i < d->ask.filters.n; i++)
		kmt_text_put_str(text, "filter", d->ask.filters.v[i]);
	for (size_t i = 0; i < N_NUMBERS; i++)
		kmt_text_put_u64(text, numbers[i].key, get_number(d, i));
}

int kmt_bpf_desc_put(const struct kmt_bpf_desc *d, struct kmt_buf *out)
{
	const struct kmt_writer_opts meta = { .facts = &d->facts, .source = "session" };
	_cleanup_buf_ struct kmt_buf text = { 0 };

	put_session(d, &text);
	put_block(out, BLOCK_SESSION, &text);
	kmt_buf_clear(&text);
	kmt_text_meta(&meta, &text);
	put_block(out, KMT_BLOCK_META, &text);
	if (d->facts.slabs_start) {
		kmt_buf_clear(&text);
		kmt_slabs_store(d->facts.slabs_start, &text);
		put_block(out, KMT_BLOCK_SLABS_START, &text);
		kmt_buf_clear(&text);
		kmt_slabs_store_bounds(d->facts.slabs_start, &text);
		put_block(out, KMT_BLOCK_BOUNDS_START, &text);
	}
	return out->error ? kmt_err(-ENOMEM, "out of memory for the session's description") : 0;
}

/* ---- from bytes ---- */

static int damaged(const char *what)
{
	return kmt_err(-EBADMSG, "its description is damaged: %s", what);
}

static int take_filter(struct kmt_bpf_desc *d, const struct kmt_text_line *l)
{
	char expr[EXPR_MAX];
	char *copy;

	if (!kmt_text_take(l, "filter", expr, sizeof(expr)))
		return 0;
	if (d->ask.filters.n >= FILTERS_MAX)
		return damaged("too many filters");
	copy = kmt_arena_str(&d->strings, expr);
	if (!copy || kmt_strlist_add(&d->ask.filters, copy))
		return kmt_err(-ENOMEM, "out of memory for the session's description");
	return 1;
}

static int take_line(struct kmt_bpf_desc *d, const struct kmt_text_line *l)
{
	char tracer[TRACERS_MAX];
	int err;

	if (kmt_text_take(l, "functions", d->functions, sizeof(d->functions)))
		return 0;
	if (kmt_text_take(l, "tracer", tracer, sizeof(tracer))) {
		d->ask.tracer = kmt_arena_str(&d->strings, tracer);
		return d->ask.tracer ? 0 : kmt_err(-ENOMEM, "out of memory for the session's "
						   "description");
	}
	err = take_filter(d, l);
	if (err)
		return err < 0 ? err : 0;
	for (size_t i = 0; i < N_NUMBERS; i++)
		if (kmt_text_is_key(l, numbers[i].key) && !set_number(d, i, kmt_text_number(l)))
			return damaged("a number is too large");
	return 0;
}

static int parse_session(const char *text, size_t len, const char *layout,
			 struct kmt_bpf_desc *d)
{
	const char *at = text, *end = text + len;
	struct kmt_text_line l;
	int err = 0;

	while (kmt_text_next(&at, end, &l))
		if (!kmt_text_take(&l, "layout", d->layout, sizeof(d->layout)))
			kmt_text_take(&l, "version", d->version, sizeof(d->version));
	if (strcmp(d->layout, layout))
		return kmt_err(-EPROTO, "kmemtrace %s started it, whose tables are others: it can "
			       "only be stopped", *d->version ? d->version : "?");
	at = text;
	while (!err && kmt_text_next(&at, end, &l))
		err = take_line(d, &l);
	if (err)
		return err;
	d->plan.count = true;
	if (d->ask.key >= KMT_BY_MAX || kmt_bpf_plan_again(&d->plan))
		return damaged("sizes that no table has");
	return 0;
}

static int take_block(struct kmt_bpf_desc *d, unsigned type, const char *text, size_t len,
		      const char *layout)
{
	switch (type) {
	case BLOCK_SESSION:
		return parse_session(text, len, layout, d);
	case KMT_BLOCK_META:
		kmt_text_parse_meta(text, len, &d->names, &d->facts);
		return 0;
	case KMT_BLOCK_SLABS_START:
		return d->slabs ? damaged("two lists of caches") :
		       kmt_slabs_parse(text, len, "the session's caches", &d->slabs);
	case KMT_BLOCK_BOUNDS_START:
		return d->slabs ? kmt_slabs_parse_bounds(text, len, "the session's caches",
							 d->slabs) : 0;
	}
	return 0;	/* of a later version, which needed no other layout for it */
}

int kmt_bpf_desc_parse(const void *data, size_t len, const char *layout, struct kmt_bpf_desc *ret)
{
	const uint8_t *p = data;

	*ret = (struct kmt_bpf_desc){ 0 };
	while (len >= KMT_BLOCK_HEAD) {
		struct kmt_block b;
		int err;

		/* the map's value is at most seven bytes longer than what was put there */
		if (kmt_block_parse(p, &b))
			return damaged("no block where one should be");
		if (b.stored_len > len - KMT_BLOCK_HEAD || b.codec != KMT_CODEC_RAW ||
		    kmt_block_check(&b, p))
			return damaged("a checksum is wrong");
		err = take_block(ret, b.type, (const char *)p + KMT_BLOCK_HEAD, b.stored_len,
				 layout);
		if (err)
			return err == -EPROTO || err == -ENOMEM ? err : -EBADMSG;
		p += KMT_BLOCK_HEAD + b.stored_len;
		len -= KMT_BLOCK_HEAD + b.stored_len;
	}
	if (!ret->plan.count)
		return kmt_err(-EBADMSG, "it has no description");
	ret->facts.slabs_start = ret->slabs;
	return 0;
}

void kmt_bpf_desc_done(struct kmt_bpf_desc *d)
{
	kmt_strlist_done(&d->ask.filters);
	kmt_slabs_free(d->slabs);
	kmt_arena_done(&d->strings);
	*d = (struct kmt_bpf_desc){ 0 };
}
