// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every slab cache the kernel has: what the events say changed, what the kernel
 * says changed, and how much of the one the other explains.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/books.h"
#include "analysis/columns.h"
#include "analysis/names.h"
#include "analysis/summary.h"
#include "analysis/own_rows.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/session.h"
#include "symbol/slabs.h"

extern const struct kmt_analysis kmt_analysis_slabinfo;

#define _cleanup_books_ _cleanup_(kmt_books_done)

enum { MEMORY, OBJECTS, SIZE, TRACED, REAL, DIFFERENCE, EXPLAINED, VERDICT, OFF, REAL_BYTES, ALLOCS,
       UNTRACED, RCU, RCU_BYTES, TOLERANCE, OLDER, BASELINE, TOTAL, KERNEL, ALIASES, SLAB,
       UTILISATION, RECLAIMABLE, CACHE };

static const struct kmt_column columns[] = {
	[MEMORY]     = { "memory_bytes", "MEMORY", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[OBJECTS]    = { "active_objects", "OBJS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[SIZE]	     = { "object_size", "SIZE", KMT_UNIT_BYTES, KMT_SHOWN, false },
	[TRACED]     = { "balance.traced_net", "TRACED", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[REAL]	     = { "balance.real_net", "KERNEL", KMT_UNIT_COUNT, KMT_SHOWN, false },
	[DIFFERENCE] = { "balance.difference", "DIFF", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[EXPLAINED]  = { "explained_percent", "AGREE%", KMT_UNIT_PERCENT, KMT_SHOWN, false },
	[VERDICT]    = { "balance.verdict", "BOOKS", KMT_UNIT_TEXT, KMT_SHOWN, false },
	[OFF]	     = { "off_objects", "OFF", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[REAL_BYTES] = { "real_net_bytes", "KERNEL NET", KMT_UNIT_BYTES, KMT_HIDDEN, false },
	[ALLOCS]     = { "allocs", "ALLOCS", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[UNTRACED]   = KMT_COLUMN_UNTRACED(KMT_IF_ANY),
	[RCU]	     = KMT_COLUMN_RCU(KMT_IF_ANY),
	[RCU_BYTES]  = KMT_COLUMN_RCU_BYTES,
	[TOLERANCE]  = { "balance.tolerance", "TOLERANCE", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[OLDER]	     = { "older_frees", "OLDER", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[BASELINE]   = { "baseline_objects", "BASELINE", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[TOTAL]	     = { "total_objects", "TOTAL", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[KERNEL]     = { "kernel_objects", "AT END", KMT_UNIT_COUNT, KMT_HIDDEN, false },
	[ALIASES]    = { "aliases", "ALIASES", KMT_UNIT_LIST, KMT_HIDDEN, false },
	[SLAB]	     = KMT_COLUMN_SLAB_BYTES,
	[UTILISATION] = KMT_COLUMN_UTILISATION,
	[RECLAIMABLE] = KMT_COLUMN_RECLAIMABLE,
	[CACHE]	     = { "cache", "CACHE", KMT_UNIT_TEXT, KMT_SHOWN, true },
};

static int64_t clamp(__int128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

static int fill_nets(const struct kmt_book *b, bool has_objects, struct kmt_cell *cells)
{
	uint32_t size = b->end ? b->end->object_size : b->start ? b->start->object_size : 0;
	int err = 0;

	for (size_t i = 0; !err && i < KMT_N(columns); i++)
		if (kmt_book_has_cell(columns[i].key))
			err = kmt_book_cell(b, columns[i].key, has_objects, &cells[i]);
	if (err || !b->has_real)
		return err;
	kmt_cell_int(&cells[REAL_BYTES], clamp((__int128)b->real_net * size));
	if (!has_objects)
		return 0;
	kmt_cell_int(&cells[OFF], kmt_cell_value(b->off));
	kmt_cell_percent(&cells[EXPLAINED], kmt_books_agreement(b->traced_net, b->real_net));
	return 0;
}

/* Bytes are those of the kernel's objects: a book has no sizes of its own. */
static void fill_awaiting(const struct kmt_analysis_in *in, const struct kmt_book *b,
			  struct kmt_cell *cells)
{
	const struct kmt_slab *s = b->end ? b->end : b->start;

	if (!kmt_session_has_objects(in->session))
		return;
	kmt_cell_int(&cells[RCU], kmt_cell_value(b->awaiting));
	if (s || !b->awaiting)
		kmt_cell_int(&cells[RCU_BYTES],
			     s ? clamp((unsigned __int128)b->awaiting * s->object_size) : 0);
}

static int add_row(const struct kmt_analysis_in *in, const struct kmt_book *b,
		   struct kmt_report *r)
{
	const struct kmt_slab *s = b->end ? b->end : b->start;
	struct kmt_row *row = kmt_report_row(r);
	int err;

	if (!row)
		return -ENOMEM;
	if (s) {
		kmt_cell_int(&row->cells[MEMORY],
			     clamp((unsigned __int128)s->num_objs * s->object_size));
		kmt_cell_int(&row->cells[OBJECTS], kmt_cell_value(s->active_objs));
		kmt_cell_int(&row->cells[SIZE], s->object_size);
	}
	kmt_cell_int(&row->cells[ALLOCS], kmt_cell_value(b->allocs));
	kmt_cell_int(&row->cells[UNTRACED], kmt_cell_value(b->untraced_frees));
	fill_awaiting(in, b, row->cells);
	err = fill_nets(b, kmt_session_has_objects(in->session), row->cells);
	err = err ? err : kmt_cell_text(&row->cells[VERDICT], b->text);
	if (!err)
		err = kmt_cell_text(&row->cells[CACHE], b->cache);
	return err ? err : kmt_name_aliases(in, b->cache, &row->cells[ALIASES]);
}

static int by_name(const void *pa, const void *pb)
{
	return strcmp(*(const char *const *)pa, *(const char *const *)pb);
}

/* Names of the caches that the trace has, sorted; free() it. NULL: no memory. */
static const char **traced_names(const struct kmt_books *books, size_t *ret_n)
{
	const char **v = calloc(books->n + 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return NULL;
	for (size_t i = 0; i < books->n; i++)
		if (books->v[i].cache)
			v[n++] = books->v[i].cache;
	qsort(v, n, sizeof(*v), by_name);
	*ret_n = n;
	return v;
}

/*
 * Caches of the kernel's list without one event: their books can be off as well.
 * 'but' has those that were listed already.
 */
static int add_silent(const struct kmt_analysis_in *in, const struct kmt_slabs *slabs,
		      const struct kmt_slabs *but, const struct kmt_books *books,
		      struct kmt_report *r)
{
	size_t n = 0;
	_cleanup_free_ const char **traced = traced_names(books, &n);
	int err = traced ? 0 : kmt_err(-ENOMEM, "out of memory");

	for (size_t i = 0; !err && slabs && i < kmt_slabs_count(slabs); i++) {
		const char *name = kmt_slabs_at(slabs, i)->name;
		struct kmt_book b;

		if (bsearch(&name, traced, n, sizeof(*traced), by_name) ||
		    (but && kmt_slabs_find(but, name)))
			continue;
		kmt_books_silent(in, name, &b);
		err = add_row(in, &b, r);
	}
	return err;
}

static int add_rows(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	_cleanup_books_ struct kmt_books books = { 0 };
	int err = kmt_books_make(in, &books);

	for (size_t i = 0; i < books.n && !err; i++)
		err = add_row(in, &books.v[i], r);
	if (!err)
		err = add_silent(in, in->slabs_end, NULL, &books, r);
	if (!err)
		err = add_silent(in, in->slabs_start, in->slabs_end, &books, r);
	return err;
}

static int run(const struct kmt_analysis_in *in, struct kmt_report **ret_report)
{
	static const struct kmt_own_view view = {
		.name = "slabinfo", .columns = columns, .n_columns = KMT_N(columns),
		.sort = "off_objects", .add_rows = add_rows,
	};

	return kmt_own_rows_run(in, &view, ret_report);
}

const struct kmt_analysis kmt_analysis_slabinfo = {
	.name = "slabinfo",
	.help = "every slab cache: traced change against the kernel's own count",
	.needs = KMT_NEEDS_NO_KEY,
	.run = run,
};
