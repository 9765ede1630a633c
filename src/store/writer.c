// SPDX-License-Identifier: GPL-2.0-only
#include "store/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/facts.h"
#include "core/quality.h"
#include "store/behind.h"
#include "store/columns.h"
#include "store/counted.h"
#include "store/encode.h"
#include "store/file.h"
#include "store/format.h"
#include "store/text.h"
#include "store/zip.h"
#include "symbol/gfp.h"
#include "symbol/slabs.h"

#define SECOND_NS	1000000000ull
#define TEXT_LEVEL	9		/* 100 ms for a kernel's symbols, once */
#define TEXT_MAX	(4u << 20)	/* of one block of text */
#define BLOCK_LIMIT	(8u << 20)	/* an event block takes no more, whatever its stacks */
#define EVENT_MOST	(24u << 10)	/* what one event can add: four names and a stack */
#define LOOK_EVERY	64u		/* events, where there is plenty of room */
#define END_RESERVE	(8u << 10)	/* of max_bytes, for quality and end */

struct kmt_writer {
	struct kmt_writer_opts opts;	/* its strings only until the start */
	struct kmt_block_out file;
	struct kmt_zip *zip;
	struct kmt_encoder *encoder;
	struct kmt_counted counted;
	struct kmt_cols_out cols;
	uint64_t limit;		/* of the block that is being filled */
	uint32_t look_every;	/* events between two looks at its size */
	uint64_t since_ns;	/* when its first event came */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* ---- blocks of text ---- */

static int put_piece(struct kmt_writer *w, unsigned type, const char *text, size_t len)
{
	char *packed = malloc(len ? len : 1);
	size_t n;
	int err;

	if (!packed)
		return kmt_err(-ENOMEM, "out of memory for the recording");
	n = kmt_zip_pack(w->zip, TEXT_LEVEL, text, len, packed, len);
	err = n ? kmt_block_out_put(&w->file, type, KMT_CODEC_ZSTD, packed, n, len) :
		  kmt_block_out_put(&w->file, type, KMT_CODEC_RAW, text, len, len);
	free(packed);
	return err;
}

/* Whole lines, in as many blocks as it takes. */
static int put_text(struct kmt_writer *w, unsigned type, const struct kmt_buf *text)
{
	const char *p = text->data, *end = p + text->len;
	int err = text->error;

	if (err)
		return kmt_err(err, "out of memory for the recording");
	while (!err && p < end) {
		size_t len = (size_t)(end - p);

		if (len > TEXT_MAX) {
			const char *nl = memrchr(p, '\n', TEXT_MAX);

			len = nl ? (size_t)(nl - p) + 1 : TEXT_MAX;
		}
		err = put_piece(w, type, p, len);
		p += len;
	}
	return err;
}

static int put_symbols(void *ctx, struct kmt_buf *text)
{
	if (text->error)
		return kmt_err(text->error, "out of memory for the recording");
	return put_piece(ctx, KMT_BLOCK_SYMBOLS, text->data, text->len);
}

static int put_slabs(struct kmt_writer *w, unsigned type, const struct kmt_slabs *slabs)
{
	struct kmt_buf text = { 0 };
	int err = 0;

	if (slabs) {
		kmt_slabs_store(slabs, &text);
		err = put_text(w, type, &text);
	}
	kmt_buf_clear(&text);
	if (slabs && !err) {
		kmt_slabs_store_bounds(slabs, &text);
		if (text.len || text.error)
			err = put_text(w, type == KMT_BLOCK_SLABS_START ? KMT_BLOCK_BOUNDS_START :
				       KMT_BLOCK_BOUNDS_END, &text);
	}
	kmt_buf_done(&text);
	return err;
}

/* What takes long and does not depend on when the recording begins. */
static int put_names(struct kmt_writer *w, const struct kmt_facts *facts)
{
	struct kmt_buf text = { 0 };
	int err = 0;

	if (facts->symbols)
		err = kmt_text_symbols(facts->symbols, &text, put_symbols, w);
	kmt_buf_clear(&text);
	if (!err && facts->gfp_names) {
		kmt_gfp_names_store(facts->gfp_names, &text);
		err = put_text(w, KMT_BLOCK_GFP, &text);
	}
	kmt_buf_done(&text);
	return err;
}

/* ---- blocks of events ---- */

static void set_limit(struct kmt_writer *w)
{
	uint64_t room = kmt_block_out_room(&w->file);
	uint64_t ring = w->file.ring_bytes / 4;

	w->limit = room < BLOCK_LIMIT ? room : BLOCK_LIMIT;
	if (ring && ring < w->limit)
		w->limit = ring > 2 * EVENT_MOST ? ring : 2 * EVENT_MOST;
	w->look_every = w->limit < BLOCK_LIMIT ? 1 : LOOK_EVERY;
}

static int put_columns(void *ctx, unsigned type, struct kmt_cols_out *cols)
{
	struct kmt_writer *w = ctx;
	int err = cols->out.error;

	if (err)
		kmt_err(err, "out of memory for the recording");
	else
		err = kmt_block_out_put(&w->file, type, KMT_CODEC_COLUMNS, cols->out.data,
					cols->out.len, cols->raw);
	kmt_cols_out_clear(cols);
	return err;
}

static int flush(struct kmt_writer *w)
{
	int err;

	if (!kmt_encoder_count(w->encoder))
		return 0;
	kmt_encoder_put(w->encoder, &w->cols);
	kmt_encoder_clear(w->encoder);
	err = put_columns(w, KMT_BLOCK_EVENT, &w->cols);
	set_limit(w);
	return err;
}

static bool is_full(const struct kmt_writer *w)
{
	return kmt_encoder_bound(w->encoder) + EVENT_MOST > w->limit;
}

/* Make room for one more event or loss. */
static int make_room(struct kmt_writer *w)
{
	size_t n = kmt_encoder_count(w->encoder);
	int err = 0;

	if (n == KMT_BLOCK_EVENTS || (n % w->look_every == 0 && is_full(w))) {
		err = flush(w);
		if (!err && is_full(w))
			err = kmt_err(-EFBIG, "'%s' has reached its maximum of %llu bytes",
				      w->file.name, (unsigned long long)w->file.max_bytes);
		n = 0;
	}
	if (!n)
		w->since_ns = now_ns();
	return err;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct kmt_writer *w = ctx;
	int err = make_room(w);

	return err ? err : kmt_encoder_event(w->encoder, ev);
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct kmt_writer *w = ctx;
	int err = make_room(w);

	return err ? err : kmt_encoder_lost(w->encoder, lost);
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct kmt_writer *w = ctx;

	return kmt_counted_set(&w->counted, snap);
}

/* ---- the interface ---- */

int kmt_writer_start(struct kmt_writer *w, const struct kmt_facts *facts)
{
	struct kmt_buf text = { 0 };
	uint64_t before;
	int err;

	w->opts.facts = facts;
	kmt_text_meta(&w->opts, &text);
	err = put_text(w, KMT_BLOCK_META, &text);
	before = w->file.end;
	if (!err)
		err = put_slabs(w, KMT_BLOCK_SLABS_START, facts->slabs_start);
	/* the caches at the end will be about as many */
	w->file.reserve = END_RESERVE + 2 * (w->file.end - before);
	kmt_buf_done(&text);
	kmt_block_out_begin_ring(&w->file);
	set_limit(w);
	return err;
}

void kmt_writer_free(struct kmt_writer *w)
{
	if (!w)
		return;
	kmt_block_out_done(&w->file);
	kmt_encoder_free(w->encoder);
	kmt_counted_done(&w->counted);
	kmt_cols_out_done(&w->cols);
	kmt_zip_free(w->zip);
	free(w);
}

static int begin(struct kmt_writer *w)
{
	static const struct kmt_facts none;
	const struct kmt_facts *facts = w->opts.facts ? w->opts.facts : &none;
	const struct kmt_behind_opts behind = {
		.fd = w->opts.fd, .has_places = w->opts.ring_bytes,
		.max_waiting = w->opts.behind_bytes, .hurry = w->opts.hurry,
		.ctx = w->opts.hurry_ctx,
	};
	int err = kmt_zip_new(&w->zip);

	w->cols.zip = w->zip;
	if (!err)
		err = kmt_encoder_new(&w->encoder);
	if (!err && behind.max_waiting)
		err = kmt_behind_new(&behind, &w->file.behind);
	if (!err)
		err = kmt_block_out_head(&w->file);
	if (!err)
		err = put_names(w, facts);
	if (!err && !w->opts.starts_later)
		err = kmt_writer_start(w, facts);
	return err;
}

int kmt_writer_new(const struct kmt_writer_opts *opts, struct kmt_writer **ret)
{
	struct kmt_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return kmt_err(-ENOMEM, "out of memory for the recording");
	w->opts = *opts;
	w->file = (struct kmt_block_out){
		.fd = opts->fd, .name = opts->name, .max_bytes = opts->max_bytes,
		.ring_bytes = opts->ring_bytes,
	};
	err = begin(w);
	if (err) {
		kmt_writer_free(w);
		return err;
	}
	*ret = w;
	return 0;
}

struct kmt_sink kmt_writer_sink(struct kmt_writer *w)
{
	return (struct kmt_sink){ .event = on_event, .lost = on_lost, .snapshot = on_snapshot,
				  .ctx = w };
}

int kmt_writer_tick(struct kmt_writer *w)
{
	if (!kmt_encoder_count(w->encoder) || now_ns() - w->since_ns < SECOND_NS)
		return 0;
	return flush(w);
}

uint64_t kmt_writer_bytes(const struct kmt_writer *w)
{
	return w->file.end;
}

int kmt_writer_end(struct kmt_writer *w, const struct kmt_facts *facts,
		   const struct kmt_quality *q)
{
	struct kmt_buf text = { 0 };
	int err = flush(w);

	kmt_block_out_end_ring(&w->file);
	if (!err && facts)
		err = put_slabs(w, KMT_BLOCK_SLABS_END, facts->slabs_end);
	if (!err && w->counted.is_set)
		err = kmt_counted_put(&w->counted, &w->cols, put_columns, w);
	kmt_text_quality(q, facts, &text);
	if (!err)
		err = put_text(w, KMT_BLOCK_QUALITY, &text);
	if (!err)
		err = kmt_block_out_put(&w->file, KMT_BLOCK_END, KMT_CODEC_RAW, "", 0, 0);
	kmt_buf_done(&text);
	return err ? err : kmt_block_out_wait(&w->file);
}
