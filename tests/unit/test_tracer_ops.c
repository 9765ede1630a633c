// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracers behind the tracing directory, with a source that says what the test
 * wants: what is kept, printed, counted, switched off, and refused.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cmd/live.h"

#define kmt_source_open_live fake_open_live
#define kmt_source_find fake_find
#include "cmd/key.c"
#include "cmd/names.c"
#include "cmd/overruns.c"
#include "cmd/text.c"
#include "cmd/tracer_count.c"
#undef NSEC
#include "cmd/tracer_knobs.c"
#undef print_number
#include "cmd/tracer_run.c"
#include "cmd/tracers.c"

#define MOST 20000

uint64_t kmt_live_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- the source ---- */

struct fake {
	struct kmt_source base;
	struct kmt_event queue[MOST];
	size_t n, handed;
	uint64_t events, lost, tell;
	bool is_on;
	int fail;			/* of the next poll */
};

/* What the test and the source share. */
static struct {
	pthread_mutex_t lock;
	struct fake *last;		/* opened, not closed */
	int n_open, n_opened, n_started;
	int refuse_open, refuse_start;
	char cache[64];			/* first pattern of the last one's filter */
	size_t n_not, n_pid;
	bool stacks;
	uint64_t objects, sites;
} world = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int fake_start(struct kmt_source *src)
{
	if (world.refuse_start)
		return kmt_err(world.refuse_start, "start is refused");
	((struct fake *)src)->is_on = true;
	world.n_started++;
	return 0;
}

static int fake_stop(struct kmt_source *src)
{
	((struct fake *)src)->is_on = false;
	return 0;
}

static int fake_poll(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms)
{
	struct fake *f = (struct fake *)src;
	int n = 0, err = f->fail;

	pthread_mutex_lock(&world.lock);
	if (f->tell) {
		const struct kmt_lost lost = { .reason = KMT_LOSS_RING, .cpu = 0,
					       .events = f->tell };

		f->lost += f->tell;
		f->tell = 0;
		sink->lost(sink->ctx, &lost);
	}
	for (; f->handed < f->n; n++)
		sink->event(sink->ctx, &f->queue[f->handed++]);
	f->events += (uint64_t)n;
	pthread_mutex_unlock(&world.lock);
	return err ? kmt_err(err, "the source broke") : n;
}

static void fake_quality(struct kmt_source *src, struct kmt_quality *q)
{
	const struct fake *f = (struct fake *)src;

	snprintf(q->source, sizeof(q->source), "fake");
	q->events = f->events;
	q->lost[KMT_LOSS_RING] = f->lost;
	q->window_ns = 1;
}

static void fake_close(struct kmt_source *src)
{
	if (world.last == (struct fake *)src)
		world.last = NULL;
	world.n_open--;
	free(src);
}

static const struct kmt_source_ops fake_ops = {
	.name = "fake", .live = true, .start = fake_start, .poll = fake_poll, .stop = fake_stop,
	.quality = fake_quality, .close = fake_close,
};

int fake_open_live(const struct kmt_source_opts *opts, struct kmt_source **ret,
		   char ret_why[KMT_SOURCE_WHY])
{
	struct fake *f;

	assert_true(opts->mode == KMT_MODE_STREAMED && opts->books);
	if (world.refuse_open)
		return kmt_err(world.refuse_open, "open is refused");
	f = calloc(1, sizeof(*f));
	assert_non_null(f);
	f->base.ops = &fake_ops;
	snprintf(world.cache, sizeof(world.cache), "%s",
		 opts->filter->cache.n ? opts->filter->cache.v[0] : "");
	world.n_not = opts->filter->cache_not.n;
	world.n_pid = opts->filter->n_pid;
	world.stacks = opts->want_stacks;
	world.objects = opts->objects;
	world.sites = opts->sites;
	world.last = f;
	world.n_open++;
	world.n_opened++;
	ret_why[0] = '\0';
	*ret = &f->base;
	return 0;
}

