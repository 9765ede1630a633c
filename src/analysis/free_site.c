// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/names.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_free_site;

#define _cleanup_report_ _cleanup_(cleanup_report)

static void cleanup_report(struct kmt_report **r)
{
	kmt_report_free(*r);
}

enum { FREES, SHARE, TYPE, SITE, MODULE };

static const struct kmt_column columns[] = {
	[FREES]	 = { "frees", "FREES", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[SHARE]	 = { "frees_percent", "SHARE%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	[TYPE]	 = { "type", "TYPE", KMT_UNIT_TEXT, KMT_SHOWN, false },
	[SITE]	 = { "site", "FREED BY", KMT_UNIT_TEXT, KMT_SHOWN, true },
	[MODULE] = { "module", "MODULE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
};

static uint64_t frees_of(const struct kmt_analysis_in *in, const struct kmt_free_site *f)
{
	return kmt_sat_sub(f->frees, in->interval_ns ? f->base : 0);
}

static int add_row(const struct kmt_analysis_in *in, const struct kmt_free_site *f, uint64_t total,
		   struct kmt_report *r)
{
	char type[2] = { kmt_type_letter(f->type) };
	uint64_t frees = frees_of(in, f);
	struct kmt_row *row = kmt_report_row(r);

	if (!row)
		return -ENOMEM;
	kmt_cell_int(&row->cells[FREES], kmt_cell_value(frees));
	if (total)
		kmt_cell_percent(&row->cells[SHARE], 100.0 * (double)frees / (double)total);
	if (kmt_cell_text(&row->cells[TYPE], type))
		return -ENOMEM;
	return kmt_name_address(in, f->call_site, f->name, &row->cells[SITE], &row->cells[MODULE]);
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	_cleanup_report_ struct kmt_report *r = NULL;
	size_t n = kmt_session_n_free_sites(in->session);
	uint64_t total = 0;
	int err = kmt_report_new(in->command ? in->command : "", "free-site", columns,
				 KMT_N(columns), &r);

	if (!err)
		err = kmt_summary_fill(in, r);
	for (size_t i = 0; i < n; i++)
		total = kmt_sat_add(total, frees_of(in, kmt_session_free_site(in->session, i)));
	for (size_t i = 0; i < n && !err; i++)
		err = add_row(in, kmt_session_free_site(in->session, i), total, r);
	if (!err)
		err = kmt_report_sort(r, "frees");
	if (err)
		return err;
	*ret_report = take_ptr(r);
	return 0;
}

const struct kmt_analysis kmt_analysis_free_site = {
	.name = "free-site",
	.aliases = { "free-sites" },
	.help = "by the call site that frees, whatever it frees",
	.run = run,
};
