// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/lists.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/group.h"
#include "analysis/names.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "core/sat.h"
#include "core/session.h"
#include "report/report.h"

static const struct kmt_site *member(const struct kmt_analysis_in *in,
				     const struct kmt_groups *groups, const struct kmt_group *g,
				     size_t i)
{
	return kmt_session_site(in->session, groups->members[g->start + i]);
}

int kmt_list_lifetimes(const struct kmt_group *g, struct kmt_cell *cell)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };

	for (int i = 0; i < KMT_LIFETIMES; i++)
		kmt_buf_printf(&b, "%s%" PRIu64, i ? "\n" : "", g->lifetimes[i]);
	return kmt_name_take(&b, cell);
}

struct size {
	uint64_t bytes, allocs;
};

static int compare_sizes(const void *pa, const void *pb)
{
	const struct size *a = pa, *b = pb;

	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

int kmt_list_sizes(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		   const struct kmt_group *g, struct kmt_cell *cell)
{
	_cleanup_free_ struct size *v = calloc(g->n + 1, sizeof(*v));
	_cleanup_buf_ struct kmt_buf b = { 0 };

	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; i < g->n; i++) {
		const struct kmt_site *site = member(in, groups, g, i);
		struct kmt_counts c;

		kmt_window_counts(in, site, &c);
		v[i] = (struct size){ .bytes = site->key.size, .allocs = c.allocs };
	}
	qsort(v, g->n, sizeof(*v), compare_sizes);
	for (size_t i = 0; i < g->n; i++) {
		if (v[i + 1].bytes == v[i].bytes && i + 1 < g->n)
			v[i + 1].allocs = kmt_sat_add(v[i + 1].allocs, v[i].allocs);
		else if (v[i].allocs)
			kmt_buf_printf(&b, "%s%" PRIu64 ":%" PRIu64, b.len ? "\n" : "",
				       v[i].bytes, v[i].allocs);
	}
	return b.len || b.error ? kmt_name_take(&b, cell) : 0;
}

/* Unknown caches first, all equal; then by name. */
static int compare_keys(const void *pa, const void *pb)
{
	const struct kmt_site_key *a = *(const struct kmt_site_key *const *)pa;
	const struct kmt_site_key *b = *(const struct kmt_site_key *const *)pb;
	int order;

	if (!a->cache || !b->cache)
		return (a->cache != NULL) - (b->cache != NULL);
	order = strcmp(a->cache, b->cache);
	return order ? order : (int)a->cache_inferred - (int)b->cache_inferred;
}

/* One key of each cache of the group, sorted; free() it. NULL = no memory. */
static const struct kmt_site_key **different_caches(const struct kmt_analysis_in *in,
						    const struct kmt_groups *groups,
						    const struct kmt_group *g, size_t *ret_n)
{
	const struct kmt_site_key **v = calloc(g->n + 1, sizeof(*v));
	size_t n = 0;

	if (!v)
		return NULL;
	for (size_t i = 0; i < g->n; i++)
		v[i] = &member(in, groups, g, i)->key;
	qsort(v, g->n, sizeof(*v), compare_keys);
	for (size_t i = 0; i < g->n; i++)
		if (!n || compare_keys(&v[n - 1], &v[i]))
			v[n++] = v[i];
	*ret_n = n;
	return v;
}

int kmt_list_caches(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		    const struct kmt_group *g, struct kmt_cell *cell)
{
	size_t n = 0;
	_cleanup_free_ const struct kmt_site_key **v = different_caches(in, groups, g, &n);
	_cleanup_buf_ struct kmt_buf b = { 0 };

	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (v[i]->cache)
			kmt_buf_printf(&b, "%s%s%s", b.len ? "\n" : "", v[i]->cache,
				       v[i]->cache_inferred ? " (inferred)" : "");
	return b.len || b.error ? kmt_name_take(&b, cell) : 0;
}

int kmt_list_n_caches(const struct kmt_analysis_in *in, const struct kmt_groups *groups,
		      const struct kmt_group *g, size_t *ret)
{
	_cleanup_free_ const struct kmt_site_key **v = different_caches(in, groups, g, ret);

	return v ? 0 : kmt_err(-ENOMEM, "out of memory");
}
