// SPDX-License-Identifier: GPL-2.0-only
/*
 * The page layer of a session: a free may give back a part of a block, as a
 * split block's pages go one by one. Blocks are as the buddy allocator makes
 * them, 2^k pages at a multiple of their size, so what is left after a part is
 * gone are its buddies:
 *
 *   order 3:  |8 ............... 15|	free of page 10
 *   parts:    |8 9|11|12 ....... 15|	10 is gone; the block counts as freed
 *					when its last part is
 */
#include "core/sat.h"
#include "core/session_priv.h"

#define MAX_ORDER	24
#define SCAN_ORDER	12	/* of a block inside which every page is looked at */
#define LEAST_UNIT	1024
#define LAYER		KMT_TYPE_PAGES

bool kmt_pages_exact(struct kmt_session *s, const struct kmt_event *ev)
{
	uint64_t unit = s->pages.unit;

	if (ev->order < 0 || ev->order > MAX_ORDER)
		return false;
	if (ev->op == KMT_OP_ALLOC) {
		unit = ev->bytes_alloc >> ev->order;
		if (unit < LEAST_UNIT || (unit & (unit - 1)) ||
		    unit << ev->order != ev->bytes_alloc || ev->bytes_alloc > UINT32_MAX)
			return false;
		if (!s->pages.unit)
			s->pages.unit = unit;
	}
	return unit && unit == s->pages.unit && !(ev->addr & ((unit << ev->order) - 1));
}

/* What is live at this address, a block or a part of one; 'order' -1: of any size. */
static struct kmt_live *find_at(const struct kmt_session *s, uint64_t addr, int order)
{
	struct kmt_live *o = kmt_objects_find(&s->objects, LAYER, addr);

	if (!o && s->pages.splits)
		o = kmt_objects_find(&s->objects, KMT_LIVE_PART, addr);
	if (!o || order < 0)
		return o;
	return !o->is_large && o->bytes_alloc == s->pages.unit << order ? o : NULL;
}

/* The live block in which the event's pages lie. */
static struct kmt_live *find_around(const struct kmt_session *s, const struct kmt_event *ev,
				    int *ret_order)
{
	for (int k = ev->order; k <= MAX_ORDER && s->pages.orders >> k; k++) {
		struct kmt_live *o;

		if (!(s->pages.orders >> k & 1))
			continue;
		o = find_at(s, ev->addr & ~((s->pages.unit << k) - 1), k);
		if (o) {
			*ret_order = k;
			return o;
		}
	}
	return NULL;
}

/* A part is gone from its split block; true: it was the last one, or is a block of its own. */
static bool is_last(struct kmt_session *s, const struct kmt_live *part)
{
	struct kmt_live *split;

	if (part->layer != KMT_LIVE_PART)
		return true;
	split = kmt_objects_find(&s->objects, KMT_LIVE_SPLIT, part->bytes_req);
	if (!split)
		return true;
	split->bytes_alloc -= part->bytes_alloc;
	if (split->bytes_alloc)
		return false;
	kmt_objects_remove(&s->objects, split);
	return true;
}

/* 'part' is a copy of what is in the table no more. */
static int end_part(struct kmt_session *s, const struct kmt_event *ev, const struct kmt_live *part)
{
	struct kmt_live gone = *part;
	struct kmt_site *site;

	if (gone.layer == KMT_LIVE_PART)
		gone.bytes_req = gone.bytes_alloc;
	site = kmt_session_take_away(s, &gone);
	if (is_last(s, part)) {
		if (ev->op == KMT_OP_FREE) {
			kmt_session_count_free(s, ev, &gone);
		} else {
			site->counts.untraced_frees++;
			s->untraced_frees++;
		}
	}
	return kmt_session_tell_free(s, ev, &(struct kmt_object){
		.addr = gone.addr, .birth_ns = gone.birth_ns, .site = gone.site, .cpu = gone.cpu,
		.bytes_req = gone.is_large ? s->objects.large[gone.bytes_req].bytes_req : gone.bytes_req,
		.bytes_alloc = gone.bytes_alloc });
}

static int end_block(struct kmt_session *s, const struct kmt_event *ev, struct kmt_live *o)
{
	struct kmt_live part = *o;

	kmt_objects_remove(&s->objects, o);
	return end_part(s, ev, &part);
}

/* From here on its parts are counted together. false: no room for that. */
static bool number_block(struct kmt_session *s, struct kmt_live *block)
{
	struct kmt_live split = { .layer = KMT_LIVE_SPLIT, .addr = s->pages.splits + 1,
				  .site = block->site };

	if (block->layer == KMT_LIVE_PART)
		return true;
	if (s->pages.splits == UINT32_MAX ||
	    !kmt_objects_insert(&s->objects, &split, 0, block->bytes_alloc))
		return false;
	block->layer = KMT_LIVE_PART;
	block->bytes_req = ++s->pages.splits;
	return true;
}

/* Take the event's pages out of a larger block and put what is left back. */
static int carve(struct kmt_session *s, const struct kmt_event *ev, struct kmt_live *o, int order)
{
	struct kmt_live part = *o;
	int err = 0;

	kmt_objects_remove(&s->objects, o);
	if (!number_block(s, &part)) {
		s->no_object++;		/* the rest is lost track of: all of it ends here */
		return end_part(s, ev, &part);
	}
	for (int k = order - 1; k >= ev->order; k--) {
		uint64_t half = s->pages.unit << k;
		bool upper = ev->addr & half;

		part.bytes_alloc = half;
		part.addr = (ev->addr & ~(2 * half - 1)) + (upper ? 0 : half);
		s->pages.orders |= 1u << k;
		if (!kmt_objects_insert(&s->objects, &part, part.bytes_req, half)) {
			s->no_object++;
			err = err ? err : end_part(s, ev, &part);
		}
	}
	part.addr = ev->addr;
	return err ? err : end_part(s, ev, &part);
}

/* Smaller blocks inside the event's pages: their own frees were not seen. */
static int end_inside(struct kmt_session *s, const struct kmt_event *ev, bool *ret)
{
	uint64_t n = 1ull << ev->order, unit = s->pages.unit;
	int err = 0;

	if (ev->order > SCAN_ORDER || !(s->pages.orders & ((1u << ev->order) - 1)))
		return 0;
	for (uint64_t i = 0; i < n && !err; i++) {
		struct kmt_live *o = find_at(s, ev->addr + i * unit, -1);

		if (!o || o->is_large || o->bytes_alloc > (n - i) * unit)
			continue;
		*ret = true;
		err = end_block(s, ev, o);
	}
	return err;
}

int kmt_pages_end(struct kmt_session *s, const struct kmt_event *ev, bool *ret)
{
	int order = ev->order, err = 0;
	struct kmt_live *o = find_around(s, ev, &order);
	bool found = o;

	if (!o)
		err = end_inside(s, ev, &found);
	if (!found && !err) {	/* of a size that is no block's: it ends whole */
		o = kmt_objects_find(&s->objects, LAYER, ev->addr);
		found = o;
	}
	if (o && order == ev->order)
		err = end_block(s, ev, o);
	else if (o)
		err = carve(s, ev, o, order);
	if (ev->op == KMT_OP_ALLOC)
		s->pages.orders |= 1u << ev->order;
	*ret = found;
	return err;
}
