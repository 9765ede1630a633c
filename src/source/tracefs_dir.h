/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SOURCE_TRACEFS_DIR_H
#define KMT_SOURCE_TRACEFS_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A way to the kernel's tracefs: where it is mounted, else a mount of our own
 * that is attached to no directory (fsmount(2)) and so is gone with the last
 * descriptor, however the process ends.
 */
struct kmt_tracefs_dir {
	char path[256];
	int mount_fd;		/* -1: mounted already, by somebody else */
};

/* Opens; error text says what is missing. Nothing to undo on error. */
int kmt_tracefs_dir_open(struct kmt_tracefs_dir *ret);
void kmt_tracefs_dir_close(struct kmt_tracefs_dir *d);

/*
 * Instances are named after the process that uses them. Remove those whose
 * process is gone (killed before it could) and return their number; instances
 * in use refuse to be removed.
 */
#define KMT_TRACEFS_INSTANCE "kmemtrace-"
int kmt_tracefs_remove_leftovers(const struct kmt_tracefs_dir *d);

/*
 * Numbers of the CPUs that have a buffer in an instance's per_cpu directory,
 * ascending, offline ones included; they need not be dense. Caller frees.
 */
int kmt_tracefs_cpus(const char *per_cpu, uint32_t **ret, size_t *ret_n);

#define KMT_TRACEFS_RING (8ULL << 20)	/* per CPU */

/* What a CPU's ring may take if nobody said; bounded for all CPUs together too. */
uint64_t kmt_tracefs_ring(size_t n_cpus);
/* Out of a buffer's 'stats' file: the kernel's count of what it had no room for. */
uint64_t kmt_tracefs_stats_lost(const char *text);

#endif
