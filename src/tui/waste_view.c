// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_waste;

const struct kmt_tui_view kmt_tui_view_waste = {
	.title = "Waste",
	.analysis = "waste",
	.columns = "waste_bytes,waste_total_bytes,waste_percent,request_mean_bytes,object_size,"
		   "saved_bytes_per_object,fit,live_objects,cache,site",
	.help = "given and not asked for, and what would fit",
};
