// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_modules;

const struct kmt_tui_view kmt_tui_view_modules = {
	.title = "Modules",
	.analysis = "module",
	.columns = "live_bytes_allocated,peak_bytes_allocated,net_bytes_per_s,live_objects,"
		   "allocs_per_s,temporary_percent,waste_percent,age_p50_ns,waste_bytes,sites,"
		   "module",
	.help = "modules whose functions allocate",
};
