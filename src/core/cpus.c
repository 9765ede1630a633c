// SPDX-License-Identifier: GPL-2.0-only
#include "core/cpus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/sat.h"

#define MAX_CPUS 16384	/* Linux's NR_CPUS is at most half of it: a wrong one takes no memory */

#define FOR_COUNTS(OP)								\
	OP(allocs) OP(frees) OP(bytes_req) OP(bytes_alloc) OP(bytes_freed)	\
	OP(cross_cpu_frees) OP(temporary)

void kmt_cpu_counts_add(struct kmt_cpu_counts *to, const struct kmt_cpu_counts *c)
{
#define OP(name) to->name = kmt_sat_add(to->name, c->name);
	FOR_COUNTS(OP)
#undef OP
}

static void subtract(struct kmt_cpu_counts *from, const struct kmt_cpu_counts *c)
{
#define OP(name) from->name = kmt_sat_sub(from->name, c->name);
	FOR_COUNTS(OP)
#undef OP
}

bool kmt_cpu_counts_any(const struct kmt_cpu_counts *c)
{
	return c->allocs || c->frees;
}

void kmt_cpu_table_done(struct kmt_cpu_table *t)
{
	free(t->v);
	*t = (struct kmt_cpu_table){ 0 };
}

int kmt_cpu_table_get(struct kmt_cpu_table *t, uint32_t cpu, unsigned type,
		      struct kmt_cpu_row **ret)
{
	size_t at = cpu < MAX_CPUS ? (size_t)cpu + 1 : 0;	/* 0: KMT_CPU_NONE */
	size_t n = t->n ? t->n : 8 * KMT_CPU_TYPES;
	struct kmt_cpu_row *v;

	at = at * KMT_CPU_TYPES + (type < KMT_CPU_TYPES ? type : KMT_CPU_TYPES - 1);
	while (n <= at)
		n *= 2;
	if (n > t->n) {
		v = reallocarray(t->v, n, sizeof(*v));
		if (!v)
			return kmt_err(-ENOMEM, "out of memory");
		memset(v + t->n, 0, (n - t->n) * sizeof(*v));
		t->v = v;
		t->n = n;
	}
	*ret = &t->v[at];
	return 0;
}

void kmt_cpu_table_mark(struct kmt_cpu_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		t->v[i].base = t->v[i].events;
		kmt_cpu_counts_add(&t->v[i].base, &t->v[i].counted);
	}
}

bool kmt_cpu_table_at(const struct kmt_cpu_table *t, size_t i, bool since_mark,
		      struct kmt_snap_cpu *ret)
{
	if (i >= t->n)
		return false;
	*ret = (struct kmt_snap_cpu){
		.cpu = (uint32_t)(i / KMT_CPU_TYPES) - 1, .type = i % KMT_CPU_TYPES,
		.counts = t->v[i].events,
	};
	kmt_cpu_counts_add(&ret->counts, &t->v[i].counted);
	if (since_mark)
		subtract(&ret->counts, &t->v[i].base);
	return true;
}
