// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf.data, from 'perf record -e kmem:*' and 'perf kmem record', in file and
 * pipe mode. What the records contain stands in the file; the kernel that reads
 * it is not asked.
 *
 *	perf_file (records) --> perf_sample --> perf_pending of each CPU
 *	    --> merge by time, when a round is over --> deliver --> sink
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/deliver.h"
#include "source/merge.h"
#include "source/perf_bytes.h"
#include "source/perf_file.h"
#include "source/perf_pending.h"
#include "source/perf_sample.h"
#include "source/perf_tracing.h"
#include "source/source.h"
#include "source/tasks.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"

#define MAX_CPUS	1024	/* with a stream of their own; others share one */
#define PENDING_MAX	(256U << 20)
#define BATCH		65536	/* records looked at in one poll() */
#define CHAIN_MAX	128	/* kernel frames taken of a sample; perf's own limit is 127 */

/* Record types up to here are known, if only to be of no use. */
#define KERNEL_TYPES	22	/* PERF_RECORD_CALLCHAIN_DEFERRED */
#define PERF_TYPES	90

struct cpu {
	struct kmt_stream st;	/* first */
	struct kmt_perf_pending pending;
};

struct perf {
	struct kmt_source base;
	struct kmt_source_opts opts;
	struct kmt_perf_ids ids;
	struct kmt_perf_tracing tracing;
	struct kmt_symbols *symbols;
	struct kmt_facts facts;
	struct kmt_deliver deliver;
	struct cpu *cpu[MAX_CPUS + 1];	/* the last one: unknown CPU */
	struct kmt_stream *stream[MAX_CPUS + 1];
	struct kmt_merge merge;
	size_t	 pending;		/* bytes in all streams, about */
	uint64_t bound;			/* of the pass that is on */
	uint64_t first_ns, last_ns;
	uint64_t round_ns;		/* latest time when the last round ended */
	uint64_t lost_told, lost_samples;	/* by LOST records; by the counters at the end */
	uint64_t bad, bad_told;		/* records that cannot be read */
	uint64_t no_stack, stack_told;
	bool	 is_first;		/* no sample of ours came yet */
	bool	 settled;
	struct kmt_perf_file file;
};

static struct perf *perf_of(struct kmt_source *src)
{
	return (struct perf *)src;
}

static bool perf_detect(const void *head, size_t len)
{
	return kmt_perf_file_detect(head, len);
}

/* ---- from records to what is pending ------------------------------------------ */

static int new_cpu(struct perf *p, size_t slot)
{
	struct cpu *c = calloc(1, sizeof(*c));
	int err = c ? kmt_cpu_queue_init(&c->st.queue, true) :
		      kmt_err(-ENOMEM, "no memory for a CPU's records");

	if (err) {
		free(c);
		return err;
	}
	c->st.cpu = slot < MAX_CPUS ? (uint32_t)slot : UINT32_MAX;
	p->cpu[slot] = c;
	p->stream[p->merge.n++] = &c->st;
	return 0;
}

static int add(struct perf *p, bool has_cpu, uint32_t cpu, struct kmt_perf_item *item,
	       const uint64_t *ips, const void *data)
{
	size_t slot = has_cpu && cpu < MAX_CPUS ? cpu : MAX_CPUS;
	int err = p->cpu[slot] ? 0 : new_cpu(p, slot);

	if (item->time == KMT_MERGE_ALL)	/* no time, but the merge's "for ever" */
		item->time--;
	p->last_ns = item->time > p->last_ns ? item->time : p->last_ns;
	if (err)
		return err;
	p->pending += sizeof(*item) + sizeof(struct kmt_perf_place) + item->len +
		      item->n_ips * sizeof(*ips);
	return kmt_perf_pending_add(&p->cpu[slot]->pending, item, ips, data);
}

