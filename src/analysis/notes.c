// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/books.h"
#include "analysis/boot_note.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/facts.h"
#include "core/quality.h"
#include "core/sat.h"
#include "core/session.h"
#include "report/report.h"

#define _cleanup_books_ _cleanup_(kmt_books_done)

#define NAMED 3		/* caches named in a sentence */

/* What losses make of the numbers: lower or upper bounds. */
static int note_losses(const struct kmt_quality *q, struct kmt_report *r)
{
	uint64_t gone = kmt_sat_add(q->lost[KMT_LOSS_RING], q->lost[KMT_LOSS_INPUT]);
	const struct {
		uint64_t n;
		const char *meaning;
	} sentences[] = {
		{ kmt_sat_add(gone, q->recursion_misses), "events were lost: counts are lower "
		  "bounds, and an object whose free was lost still counts as live" },
		{ q->lost[KMT_LOSS_BEGINNING], "part of the recording is missing, its beginning, "
		  "which was written over (record --ring): objects that are older than what is left "
		  "are not known as live" },
		{ q->lost[KMT_LOSS_SITES], "events came from call sites that the table had no room "
		  "for and are in no row" },
		{ q->lost[KMT_LOSS_OBJECTS], "allocations were not tracked because the object "
		  "table was full: live counts are lower bounds, allocations and bytes are complete" },
		{ q->lost[KMT_LOSS_STACKS], "events have no stack and stand under their call site "
		  "alone" },
		{ q->lost[KMT_LOSS_CACHES], "events have no cache name because the table of caches "
		  "was full" },
		{ q->unknown_tasks, "allocations were filtered out because nothing tells whose they "
		  "are: some may have been meant" },
	};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
		const char *least = q->lost_unknown && !i ? "at least " : "";

		if (sentences[i].n &&
		    kmt_report_note(r, "%s%" PRIu64 " %s", least, sentences[i].n,
				    sentences[i].meaning))
			return -ENOMEM;
	}
	return 0;
}

/* What a recording has instead of what was asked for. */
static int note_input(const struct kmt_analysis_in *in, const struct kmt_quality *q,
		      struct kmt_report *r)
{
	int err = 0;

	if (in->facts && in->facts->filters)
		err = kmt_report_note(r, "recorded with %s: what that left out is in no figure",
				      in->facts->filters);
	if (!err && *q->first_bad)
		err = kmt_report_note(r, "some input could not be read, first %s", q->first_bad);
	if (!err && q->hashed_addresses)
		err = kmt_report_note(r, "addresses of objects are hashes (%%p): the same for one "
				      "address until the next boot, so that frees find their "
				      "allocations, but they lie nowhere; the trace option "
				      "nohash-ptr records the addresses themselves");
	return err;
}

static int more_untraced(const void *pa, const void *pb)
{
	const struct kmt_book *a = *(const struct kmt_book *const *)pa;
	const struct kmt_book *b = *(const struct kmt_book *const *)pb;

	return (a->untraced_frees < b->untraced_frees) - (a->untraced_frees > b->untraced_frees);
}

static int further_off(const void *pa, const void *pb)
{
	const struct kmt_book *a = *(const struct kmt_book *const *)pa;
	const struct kmt_book *b = *(const struct kmt_book *const *)pb;

	return (a->off < b->off) - (a->off > b->off);
}

static const char *name_of(const struct kmt_book *b)
{
	return b->cache ? b->cache : "unknown cache";
}

static bool has_untraced(const struct kmt_book *b)
{
	return b->untraced_frees != 0;
}

static bool is_off(const struct kmt_book *b)
{
	return b->verdict == KMT_BOOK_OFF;
}

/* The first few books that 'is' accepts, in order: "maple_node (8641), dentry (3)". */
static int list_books(const struct kmt_books *books, bool (*is)(const struct kmt_book *b),
		      int (*order)(const void *a, const void *b), struct kmt_buf *out,
		      size_t *ret_n)
{
	_cleanup_free_ const struct kmt_book **v = calloc(books->n + 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; i < books->n; i++)
		if (is(&books->v[i]))
			v[n++] = &books->v[i];
	qsort(v, n, sizeof(*v), order);
	for (size_t i = 0; i < n && i < NAMED; i++) {
		kmt_buf_printf(out, "%s%s (", i ? ", " : "", name_of(v[i]));
		if (is == has_untraced)
			kmt_buf_printf(out, "%" PRIu64 ")", v[i]->untraced_frees);
		else
			kmt_buf_printf(out, "%s)", v[i]->text);
	}
	if (n > NAMED)
		kmt_buf_printf(out, " and %zu more", n - NAMED);
	*ret_n = n;
	return out->error ? kmt_err(out->error, "out of memory") : 0;
}

