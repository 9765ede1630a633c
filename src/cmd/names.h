/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the running kernel calls things, for those that outlive the run they
 * were loaded for: a text of kept events, a report after the end. Counted
 * references; nothing in it changes.
 */
#ifndef KMT_CMD_NAMES_H
#define KMT_CMD_NAMES_H

struct kmt_gfp_names;
struct kmt_nodes;
struct kmt_symbols;

/* What could not be had is NULL: addresses, hex and unknown nodes are shown then. */
struct kmt_names {
	unsigned refs;			/* atomic */
	char *modules;			/* /proc/modules when they were loaded */
	struct kmt_symbols *symbols;
	struct kmt_gfp_names *gfp_names;
	struct kmt_nodes *nodes;
};

/*
 * Today's names: 'last' again, if the kernel's modules are the same as then
 * (may be NULL), or new ones. The caller's to drop. 0 or -ENOMEM.
 */
int kmt_names_load(struct kmt_names *last, struct kmt_names **ret);
struct kmt_names *kmt_names_get(struct kmt_names *n);
/* NULL allowed. */
void kmt_names_drop(struct kmt_names *n);

#endif
