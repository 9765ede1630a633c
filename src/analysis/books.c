// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/books.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "core/sat.h"
#include "core/session.h"
#include "report/report.h"
#include "symbol/slabs.h"

uint64_t kmt_books_tolerance(uint32_t objs_per_slab)
{
	uint64_t two = (uint64_t)objs_per_slab * 2;

	return two > 32 ? two : 32;
}

uint64_t kmt_books_lost(const struct kmt_quality *q)
{
	uint64_t sum = kmt_sat_add(q->lost[KMT_LOSS_RING], q->lost[KMT_LOSS_SITES]);

	sum = kmt_sat_add(sum, q->lost[KMT_LOSS_INPUT]);
	sum = kmt_sat_add(sum, q->lost[KMT_LOSS_BEGINNING]);
	return kmt_sat_add(sum, q->recursion_misses);
}

void kmt_books_done(struct kmt_books *b)
{
	free(b->v);
	free(b->of);
	*b = (struct kmt_books){ 0 };
}

static const struct kmt_slab *slab_of(const struct kmt_slabs *slabs, const char *cache)
{
	return slabs && cache ? kmt_slabs_find(slabs, cache) : NULL;
}

struct query {
	const struct kmt_book *v;
	const char *cache;
};

static bool is_book(const void *ctx, size_t i)
{
	const struct query *q = ctx;
	const char *name = q->v[i].cache;

	return name == q->cache || (name && q->cache && !strcmp(name, q->cache));
}

/* Merged caches keep one book, under the name that slabinfo gives them. */
static int find_book(const struct kmt_analysis_in *in, struct kmt_books *b, struct kmt_index *ix,
		     const char *cache, size_t *ret)
{
	const struct kmt_slab *start = slab_of(in->slabs_start, cache);
	const struct kmt_slab *end = slab_of(in->slabs_end, cache);
	struct query q = { .v = b->v, .cache = end ? end->name : start ? start->name : cache };
	uint64_t hash = kmt_hash_str(0, q.cache);
	int err;

	*ret = kmt_index_find(ix, hash, is_book, &q);
	if (*ret != KMT_INDEX_NONE)
		return 0;
	err = kmt_index_add(ix, hash, b->n);
	if (err)
		return err;
	*ret = b->n++;
	b->v[*ret] = (struct kmt_book){ .cache = q.cache, .start = start, .end = end };
	return 0;
}

static int gather(const struct kmt_analysis_in *in, struct kmt_books *b, struct kmt_index *ix)
{
	for (size_t i = 0; i < kmt_session_n_sites(in->session); i++) {
		const struct kmt_site *site = kmt_session_site(in->session, i);
		const struct kmt_counts *c = &site->counts;
		struct kmt_book *book;
		size_t at;
		int err = find_book(in, b, ix, site->key.cache, &at);

		if (err)
			return err;
		b->of[i] = at;
		book = &b->v[at];
		book->allocs = kmt_sat_add(book->allocs, c->allocs);
		book->frees = kmt_sat_add(book->frees, c->frees);
		book->untraced_frees = kmt_sat_add(book->untraced_frees, c->untraced_frees);
		book->untracked = kmt_sat_add(book->untracked, c->untracked);
		book->awaiting = kmt_sat_add(book->awaiting, c->awaiting);
		book->inferred |= site->key.cache_inferred;
	}
	return 0;
}

/* They have no rows, but their caches have books. */
static int gather_older(const struct kmt_analysis_in *in, struct kmt_books *b,
			struct kmt_index *ix)
{
	struct kmt_snap_older o;

	for (size_t i = 0; kmt_session_older_at(in->session, i, &o); i++) {
		size_t at;
		int err;

		if (!o.cache)
			b->older_unknown = o.frees;
		if (!o.cache || (!o.frees && !o.own_allocs))
			continue;
		err = find_book(in, b, ix, o.cache, &at);
		if (err)
			return err;
		b->v[at].older_frees = kmt_sat_add(b->v[at].older_frees, o.frees);
		b->v[at].own_allocs = kmt_sat_add(b->v[at].own_allocs, o.own_allocs);
		b->v[at].awaiting = kmt_sat_add(b->v[at].awaiting, o.given_up);
	}
	return 0;
}

