// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/boot_note.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/books.h"
#include "analysis/group.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "core/event.h"
#include "core/sat.h"
#include "core/session.h"
#include "report/report.h"
#include "symbol/slabs.h"

bool kmt_is_from_boot(const struct kmt_analysis_in *in)
{
	return in->slabs_end && in->slabs_start && kmt_slabs_none_active(in->slabs_start);
}

static uint64_t bytes_of(const struct kmt_slab *s)
{
	unsigned __int128 bytes = (unsigned __int128)s->active_objs * s->object_size;

	return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

/*
 * Given bytes that are live, by book: those of a cache never explain more than
 * it has, those of unknown caches all that is left. Whole pages are in no cache.
 */
static uint64_t explained(const struct kmt_analysis_in *in, const struct kmt_books *books,
			  const uint64_t *live, uint64_t total)
{
	uint64_t known = 0, unknown = 0;

	for (size_t i = 0; i < books->n; i++) {
		const struct kmt_book *b = &books->v[i];
		uint64_t most = b->end ? bytes_of(b->end) : 0;

		if (b->cache)
			known = kmt_sat_add(known, live[i] < most ? live[i] : most);
		else
			unknown = kmt_sat_add(unknown, live[i]);
	}
	known = known < total ? known : total;
	return unknown < total - known ? known + unknown : total;
}

int kmt_note_boot(const struct kmt_analysis_in *in, const struct kmt_books *books,
		  struct kmt_report *r)
{
	_cleanup_free_ uint64_t *live = calloc(books->n + 1, sizeof(*live));
	uint64_t total = 0, known;
	char all[KMT_FMT_LEN], part[KMT_FMT_LEN], percent[KMT_FMT_LEN];

	if (!live)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; i < kmt_session_n_sites(in->session); i++) {
		const struct kmt_site *site = kmt_session_site(in->session, i);
		uint64_t *to = &live[books->of[i]];

		if (site->key.type <= KMT_TYPE_CACHE)
			*to = kmt_sat_add(*to, kmt_counts_live_alloc(&site->counts));
	}
	for (size_t i = 0; i < kmt_slabs_count(in->slabs_end); i++)
		total = kmt_sat_add(total, bytes_of(kmt_slabs_at(in->slabs_end, i)));
	known = explained(in, books, live, total);
	if (!total || in->filtered)
		return 0;
	kmt_fmt_bytes(all, total > INT64_MAX ? INT64_MAX : (int64_t)total, false);
	kmt_fmt_bytes(part, known > INT64_MAX ? INT64_MAX : (int64_t)known, false);
	kmt_fmt_percent(percent, 100.0 * (double)known / (double)total);
	return kmt_report_note(r, "the recording begins with the boot: of the %s in objects that "
			       "slabinfo counts at its end the events explain %s (%s%%); what was "
			       "allocated before the first tracepoint, or fired no event, is in no row",
			       all, part, percent);
}
