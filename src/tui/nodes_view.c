// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_nodes;

const struct kmt_tui_view kmt_tui_view_nodes = {
	.title = "Node",
	.tab = "Who",
	.analysis = "node",
	.columns = "live_bytes_allocated,live_objects,remote_bytes,allocs_per_s,frees_per_s,"
		   "untraced_frees,asked,placed,node",
	.help = "NUMA nodes: where memory lies, and whose CPUs took it",
};
