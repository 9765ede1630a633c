/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SYMBOL_NODES_H
#define KMT_SYMBOL_NODES_H

#include <stdint.h>

struct kmt_nodes;

/*
 * On which NUMA node a kernel address, a page or a CPU lies. With one node that is clear; with
 * several, the direct map's place comes from the program headers of
 * /proc/kcore (address to physical address, fs/proc/kcore.c since v4.10) and
 * the nodes of physical memory from /sys/devices/system/node. -EACCES when
 * several nodes exist and /proc/kcore cannot be read (lockdown).
 */
/* root: NULL = "" (a prefix for tests). */
int kmt_nodes_load(const char *root, struct kmt_nodes **ret);
void kmt_nodes_free(struct kmt_nodes *n);
/* Node of an address of the direct map, -1 unknown. */
int kmt_nodes_of(const struct kmt_nodes *n, uint64_t addr);
/* Of a physical address: page frame number times page size. */
int kmt_nodes_of_frame(const struct kmt_nodes *n, uint64_t paddr);
/* Of a CPU, -1 unknown. */
int kmt_nodes_of_cpu(const struct kmt_nodes *n, uint32_t cpu);

#endif
