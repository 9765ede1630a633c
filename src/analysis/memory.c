// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/memory.h"

#include <errno.h>
#include <inttypes.h>

#include "analysis/analysis.h"
#include "analysis/books.h"
#include "base/fmt.h"
#include "core/quality.h"
#include "core/session.h"
#include "report/report.h"
#include "symbol/slabs.h"

static int64_t clamp(__int128 v)
{
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

/* What belongs to no row, by the size its cache has. */
static __int128 older(const struct kmt_analysis_in *in)
{
	struct kmt_snap_older o;
	__int128 sum = 0;

	for (size_t i = 0; kmt_session_older_at(in->session, i, &o); i++) {
		const struct kmt_slab *slab = NULL;

		if (o.cache)
			slab = kmt_slabs_find(in->slabs_end, o.cache);
		if (slab)
			sum += ((__int128)o.frees - o.own_allocs) * slab->object_size;
	}
	return sum;
}

/* Pages, percpu and vmalloc memory lie elsewhere or below: never added. */
static bool sum_up(const struct kmt_analysis_in *in, int64_t *ret)
{
	__int128 sum = 0;
	bool any = false;

	for (size_t i = 0; i < kmt_session_n_sites(in->session); i++) {
		const struct kmt_site *site = kmt_session_site(in->session, i);

		if (site->key.type > KMT_TYPE_CACHE)
			continue;
		any = true;
		sum += (__int128)site->counts.bytes_alloc - site->counts.bytes_alloc_freed;
	}
	sum -= older(in);
	*ret = clamp(sum);
	return any;
}

static __int128 total(const struct kmt_slabs_memory *m)
{
	return (__int128)m->reclaimable + m->unreclaimable;
}

static void signed_bytes(char out[KMT_FMT_LEN + 1], int64_t v)
{
	char text[KMT_FMT_LEN];

	snprintf(out, KMT_FMT_LEN + 1, "%c%s", v < 0 ? '-' : '+',
		 kmt_fmt_bytes(text, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, false));
}

static int add_note(int64_t change, int64_t traced, struct kmt_report *r)
{
	char a[KMT_FMT_LEN + 1], b[KMT_FMT_LEN + 1];

	signed_bytes(a, change);
	signed_bytes(b, traced);
	return kmt_report_note(r, "slab memory %s (SReclaimable and SUnreclaim), traced objects %s "
			       "(%.0f %%); the rest is free room in slabs and what fires no event", a, b,
			       kmt_books_agreement(traced, change));
}

int kmt_memory_fill(const struct kmt_analysis_in *in, struct kmt_report *r)
{
	const struct kmt_slabs_memory *start = kmt_slabs_memory(in->slabs_start);
	const struct kmt_slabs_memory *end = kmt_slabs_memory(in->slabs_end);
	struct kmt_fields *f = &r->summary;
	struct kmt_quality q;
	int64_t change, traced;

	kmt_session_quality(in->session, &q);
	if (!start || !end || in->filtered || q.sample_bytes ||
	    !kmt_session_has_objects(in->session) || !sum_up(in, &traced))
		return 0;
	change = clamp(total(end) - total(start));
	if (kmt_fields_int(f, "slab_memory_change_bytes", "slab memory", KMT_UNIT_BYTES, change) ||
	    kmt_fields_int(f, "slab_memory_traced_bytes", "traced of it", KMT_UNIT_BYTES,
			   traced) ||
	    kmt_fields_percent(f, "slab_memory_explained_percent", "explained",
			       kmt_books_agreement(traced, change)))
		return -ENOMEM;
	return add_note(change, traced, r);
}