/* Who did it: the thread's number in perf's part is -1 once it is about to end. */
static void set_task(const struct perf *p, const struct kmt_perf_sample *s,
		     struct kmt_perf_item *item)
{
	item->tid = s->tid;
	item->pid = s->pid == UINT32_MAX ? 0 : s->pid;
	if ((!s->has_task || s->tid == UINT32_MAX) && p->tracing.pid.size) {
		item->tid = kmt_tp_number(&p->tracing.pid, p->tracing.swap, s->raw, s->raw_len);
		item->pid = 0;
	}
}

static size_t take_chain(struct perf *p, const struct kmt_perf_sample *s,
			 const struct kmt_perf_event *event, uint64_t *ips)
{
	size_t n = 0;

	/* what has no call site in its record finds it in the stack */
	if (s->has_chain && (p->opts.want_stacks || !event->layout.has[KMT_TP_SITE]))
		n = kmt_perf_chain(&p->file, s, ips, CHAIN_MAX);
	p->no_stack += s->has_chain && p->opts.want_stacks && !n;
	return n;
}

static int add_sample(struct perf *p, const struct kmt_perf_record *rec)
{
	struct kmt_perf_item item = { .kind = KMT_PERF_SAMPLE };
	const struct kmt_perf_event *event;
	struct kmt_perf_sample s;
	uint64_t ips[CHAIN_MAX];
	int err = kmt_perf_sample_parse(&p->file, &p->ids, rec, &s);

	if (err) {
		p->bad++;
		return 0;
	}
	event = s.raw ? kmt_perf_tracing_event(&p->tracing, kmt_tp_number(&p->tracing.type,
					       p->tracing.swap, s.raw, s.raw_len)) : NULL;
	if (!event)
		return 0;	/* another event that was recorded in the same file */
	set_task(p, &s, &item);
	item.event = (uint8_t)(event - p->tracing.event);
	item.time = s.time;
	item.has_time = s.has_time;
	item.cpu = s.cpu;
	item.len = s.raw_len;
	item.n_ips = (uint16_t)take_chain(p, &s, event, ips);
	p->first_ns = p->is_first || s.time < p->first_ns ? s.time : p->first_ns;
	p->is_first = false;
	return add(p, s.has_cpu, s.cpu, &item, ips, s.raw);
}

static int add_comm(struct perf *p, const struct kmt_perf_record *rec)
{
	struct kmt_perf_bytes b = { .p = rec->data, .left = rec->len, .swap = p->file.swap };
	struct kmt_perf_item item = { .kind = KMT_PERF_COMM };
	struct kmt_perf_sample s;

	kmt_perf_trailer_parse(&p->file, &p->ids, rec, &s);
	item.time = s.time;
	item.pid = kmt_perf_u32(&b);
	item.tid = kmt_perf_u32(&b);
	item.len = (uint32_t)strnlen((const char *)b.p,
				     b.left < KMT_TASK_COMM ? b.left : KMT_TASK_COMM - 1);
	p->bad += b.is_short;
	return b.is_short ? 0 : add(p, s.has_cpu && s.time, s.cpu, &item, NULL, b.p);
}

static int add_fork(struct perf *p, const struct kmt_perf_record *rec)
{
	struct kmt_perf_bytes b = { .p = rec->data, .left = rec->len, .swap = p->file.swap };
	struct kmt_perf_item item = { .kind = KMT_PERF_FORK };
	struct kmt_perf_sample s;

	kmt_perf_trailer_parse(&p->file, &p->ids, rec, &s);
	item.pid = kmt_perf_u32(&b);
	kmt_perf_u32(&b);	/* process of the parent */
	item.tid = kmt_perf_u32(&b);
	item.parent = kmt_perf_u32(&b);
	item.time = kmt_perf_u64(&b);
	p->bad += b.is_short;
	return b.is_short ? 0 : add(p, s.has_cpu && s.time, s.cpu, &item, NULL, NULL);
}

/* Where no time is known it is now, not the beginning. */
static int add_lost(struct perf *p, const struct kmt_perf_record *rec, uint64_t lost)
{
	struct kmt_perf_item item = { .kind = KMT_PERF_LOST, .lost = lost };
	struct kmt_perf_sample s;

	kmt_perf_trailer_parse(&p->file, &p->ids, rec, &s);
	item.time = s.time ? s.time : p->last_ns;
	p->lost_told += lost ? lost : 1;
	return add(p, s.has_cpu, s.cpu, &item, NULL, NULL);
}

