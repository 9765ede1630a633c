// SPDX-License-Identifier: GPL-2.0-only
/*
 * The buffer that a kernel filled from its boot on, into a recording.
 *
 *   mapped pages (Linux 6.10 on)		everything, and the buffer stays
 *   the text of 'trace'			the buffer stays; times in microseconds
 *   pages taken out, only with --clear	everything, and the buffer is empty then
 */
#include "cmd/from_boot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/feed.h"
#include "cmd/live.h"
#include "cmd/machine.h"
#include "cmd/progress.h"
#include "cmd/recorder.h"
#include "cmd/select.h"
#include "core/facts.h"
#include "core/window.h"
#include "source/boot.h"
#include "source/kmalloc_names.h"
#include "source/slab_names.h"
#include "source/tracefs_dir.h"
#include "symbol/nodes.h"
#include "symbol/slabs.h"
#include "tracers/tracers.h"

#define SEC 1000000000ull

struct boot {
	const struct kmt_from_boot *o;
	struct kmt_tracefs_dir tracefs;
	struct kmt_boot_line line;
	struct kmt_boot_buffer buffer;
	char dir[400], text[420];	/* of the buffer; its file 'trace' */
	bool is_text;
	struct kmt_machine machine;
	struct kmt_facts facts;
	struct kmt_slabs *slabs_start, *slabs_end;
	struct kmt_nodes *nodes;
	struct kmt_run run;
	struct kmt_recorder recorder;
	/* on the way from the source to the file */
	struct kmt_slab_names *slab_names;
	struct kmt_kmalloc_names *names;	/* of a text's events */
	struct kmt_kmalloc_gfp gfp;
	struct kmt_sink out;
};

/* ---- what there is ---- */

static int impossible(void)
{
	return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
}

static int find_buffer(struct boot *b)
{
	const struct kmt_select *s = b->o->select;

	if (!kmt_boot_line_running(&b->line))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "this kernel was not booted with events of "
				    "its memory: 'kmemtrace boot' prints the options that do so");
	if (s->tracer && (s->tracers & ~b->line.tracers))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "--tracer: this boot did not record all of "
				    "'%s' (%s)", s->tracer, b->line.options);
	if (kmt_tracefs_dir_open(&b->tracefs) ||
	    kmt_boot_dir(&b->tracefs, b->line.instance, b->dir, sizeof(b->dir)))
		return impossible();
	snprintf(b->text, sizeof(b->text), "%s/trace", b->dir);
	if (b->o->stop && kmt_boot_stop(b->dir, b->line.tracers))
		return impossible();
	if (kmt_boot_buffer_look(b->dir, &b->buffer))
		return impossible();
	if (!kmt_boot_clock_has_time(b->buffer.clock))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "the boot buffer's clock '%s' counts no "
				    "time: boot with trace_clock=mono", b->buffer.clock);
	if (!b->buffer.entries)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "the boot buffer is empty: it was taken out "
				    "or cleared");
	return 0;
}

/*
 * At power-on there was no object: the kernel's counts then, so that what the
 * events tell can be compared with all there is.
 */
static int nothing_yet(const struct kmt_slabs *now, struct kmt_slabs **ret)
{
	_cleanup_(kmt_buf_done) struct kmt_buf text = { 0 };

	for (size_t i = 0; i < kmt_slabs_count(now); i++) {
		const struct kmt_slab *s = kmt_slabs_at(now, i);

		kmt_buf_printf(&text, "0 0 %u %u %s\n", s->object_size, s->objs_per_slab, s->name);
	}
	if (text.error)
		return kmt_err(text.error, "out of memory");
	return kmt_slabs_parse(kmt_buf_str(&text), text.len, "slabs", ret);
}

/* The kernel's own counts, and right after them the moment at which the events end. */
static int ask_machine(struct boot *b)
{
	struct kmt_facts *f = &b->facts;

	kmt_machine_ask(&b->machine, b->o->argv, NULL);
	kmt_machine_facts(&b->machine, f);
	if (kmt_slabs_load(NULL, &b->slabs_end))
		kmt_cmd_warn("%s; nothing can be set against the events", kmt_err_text());
	else if (nothing_yet(b->slabs_end, &b->slabs_start))
		return impossible();
	if (kmt_nodes_load(NULL, &b->nodes))
		kmt_cmd_warn("%s; real nodes are unknown", kmt_err_text());
	kmt_boot_buffer_done(&b->buffer);
	if (kmt_boot_buffer_look(b->dir, &b->buffer) ||
	    kmt_slab_names_new(b->slabs_end, NULL, &b->slab_names))
		return impossible();
	kmt_select_read_symbols(b->o->select);
	f->symbols = kmt_select_symbols(b->o->select);
	f->slabs_start = b->slabs_start;
	f->slabs_end = b->slabs_end;
	f->clock = b->buffer.clock;
	f->start_ns = 1;	/* 0 is unknown */
	f->end_ns = b->buffer.now_ns;
	f->start_realtime_ns = kmt_live_realtime_now() - b->buffer.now_ns;
	return 0;
}

