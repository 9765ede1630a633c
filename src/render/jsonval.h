/* SPDX-License-Identifier: GPL-2.0-only */
/* Cells and fields as JSON values: the only door to the JSON library. */
#ifndef KMT_RENDER_JSONVAL_H
#define KMT_RENDER_JSONVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/report.h"

struct json_t;
struct kmt_buf;

/*
 * Objects stick on errors as buffers do: a NULL object or a failed set makes
 * kmt_json_dump() return -ENOMEM, so only the dump must be looked at.
 */
struct kmt_json {
	struct json_t *object;
	bool failed;
};

void kmt_json_init(struct kmt_json *j);
void kmt_json_done(struct kmt_json *j);

/* Strings are escaped (kmt_buf_escape); NULL text is null. */
void kmt_json_text(struct kmt_json *j, const char *key, const char *text);
void kmt_json_int(struct kmt_json *j, const char *key, int64_t v);
void kmt_json_strings(struct kmt_json *j, const char *key, char *const *v, size_t n);
/* nest: "a.b" becomes {"a": {"b": ...}}, else keys are taken as they are. */
void kmt_json_cell(struct kmt_json *j, const char *key, bool nest, enum kmt_unit unit,
		   const struct kmt_cell *c);
/* Put the fields under 'key' as an object of their own. */
void kmt_json_fields(struct kmt_json *j, const char *key, const struct kmt_fields *f);

/* Append the object's text, in one line without a line break. 0 or -ENOMEM. */
int kmt_json_dump(const struct kmt_json *j, struct kmt_buf *out);

#endif