/*
 * LOST stands where records are missing. LOST_SAMPLES comes from counters that
 * perf reads at the end (since v6.1): the same losses again, and those that no
 * record could be written for any more.
 */
static int take_lost(struct perf *p, const struct kmt_perf_record *rec)
{
	struct kmt_perf_bytes b = { .p = rec->data, .left = rec->len, .swap = p->file.swap };
	uint64_t lost;

	if (rec->type == PERF_RECORD_LOST)
		kmt_perf_u64(&b);	/* id of whoever came next */
	lost = kmt_perf_u64(&b);
	if (b.is_short) {
		p->bad++;
		return 0;
	}
	if (rec->type == PERF_RECORD_LOST)
		return lost ? add_lost(p, rec, lost) : 0;
	p->lost_samples += lost < UINT64_MAX - p->lost_samples ? lost : 0;
	return 0;
}

/* All of the tracing data is there before any record that comes from the kernel. */
static int read_tracing(struct perf *p)
{
	struct kmt_perf_file *f = &p->file;

	if (p->tracing.n_events || !f->tracing)
		return 0;
	return kmt_perf_tracing_parse(f->tracing, f->tracing_len, f->tracing_at, &p->tracing);
}

static bool has_our_event(const struct perf *p)
{
	for (size_t i = 0; i < p->file.n_attrs; i++)
		if (p->file.attr[i].type == PERF_TYPE_TRACEPOINT &&
		    kmt_perf_tracing_event(&p->tracing, p->file.attr[i].config))
			return true;
	return false;
}

static int take_record(struct perf *p, const struct kmt_perf_record *rec)
{
	int err = kmt_perf_ids_update(&p->ids, &p->file);

	if (err)
		return err;
	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		return add_sample(p, rec);
	case PERF_RECORD_COMM:
		return add_comm(p, rec);
	case PERF_RECORD_FORK:
		return add_fork(p, rec);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return take_lost(p, rec);
	case PERF_RECORD_THROTTLE:
		return add_lost(p, rec, 0);
	default:
		p->bad += !rec->type || (rec->type > KERNEL_TYPES && rec->type < 64) ||
			  rec->type > PERF_TYPES;
		return 0;
	}
}

/* ---- from what is pending to events --------------------------------------------- */

static void push_task(struct perf *p, const struct kmt_perf_item *item, const void *data,
		      struct kmt_node *node)
{
	struct kmt_task *mother;

	node->tid = item->tid;
	node->kind = KMT_NODE_RENAMED;
	if (item->kind == KMT_PERF_COMM) {
		memcpy(node->text, data, item->len);
		return;
	}
	mother = kmt_tasks_get(p->deliver.tasks, item->parent);
	node->kind = mother && mother->known ? KMT_NODE_BORN : KMT_NODE_GONE;
	node->ev.pid = item->parent;
	node->is_thread = item->pid != item->tid;
	snprintf(node->text, sizeof(node->text), "%s", mother ? mother->comm : "");
}

static void push_event(struct perf *p, struct cpu *c, const struct kmt_perf_item *item,
		       const uint64_t *ips, const void *data)
{
	struct kmt_event ev = { .real_node = -1, .cpu = item->cpu, .pid = item->tid,
				.tgid = item->pid, .has_time = item->has_time,
				.ts_ns = item->time };
	struct kmt_node *node;

	if (kmt_tp_decode(&p->tracing.event[item->event].layout, data, item->len, &ev)) {
		p->bad++;
		return;
	}
	node = kmt_cpu_queue_push(&c->st.queue);
	node->ts_ns = item->time;
	node->ev = ev;
	if (ev.cache)
		memcpy(node->text, ev.cache, strnlen(ev.cache, sizeof(node->text) - 1));
	if (!item->n_ips)
		return;
	kmt_cpu_queue_await(&c->st.queue, 0);
	kmt_cpu_queue_stack(&c->st.queue, 0, ips, item->n_ips);
}

