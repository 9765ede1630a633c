// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's own trace buffers, for kernels and users that cannot load BPF.
 *
 * A private instance, raw pages per CPU, merged by time while they are read:
 * one page per CPU is at hand, and an event is handed on when every CPU was
 * read past its time. So memory does not depend on how much is buffered.
 *
 * Or a buffer that others had filled (opts.buffer): then nothing is switched on
 * or off, and it ends where it ended when it was opened.
 */
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <kbuffer.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/fmt.h"
#include "source/boot.h"
#include "source/deliver.h"
#include "source/functions.h"
#include "source/merge.h"
#include "source/tasks.h"
#include "source/tp_fields.h"
#include "source/tp_records.h"
#include "source/trace_map.h"
#include "source/tracefs_dir.h"
#include "tracers/tracers.h"

#define LOOK_NS		10000000ULL	/* no wake-ups: look this often, oftener at small rings */
#define LOOK_MIN_NS	1000000ULL
#define OWN_NS		100000000ULL	/* look for own new threads this often */
#define SLACK_NS	1000000ULL	/* an event may be committed that long after its time */
#define MAX_FIELDS	32
#define MAX_INSTANCES	256	/* of one process */

struct cpu {
	struct kmt_stream st;
	int fd;
	void *page;
	struct kbuffer *kbuf;
	void *rec;		/* current record within the page, NULL: read the next page */
	uint64_t rec_ns;
	uint64_t lost;		/* reported in place */
	/* of a buffer that others had filled */
	struct kmt_trace_map *map;	/* NULL: pages are taken out */
	uint64_t gone;		/* lost, or taken out by others, before it was opened */
};

struct tracefs {
	struct kmt_source base;
	struct kmt_source_opts opts;
	struct kmt_tracefs_dir dir;
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	struct kmt_records records;
	struct cpu *cpu;
	struct kmt_merge merge;
	size_t n_cpus;
	size_t page_size;
	uint32_t possible_cpus;		/* 0 unknown */
	struct kmt_deliver deliver;
	uint64_t ring_bytes;
	uint64_t started_ns, stopped_ns;
	uint64_t next_look_ns, next_own_ns;
	bool settled;			/* stopped, drained, and losses made up */
	bool realtime;
	bool lost_unknown;		/* pages were overwritten while they were read */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* ---- formats ------------------------------------------------------------- */

static struct kmt_tp_field from_tep(const struct tep_format_field *f)
{
	return (struct kmt_tp_field){
		.name = f->name, .offset = f->offset, .size = f->size,
		.is_signed = f->flags & TEP_FIELD_IS_SIGNED,
		.is_dynamic = f->flags & TEP_FIELD_IS_DYNAMIC,
		.is_relative = f->flags & TEP_FIELD_IS_RELATIVE,
	};
}

/*
 * Read one format. Only the fields are wanted: the print format, which changes
 * from kernel to kernel and is not always understood, is replaced by a plain one.
 */
static struct tep_event *read_format(struct tracefs *s, const char *system, const char *name)
{
	static const char plain[] = "\nprint fmt: \"-\"\n";
	_cleanup_free_ char *text = tracefs_event_file_read(s->instance, system, name, "format",
							    NULL);
	_cleanup_free_ char *cut = NULL;
	char *end = text ? strstr(text, "\nprint fmt:") : NULL;
	int len;

