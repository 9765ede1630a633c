// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_cpus;

const struct kmt_tui_view kmt_tui_view_cpus = {
	.title = "CPU",
	.tab = "Who",
	.analysis = "cpu",
	.columns = "live_bytes_allocated,live_objects,allocs_per_s,frees_per_s,cross_cpu_frees,"
		   "bytes_allocated,bytes_freed,untraced_frees,temporary,node,cpu",
	.help = "CPUs: what was allocated and freed there",
};