/* in_books: frees of older objects are in the books of their caches. */
static int note_books(const struct kmt_quality *q, const struct kmt_books *books, bool in_books,
		      bool from_boot, struct kmt_report *r)
{
	_cleanup_buf_ struct kmt_buf untraced = { 0 }, off = { 0 };
	size_t n;
	int err = list_books(books, has_untraced, more_untraced, &untraced, &n);

	if (!err && n)
		err = kmt_report_note(r, "objects were freed without an event, as their addresses "
				      "handed out again show: %s; others like them still count as "
				      "live", kmt_buf_str(&untraced));
	if (!err && from_boot)
		return 0;	/* what they lack is what came before the first event */
	if (!err)
		err = list_books(books, is_off, further_off, &off, &n);
	if (err || !n)
		return err;
	err = kmt_report_note(r, "the books of %zu cache%s do not balance with slabinfo, so live "
			      "counts there prove nothing: %s", n, n > 1 ? "s" : "",
			      kmt_buf_str(&off));
	if (!err && q->frees_before_start && !in_books)
		err = kmt_report_note(r, "%" PRIu64 " frees were of objects older than the trace: "
				      "where these lay, slabinfo falls and the trace does not",
				      q->frees_before_start);
	else if (!err && books->older_unknown)
		err = kmt_report_note(r, "%" PRIu64 " frees were of older objects of an unknown "
				      "cache: where these lay, slabinfo falls and the trace does not",
				      books->older_unknown);
	return err;
}

static int note_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	bool inferred = false, layers = false;
	const struct kmt_site_key *first = NULL;
	int err = 0;

	for (size_t i = 0; i < kmt_session_n_sites(in->session); i++) {
		const struct kmt_site_key *k = &kmt_session_site(in->session, i)->key;

		inferred |= k->cache_inferred;
		first = first ? first : k;
		layers |= (k->type > KMT_TYPE_CACHE) != (first->type > KMT_TYPE_CACHE) ||
			  (k->type > KMT_TYPE_CACHE && k->type != first->type);
	}
	if (inferred)
		err = kmt_report_note(r, "caches marked (inferred) are guesses from size and gfp "
				      "flags: the events do not name them");
	if (!err && layers)
		err = kmt_report_note(r, "the summary adds up layers that lie on each other: slab "
				      "objects lie in pages");
	if (!err && !kmt_session_has_objects(in->session))
		err = kmt_report_note(r, "live objects were not tracked: live counts, ages and "
				      "frees by allocating site are unknown");
	return err;
}

static bool same_cache(const struct kmt_site *a, const struct kmt_site *b)
{
	return a->key.cache && b->key.cache && !strcmp(a->key.cache, b->key.cache);
}

/* What a cache had when it was destroyed: one sentence for each cache. */
static int note_closed(const struct kmt_session *s, struct kmt_report *r)
{
	size_t n = kmt_session_n_sites(s);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const struct kmt_site *site = kmt_session_site(s, i);
		uint64_t closed = site->closed;
		bool is_first = closed;

		for (size_t k = 0; k < n && is_first; k++) {
			const struct kmt_site *other = kmt_session_site(s, k);

			if (k == i || !other->closed || !same_cache(site, other))
				continue;
			is_first = k > i;
			closed = kmt_sat_add(closed, other->closed);
		}
		if (is_first)
			err = kmt_report_note(r, "%" PRIu64 " object%s in the cache '%s' when it was "
					      "destroyed: not counted as live any more", closed,
					      closed == 1 ? " was" : "s were",
					      site->key.cache ? site->key.cache : "?");
	}
	return err;
}

int kmt_notes_fill(const struct kmt_analysis_in *in, const struct kmt_quality *q,
		   struct kmt_report *r)
{
	_cleanup_books_ struct kmt_books books = { 0 };
	int err = kmt_books_make(in, &books);

	if (!err)
		err = note_losses(q, r);
	if (!err)
		err = note_input(in, q, r);
	if (!err)
		err = note_books(q, &books, kmt_session_has_older(in->session),
				 kmt_is_from_boot(in), r);
	if (!err && kmt_is_from_boot(in))
		err = kmt_note_boot(in, &books, r);
	if (!err)
		err = note_closed(in->session, r);
	return err ? err : note_rows(in, r);
}