static void know_process(struct perf *p, const struct kmt_perf_item *item)
{
	struct kmt_task *task = item->pid ? kmt_tasks_get(p->deliver.tasks, item->tid) : NULL;

	if (task)
		task->tgid = item->pid;
}

static int read_more(void *ctx, struct kmt_stream *st)
{
	struct cpu *c = (struct cpu *)st;
	struct perf *p = ctx;
	const void *data;
	const uint64_t *ips;
	const struct kmt_perf_item *item = kmt_perf_pending_head(&c->pending, p->bound, &ips,
								 &data);
	struct kmt_node *node;

	if (!item) {
		st->drained = true;
		return 0;
	}
	kmt_perf_pending_pop(&c->pending);
	if (p->deliver.tasks && item->kind != KMT_PERF_LOST && item->kind != KMT_PERF_FORK)
		know_process(p, item);
	if (!p->deliver.tasks && (item->kind == KMT_PERF_COMM || item->kind == KMT_PERF_FORK))
		return 0;
	if (item->kind == KMT_PERF_SAMPLE) {
		push_event(p, c, item, ips, data);
		return 0;
	}
	node = kmt_cpu_queue_push(&st->queue);
	node->ts_ns = item->time;
	node->lost = item->lost;
	if (item->kind == KMT_PERF_LOST)
		node->kind = KMT_NODE_LOST;
	else
		push_task(p, item, data, node);
	return 0;
}

/* Hand on everything older than 'bound'. */
static int pass(struct perf *p, const struct kmt_sink *sink, uint64_t bound)
{
	int n, err;

	p->bound = bound;
	for (size_t i = 0; i < p->merge.n; i++)
		kmt_perf_pending_sort(&((struct cpu *)p->stream[i])->pending);
	n = kmt_merge_pass(&p->merge, &p->deliver, sink, bound);
	p->pending = 0;
	for (size_t i = 0; i < p->merge.n; i++) {
		struct cpu *c = (struct cpu *)p->stream[i];

		kmt_perf_pending_compact(&c->pending);
		p->pending += kmt_perf_pending_bytes(&c->pending);
	}
	err = n < 0 ? 0 : kmt_deliver_untracked(&p->deliver, sink, p->last_ns);
	return err ? err : n;
}

/* A recording without rounds: hand on the older half, or all if that is not enough. */
static int make_room(struct perf *p, const struct kmt_sink *sink)
{
	uint64_t oldest = p->last_ns;
	int n, more;

	for (size_t i = 0; i < p->merge.n; i++) {
		struct kmt_perf_pending *q = &((struct cpu *)p->stream[i])->pending;

		kmt_perf_pending_sort(q);
		if (q->n && q->place[q->first].time < oldest)
			oldest = q->place[q->first].time;
	}
	n = pass(p, sink, oldest + (p->last_ns - oldest) / 2 + 1);
	if (n < 0 || p->pending < PENDING_MAX / 4 * 3)
		return n;
	more = pass(p, sink, p->last_ns + 1);
	return more < 0 ? more : n + more;
}

/* A round ended: whatever is older than the end of the one before is all there. */
static int end_round(struct perf *p, const struct kmt_sink *sink)
{
	int n = pass(p, sink, p->round_ns);

	p->round_ns = p->last_ns;
	return n;
}

static int tell_bad(struct perf *p, const struct kmt_sink *sink)
{
	uint64_t bad = p->bad - p->bad_told, stacks = p->no_stack - p->stack_told;
	int err = 0;

	p->bad_told = p->bad;
	p->stack_told = p->no_stack;
	if (bad)
		err = kmt_deliver_lost(sink, KMT_LOSS_INPUT, UINT32_MAX, bad, p->last_ns);
	if (!err && stacks)
		err = kmt_deliver_lost(sink, KMT_LOSS_STACKS, UINT32_MAX, stacks, p->last_ns);
	return err;
}

