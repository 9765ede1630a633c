// SPDX-License-Identifier: GPL-2.0-only
/* Site and cache tables once more, claimed through a hash map: KMT_HASHED, bpf/claim.bpf.h. */
#define KMT_HASHED
#include "unit/test_bpf_sites.c"
