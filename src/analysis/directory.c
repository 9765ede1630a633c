// SPDX-License-Identifier: GPL-2.0-only
/* Rows by the directory of the source that the allocating function is in. */
#include <stdbool.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/names.h"
#include "analysis/rows.h"
#include "base/buf.h"
#include "report/report.h"
#include "symbol/lines.h"

extern const struct kmt_analysis kmt_analysis_directory;

#define COLUMNS(survivors) KMT_COLUMNS_LABEL(survivors, "directory", "DIRECTORY")

static const struct kmt_column columns[] = COLUMNS(false);
static const struct kmt_column survivor_columns[] = COLUMNS(true);

/* The directory; of a module, which vmlinux has nothing of, its name. */
static int label(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		 struct kmt_buf *out)
{
	struct kmt_cell module = { .is_null = true };
	int err = kmt_name_key(in, key, NULL, &module);
	bool built_in = !module.text || !strcmp(module.text, "vmlinux");

	if (!err && !built_in)
		kmt_buf_printf(out, "[%s]", module.text);
	else if (!err && in->lines)
		kmt_lines_directory(in->lines, kmt_name_place(in, key), out);
	kmt_cell_text(&module, NULL);
	return err;
}

static const struct kmt_rows_view view = {
	.name = "directory", .label = label, .label_key = "directory", .columns = columns,
	.survivor_columns = survivor_columns, .n_columns = KMT_N(columns),
};

static bool any_known(const struct kmt_report *r)
{
	int c = kmt_report_column(r, "directory");

	for (size_t i = 0; i < r->n_rows; i++)
		if (r->rows[i].cells[c].text)
			return true;
	return false;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	struct kmt_report *r = NULL;
	int err = kmt_rows_run(in, &view, &r);

	if (!err && !in->lines && r->n_rows)
		err = kmt_report_note(r, "source directories come from debug information: give "
				      "--vmlinux=FILE");
	else if (!err && r->n_rows && !any_known(r))
		err = kmt_report_note(r, "the vmlinux given has none of these call sites: is it "
				      "the traced kernel's?");
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret_report = r;
	return 0;
}

const struct kmt_analysis kmt_analysis_directory = {
	.name = "directory",
	.aliases = { "directories" },
	.help = "by the source directory of the allocating function; needs --vmlinux",
	.run = run,
};
