// SPDX-License-Identifier: GPL-2.0-only
#include "core/quality.h"

#include <stddef.h>

#include "core/sat.h"

static const struct {
	const char *key, *text;
	size_t at;
	enum kmt_quality_how how;
} counts[KMT_COUNT_MAX] = {
#define QUALITY_COUNT(field, title, text, how) \
	{ #field, text, offsetof(struct kmt_quality, field), KMT_COUNT_##how },
#include "core/quality.def"
#undef QUALITY_COUNT
};

const char *kmt_quality_key(enum kmt_quality_count i)
{
	return counts[i].key;
}

const char *kmt_quality_text(enum kmt_quality_count i)
{
	return counts[i].text;
}

enum kmt_quality_how kmt_quality_how(enum kmt_quality_count i)
{
	return counts[i].how;
}

uint64_t kmt_quality_get(const struct kmt_quality *q, enum kmt_quality_count i)
{
	return *(const uint64_t *)((const char *)q + counts[i].at);
}

void kmt_quality_set(struct kmt_quality *q, enum kmt_quality_count i, uint64_t n)
{
	*(uint64_t *)((char *)q + counts[i].at) = n;
}

uint64_t kmt_quality_lost(const struct kmt_quality *q)
{
	uint64_t sum = 0;

	for (int i = 0; i < KMT_LOSS_MAX; i++)
		sum = kmt_sat_add(sum, q->lost[i]);
	return sum;
}
