// SPDX-License-Identifier: GPL-2.0-only
#include "tracers/tracers.h"

#include <stddef.h>

const struct kmt_tracer kmt_tracers[] = {
#define TRACER(id, layer, on, help, events) { #id, help, KMT_LAYER_##layer, on, events },
#include "tracers/tracers.def"
#undef TRACER
	{ NULL, NULL, KMT_LAYER_OBJECT, false, NULL }
};
