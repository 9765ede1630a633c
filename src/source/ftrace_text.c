// SPDX-License-Identifier: GPL-2.0-only
/*
 * The text that tracing tools print: the files 'trace' and 'trace_pipe' of
 * tracefs, 'trace-cmd report' and 'perf script'. It is in order of time
 * already. A line that cannot be read is counted as lost input and skipped.
 *
 *   line ──► event ──► queue, until its stack came ──► filter ──► sink
 *
 * The queue is there only where stacks are wanted, or events whose call site is
 * nowhere else: pages, vmalloc areas, frees of per-CPU memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "source/caller.h"
#include "source/cpu_queue.h"
#include "source/ftrace_frames.h"
#include "source/ftrace_gfp.h"
#include "source/ftrace_line.h"
#include "source/legacy_filter.h"
#include "source/lines.h"
#include "source/pages.h"
#include "source/source.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"
#include "tracers/tracers.h"

#define BATCH		4096	/* lines looked at in one poll() */
#define QUEUE		64	/* events that can wait: kmt_cpu_queue's with stacks */
#define TRIM_LOOK	8	/* frames of tracing and allocator before the caller */

extern const struct kmt_source_ops kmt_source_ftrace_text;

/* Where a call site or a frame is, as far as its name says. */
struct place {
	uint64_t func;		/* hash of its name, 0 unknown */
	uint64_t off;
	bool has_off;
	bool has_addr;
};

/* What an event in the queue points at. */
struct waiting {
	struct place site;
	uint64_t site_addr;	/* among the frames' addresses; 0 unknown */
	char call_site_name[KMT_SYMBOL_TEXT + 80];
	char comm[KMT_FTRACE_COMM];
	char cache[256];
};

struct ftrace {
	struct kmt_source base;
	bool is_ours;			/* a line of such a text was found */
	bool stacks;			/* they are read */
	bool stacks_asked;		/* and handed on */
	bool stack_seen;
	bool is_hashed, is_old_gfp, is_named_gfp;
	uint64_t held_back;		/* bad lines before anything was ours */
	uint64_t lost[KMT_LOSS_MAX];
	bool lost_unknown;
	char first_bad[104];
	struct kmt_lines lines;
	struct kmt_ftrace_line line;
	struct kmt_legacy_filter filter;
	struct kmt_pages *pages;	/* NULL: user pages pass too */
	uint64_t n_user_pages;		/* and their frees: left out */
	struct kmt_facts facts;
	struct kmt_gfp_names *gfp_names, *gfp_names_old;
	/* with stacks */
	struct kmt_ftrace_frames frames;
	struct kmt_cpu_queue queue;
	struct kmt_caller caller;
	struct waiting *waiting;	/* one for each node of the queue */
	uint64_t stack_ctx;		/* whose frames come now */
	bool in_stack;
	size_t n_ips;
	uint64_t ips[KMT_NODE_IPS + TRIM_LOOK];
	struct place place[TRIM_LOOK];	/* of the first frames */
};

static struct ftrace *ftrace_of(struct kmt_source *src)
{
	return (struct ftrace *)src;
}

/* One line of ours, or one that only such a text has, among the first bytes. */
static bool ftrace_detect(const void *head, size_t len)
{
	const char *p = head, *end = p + len;
	struct kmt_ftrace_line *line = calloc(1, sizeof(*line));
	bool found = false;

	while (line && p < end && !found) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);
		enum kmt_ftrace_kind kind = kmt_ftrace_line_parse(line, (struct kmt_word){ p, n });

		/* the original's text, too, has ftrace's losses and stacks */
		found = kind == KMT_FTRACE_EVENT || kind == KMT_FTRACE_HEADER ||
			kind == KMT_FTRACE_OTHER || (kind == KMT_FTRACE_LOST && *p == '#');
		p += n + 1;
	}
	free(line);
	return found;
}

