// SPDX-License-Identifier: GPL-2.0-only
#include "source/slab_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/kmalloc_names.h"
#include "symbol/slabs.h"

struct named {
	const char *name;
	uint64_t object;	/* 0 unknown */
	uint64_t place;
};

struct kmt_slab_names {
	size_t n;
	struct named v[];	/* by place */
};

/* The size of the object itself, which slabinfo does not have. */
static uint64_t object_size(const char *root, const char *cache)
{
	char path[512];
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long size = 0;

	if (strchr(cache, '/') || snprintf(path, sizeof(path), "%s/sys/kernel/slab/%s/object_size",
					   root ? root : "", cache) >= (int)sizeof(path))
		return 0;
	f = fopen(path, "re");
	return f && fscanf(f, "%llu", &size) == 1 ? size : 0;
}

static int by_place(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

int kmt_slab_names_new(const struct kmt_slabs *slabs, const char *root,
		       struct kmt_slab_names **ret)
{
	size_t max = slabs ? kmt_slabs_count(slabs) : 0;
	struct kmt_slab_names *n = calloc(1, sizeof(*n) + (max + 1) * sizeof(n->v[0]));

	if (!n)
		return kmt_err(-ENOMEM, "no memory for the names of caches");
	for (size_t i = 0; i < max; i++) {
		const struct kmt_slab *s = kmt_slabs_at(slabs, i);

		if (kmt_kmalloc_family(s->name) >= 0)
			continue;
		n->v[n->n++] = (struct named){
			.name = s->name, .object = object_size(root, s->name),
			.place = s->object_size,
		};
	}
	qsort(n->v, n->n, sizeof(n->v[0]), by_place);
	*ret = n;
	return 0;
}

void kmt_slab_names_free(struct kmt_slab_names *n)
{
	free(n);
}

static size_t first_of(const struct kmt_slab_names *n, uint64_t place)
{
	size_t low = 0, high = n->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (n->v[mid].place < place)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const char *kmt_slab_name(const struct kmt_slab_names *n, uint64_t bytes_req,
			  uint64_t bytes_alloc)
{
	const char *same = NULL, *any = NULL;
	unsigned n_same = 0, n_any = 0;

	for (size_t i = first_of(n, bytes_alloc); i < n->n && n->v[i].place == bytes_alloc; i++) {
		any = n->v[i].name;
		n_any++;
		if (n->v[i].object != bytes_req)
			continue;
		same = n->v[i].name;
		n_same++;
	}
	if (n_same == 1)
		return same;
	return n_any == 1 ? any : NULL;
}
