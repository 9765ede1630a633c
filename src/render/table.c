// SPDX-License-Identifier: GPL-2.0-only
#include "render/render.h"

#include <string.h>

#define RENDERER(id) extern const struct kmt_renderer kmt_renderer_##id;
#include "render/renderers.def"
#undef RENDERER

const struct kmt_renderer *const kmt_renderers[] = {
#define RENDERER(id) &kmt_renderer_##id,
#include "render/renderers.def"
#undef RENDERER
	NULL
};

const struct kmt_renderer *kmt_renderer_find(const char *name)
{
	for (size_t i = 0; kmt_renderers[i]; i++)
		if (!strcmp(kmt_renderers[i]->name, name))
			return kmt_renderers[i];
	return NULL;
}
