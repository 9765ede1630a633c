// SPDX-License-Identifier: GPL-2.0-only
#include "store/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/event.h"
#include "core/facts.h"
#include "core/quality.h"
#include "core/sat.h"
#include "store/columns.h"
#include "store/counted.h"
#include "store/decode.h"
#include "store/reader.h"
#include "store/text.h"
#include "store/zip.h"
#include "symbol/gfp.h"
#include "symbol/slabs.h"
#include "symbol/symbols.h"

#define MAX_SYMBOLS	(256u << 20)	/* text of kallsyms; a real one has 6 to 20 MiB */
#define MAX_TEXT	(32u << 20)	/* gfp names, slab caches */

struct kmt_recording {
	struct kmt_reader *reader;
	struct kmt_zip *zip;
	struct kmt_decoder *decoder;
	struct kmt_cols cols;		/* of counted blocks */
	struct kmt_counted_in counted;
	char *raw;			/* one block of text, unpacked */
	struct kmt_buf symbols, gfp, slabs_start, slabs_end;	/* so far */
	struct kmt_buf bounds_start, bounds_end;
	struct kmt_facts facts;
	struct kmt_text_names names;
	struct kmt_quality quality;
	struct kmt_symbols *own_symbols;
	struct kmt_gfp_names *own_gfp;
	struct kmt_slabs *own_start, *own_end;
	struct kmt_reader_block next;	/* the first block behind the facts */
	bool has_next;
	bool is_finished, is_over;
	bool in_events, counted_ended, has_counted;
	uint64_t gaps;			/* found, of which */
	uint64_t gaps_told;
	bool lacks_beginning;		/* older blocks of a ring were written over */
	bool beginning_told;
	uint64_t told[KMT_LOSS_MAX];
	uint64_t events;
};

bool kmt_recording_detect(const void *head, size_t len)
{
	return kmt_reader_is_head(head, len);
}

void kmt_recording_free(struct kmt_recording *r)
{
	if (!r)
		return;
	kmt_reader_free(r->reader);
	kmt_decoder_free(r->decoder);
	kmt_cols_done(&r->cols);
	kmt_counted_in_done(&r->counted);
	free(r->raw);
	kmt_buf_done(&r->symbols);
	kmt_buf_done(&r->gfp);
	kmt_buf_done(&r->slabs_start);
	kmt_buf_done(&r->slabs_end);
	kmt_buf_done(&r->bounds_start);
	kmt_buf_done(&r->bounds_end);
	kmt_symbols_free(r->own_symbols);
	kmt_gfp_names_free(r->own_gfp);
	kmt_slabs_free(r->own_start);
	kmt_slabs_free(r->own_end);
	kmt_zip_free(r->zip);
	free(r);
}

const struct kmt_facts *kmt_recording_facts(const struct kmt_recording *r)
{
	return &r->facts;
}

const char *kmt_recording_source(const struct kmt_recording *r)
{
	return r->names.source;
}

/* ---- blocks of text ---- */

/*
 * The text of a block, borrowed until the next one. -EBADMSG: it does not
 * unpack; -ENOMEM. No text.
 */
static int text_of(struct kmt_recording *r, const struct kmt_reader_block *b, const char **ret,
		   size_t *ret_len)
{
	int err;

	if (b->head.codec == KMT_CODEC_RAW) {
		*ret = (const char *)b->payload;
		*ret_len = b->head.stored_len;
		return 0;
	}
	if (b->head.codec != KMT_CODEC_ZSTD)
		return -EBADMSG;
	free(r->raw);
	r->raw = malloc((size_t)b->head.raw_len + 1);
	if (!r->raw)
		return -ENOMEM;
	err = kmt_zip_unpack(r->zip, b->payload, b->head.stored_len, r->raw, b->head.raw_len);
	*ret = r->raw;
	*ret_len = b->head.raw_len;
	return err;
}

static int add_text(struct kmt_recording *r, const struct kmt_reader_block *b, struct kmt_buf *to)
{
	const char *text = NULL;
	size_t len = 0;
	int err = text_of(r, b, &text, &len);

	if (err)
		return err;
	if (len + to->len > MAX_TEXT)
		return -EBADMSG;
	kmt_buf_add(to, text, len);
	return to->error;
}