/* The end of the file: the rest, and what is known to be missing. */
static int settle(struct perf *p, const struct kmt_sink *sink)
{
	int n = pass(p, sink, KMT_MERGE_ALL), err = 0;

	if (n < 0)
		return n;
	p->settled = true;
	if (p->lost_samples > p->lost_told) {
		err = kmt_deliver_lost(sink, KMT_LOSS_RING, UINT32_MAX,
				       p->lost_samples - p->lost_told, p->last_ns);
		p->lost_told = p->lost_samples;
	}
	if (!err && p->file.cut[0]) {
		err = kmt_deliver_lost(sink, KMT_LOSS_INPUT, UINT32_MAX, 0, p->last_ns);
		p->bad++;
		p->bad_told++;
	}
	if (!err)
		err = tell_bad(p, sink);
	return err ? err : n;
}

/* ---- the source --------------------------------------------------------------------- */

static void perf_close(struct kmt_source *src)
{
	struct perf *p = src ? perf_of(src) : NULL;

	if (!p)
		return;
	if (p->file.fd > STDIN_FILENO)
		close(p->file.fd);
	for (size_t i = 0; i < p->merge.n; i++) {
		struct cpu *c = (struct cpu *)p->stream[i];

		kmt_cpu_queue_done(&c->st.queue);
		kmt_perf_pending_done(&c->pending);
		free(c);
	}
	kmt_deliver_done(&p->deliver);
	kmt_perf_ids_done(&p->ids);
	kmt_perf_tracing_done(&p->tracing);
	kmt_perf_file_done(&p->file);
	kmt_symbols_free(p->symbols);
	free(p);
}

/* Up to the first event, behind which nothing more is said about the machine. */
static int read_ahead(struct perf *p)
{
	struct kmt_perf_record rec;
	int got = 1, err = 0;

	while (p->is_first && p->pending < PENDING_MAX / 4 && !err) {
		got = kmt_perf_file_next(&p->file, -1, &rec);
		if (got <= 0)
			break;
		err = read_tracing(p);
		if (!err)
			err = take_record(p, &rec);
	}
	if (got < 0 || err)
		return got < 0 ? got : err;
	err = read_tracing(p);
	if (err || has_our_event(p))
		return err;
	if (p->file.cut[0])
		return kmt_err(-EBADMSG, "%s", p->file.cut);
	return kmt_err(-EBADMSG, "offset %" PRIu64 ": %s", p->file.at, p->file.tracing ?
		       "no kmem event was recorded in it" :
		       "it has no event formats, so that no event can be read");
}

static const char *or_null(const char *s)
{
	return s[0] ? s : NULL;
}

static void set_facts(struct perf *p)
{
	const struct kmt_perf_info *info = &p->file.info;
	const struct kmt_perf_attr *attr = p->file.attr;

	if (p->tracing.kallsyms)
		kmt_symbols_parse(p->tracing.kallsyms, p->tracing.kallsyms_len,
				  "the recording's kallsyms", &p->symbols);
	p->facts = (struct kmt_facts){
		.symbols = p->symbols, .gfp_names = p->tracing.gfp_names,
		.kernel = or_null(info->release), .build_id = or_null(info->build_id),
		.machine = or_null(info->machine), .command = or_null(info->command),
		.clock = kmt_perf_clock_name(attr->has_clockid, attr->clockid),
		.start_realtime_ns = info->has_wall ? info->wall_ns : 0,
		.start_ns = info->has_wall ? info->wall_clock_ns :
			    info->first_ns ? info->first_ns : p->first_ns,
		.end_ns = info->last_ns,
		.page_size = p->tracing.page_size, .n_cpus = info->n_cpus,
	};
}

static int open_recording(struct perf *p)
{
	const struct kmt_gfp_names *gfp;
	int err = kmt_perf_file_open(&p->file);

	if (!err)
		err = read_ahead(p);
	if (err)
		return err;
	set_facts(p);
	if (!p->opts.symbols)
		p->opts.symbols = p->symbols;
	err = kmt_deliver_init(&p->deliver, &p->opts);
	gfp = p->tracing.gfp_names;
	if (!err && gfp)
		kmt_kmalloc_gfp_from(gfp, &p->deliver.kmalloc_gfp);
	return err;
}

