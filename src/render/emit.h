/* SPDX-License-Identifier: GPL-2.0-only */
/* What the renderers have in common. */
#ifndef KMT_RENDER_EMIT_H
#define KMT_RENDER_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/report.h"

struct kmt_buf;

/* Long outputs go out in pieces of about this size. */
#define KMT_EMIT_CHUNK 65536

/* Write the buffer and empty it. 0, -EPIPE when the reader is gone, other negative errno. */
int kmt_emit(struct kmt_buf *b, FILE *out);

/*
 * The columns for programs: those of --columns, else all, hidden ones too. The
 * number of them, and the i-th as an index into r->columns.
 */
size_t kmt_emit_n_columns(const struct kmt_report *r);
size_t kmt_emit_column(const struct kmt_report *r, size_t i);
/* Detail lines are named "stack" unless a column is. */
bool kmt_emit_has_stack(const struct kmt_report *r);

/* Hundredths, rounded half away from zero; false if there is no such number. */
bool kmt_emit_hundredths(double d, int64_t *ret);
/* A cell that is no text and not null, for programs: no unit, no suffix. */
void kmt_emit_number(struct kmt_buf *b, enum kmt_unit unit, const struct kmt_cell *c);

/*
 * Losses that every row of CSV and NDJSON carries, so that no line can be read
 * without them: "quality_lost_total" and so on, 0 if the report has no such field.
 */
#define KMT_EMIT_LOSSES 5
extern const char *const kmt_emit_loss_keys[KMT_EMIT_LOSSES];
int64_t kmt_emit_loss(const struct kmt_report *r, size_t i);
/* A field that says that something is missing and is not zero. */
bool kmt_emit_is_alarm(const struct kmt_field *f);

#endif
