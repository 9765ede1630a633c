// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/names.h"
#include "eventfmt/eventfmt.h"
#include "store/recent.h"
#include "symbol/nodes.h"

#define AT_ONCE 256	/* events that are decoded together */

/* ---- events to lines ---- */

struct printer {
	const struct kmt_eventfmt *format;
	struct kmt_eventfmt_opts opts;
	const struct kmt_nodes *nodes;	/* NULL: real nodes are not asked for, or unknown */
	struct kmt_buf *out;
	size_t skip_events, skip_losts;	/* of the chunk: not printed */
};

static int print_event(void *ctx, const struct kmt_event *ev)
{
	struct printer *p = ctx;
	struct kmt_event with_node;

	if (p->skip_events) {
		p->skip_events--;
		return 0;
	}
	if (p->nodes && ev->real_node < 0 && ev->addr) {
		with_node = *ev;
		with_node.real_node = (int16_t)kmt_nodes_of(p->nodes, ev->addr);
		ev = &with_node;
	}
	p->format->event(&p->opts, ev, p->out);
	return p->out->error;
}

static int print_lost(void *ctx, const struct kmt_lost *lost)
{
	struct printer *p = ctx;

	if (p->skip_losts) {
		p->skip_losts--;
		return 0;
	}
	p->format->lost(&p->opts, lost, p->out);
	return p->out->error;
}

static void printer_set(struct printer *p, const struct kmt_look *look,
			const struct kmt_names *names)
{
	p->format = kmt_eventfmt_find(look->table ? "table" : "default");
	p->opts = (struct kmt_eventfmt_opts){
		.gfp = look->gfp, .time = look->time, .cache = look->cache,
		.real_node = look->real_node, .stacks = look->stacks,
		.symbols = names ? names->symbols : NULL,
		.gfp_names = names ? names->gfp_names : NULL,
	};
	p->nodes = look->real_node && names ? names->nodes : NULL;
}

static struct kmt_sink printer_sink(struct printer *p)
{
	return (struct kmt_sink){ .event = print_event, .lost = print_lost, .ctx = p };
}

/* ---- the text ---- */

/* Lines that are at hand; part 0 is the head, part i + 1 is chunk i. */
struct rendered {
	size_t part;
	struct kmt_buf lines;
	bool is_set;
};

struct kmt_text {
	struct kmt_names *names;
	struct kmt_chunk **chunks;
	struct kmt_chunk_reader *reader;
	struct printer printer;
	uint64_t *end;			/* of each part, as far as they are known */
	size_t n_parts, n_known;
	struct rendered head;
	struct rendered at_hand[2];	/* two, for reads at a border may come out of order */
	unsigned oldest;		/* of both */
};

void kmt_text_free(struct kmt_text *t)
{
	if (!t)
		return;
	kmt_chunks_drop(t->chunks, t->n_parts - 1);
	kmt_chunk_reader_free(t->reader);
	kmt_names_drop(t->names);
	kmt_buf_done(&t->head.lines);
	for (int i = 0; i < 2; i++)
		kmt_buf_done(&t->at_hand[i].lines);
	free(t->end);
	free(t);
}

/* The core's two lines, then the tracer's own. */
static void add_head(struct kmt_text *t, const char *tracer, struct kmt_buf *out)
{
	kmt_buf_printf(out, "# tracer: %s\n#\n", tracer);
	if (strcmp(tracer, "nop") && t->printer.format->header)
		t->printer.format->header(&t->printer.opts, out);
}

int kmt_text_new(struct kmt_recent *kept, const struct kmt_look *look, const char *tracer,
		 struct kmt_names *names, struct kmt_text **ret)
{
	struct kmt_text *t = calloc(1, sizeof(*t));
	size_t n;
	int err;

	if (!t)
		return kmt_err_errno(-ENOMEM, "trace");
	t->n_parts = 1;
	t->names = names ? kmt_names_get(names) : NULL;
	err = kmt_chunk_reader_new(&t->reader);
	if (!err)
		err = kmt_recent_hold(kept, &t->chunks, &n);
	if (!err) {
		t->n_parts = n + 1;
		t->end = calloc(t->n_parts, sizeof(*t->end));
		printer_set(&t->printer, look, names);
		add_head(t, tracer, &t->head.lines);
		if (!t->end || t->head.lines.error)
			err = kmt_err_errno(-ENOMEM, "trace");
	}
	if (err) {
		kmt_text_free(t);
		return err;
	}
	t->end[0] = t->head.lines.len;
	t->n_known = 1;
	*ret = t;
	return 0;
}

static int render_chunk(struct kmt_text *t, const struct kmt_chunk *c, struct kmt_buf *out)
{
	const struct kmt_sink sink = printer_sink(&t->printer);
	int n;

	t->printer.out = out;
	n = kmt_chunk_reader_open(t->reader, c);
	while (!n && (n = kmt_chunk_reader_run(t->reader, &sink, AT_ONCE)) > 0)
		n = 0;
	if (!n && out->error)
		n = kmt_err_errno(-ENOMEM, "trace");
	return n;
}

/* The part's lines. */
static int render(struct kmt_text *t, size_t part, struct rendered **ret)
{
	struct rendered *r = &t->head;
	int err;

	for (int i = 0; part && i < 2; i++) {
		if (t->at_hand[i].is_set && t->at_hand[i].part == part) {
			t->oldest = !i;
			*ret = &t->at_hand[i];
			return 0;
		}
	}
	if (!part) {
		*ret = r;
		return 0;
	}
	r = &t->at_hand[t->oldest];
	r->is_set = false;
	kmt_buf_clear(&r->lines);
	err = render_chunk(t, t->chunks[part - 1], &r->lines);
	if (err)
		return err;
	r->is_set = true;
	r->part = part;
	t->oldest = !t->oldest;
	if (part == t->n_known) {
		t->end[part] = t->end[part - 1] + r->lines.len;
		t->n_known++;
	}
	*ret = r;
	return 0;
}

