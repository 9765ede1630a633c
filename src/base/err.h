/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_ERR_H
#define KMT_BASE_ERR_H

/*
 * Errors: functions return 0 or a negative errno and leave one line of detail
 * in a per-thread slot. Nothing below cmd/ prints.
 */

/*
 * Store the detail (printf style; lower case, no full stop, cause first, user
 * strings in single quotes, control characters escaped by the caller) and
 * return 'err', so that a fault is one line:
 *
 *	return kmt_err(-EINVAL, "trace.dat: section %u ends beyond the file", id);
 */
int kmt_err(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same, with ": <strerror(-err)>" appended. */
int kmt_err_errno(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Put words in front of the detail already stored ("cannot read 'x': " ...)
 * and return 'err'.
 */
int kmt_err_prefix(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The stored line, never NULL; valid until the thread's next kmt_err*(). */
const char *kmt_err_text(void);

#endif
