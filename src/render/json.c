// SPDX-License-Identifier: GPL-2.0-only
/*
 * One object per report, a line per row. Rows are made and written one at a
 * time: a view of all live objects has millions.
 */
#include "render/render.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "render/emit.h"
#include "render/jsonval.h"

#define SCHEMA "kmemtrace.report/1"

/* All but the rows. */
static int put_head(const struct kmt_report *r, struct kmt_buf *b)
{
	struct kmt_json j _cleanup_(kmt_json_done);

	kmt_json_init(&j);
	kmt_json_text(&j, "schema", SCHEMA);
	kmt_json_text(&j, "command", r->command);
	kmt_json_text(&j, "view", r->view);
	kmt_json_text(&j, "kernel", r->kernel);
	kmt_json_int(&j, "window_ns", (int64_t)r->window_ns);
	kmt_json_fields(&j, "quality", &r->quality);
	kmt_json_fields(&j, "summary", &r->summary);
	kmt_json_strings(&j, "notes", r->notes, r->n_notes);
	kmt_json_int(&j, "rows_total", (int64_t)r->rows_total);
	return kmt_json_dump(&j, b);
}

static int put_row(const struct kmt_report *r, const struct kmt_row *row, struct kmt_buf *b)
{
	struct kmt_json j _cleanup_(kmt_json_done);

	kmt_json_init(&j);
	for (size_t i = 0; i < kmt_emit_n_columns(r); i++) {
		size_t c = kmt_emit_column(r, i);

		kmt_json_cell(&j, r->columns[c].key, true, r->columns[c].unit, &row->cells[c]);
	}
	if (row->n_detail && kmt_emit_has_stack(r))
		kmt_json_strings(&j, "stack", row->detail, row->n_detail);
	return kmt_json_dump(&j, b);
}

static int render(const struct kmt_report *r, const struct kmt_render_opts *opts, FILE *out)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	int err = put_head(r, &b);

	if (err)
		return err;
	b.len--;	/* reopen the head's object for the rows */
	kmt_buf_puts(&b, ",\"rows\":[");
	for (size_t i = 0; i < r->n_rows && !err; i++) {
		kmt_buf_puts(&b, i ? ",\n" : "\n");
		err = put_row(r, &r->rows[i], &b);
		if (!err && b.len >= KMT_EMIT_CHUNK)
			err = kmt_emit(&b, out);
	}
	if (err)
		return err;
	kmt_buf_puts(&b, "]}\n");
	return kmt_emit(&b, out);
}

const struct kmt_renderer kmt_renderer_json = {
	.name = "json",
	.help = "one JSON object per report (schema " SCHEMA ")",
	.render = render,
};