static int add_symbols(struct kmt_recording *r, const struct kmt_reader_block *b)
{
	const char *text = NULL;
	size_t len = 0;
	int err = text_of(r, b, &text, &len);

	if (err)
		return err;
	kmt_buf_reserve(&r->symbols, 2 * len);	/* each line gets its whole address */
	if (r->symbols.len > MAX_SYMBOLS || !kmt_text_parse_symbols(text, len, &r->symbols))
		return -EBADMSG;
	return r->symbols.error;
}

static int add_lines(struct kmt_recording *r, const struct kmt_reader_block *b)
{
	const char *text = NULL;
	size_t len = 0;
	int err = text_of(r, b, &text, &len);

	if (err)
		return err;
	if (b->head.type == KMT_BLOCK_META) {
		kmt_text_parse_meta(text, len, &r->names, &r->facts);
	} else {
		kmt_text_parse_quality(text, len, &r->quality, &r->facts);
	}
	return 0;
}

/* Blocks are missing. Before the first of a ring's that is what a ring is about. */
static void note_gap(struct kmt_recording *r)
{
	if (kmt_reader_is_ring(r->reader) && !r->lacks_beginning && !r->gaps && !r->events)
		r->lacks_beginning = true;
	else
		r->gaps++;
}

/* What cannot be read counts as a gap; only memory is an error. */
static int or_gap(struct kmt_recording *r, int err)
{
	if (err == -ENOMEM)
		return kmt_err(err, "out of memory for reading");
	r->gaps += err != 0;
	return 0;
}

/* The list of a moment, with its bounds, which older recordings do not have. */
static int make_slabs(struct kmt_recording *r, const struct kmt_buf *list,
		      const struct kmt_buf *bounds, struct kmt_slabs **ret)
{
	int err = 0;

	if (list->len && !*ret)
		err = or_gap(r, kmt_slabs_parse(list->data, list->len, "caches of the recording",
						ret));
	if (!err && bounds->len && *ret)
		err = or_gap(r, kmt_slabs_parse_bounds(bounds->data, bounds->len,
						       "bounds of the recording", *ret));
	return err;
}

/* Everything before the first event is there: make what analyses use. */
static int finish_facts(struct kmt_recording *r)
{
	int err = 0;

	if (r->symbols.len && !r->own_symbols) {
		size_t len = r->symbols.len;

		err = or_gap(r, kmt_symbols_take(kmt_buf_take(&r->symbols), len,
						 "symbols of the recording", &r->own_symbols));
	}
	if (!err && r->gfp.len && !r->own_gfp)
		err = or_gap(r, kmt_gfp_names_parse(r->gfp.data, r->gfp.len, &r->own_gfp));
	if (!err)
		err = make_slabs(r, &r->slabs_start, &r->bounds_start, &r->own_start);
	r->facts.symbols = r->own_symbols;
	r->facts.gfp_names = r->own_gfp;
	r->facts.slabs_start = r->own_start;
	kmt_buf_done(&r->symbols);
	kmt_buf_done(&r->gfp);
	kmt_buf_done(&r->slabs_start);
	kmt_buf_done(&r->bounds_start);
	return err;
}

static int finish_end(struct kmt_recording *r)
{
	int err = make_slabs(r, &r->slabs_end, &r->bounds_end, &r->own_end);

	r->facts.slabs_end = r->own_end;
	kmt_buf_done(&r->slabs_end);
	kmt_buf_done(&r->bounds_end);
	return err;
}

/* ---- facts, at the beginning ---- */

static bool is_fact(unsigned type)
{
	return type == KMT_BLOCK_META || type == KMT_BLOCK_SYMBOLS || type == KMT_BLOCK_GFP ||
	       type == KMT_BLOCK_SLABS_START || type == KMT_BLOCK_BOUNDS_START;
}

