// SPDX-License-Identifier: GPL-2.0-only
/* What a trace.dat says about its machine: formats, symbols, tasks, options. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/perf_bytes.h"
#include "source/tp_format.h"
#include "source/trace_dat_file.h"
#include "symbol/gfp.h"

enum { OPT_DATE = 1, OPT_CPUSTAT = 2, OPT_CLOCK = 4, OPT_UNAME = 5, OPT_OFFSET = 7,
       OPT_CPUCOUNT = 8, OPT_TSC2NSEC = 14 };

#define MAX_STATS	(KMT_TDAT_CPUS * 4)
#define MAX_PAGE	(1U << 20)	/* the kernel makes sub-buffers of 64 KiB at most */
/* of events: their numbers have 16 bits, and ftrace's own some of their own */
#define MAX_FORMATS	(1U << 17)

static int cut_off(const char *what)
{
	return kmt_err(-EBADMSG, "%s cut off", what);
}

/* ---- formats ------------------------------------------------------------------ */

static bool is_at(const struct kmt_tp_field *f, uint32_t min, uint32_t max)
{
	return f && f->size >= min && f->size <= max && f->offset <= UINT16_MAX;
}

/* A header_page is the list of fields of a format, without its name and id. */
static int set_page(struct kmt_tdat_file *f, const char *text, size_t len)
{
	_cleanup_free_ struct kmt_tp_format *form = calloc(1, sizeof(*form));
	_cleanup_free_ char *whole = NULL;
	const struct kmt_tp_field *time, *commit, *data;
	struct kmt_tdat_layout *l = &f->layout;
	int n = asprintf(&whole, "name: page\nID: 1\nformat:\n%.*s", (int)len, text);

	if (n < 0)
		whole = NULL;
	if (!form || !whole)
		return kmt_err(-ENOMEM, "no memory for a trace page's format");
	if (kmt_tp_format_parse(whole, (size_t)n, form))
		return kmt_err(-EPROTO, "header_page has no fields");
	time = kmt_tp_format_field(form, "timestamp");
	commit = kmt_tp_format_field(form, "commit");
	data = kmt_tp_format_field(form, "data");
	if (!is_at(time, 8, 8) || !is_at(commit, 4, 8) || commit->size == 6 || !is_at(data, 1, MAX_PAGE))
		return kmt_err(-EPROTO, "header_page has an unknown form");
	l->time = time->offset;
	l->commit = commit->offset;
	l->data = data->offset;
	l->word = commit->size == 8 ? 8 : 4;
	l->page_size = data->offset + data->size;
	if (time->offset + 8 > data->offset || commit->offset + l->word > data->offset)
		return kmt_err(-EPROTO, "header_page has an unknown form");
	f->has_layout = true;
	return 0;
}

int kmt_tdat_read_header(struct kmt_tdat_file *f, struct kmt_perf_bytes *b)
{
	static const char *const names[] = { "header_page", "header_event" };
	int err = 0;

	for (size_t i = 0; !err && i < 2; i++) {
		size_t name_len = strlen(names[i]) + 1;
		const unsigned char *name = kmt_perf_take(b, name_len), *text;
		uint64_t len;

		if (name && memcmp(name, names[i], name_len))
			return kmt_err(-EPROTO, "no '%s' where it must be", names[i]);
		len = kmt_perf_u64(b);
		text = kmt_perf_take(b, len);
		if (!text)
			return cut_off("the format of trace pages is");
		if (!i)
			err = len > MAX_PAGE ? kmt_err(-EPROTO, "header_page is too long") :
			      set_page(f, (const char *)text, len);
	}
	return err;
}

static void copy_field(struct kmt_tp_field *to, const struct kmt_tp_field *from, uint32_t max)
{
	if (is_at(from, 1, max)) {
		*to = *from;
		to->name = NULL;
	}
}

/* The head of every record is the same. */
static void set_common(struct kmt_tdat_file *f, const struct kmt_tp_format *form)
{
	struct kmt_tdat_layout *l = &f->layout;

	copy_field(&l->type, kmt_tp_format_field(form, "common_type"), 4);
	copy_field(&l->pid, kmt_tp_format_field(form, "common_pid"), 4);
	copy_field(&l->flags, kmt_tp_format_field(form, "common_flags"), 4);
	copy_field(&l->preempt, kmt_tp_format_field(form, "common_preempt_count"), 4);
}