static int init_stacks(struct ftrace *f, const struct kmt_symbols *symbols)
{
	int err = kmt_ftrace_frames_init(&f->frames, symbols);

	if (!err)
		err = kmt_cpu_queue_init(&f->queue, true);
	if (err)
		return err;
	f->facts.symbols = f->frames.symbols;
	kmt_caller_init(&f->caller, f->frames.symbols);
	f->waiting = calloc(f->queue.cap, sizeof(*f->waiting));
	f->stacks = true;
	return f->waiting ? 0 : kmt_err(-ENOMEM, "out of memory for stacks");
}

static void ftrace_close(struct kmt_source *src)
{
	struct ftrace *f = ftrace_of(src);

	if (!f)
		return;
	kmt_lines_close(&f->lines);
	kmt_legacy_filter_done(&f->filter);
	kmt_ftrace_frames_done(&f->frames);
	kmt_cpu_queue_done(&f->queue);
	kmt_caller_done(&f->caller);
	kmt_pages_free(f->pages);
	kmt_gfp_names_free(f->gfp_names);
	kmt_gfp_names_free(f->gfp_names_old);
	free(f->waiting);
	free(f);
}

#define FROM_STACKS (KMT_TRACER_BIT(page) | KMT_TRACER_BIT(percpu) | KMT_TRACER_BIT(vmalloc))

static int ftrace_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	struct ftrace *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return kmt_err(-ENOMEM, "out of memory for reading '%s'", opts->path);
	f->base.ops = &kmt_source_ftrace_text;
	f->line.symbols = opts->symbols;
	f->lines.fd = -1;
	err = kmt_legacy_filter_init(&f->filter, opts->filter, opts->symbols);
	if (!err)
		err = kmt_ftrace_gfp_names(false, &f->gfp_names);
	if (!err)
		err = kmt_ftrace_gfp_names(true, &f->gfp_names_old);
	if (!err && !opts->user_pages && (opts->tracers & KMT_TRACER_BIT(page)))
		err = kmt_pages_new(false, &f->pages);
	f->stacks_asked = opts->want_stacks;
	if (!err && (opts->want_stacks || (opts->tracers & FROM_STACKS)))
		err = init_stacks(f, opts->symbols);
	if (!err)
		err = kmt_lines_open(&f->lines, opts->path);
	if (err) {
		ftrace_close(&f->base);
		return err;
	}
	f->facts.gfp_names = f->gfp_names;
	f->facts.kernel = f->line.kernel;
	*ret = &f->base;
	return 0;
}

/* ---- handing on ---- */

static int pass_lost(struct ftrace *f, const struct kmt_sink *sink, const struct kmt_lost *lost)
{
	f->lost[lost->reason] += lost->events;
	f->lost_unknown |= !lost->events;
	return sink->lost ? sink->lost(sink->ctx, lost) : 0;
}

/* 1: an event was handed on; 0: the filter has it; negative: the sink's error. */
static int pass_event(struct ftrace *f, const struct kmt_sink *sink, const struct kmt_event *ev)
{
	int err;

	if (f->pages && ev->type == KMT_TYPE_PAGES && !kmt_pages_pass(f->pages, ev)) {
		f->n_user_pages++;
		return 0;
	}
	err = kmt_legacy_filter_event(&f->filter, ev);
	if (err <= 0)
		return err;
	err = sink->event ? sink->event(sink->ctx, ev) : 0;
	return err ? err : 1;
}

static bool has_site(const struct kmt_event *ev)
{
	return ev->type <= KMT_TYPE_CACHE || ev->call_site || ev->call_site_name;
}

/* Out of the stack, by name as those that are printed in an event's own line. */
static void find_caller(struct ftrace *f, struct kmt_event *ev, struct waiting *w)
{
	struct kmt_symbol_text t = { 0 };
	struct kmt_symbol sym;

	if (has_site(ev))
		return;
	kmt_caller_fill(&f->caller, ev);
	if (!ev->call_site || !kmt_symbols_find_ret(f->frames.symbols, ev->call_site, &sym))
		return;
	snprintf(t.func, sizeof(t.func), "%s", sym.name);
	snprintf(t.module, sizeof(t.module), "%s", sym.module ? sym.module : "");
	t.has_off = !sym.no_start;
	t.off = t.has_off ? ev->call_site - sym.start : 0;
	if (!kmt_symbol_text_print(&t, w->call_site_name, sizeof(w->call_site_name)))
		return;
	ev->call_site = kmt_symbol_text_address(&t, f->line.symbols);
	ev->call_site_name = w->call_site_name;
}

