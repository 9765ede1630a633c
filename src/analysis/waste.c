// SPDX-License-Identifier: GPL-2.0-only
/*
 * Internal fragmentation: what is given and was not asked for, by call site and
 * given size, and the kmalloc size or the cache that would fit.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/classes.h"
#include "analysis/columns.h"
#include "analysis/group.h"
#include "analysis/requests.h"
#include "analysis/rows.h"
#include "analysis/summary.h"
#include "base/cleanup.h"
#include "core/sat.h"
#include "core/session.h"

extern const struct kmt_analysis kmt_analysis_waste;

#define CACHE_ALIGN 8	/* least alignment of a cache's objects: a pointer's */

static const struct kmt_column columns[] = {
	{ "waste_bytes", "WASTE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "waste_total_bytes", "IN ALL", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "waste_percent", "WASTE%", KMT_UNIT_PERCENT, KMT_HIDDEN, false },
	{ "request_mean_bytes", "ASKED", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "object_size", "GIVEN", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "saved_bytes_per_object", "SPARED", KMT_UNIT_BYTES, KMT_SHOWN, false },
	{ "fit", "BY", KMT_UNIT_TEXT, KMT_SHOWN, false },
	{ "fit_bytes", "FIT", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "saved_live_bytes", "SPARED LIVE", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "saved_total_bytes", "SPARED IN ALL", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "request_bytes", "ALWAYS", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "request_min_bytes", "LEAST", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "request_max_bytes", "MOST", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "over_bytes", "OVER", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "live_objects", "OBJS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMNS_RCU(KMT_HIDDEN),
	{ "live_bytes_requested", "LIVE REQ", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "live_bytes_allocated", "LIVE", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	KMT_COLUMN_UNTRACED(KMT_HIDDEN),
	{ "bytes_requested", "REQUESTED", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "bytes_allocated", "GIVEN IN ALL", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	{ "type", "TYPE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	{ "cache", "CACHE", KMT_UNIT_TEXT, KMT_HIDDEN, false },
	{ "caches", "CACHES", KMT_UNIT_LIST, KMT_HIDDEN, false },
	KMT_COLUMNS_SITE,
};

struct ctx {
	struct kmt_classes classes;
	struct kmt_request *requests;	/* by row of the session */
};

/* The requests of all rows of a group. */
static struct kmt_request request_of(const struct kmt_row_source *s)
{
	const struct ctx *ctx = s->ctx;
	struct kmt_request all = { 0 };

	for (size_t i = 0; i < s->g->n; i++) {
		const struct kmt_request *r = &ctx->requests[s->groups->members[s->g->start + i]];

		if (!r->known)
			return (struct kmt_request){ 0 };
		if (!i || r->min < all.min)
			all.min = r->min;
		if (!i || r->max > all.max)
			all.max = r->max;
	}
	all.known = true;
	return all;
}

struct fit {
	uint64_t bytes;		/* given then; 0: nothing fits better */
	char	 text[32];
};

/*
 * A kmalloc size below what is given now, else, where all requests are alike, a
 * cache made for them. What debugging adds to each object it would add there too.
 */
static struct fit fit_of(const struct kmt_row_source *s, const struct kmt_request *r)
{
	const struct ctx *ctx = s->ctx;
	uint64_t given = s->key->size, extra = 0, own;
	struct kmt_class c;
	struct fit f = { 0 };

	if (!r->known || s->key->type > KMT_TYPE_CACHE || !given || given == UINT32_MAX)
		return f;
	if (kmt_classes_of(&ctx->classes, r->max, &c) && c.given < given) {
		f.bytes = c.given;
		snprintf(f.text, sizeof(f.text), "%s", c.name);
		return f;
	}
	if (s->key->type == KMT_TYPE_KMALLOC && kmt_classes_giving(&ctx->classes, given, &c) &&
	    c.given == given)
		extra = c.given - c.to;
	own = (kmt_sat_add(r->max, CACHE_ALIGN - 1) & ~(uint64_t)(CACHE_ALIGN - 1)) + extra;
	if (r->min != r->max || own >= given)
		return f;
	f.bytes = own;
	snprintf(f.text, sizeof(f.text), "cache %" PRIu64, own - extra);
	return f;
}

/* How far the greatest request passes the next smaller kmalloc size; 0: there is none. */
static uint64_t over_of(const struct kmt_row_source *s, const struct kmt_request *r)
{
	const struct ctx *ctx = s->ctx;
	struct kmt_class c;

	if (!r->known || s->key->type > KMT_TYPE_CACHE ||
	    !kmt_classes_of(&ctx->classes, r->max, &c) || c.from == 1)
		return 0;
	return r->max - (c.from - 1);
}

static uint64_t times(uint64_t a, uint64_t b)
{
	unsigned __int128 v = (unsigned __int128)a * b;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static uint64_t total_waste(const struct kmt_row_source *s)
{
	return kmt_sat_sub(s->g->window.bytes_alloc, s->g->window.bytes_req);
}

static uint64_t live_waste(const struct kmt_row_source *s)
{
	return kmt_sat_sub(kmt_counts_live_alloc(&s->g->now), kmt_counts_live_req(&s->g->now));
}

static void put(struct kmt_cell *cell, bool known, uint64_t v)
{
	if (known)
		kmt_cell_int(cell, kmt_cell_value(v));
}

static int fill_request(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	const struct kmt_counts *w = &s->g->window;
	struct kmt_request r = request_of(s);
	uint64_t over = over_of(s, &r);

	if (!strcmp(key, "request_mean_bytes"))
		put(cell, w->allocs, w->allocs ? w->bytes_req / w->allocs : 0);
	else if (!strcmp(key, "request_bytes"))
		put(cell, r.known && r.min == r.max, r.min);
	else if (!strcmp(key, "request_min_bytes"))
		put(cell, r.known, r.min);
	else if (!strcmp(key, "request_max_bytes"))
		put(cell, r.known, r.max);
	else if (!strcmp(key, "over_bytes"))
		put(cell, over, over);
	else
		return 0;
	return 1;
}

static int fill_fit(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	struct kmt_request r = request_of(s);
	struct fit f = fit_of(s, &r);
	uint64_t saved = f.bytes ? s->key->size - f.bytes : 0;

	if (!strcmp(key, "fit"))
		return kmt_cell_text(cell, f.bytes ? f.text : NULL) ? -ENOMEM : 1;
	if (!strcmp(key, "fit_bytes"))
		put(cell, f.bytes, f.bytes);
	else if (!strcmp(key, "saved_bytes_per_object"))
		put(cell, f.bytes, saved);
	else if (!strcmp(key, "saved_live_bytes"))
		put(cell, f.bytes && s->has_objects, times(saved, kmt_counts_live(&s->g->now)));
	else if (!strcmp(key, "saved_total_bytes"))
		put(cell, f.bytes, times(saved, s->g->window.allocs));
	else
		return 0;
	return 1;
}

static int fill(const struct kmt_row_source *s, const char *key, struct kmt_cell *cell)
{
	int res;

	if (!strcmp(key, "waste_total_bytes")) {
		put(cell, true, total_waste(s));
		return 1;
	}
	res = fill_request(s, key, cell);
	return res ? res : fill_fit(s, key, cell);
}

static bool wants(const struct kmt_row_source *s)
{
	return total_waste(s) || (s->has_objects && live_waste(s));
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	_cleanup_free_ struct kmt_request *requests = NULL;
	struct ctx ctx;
	const struct kmt_rows_view view = {
		.name = "waste", .by = KMT_GROUP_SITE | KMT_GROUP_SIZE, .columns = columns,
		.n_columns = KMT_N(columns), .wants = wants, .fill = fill, .ctx = &ctx,
		.sort = kmt_session_has_objects(in->session) ? "waste_bytes" : "waste_total_bytes",
	};
	int err = kmt_requests_make(in, &requests);

	if (err)
		return err;
	ctx.requests = requests;
	kmt_classes_init(&ctx.classes, in->slabs_end ? in->slabs_end : in->slabs_start);
	return kmt_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_waste = {
	.name = "waste",
	.help = "given and not asked for, by call site and size, and what would fit",
	.observer = &kmt_requests_observer,
	.run = run,
};
