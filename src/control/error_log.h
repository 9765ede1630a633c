/* SPDX-License-Identifier: GPL-2.0-only */
/* What was wrong with the last refused writes of a tracer, as tracefs' error_log. */
#ifndef KMT_CONTROL_ERROR_LOG_H
#define KMT_CONTROL_ERROR_LOG_H

#include <stddef.h>
#include <stdint.h>

struct kmt_buf;

#define KMT_ERROR_LOG_MAX	8	/* entries, as in ftrace */
#define KMT_ERROR_COMMAND_MAX	128	/* bytes of what was written that are shown */

struct kmt_error_entry {
	uint64_t time_ns;	/* CLOCK_MONOTONIC, as the events' */
	char	*where;		/* "options/kmem_gfp"; all owned */
	char	*message;
	char	*command;	/* escaped; NULL: nothing was written */
};

/* Locked by its owner. */
struct kmt_error_log {
	struct kmt_error_entry v[KMT_ERROR_LOG_MAX];	/* oldest first */
	size_t	n;
};

/* The oldest goes when there is no room. What there is no memory for is left out. */
void kmt_error_log_add(struct kmt_error_log *log, uint64_t time_ns, const char *where,
		       const char *message, const char *command, size_t command_len);
void kmt_error_log_print(const struct kmt_error_log *log, struct kmt_buf *out);
void kmt_error_log_clear(struct kmt_error_log *log);

#endif
