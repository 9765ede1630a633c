// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/key.h"

#include "analysis/analysis.h"

static const struct {
	const char *name, *option, *view;
} keys[] = {
	[KMT_BY_SITE] = { "site", "", NULL },
	[KMT_BY_STACK] = { "stack", "--stacks", NULL },
	[KMT_BY_TASK] = { "task", "--by task", "task" },
	[KMT_BY_CGROUP] = { "cgroup", "--by cgroup", "cgroup" },
};

_Static_assert(sizeof(keys) / sizeof(keys[0]) == KMT_BY_MAX, "a row for each key");

enum kmt_key kmt_key_of(const struct kmt_analysis *a, bool stacks)
{
	if (a->needs & KMT_NEEDS_TASKS)
		return KMT_BY_TASK;
	if (a->needs & KMT_NEEDS_CGROUPS)
		return KMT_BY_CGROUP;
	return stacks || (a->needs & KMT_NEEDS_STACKS) ? KMT_BY_STACK : KMT_BY_SITE;
}

bool kmt_key_serves(enum kmt_key have, const struct kmt_analysis *a, bool stacks)
{
	enum kmt_key wanted = kmt_key_of(a, stacks);

	/* a stack begins with its call site */
	return wanted == have || (wanted == KMT_BY_SITE && have == KMT_BY_STACK) ||
	       (wanted == KMT_BY_SITE && (a->needs & KMT_NEEDS_NO_KEY));
}

const char *kmt_key_name(enum kmt_key key)
{
	return keys[key].name;
}

const char *kmt_key_option(enum kmt_key key)
{
	return keys[key].option;
}

const char *kmt_key_view(enum kmt_key key)
{
	return keys[key].view;
}
