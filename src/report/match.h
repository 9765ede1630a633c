/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows by what people see of them. */
#ifndef KMT_REPORT_MATCH_H
#define KMT_REPORT_MATCH_H

#include "report/report.h"

/*
 * Keep the rows that an expression finds:
 *
 *   REGEX			in any column of text, hidden ones too
 *   COLUMN~REGEX, COLUMN!~REGEX	in one column, or not in it
 *   COLUMN>=VALUE, ...		as kmt_report_filter()
 *
 * Extended regular expressions, upper and lower case alike, on the text as it is
 * shown. 0, -EINVAL with its text, or -ENOMEM; rows then stay as they were.
 */
int kmt_report_match(struct kmt_report *r, const char *expr);

#endif
