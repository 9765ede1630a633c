// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_both;

const struct kmt_tui_view kmt_tui_view_both = {
	.title = "Both",
	.analysis = "site,cache",
	.columns = "live_bytes_allocated,net_bytes_per_s,live_objects,allocs_per_s,age_p50_ns,"
		   "balance.verdict,temporary_percent,waste_percent,waste_bytes,site,cache",
	.help = "call sites, one row for each cache they take from",
};
