// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_cgroups;

const struct kmt_tui_view kmt_tui_view_cgroups = {
	.title = "Cgroup",
	.tab = "Who",
	.analysis = "cgroup",
	.columns = "live_bytes_allocated,net_bytes_per_s,live_objects,allocs_per_s,"
		   "temporary_percent,waste_percent,age_p50_ns,waste_bytes,cgroup",
	.help = "cgroups (v2) of those that allocated (with --by cgroup)",
};