static uint64_t begin_of(const struct kmt_text *t, size_t part)
{
	return part ? t->end[part - 1] : 0;
}

/* The part with this offset; n_parts: it lies behind the end. */
static int find_part(struct kmt_text *t, uint64_t offset, size_t *ret)
{
	struct rendered *r;
	size_t low = 0, high;

	while (t->n_known < t->n_parts && t->end[t->n_known - 1] <= offset) {
		int err = render(t, t->n_known, &r);

		if (err)
			return err;
	}
	for (high = t->n_known; low < high;) {
		size_t middle = (low + high) / 2;

		if (t->end[middle] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = low < t->n_known ? low : t->n_parts;
	return 0;
}

ssize_t kmt_text_read(struct kmt_text *t, char *out, size_t size, uint64_t offset)
{
	size_t done = 0, part;
	int err = find_part(t, offset, &part);

	while (!err && done < size && part < t->n_parts) {
		struct rendered *r;
		size_t from, len;

		err = render(t, part, &r);
		if (err)
			break;
		from = (size_t)(offset + done - begin_of(t, part));
		len = r->lines.len - from;
		len = len < size - done ? len : size - done;
		if (len)
			memcpy(out + done, r->lines.data + from, len);
		done += len;
		part++;
	}
	return done ? (ssize_t)done : err;
}

/* ---- the pipe ---- */

struct kmt_pipe {
	struct kmt_chunk_reader *reader;
	struct kmt_recent_place place;
	struct kmt_chunk *chunk;	/* of which the reader is in the middle */
	struct printer printer;
	struct kmt_buf lines;
	size_t at;			/* what is read of 'lines' */
	uint64_t missed;
};

int kmt_pipe_new(struct kmt_pipe **ret)
{
	struct kmt_pipe *p = calloc(1, sizeof(*p));

	if (!p)
		return kmt_err_errno(-ENOMEM, "trace_pipe");
	*ret = p;
	return 0;
}

void kmt_pipe_clear(struct kmt_pipe *p)
{
	kmt_chunk_drop(take_ptr(p->chunk));
	kmt_buf_clear(&p->lines);
	p->at = 0;
}

void kmt_pipe_free(struct kmt_pipe *p)
{
	if (!p)
		return;
	kmt_pipe_clear(p);
	kmt_chunk_reader_free(p->reader);
	kmt_buf_done(&p->lines);
	free(p);
}

uint64_t kmt_pipe_missed(const struct kmt_pipe *p)
{
	return p->missed;
}

static void tell_missed(struct kmt_pipe *p, uint64_t events)
{
	const struct kmt_lost lost = {
		.reason = KMT_LOSS_RING, .cpu = UINT32_MAX, .events = events,
	};

	if (!events)
		return;
	p->missed += events;
	p->printer.format->lost(&p->printer.opts, &lost, &p->lines);
}

/* The next chunk: 1, 0 there is none. */
static int next_chunk(struct kmt_pipe *p, struct kmt_recent *kept)
{
	struct kmt_recent_part part;
	int err = p->reader ? 0 : kmt_chunk_reader_new(&p->reader);

	if (!err)
		err = kmt_recent_next(kept, &p->place, &part);
	if (err <= 0)
		return err;
	p->chunk = part.chunk;
	p->printer.skip_events = part.skip_events;
	p->printer.skip_losts = part.skip_losts;
	tell_missed(p, part.missed);
	err = kmt_chunk_reader_open(p->reader, p->chunk);
	return err ? err : 1;
}

/* Lines into the buffer, which is empty: 1, 0 there are none now. */
static int more_lines(struct kmt_pipe *p, struct kmt_recent *kept)
{
	const struct kmt_sink sink = printer_sink(&p->printer);

	kmt_buf_clear(&p->lines);
	p->at = 0;
	p->printer.out = &p->lines;
	while (!p->lines.len) {
		int n = p->chunk ? 1 : next_chunk(p, kept);

		if (n > 0)
			n = kmt_chunk_reader_run(p->reader, &sink, AT_ONCE);
		else if (!n)
			return 0;
		if (p->lines.error)
			n = kmt_err_errno(-ENOMEM, "trace_pipe");
		if (n < AT_ONCE)
			kmt_chunk_drop(take_ptr(p->chunk));
		if (n < 0)
			return n;
	}
	return 1;
}

/* As much of 'len' bytes as fits into 'size', up to the end of a line. */
static size_t whole_lines(const char *lines, size_t len, size_t size)
{
	const char *end = len <= size ? lines + len - 1 : memrchr(lines, '\n', size);

	return end ? (size_t)(end - lines) + 1 : 0;
}

ssize_t kmt_pipe_read(struct kmt_pipe *p, struct kmt_recent *kept, const struct kmt_look *look,
		      const struct kmt_names *names, char *out, size_t size)
{
	size_t done = 0;

	printer_set(&p->printer, look, names);
	while (done < size) {
		size_t len;

		if (p->at == p->lines.len) {
			int n = more_lines(p, kept);

			if (n <= 0)
				return done ? (ssize_t)done : n;
		}
		len = whole_lines(p->lines.data + p->at, p->lines.len - p->at, size - done);
		if (!len && !done)
			len = size;
		if (!len)
			break;
		memcpy(out + done, p->lines.data + p->at, len);
		p->at += len;
		done += len;
	}
	return (ssize_t)done;
}

bool kmt_pipe_ready(const struct kmt_pipe *p, struct kmt_recent *kept)
{
	return p->at < p->lines.len || p->chunk || kmt_recent_has_next(kept, &p->place);
}
