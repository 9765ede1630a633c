/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel's slab caches written by hand; for tests that only ask for names and sizes. */
#ifndef KMT_TESTS_UNIT_SLABS_H
#define KMT_TESTS_UNIT_SLABS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/slabs.h"

struct slab_row {
	const char *name;
	uint32_t size;
	const char *alias;	/* merged into it; NULL = none */
};

static inline void slab_path(char out[256], const char *root, const char *name, const char *more)
{
	snprintf(out, 256, "%s%s%s", root, name, more);
}

static inline void slab_alias(const char *root, unsigned i, const struct slab_row *row, bool make)
{
	const char *const names[] = { row->name, row->alias };
	char path[256], target[32];

	snprintf(target, sizeof(target), ":%u", i);
	slab_path(path, root, "/sys/kernel/slab/", target);
	make ? mkdir(path, 0700) : rmdir(path);
	for (int k = 0; k < 2; k++) {
		slab_path(path, root, "/sys/kernel/slab/", names[k]);
		if (!make)
			unlink(path);
		else if (symlink(target, path))
			perror(path);
	}
}

/* NULL when it could not be written or read. */
static inline struct kmt_slabs *slabs_of(const struct slab_row *rows, size_t n)
{
	static const char *const dirs[] = { "", "/proc", "/sys", "/sys/kernel", "/sys/kernel/slab" };
	char root[] = "/tmp/kmt-test-slabs-XXXXXX", path[256];
	struct kmt_slabs *s = NULL;
	FILE *f;

	if (!mkdtemp(root))
		return NULL;
	for (size_t i = 1; i < 5; i++) {
		slab_path(path, root, dirs[i], "");
		mkdir(path, 0700);
	}
	slab_path(path, root, "/proc/slabinfo", "");
	f = fopen(path, "w");
	if (f) {
		fputs("slabinfo - version: 2.1\n# name ...\n", f);
		for (size_t i = 0; i < n; i++)
			fprintf(f, "%s 1 2 %u 2 1 : tunables 0 0 0 : slabdata 1 1 0\n",
				rows[i].name, rows[i].size);
		fclose(f);
	}
	for (size_t i = 0; i < n; i++)
		if (rows[i].alias)
			slab_alias(root, i, &rows[i], true);
	if (kmt_slabs_load(root, &s))
		s = NULL;
	for (size_t i = 0; i < n; i++)
		if (rows[i].alias)
			slab_alias(root, i, &rows[i], false);
	unlink(path);
	for (size_t i = 5; i-- > 0;) {
		slab_path(path, root, dirs[i], "");
		rmdir(path);
	}
	return s;
}

#endif
