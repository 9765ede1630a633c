// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_suspects;

const struct kmt_tui_view kmt_tui_view_suspects = {
	.title = "Suspects",
	.analysis = "leaks",
	.columns = "state,surviving_bytes,growth_bytes_per_s,age_p50_ns,surviving_objects,"
		   "windows_grown,windows_shrunk,site,cache",
	.help = "what survives and grows: suspects of leaking first",
};
