// SPDX-License-Identifier: GPL-2.0-only
/* Rows by the module of the allocating function; what is built in is vmlinux. */
#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/names.h"
#include "analysis/rows.h"
#include "base/buf.h"
#include "report/report.h"

extern const struct kmt_analysis kmt_analysis_module;

#define COLUMNS(survivors) KMT_COLUMNS_LABEL(survivors, "module", "MODULE")

static const struct kmt_column columns[] = COLUMNS(false);
static const struct kmt_column survivor_columns[] = COLUMNS(true);

static int label(const struct kmt_analysis_in *in, const struct kmt_site_key *key,
		 struct kmt_buf *out)
{
	struct kmt_cell module = { .is_null = true };
	int err = kmt_name_key(in, key, NULL, &module);

	if (!err && module.text)
		kmt_buf_puts(out, module.text);
	kmt_cell_text(&module, NULL);
	return err;
}

static const struct kmt_rows_view view = {
	.name = "module", .label = label, .label_key = "module", .columns = columns,
	.survivor_columns = survivor_columns, .n_columns = KMT_N(columns),
};

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	return kmt_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_module = {
	.name = "module",
	.aliases = { "modules" },
	.help = "by the module of the allocating function",
	.run = run,
};
