// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_caches;

const struct kmt_tui_view kmt_tui_view_caches = {
	.title = "Caches",
	.analysis = "cache",
	.columns = "live_bytes_allocated,live_objects,slab_bytes,utilisation_percent,"
		   "balance.verdict,net_bytes_per_s,waste_percent,reclaimable,object_size,allocs_per_s,"
		   "untraced_frees,waste_bytes,balance.traced_net,balance.real_net,cache",
	.help = "slab caches, and whether their books balance with the kernel's own",
};
