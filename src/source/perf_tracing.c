// SPDX-License-Identifier: GPL-2.0-only
#include "source/perf_tracing.h"

#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/tp_format.h"
#include "symbol/gfp.h"

/*
 * magic, version\0, byte order, sizeof(long), page size, "header_page\0" text,
 * "header_event\0" text, ftrace's own formats, systems with their formats,
 * kallsyms, printk formats, [names of tasks]. Sizes are of 32 or 64 bits.
 */
static const char magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

#define VERSION_MAX 16

struct reader {
	const char *start, *p, *end;
	uint64_t at;		/* offset of 'start' in the file */
	bool swap;
};

static int bad(const struct reader *r, const char *what)
{
	return kmt_err(-EBADMSG, "offset %" PRIu64 ": %s", r->at + (uint64_t)(r->p - r->start), what);
}

static size_t left(const struct reader *r)
{
	return (size_t)(r->end - r->p);
}

static int take(struct reader *r, uint64_t n, const char **ret)
{
	if (n > left(r))
		return bad(r, "the tracing data are cut off");
	*ret = r->p;
	r->p += n;
	return 0;
}

static int take_u32(struct reader *r, uint32_t *ret)
{
	const char *p = NULL;
	uint32_t v;
	int err = take(r, sizeof(v), &p);

	if (err)
		return err;
	memcpy(&v, p, sizeof(v));
	*ret = r->swap ? bswap_32(v) : v;
	return 0;
}

static int take_u64(struct reader *r, uint64_t *ret)
{
	const char *p = NULL;
	uint64_t v;
	int err = take(r, sizeof(v), &p);

	if (err)
		return err;
	memcpy(&v, p, sizeof(v));
	*ret = r->swap ? bswap_64(v) : v;
	return 0;
}

/* A text with its length in front. */
static int take_text(struct reader *r, const char **ret, uint64_t *ret_len)
{
	int err = take_u64(r, ret_len);

	return err ? err : take(r, *ret_len, ret);
}

/* A string up to its NUL. */
static int take_string(struct reader *r, const char **ret)
{
	const char *nul = memchr(r->p, '\0', left(r));

	return nul ? take(r, (uint64_t)(nul - r->p) + 1, ret) : bad(r, "a name without end");
}

static int skip_named(struct reader *r, const char *name)
{
	const char *text;
	uint64_t len;

	if (left(r) < strlen(name) + 1 || memcmp(r->p, name, strlen(name) + 1))
		return bad(r, "unknown form of tracing data");
	r->p += strlen(name) + 1;
	return take_text(r, &text, &len);
}

static int read_header(struct reader *r, struct kmt_perf_tracing *t)
{
	const uint16_t one = 1;
	bool is_big_here = !*(const char *)&one;
	const char *p = NULL, *version = NULL;
	int err = take(r, sizeof(magic), &p);

	if (err)
		return err;
	if (memcmp(p, magic, sizeof(magic)))
		return bad(r, "no tracing data");
	err = take_string(r, &version);
	if (!err && strlen(version) > VERSION_MAX)
		err = bad(r, "unknown version of tracing data");
	if (!err)
		err = take(r, 2, &p);
	if (err)
		return err;
	t->swap = r->swap = (p[0] != 0) != is_big_here;
	return take_u32(r, &t->page_size);
}

/* The head of every record is the same. */
static void set_common(struct kmt_perf_tracing *t, const struct kmt_tp_format *f)
{
	const struct kmt_tp_field *type = kmt_tp_format_field(f, "common_type");
	const struct kmt_tp_field *pid = kmt_tp_format_field(f, "common_pid");

	if (type && type->size <= 4)
		t->type = *type;
	if (pid && pid->size == 4)
		t->pid = *pid;
	t->type.name = t->pid.name = NULL;
}

static int add_event(struct kmt_perf_tracing *t, const char *text, size_t len)
{
	_cleanup_free_ struct kmt_tp_format *f = calloc(1, sizeof(*f));
	struct kmt_tp_layout layout;
	int err;

	if (!f)
		return kmt_err(-ENOMEM, "no memory for an event format");
	if (kmt_tp_format_parse(text, len, f))
		return 0;	/* whatever it is, none of its records can be ours */
	err = kmt_tp_bind(f->name, f->field, f->n, &layout);
	if (err)
		return err == -ENOENT ? 0 : err;
	set_common(t, f);
	if (!t->type.size || t->n_events == KMT_PERF_EVENTS)
		return kmt_err(-EPROTO, "event '%s': a format without 'common_type', or one too many",
			       f->name);
	layout.swap = t->swap;
	t->event[t->n_events++] = (struct kmt_perf_event){ .id = f->id, .layout = layout };
	if (!t->gfp_names && kmt_gfp_names_from_format(text, len, &t->gfp_names) == -ENOMEM)
		return -ENOMEM;
	return 0;
}

static bool is_known(const char *system)
{
	static const char *const systems[] = { "kmem", "percpu", "vmalloc" };

	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if (!strcmp(system, systems[i]))
			return true;
	return false;
}

static int read_system(struct reader *r, struct kmt_perf_tracing *t)
{
	const char *system = NULL, *text = NULL;
	uint64_t len;
	uint32_t n;
	int err = take_string(r, &system);

	if (!err)
		err = take_u32(r, &n);
	for (uint32_t i = 0; !err && i < n; i++) {
		err = take_text(r, &text, &len);
		if (!err && is_known(system))
			err = add_event(t, text, len);
	}
	return err;
}

static int read_formats(struct reader *r, struct kmt_perf_tracing *t)
{
	const char *text;
	uint64_t len;
	uint32_t n = 0;
	int err = take_u32(r, &n);

	for (uint32_t i = 0; !err && i < n; i++)	/* of ftrace's own events */
		err = take_text(r, &text, &len);
	if (!err)
		err = take_u32(r, &n);
	for (uint32_t i = 0; !err && i < n; i++)
		err = read_system(r, t);
	return err;
}

int kmt_perf_tracing_parse(const void *data, size_t len, uint64_t at,
			   struct kmt_perf_tracing *ret)
{
	struct reader r = { .start = data, .p = data, .end = (const char *)data + len, .at = at };
	struct kmt_perf_tracing t = { 0 };
	uint32_t n;
	int err = read_header(&r, &t);

	if (!err)
		err = skip_named(&r, "header_page");
	if (!err)
		err = skip_named(&r, "header_event");
	if (!err)
		err = read_formats(&r, &t);
	if (err) {
		kmt_perf_tracing_done(&t);
		return err;
	}
	if (!take_u32(&r, &n) && n && !take(&r, n, &t.kallsyms))
		t.kallsyms_len = n;
	*ret = t;
	return 0;
}

void kmt_perf_tracing_done(struct kmt_perf_tracing *t)
{
	kmt_gfp_names_free(t->gfp_names);
	*t = (struct kmt_perf_tracing){ 0 };
}

const struct kmt_perf_event *kmt_perf_tracing_event(const struct kmt_perf_tracing *t, uint64_t id)
{
	for (size_t i = 0; i < t->n_events; i++)
		if (t->event[i].id == id)
			return &t->event[i];
	return NULL;
}