extern const struct kmt_source_ops kmt_source_perf_data;

static int perf_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	struct perf *p;
	bool is_stdin = !strcmp(opts->path, "-");
	int err;

	if (opts->filter && opts->filter->cgroup)
		return kmt_err(-EINVAL, "a recording knows no cgroups: 'cgroup=' cannot be used");
	p = calloc(1, sizeof(*p));
	if (!p)
		return kmt_err(-ENOMEM, "no memory for reading '%s'", opts->path);
	p->base.ops = &kmt_source_perf_data;
	p->opts = *opts;
	p->is_first = true;
	p->merge = (struct kmt_merge){ .stream = p->stream, .read = read_more, .ctx = p };
	p->file.fd = is_stdin ? STDIN_FILENO : open(opts->path, O_RDONLY | O_CLOEXEC);
	if (p->file.fd < 0)
		err = kmt_err_errno(-errno, "cannot open '%s'", opts->path);
	else
		err = open_recording(p);
	if (err == -EBADMSG || err == -EPROTO || err == -E2BIG || err == -ESPIPE)
		kmt_err_prefix(err, "'%s': ", is_stdin ? "standard input" : opts->path);
	if (err) {
		perf_close(&p->base);
		return err;
	}
	*ret = &p->base;
	return 0;
}

/* One record. 1: there was one; 0: the end, or nothing within the time. */
static int step(struct perf *p, const struct kmt_sink *sink, int timeout_ms, int *ret_events)
{
	struct kmt_perf_record rec;
	int got = kmt_perf_file_next(&p->file, timeout_ms, &rec), n = 0;

	if (got == -EAGAIN)
		return 0;
	if (got > 0 && rec.type == KMT_PERF_REC_ROUND)
		n = end_round(p, sink);
	else if (got > 0)
		n = take_record(p, &rec);
	else if (!got)
		n = settle(p, sink);
	if (n >= 0 && p->pending > PENDING_MAX)
		n = make_room(p, sink);
	if (got < 0 || n < 0)
		return got < 0 ? got : n;
	*ret_events += n;
	return got;
}

static int perf_poll(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms)
{
	struct perf *p = perf_of(src);
	int events = 0, got = 1;

	if (p->settled)
		return -ENODATA;
	for (int i = 0; i < BATCH && got > 0 && !events; i++)
		got = step(p, sink, timeout_ms, &events);
	if (got >= 0)
		got = tell_bad(p, sink);
	if (got < 0)
		return got;
	return p->settled && !events ? -ENODATA : events;
}

static void perf_quality(struct kmt_source *src, struct kmt_quality *q)
{
	struct perf *p = perf_of(src);

	snprintf(q->source, sizeof(q->source), "%s", p->base.ops->name);
	snprintf(q->mode, sizeof(q->mode), "streamed");
	snprintf(q->kernel, sizeof(q->kernel), "%s", p->file.info.release);
	kmt_deliver_quality(&p->deliver, q);
	q->window_ns = p->last_ns > p->first_ns ? p->last_ns - p->first_ns : 0;
	q->clock_resolution_ns = 1;
	q->lost[KMT_LOSS_RING] = p->lost_told;
	q->lost[KMT_LOSS_STACKS] = p->no_stack;
	q->lost[KMT_LOSS_INPUT] = p->bad;
}

static const struct kmt_facts *perf_facts(struct kmt_source *src)
{
	struct perf *p = perf_of(src);

	if (p->settled && !p->facts.end_ns)
		p->facts.end_ns = p->last_ns;
	return &p->facts;
}

const struct kmt_source_ops kmt_source_perf_data = {
	.name	 = "perf_data",
	.help	 = "perf.data of 'perf record -e kmem:*' or 'perf kmem record', file or pipe mode",
	.detect	 = perf_detect,
	.open	 = perf_open,
	.poll	 = perf_poll,
	.quality = perf_quality,
	.facts	 = perf_facts,
	.close	 = perf_close,
};
