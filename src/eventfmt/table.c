// SPDX-License-Identifier: GPL-2.0-only
#include "eventfmt/eventfmt.h"

#include <string.h>

#define EVENTFMT(id) extern const struct kmt_eventfmt kmt_eventfmt_##id;
#include "eventfmt/eventfmts.def"
#undef EVENTFMT

const struct kmt_eventfmt *const kmt_eventfmts[] = {
#define EVENTFMT(id) &kmt_eventfmt_##id,
#include "eventfmt/eventfmts.def"
#undef EVENTFMT
	NULL
};

/* Is 'word' one of the space separated words of 'list'? */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list && *list) {
		size_t n = strcspn(list, " ");

		if (n == len && n && !memcmp(list, word, n))
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

const struct kmt_eventfmt *kmt_eventfmt_find(const char *name)
{
	for (size_t i = 0; kmt_eventfmts[i]; i++) {
		const struct kmt_eventfmt *f = kmt_eventfmts[i];

		if (!strcmp(f->name, name) || list_has(f->aliases, name))
			return f;
	}
	return NULL;
}
