/* SPDX-License-Identifier: GPL-2.0-only */
/* How a recording that is being made goes: a word on a terminal, a line at the end. */
#ifndef KMT_CMD_PROGRESS_H
#define KMT_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct kmt_quality;

struct kmt_progress {
	bool is_on;		/* standard error is a terminal */
	bool is_shown;
	uint64_t start_ns, next_ns;
	uint64_t last_ns, last_events;
};

void kmt_progress_init(struct kmt_progress *p);
/* Twice a second. */
bool kmt_progress_is_due(const struct kmt_progress *p, uint64_t now_ns);
/* Time, events, their rate since the last time, losses and the file's size. */
void kmt_progress_show(struct kmt_progress *p, uint64_t now_ns, uint64_t events, uint64_t lost,
		       uint64_t bytes);
/* The line is gone: before anything else is told. */
void kmt_progress_clear(struct kmt_progress *p);

/* One line for everybody. has_events: the events themselves are in the file. */
void kmt_progress_end(const char *path, uint64_t events, uint64_t bytes, bool has_events,
		      const struct kmt_quality *q);

#endif
