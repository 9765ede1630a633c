// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <string.h>

#include "analysis/analysis.h"

#define ANALYSIS(id) extern const struct kmt_analysis kmt_analysis_##id;
#include "analysis/analyses.def"
#undef ANALYSIS

const struct kmt_analysis *const kmt_analyses[] = {
#define ANALYSIS(id) &kmt_analysis_##id,
#include "analysis/analyses.def"
#undef ANALYSIS
	NULL
};

static bool is_called(const struct kmt_analysis *a, const char *name)
{
	if (!strcmp(a->name, name))
		return true;
	for (size_t i = 0; i < sizeof(a->aliases) / sizeof(a->aliases[0]) && a->aliases[i]; i++)
		if (!strcmp(a->aliases[i], name))
			return true;
	return false;
}

const struct kmt_analysis *kmt_analysis_find(const char *name)
{
	for (size_t i = 0; kmt_analyses[i]; i++)
		if (is_called(kmt_analyses[i], name))
			return kmt_analyses[i];
	return NULL;
}
