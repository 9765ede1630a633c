// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/slabs.h"

static const uint32_t usual[] = { 8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192 };

/*
 * "96", "2k", "1M" (older kernels: "2048"): what the cache's name promises; 0:
 * it is none of the plain ones. Its stride may be larger (slab_debug).
 */
static uint64_t promised(const char *name)
{
	static const char prefix[] = "kmalloc-";
	const char *p = name + sizeof(prefix) - 1;
	uint64_t v = 0;

	if (strncmp(name, prefix, sizeof(prefix) - 1))
		return 0;
	for (; *p >= '0' && *p <= '9' && v < UINT32_MAX; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (*p == 'k' || *p == 'K')
		return p[1] ? 0 : v << 10;
	if (*p == 'M')
		return p[1] ? 0 : v << 20;
	return *p ? 0 : v;
}

static void add(struct kmt_classes *c, uint64_t to, uint64_t given, const char *name)
{
	if (c->n == KMT_CLASSES)
		return;
	c->v[c->n] = (struct kmt_class){ .to = to, .given = given };
	snprintf(c->v[c->n++].name, sizeof(c->v[0].name), "%s", name);
}

static int compare(const void *pa, const void *pb)
{
	const struct kmt_class *a = pa, *b = pb;

	return (a->to > b->to) - (a->to < b->to);
}

void kmt_classes_init(struct kmt_classes *c, const struct kmt_slabs *slabs)
{
	size_t n = slabs ? kmt_slabs_count(slabs) : 0;
	char name[24];

	c->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct kmt_slab *s = kmt_slabs_at(slabs, i);
		uint64_t to = promised(s->name);

		if (to)
			add(c, to, s->object_size < to ? to : s->object_size, s->name);
	}
	for (size_t i = 0; !n && i < sizeof(usual) / sizeof(usual[0]); i++) {
		snprintf(name, sizeof(name), usual[i] < 1024 ? "kmalloc-%u" : "kmalloc-%uk",
			 usual[i] < 1024 ? usual[i] : usual[i] / 1024);
		add(c, usual[i], usual[i], name);
	}
	if (!c->n && n) {	/* a list without kmalloc caches says nothing about them */
		kmt_classes_init(c, NULL);
		return;
	}
	qsort(c->v, c->n, sizeof(c->v[0]), compare);
	for (size_t i = 0; i < c->n; i++)
		c->v[i].from = i ? c->v[i - 1].to + 1 : 1;
}

/* Whole pages, in powers of two. */
static bool pages(const struct kmt_classes *c, uint64_t bytes, struct kmt_class *ret)
{
	uint64_t largest = c->n ? c->v[c->n - 1].to : 0, to = 4096;

	while (to < bytes || to <= largest) {
		if (to > UINT64_MAX / 2)
			return false;
		to *= 2;
	}
	ret->from = to / 2 > largest ? to / 2 + 1 : largest + 1;
	ret->to = ret->given = to;
	snprintf(ret->name, sizeof(ret->name), "%" PRIu64, to);
	return true;
}

bool kmt_classes_of(const struct kmt_classes *c, uint64_t bytes, struct kmt_class *ret)
{
	if (!bytes)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		if (bytes <= c->v[i].to) {
			*ret = c->v[i];
			return true;
		}
	}
	return pages(c, bytes, ret);
}

bool kmt_classes_giving(const struct kmt_classes *c, uint64_t given, struct kmt_class *ret)
{
	for (size_t i = 0; i < c->n; i++) {
		if (given == c->v[i].given) {
			*ret = c->v[i];
			return true;
		}
	}
	return kmt_classes_of(c, given, ret);
}
