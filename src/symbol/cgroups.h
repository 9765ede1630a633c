/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SYMBOL_CGROUPS_H
#define KMT_SYMBOL_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where cgroup v2 is mounted, first of several; false if nowhere. */
bool kmt_cgroups_mount(char *out, size_t size);

/*
 * The directory of a cgroup v2 that is named by that, or by its path below the mount.
 * -ENOENT: no such cgroup, or no cgroup v2; -ENAMETOOLONG.
 */
int kmt_cgroups_dir(const char *path, char *out, size_t size);

struct kmt_cgroups;

/*
 * Names of cgroups (v2) by their number, as bpf_get_current_cgroup_id() has it.
 * -ENOENT if no cgroup v2 is mounted.
 */
int kmt_cgroups_new(struct kmt_cgroups **ret);
void kmt_cgroups_free(struct kmt_cgroups *c);
/*
 * Its directory below the mount ("/", "/system.slice/a.service"); NULL: it is no more,
 * or nobody may ask. Asked of the kernel once; valid as long as c.
 */
const char *kmt_cgroups_path(struct kmt_cgroups *c, uint64_t id);

#endif
