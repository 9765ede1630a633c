// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_tasks;

const struct kmt_tui_view kmt_tui_view_tasks = {
	.title = "Task",
	.tab = "Who",
	.analysis = "task",
	.columns = "live_bytes_allocated,net_bytes_per_s,live_objects,allocs_per_s,age_p50_ns,"
		   "waste_bytes,tgid,task",
	.help = "processes that allocated (with --by task)",
};
