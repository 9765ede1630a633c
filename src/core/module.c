// SPDX-License-Identifier: GPL-2.0-only
#include "core/module.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

int kmt_module_name(const char *text, char ret[KMT_MODULE_NAME])
{
	char name[KMT_MODULE_NAME] = "";
	size_t len = strlen(text);

	if (!len || len >= sizeof(name))
		return kmt_err(-EINVAL, "a module's name has 1 to %d characters", KMT_MODULE_NAME - 1);
	if (len > 3 && !strcmp(text + len - 3, ".ko"))
		return kmt_err(-EINVAL, "'%s' is a file: the module is called without '.ko'", text);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = text[i];

		if (!isalnum(c) && c != '_' && c != '-')
			return kmt_err(-EINVAL, "'%s' is no module's name: letters, digits, '_' and "
				       "'-' only", text);
		/* as the kernel does (scripts/Makefile.lib: name-fix) */
		name[i] = c == '-' ? '_' : (char)c;
	}
	memcpy(ret, name, sizeof(name));
	return 0;
}

uint64_t kmt_module_unloaded(const struct kmt_module_life *m)
{
	for (size_t i = m->n; i-- > 0;)
		if (m->load[i].unloaded_ns)
			return m->load[i].unloaded_ns;
	return 0;
}
