// SPDX-License-Identifier: GPL-2.0-only
#include "control/error_log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define NS_PER_S	1000000000u
#define NS_PER_US	1000u

static void entry_done(struct kmt_error_entry *e)
{
	free(e->where);
	free(e->message);
	free(e->command);
	*e = (struct kmt_error_entry){ 0 };
}

/* What was written in one line: without the newline at its end, the rest escaped. */
static char *command_text(const char *command, size_t len)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };

	while (len && (command[len - 1] == '\n' || command[len - 1] == ' '))
		len--;
	for (size_t i = 0; i < len && i < KMT_ERROR_COMMAND_MAX; i++) {
		if (command[i])
			kmt_buf_escape(&b, &command[i], 1);
		else
			kmt_buf_puts(&b, "\\x00");
	}
	if (len > KMT_ERROR_COMMAND_MAX)
		kmt_buf_puts(&b, "...");
	kmt_buf_puts(&b, "");
	return kmt_buf_take(&b);
}

void kmt_error_log_add(struct kmt_error_log *log, uint64_t time_ns, const char *where,
		       const char *message, const char *command, size_t command_len)
{
	struct kmt_error_entry e = {
		.time_ns = time_ns, .where = strdup(where), .message = strdup(message),
		.command = command ? command_text(command, command_len) : NULL,
	};

	if (!e.where || !e.message || (command && !e.command)) {
		entry_done(&e);
		return;
	}
	if (log->n == KMT_ERROR_LOG_MAX) {
		entry_done(&log->v[0]);
		memmove(&log->v[0], &log->v[1], (KMT_ERROR_LOG_MAX - 1) * sizeof(log->v[0]));
		log->n--;
	}
	log->v[log->n++] = e;
}

void kmt_error_log_print(const struct kmt_error_log *log, struct kmt_buf *out)
{
	for (size_t i = 0; i < log->n; i++) {
		const struct kmt_error_entry *e = &log->v[i];

		kmt_buf_printf(out, "[%5" PRIu64 ".%06" PRIu64 "] ", e->time_ns / NS_PER_S,
			       e->time_ns % NS_PER_S / NS_PER_US);
		kmt_buf_escape(out, e->where, SIZE_MAX);
		kmt_buf_puts(out, ": error: ");
		kmt_buf_puts(out, e->message);
		kmt_buf_puts(out, "\n");
		if (e->command)
			kmt_buf_printf(out, "  Command: %s\n", e->command);
	}
}

void kmt_error_log_clear(struct kmt_error_log *log)
{
	for (size_t i = 0; i < log->n; i++)
		entry_done(&log->v[i]);
	log->n = 0;
}
