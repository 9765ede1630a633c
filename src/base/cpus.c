// SPDX-License-Identifier: GPL-2.0-only
#include "base/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

#define KMT_CPUS_MAX 65536

int kmt_cpus_parse(const char *list, int (*cb)(void *ctx, uint32_t cpu), void *ctx)
{
	const char *p = list;
	unsigned long top = 0;

	while (*p && *p != '\n') {
		char *end;
		unsigned long from, to;

		from = to = strtoul(p, &end, 10);
		if (end == p)
			return kmt_err(-EINVAL, "'%.40s' is no CPU list", list);
		if (*end == '-') {
			p = end + 1;
			to = strtoul(p, &end, 10);
			if (end == p)
				return kmt_err(-EINVAL, "'%.40s' is no CPU list", list);
		}
		if (to < from || to >= KMT_CPUS_MAX || (*end && !strchr(",\n", *end)))
			return kmt_err(-EINVAL, "'%.40s' is no CPU list", list);
		for (unsigned long c = from; cb && c <= to; c++) {
			int err = cb(ctx, c);

			if (err)
				return err;
		}
		if (to + 1 > top)
			top = to + 1;
		p = *end == ',' ? end + 1 : end;
	}
	return top;
}

int kmt_cpus_file(const char *path, int (*cb)(void *ctx, uint32_t cpu), void *ctx)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;

	if (!f)
		return kmt_err_errno(-errno, "cannot open '%s'", path);
	if (getline(&line, &room, f) < 0)
		return kmt_err(-EIO, "cannot read '%s'", path);
	return kmt_cpus_parse(line, cb, ctx);
}
