// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_sites;

const struct kmt_tui_view kmt_tui_view_sites = {
	.title = "Sites",
	.analysis = "site",
	.columns = "live_bytes_allocated,net_bytes_per_s,live_objects,allocs_per_s,"
		   "temporary_percent,waste_percent,age_p50_ns,waste_bytes,untraced_frees,"
		   "module,site",
	.help = "who allocates, whatever cache it takes from",
};
