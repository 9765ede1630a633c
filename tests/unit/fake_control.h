/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracers that trace nothing: a setting is a string, an event the line
 * "event N\n", made by whoever tests. What a value may be is decided by rules that
 * are simple enough to be seen here. Counters lie in memory that is shared with
 * processes that are forked later.
 */
#ifndef KMT_TESTS_FAKE_CONTROL_H
#define KMT_TESTS_FAKE_CONTROL_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/err.h"
#include "control/control.h"
#include "report/report.h"

struct fake {
	int n_tracers;		/* made and not ended */
	bool may_not_make;
	bool never_traced;
};

#define FAKE_KNOB_LEN	70000	/* more than a list may have */

struct fake_tracer {
	struct fake *fake;
	char name[64];
	pthread_mutex_t lock;
	char knob[KMT_KNOB_MAX][FAKE_KNOB_LEN];
	unsigned first, next;	/* kept events: first .. next-1 */
	unsigned taken;		/* up to which the pipe took them */
	unsigned n_resets;
};

struct fake_text {
	struct kmt_buf text;
	int n_inside;		/* threads: at most one */
};

static inline void *fake_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static inline int fake_make(void *ctx, const char *name, void **ret_tracer)
{
	static const char *const start[KMT_KNOB_MAX] = {
		"nop", "1", "1408", "2816", "", "", "", "0", "16384", "0", "0", "0", "0", "0", "0",
	};
	struct fake *fake = ctx;
	struct fake_tracer *t;
	pthread_mutexattr_t attr;

	if (*name && fake->may_not_make)
		return kmt_err(-EPERM, "this shows one session");
	t = fake_shared(sizeof(*t));
	t->fake = fake;
	snprintf(t->name, sizeof(t->name), "%s", name);
	for (int i = 0; i < KMT_KNOB_MAX; i++)
		snprintf(t->knob[i], FAKE_KNOB_LEN, "%s", start[i]);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&t->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	__atomic_add_fetch(&fake->n_tracers, 1, __ATOMIC_SEQ_CST);
	*ret_tracer = t;
	return 0;
}

