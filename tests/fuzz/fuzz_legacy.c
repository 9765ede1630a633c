// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer target for the original's text, line by line: 'make fuzz'.
 *
 * fuzz: -max_len=8192
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "source/legacy_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct kmt_legacy_line l;	/* what a header says lasts for one input */
	const char *p = (const char *)data, *end = p + size;

	l = (struct kmt_legacy_line){ 0 };
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);
		enum kmt_legacy_kind kind = kmt_legacy_line_parse(&l, p, n);

		if (kind == KMT_LEGACY_BAD && !l.why)
			abort();
		if (kind == KMT_LEGACY_EVENT && l.ev.cache && l.ev.cache != l.cache)
			abort();
		if (kind == KMT_LEGACY_LOST && (unsigned)l.lost.reason >= KMT_LOSS_MAX)
			abort();
		p += n + 1;
	}
	return 0;
}
