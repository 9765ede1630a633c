// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/kallsyms.h"

#include <string.h>

const char *kmt_kallsyms_next(FILE *f, char **line, size_t *cap)
{
	while (getline(line, cap, f) > 0) {
		char *name = *line;

		for (int field = 0; name && field < 2; field++) {
			name = strchr(name, ' ');
			name = name ? name + 1 : NULL;
		}
		if (!name || strchr(name, '\t'))
			continue;	/* no symbol, or a module's */
		name[strcspn(name, "\n")] = '\0';
		return name;
	}
	return NULL;
}
