// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_tasks;

const struct kmt_tui_view kmt_tui_view_tasks = {
	.title = "Task",
	.tab = "Who",
	.analysis = "task",
	.columns = "live_bytes_allocated,net_bytes_per_s,live_objects,allocs_per_s,"
		   "temporary_percent,waste_percent,age_p50_ns,tgid,task",
	.help = "processes that allocated (with --by task)",
};
