// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer target for the description of a kept session: 'make fuzz'. The input
 * is the text of its first block and of its list of caches, for nothing gets past
 * the checksums by chance.
 *
 * fuzz: -max_len=4096
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf_desc.h"
#include "store/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t put(uint8_t *at, unsigned type, const uint8_t *data, size_t len)
{
	const struct kmt_block b = { .type = (uint16_t)type, .stored_len = (uint32_t)len,
				     .raw_len = (uint32_t)len, .seq = 1 };

	memcpy(at + KMT_BLOCK_HEAD, data, len);
	kmt_block_seal(&b, at);
	return KMT_BLOCK_HEAD + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char layout[] = "layout x\nsites 16\ncpus 1\ncaches 1\nstacks 1\nshards 1\n";
	const uint8_t *nul = memchr(data, 0, size);
	size_t first = nul ? (size_t)(nul - data) : size;
	uint8_t *bytes = malloc(4 * KMT_BLOCK_HEAD + sizeof(layout) + 2 * size);
	struct kmt_bpf_desc d;
	size_t len = 0;

	if (!bytes)
		return 0;
	len += put(bytes, 64, (const uint8_t *)layout, sizeof(layout) - 1);
	len += put(bytes + len, 64, data, first);
	len += put(bytes + len, KMT_BLOCK_META, data, first);
	if (nul)
		len += put(bytes + len, KMT_BLOCK_SLABS_START, nul + 1, size - first - 1);
	if (!kmt_bpf_desc_parse(bytes, len, "x", &d) &&
	    (d.plan.table_bytes > (512u << 20) || d.ask.key >= KMT_BY_MAX))
		abort();
	kmt_bpf_desc_done(&d);
	free(bytes);
	return 0;
}
