// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_pages;

const struct kmt_tui_view kmt_tui_view_pages = {
	.title = "Pages",
	.analysis = "page",
	.columns = "order,live_bytes_allocated,live_objects,net_bytes_per_s,allocs_per_s,age_p50_ns,"
		   "migratetype",
	.help = "pages by order and migratetype (with --tracer page)",
};
