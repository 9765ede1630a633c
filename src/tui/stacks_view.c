// SPDX-License-Identifier: GPL-2.0-only
#include "tui/tui.h"

extern const struct kmt_tui_view kmt_tui_view_stacks;

const struct kmt_tui_view kmt_tui_view_stacks = {
	.title = "Stacks",
	.analysis = "stacks",
	.columns = "percent,live_bytes_allocated,live_objects,allocs,temporary,tree",
	.help = "the tree of calls (with --stacks)",
	.has_order = true,
};
