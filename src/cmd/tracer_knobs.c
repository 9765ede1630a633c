// SPDX-License-Identifier: GPL-2.0-only
/* The settings of a tracer, as they are read and written. */
#include "cmd/tracer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fmt.h"
#include "control/control.h"
#include "kmt/wire.h"
#include "store/recent.h"

#define BUFFER_KB	1408	/* per CPU, as ftrace */
#define SITES		16384	/* of the source, if nobody says */
#define SITES_LEAST	16
#define SITES_MOST	(1u << 20)
#define OBJECTS_KB_LEAST 2

int kmt_settings_init(struct kmt_settings *s)
{
	*s = (struct kmt_settings){
		.buffer_kb = BUFFER_KB, .is_on = true,
		.pids = strdup(""), .caches = strdup(""), .caches_not = strdup(""),
	};
	if (s->pids && s->caches && s->caches_not)
		return 0;
	kmt_settings_done(s);
	return kmt_err_errno(-ENOMEM, "tracer");
}

void kmt_settings_done(struct kmt_settings *s)
{
	free(s->pids);
	free(s->caches);
	free(s->caches_not);
	*s = (struct kmt_settings){ 0 };
}

uint64_t kmt_objects_of_kb(uint64_t kb)
{
	return kb * 1024 / sizeof(struct kmt_bucket) * KMT_BUCKET_WAYS;
}

uint64_t kmt_buffer_bytes(const struct kmt_tracers *all, uint64_t kb)
{
	return kb * 1024 * all->n_cpus;
}

static bool *flag_of(struct kmt_settings *s, int knob)
{
	switch (knob) {
	case KMT_KNOB_MINIMALISTIC:
		return &s->look.table;
	case KMT_KNOB_GFP:
		return &s->look.gfp;
	case KMT_KNOB_TIME:
		return &s->look.time;
	case KMT_KNOB_CACHE:
		return &s->look.cache;
	case KMT_KNOB_REAL_NODE:
		return &s->look.real_node;
	case KMT_KNOB_STACKTRACE:
		return &s->look.stacks;
	}
	return NULL;
}

static char **list_of(struct kmt_settings *s, int knob)
{
	switch (knob) {
	case KMT_KNOB_EVENT_PID:
		return &s->pids;
	case KMT_KNOB_CACHE_FILTER:
		return &s->caches;
	case KMT_KNOB_CACHE_NOTRACE:
		return &s->caches_not;
	}
	return NULL;
}

/* ---- reading ---- */

static bool is_on(struct kmt_tracer *t)
{
	bool on;

	pthread_mutex_lock(&t->run.lock);
	on = t->run.is_on;
	pthread_mutex_unlock(&t->run.lock);
	return on;
}

static void print_number(struct kmt_tracer *t, int knob, struct kmt_buf *out)
{
	const struct kmt_settings *s = &t->set;
	uint64_t n = knob == KMT_KNOB_BUFFER_KB ? s->buffer_kb :
		     knob == KMT_KNOB_BUFFER_TOTAL_KB ? s->buffer_kb * t->all->n_cpus :
		     knob == KMT_KNOB_OBJECT_TABLE_KB ? s->objects_kb :
		     s->sites ? s->sites : SITES;

	kmt_buf_printf(out, "%" PRIu64, n);
}

int kmt_knob_get(void *tracer, int knob, struct kmt_buf *out)
{
	struct kmt_tracer *t = tracer;
	const bool *flag = flag_of(&t->set, knob);
	char **list = list_of(&t->set, knob);
	bool wanted, traces;

	pthread_mutex_lock(&t->lock);
	wanted = t->set.is_on;
	traces = t->traces;
	if (flag)
		kmt_buf_puts(out, *flag ? "1" : "0");
	else if (list)
		kmt_buf_puts(out, *list);
	else if (knob == KMT_KNOB_TRACER)
		kmt_buf_puts(out, traces ? "kmemtrace" : "nop");
	else if (knob != KMT_KNOB_TRACING_ON)
		print_number(t, knob, out);
	pthread_mutex_unlock(&t->lock);
	/* a source that failed has switched them off */
	if (knob == KMT_KNOB_TRACING_ON)
		kmt_buf_puts(out, (traces ? is_on(t) : wanted) ? "1" : "0");
	return out->error;
}

