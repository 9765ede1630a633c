/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One event that two instances recorded is one allocation, not two. Each
 * instance writes it with a time of its own, one right after the other on the
 * same CPU:
 *
 *	top: kmalloc X   | kfree X
 *	B:     kmalloc X |   kfree X
 *
 * so a copy is what another instance has of an address's latest event. Of
 * whatever only one of them has (filters, losses) nothing is left out.
 */
#ifndef KMT_SOURCE_TRACE_DAT_TWICE_H
#define KMT_SOURCE_TRACE_DAT_TWICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_node;
struct kmt_tdat_twice;

/* n_cpus: about how many. */
int kmt_tdat_twice_new(size_t n_cpus, struct kmt_tdat_twice **ret);
void kmt_tdat_twice_free(struct kmt_tdat_twice *t);
/* Is it a copy? Nodes come in order of time; buffer is below KMT_TDAT_BUFFERS. */
bool kmt_tdat_twice_is_copy(struct kmt_tdat_twice *t, unsigned buffer, const struct kmt_node *node);

#endif
