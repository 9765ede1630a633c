// SPDX-License-Identifier: GPL-2.0-only
#include "core/only.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/snapshot.h"

/* Types that nobody knows go with the objects, as they ever did. */
static uint32_t type_bit(unsigned type)
{
	return 1u << (type <= KMT_TYPE_VMALLOC ? type : KMT_TYPE_KMALLOC);
}

static bool passes(struct kmt_only *o, unsigned type)
{
	uint32_t bit = type_bit(type);

	if (!(o->types & bit))
		o->left_out_types |= bit;
	return o->types & bit;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct kmt_only *o = ctx;

	if (passes(o, ev->type))
		return o->to.event ? o->to.event(o->to.ctx, ev) : 0;
	o->left_out++;
	return 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct kmt_only *o = ctx;

	return o->to.lost ? o->to.lost(o->to.ctx, lost) : 0;
}

/* Objects of rows that are left out name no row of the snapshot, and are skipped for that. */
static int on_snapshot(void *ctx, const struct kmt_snapshot *given)
{
	struct kmt_only *o = ctx;
	struct kmt_snapshot snap = *given;
	_cleanup_free_ struct kmt_snap_site *sites = calloc(snap.n_sites + 1, sizeof(*sites));
	_cleanup_free_ struct kmt_snap_free_site *frees = calloc(snap.n_free_sites + 1,
								 sizeof(*frees));
	_cleanup_free_ struct kmt_snap_cpu *cpus = calloc(snap.n_cpus + 1, sizeof(*cpus));

	if (!sites || !frees || !cpus)
		return kmt_err(-ENOMEM, "out of memory");
	if (!o->to.snapshot)
		return 0;
	o->left_out = 0;	/* cumulative, as a snapshot is */
	snap.n_sites = snap.n_free_sites = snap.n_cpus = 0;
	for (size_t i = 0; i < given->n_sites; i++) {
		const struct kmt_counts *c = &given->sites[i].counts;

		if (passes(o, given->sites[i].key.type))
			sites[snap.n_sites++] = given->sites[i];
		else
			o->left_out = kmt_sat_add(o->left_out, kmt_sat_add(c->allocs, c->frees));
	}
	for (size_t i = 0; i < given->n_free_sites; i++)
		if (passes(o, given->free_sites[i].type))
			frees[snap.n_free_sites++] = given->free_sites[i];
	for (size_t i = 0; i < given->n_cpus; i++)
		if (o->types & type_bit(given->cpus[i].type))
			cpus[snap.n_cpus++] = given->cpus[i];
	snap.cpus = given->cpus ? cpus : NULL;
	snap.sites = sites;
	snap.free_sites = frees;
	return o->to.snapshot(o->to.ctx, &snap);
}

static void on_soon(void *ctx, uint8_t type, uint64_t addr)
{
	const struct kmt_only *o = ctx;

	o->to.soon(o->to.ctx, type, addr);
}

struct kmt_sink kmt_only_sink(struct kmt_only *o)
{
	return (struct kmt_sink){ .event = on_event, .lost = on_lost, .snapshot = on_snapshot,
				  .soon = o->to.soon ? on_soon : NULL,
				  .ctx = o };
}