/* ---- writing; with 'control' held ---- */

static int set_tracer(struct kmt_tracer *t, const char *value)
{
	if (!strcmp(value, "nop")) {
		kmt_tracer_stop(t);
		return 0;
	}
	if (strcmp(value, "kmemtrace"))
		return kmt_err(-EINVAL, "there is no such tracer: kmemtrace or nop");
	if (t->traces)
		return 0;
	kmt_tracer_forget(t);	/* as the original did at its start */
	return kmt_tracer_start(t);
}

static int parse_flag(const char *value, bool *ret)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return kmt_err(-EINVAL, "0 or 1 is wanted");
	*ret = *value == '1';
	return 0;
}

static int set_on(struct kmt_tracer *t, const char *value)
{
	bool on = false;
	int err = parse_flag(value, &on);

	if (err)
		return err;
	pthread_mutex_lock(&t->lock);
	t->set.is_on = on;
	pthread_mutex_unlock(&t->lock);
	return t->traces ? kmt_tracer_switch(t, on) : 0;
}

/* -E2BIG where there is no memory for it; too large a number is none, too. */
static int parse_number(const char *value, const char *what, uint64_t least, uint64_t most,
			uint64_t *ret)
{
	uint64_t n;
	int err = kmt_parse_u64(value, what, 0, 0, &n);

	if (err == -ERANGE || (!err && n > most))
		return kmt_err(-E2BIG, "%s: more than this machine allows, which is %" PRIu64, what,
			       most);
	if (err)
		return err;
	if (n < least)
		return kmt_err(-EINVAL, "%s: at least %" PRIu64, what, least);
	*ret = n;
	return 0;
}

static void store_number(struct kmt_tracer *t, uint64_t *to, uint64_t n)
{
	pthread_mutex_lock(&t->lock);
	*to = n;
	pthread_mutex_unlock(&t->lock);
}

static int set_buffer(struct kmt_tracer *t, const char *value)
{
	uint64_t most = t->all->ram_bytes / 4 / 1024 / t->all->n_cpus, n;
	int err = parse_number(value, "buffer_size_kb", 1, most, &n);

	if (err)
		return err;
	store_number(t, &t->set.buffer_kb, n);
	kmt_recent_limit(t->kept, kmt_buffer_bytes(t->all, n));
	return 0;
}

static int at_rest(const struct kmt_tracer *t, const char *what)
{
	return t->traces ? kmt_err(-EBUSY, "%s: not while it traces (echo nop > current_tracer)",
				   what) : 0;
}

static int set_objects(struct kmt_tracer *t, const char *value)
{
	uint64_t most = t->all->ram_bytes / 4 / 1024, n;
	int err = at_rest(t, "object_table_kb");

	if (!err)
		err = parse_number(value, "object_table_kb", 0, most, &n);
	if (!err && n && n < OBJECTS_KB_LEAST)
		err = kmt_err(-EINVAL, "object_table_kb: 0 for the default, or at least %d",
			      OBJECTS_KB_LEAST);
	if (!err)
		store_number(t, &t->set.objects_kb, n);
	return err;
}

static int set_sites(struct kmt_tracer *t, const char *value)
{
	uint64_t n;
	int err = at_rest(t, "call_site_table");

	if (!err)
		err = parse_number(value, "call_site_table", SITES_LEAST, SITES_MOST, &n);
	/* what is read when nobody said anything, written back: a small machine has less */
	if (!err)
		store_number(t, &t->set.sites, n == SITES ? 0 : n);
	return err;
}

static int check_pid(const char *text, size_t len)
{
	char word[24];
	uint64_t n;

	if (len >= sizeof(word))
		return kmt_err(-EINVAL, "a number of a process is wanted");
	memcpy(word, text, len);
	word[len] = '\0';
	return kmt_parse_u64(word, "set_event_pid", 1, KMT_FILTER_PID_MAX, &n) ?
	       kmt_err(-EINVAL, "'%s' is no number of a process", word) : 0;
}

