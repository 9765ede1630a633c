// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "report/report.h"
#include "tui/priv.h"
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

bool kmt_tui_same_tab(size_t a, size_t b)
{
	const struct kmt_tui_view *va = kmt_tui_views[a], *vb = kmt_tui_views[b];

	return a == b || (va->tab && vb->tab && !strcmp(va->tab, vb->tab));
}

size_t kmt_tui_tab(size_t view)
{
	size_t n = 0;

	for (size_t i = 1; i <= view; i++)
		n += !kmt_tui_same_tab(i - 1, i);
	return n;
}

/* Columns that are for what seldom happens are left out where it did not. */
static void drop_unneeded(struct kmt_report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_shown; i++)
		if (r->columns[r->shown[i]].show != KMT_IF_ANY ||
		    kmt_report_shows(r, r->shown[i]))
			r->shown[n++] = r->shown[i];
	r->n_shown = n;
}

int kmt_tui_view_choose(const struct kmt_tui_view *v, struct kmt_report *r)
{
	int err = kmt_report_choose(r, v->columns);

	r->shown_may_drop = !err;
	if (!err)
		drop_unneeded(r);
	return err;
}
