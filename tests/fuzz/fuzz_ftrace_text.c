// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer target for ftrace's text, with stacks: 'make fuzz'.
 *
 * fuzz: -max_len=16384
 */
#include <stdint.h>

#include "fuzz_source.h"

extern const struct kmt_source_ops kmt_source_ftrace_text;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_source(&kmt_source_ftrace_text, data, size, true);
	return 0;
}
