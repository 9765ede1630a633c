// SPDX-License-Identifier: GPL-2.0-only
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ERR_MAX 1024

/* The error slot, the one piece of global state that is allowed. */
static _Thread_local char slot[ERR_MAX];

/*
 * Callers may pass kmt_err_text() as an argument, so text is built elsewhere
 * and moved in. What gets here is one line, whatever a caller forgot.
 */
static void slot_set(const char *line)
{
	snprintf(slot, sizeof(slot), "%s", line);
	for (char *p = slot; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
}

int kmt_err(int err, const char *fmt, ...)
{
	char line[ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	slot_set(line);
	return err;
}

int kmt_err_errno(int err, const char *fmt, ...)
{
	char line[ERR_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - n, ": %s", strerror(err < 0 ? -err : err));
	slot_set(line);
	return err;
}

int kmt_err_prefix(int err, const char *fmt, ...)
{
	char line[ERR_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - n, "%s", slot);
	slot_set(line);
	return err;
}

const char *kmt_err_text(void)
{
	return slot;
}