static int take_fact(struct kmt_recording *r, const struct kmt_reader_block *b)
{
	switch (b->head.type) {
	case KMT_BLOCK_META:
		return or_gap(r, add_lines(r, b));
	case KMT_BLOCK_SYMBOLS:
		return or_gap(r, add_symbols(r, b));
	case KMT_BLOCK_GFP:
		return or_gap(r, add_text(r, b, &r->gfp));
	case KMT_BLOCK_BOUNDS_START:
		return or_gap(r, add_text(r, b, &r->bounds_start));
	default:
		return or_gap(r, add_text(r, b, &r->slabs_start));
	}
}

static int read_facts(struct kmt_recording *r)
{
	for (;;) {
		int res = kmt_reader_next(r->reader, -1, &r->next), err = 0;

		if (res < 0)
			return res;
		if (res == KMT_READ_BLOCK && is_fact(r->next.head.type)) {
			err = take_fact(r, &r->next);
		} else if (res == KMT_READ_GAP) {
			note_gap(r);
		} else if (res != KMT_READ_WAIT) {
			r->has_next = res == KMT_READ_BLOCK;
			return finish_facts(r);
		}
		if (err)
			return err;
	}
}

int kmt_recording_new(int fd, struct kmt_recording **ret)
{
	struct kmt_recording *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return kmt_err(-ENOMEM, "out of memory for reading");
	err = kmt_reader_new(fd, &r->reader);
	if (!err)
		err = kmt_zip_new(&r->zip);
	if (!err)
		err = kmt_decoder_new(r->zip, &r->decoder);
	if (!err)
		err = read_facts(r);
	if (err) {
		kmt_recording_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

/* ---- events ---- */

static int tell_lost(struct kmt_recording *r, const struct kmt_sink *sink,
		     const struct kmt_lost *lost)
{
	r->told[lost->reason] = kmt_sat_add(r->told[lost->reason],
					    lost->events ? lost->events : 1);
	return sink->lost ? sink->lost(sink->ctx, lost) : 0;
}

/* Each gap is a loss of unknown size. */
static int tell_gaps(struct kmt_recording *r, const struct kmt_sink *sink)
{
	const struct kmt_lost beginning = { .reason = KMT_LOSS_BEGINNING, .cpu = UINT32_MAX };
	const struct kmt_lost lost = { .reason = KMT_LOSS_INPUT, .cpu = UINT32_MAX };
	int err = 0;

	if (r->lacks_beginning && !r->beginning_told) {
		r->beginning_told = true;
		err = sink->lost ? sink->lost(sink->ctx, &beginning) : 0;
	}
	while (!err && r->gaps_told < r->gaps) {
		r->gaps_told++;
		err = sink->lost ? sink->lost(sink->ctx, &lost) : 0;
	}
	return err;
}

struct lost_ctx {
	struct kmt_recording *r;
	const struct kmt_sink *sink;
};

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct lost_ctx *c = ctx;

	return tell_lost(c->r, c->sink, lost);
}

static int run_events(struct kmt_recording *r, const struct kmt_sink *events,
		      const struct kmt_sink *sink)
{
	struct lost_ctx ctx = { r, sink };
	const struct kmt_sink losts = { .lost = on_lost, .ctx = &ctx };
	int n = kmt_decoder_run(r->decoder, events, &losts, (int)KMT_BLOCK_EVENTS);

	if (n > 0)
		r->events += (uint64_t)n;
	else
		r->in_events = false;
	return n;
}

static int take_counted(struct kmt_recording *r, const struct kmt_reader_block *b,
			const struct kmt_sink *sink)
{
	struct kmt_snapshot snap;
	uint64_t missing = 0;
	int err = kmt_cols_parse(&r->cols, r->zip, b->payload, &b->head);

	if (r->counted_ended)
		kmt_counted_in_clear(&r->counted);	/* a later snapshot begins */
	r->counted_ended = false;
	if (!err && b->head.type != KMT_BLOCK_COUNTED)
		err = kmt_counted_in_add(&r->counted, &r->cols);
	if (err || b->head.type != KMT_BLOCK_COUNTED)
		return or_gap(r, err);
	err = kmt_counted_in_end(&r->counted, &r->cols, &snap, &missing);
	if (err)
		return or_gap(r, err);
	r->gaps += missing != 0;
	r->counted_ended = true;
	r->has_counted = true;
	return sink->snapshot ? sink->snapshot(sink->ctx, &snap) : 0;
}

static int take_block(struct kmt_recording *r, const struct kmt_reader_block *b,
		      const struct kmt_sink *sink)
{
	int err;

	switch (b->head.type) {
	case KMT_BLOCK_EVENT:
		err = kmt_decoder_block(r->decoder, b->payload, &b->head);
		r->in_events = !err;
		return or_gap(r, err);
	case KMT_BLOCK_COUNTED:
	case KMT_BLOCK_COUNTED_SITES:
	case KMT_BLOCK_COUNTED_OBJECTS:
		return take_counted(r, b, sink);
	case KMT_BLOCK_SLABS_END:
		return or_gap(r, add_text(r, b, &r->slabs_end));
	case KMT_BLOCK_BOUNDS_END:
		return or_gap(r, add_text(r, b, &r->bounds_end));
	case KMT_BLOCK_QUALITY:
		return or_gap(r, add_lines(r, b));
	case KMT_BLOCK_END:
		r->is_finished = true;
		return 0;
	default:
		return 0;	/* of a later version, or facts where none belong */
	}
}

static int take_end(struct kmt_recording *r, const struct kmt_sink *sink)
{
	int err;

	if (r->is_over)
		return -ENODATA;
	r->is_over = true;
	err = finish_end(r);
	if (!r->is_finished)
		r->gaps++;	/* whoever wrote it did not come to its end */
	if (!err)
		err = tell_gaps(r, sink);
	return err ? err : -ENODATA;
}

int kmt_recording_poll(struct kmt_recording *r, const struct kmt_sink *events,
		       const struct kmt_sink *sink, int timeout_ms)
{
	while (!r->is_over) {
		struct kmt_reader_block b = r->next;
		int res = KMT_READ_BLOCK, n;

		n = r->in_events ? run_events(r, events, sink) : 0;
		if (n)
			return n;
		if (!r->has_next)
			res = r->is_finished ? KMT_READ_END :
			      kmt_reader_next(r->reader, timeout_ms, &b);
		r->has_next = false;
		if (res < 0)
			return res;
		if (res == KMT_READ_WAIT)
			return 0;
		if (res == KMT_READ_END)
			break;
		if (res == KMT_READ_GAP)
			note_gap(r);
		else
			n = take_block(r, &b, sink);
		if (!n)
			n = tell_gaps(r, sink);
		if (n)
			return n;
	}
	return take_end(r, sink);
}

void kmt_recording_quality(const struct kmt_recording *r, bool is_part, struct kmt_quality *q)
{
	*q = r->quality;
	snprintf(q->source, sizeof(q->source), "%.10s%s%.10s%s", "kmt",
		 r->names.source[0] ? " (" : "", r->names.source, r->names.source[0] ? ")" : "");
	if (!q->mode[0])
		snprintf(q->mode, sizeof(q->mode), "%s",
			 r->has_counted && !r->events ? "counted" : "streamed");
	if (!q->kernel[0])
		snprintf(q->kernel, sizeof(q->kernel), "%.71s", r->names.kernel);
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		if (q->lost[i] < r->told[i])
			q->lost[i] = r->told[i];
	q->lost[KMT_LOSS_INPUT] = kmt_sat_add(q->lost[KMT_LOSS_INPUT], r->gaps);
	q->lost[KMT_LOSS_BEGINNING] = kmt_sat_add(q->lost[KMT_LOSS_BEGINNING],
						  r->lacks_beginning);
	q->lost_unknown |= r->gaps || r->lacks_beginning;
	if (r->events)
		q->events = r->events;
	if (!is_part && !kmt_reader_is_ring(r->reader))
		return;
	/* of the whole run: the reader's own counts are those of the part */
	q->frees_before_start = q->given_up_before_start = 0;
	q->untraced_frees = q->failed_allocations = q->null_frees = 0;
	if (kmt_reader_is_ring(r->reader))
		q->window_ns = 0;
}