/* ---- which way to read ---- */

static const struct kmt_source_ops *source_named(const char *name)
{
	const struct kmt_source_ops *ops = kmt_source_find(name);

	if (!ops)
		kmt_err(-ENODEV, "there is no source '%s'", name);
	return ops;
}

static int open_text(struct boot *b, struct kmt_source_opts *so)
{
	const struct kmt_source_ops *ops = source_named("ftrace");
	struct kmt_select *s = b->o->select;
	int err;

	so->path = b->text;
	so->buffer = NULL;
	err = ops ? ops->open(so, &s->source) : -ENODEV;
	if (!err)
		err = kmt_kmalloc_names_new(b->slabs_end, &b->names);
	if (err)
		return err;
	b->is_text = true;
	b->facts.gfp_names = ops->facts(s->source)->gfp_names;
	kmt_kmalloc_gfp_from(b->facts.gfp_names, &b->gfp);
	kmt_cmd_warn("this kernel cannot show a trace buffer without taking its events out: read as "
		     "text, with times in microseconds (--clear reads the events themselves, and "
		     "empties the buffer)");
	return 0;
}

static int open_source(struct boot *b)
{
	const struct kmt_source_ops *ops = source_named("tracefs");
	struct kmt_select *s = b->o->select;
	struct kmt_source_opts so = {
		.mode = KMT_MODE_STREAMED, .filter = &s->filter, .symbols = b->facts.symbols,
		.slabs = b->slabs_end, .gfp_names = b->facts.gfp_names, .no_objects = true, .want_task = true, .want_cache = true,
		.want_stacks = b->buffer.has_stacks, .own = true,
		.tracers = s->tracer ? s->tracers : b->line.tracers,
		.user_pages = s->user_pages, .buffer = b->line.instance,
	};
	int err = ops ? ops->open(&so, &s->source) : -ENODEV;

	if (err == -EOPNOTSUPP && b->o->clear) {
		so.consume = true;
		err = ops->open(&so, &s->source);
	} else if (err == -EOPNOTSUPP) {
		err = open_text(b, &so);
	}
	return err ? impossible() : 0;
}

/* ---- from the buffer into the file ---- */

/* No event of an allocation names its cache. */
static const char *cache_of(const struct boot *b, const struct kmt_event *ev)
{
	if (ev->type == KMT_TYPE_CACHE)
		return kmt_slab_name(b->slab_names, ev->bytes_req, ev->bytes_alloc);
	/* of the pages' events the source has done this */
	return ev->type == KMT_TYPE_KMALLOC && b->names ?
	       kmt_kmalloc_name(b->names, ev->bytes_alloc,
				kmt_kmalloc_gfp_family(&b->gfp, ev->gfp)) : NULL;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct boot *b = ctx;
	struct kmt_event named = *ev;

	if (ev->op == KMT_OP_ALLOC && !ev->cache) {
		named.cache = cache_of(b, ev);
		named.cache_inferred = named.cache;
	}
	return b->out.event(b->out.ctx, &named);
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct boot *b = ctx;

	return b->out.lost(b->out.ctx, lost);
}

/* What the text does not tell: events that never were in the buffer, or are no more. */
static int make_up_losses(struct boot *b, struct kmt_quality *q)
{
	uint64_t gone = b->buffer.lost + b->buffer.read;
	struct kmt_lost lost = {
		.reason = KMT_LOSS_RING, .cpu = UINT32_MAX, .ts_ns = b->buffer.now_ns,
	};

	if (gone <= q->lost[KMT_LOSS_RING])
		return 0;
	lost.events = gone - q->lost[KMT_LOSS_RING];
	q->lost[KMT_LOSS_RING] = gone;
	return b->out.lost(b->out.ctx, &lost);
}

