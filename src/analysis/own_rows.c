// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/own_rows.h"

#include "analysis/analysis.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "report/report.h"

#define _cleanup_report_ _cleanup_(cleanup_report)

static void cleanup_report(struct kmt_report **r)
{
	kmt_report_free(*r);
}

int kmt_own_rows_run(const struct kmt_analysis_in *in, const struct kmt_own_view *view,
		 struct kmt_report **ret_report)
{
	_cleanup_report_ struct kmt_report *r = NULL;
	int err = kmt_report_new(in->command ? in->command : "", view->name, view->columns,
				 view->n_columns, &r);

	if (!err)
		err = kmt_summary_fill(in, r);
	if (!err)
		err = view->add_rows(in, r);
	if (!err && in->min_age_ns)
		err = kmt_report_note(r, "--min-age does not change this view");
	if (!err && view->sort)
		err = kmt_report_sort(r, view->sort);
	if (err)
		return err;
	*ret_report = take_ptr(r);
	return 0;
}
