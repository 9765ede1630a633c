// SPDX-License-Identifier: GPL-2.0-only
/* The accounting once more, as it is compiled for kernels whose BPF has no compare-and-swap. */
#define KMT_HASHED
#include "unit/test_bpf_account.c"