static int add_kmem(struct kmt_tdat_file *f, const struct kmt_tp_format *form, const char *text,
		    size_t len)
{
	struct kmt_tdat_event *ev = &f->event[f->n_events];
	int err = kmt_tp_bind(form->name, form->field, form->n, &ev->layout);

	if (err)
		return err == -ENOENT ? 0 : err;
	set_common(f, form);
	if (!f->layout.type.size || !f->layout.pid.size)
		return kmt_err(-EPROTO, "event '%s' has no common_type or common_pid", form->name);
	ev->layout.swap = f->layout.swap;
	ev->layout.page_size = f->page_size;
	ev->id = form->id;
	f->n_events++;
	if (!f->gfp_names && kmt_gfp_names_from_format(text, len, &f->gfp_names) == -ENOMEM)
		return -ENOMEM;
	return 0;
}

static void add_stack(struct kmt_tdat_file *f, const struct kmt_tp_format *form)
{
	const struct kmt_tp_field *caller = kmt_tp_format_field(form, "caller");

	if (!caller || caller->offset > UINT16_MAX)
		return;
	f->caller = *caller;
	f->caller.name = NULL;
	copy_field(&f->depth, kmt_tp_format_field(form, "size"), 4);
	f->stack_id = form->id;
}

static int add_format(struct kmt_tdat_file *f, const char *system, const unsigned char *data,
		      size_t len)
{
	_cleanup_free_ struct kmt_tp_format *form = NULL;
	const char *text = (const char *)data;
	bool is_kmem = !strcmp(system, "kmem") || !strcmp(system, "percpu") ||
		       !strcmp(system, "vmalloc");

	if (f->n_formats++ >= MAX_FORMATS)
		return kmt_err(-EBADMSG, "more event formats than a kernel can have");
	if ((!is_kmem && strcmp(system, "ftrace")) || f->n_events == KMT_TDAT_EVENTS)
		return 0;
	form = calloc(1, sizeof(*form));
	if (!form)
		return kmt_err(-ENOMEM, "no memory for an event format");
	if (kmt_tp_format_parse(text, len, form))
		return 0;	/* whatever it is, none of its records can be ours */
	if (is_kmem)
		return add_kmem(f, form, text, len);
	if (!strcmp(form->name, "kernel_stack"))
		add_stack(f, form);
	return 0;
}

static int read_formats(struct kmt_tdat_file *f, struct kmt_perf_bytes *b, const char *system)
{
	uint32_t n = kmt_perf_u32(b);
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		uint64_t len = kmt_perf_u64(b);
		const unsigned char *text = kmt_perf_take(b, len);

		if (!text)
			return cut_off("event formats are");
		err = add_format(f, system, text, len);
	}
	return err;
}

int kmt_tdat_read_ftrace(struct kmt_tdat_file *f, struct kmt_perf_bytes *b)
{
	return read_formats(f, b, "ftrace");
}

int kmt_tdat_read_events(struct kmt_tdat_file *f, struct kmt_perf_bytes *b)
{
	uint32_t n = kmt_perf_u32(b);
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		const unsigned char *name = b->p;
		const unsigned char *nul = b->left ? memchr(name, '\0', b->left) : NULL;

		if (!nul || !kmt_perf_take(b, (uint64_t)(nul - name) + 1))
			return cut_off("event formats are");
		err = read_formats(f, b, (const char *)name);
	}
	return err || !b->is_short ? err : cut_off("event formats are");
}

/* ---- symbols and tasks ---------------------------------------------------------- */

static int take_text(struct kmt_perf_bytes *b, uint64_t len, char **ret, size_t *ret_len)
{
	const unsigned char *data = kmt_perf_take(b, len);
	char *text;

	if (!data)
		return cut_off("symbols or names of tasks are");
	if (!len || *ret)
		return 0;
	text = malloc(len + 1);
	if (!text)
		return kmt_err(-ENOMEM, "no memory for %llu bytes of names",
			       (unsigned long long)len);
	memcpy(text, data, len);
	text[len] = '\0';
	*ret = text;
	*ret_len = len;
	return 0;
}