static int feed(struct boot *b, struct kmt_quality *q)
{
	struct kmt_source *src = b->o->select->source;
	struct kmt_window window = {
		.has_start = true, .until_ns = b->buffer.now_ns + 1000,
		.next = { .event = on_event, .lost = on_lost, .ctx = b },
	};
	struct kmt_sink sink;
	int err;

	b->out = kmt_recorder_sink(&b->recorder);
	sink = b->is_text ? kmt_window_sink(&window) : window.next;
	err = kmt_feed_file(b->o->select, &sink, &b->run);
	src->ops->quality(src, q);
	q->events = b->recorder.events;
	q->window_ns = b->buffer.now_ns;
	snprintf(q->kernel, sizeof(q->kernel), "%s", b->machine.kernel);
	if (b->is_text && !err)
		err = make_up_losses(b, q);
	return err;
}

static int record(struct boot *b, struct kmt_quality *q)
{
	struct kmt_buf filters = { 0 };
	const struct kmt_recorder_opts ro = {
		.facts = &b->facts, .symbols = b->facts.symbols, .source = "tracefs",
		.filters = kmt_select_filters_text(b->o->select, &filters),
		.max_bytes = b->o->max_bytes, .run = &b->run,
	};
	int err = kmt_recorder_begin(&b->recorder, &ro), end_err = 0;

	if (!b->is_text)
		b->recorder.nodes = b->nodes;	/* a text's addresses may be hashes */
	if (!err)
		err = kmt_recorder_start(&b->recorder);
	if (!err)
		err = feed(b, q);
	if (!err || err == -EFBIG || err == -EINTR || !b->recorder.failed)
		end_err = kmt_recorder_end(&b->recorder, &b->facts, q);
	kmt_buf_done(&filters);
	return err ? err : end_err;
}

/* ---- the end ---- */

/* "CPU 0: 120 dropped, 3 overwritten" for each that lost something. */
static void tell_losses(const struct kmt_boot_buffer *buffer)
{
	for (size_t i = 0; i < buffer->n_cpus; i++) {
		const struct kmt_boot_cpu *c = &buffer->cpu[i];

		if (c->overrun + c->commit_overrun + c->dropped + c->read)
			kmt_cmd_warn("CPU %u: %" PRIu64 " events overwritten, %" PRIu64 " without room, "
				     "%" PRIu64 " taken out by others", c->cpu, c->overrun,
				     c->commit_overrun + c->dropped, c->read);
	}
}

/* The recording's first event is not the boot's. */
static void tell_start(const struct boot *b)
{
	char at[KMT_FMT_LEN];

	if (b->buffer.first_ns > SEC)
		kmt_cmd_warn("the buffer begins %s after the boot: earlier events are unknown, whatever "
			     "became of them", kmt_fmt_duration(at, b->buffer.first_ns));
}

static int finish(struct boot *b, int err, const struct kmt_quality *q)
{
	const struct kmt_from_boot *o = b->o;

	if (err == -EPIPE && !strcmp(o->output, "-"))
		return KMT_EXIT_OK;	/* its reader went away */
	if (err && err != -EFBIG && err != -EINTR)
		return impossible();
	if (err == -EFBIG)
		kmt_cmd_warn("%s", kmt_err_text());
	/* not what did not get into the file */
	if (!err && o->clear && kmt_boot_clear(b->dir))
		return impossible();
	kmt_progress_end(o->output, b->recorder.events, kmt_recorder_bytes(&b->recorder), true, q);
	tell_losses(&b->buffer);
	tell_start(b);
	if (err == -EINTR)
		return 128 + b->run.signal;
	return o->select->strict && kmt_quality_lost(q) ? KMT_EXIT_LOST : KMT_EXIT_OK;
}

static void done(struct boot *b)
{
	kmt_run_done(&b->run);
	kmt_recorder_done(&b->recorder);
	kmt_kmalloc_names_free(b->names);
	kmt_slab_names_free(b->slab_names);
	kmt_slabs_free(b->slabs_start);
	kmt_slabs_free(b->slabs_end);
	kmt_nodes_free(b->nodes);
	kmt_machine_done(&b->machine);
	kmt_boot_buffer_done(&b->buffer);
	kmt_tracefs_dir_close(&b->tracefs);
}

int kmt_from_boot(const struct kmt_from_boot *o)
{
	struct boot b = {
		.o = o, .tracefs = { .mount_fd = -1 }, .run = KMT_RUN_NONE,
		.recorder = KMT_RECORDER_NONE,
	};
	struct kmt_quality q = { 0 };
	int status = find_buffer(&b);

	if (!status && kmt_run_init(&b.run, NULL))
		status = impossible();
	if (!status)
		status = kmt_recorder_open(&b.recorder, o->output, o->force);
	if (!status)
		status = ask_machine(&b);
	if (!status)
		status = open_source(&b);
	if (!status)
		status = finish(&b, record(&b, &q), &q);
	done(&b);
	return status;
}