static inline void fake_end(void *tracer)
{
	struct fake_tracer *t = tracer;

	__atomic_sub_fetch(&t->fake->n_tracers, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_destroy(&t->lock);
	munmap(t, sizeof(*t));
}

static inline int fake_get(void *tracer, enum kmt_knob knob, struct kmt_buf *out)
{
	struct fake_tracer *t = tracer;

	pthread_mutex_lock(&t->lock);
	kmt_buf_puts(out, t->knob[knob]);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

static inline int fake_check(struct fake_tracer *t, enum kmt_knob knob, const char *value)
{
	bool is_number = *value && strspn(value, "0123456789") == strlen(value);

	switch (knob) {
	case KMT_KNOB_TRACER:
		if (strcmp(value, "nop") && strcmp(value, "kmemtrace"))
			return kmt_err(-EINVAL, "there is no tracer '%s'", value);
		return 0;
	case KMT_KNOB_EVENT_PID:
		if (strspn(value, "0123456789 ") != strlen(value))
			return kmt_err(-EINVAL, "'%s' is no list of processes", value);
		return 0;
	case KMT_KNOB_BUFFER_KB:
		if (is_number && strlen(value) > 7)
			return kmt_err(-E2BIG, "more than this machine has");
		/* fall through */
	case KMT_KNOB_OBJECT_TABLE_KB:
	case KMT_KNOB_CALL_SITE_TABLE:
		if (!is_number)
			return kmt_err(-EINVAL, "'%s' is no number", value);
		if (knob != KMT_KNOB_BUFFER_KB && !strcmp(t->knob[KMT_KNOB_TRACER], "kmemtrace"))
			return kmt_err(-EBUSY, "not while it traces");
		return 0;
	case KMT_KNOB_CACHE_FILTER:
	case KMT_KNOB_CACHE_NOTRACE:
		return 0;
	default:
		if (strcmp(value, "0") && strcmp(value, "1"))
			return kmt_err(-EINVAL, "neither 0 nor 1");
		return 0;
	}
}

static inline int fake_set(void *tracer, enum kmt_knob knob, const char *value)
{
	struct fake_tracer *t = tracer;
	int err;

	pthread_mutex_lock(&t->lock);
	err = fake_check(t, knob, value);
	if (!err)
		snprintf(t->knob[knob], FAKE_KNOB_LEN, "%s", value);
	pthread_mutex_unlock(&t->lock);
	return err;
}

static inline int fake_overruns(void *tracer, struct kmt_buf *out)
{
	kmt_buf_puts(out, "ring: 0\nobjects: 3\n");
	return 0;
}

static inline void fake_events(struct fake_tracer *t, unsigned n)
{
	pthread_mutex_lock(&t->lock);
	t->next += n;
	pthread_mutex_unlock(&t->lock);
}

static inline int fake_text_open(void *tracer, void **ret_text)
{
	struct fake_tracer *t = tracer;
	struct fake_text *x = calloc(1, sizeof(*x));

	kmt_buf_puts(&x->text, "# tracer: kmemtrace\n#\n");
	pthread_mutex_lock(&t->lock);
	for (unsigned i = t->first; i < t->next; i++)
		kmt_buf_printf(&x->text, "%s %u\n", *t->knob[KMT_KNOB_MINIMALISTIC] == '1' ? "+" :
			       "event", i);
	pthread_mutex_unlock(&t->lock);
	*ret_text = x;
	return 0;
}

static inline ssize_t fake_text_read(void *text, char *out, size_t size, uint64_t offset)
{
	struct fake_text *x = text;

	if (__atomic_add_fetch(&x->n_inside, 1, __ATOMIC_SEQ_CST) != 1)
		abort();
	if (offset > x->text.len)
		offset = x->text.len;
	if (size > x->text.len - offset)
		size = x->text.len - offset;
	memcpy(out, x->text.data + offset, size);
	__atomic_sub_fetch(&x->n_inside, 1, __ATOMIC_SEQ_CST);
	return (ssize_t)size;
}

static inline void fake_text_close(void *text)
{
	struct fake_text *x = text;

	kmt_buf_done(&x->text);
	free(x);
}

static inline int fake_clear(void *tracer)
{
	struct fake_tracer *t = tracer;

	pthread_mutex_lock(&t->lock);
	t->first = t->taken = t->next;
	pthread_mutex_unlock(&t->lock);
	return 0;
}

static inline ssize_t fake_pipe_read(void *tracer, char *out, size_t size)
{
	struct fake_tracer *t = tracer;
	size_t len = 0;

	pthread_mutex_lock(&t->lock);
	while (t->taken < t->next) {
		char line[32];
		size_t n = (size_t)snprintf(line, sizeof(line), "event %u\n", t->taken);

		if (len + n > size)
			break;
		memcpy(out + len, line, n);
		len += n;
		t->taken++;
	}
	pthread_mutex_unlock(&t->lock);
	return (ssize_t)len;
}

static inline bool fake_pipe_ready(void *tracer)
{
	struct fake_tracer *t = tracer;
	bool ready;

	pthread_mutex_lock(&t->lock);
	ready = t->taken < t->next;
	pthread_mutex_unlock(&t->lock);
	return ready;
}

#define FAKE_COUNT(key_) { .key = key_, .title = key_, .unit = KMT_UNIT_COUNT }
#define FAKE_TEXT(key_) { .key = key_, .title = key_, .unit = KMT_UNIT_TEXT }

/* Those that stats.def wants of view 'site'. */
static const struct kmt_column fake_columns[] = {
	FAKE_COUNT("live_bytes_allocated"), FAKE_TEXT("site"), FAKE_TEXT("type"),
	FAKE_COUNT("live_objects"), FAKE_COUNT("allocs"), FAKE_COUNT("frees"),
	FAKE_COUNT("bytes_requested"), FAKE_COUNT("bytes_allocated"), FAKE_COUNT("waste_bytes"),
	FAKE_COUNT("untraced_frees"), FAKE_COUNT("awaiting_rcu"), FAKE_COUNT("untracked"),
	FAKE_COUNT("failures"), FAKE_COUNT("cross_cpu_frees"), FAKE_COUNT("temporary"),
	FAKE_COUNT("peak_bytes_allocated"),
};
#define FAKE_N_COLUMNS (sizeof(fake_columns) / sizeof(fake_columns[0]))

/* Two call sites, the smaller one first. */
static inline int fake_report(void *tracer, const char *analysis, struct kmt_report **ret_report)
{
	struct fake_tracer *t = tracer;
	struct kmt_report *r = NULL;

	if (t->fake->never_traced)
		return kmt_err(-ENODATA, "it never traced");
	if (strcmp(analysis, "site"))
		return kmt_err(-EINVAL, "there is no view '%s'", analysis);
	if (kmt_report_new("mount", "site", fake_columns, FAKE_N_COLUMNS, &r))
		return -ENOMEM;
	for (int i = 1; i <= 2; i++) {
		struct kmt_row *row = kmt_report_row(r);

		kmt_cell_int(&row->cells[0], i * 4096);
		kmt_cell_text(&row->cells[1], i == 1 ? "small_site+0x1" : "large_site+0x2");
		kmt_cell_text(&row->cells[2], "K");
	}
	*ret_report = r;
	return 0;
}

static inline int fake_reset(void *tracer)
{
	struct fake_tracer *t = tracer;

	__atomic_add_fetch(&t->n_resets, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static inline struct kmt_control_ops fake_ops(struct fake *fake)
{
	return (struct kmt_control_ops){
		.make = fake_make, .end = fake_end, .get = fake_get, .set = fake_set,
		.overruns = fake_overruns, .text_open = fake_text_open,
		.text_read = fake_text_read, .text_close = fake_text_close, .clear = fake_clear,
		.pipe_read = fake_pipe_read, .pipe_ready = fake_pipe_ready, .report = fake_report,
		.reset = fake_reset, .ctx = fake,
	};
}

#endif
