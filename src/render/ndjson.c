// SPDX-License-Identifier: GPL-2.0-only
/*
 * One flat object per line: first the summary with all of the quality, then
 * the rows, each with the losses.
 */
#include "render/render.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "render/emit.h"
#include "render/jsonval.h"

/* Quality fields are set apart: "events" may be in both lists. */
static void put_quality(struct kmt_json *j, const struct kmt_report *r)
{
	struct kmt_buf key _cleanup_(kmt_buf_done) = { 0 };

	for (size_t i = 0; i < r->quality.n; i++) {
		const struct kmt_field *f = &r->quality.v[i];

		kmt_buf_clear(&key);
		kmt_buf_printf(&key, "quality_%s", f->key);
		j->failed |= key.error != 0;
		kmt_json_cell(j, kmt_buf_str(&key), false, f->unit, &f->cell);
	}
}

static void put_losses(struct kmt_json *j, const struct kmt_report *r)
{
	for (size_t i = 0; i < KMT_EMIT_LOSSES; i++)
		kmt_json_int(j, kmt_emit_loss_keys[i], kmt_emit_loss(r, i));
}

static int put_summary(const struct kmt_report *r, struct kmt_buf *b)
{
	struct kmt_json j _cleanup_(kmt_json_done);
	int err;

	kmt_json_init(&j);
	kmt_json_text(&j, "record", "summary");
	kmt_json_text(&j, "command", r->command);
	kmt_json_text(&j, "view", r->view);
	kmt_json_text(&j, "kernel", r->kernel);
	kmt_json_int(&j, "window_ns", (int64_t)r->window_ns);
	kmt_json_int(&j, "rows_total", (int64_t)r->rows_total);
	for (size_t i = 0; i < r->summary.n; i++) {
		const struct kmt_field *f = &r->summary.v[i];

		kmt_json_cell(&j, f->key, false, f->unit, &f->cell);
	}
	put_losses(&j, r);
	put_quality(&j, r);
	kmt_json_strings(&j, "notes", r->notes, r->n_notes);
	err = kmt_json_dump(&j, b);
	kmt_buf_puts(b, "\n");
	return err;
}

static int put_row(const struct kmt_report *r, const struct kmt_row *row, struct kmt_buf *b)
{
	struct kmt_json j _cleanup_(kmt_json_done);
	int err;

	kmt_json_init(&j);
	kmt_json_text(&j, "record", "row");
	for (size_t i = 0; i < kmt_emit_n_columns(r); i++) {
		size_t c = kmt_emit_column(r, i);

		kmt_json_cell(&j, r->columns[c].key, false, r->columns[c].unit, &row->cells[c]);
	}
	if (row->n_detail && kmt_emit_has_stack(r))
		kmt_json_strings(&j, "stack", row->detail, row->n_detail);
	kmt_json_int(&j, "window_ns", (int64_t)r->window_ns);
	put_losses(&j, r);
	err = kmt_json_dump(&j, b);
	kmt_buf_puts(b, "\n");
	return err;
}

static int render(const struct kmt_report *r, const struct kmt_render_opts *opts, FILE *out)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	int err = put_summary(r, &b);

	for (size_t i = 0; i < r->n_rows && !err; i++) {
		err = put_row(r, &r->rows[i], &b);
		if (!err && b.len >= KMT_EMIT_CHUNK)
			err = kmt_emit(&b, out);
	}
	return err ? err : kmt_emit(&b, out);
}

const struct kmt_renderer kmt_renderer_ndjson = {
	.name = "ndjson",
	.help = "one flat JSON object per line, a summary and then the rows",
	.render = render,
};