static size_t how_many(const struct kmt_analysis_in *in)
{
	struct kmt_snap_older o;
	size_t n = 0;

	while (kmt_session_older_at(in->session, n, &o))
		n++;
	return n + kmt_session_n_sites(in->session);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/*
 * A guess by size says nothing where caches of that size come in several
 * kinds: randomised (kmalloc-rnd-01-64), of one purpose (msg_msg-64), merged.
 */
static bool is_shared_size(const struct kmt_slabs *slabs, const struct kmt_book *book)
{
	const char *size = strrchr(book->cache, '-');

	if (!size || (book->end && *book->end->aliases))
		return true;
	for (size_t i = 0; i < kmt_slabs_count(slabs); i++) {
		const char *name = kmt_slabs_at(slabs, i)->name;

		if (!strncmp(name, "kmalloc-rnd-", 12))
			return true;
		if (ends_with(name, size) && strncmp(name, "kmalloc-", 8) &&
		    strncmp(name, "dma-kmalloc-", 12))
			return true;
	}
	return false;
}

/* Why the two numbers cannot be compared whatever they are; NULL: they can. */
static const char *obstacle(const struct kmt_analysis_in *in, const struct kmt_quality *q,
			    const struct kmt_book *book)
{
	if (!kmt_session_has_objects(in->session))
		return "objects not tracked";
	if (in->filtered)
		return "filtered";
	if (q->sample_bytes)
		return "sampled";
	if (!book->cache)
		return "cache unknown";
	if (!in->slabs_start || !in->slabs_end)
		return "no slabinfo";
	if (!book->has_real)
		return "not in slabinfo";
	if (book->inferred && is_shared_size(in->slabs_end, book))
		return "cache inferred";
	return NULL;
}

static int64_t difference(uint64_t a, uint64_t b)
{
	uint64_t d = a > b ? a - b : b - a;

	if (d > INT64_MAX)
		d = INT64_MAX;
	return a > b ? (int64_t)d : -(int64_t)d;
}

/* A cache that is not in a list has no objects then, and nothing to be wrong about. */
static bool is_bounded(const struct kmt_slab *s)
{
	return !s || s->has_bounds;
}

static uint64_t over(const struct kmt_slab *s)
{
	return s ? s->over_most : 0;
}

static uint64_t under(const struct kmt_slab *s)
{
	return s ? s->under_most : 0;
}

static void weigh(struct kmt_book *book)
{
	uint32_t per_slab = book->end ? book->end->objs_per_slab :
			    book->start ? book->start->objs_per_slab : 0;
	uint64_t more, less;	/* by which the trace may exceed the kernel, and fall short */

	book->is_measured = is_bounded(book->start) && is_bounded(book->end);
	if (book->is_measured) {
		more = kmt_sat_add(over(book->start), under(book->end));
		less = kmt_sat_add(over(book->end), under(book->start));
	} else {
		more = less = kmt_books_tolerance(per_slab);
	}
	less = kmt_sat_add(less, book->awaiting);
	if (book->traced_net > book->real_net)
		book->tolerance = more;
	else if (book->traced_net < book->real_net)
		book->tolerance = less;
	else
		book->tolerance = more > less ? more : less;
	book->off = book->traced_net > book->real_net ?
		    (uint64_t)book->traced_net - (uint64_t)book->real_net :
		    (uint64_t)book->real_net - (uint64_t)book->traced_net;
}

/*
 * Events that are missing may be any cache's, and each is one object at most.
 * Books that balance do so whatever is missing: the kernel's number does not
 * depend on it. A difference may be what is missing up to as many objects, and
 * then says nothing; beyond that the books are off all the same. The same goes for
 * frees of older objects of an unknown cache, which only make the trace's number
 * too high.
 */
static const char *explanation(const struct kmt_quality *q, const struct kmt_book *book,
			       uint64_t older_unknown)
{
	uint64_t lost = kmt_sat_add(book->tolerance, kmt_books_lost(q));

	if (book->off <= book->tolerance)
		return NULL;
	if (book->untracked)
		return "object table full";
	if (q->lost_unknown || book->off <= lost)
		return "events were lost";
	if (book->traced_net > book->real_net && book->off <= kmt_sat_add(lost, older_unknown))
		return "older objects were freed";
	return NULL;
}

static void judge(const struct kmt_analysis_in *in, const struct kmt_quality *q,
		  uint64_t older_unknown, struct kmt_book *book)
{
	uint64_t gone = kmt_sat_add(kmt_sat_add(book->frees, book->untraced_frees),
				    book->older_frees);
	const char *why;

	book->traced_net = difference(kmt_sat_add(book->allocs, book->own_allocs), gone);
	/* a cache that is not in one of the two tables has no objects then */
	book->has_real = in->slabs_start && in->slabs_end && (book->start || book->end);
	if (book->has_real)
		book->real_net = difference(book->end ? book->end->active_objs : 0,
					    book->start ? book->start->active_objs : 0);
	weigh(book);
	why = obstacle(in, q, book);
	why = why ? why : explanation(q, book, older_unknown);
	if (why) {
		snprintf(book->text, sizeof(book->text), "not comparable (%s)", why);
		return;
	}
	book->verdict = book->off <= book->tolerance ? KMT_BOOK_BALANCED : KMT_BOOK_OFF;
	if (book->verdict == KMT_BOOK_BALANCED)
		snprintf(book->text, sizeof(book->text), "balanced");
	else
		snprintf(book->text, sizeof(book->text), "off by %s%" PRIu64,
			 book->traced_net < book->real_net ? "-" : "", book->off);
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

double kmt_books_agreement(int64_t traced, int64_t real)
{
	uint64_t a = magnitude(traced), b = magnitude(real), most = a > b ? a : b;

	if (!most)
		return 100;
	return (traced < 0) != (real < 0) ? 0 : 100.0 * (double)(a < b ? a : b) / (double)most;
}

int kmt_books_make(const struct kmt_analysis_in *in, struct kmt_books *ret)
{
	size_t n = kmt_session_n_sites(in->session);
	struct kmt_books b = { .v = calloc(how_many(in) + 1, sizeof(*b.v)),
			       .of = calloc(n + 1, sizeof(*b.of)) };
	struct kmt_index ix = { 0 };
	struct kmt_quality q;
	int err;

	if (!b.v || !b.of)
		err = kmt_err(-ENOMEM, "out of memory");
	else
		err = gather(in, &b, &ix);
	if (!err)
		err = gather_older(in, &b, &ix);
	kmt_index_done(&ix);
	if (err) {
		kmt_books_done(&b);
		return err;
	}
	kmt_session_quality(in->session, &q);
	for (size_t i = 0; i < b.n; i++)
		judge(in, &q, b.older_unknown, &b.v[i]);
	*ret = b;
	return 0;
}

static int64_t clamp(__int128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

static uint64_t active(const struct kmt_slab *s)
{
	return s ? s->active_objs : 0;
}

static const struct cell_key {
	const char *key;
	bool needs_objects, needs_real;
} cell_keys[] = {
	{ "balance.traced_net", true, false },
	{ "balance.real_net", false, true },
	{ "balance.difference", true, true },
	{ "balance.tolerance", true, true },
	{ "baseline_objects", false, true },
	{ "total_objects", true, true },
	{ "kernel_objects", false, true },
	{ "older_frees", true, false },
};

static const struct cell_key *cell_key(const char *key)
{
	for (size_t i = 0; i < sizeof(cell_keys) / sizeof(cell_keys[0]); i++)
		if (!strcmp(cell_keys[i].key, key))
			return &cell_keys[i];
	return NULL;
}

static bool is_of_slabs(const char *key)
{
	return !strcmp(key, "slab_bytes") || !strcmp(key, "utilisation_percent") ||
	       !strcmp(key, "reclaimable");
}

bool kmt_book_has_cell(const char *key)
{
	return cell_key(key) || is_of_slabs(key);
}

/* As of the last count: of the whole cache, whoever's objects these are, and since when. */
static int fill_slabs(const struct kmt_book *b, const char *key, struct kmt_cell *cell)
{
	uint64_t held;
	double used;

	if (!b->end)
		return 0;
	if (!strcmp(key, "reclaimable"))
		return kmt_cell_text(cell, b->end->reclaim == KMT_RECLAIM_YES ? "yes" :
				     b->end->reclaim == KMT_RECLAIM_NO ? "no" : NULL);
	if (!kmt_slab_held(b->end, &held))
		return 0;
	used = (double)b->end->active_objs * b->end->object_size;
	if (!strcmp(key, "slab_bytes"))
		kmt_cell_int(cell, clamp(held));
	else if (held)
		kmt_cell_percent(cell, 100.0 * used / (double)held);
	return 0;
}

int kmt_book_cell(const struct kmt_book *b, const char *key, bool has_objects,
		  struct kmt_cell *cell)
{
	const struct cell_key *k = cell_key(key);
	__int128 v;

	if (is_of_slabs(key))
		return fill_slabs(b, key, cell);
	if (!k || (k->needs_objects && !has_objects) || (k->needs_real && !b->has_real))
		return 0;
	if (!strcmp(key, "balance.traced_net"))
		v = b->traced_net;
	else if (!strcmp(key, "balance.real_net"))
		v = b->real_net;
	else if (!strcmp(key, "balance.difference"))
		v = (__int128)b->traced_net - b->real_net;
	else if (!strcmp(key, "balance.tolerance"))
		v = b->tolerance;
	else if (!strcmp(key, "baseline_objects"))
		v = active(b->start);
	else if (!strcmp(key, "total_objects"))
		v = (__int128)active(b->start) + b->traced_net;
	else if (!strcmp(key, "older_frees"))
		v = b->older_frees;
	else
		v = active(b->end);
	kmt_cell_int(cell, clamp(v));
	return 0;
}

void kmt_books_silent(const struct kmt_analysis_in *in, const char *cache, struct kmt_book *ret)
{
	struct kmt_quality q;

	kmt_session_quality(in->session, &q);
	*ret = (struct kmt_book){ .cache = cache, .start = slab_of(in->slabs_start, cache),
				  .end = slab_of(in->slabs_end, cache) };
	judge(in, &q, 0, ret);
}
