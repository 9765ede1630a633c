// SPDX-License-Identifier: GPL-2.0-only
/*
 * trace-cmd's trace.dat, versions 6 and 7. Each CPU of each buffer is a stream
 * of its own; they are merged by time, and stacks paired, by what the tracefs
 * source uses.
 *
 *	trace_dat_file (container) --> trace_dat_pages (records of a CPU)
 *	    --> queue of each CPU --> merge --> deliver --> sink
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "source/deliver.h"
#include "source/merge.h"
#include "source/source.h"
#include "source/tasks.h"
#include "source/trace_dat_file.h"
#include "source/trace_dat_pages.h"
#include "source/trace_dat_twice.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"
#include "tracers/tracers.h"

#define MAX_STREAMS	16384
#define BATCH_NS	10000000ULL	/* handed on in one poll(), at least one event */
#define SCAN_PAGES	64		/* of each CPU, looked at for stacks */

/* Bits of common_flags: enum trace_flag_type, the same since 2.6.28. */
#define FLAG_IRQS	(0x08 | 0x10 | 0x40)	/* hard, soft, NMI */

struct stream {
	struct kmt_stream st;		/* first: merge hands it back */
	struct kmt_tdat_pages pages;
	unsigned buffer;
	uint64_t overrun;		/* the kernel's count of lost events */
	uint64_t lost;			/* told so far */
	bool ended;
};

struct trace_dat {
	struct kmt_source base;
	struct kmt_source_opts opts;
	struct kmt_symbols *symbols;
	struct kmt_facts facts;
	bool has_stack[KMT_TDAT_EVENTS];	/* a stack follows records of this event */
	struct stream *stream;
	size_t n_streams;
	struct kmt_merge merge;
	struct kmt_tdat_twice *twice;	/* NULL: there is but one buffer */
	struct kmt_deliver deliver;
	bool stacks_asked;
	uint64_t first_ns, last_ns;
	uint64_t bad, bad_told;		/* parts that cannot be read */
	uint64_t lost_ring;
	bool lost_unknown, settled;
	struct kmt_tdat_file file;
};

extern const struct kmt_source_ops kmt_source_trace_dat;

static struct trace_dat *of(struct kmt_source *base)
{
	return (struct trace_dat *)base;
}

/* ---- records to nodes ---------------------------------------------------- */

static uint64_t number(const struct trace_dat *s, const struct kmt_tp_field *f,
		       const struct kmt_tdat_record *r)
{
	return kmt_tp_number(f, s->file.layout.swap, r->data, r->len);
}

/* What a record and its stack have in common. */
static uint64_t context(const struct trace_dat *s, const struct kmt_tdat_record *r)
{
	const struct kmt_tdat_layout *l = &s->file.layout;

	return (uint32_t)number(s, &l->pid, r) |
	       (uint64_t)(uint8_t)number(s, &l->flags, r) << 32 |
	       (uint64_t)(uint8_t)number(s, &l->preempt, r) << 40;
}

/* Nanoseconds of the recording's clock. */
static uint64_t time_of(const struct trace_dat *s, uint64_t ts)
{
	const struct kmt_tdat_file *f = &s->file;

	if (f->tsc_mult)
		ts = (uint64_t)(((unsigned __int128)ts * f->tsc_mult) >> f->tsc_shift) -
		     f->tsc_offset;
	ts += (uint64_t)f->offset_ns;
	/* the last number is the merge's "for ever" */
	return ts == KMT_MERGE_ALL ? ts - 1 : ts;
}

static void add_gap(struct trace_dat *s, struct stream *c, const struct kmt_tdat_record *r)
{
	struct kmt_node *node;

	kmt_cpu_queue_give_up(&c->st.queue);
	node = kmt_cpu_queue_push(&c->st.queue);
	node->kind = KMT_NODE_LOST;
	node->ts_ns = time_of(s, r->ts_ns);
	/* pages often have no room for the number: what the kernel counted is the most */
	node->lost = r->missed ? r->missed : c->overrun > c->lost ? c->overrun - c->lost : 0;
	c->lost += node->lost;
	s->lost_ring += node->lost ? node->lost : 1;
	s->lost_unknown |= !node->lost;
}