const struct kmt_source_ops *fake_find(const char *name)
{
	return strcmp(name, "fake") ? NULL : &fake_ops;
}

/* ---- the kernel: events happen whether somebody looks or not ---- */

#define SITE UINT64_C(0xffffffff81000010)

static void happens(struct fake *f, const struct kmt_event *ev)
{
	pthread_mutex_lock(&world.lock);
	assert_true(f->n < MOST);
	if (f->is_on)
		f->queue[f->n++] = *ev;
	pthread_mutex_unlock(&world.lock);
}

/* Far apart, or they would take next to no room. */
static uint64_t address(uint64_t first, int i)
{
	return 0xffff888000000000 + (first + (uint64_t)i * 2654435761 % (1u << 30)) * 64;
}

static void alloc_objects(struct fake *f, uint64_t first, int n)
{
	for (int i = 0; i < n; i++)
		happens(f, &(struct kmt_event){
			.op = KMT_OP_ALLOC, .type = KMT_TYPE_KMALLOC, .has_time = true,
			.node = -1, .real_node = -1, .order = -1, .migratetype = -1,
			.call_site = SITE, .addr = address(first, i),
			.bytes_req = 40, .bytes_alloc = 64, .gfp = 0xcc0, .cache = "kmalloc-64",
			.ts_ns = kmt_live_now(),
		});
}

static void free_objects(struct fake *f, uint64_t first, int n)
{
	for (int i = 0; i < n; i++)
		happens(f, &(struct kmt_event){
			.op = KMT_OP_FREE, .type = KMT_TYPE_KMALLOC, .has_time = true,
			.node = -1, .real_node = -1, .order = -1, .migratetype = -1,
			.call_site = SITE + 0x1000, .ts_ns = kmt_live_now(),
			.addr = address(first, i),
		});
}

/* ---- the user ---- */

struct user {
	struct kmt_tracers *all;
	struct kmt_control_ops ops;
	void *t;
};

static void open_user(struct user *u)
{
	const struct kmt_tracers_opts opts = { .source = NULL };

	world.refuse_open = world.refuse_start = world.n_opened = world.n_started = 0;
	world.n_open = 0;
	assert_int_equal(kmt_tracers_new(&opts, &u->all), 0);
	kmt_tracers_control(u->all, &u->ops);
	assert_int_equal(u->ops.make(u->ops.ctx, "", &u->t), 0);
}

static void close_user(struct user *u)
{
	kmt_tracers_free(u->all);
	assert_int_equal(world.n_open, 0);
}

static void reads(struct user *u, enum kmt_knob knob, const char *expect)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };

	assert_int_equal(u->ops.get(u->t, knob, &b), 0);
	assert_string_equal(kmt_buf_str(&b), expect);
}

static void sets(struct user *u, enum kmt_knob knob, const char *value)
{
	assert_int_equal(u->ops.set(u->t, knob, value), 0);
}

static void refuses(struct user *u, enum kmt_knob knob, const char *value, int err)
{
	assert_int_equal(u->ops.set(u->t, knob, value), err);
	assert_true(*kmt_err_text());
}

/* Caller frees. */
static char *trace(struct user *u)
{
	size_t len = 0, cap = 4 << 20;
	char *all = malloc(cap);
	void *text;
	ssize_t n;

	assert_non_null(all);
	assert_int_equal(u->ops.text_open(u->t, &text), 0);
	while ((n = u->ops.text_read(text, all + len, cap - len - 1, len)) > 0) {
		len += (size_t)n;
		assert_true(len < cap - 1);
	}
	assert_int_equal(n, 0);
	all[len] = '\0';
	u->ops.text_close(text);
	return all;
}

static int lines_with(struct user *u, const char *what)
{
	char *all = trace(u);
	int n = 0;

	for (char *at = all; (at = strstr(at, what)); at++)
		n++;
	free(all);
	return n;
}

