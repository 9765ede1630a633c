// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "report/report.h"
#include "tui/tui.h"

#define VIEW(id) extern const struct kmt_tui_view kmt_tui_view_##id;
#include "tui/views.def"
#undef VIEW

const struct kmt_tui_view *const kmt_tui_views[] = {
#define VIEW(id) &kmt_tui_view_##id,
#include "tui/views.def"
#undef VIEW
	NULL
};

const struct kmt_tui_view *kmt_tui_view_of(const char *analysis)
{
	for (size_t i = 0; kmt_tui_views[i]; i++)
		if (!strcmp(kmt_tui_views[i]->analysis, analysis))
			return kmt_tui_views[i];
	return NULL;
}

int kmt_tui_view_choose(const struct kmt_tui_view *v, struct kmt_report *r)
{
	int err = kmt_report_choose(r, v->columns);

	r->shown_may_drop = !err;
	return err;
}