static void add_kmem(struct trace_dat *s, struct stream *c, size_t event,
		     const struct kmt_tdat_record *r)
{
	struct kmt_event read = { 0 };
	struct kmt_node *node;
	size_t len;

	if (kmt_tp_decode(&s->file.event[event].layout, r->data, r->len, &read)) {
		s->bad++;
		return;
	}
	node = kmt_cpu_queue_push(&c->st.queue);
	node->ev = read;
	node->ts_ns = time_of(s, r->ts_ns);
	node->in_irq = number(s, &s->file.layout.flags, r) & FLAG_IRQS;
	if (read.cache) {
		len = strnlen(read.cache, KMT_NODE_TEXT - 1);
		memcpy(node->text, read.cache, len);
		node->text[len] = '\0';
	}
	node->ev.has_time = true;
	node->ev.ts_ns = node->ts_ns;
	node->ev.cpu = c->st.cpu;
	node->ev.pid = (uint32_t)number(s, &s->file.layout.pid, r);
	node->ev.real_node = -1;
	if (s->has_stack[event])
		kmt_cpu_queue_await(&c->st.queue, context(s, r));
}

/*
 * The format declares eight frames; how many there are says the size field,
 * and the record's length how many of them can be.
 */
static void add_stack(struct trace_dat *s, struct stream *c, const struct kmt_tdat_record *r)
{
	uint32_t word = s->file.layout.word;
	size_t at = s->file.caller.offset, i;
	size_t room = r->len > at ? (r->len - at) / word : 0;
	size_t n = s->file.depth.size ? number(s, &s->file.depth, r) : room;
	uint64_t ips[KMT_NODE_IPS * 2];

	n = n < room ? n : room;
	n = n < KMT_NODE_IPS * 2 ? n : KMT_NODE_IPS * 2;
	for (i = 0; i < n; i++) {
		struct kmt_tp_field f = { .offset = (uint32_t)(at + i * word), .size = word };

		ips[i] = number(s, &f, r);
		if (!ips[i] || ips[i] == (word == 4 ? UINT32_MAX : UINT64_MAX))
			break;
	}
	kmt_cpu_queue_stack(&c->st.queue, context(s, r), ips, i);
}

/* Which of the events a record is; n_events: a stack; SIZE_MAX: neither. */
static size_t kind_of(const struct trace_dat *s, const struct kmt_tdat_record *r)
{
	const struct kmt_tdat_file *f = &s->file;
	uint32_t id = (uint32_t)number(s, &f->layout.type, r);

	if (r->len < f->layout.type.offset + f->layout.type.size)
		return SIZE_MAX;
	for (size_t i = 0; i < f->n_events; i++)
		if (f->event[i].id == id)
			return i;
	return id == f->stack_id ? f->n_events : SIZE_MAX;
}

static int read_more(void *ctx, struct kmt_stream *st)
{
	struct trace_dat *s = ctx;
	struct stream *c = (struct stream *)st;
	struct kmt_tdat_record r;
	int got = c->ended ? 0 : kmt_tdat_pages_next(&c->pages, &r);
	size_t kind;

	if (got == -EBADMSG) {
		kmt_cpu_queue_give_up(&st->queue);
		s->bad++;
		return 0;
	}
	if (got <= 0) {
		c->ended = st->drained = true;
		return got;
	}
	if (r.has_gap)
		add_gap(s, c, &r);
	kind = kind_of(s, &r);
	if (kind < s->file.n_events)
		add_kmem(s, c, kind, &r);
	else if (kind == s->file.n_events && s->opts.want_stacks)
		add_stack(s, c, &r);
	return 0;
}

/* ---- before the first event ---------------------------------------------- */

/*
 * Whether stacks follow the events depends on options and triggers that no file
 * tells of: look at the beginning. An event that waits in vain is a lost stack.
 */
static int scan_stream(struct trace_dat *s, const struct kmt_tdat_buffer *buf,
		       const struct kmt_tdat_cpu *cpu)
{
	struct kmt_tdat_pages pages;
	struct kmt_tdat_record r;
	uint64_t ctx[KMT_TDAT_EVENTS] = { 0 };
	bool awaits[KMT_TDAT_EVENTS] = { false };
	int got;

	kmt_tdat_pages_init(&pages, &s->file, buf, cpu, s->n_streams);
	while ((got = kmt_tdat_pages_next(&pages, &r)) && pages.n_pages <= SCAN_PAGES) {
		size_t kind = got > 0 ? kind_of(s, &r) : SIZE_MAX;
		uint64_t now = got > 0 ? context(s, &r) : 0;

		if (got < 0 && got != -EBADMSG)
			break;
		for (size_t i = 0; i < s->file.n_events && kind != SIZE_MAX; i++) {
			if (awaits[i] && ctx[i] == now) {
				s->has_stack[i] |= kind == s->file.n_events;
				awaits[i] = false;
			}
			if (i == kind) {
				awaits[i] = true;
				ctx[i] = now;
			}
		}
	}
	kmt_tdat_pages_done(&pages);
	return got < 0 && got != -EBADMSG ? got : 0;
}