/* Of the one row of allocations. */
static int64_t counted(struct user *u, const char *key)
{
	struct kmt_report *r;
	int64_t v;

	assert_int_equal(u->ops.report(u->t, "site", &r), 0);
	assert_int_equal(r->n_rows, 1);
	assert_true(kmt_report_column(r, key) >= 0);
	v = r->rows[0].cells[kmt_report_column(r, key)].i;
	kmt_report_free(r);
	return v;
}

static uint64_t overrun(struct user *u, const char *reason)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };
	const char *at;

	assert_int_equal(u->ops.overruns(u->t, &b), 0);
	at = strstr(kmt_buf_str(&b), reason);
	assert_non_null(at);
	return strtoull(at + strlen(reason) + 2, NULL, 10);
}

/* ---- tests ---- */

/* What the users of 2009 did, step by step. */
static void test_session_of_2009(void **state)
{
	struct user u;
	char *text;

	open_user(&u);
	reads(&u, KMT_KNOB_TRACER, "nop");
	text = trace(&u);
	assert_string_equal(text, "# tracer: nop\n#\n");
	free(text);
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	reads(&u, KMT_KNOB_TRACER, "kmemtrace");
	alloc_objects(world.last, 1, 1);
	free_objects(world.last, 1, 1);
	text = trace(&u);
	/* SITE, 0xffff888000000040 and SITE + 0x1000 in decimal, 0xcc0 too */
	assert_string_equal(text, "# tracer: kmemtrace\n#\n"
		"type_id 0 call_site 18446744071578845200 ptr 18446612682070032448 bytes_req 40 "
		"bytes_alloc 64 gfp_flags 3264 node -1\n"
		"type_id 0 call_site 18446744071578849296 ptr 18446612682070032448\n");
	free(text);
	sets(&u, KMT_KNOB_MINIMALISTIC, "1");
	assert_int_equal(lines_with(&u, "\n  +      K     40     64   00000cc0   "
				    "0xffff888000000040     -1   "), 1);
	assert_int_equal(lines_with(&u, "# ALLOC  TYPE  REQ   GIVEN  FLAGS"), 1);
	sets(&u, KMT_KNOB_MINIMALISTIC, "0");
	sets(&u, KMT_KNOB_CACHE, "1");
	assert_int_equal(lines_with(&u, "node -1 cache kmalloc-64\n"), 1);
	sets(&u, KMT_KNOB_TRACER, "nop");
	assert_int_equal(world.n_open, 0);
	/* the buffer keeps what it has */
	assert_int_equal(lines_with(&u, "# tracer: nop\n#\ntype_id 0 "), 1);
	assert_int_equal(lines_with(&u, "type_id"), 2);
	assert_int_equal(u.ops.clear(u.t), 0);
	assert_int_equal(lines_with(&u, "type_id"), 0);
	close_user(&u);
}

static void test_off_and_on(void **state)
{
	struct user u;

	open_user(&u);
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	alloc_objects(world.last, 0, 5);
	sets(&u, KMT_KNOB_TRACING_ON, "0");
	reads(&u, KMT_KNOB_TRACING_ON, "0");
	alloc_objects(world.last, 100, 50);	/* nobody's */
	assert_int_equal(lines_with(&u, "bytes_req"), 5);
	assert_int_equal(counted(&u, "allocs"), 5);
	sets(&u, KMT_KNOB_TRACING_ON, "1");
	assert_int_equal(world.n_opened, 1);	/* the same source goes on */
	assert_int_equal(world.n_started, 2);
	alloc_objects(world.last, 200, 3);
	assert_int_equal(lines_with(&u, "bytes_req"), 8);
	assert_int_equal(counted(&u, "allocs"), 8);
	/* off before it begins: it waits */
	sets(&u, KMT_KNOB_TRACER, "nop");
	sets(&u, KMT_KNOB_TRACING_ON, "0");
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	alloc_objects(world.last, 0, 5);
	assert_int_equal(world.n_started, 2);
	sets(&u, KMT_KNOB_TRACING_ON, "1");
	assert_int_equal(world.n_started, 3);
	close_user(&u);
}

