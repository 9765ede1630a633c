/* SPDX-License-Identifier: GPL-2.0-only */
/* What people see of a cell, wherever it is shown. ASCII: a byte is a cell of the terminal. */
#ifndef KMT_REPORT_CELL_TEXT_H
#define KMT_REPORT_CELL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

struct kmt_buf;

/* Append the value, escaped; "-" if it is unknown. exact: bytes as integers. */
void kmt_cell_print(struct kmt_buf *b, enum kmt_unit unit, const struct kmt_cell *c, bool exact);
/* The same for a field, which has no column: a percentage gets its sign. */
void kmt_field_print(struct kmt_buf *b, const struct kmt_field *f, bool exact);

/* A column's title, with the mark of the sorted one, which is a cell wide. */
void kmt_title_print(struct kmt_buf *b, const struct kmt_report *r, size_t column, bool utf8);
/* Cut ASCII text to 'width' cells, the last of them an ellipsis if it was longer. */
void kmt_text_cut(struct kmt_buf *b, size_t width, bool utf8);

#endif
