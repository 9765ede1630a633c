// SPDX-License-Identifier: GPL-2.0-only
/*
 * The original's text outputs, read back: default text and table, from 2008 to
 * v2.6.35, and what 'kmemtrace trace' writes. What a line says is found by its
 * content. A line that cannot be read is counted as lost input and skipped.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/legacy_filter.h"
#include "source/legacy_line.h"
#include "source/lines.h"
#include "source/source.h"

#define BATCH	4096	/* lines looked at in one poll() */

extern const struct kmt_source_ops kmt_source_legacy;

struct legacy {
	struct kmt_source base;
	bool is_ours;			/* an event or a header was found */
	uint64_t held_back;		/* bad lines before anything was ours */
	uint64_t lost[KMT_LOSS_MAX];
	char first_bad[104];
	struct kmt_legacy_line line;
	struct kmt_legacy_filter filter;
	struct kmt_lines lines;
};

static struct legacy *legacy_of(struct kmt_source *src)
{
	return (struct legacy *)src;
}

/* One line of ours among the first bytes is enough; the last one may be cut off. */
static bool legacy_detect(const void *head, size_t len)
{
	const char *p = head, *end = p + len;
	struct kmt_legacy_line *line = calloc(1, sizeof(*line));
	bool found = false;

	while (line && p < end && !found) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);
		enum kmt_legacy_kind kind = kmt_legacy_line_parse(line, p, n);

		/* ftrace writes lines about losses for every tracer */
		found = kind == KMT_LEGACY_EVENT || kind == KMT_LEGACY_HEADER ||
			(kind == KMT_LEGACY_LOST && memchr(p, '#', n));
		p += n + 1;
	}
	free(line);
	return found;
}

static int legacy_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	_cleanup_free_ struct legacy *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return kmt_err(-ENOMEM, "out of memory for reading '%s'", opts->path);
	err = kmt_legacy_filter_init(&l->filter, opts->filter, opts->symbols);
	if (err)
		return err;
	l->base.ops = &kmt_source_legacy;
	l->line.symbols = opts->symbols;
	err = kmt_lines_open(&l->lines, opts->path);
	if (err)
		return err;
	*ret = &take_ptr(l)->base;
	return 0;
}

static void legacy_close(struct kmt_source *src)
{
	struct legacy *l = legacy_of(src);

	if (!l)
		return;
	kmt_lines_close(&l->lines);
	kmt_legacy_filter_done(&l->filter);
	free(l);
}

static int pass_lost(struct legacy *l, const struct kmt_sink *sink, const struct kmt_lost *lost)
{
	l->lost[lost->reason] += lost->events;
	return sink->lost ? sink->lost(sink->ctx, lost) : 0;
}

static int pass_bad(struct legacy *l, const struct kmt_sink *sink)
{
	const struct kmt_lost lost = {
		.reason = KMT_LOSS_INPUT, .cpu = UINT32_MAX, .events = 1,
	};

	return pass_lost(l, sink, &lost);
}

/* The file is ours: what could not be read so far is a loss, not the wrong kind of file. */
static int accept(struct legacy *l, const struct kmt_sink *sink)
{
	l->is_ours = true;
	while (l->held_back) {
		int err;

		l->held_back--;
		err = pass_bad(l, sink);
		if (err)
			return err;
	}
	return 0;
}

/* 1: an event was handed on; 0: another line; negative: the sink's error. */
static int pass_line(struct legacy *l, const struct kmt_sink *sink, const char *line, size_t len)
{
	enum kmt_legacy_kind kind = kmt_legacy_line_parse(&l->line, line, len);
	int err;

	if (kind == KMT_LEGACY_NOTHING)
		return 0;
	if (kind == KMT_LEGACY_BAD) {
		if (!l->first_bad[0])
			snprintf(l->first_bad, sizeof(l->first_bad), "line %" PRIu64 ": %s",
				 l->lines.line_no, l->line.why);
		if (l->is_ours)
			return pass_bad(l, sink);
		l->held_back++;
		return 0;
	}
	err = l->is_ours ? 0 : accept(l, sink);
	if (err)
		return err;
	if (kind == KMT_LEGACY_LOST)
		return pass_lost(l, sink, &l->line.lost);
	if (kind == KMT_LEGACY_HEADER)
		return 0;
	err = kmt_legacy_filter_event(&l->filter, &l->line.ev);
	if (err <= 0)
		return err;
	err = sink->event ? sink->event(sink->ctx, &l->line.ev) : 0;
	return err ? err : 1;
}

static int at_end(struct legacy *l)
{
	if (l->is_ours)
		return -ENODATA;
	if (l->first_bad[0])
		return kmt_err(-EINVAL, "%s", l->first_bad);
	return kmt_err(-EINVAL, "line 1: no kmemtrace event, and none below it");
}

static int legacy_poll(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms)
{
	struct legacy *l = legacy_of(src);
	int events = 0;

	for (int i = 0; i < BATCH; i++) {
		struct kmt_word line;
		int err = kmt_lines_next(&l->lines, events ? 0 : timeout_ms, &line);

		if (err <= 0 && (events || !err))
			return events;	/* an error comes again the next time */
		if (err <= 0)
			return err == -ENODATA ? at_end(l) : err;
		err = pass_line(l, sink, line.p, line.len);
		if (err < 0)
			return err;
		events += err;
	}
	return events;
}

static void legacy_quality(struct kmt_source *src, struct kmt_quality *q)
{
	struct legacy *l = legacy_of(src);

	snprintf(q->source, sizeof(q->source), "%s", l->base.ops->name);
	snprintf(q->mode, sizeof(q->mode), "streamed");
	for (unsigned i = 0; i < KMT_LOSS_MAX; i++)
		q->lost[i] = l->lost[i];
	q->lost[KMT_LOSS_OBJECTS] += l->filter.untracked;
	q->filtered = l->filter.rejected;
	q->unknown_tasks = l->filter.unknown_tasks;
	snprintf(q->first_bad, sizeof(q->first_bad), "%s", l->first_bad);
}

const struct kmt_source_ops kmt_source_legacy = {
	.name	 = "legacy",
	.help	 = "text of the original kmemtrace or of 'kmemtrace trace', either form",
	.detect	 = legacy_detect,
	.open	 = legacy_open,
	.poll	 = legacy_poll,
	.quality = legacy_quality,
	.close	 = legacy_close,
};