static void test_statistics(void **state)
{
	struct kmt_report *r;
	struct user u;

	open_user(&u);
	assert_int_equal(u.ops.report(u.t, "site", &r), -ENODATA);
	assert_int_equal(u.ops.report(u.t, "nonsense", &r), -EINVAL);
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	alloc_objects(world.last, 0, 10);
	free_objects(world.last, 0, 4);
	assert_int_equal(counted(&u, "allocs"), 10);
	assert_int_equal(counted(&u, "live_objects"), 6);
	/* zero again, but what is live is live */
	assert_int_equal(u.ops.reset(u.t), 0);
	assert_int_equal(counted(&u, "allocs"), 0);
	assert_int_equal(counted(&u, "live_objects"), 6);
	alloc_objects(world.last, 20, 2);
	free_objects(world.last, 20, 1);
	assert_int_equal(counted(&u, "allocs"), 2);
	assert_int_equal(counted(&u, "frees"), 1);
	assert_int_equal(counted(&u, "live_objects"), 7);
	/* they stay when it stops, also the objects */
	sets(&u, KMT_KNOB_TRACER, "nop");
	assert_int_equal(counted(&u, "live_objects"), 7);
	assert_int_equal(u.ops.report(u.t, "object", &r), 0);
	assert_int_equal(r->n_rows, 7);
	kmt_report_free(r);
	/* a new run begins anew */
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	alloc_objects(world.last, 0, 1);
	assert_int_equal(counted(&u, "live_objects"), 1);
	close_user(&u);
}

static void test_numbers(void **state)
{
	char total[32], kb[32];
	struct user u;

	open_user(&u);
	reads(&u, KMT_KNOB_BUFFER_KB, "1408");
	snprintf(total, sizeof(total), "%u", 1408 * u.all->n_cpus);
	reads(&u, KMT_KNOB_BUFFER_TOTAL_KB, total);
	sets(&u, KMT_KNOB_BUFFER_KB, "512");
	reads(&u, KMT_KNOB_BUFFER_KB, "512");
	refuses(&u, KMT_KNOB_BUFFER_KB, "0", -EINVAL);
	refuses(&u, KMT_KNOB_BUFFER_KB, "much", -EINVAL);
	refuses(&u, KMT_KNOB_BUFFER_KB, "", -EINVAL);
	/* a quarter of the memory for all CPUs, and more */
	snprintf(kb, sizeof(kb), "%" PRIu64, u.all->ram_bytes / 4096 / u.all->n_cpus + 1);
	refuses(&u, KMT_KNOB_BUFFER_KB, kb, -E2BIG);
	refuses(&u, KMT_KNOB_BUFFER_KB, "99999999999999999999999", -E2BIG);
	refuses(&u, KMT_KNOB_BUFFER_TOTAL_KB, "1", -EROFS);
	reads(&u, KMT_KNOB_OBJECT_TABLE_KB, "0");
	sets(&u, KMT_KNOB_OBJECT_TABLE_KB, "2");
	refuses(&u, KMT_KNOB_OBJECT_TABLE_KB, "1", -EINVAL);
	refuses(&u, KMT_KNOB_OBJECT_TABLE_KB, "99999999999", -E2BIG);
	reads(&u, KMT_KNOB_CALL_SITE_TABLE, "16384");
	sets(&u, KMT_KNOB_CALL_SITE_TABLE, "16");
	refuses(&u, KMT_KNOB_CALL_SITE_TABLE, "15", -EINVAL);
	refuses(&u, KMT_KNOB_CALL_SITE_TABLE, "2000000", -E2BIG);
	refuses(&u, KMT_KNOB_TRACING_ON, "2", -EINVAL);
	refuses(&u, KMT_KNOB_GFP, "yes", -EINVAL);
	refuses(&u, KMT_KNOB_TRACER, "function", -EINVAL);
	/* 2048 bytes are 32 buckets of three */
	sets(&u, KMT_KNOB_STACKTRACE, "1");
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	assert_int_equal(world.objects, 96);
	assert_int_equal(world.sites, 16);
	assert_true(world.stacks);
	refuses(&u, KMT_KNOB_OBJECT_TABLE_KB, "64", -EBUSY);
	refuses(&u, KMT_KNOB_CALL_SITE_TABLE, "64", -EBUSY);
	reads(&u, KMT_KNOB_OBJECT_TABLE_KB, "2");
	close_user(&u);
}