static int scan_stacks(struct trace_dat *s)
{
	int err = 0;

	if (!s->opts.want_stacks || s->file.stack_id < 0)
		return 0;
	for (size_t i = 0; i < s->file.n_buffers && !err; i++)
		for (size_t j = 0; j < s->file.buffer[i].n_cpus && !err; j++)
			err = scan_stream(s, &s->file.buffer[i], &s->file.buffer[i].cpu[j]);
	return err;
}

static bool is_copy(void *ctx, const struct kmt_stream *st, const struct kmt_node *node)
{
	struct trace_dat *s = ctx;

	return kmt_tdat_twice_is_copy(s->twice, ((const struct stream *)st)->buffer, node);
}

/* Times of different clocks have no order: keep those of the first buffer's clock. */
static void choose_buffers(struct trace_dat *s, size_t *ret_streams, size_t *ret_buffers)
{
	struct kmt_tdat_file *f = &s->file;
	const char *clock = NULL;

	*ret_streams = *ret_buffers = 0;
	for (size_t i = 0; i < f->n_buffers; i++) {
		if (f->buffer[i].n_cpus && !clock)
			clock = f->buffer[i].clock;
		if (f->buffer[i].n_cpus && strcmp(f->buffer[i].clock, clock)) {
			f->buffer[i].n_cpus = 0;
			f->unreadable++;
		}
		*ret_streams += f->buffer[i].n_cpus;
		*ret_buffers += f->buffer[i].n_cpus > 0;
	}
}

static int open_streams(struct trace_dat *s)
{
	const struct kmt_tdat_file *f = &s->file;
	size_t n, n_buffers;

	choose_buffers(s, &n, &n_buffers);
	if (n > MAX_STREAMS)
		return kmt_err(-E2BIG, "%zu CPUs in all buffers together are more than %d", n,
			       MAX_STREAMS);
	s->stream = calloc(n + 1, sizeof(*s->stream));
	s->merge = (struct kmt_merge){ .stream = calloc(n + 1, sizeof(*s->merge.stream)),
				       .read = read_more, .ctx = s };
	if (!s->stream || !s->merge.stream)
		return kmt_err(-ENOMEM, "no memory for %zu CPUs", n);
	if (n_buffers > 1 && kmt_tdat_twice_new(n / n_buffers, &s->twice))
		return -ENOMEM;
	s->merge.skip = s->twice ? is_copy : NULL;
	for (size_t i = 0; i < f->n_buffers; i++) {
		for (size_t j = 0; j < f->buffer[i].n_cpus; j++) {
			struct stream *c = &s->stream[s->n_streams];
			const struct kmt_tdat_cpu *cpu = &f->buffer[i].cpu[j];

			if (kmt_cpu_queue_init(&c->st.queue, s->opts.want_stacks))
				return -ENOMEM;
			kmt_tdat_pages_init(&c->pages, f, &f->buffer[i], cpu, n);
			c->buffer = (unsigned)i;
			c->st.cpu = cpu->cpu;
			c->overrun = cpu->overrun;
			s->merge.stream[s->n_streams++] = &c->st;
		}
	}
	s->merge.n = s->n_streams;
	return 0;
}

