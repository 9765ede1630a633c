// SPDX-License-Identifier: GPL-2.0-only
#include "control/stat.h"

#include <errno.h>
#include <stdint.h>

#include "base/buf.h"
#include "report/cell_text.h"
#include "report/layout.h"
#include "report/report.h"

#define STAT(name_, analysis_, sort_, columns_, text_) \
	{ .name = (name_), .analysis = (analysis_), .sort = (sort_), .columns = (columns_), \
	  .text = (text_) },

const struct kmt_stat_file kmt_stat_files[] = {
#include "control/stats.def"
	{ 0 }
};
#undef STAT

const size_t kmt_n_stat_files = sizeof(kmt_stat_files) / sizeof(kmt_stat_files[0]) - 1;

/* Numbers to the right; the last column ends where its text ends. */
static void put_padded(struct kmt_buf *out, const struct kmt_buf *cell, size_t width, bool is_text,
		       bool is_last)
{
	int pad = cell->len < width ? (int)(width - cell->len) : 0;

	if (is_text)
		kmt_buf_printf(out, "%s%*s", kmt_buf_str(cell), is_last ? 0 : pad, "");
	else
		kmt_buf_printf(out, "%*s%s", pad, "", kmt_buf_str(cell));
	if (!is_last)
		kmt_buf_puts(out, " ");
}

/* row NULL: the titles. The first column is two wider, for the titles' "# ". */
static void put_line(struct kmt_buf *out, const struct kmt_report *r, const struct kmt_layout *l,
		     const struct kmt_row *row)
{
	kmt_buf_puts(out, row ? "  " : "# ");
	for (size_t i = 0; i < l->n; i++) {
		const struct kmt_column *c = &r->columns[l->v[i].index];
		_cleanup_buf_ struct kmt_buf cell = { 0 };

		if (row)
			kmt_cell_print(&cell, c->unit, &row->cells[l->v[i].index], true);
		else
			kmt_buf_puts(&cell, c->title);
		if (cell.error)
			out->error = cell.error;
		put_padded(out, &cell, l->v[i].natural, kmt_unit_is_text(c->unit), i + 1 == l->n);
	}
	kmt_buf_puts(out, "\n");
}

int kmt_stat_table(const struct kmt_stat_file *f, struct kmt_report *r, struct kmt_buf *out)
{
	struct kmt_layout l = { 0 };
	int err = 0;

	if (f->sort)
		err = kmt_report_sort(r, f->sort);
	if (!err && f->columns)
		err = kmt_report_choose(r, f->columns);
	if (!err)
		err = kmt_layout_init(&l, r);
	if (!err)
		err = kmt_layout_measure(&l, r, true, true);
	if (err)
		goto out;
	put_line(out, r, &l, NULL);
	for (size_t i = 0; i < r->n_rows; i++)
		put_line(out, r, &l, &r->rows[i]);
	err = out->error;
out:
	kmt_layout_done(&l);
	return err;
}
