/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside analysis/ only: which part of the kernel a function's name tells of. */
#ifndef KMT_ANALYSIS_SUBSYSTEM_H
#define KMT_ANALYSIS_SUBSYSTEM_H

struct kmt_buf;

/*
 * "ext4" of "__ext4_new_inode+0x1c", "skb" of "__alloc_skb", "sys" of
 * "__x64_sys_brk": the first word of the name that is no verb, without leading
 * underscores. Appends nothing where there is an address instead of a name.
 */
void kmt_subsystem_of(const char *site, struct kmt_buf *out);

#endif