/* Lines "PID NAME". */
static void know_tasks(struct trace_dat *s)
{
	char *at = s->file.cmdlines, *line;

	while (s->deliver.tasks && at && (line = strsep(&at, "\n"))) {
		char *name;
		unsigned long tid = strtoul(line, &name, 10);

		if (name != line && *name == ' ' && name[1] && tid && tid <= INT32_MAX)
			kmt_tasks_rename(s->deliver.tasks, (uint32_t)tid, name + 1);
	}
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static void set_facts(struct trace_dat *s)
{
	const struct kmt_tdat_file *f = &s->file;
	uint32_t n_cpus = f->n_cpus;

	/* no symbols, or all of them 0: addresses are shown */
	if (f->kallsyms)
		kmt_symbols_parse(f->kallsyms, f->kallsyms_len, "the recording's kallsyms",
				  &s->symbols);
	free(s->file.kallsyms);
	s->file.kallsyms = NULL;
	for (size_t i = 0; i < f->n_buffers && !f->n_cpus; i++)
		if (f->buffer[i].n_cpus > n_cpus)
			n_cpus = f->buffer[i].n_cpus;
	s->facts = (struct kmt_facts){
		.symbols = s->symbols, .gfp_names = f->gfp_names,
		.kernel = or_null(f->release), .machine = or_null(f->machine),
		.clock = f->clock[0] ? f->clock : or_null(f->buffer[0].clock),
		.page_size = f->page_size, .n_cpus = n_cpus,
	};
}

/* The time of the first event, and the wall clock if it was recorded. */
static void set_start(struct trace_dat *s)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < s->n_streams; i++) {
		struct kmt_node *head = kmt_cpu_queue_head(&s->stream[i].st.queue);

		if (head && head->ts_ns < first)
			first = head->ts_ns;
	}
	if (first == UINT64_MAX)
		return;
	s->first_ns = s->last_ns = s->facts.start_ns = first;
	if (s->file.has_date)
		s->facts.start_realtime_ns = first + (uint64_t)s->file.date_us * 1000;
}

static int open_recording(struct trace_dat *s)
{
	struct kmt_source_opts deliver;
	int err = kmt_tdat_file_open(&s->file);

	if (!err)
		err = open_streams(s);
	if (!err)
		err = scan_stacks(s);
	if (err)
		return err;
	s->bad = s->file.unreadable;
	set_facts(s);
	if (!s->opts.symbols)
		s->opts.symbols = s->symbols;
	deliver = s->opts;
	deliver.want_stacks = s->stacks_asked;
	err = kmt_deliver_init(&s->deliver, &deliver);
	if (err)
		return err;
	if (s->file.gfp_names)
		kmt_kmalloc_gfp_from(s->file.gfp_names, &s->deliver.kmalloc_gfp);
	know_tasks(s);
	for (size_t i = 0; i < s->n_streams && !err; i++)
		while (!err && !s->stream[i].ended && !kmt_cpu_queue_head(&s->stream[i].st.queue))
			err = read_more(s, &s->stream[i].st);
	set_start(s);
	return err;
}

/* ---- the source ------------------------------------------------------------ */

static void trace_dat_close(struct kmt_source *base)
{
	struct trace_dat *s = base ? of(base) : NULL;

	if (!s)
		return;
	for (size_t i = 0; i < s->n_streams; i++) {
		kmt_cpu_queue_done(&s->stream[i].st.queue);
		kmt_tdat_pages_done(&s->stream[i].pages);
	}
	free(s->stream);
	free(s->merge.stream);
	kmt_tdat_twice_free(s->twice);
	kmt_deliver_done(&s->deliver);
	kmt_symbols_free(s->symbols);
	kmt_tdat_file_done(&s->file);
	if (s->file.fd > STDIN_FILENO)
		close(s->file.fd);
	free(s);
}

static int check_filter(const struct kmt_filter *f)
{
	if (f && (f->cgroup || f->n_tgid))
		return kmt_err(-EINVAL, "a trace.dat knows no processes and cgroups: only 'pid=' "
			       "and 'task=' select its tasks");
	return 0;
}

static int trace_dat_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	bool is_stdin = !strcmp(opts->path, "-");
	struct trace_dat *s;
	int err = check_filter(opts->filter);

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return kmt_err(-ENOMEM, "no memory for reading '%s'", opts->path);
	s->base.ops = &kmt_source_trace_dat;
	s->opts = *opts;
	s->opts.own = true;	/* whoever runs this did not run there */
	s->opts.want_stacks |= opts->key == KMT_BY_STACK;
	s->stacks_asked = s->opts.want_stacks;
	/* what has no call site in its record finds it in the stack */
	s->opts.want_stacks |= opts->tracers & (KMT_TRACER_BIT(page) | KMT_TRACER_BIT(vmalloc));
	s->file.fd = is_stdin ? STDIN_FILENO : open(opts->path, O_RDONLY | O_CLOEXEC);
	if (s->file.fd < 0)
		err = kmt_err_errno(-errno, "cannot open");
	else
		err = open_recording(s);
	if (err) {
		kmt_err_prefix(err, "'%s': ", is_stdin ? "standard input" : opts->path);
		trace_dat_close(&s->base);
		return err;
	}
	*ret = &s->base;
	return 0;
}