int kmt_tdat_read_kallsyms(struct kmt_tdat_file *f, struct kmt_perf_bytes *b)
{
	return take_text(b, kmt_perf_u32(b), &f->kallsyms, &f->kallsyms_len);
}

int kmt_tdat_read_cmdlines(struct kmt_tdat_file *f, struct kmt_perf_bytes *b)
{
	return take_text(b, kmt_perf_u64(b), &f->cmdlines, &f->cmdlines_len);
}

/* ---- options ---------------------------------------------------------------------- */

void kmt_tdat_clock_name(char out[KMT_TDAT_NAME], const char *text, size_t len)
{
	const char *open = memchr(text, '[', len);
	size_t at = open ? (size_t)(open - text) + 1 : 0, n = 0;

	while (at < len && n < KMT_TDAT_NAME - 1 && text[at] && !strchr("] \n", text[at]))
		out[n++] = text[at++];
	out[n] = '\0';
}

/* "Linux HOST RELEASE MACHINE"; the words may be more, the last is the machine. */
static void set_uname(struct kmt_tdat_file *f, char *text)
{
	char *at = text, *word;

	for (unsigned i = 0; (word = strsep(&at, " ")); i++) {
		if (i == 2)
			snprintf(f->release, sizeof(f->release), "%s", word);
		if (i > 2)
			snprintf(f->machine, sizeof(f->machine), "%s", word);
	}
}

static uint64_t value_of(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/*
 * "CPU: N\nentries: ...\noverrun: N\n..."; the ones of an instance follow
 * "Buffer: NAME".
 */
static void add_stat(struct kmt_tdat_file *f, const char *text)
{
	struct kmt_tdat_stat *last = f->n_stats ? &f->stat[f->n_stats - 1] : NULL, *stat;
	const char *buffer = strstr(text, "Buffer: "), *cpu = strstr(text, "CPU: ");
	char name[KMT_TDAT_NAME] = "";

	if (last)
		snprintf(name, sizeof(name), "%s", last->buffer);
	if (buffer)
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(buffer + 8, "\n"), buffer + 8);
	if (f->n_stats == MAX_STATS)
		return;
	stat = reallocarray(f->stat, f->n_stats + 1, sizeof(*stat));
	if (!stat)
		return;
	f->stat = stat;
	stat = &f->stat[f->n_stats++];
	*stat = (struct kmt_tdat_stat){ .cpu = cpu ? strtoul(cpu + 5, NULL, 10) : UINT32_MAX };
	snprintf(stat->buffer, sizeof(stat->buffer), "%s", name);
	stat->lost = value_of(text, "\noverrun: ") + value_of(text, "\ncommit overrun: ") +
		     value_of(text, "\ndropped events: ");
}

static void text_option(struct kmt_tdat_file *f, unsigned id, char *text, size_t len)
{
	switch (id) {
	case OPT_DATE:
		f->date_us = strtoll(text, NULL, 0);
		f->has_date = true;
		break;
	case OPT_CPUSTAT:
		add_stat(f, text);
		break;
	case OPT_CLOCK:
		kmt_tdat_clock_name(f->clock, text, len);
		break;
	case OPT_UNAME:
		set_uname(f, text);
		break;
	case OPT_OFFSET:
		f->offset_ns = strtoll(text, NULL, 0);
		break;
	}
}

void kmt_tdat_read_option(struct kmt_tdat_file *f, unsigned id, const unsigned char *data,
			  size_t len)
{
	struct kmt_perf_bytes b = { .p = data, .left = len, .swap = f->layout.swap };
	_cleanup_free_ char *text = NULL;

	if (id == OPT_CPUCOUNT) {
		f->n_cpus = kmt_perf_u32(&b);
		return;
	}
	if (id == OPT_TSC2NSEC && len >= 16) {
		f->tsc_mult = kmt_perf_u32(&b);
		f->tsc_shift = kmt_perf_u32(&b) & 63;
		f->tsc_offset = kmt_perf_u64(&b);
		return;
	}
	text = len < MAX_PAGE ? malloc(len + 1) : NULL;
	if (!text)
		return;
	memcpy(text, data, len);
	text[len] = '\0';
	text_option(f, id, text, len);
}
