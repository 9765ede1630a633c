// SPDX-License-Identifier: GPL-2.0-only
/* Pages by order and by what was asked for: movable, reclaimable, neither. */
#include <string.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/rows.h"
#include "core/session.h"
#include "report/report.h"

extern const struct kmt_analysis kmt_analysis_page;

#define COLUMNS(survivors) {							\
	{ "order", "ORDER", KMT_UNIT_COUNT, KMT_SHOWN, false },			\
	KMT_COLUMNS_MAIN(survivors, KMT_SHOWN, KMT_HIDDEN, KMT_HIDDEN),		\
	{ "migratetype", "MIGRATETYPE", KMT_UNIT_TEXT, KMT_SHOWN, true },	\
	KMT_COLUMNS_MORE,							\
}

static const struct kmt_column columns[] = COLUMNS(false);
static const struct kmt_column survivor_columns[] = COLUMNS(true);

/* Rows of the kernel's tables have no order: their machine is this one. */
static uint64_t page_size(const struct kmt_session *s)
{
	uint64_t size = kmt_session_page_size(s);

	return size ? size : (uint64_t)sysconf(_SC_PAGESIZE);
}

static int fill(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	const char *name = kmt_migratetype_name(s->key->migratetype);
	uint64_t pages = s->key->size / page_size(s->in->session);

	if (!strcmp(key, "order")) {
		if (pages)
			kmt_cell_int(cell, 63 - __builtin_clzll(pages));
		return 1;
	}
	if (strcmp(key, "migratetype"))
		return 0;
	return name && kmt_cell_text(cell, name) ? -1 : 1;
}

static bool wants(const struct kmt_row_source *s)
{
	return s->key->type == KMT_TYPE_PAGES;
}

static const struct kmt_rows_view view = {
	.name = "page", .by = KMT_GROUP_SIZE | KMT_GROUP_MIGRATETYPE, .columns = columns,
	.survivor_columns = survivor_columns, .n_columns = KMT_N(columns), .wants = wants,
	.fill = fill,
};

static bool has_pages(const struct kmt_session *s)
{
	for (size_t i = 0; i < kmt_session_n_sites(s); i++)
		if (kmt_session_site(s, i)->key.type == KMT_TYPE_PAGES)
			return true;
	return false;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	struct kmt_report *r = NULL;
	int err = kmt_rows_run(in, &view, &r);

	if (!err && kmt_session_n_sites(in->session) && !has_pages(in->session))
		err = kmt_report_note(r, "there are no page events here: they come with "
				      "--tracer page");
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret_report = r;
	return 0;
}

const struct kmt_analysis kmt_analysis_page = {
	.name = "page",
	.aliases = { "pages" },
	.help = "pages by order and migratetype (with --tracer page)",
	.needs = KMT_NEEDS_NO_KEY,
	.run = run,
};
