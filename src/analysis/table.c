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

const struct kmt_analysis *kmt_analysis_find(const char *name)
{
	for (size_t i = 0; kmt_analyses[i]; i++)
		if (!strcmp(kmt_analyses[i]->name, name))
			return kmt_analyses[i];
	return NULL;
}