/* The oldest of the queue. */
static int pass_head(struct ftrace *f, const struct kmt_sink *sink)
{
	struct kmt_node *node = kmt_cpu_queue_head(&f->queue);
	struct waiting *w = &f->waiting[node - f->queue.node];
	int err;

	if (node->awaits_stack)
		f->queue.lost_stacks++;
	if (node->kind == KMT_NODE_EVENT) {
		node->ev.cache = w->cache[0] ? w->cache : NULL;
		find_caller(f, &node->ev, w);
		if (!f->stacks_asked)
			node->ev.n_ips = 0;
		err = pass_event(f, sink, &node->ev);
	} else {
		const struct kmt_lost lost = {
			.reason = KMT_LOSS_RING, .cpu = node->ev.cpu, .events = node->lost,
			.ts_ns = node->ts_ns,
		};

		err = pass_lost(f, sink, &lost);
	}
	kmt_cpu_queue_pop(&f->queue);
	return err;
}

/* ---- stacks ---- */

static uint64_t context(const struct kmt_ftrace_prefix *pre)
{
	uint64_t h = kmt_hash_mix(pre->cpu, pre->pid);

	for (size_t i = 0; i < pre->flags.len; i++)
		h = kmt_hash_mix(h, (unsigned char)pre->flags.p[i]);
	return h;
}

static struct place place_of(const struct kmt_ftrace_line *l)
{
	if (!l->has_name)
		return (struct place){ 0 };
	return (struct place){
		.func = kmt_hash_str(1, l->name.func) | 1, .off = l->name.off,
		.has_off = l->name.has_off, .has_addr = l->frame_addr != 0,
	};
}

/* Before its caller stand frames of the tracer and of the allocator. */
static size_t frames_to_skip(struct ftrace *f, const struct waiting *w)
{
	for (size_t i = 0; w->site.func && i < f->n_ips && i < TRIM_LOOK; i++) {
		const struct place *p = &f->place[i];

		if (p->func != w->site.func ||
		    (p->has_off && w->site.has_off && p->off != w->site.off))
			continue;
		if (!p->has_off && !p->has_addr && w->site_addr)
			f->ips[i] = w->site_addr;	/* which knows the offset */
		return i;
	}
	return 0;
}

/* All frames are there. */
static void end_stack(struct ftrace *f)
{
	struct kmt_node *node = f->n_ips ? kmt_cpu_queue_awaiting(&f->queue, f->stack_ctx) : NULL;
	size_t skip;

	f->stack_seen |= f->n_ips > 0;
	if (node) {
		skip = frames_to_skip(f, &f->waiting[node - f->queue.node]);
		kmt_cpu_queue_stack(&f->queue, f->stack_ctx, f->ips + skip, f->n_ips - skip);
	}
	f->n_ips = 0;
	f->in_stack = false;
}

static int take_frame(struct ftrace *f)
{
	const struct kmt_ftrace_line *l = &f->line;
	int err;

	if (!f->in_stack || f->n_ips == sizeof(f->ips) / sizeof(f->ips[0]))
		return 0;
	err = kmt_ftrace_frames_address(&f->frames, l->has_name ? &l->name : NULL, l->frame_addr,
					&f->ips[f->n_ips]);
	if (err == -ENOSPC)
		return 0;
	if (f->n_ips < TRIM_LOOK)
		f->place[f->n_ips] = place_of(l);
	f->n_ips += !err;
	return err;
}

/* Whatever it is, it is not the stack of what came before in this context. */
static void begin_stack(struct ftrace *f, uint64_t ctx)
{
	f->stack_ctx = ctx;
	f->in_stack = true;
}

static void copy_strings(struct kmt_event *ev, struct waiting *w)
{
	if (ev->call_site_name) {
		snprintf(w->call_site_name, sizeof(w->call_site_name), "%s", ev->call_site_name);
		ev->call_site_name = w->call_site_name;
	}
	if (ev->comm) {
		snprintf(w->comm, sizeof(w->comm), "%s", ev->comm);
		ev->comm = w->comm;
	}
	snprintf(w->cache, sizeof(w->cache), "%s", ev->cache ? ev->cache : "");
	ev->cache = NULL;
}