static void test_filters(void **state)
{
	struct user u;

	open_user(&u);
	sets(&u, KMT_KNOB_CACHE_FILTER, " kmalloc-*\t dentry,filp ");
	reads(&u, KMT_KNOB_CACHE_FILTER, "kmalloc-* dentry filp");
	refuses(&u, KMT_KNOB_EVENT_PID, "1 -2", -EINVAL);
	refuses(&u, KMT_KNOB_EVENT_PID, "0", -EINVAL);
	refuses(&u, KMT_KNOB_EVENT_PID, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", -E2BIG);
	reads(&u, KMT_KNOB_EVENT_PID, "");
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	assert_string_equal(world.cache, "kmalloc-*");
	alloc_objects(world.last, 0, 4);
	/* another source takes over; what is kept stays */
	sets(&u, KMT_KNOB_CACHE_NOTRACE, "kmalloc-8 kmalloc-16");
	sets(&u, KMT_KNOB_EVENT_PID, "1 22");
	assert_int_equal(world.n_opened, 3);
	assert_int_equal(world.n_open, 1);
	assert_int_equal(world.n_not, 2);
	assert_int_equal(world.n_pid, 2);
	assert_int_equal(lines_with(&u, "bytes_req"), 4);
	alloc_objects(world.last, 0, 1);
	assert_int_equal(lines_with(&u, "bytes_req"), 5);
	assert_int_equal(counted(&u, "allocs"), 1);
	/* the same again changes nothing */
	sets(&u, KMT_KNOB_EVENT_PID, "1  22");
	assert_int_equal(world.n_opened, 3);
	/* a source that cannot: the one that runs goes on, and the setting is as it was */
	world.refuse_open = -EPERM;
	refuses(&u, KMT_KNOB_EVENT_PID, "7", -EPERM);
	assert_string_equal(kmt_err_text(), "open is refused");
	reads(&u, KMT_KNOB_EVENT_PID, "1 22");
	reads(&u, KMT_KNOB_TRACER, "kmemtrace");
	alloc_objects(world.last, 1, 1);
	assert_int_equal(counted(&u, "allocs"), 2);
	close_user(&u);
}

static void test_losses(void **state)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };
	struct user u;

	open_user(&u);
	assert_int_equal(u.ops.overruns(u.t, &b), 0);	/* all reasons, all zero */
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		assert_int_equal(overrun(&u, kmt_loss_key(i)), 0);
	sets(&u, KMT_KNOB_OBJECT_TABLE_KB, "2");
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	alloc_objects(world.last, 0, 100);	/* of which 96 find room */
	assert_int_equal(counted(&u, "live_objects"), 96);
	assert_int_equal(overrun(&u, "lost_objects"), 4);
	pthread_mutex_lock(&world.lock);
	world.last->tell = 17;
	pthread_mutex_unlock(&world.lock);
	assert_int_equal(lines_with(&u, "# overflow: events lost: 17 (ring buffer full), cpu 0\n"),
			 1);
	assert_int_equal(overrun(&u, "lost_ring"), 17);
	/* the session's table: told at the next look at the books, here at the end */
	sets(&u, KMT_KNOB_TRACING_ON, "0");
	assert_int_equal(lines_with(&u, "# overflow: events lost: 4 (live-object table full)"), 1);
	/* 20000 events do not fit into 64 KiB */
	sets(&u, KMT_KNOB_TRACING_ON, "1");
	sets(&u, KMT_KNOB_BUFFER_KB, "16");
	alloc_objects(world.last, 0, 15000);
	assert_int_equal(lines_with(&u, "bytes_req") + (int)overrun(&u, "overwritten"), 15100);
	assert_true(overrun(&u, "overwritten") > 1000);
	close_user(&u);
}