static int check_glob(const char *text, size_t len)
{
	struct kmt_filter f = { 0 };
	_cleanup_buf_ struct kmt_buf b = { 0 };
	int res;

	kmt_buf_printf(&b, "cache=%.*s", (int)len, text);
	if (b.error)
		return kmt_err_errno(-ENOMEM, "filter");
	res = kmt_filter_add(&f, kmt_buf_str(&b));
	return res < 0 ? res : 0;
}

/* Words with one blank between. */
static int parse_list(const char *value, int (*check)(const char *text, size_t len), char **ret)
{
	static const char blanks[] = " \t\n,";
	_cleanup_buf_ struct kmt_buf b = { 0 };
	unsigned n = 0;

	while (*(value += strspn(value, blanks))) {
		size_t len = strcspn(value, blanks);
		int err = check(value, len);

		if (err)
			return err;
		if (++n > KMT_FILTER_MAX)
			return kmt_err(-E2BIG, "more than %d of them", KMT_FILTER_MAX);
		kmt_buf_printf(&b, "%s%.*s", b.len ? " " : "", (int)len, value);
		value += len;
	}
	kmt_buf_puts(&b, "");
	*ret = b.len ? kmt_buf_take(&b) : strdup("");
	return *ret ? 0 : kmt_err_errno(-ENOMEM, "list");
}

static void swap_lists(struct kmt_tracer *t, char **a, char **b)
{
	char *was = *a;

	pthread_mutex_lock(&t->lock);
	*a = *b;
	*b = was;
	pthread_mutex_unlock(&t->lock);
}

/* While it traces: another source takes over; statistics are of its events. */
static int set_list(struct kmt_tracer *t, int knob, const char *value)
{
	char **list = list_of(&t->set, knob), *fresh, why[KMT_SOURCE_WHY];
	const bool traced = t->traces;
	int err = parse_list(value, knob == KMT_KNOB_EVENT_PID ? check_pid : check_glob, &fresh);

	if (err)
		return err;
	if (!strcmp(*list, fresh)) {
		free(fresh);
		return 0;
	}
	swap_lists(t, list, &fresh);
	err = traced ? kmt_tracer_start(t) : 0;
	if (err) {
		swap_lists(t, list, &fresh);
		/* a refused write changes nothing, as far as that can be had */
		snprintf(why, sizeof(why), "%s", kmt_err_text());
		if (traced && !t->traces)
			kmt_tracer_start(t);
		kmt_err(err, "%s", why);
	}
	free(fresh);
	return err;
}

static int set_look(struct kmt_tracer *t, bool *flag, const char *value)
{
	bool on = false;
	int err = parse_flag(value, &on);

	if (err)
		return err;
	pthread_mutex_lock(&t->lock);
	*flag = on;
	pthread_mutex_unlock(&t->lock);
	return 0;
}

static int set_knob(struct kmt_tracer *t, int knob, const char *value)
{
	switch (knob) {
	case KMT_KNOB_TRACER:
		return set_tracer(t, value);
	case KMT_KNOB_TRACING_ON:
		return set_on(t, value);
	case KMT_KNOB_BUFFER_KB:
		return set_buffer(t, value);
	case KMT_KNOB_BUFFER_TOTAL_KB:
		return kmt_err(-EROFS, "buffer_total_size_kb is read only: see buffer_size_kb");
	case KMT_KNOB_OBJECT_TABLE_KB:
		return set_objects(t, value);
	case KMT_KNOB_CALL_SITE_TABLE:
		return set_sites(t, value);
	}
	if (list_of(&t->set, knob))
		return set_list(t, knob, value);
	if (flag_of(&t->set, knob))
		return set_look(t, flag_of(&t->set, knob), value);
	return kmt_err(-EINVAL, "there is no such setting");
}

int kmt_knob_set(void *tracer, int knob, const char *value)
{
	struct kmt_tracer *t = tracer;
	int err;

	pthread_mutex_lock(&t->control);
	err = set_knob(t, knob, value);
	pthread_mutex_unlock(&t->control);
	return err;
}