static int push_event(struct ftrace *f)
{
	struct kmt_node *node = kmt_cpu_queue_push(&f->queue);
	struct waiting *w = &f->waiting[node - f->queue.node];
	int err = 0;

	node->ev = f->line.ev;
	copy_strings(&node->ev, w);
	w->site = place_of(&f->line);
	w->site_addr = 0;
	if (f->line.has_name)
		err = kmt_ftrace_frames_address(&f->frames, &f->line.name, 0, &w->site_addr);
	if (f->stacks_asked || !has_site(&node->ev))
		kmt_cpu_queue_await(&f->queue, context(&f->line.pre));
	else
		kmt_cpu_queue_other(&f->queue, context(&f->line.pre));
	begin_stack(f, context(&f->line.pre));	/* perf has no line that says so */
	return err == -ENOSPC ? 0 : err;
}

static void push_lost(struct ftrace *f)
{
	struct kmt_node *node;

	kmt_cpu_queue_give_up(&f->queue);
	node = kmt_cpu_queue_push(&f->queue);
	node->kind = KMT_NODE_LOST;
	node->ev.cpu = f->line.lost.cpu;
	node->lost = f->line.lost.events;
	node->ts_ns = f->line.lost.ts_ns;
}

/* ---- lines ---- */

static int pass_bad(struct ftrace *f, const struct kmt_sink *sink)
{
	const struct kmt_lost lost = {
		.reason = KMT_LOSS_INPUT, .cpu = UINT32_MAX, .events = 1,
	};

	return pass_lost(f, sink, &lost);
}

/* The file is ours: what could not be read so far is a loss, not the wrong kind of file. */
static int accept(struct ftrace *f, const struct kmt_sink *sink)
{
	int err = 0;

	f->is_ours = true;
	for (; f->held_back && !err; f->held_back--)
		err = pass_bad(f, sink);
	return err;
}

static int take_bad(struct ftrace *f, const struct kmt_sink *sink)
{
	if (!f->first_bad[0])
		snprintf(f->first_bad, sizeof(f->first_bad), "line %" PRIu64 ": %s",
			 f->lines.line_no, f->line.why);
	if (f->is_ours)
		return pass_bad(f, sink);
	f->held_back++;
	return 0;
}

/* Which names the flags are in: that of the first allocation that tells. */
static void learn(struct ftrace *f)
{
	const struct kmt_ftrace_line *l = &f->line;

	f->is_hashed |= l->is_hashed;
	if (l->ev.op != KMT_OP_ALLOC)
		return;
	f->is_old_gfp |= l->gfp.is_old;
	f->is_named_gfp |= l->gfp.is_named;
	if (f->is_old_gfp)
		f->facts.gfp_names = f->gfp_names_old;
	else
		f->facts.gfp_names = f->is_named_gfp || !l->gfp.number ? f->gfp_names : NULL;
}

static int take_queued(struct ftrace *f, const struct kmt_sink *sink, enum kmt_ftrace_kind kind)
{
	uint64_t ctx = context(&f->line.pre);
	int err = 0, n = 0;

	if (kind == KMT_FTRACE_FRAME)
		return take_frame(f);
	if (kind != KMT_FTRACE_NOTHING || !f->line.in_user_stack)
		end_stack(f);
	if (kind == KMT_FTRACE_STACK) {
		begin_stack(f, ctx);
		if (f->line.has_name || f->line.frame_addr)
			return take_frame(f);
	}
	if (kind == KMT_FTRACE_OTHER)
		kmt_cpu_queue_other(&f->queue, ctx);
	if (kind != KMT_FTRACE_EVENT && kind != KMT_FTRACE_LOST)
		return 0;
	while (!kmt_cpu_queue_has_room(&f->queue) && err >= 0) {
		err = pass_head(f, sink);
		n += err > 0;
	}
	if (err >= 0 && kind == KMT_FTRACE_LOST)
		push_lost(f);
	else if (err >= 0)
		err = push_event(f);
	return err < 0 ? err : n;
}

