// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fmt.h"
#include "cmd/cmd.h"
#include "cmd/live.h"

#define SEC	1000000000ull
#define EVERY_NS (SEC / 2)

void kmt_progress_init(struct kmt_progress *p)
{
	uint64_t now = kmt_live_now();

	*p = (struct kmt_progress){
		.is_on = isatty(STDERR_FILENO), .start_ns = now, .last_ns = now,
		.next_ns = now + EVERY_NS,
	};
}

bool kmt_progress_is_due(const struct kmt_progress *p, uint64_t now_ns)
{
	return p->is_on && now_ns >= p->next_ns;
}

void kmt_progress_show(struct kmt_progress *p, uint64_t now_ns, uint64_t events, uint64_t lost,
		       uint64_t bytes)
{
	char time[KMT_FMT_LEN], size[KMT_FMT_LEN];
	double rate = (double)(events - p->last_events) * (double)SEC /
		      (double)(now_ns - p->last_ns);

	fprintf(stderr, "\rkmemtrace: %s, %" PRIu64 " events (%.0f/s), %" PRIu64 " lost, %s\033[K",
		kmt_fmt_duration(time, now_ns - p->start_ns), events, rate, lost,
		kmt_fmt_bytes(size, (int64_t)bytes, false));
	p->is_shown = true;
	p->last_ns = now_ns;
	p->last_events = events;
	p->next_ns = now_ns + EVERY_NS;
}

void kmt_progress_clear(struct kmt_progress *p)
{
	if (p->is_shown)
		fputs("\r\033[K", stderr);
	p->is_shown = false;
}

void kmt_progress_end(const char *path, uint64_t events, uint64_t bytes, bool has_events,
		      const struct kmt_quality *q)
{
	struct kmt_buf line = { 0 };
	char size[KMT_FMT_LEN];

	kmt_buf_printf(&line, "%" PRIu64 " events %s ", events, has_events ? "in" : "counted in");
	kmt_buf_puts(&line, strcmp(path, "-") ? "'" : "standard output");
	if (strcmp(path, "-")) {
		kmt_buf_puts(&line, path);
		kmt_buf_puts(&line, "'");
	}
	kmt_buf_printf(&line, ", %s", kmt_fmt_bytes(size, (int64_t)bytes, false));
	if (has_events && events)
		kmt_buf_printf(&line, " (%.1f bytes each)", (double)bytes / (double)events);
	kmt_live_losses(q, &line);
	kmt_cmd_warn("%s", kmt_buf_str(&line));
	kmt_buf_done(&line);
}
