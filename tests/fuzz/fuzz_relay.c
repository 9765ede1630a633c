// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer target for the original's relay files: 'make fuzz'.
 *
 * fuzz: -max_len=4096
 */
#include <stdint.h>

#include "fuzz_source.h"

extern const struct kmt_source_ops kmt_source_relay;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source(&kmt_source_relay, data, size, false);
	return 0;
}
