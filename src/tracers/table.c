// SPDX-License-Identifier: GPL-2.0-only
#include "tracers/tracers.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "core/event.h"

const struct kmt_tracer kmt_tracers[] = {
#define TRACER(id, layer, on, letters, help, events) \
	{ #id, help, KMT_LAYER_##layer, on, letters, events },
#include "tracers/tracers.def"
#undef TRACER
	{ NULL, NULL, KMT_LAYER_OBJECT, false, NULL, NULL }
};

#define TYPES_MAX 32

uint32_t kmt_tracers_default(void)
{
	uint32_t set = 0;

	for (size_t i = 0; kmt_tracers[i].name; i++)
		set |= kmt_tracers[i].on ? 1u << i : 0;
	return set;
}

/* The row with this name; KMT_TRACERS if none. */
static size_t find(const char *name, size_t len)
{
	size_t i = 0;

	while (kmt_tracers[i].name && (strlen(kmt_tracers[i].name) != len ||
				       memcmp(kmt_tracers[i].name, name, len)))
		i++;
	return i;
}

int kmt_tracers_parse(const char *list, uint32_t *ret)
{
	static const char kprobe[] = "bulk:kprobe";
	uint32_t set = 0;

	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ","), i = find(p, len);

		if (len == sizeof(kprobe) - 1 && !memcmp(p, kprobe, len)) {
			i = KMT_TRACER_bulk;
			set |= KMT_TRACERS_KPROBE;
		}
		if (i == KMT_TRACERS)
			return kmt_err(-EINVAL, "there is no tracer '%.*s'", (int)len, p);
		set |= 1u << i;
		p += len;
		if (!*p)
			break;
	}
	if ((set & KMT_TRACER_BIT(bulk)) && !(set & KMT_TRACER_BIT(slab)))
		return kmt_err(-EINVAL, "'bulk' completes 'slab': slab,%s", list);
	*ret = set;
	return 0;
}

uint32_t kmt_tracers_of_type(unsigned type)
{
	char letter = kmt_type_letter(type);

	for (size_t i = 0; kmt_tracers[i].name; i++)
		if (strchr(kmt_tracers[i].letters, letter))
			return 1u << i;
	return 0;
}

uint32_t kmt_tracers_of_event(const char *event)
{
	size_t len = strlen(event);

	for (size_t i = 0; len && kmt_tracers[i].name; i++) {
		for (const char *p = kmt_tracers[i].events; (p = strstr(p, event)); p += len)
			if (p > kmt_tracers[i].events && p[-1] == ':' &&
			    (p[len] == ' ' || !p[len]))
				return 1u << i;
	}
	return 0;
}

uint32_t kmt_tracers_types(uint32_t tracers)
{
	uint32_t types = 0;

	for (unsigned t = 0; t < TYPES_MAX; t++)
		types |= kmt_tracers_of_type(t) & tracers ? 1u << t : 0;
	return types;
}