/* The number of events that were handed on, or the sink's error. */
static int take_line(struct ftrace *f, const struct kmt_sink *sink, struct kmt_word line)
{
	enum kmt_ftrace_kind kind = kmt_ftrace_line_parse(&f->line, line);
	int err = 0;

	if (!f->is_ours && kind != KMT_FTRACE_NOTHING && kind != KMT_FTRACE_BAD)
		err = accept(f, sink);
	if (!err && kind == KMT_FTRACE_BAD)
		err = take_bad(f, sink);
	if (err)
		return err;
	if (kind == KMT_FTRACE_EVENT)
		learn(f);
	if (f->stacks)
		return take_queued(f, sink, kind);
	if (kind == KMT_FTRACE_LOST)
		return pass_lost(f, sink, &f->line.lost);
	return kind == KMT_FTRACE_EVENT ? pass_event(f, sink, &f->line.ev) : 0;
}

/* No more lines, or none for now: nothing waits any longer. */
static int drain(struct ftrace *f, const struct kmt_sink *sink)
{
	int n = 0, err = 0;

	if (!f->stacks)
		return 0;
	end_stack(f);
	while (kmt_cpu_queue_head(&f->queue) && err >= 0) {
		err = pass_head(f, sink);
		n += err > 0;
	}
	return err < 0 ? err : n;
}

static int at_end(struct ftrace *f)
{
	if (f->is_ours)
		return -ENODATA;
	if (f->first_bad[0])
		return kmt_err(-EINVAL, "%s", f->first_bad);
	return kmt_err(-EINVAL, "line 1: no ftrace event, and none below it");
}

static int ftrace_poll(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms)
{
	struct ftrace *f = ftrace_of(src);
	int events = 0;

	for (int i = 0; i < BATCH; i++) {
		struct kmt_word line;
		int got = kmt_lines_next(&f->lines, events ? 0 : timeout_ms, &line), n;

		if (got > 0) {
			n = take_line(f, sink, line);
		} else {
			n = drain(f, sink);
			if (n <= 0 && !events && got)
				return n ? n : got == -ENODATA ? at_end(f) : got;
		}
		if (n < 0)
			return n;
		events += n;
		if (got <= 0)
			break;		/* an error comes again the next time */
	}
	return events;
}

static void ftrace_quality(struct kmt_source *src, struct kmt_quality *q)
{
	struct ftrace *f = ftrace_of(src);

	snprintf(q->source, sizeof(q->source), "%s", f->base.ops->name);
	snprintf(q->mode, sizeof(q->mode), "streamed");
	for (unsigned i = 0; i < KMT_LOSS_MAX; i++)
		q->lost[i] = f->lost[i];
	q->lost[KMT_LOSS_OBJECTS] += f->filter.untracked;
	/* a text without stacks has lost none, unless that is what was asked for */
	if (f->stacks_asked || f->stack_seen)
		q->lost[KMT_LOSS_STACKS] += f->queue.lost_stacks;
	q->lost_unknown = f->lost_unknown;
	q->filtered = f->filter.rejected + f->n_user_pages;
	q->unknown_tasks = f->filter.unknown_tasks;
	q->hashed_addresses = f->is_hashed;
	snprintf(q->kernel, sizeof(q->kernel), "%s", f->line.kernel);
	snprintf(q->first_bad, sizeof(q->first_bad), "%s", f->first_bad);
}

static const struct kmt_facts *ftrace_facts(struct kmt_source *src)
{
	return &ftrace_of(src)->facts;
}

const struct kmt_source_ops kmt_source_ftrace_text = {
	.name	 = "ftrace",
	.late_symbols = true,
	.help	 = "text of tracefs's trace and trace_pipe, 'trace-cmd report', 'perf script'",
	.detect	 = ftrace_detect,
	.open	 = ftrace_open,
	.poll	 = ftrace_poll,
	.quality = ftrace_quality,
	.facts	 = ftrace_facts,
	.close	 = ftrace_close,
};
