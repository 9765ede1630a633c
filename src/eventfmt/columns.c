// SPDX-License-Identifier: GPL-2.0-only
#include "eventfmt/columns.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "symbol/frames.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"

#define CALLER_WIDTH	28
#define GAP		3	/* blanks between columns, as in the original's table */
#define NSEC		1000000000ULL

/* One extra column. value() appends nothing where the event does not know. */
struct column {
	const char *key;	/* in the default text; read back by source/legacy */
	const char *title;	/* in the table's header; read back by source/legacy */
	size_t on;		/* offset of the switch in kmt_eventfmt_opts */
	size_t width;
	void (*value)(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		      struct kmt_buf *out);
};

void kmt_columns_word(struct kmt_buf *out, const char *s, size_t max)
{
	size_t len = strnlen(s, max);

	while (len) {
		const char *blank = memchr(s, ' ', len);
		size_t run = blank ? (size_t)(blank - s) : len;

		kmt_buf_escape(out, s, run);
		if (blank) {
			kmt_buf_puts(out, "\\x20");
			run++;
		}
		s += run;
		len -= run;
	}
}

static void print_time(uint64_t ns, struct kmt_buf *out)
{
	kmt_buf_printf(out, "%" PRIu64 ".%09" PRIu64, ns / (uint64_t)NSEC, ns % (uint64_t)NSEC);
}

static void value_cache(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
			struct kmt_buf *out)
{
	if (ev->cache)
		kmt_columns_word(out, ev->cache, SIZE_MAX);
}

static void value_real_node(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
			    struct kmt_buf *out)
{
	if (ev->real_node >= 0)
		kmt_buf_printf(out, "%d", ev->real_node);
}

static void value_time(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		       struct kmt_buf *out)
{
	if (ev->has_time)
		print_time(ev->ts_ns, out);
}

static void value_task(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		       struct kmt_buf *out)
{
	if (!ev->has_task)
		return;
	kmt_columns_word(out, ev->comm && *ev->comm ? ev->comm : "<...>", SIZE_MAX);
	kmt_buf_printf(out, "-%" PRIu32, ev->pid);
}

static void value_cpu(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		      struct kmt_buf *out)
{
	if (ev->has_task)
		kmt_buf_printf(out, "%" PRIu32, ev->cpu);
}

static void value_gfp(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		      struct kmt_buf *out)
{
	if (ev->op == KMT_OP_ALLOC)
		kmt_gfp_print(opts->gfp_names, ev->gfp, out);
}

/* In the order of the output. gfp stays last: its length has no bound. */
static const struct column columns[] = {
#define ON(field) offsetof(struct kmt_eventfmt_opts, field)
	{ "cache",	"CACHE",	ON(cache),	20, value_cache },
	{ "real_node",	"RNODE",	ON(real_node),	 5, value_real_node },
	{ "time",	"TIME",		ON(time),	18, value_time },
	{ "task",	"TASK",		ON(task),	22, value_task },
	{ "cpu",	"CPU",		ON(task),	 3, value_cpu },
	{ "gfp",	"GFP",		ON(gfp),	 0, value_gfp },
#undef ON
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static bool is_on(const struct kmt_eventfmt_opts *opts, const struct column *c)
{
	bool on;

	memcpy(&on, (const char *)opts + c->on, sizeof(on));
	return on;
}

static void pad(struct kmt_buf *out, size_t used, size_t width)
{
	kmt_buf_printf(out, "%*s", (int)(GAP + (used < width ? width - used : 0)), "");
}

void kmt_columns_pairs(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		       struct kmt_buf *out)
{
	for (const struct column *c = columns; c < columns + N_COLUMNS; c++) {
		if (!is_on(opts, c))
			continue;

		size_t before = out->len;

		kmt_buf_printf(out, " %s ", c->key);

		size_t start = out->len;

		c->value(opts, ev, out);
		if (out->len == start && !out->error) {
			out->len = before;	/* unknown: no pair at all */
			out->data[before] = '\0';
		}
	}
}

void kmt_columns_cells(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		       size_t caller_len, struct kmt_buf *out)
{
	size_t used = caller_len, width = CALLER_WIDTH;

	for (const struct column *c = columns; c < columns + N_COLUMNS; c++) {
		if (!is_on(opts, c))
			continue;
		pad(out, used, width);

		size_t start = out->len;

		c->value(opts, ev, out);
		if (out->len == start)
			kmt_buf_puts(out, "-");
		used = out->len - start;
		width = c->width;
	}
}

void kmt_columns_titles(const struct kmt_eventfmt_opts *opts, bool titles, size_t caller_len,
			struct kmt_buf *out)
{
	size_t used = caller_len, width = CALLER_WIDTH;

	for (const struct column *c = columns; c < columns + N_COLUMNS; c++) {
		const char *text = titles ? c->title : "|";

		if (!is_on(opts, c))
			continue;
		pad(out, used, width);
		kmt_buf_puts(out, text);
		used = strlen(text);
		width = c->width;
	}
}

void kmt_columns_stack(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		       struct kmt_buf *out)
{
	uint32_t first = kmt_frames_first(opts->symbols, ev->call_site, ev->ips, ev->n_ips);

	if (!opts->stacks)
		return;
	for (uint32_t i = first; i < ev->n_ips; i++) {
		kmt_buf_puts(out, "\t=> ");
		kmt_symbols_print(opts->symbols, ev->ips[i], true, out);
		kmt_buf_puts(out, "\n");
	}
}

void kmt_columns_lost(const struct kmt_eventfmt_opts *opts, const struct kmt_lost *lost,
		      struct kmt_buf *out)
{
	kmt_buf_puts(out, "# overflow: events lost: ");
	if (lost->events)
		kmt_buf_printf(out, "%" PRIu64, lost->events);
	else
		kmt_buf_puts(out, "unknown");
	kmt_buf_printf(out, " (%s)", kmt_loss_text(lost->reason));
	if (lost->cpu != UINT32_MAX)
		kmt_buf_printf(out, ", cpu %" PRIu32, lost->cpu);
	if (lost->ts_ns) {
		kmt_buf_puts(out, ", time ");
		print_time(lost->ts_ns, out);
	}
	kmt_buf_puts(out, "\n");
}