/* Time of the oldest node plus a batch; 0 if nothing was read yet. */
static uint64_t next_bound(const struct trace_dat *s, bool *ret_over)
{
	uint64_t first = UINT64_MAX;
	bool ended = true;

	for (size_t i = 0; i < s->n_streams; i++) {
		struct kmt_node *head = kmt_cpu_queue_head(&s->stream[i].st.queue);

		ended &= s->stream[i].ended;
		if (head && head->ts_ns < first)
			first = head->ts_ns;
	}
	*ret_over = ended && first == UINT64_MAX;
	if (ended || first >= KMT_MERGE_ALL - BATCH_NS)
		return KMT_MERGE_ALL;
	return first + BATCH_NS;
}

/* At the end: what the kernel counted as lost and no page told of. */
static int settle(struct trace_dat *s, const struct kmt_sink *sink)
{
	int err = 0;

	s->settled = true;
	s->facts.end_ns = s->last_ns;
	for (size_t i = 0; i < s->n_streams && !err; i++) {
		struct stream *c = &s->stream[i];
		uint64_t untold = c->overrun > c->lost ? c->overrun - c->lost : 0;

		if (untold)
			err = kmt_deliver_lost(sink, KMT_LOSS_RING, c->st.cpu, untold, s->last_ns);
		c->lost += untold;
		s->lost_ring += untold;
	}
	return err;
}

static int tell_bad(struct trace_dat *s, const struct kmt_sink *sink)
{
	uint64_t n = s->bad - s->bad_told;

	s->bad_told = s->bad;
	return n ? kmt_deliver_lost(sink, KMT_LOSS_INPUT, UINT32_MAX, n, s->last_ns) : 0;
}

static int trace_dat_poll(struct kmt_source *base, const struct kmt_sink *sink, int timeout_ms)
{
	struct trace_dat *s = of(base);
	int n = 0, err;

	while (!n && !s->settled) {
		bool is_over;
		uint64_t bound = next_bound(s, &is_over);

		if (!is_over)
			n = kmt_merge_pass(&s->merge, &s->deliver, sink, bound);
		if (n < 0)
			return n;
		if (bound != KMT_MERGE_ALL)
			s->last_ns = bound;
		err = tell_bad(s, sink);
		if (!err)
			err = kmt_deliver_untracked(&s->deliver, sink, s->last_ns);
		if (!err && is_over)
			err = settle(s, sink);
		if (err)
			return err;
	}
	return n ? n : -ENODATA;
}

static void trace_dat_quality(struct kmt_source *base, struct kmt_quality *q)
{
	struct trace_dat *s = of(base);

	snprintf(q->source, sizeof(q->source), "%s", base->ops->name);
	snprintf(q->mode, sizeof(q->mode), "streamed");
	snprintf(q->kernel, sizeof(q->kernel), "%s", s->file.release);
	kmt_deliver_quality(&s->deliver, q);
	q->window_ns = s->last_ns - s->first_ns;
	q->clock_resolution_ns = 1;
	q->lost[KMT_LOSS_RING] = s->lost_ring;
	q->lost_unknown |= s->lost_unknown;
	q->lost[KMT_LOSS_INPUT] = s->bad;
	q->lost[KMT_LOSS_STACKS] = 0;
	for (size_t i = 0; i < s->n_streams; i++)
		q->lost[KMT_LOSS_STACKS] += s->stream[i].st.queue.lost_stacks;
}

static const struct kmt_facts *trace_dat_facts(struct kmt_source *base)
{
	return &of(base)->facts;
}

const struct kmt_source_ops kmt_source_trace_dat = {
	.name	 = "trace_dat",
	.help	 = "trace.dat of 'trace-cmd record -e kmem:*', versions 6 and 7",
	.detect	 = kmt_tdat_file_detect,
	.open	 = trace_dat_open,
	.poll	 = trace_dat_poll,
	.quality = trace_dat_quality,
	.facts	 = trace_dat_facts,
	.close	 = trace_dat_close,
};