	if (!end)
		return NULL;
	*end = '\0';
	len = asprintf(&cut, "%s%s", text, plain);
	if (len < 0) {
		cut = NULL;
		return NULL;
	}
	tep_parse_event(s->tep, cut, len, system);
	return tep_find_event_by_name(s->tep, system, name);
}

static int bind_kmem(struct tracefs *s, const char *name)
{
	struct tep_event *te = read_format(s, kmt_tp_system(name), name);
	struct kmt_tp_field fields[MAX_FIELDS];
	struct kmt_record_event *ev = &s->records.event[s->records.n_events];
	size_t n = 0;
	int err;

	if (!te)
		return 0;	/* not in this kernel */
	for (struct tep_format_field *f = te->format.fields; f && n < MAX_FIELDS; f = f->next)
		fields[n++] = from_tep(f);
	err = kmt_tp_bind(name, fields, n, &ev->layout);
	if (err)
		return err;
	ev->layout.page_size = sysconf(_SC_PAGESIZE);
	ev->layout.n_cpus = s->possible_cpus;
	/* of percpu memory the frees alone tell no call site: not worth a stack for each event */
	s->records.stacks |= !kmt_tp_has_site(&ev->layout) && ev->layout.type != KMT_TYPE_PERCPU;
	ev->id = te->id;
	ev->kind = KMT_RECORD_KMEM;
	s->records.n_events++;
	return 1;
}

/* Not there or not of the known form: done without. */
static void bind_other(struct tracefs *s, const struct kmt_record_fields *o)
{
	struct tep_event *te = read_format(s, o->system, o->name);
	struct kmt_record_event *ev = &s->records.event[s->records.n_events];

	for (unsigned i = 0; te && i < 3 && o->field[i]; i++) {
		struct tep_format_field *f = tep_find_field(te, o->field[i]);

		if (!f)
			return;
		ev->field[i] = from_tep(f);
	}
	if (!te)
		return;
	ev->id = te->id;
	ev->kind = o->kind;
	s->records.n_events++;
}

static int bind_common(struct tracefs *s)
{
	struct tep_event *te = tep_get_first_event(s->tep);
	const struct {
		const char *name;
		struct kmt_tp_field *to;
	} want[] = {
		{ "common_type", &s->records.common_type }, { "common_pid", &s->records.common_pid },
		{ "common_flags", &s->records.common_flags },
		{ "common_preempt_count", &s->records.common_preempt },
	};

	for (size_t i = 0; te && i < sizeof(want) / sizeof(want[0]); i++) {
		struct tep_format_field *f = tep_find_common_field(te, want[i].name);

		if (f)
			*want[i].to = from_tep(f);
	}
	if (!s->records.common_type.size || !s->records.common_pid.size)
		return kmt_err(-EPROTO, "trace records have no common_type or common_pid");
	return 0;
}

/* The tracers' events; each needs one of either kind. */
static int read_tracers(struct tracefs *s)
{
	const uint32_t want = KMT_TRACERS_OF_EVENTS(s->opts.tracers);
	uint32_t missing[2] = { want, want };

	for (size_t i = 0; kmt_tp_events[i]; i++) {
		uint32_t tracer = kmt_tracers_of_event(kmt_tp_events[i]);
		int res = tracer & s->opts.tracers ? bind_kmem(s, kmt_tp_events[i]) : 0;

		if (res < 0)
			return res;
		if (res)
			missing[s->records.event[s->records.n_events - 1].layout.op] &= ~tracer;
	}
	for (size_t i = 0; kmt_tracers[i].name; i++)
		if ((missing[KMT_OP_ALLOC] | missing[KMT_OP_FREE]) & 1u << i)
			return kmt_err(-ENOENT, "tracefs lacks events of tracer '%s'",
				       kmt_tracers[i].name);
	return 0;
}

static int read_formats(struct tracefs *s)
{
	_cleanup_free_ char *header = NULL;
	int len = 0, err;

	tep_set_loglevel(TEP_LOG_NONE);
	s->tep = tep_alloc();
	if (!s->tep)
		return kmt_err(-ENOMEM, "no memory for event formats");
	tep_set_file_bigendian(s->tep, tep_is_bigendian() ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_long_size(s->tep, sizeof(long));
	header = tracefs_instance_file_read(s->instance, "events/header_page", &len);
	if (!header)
		header = tracefs_instance_file_read(NULL, "events/header_page", &len);
	if (!header || tep_parse_header_page(s->tep, header, len, sizeof(long)))
		return kmt_err(-EPROTO, "cannot read tracefs events/header_page");
	s->page_size = tep_get_sub_buffer_size(s->tep);
	err = read_tracers(s);
	if (err)
		return err;
	for (const struct kmt_record_fields *o = kmt_record_fields; o->name; o++)
		if (o->kind == KMT_RECORD_STACK ? s->records.stacks : !!s->deliver.tasks)
			bind_other(s, o);
	return bind_common(s);
}

static int read_more(void *ctx, struct kmt_stream *st);

/* ---- the instance -------------------------------------------------------- */

static int write_file(struct tracefs *s, const char *file, const char *text)
{
	if (tracefs_instance_file_write(s->instance, file, text) >= 0)
		return 0;
	return kmt_err_errno(errno ? -errno : -EIO, "cannot write '%s' to tracefs '%s'", text,
			     file);
}

static int create_instance(struct tracefs *s)
{
	char name[64] = KMT_TRACEFS_INSTANCE;

	/* a process may have several of these sources */
	for (int i = 0; i < MAX_INSTANCES; i++) {
		snprintf(name, sizeof(name), i ? KMT_TRACEFS_INSTANCE "%d-%d" :
			 KMT_TRACEFS_INSTANCE "%d", (int)getpid(), i);
		errno = 0;
		s->instance = tracefs_instance_create(name);
		if (!s->instance)
			return kmt_err_errno(errno ? -errno : -EIO, "cannot make a trace instance");
		if (tracefs_instance_is_new(s->instance))
			return 0;
		tracefs_instance_free(take_ptr(s->instance));
	}
	return kmt_err(-EBUSY, "trace instance '%s' is in use", name);
}

/* One that is there. libtracefs calls the top-level buffer NULL. */
static int find_instance(struct tracefs *s)
{
	char path[400];
	int err = kmt_boot_dir(&s->dir, s->opts.buffer, path, sizeof(path));

	if (err || !s->opts.buffer[0])
		return err;
	s->instance = tracefs_instance_alloc(NULL, s->opts.buffer);
	return s->instance ? 0 : kmt_err(-ENOMEM, "no memory for a trace instance");
}

static int set_up_instance(struct tracefs *s)
{
	char kib[32], size[KMT_FMT_LEN];
	int err;

	s->ring_bytes = s->opts.ring_bytes ? s->opts.ring_bytes : kmt_tracefs_ring(s->n_cpus);
	snprintf(kib, sizeof(kib), "%llu", (unsigned long long)(s->ring_bytes / 1024));
	err = write_file(s, "tracing_on", "0");
	if (!err)
		err = write_file(s, "trace_clock", "mono");
	/* overwritten events are counted where they are missing; dropped ones only in sum */
	if (!err)
		err = write_file(s, "options/overwrite", "1");
	if (!err && s->records.stacks)
		err = write_file(s, "options/stacktrace", "1");
	if (err)
		return err;
	err = write_file(s, "buffer_size_kb", kib);
	return err ? kmt_err_prefix(err, "trace buffer of %s per CPU: ",
				    kmt_fmt_bytes(size, s->ring_bytes, false)) : 0;
}

/* What was there before must not be taken for this CPU's events of today. */
static int look_at_filled(struct tracefs *s, struct cpu *c)
{
	_cleanup_free_ char *text = NULL;
	struct kmt_boot_cpu state = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", c->st.cpu);
	text = tracefs_instance_file_read(s->instance, path, NULL);
	kmt_boot_stats_parse(text, &state);
	c->gone = state.read;
	if (!s->opts.consume)
		c->gone += kmt_tracefs_stats_lost(text);
	/* microseconds are all that it tells */
	if (s->stopped_ns < state.now_ns + 1000)
		s->stopped_ns = state.now_ns + 1000;
	return s->opts.consume ? 0 : kmt_trace_map_new(c->fd, s->page_size, &c->map);
}

static int open_cpu(struct tracefs *s, struct cpu *c, uint32_t id)
{
	char path[64];
	int err;

	c->st.cpu = id;
	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", id);
	c->fd = tracefs_instance_file_open(s->instance, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (c->fd < 0)
		return kmt_err_errno(errno ? -errno : -EIO, "cannot open tracefs '%s'", path);
	c->page = malloc(s->page_size);
	c->kbuf = tep_kbuffer(s->tep);
	if (!c->page || !c->kbuf)
		return kmt_err(-ENOMEM, "no memory for trace pages");
	err = kmt_cpu_queue_init(&c->st.queue, s->records.stacks);
	return !err && s->opts.buffer ? look_at_filled(s, c) : err;
}

static int open_cpus(struct tracefs *s)
{
	_cleanup_free_ char *path = tracefs_instance_get_file(s->instance, "per_cpu");
	_cleanup_free_ uint32_t *ids = NULL;
	size_t n = 0;
	int err = path ? kmt_tracefs_cpus(path, &ids, &n) : -ENOMEM;

	if (err)
		return err;
	s->cpu = calloc(n, sizeof(*s->cpu));
	s->merge = (struct kmt_merge){ .stream = calloc(n, sizeof(*s->merge.stream)), .n = n,
				       .read = read_more, .ctx = s };
	if (!s->cpu || !s->merge.stream)
		return kmt_err(-ENOMEM, "no memory for %zu CPUs", n);
	for (size_t i = 0; i < n; i++) {
		s->cpu[i].fd = -1;
		s->merge.stream[i] = &s->cpu[i].st;
	}
	for (s->n_cpus = 0; !err && s->n_cpus < n; s->n_cpus++)
		err = open_cpu(s, &s->cpu[s->n_cpus], ids[s->n_cpus]);
	return err;
}

static void close_cpus(struct tracefs *s)
{
	for (size_t i = 0; i < s->n_cpus; i++) {
		struct cpu *c = &s->cpu[i];

		if (c->fd >= 0)
			close(c->fd);
		if (c->kbuf)
			kbuffer_free(c->kbuf);
		kmt_trace_map_free(c->map);
		free(c->page);
		kmt_cpu_queue_done(&c->st.queue);
	}
	free(s->cpu);
	free(s->merge.stream);
}

static int switch_events(struct tracefs *s, const char *on)
{
	int err = 0;

	/* the table's order: frees first */
	for (size_t i = 0; !err && i < s->records.n_events; i++) {
		struct tep_event *te = tep_find_event(s->tep, s->records.event[i].id);
		char path[128];

		if (s->records.event[i].kind == KMT_RECORD_STACK)
			continue;	/* an option, not an event to switch on */
		snprintf(path, sizeof(path), "events/%s/%s/enable", te->system, te->name);
		err = write_file(s, path, on);
	}
	return err;
}

extern const struct kmt_source_ops kmt_source_tracefs;

/* ---- open, start, stop, close -------------------------------------------- */

static void real_time(struct tracefs *s, bool on)
{
	struct sched_param p = { .sched_priority = on ? 1 : 0 };

	if (on == s->realtime)
		return;
	/* children (the traced command) start as ordinary processes */
	if (!sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &p))
		s->realtime = on;
}

static void source_close(struct kmt_source *base)
{
	struct tracefs *s = (struct tracefs *)base;

	if (!s)
		return;
	real_time(s, false);
	close_cpus(s);
	/* removal switches the events off */
	if (s->instance && !s->opts.buffer)
		tracefs_instance_destroy(s->instance);
	if (s->instance)
		tracefs_instance_free(s->instance);
	if (s->tep)
		tep_free(s->tep);
	tracefs_set_tracing_dir(NULL);
	kmt_tracefs_dir_close(&s->dir);
	kmt_deliver_done(&s->deliver);
	free(s);
}

/* Whoever did it is long gone: ftrace kept the names, lines of "PID NAME". */
static void know_tasks(struct tracefs *s)
{
	_cleanup_free_ char *text = tracefs_instance_file_read(NULL, "saved_cmdlines", NULL);
	char *at = text, *line;

	while (s->deliver.tasks && at && (line = strsep(&at, "\n"))) {
		char *name;
		unsigned long tid = strtoul(line, &name, 10);

		if (name != line && *name == ' ' && name[1] && tid && tid <= INT32_MAX)
			kmt_tasks_rename(s->deliver.tasks, (uint32_t)tid, name + 1);
	}
}

static int open_tracefs(struct tracefs *s)
{
	int err = kmt_tracefs_dir_open(&s->dir);

	if (err)
		return err;
	tracefs_set_loglevel(TEP_LOG_NONE);
	if (tracefs_set_tracing_dir(s->dir.path))
		return kmt_err(-ENOMEM, "no memory for a path");
	kmt_tracefs_remove_leftovers(&s->dir);
	err = s->opts.buffer ? find_instance(s) : create_instance(s);
	if (!err)
		err = read_formats(s);
	if (!err)
		err = open_cpus(s);
	if (!err && s->opts.buffer)
		know_tasks(s);
	return err || s->opts.buffer ? err : set_up_instance(s);
}

static int source_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	struct tracefs *s;
	int err, n;

	if (opts->must_bulk)
		return kmt_err(-EOPNOTSUPP, "tracefs has no events of tracer 'bulk'");
	s = calloc(1, sizeof(*s));
	if (!s)
		return kmt_err(-ENOMEM, "no memory for the tracefs source");
	s->base.ops = &kmt_source_tracefs;
	s->opts = *opts;
	s->opts.tracers = opts->tracers ? opts->tracers : kmt_tracers_default();
	s->opts.own = opts->own || opts->buffer;	/* numbers of processes come again */
	s->records.stacks = opts->want_stacks;
	s->dir.mount_fd = -1;
	n = kmt_cpus_file("/sys/devices/system/cpu/possible", NULL, NULL);
	s->possible_cpus = n > 0 ? n : 0;
	s->opts.path = opts->buffer;	/* its tasks are not those of /proc, now */
	err = kmt_deliver_init(&s->deliver, &s->opts);
	if (!err && opts->buffer)
		kmt_kmalloc_gfp_from(opts->gfp_names, &s->deliver.kmalloc_gfp);
	if (!err)
		err = open_tracefs(s);
	if (err) {
		source_close(&s->base);
		return err;
	}
	*ret = &s->base;
	return 0;
}

static int source_start(struct kmt_source *base)
{
	struct tracefs *s = (struct tracefs *)base;
	int err = switch_events(s, "1");

	if (!err)
		err = write_file(s, "tracing_on", "1");
	if (err)
		return err;
	if (!s->started_ns)
		s->started_ns = now_ns();
	s->stopped_ns = 0;
	s->settled = false;
	s->merge.last_bound = 0;
	/* after the events are on: who is born now is seen by one or the other */
	if (s->deliver.tasks)
		err = kmt_tasks_scan(s->deliver.tasks);
	if (!err && s->opts.realtime)
		real_time(s, true);
	return err;
}

static int source_stop(struct kmt_source *base)
{
	struct tracefs *s = (struct tracefs *)base;
	int err = write_file(s, "tracing_on", "0");

	s->stopped_ns = now_ns();
	real_time(s, false);
	switch_events(s, "0");
	return err;
}

/* ---- records to nodes ---------------------------------------------------- */

/* The kernel's own count of what this CPU's buffer had no room for. */
static uint64_t kernel_lost(struct tracefs *s, const struct cpu *c)
{
	_cleanup_free_ char *text = NULL;
	char path[64];

	if (c->map)
		return c->gone;		/* what goes from now on was copied, or is told then */
	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", c->st.cpu);
	text = tracefs_instance_file_read(s->instance, path, NULL);
	return kmt_tracefs_stats_lost(text) + c->gone;
}

/*
 * Events are missing before the page just read. Pages often have no room for
 * their number (-1); it is taken from the kernel's own count then, so that the
 * sum over all gaps is never more than that.
 */
static void add_gap(struct tracefs *s, struct cpu *c, int missed)
{
	uint64_t total = kernel_lost(s, c);
	uint64_t untold = total > c->lost ? total - c->lost : 0;
	struct kmt_node *node;

	kmt_cpu_queue_give_up(&c->st.queue);
	node = kmt_cpu_queue_push(&c->st.queue);
	node->kind = KMT_NODE_LOST;
	node->ts_ns = c->rec ? c->rec_ns : kbuffer_timestamp(c->kbuf);
	node->lost = missed > 0 && (uint64_t)missed < untold ? (uint64_t)missed : untold;
	c->lost += node->lost;
}

/* Overwritten while it was read: nobody knows how many events. */
static void add_unknown_gap(struct tracefs *s, struct cpu *c)
{
	struct kmt_node *node;

	kmt_cpu_queue_give_up(&c->st.queue);
	node = kmt_cpu_queue_push(&c->st.queue);
	node->kind = KMT_NODE_LOST;
	node->ts_ns = c->rec_ns;
	s->lost_unknown = true;
}

/* A page into c->page: 1, 0 none is left, -ESTALE. */
static int fetch_page(struct tracefs *s, struct cpu *c, uint32_t *ret_skip)
{
	*ret_skip = 0;
	if (c->map)
		return kmt_trace_map_next(c->map, c->page, ret_skip);
	/* EAGAIN: empty; anything else: the CPU has no buffer (offline since boot) */
	return read(c->fd, c->page, s->page_size) > 0;
}

/* Next page of this CPU; 0: nothing there now. */
static int next_page(struct tracefs *s, struct cpu *c)
{
	unsigned long long ts = 0;
	uint32_t skip;
	int missed, got = fetch_page(s, c, &skip);

	if (got == -ESTALE) {
		add_unknown_gap(s, c);
		return 1;
	}
	if (!got) {
		c->st.drained = true;
		return 0;
	}
	if (kbuffer_load_subbuffer(c->kbuf, c->page))
		return kmt_err(-EPROTO, "cannot read a trace page of CPU %u", c->st.cpu);
	c->rec = kbuffer_read_event(c->kbuf, &ts);
	while (c->rec && (char *)c->rec < (char *)c->page + skip)
		c->rec = kbuffer_next_event(c->kbuf, &ts);
	c->rec_ns = ts;
	missed = kbuffer_missed_events(c->kbuf);
	if (missed)
		add_gap(s, c, missed);
	return 1;
}

/* Take the page's current record into the queue and step to the next. */
static int take_record(struct tracefs *s, struct cpu *c)
{
	size_t len = kbuffer_event_size(c->kbuf);
	unsigned long long ts = 0;
	int err = kmt_records_take(&s->records, &c->st, c->rec, len, c->rec_ns);

	c->rec = kbuffer_next_event(c->kbuf, &ts);
	c->rec_ns = ts;
	return err;
}

static int read_more(void *ctx, struct kmt_stream *st)
{
	struct cpu *c = (struct cpu *)st;	/* its first member */

	return c->rec ? take_record(ctx, c) : next_page(ctx, c);
}

/* After the end: gaps that no page told of, so that the sum is the kernel's. */
static int make_up_losses(struct tracefs *s, const struct kmt_sink *sink)
{
	for (size_t i = 0; i < s->n_cpus; i++) {
		struct cpu *c = &s->cpu[i];
		uint64_t total = kernel_lost(s, c);
		int err;

		if (total <= c->lost)
			continue;
		err = kmt_deliver_lost(sink, KMT_LOSS_RING, c->st.cpu, total - c->lost,
				       s->stopped_ns);
		c->lost = total;
		if (err)
			return err;
	}
	return 0;
}

/* ---- losses, poll and quality -------------------------------------------- */

/*
 * Wait until it is worth looking again, at most *left: a reader that looks at
 * every few events keeps a CPU busy. False: a signal came.
 */
static bool wait_for_look(struct tracefs *s, int64_t *left)
{
	uint64_t now = now_ns();
	int64_t ns = now < s->next_look_ns ? (int64_t)(s->next_look_ns - now) : 0;
	struct timespec ts = { .tv_nsec = ns < *left ? ns : *left };

	*left -= ts.tv_nsec;
	return !ts.tv_nsec || !nanosleep(&ts, NULL);
}

/* One look at all CPUs. */
static int look(struct tracefs *s, const struct kmt_sink *sink)
{
	/* read the clock first: what comes later than that may not be complete */
	uint64_t now = now_ns(), wait = LOOK_NS * s->ring_bytes / KMT_TRACEFS_RING;
	int n;

	if (now >= s->next_own_ns) {
		kmt_deliver_refresh_own(&s->deliver);
		s->next_own_ns = now + OWN_NS;
	}
	n = kmt_merge_pass(&s->merge, &s->deliver, sink,
			   s->opts.buffer ? s->stopped_ns :
			   s->stopped_ns ? KMT_MERGE_ALL : now - SLACK_NS);
	wait = wait > LOOK_NS ? LOOK_NS : wait < LOOK_MIN_NS ? LOOK_MIN_NS : wait;
	s->next_look_ns = now_ns() + wait;
	return n;
}

static int source_poll(struct kmt_source *base, const struct kmt_sink *sink, int timeout_ms)
{
	struct tracefs *s = (struct tracefs *)base;
	int64_t left = (int64_t)timeout_ms * 1000000;
	int n, err;

	if (s->settled)
		return s->opts.buffer ? -ENODATA : 0;
	do {
		if (!s->stopped_ns && !wait_for_look(s, &left))
			return -EINTR;
		n = look(s, sink);
	} while (!n && left > 0 && !s->stopped_ns);
	if (n < 0)
		return n;
	err = kmt_deliver_untracked(&s->deliver, sink, s->merge.last_bound);
	if (!err && s->stopped_ns && !n) {
		s->settled = true;
		err = make_up_losses(s, sink);
	}
	return err ? err : n;
}

static void source_quality(struct kmt_source *base, struct kmt_quality *q)
{
	struct tracefs *s = (struct tracefs *)base;
	struct utsname un;
	long long kib = 0;

	snprintf(q->source, sizeof(q->source), "tracefs");
	snprintf(q->mode, sizeof(q->mode), "streamed");
	if (!uname(&un))
		snprintf(q->kernel, sizeof(q->kernel), "%s", un.release);
	if (s->started_ns)
		q->window_ns = (s->stopped_ns ? s->stopped_ns : now_ns()) - s->started_ns;
	kmt_deliver_quality(&s->deliver, q);
	if (s->opts.tracers & KMT_TRACER_BIT(slab))
		snprintf(q->functions, sizeof(q->functions), KMT_FUNCTIONS_UNSEEN);
	q->clock_resolution_ns = 1;
	q->lost[KMT_LOSS_RING] = 0;
	q->lost[KMT_LOSS_STACKS] = 0;
	for (size_t i = 0; i < s->n_cpus; i++) {
		uint64_t total = s->settled ? s->cpu[i].lost : kernel_lost(s, &s->cpu[i]);

		q->lost[KMT_LOSS_RING] += total > s->cpu[i].lost ? total : s->cpu[i].lost;
		q->lost[KMT_LOSS_STACKS] += s->cpu[i].st.queue.lost_stacks;
	}
	q->lost_unknown = s->lost_unknown;
	q->lost[KMT_LOSS_RING] += s->lost_unknown;
	if (s->opts.buffer)
		q->window_ns = s->stopped_ns;	/* since the clock began: the boot */
	tracefs_instance_file_read_number(s->instance, "buffer_total_size_kb", &kib);
	q->table_bytes = (uint64_t)kib * 1024 + kmt_deliver_bytes(&s->deliver);
}

const struct kmt_source_ops kmt_source_tracefs = {
	.name = "tracefs",
	.help = "the kernel's trace buffers, read and counted in user space (no BPF needed)",
	.live = true,
	.open = source_open,
	.start = source_start,
	.poll = source_poll,
	.stop = source_stop,
	.quality = source_quality,
	.close = source_close,
};
