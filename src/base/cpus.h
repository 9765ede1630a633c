/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_CPUS_H
#define KMT_BASE_CPUS_H

#include <stdint.h>

/*
 * A kernel CPU (or node) list such as "0-3,8": calls cb for each number.
 * Returns the highest number + 1, -EINVAL if it is no such list, or the
 * callback's error. cb may be NULL.
 */
int kmt_cpus_parse(const char *list, int (*cb)(void *ctx, uint32_t cpu), void *ctx);
/* The same for a file such as /sys/devices/system/cpu/online. */
int kmt_cpus_file(const char *path, int (*cb)(void *ctx, uint32_t cpu), void *ctx);

#endif