static void test_faults(void **state)
{
	struct kmt_report *r;
	struct user u;
	bool is_told = false;

	open_user(&u);
	world.refuse_open = -EACCES;
	refuses(&u, KMT_KNOB_TRACER, "kmemtrace", -EACCES);
	world.refuse_open = 0;
	world.refuse_start = -EBUSY;
	refuses(&u, KMT_KNOB_TRACER, "kmemtrace", -EBUSY);
	assert_string_equal(kmt_err_text(), "start is refused");
	reads(&u, KMT_KNOB_TRACER, "nop");
	assert_int_equal(world.n_open, 0);
	world.refuse_start = 0;
	/* a source that breaks on the way: off, and the reports say why */
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	alloc_objects(world.last, 0, 3);
	kmt_tracer_sync(u.t);
	world.last->fail = -EIO;
	kmt_tracer_sync(u.t);
	reads(&u, KMT_KNOB_TRACING_ON, "0");
	assert_int_equal(u.ops.report(u.t, "site", &r), 0);
	for (size_t i = 0; i < r->n_notes; i++)
		is_told |= !!strstr(r->notes[i], "tracing ended early: the source broke");
	assert_true(is_told);
	kmt_report_free(r);
	close_user(&u);
}

static void test_two(void **state)
{
	struct user u;
	struct fake *first, *second;
	void *other;
	char line[300];

	open_user(&u);
	assert_int_equal(u.ops.make(u.ops.ctx, "web", &other), 0);
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	first = world.last;
	assert_int_equal(u.ops.set(other, KMT_KNOB_TRACER, "kmemtrace"), 0);
	second = world.last;
	alloc_objects(first, 0, 3);
	alloc_objects(second, 0, 8);
	assert_int_equal(counted(&u, "allocs"), 3);
	assert_int_equal(lines_with(&u, "bytes_req"), 3);
	kmt_tracer_sync(other);
	assert_true(u.ops.pipe_ready(other));
	/* one line after the other: taken by one reader is gone for the next */
	for (int i = 0; i < 8; i++)
		assert_true(u.ops.pipe_read(other, line, 150) > 100);
	assert_int_equal(u.ops.pipe_read(other, line, 150), 0);
	u.ops.end(other);
	assert_int_equal(world.n_open, 1);
	assert_int_equal(counted(&u, "allocs"), 3);
	close_user(&u);
}

/* ---- many at once ---- */

static void *reader(void *ctx)
{
	struct user *u = ctx;

	for (int i = 0; i < 15; i++) {
		_cleanup_buf_ struct kmt_buf b = { 0 };
		struct kmt_report *r;
		char line[300];

		free(trace(u));
		if (!u->ops.report(u->t, "object", &r))
			kmt_report_free(r);
		u->ops.pipe_read(u->t, line, sizeof(line));
		u->ops.overruns(u->t, &b);
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t thread[6];
	struct user u;

	open_user(&u);
	sets(&u, KMT_KNOB_TRACER, "kmemtrace");
	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, reader, &u), 0);
	for (int i = 0; i < 12; i++) {
		alloc_objects(world.last, 0, 100);
		sets(&u, KMT_KNOB_MINIMALISTIC, i % 2 ? "1" : "0");
		if (i % 4 == 1)
			sets(&u, KMT_KNOB_TRACER, "nop");
		else if (i % 4 == 3)
			sets(&u, KMT_KNOB_EVENT_PID, i % 8 == 3 ? "1" : "");
		else
			sets(&u, KMT_KNOB_TRACER, "kmemtrace");
		if (i % 4 == 1)
			sets(&u, KMT_KNOB_TRACER, "kmemtrace");
		if (i % 5 == 4)
			u.ops.reset(u.t);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	close_user(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session_of_2009),
		cmocka_unit_test(test_off_and_on),
		cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
