// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "core/sat.h"
#include "report/report.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

#define BYTES	KMT_UNIT_BYTES
#define COUNT	KMT_UNIT_COUNT

/* What is compared: key in the reports, title, unit, shown. */
#define METRICS(M)								\
	M(live_bytes_allocated, "LIVE", BYTES, true)				\
	M(live_objects, "OBJS", COUNT, false)					\
	M(awaiting_rcu, "RCU", COUNT, false)					\
	M(bytes_awaiting_rcu, "RCU BYTES", BYTES, false)			\
	M(allocs, "ALLOCS", COUNT, false)					\
	M(frees, "FREES", COUNT, false)						\
	M(bytes_allocated, "GIVEN", BYTES, false)				\
	M(waste_bytes, "WASTE", BYTES, false)					\
	M(temporary, "TEMPORARY", COUNT, false)					\
	M(untraced_frees, "UNTRACED", COUNT, false)				\
	M(failures, "FAILED", COUNT, false)

enum metric {
#define M(key, title, unit, shown) METRIC_##key,
	METRICS(M)
#undef M
	N_METRICS
};

static const char *const metric_keys[] = {
#define M(key, title, unit, shown) #key,
	METRICS(M)
#undef M
};

/* Columns, in the order of the table below. */
enum {
	COL_SITE, COL_CACHE, COL_STACK, COL_STATUS, COL_PERCENT, COL_METRICS,
	COL_RATES = COL_METRICS + 3 * N_METRICS,	/* allocations, then live bytes per second */
	COL_DISTANCE = COL_RATES + 6,
	N_COLUMNS
};

#define M(key, title, unit, shown)						\
	{ #key "_delta", title " B-A", KMT_UNIT_##unit, HIDE_DELTA_##key, false },	\
	{ #key "_a", title " A", KMT_UNIT_##unit, !(shown), false },		\
	{ #key "_b", title " B", KMT_UNIT_##unit, !(shown), false },

#define HIDE_DELTA_live_bytes_allocated	false
#define HIDE_DELTA_live_objects		false
#define HIDE_DELTA_awaiting_rcu		KMT_IF_ANY
#define HIDE_DELTA_bytes_awaiting_rcu	true
#define HIDE_DELTA_frees		true
#define HIDE_DELTA_bytes_allocated	true
#define HIDE_DELTA_waste_bytes		true
#define HIDE_DELTA_temporary		true
#define HIDE_DELTA_untraced_frees	KMT_IF_ANY
#define HIDE_DELTA_failures		true

#define COLUMNS(by_cache_only) {						\
	{ "site", "SITE", KMT_UNIT_TEXT, (by_cache_only), !(by_cache_only) },	\
	{ "cache", "CACHE", KMT_UNIT_TEXT, !(by_cache_only), (by_cache_only) },	\
	{ "stack", "STACK", KMT_UNIT_LIST, true, false },			\
	{ "status", "STATUS", KMT_UNIT_TEXT, true, false },			\
	{ "live_percent", "%", KMT_UNIT_PERCENT, true, false },			\
	METRICS(M)								\
	RATE(allocs_per_s, "ALLOCS/S", COUNT_PER_S)				\
	RATE(growth_bytes_per_s, "GROWTH/S", BYTES_PER_S)			\
	{ "distance_bytes", "DISTANCE", KMT_UNIT_BYTES, true, false },		\
}

#define RATE(key, title, unit)							\
	{ #key "_delta", title " B-A", KMT_UNIT_##unit, HIDE_RATES, false },	\
	{ #key "_a", title " A", KMT_UNIT_##unit, true, false },		\
	{ #key "_b", title " B", KMT_UNIT_##unit, true, false },

/* Of windows of the same length the numbers compare, else what happens per second does. */
#define HIDE_DELTA_allocs false
#define HIDE_RATES true
static const struct kmt_column columns_site[] = COLUMNS(false);
static const struct kmt_column columns_cache[] = COLUMNS(true);
#undef HIDE_DELTA_allocs
#undef HIDE_RATES
#define HIDE_DELTA_allocs true
#define HIDE_RATES false
static const struct kmt_column rates_site[] = COLUMNS(false);
static const struct kmt_column rates_cache[] = COLUMNS(true);
_Static_assert(N(columns_site) == N_COLUMNS, "the enum above names the columns");

/* Rows of one name, on both sides. */
struct pair {
	char	*name;		/* what they are matched by */
	const struct kmt_row *first;
	const struct kmt_report *of;	/* the report 'first' is from */
	bool	 in[2];
	int64_t	 v[2][N_METRICS];
	bool	 known[2][N_METRICS];
};

struct pairs {
	struct pair *v;
	size_t n, cap;
	struct kmt_index index;
};

static void pairs_done(struct pairs *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].name);
	free(p->v);
	kmt_index_done(&p->index);
}

/* ---- names ---- */

static size_t suffix_len(const char *s)
{
	static const char *const suffixes[] = {
		".isra.", ".constprop.", ".part.", ".cold", ".llvm.", ".lto_priv.",
	};

	for (size_t i = 0; i < N(suffixes); i++) {
		size_t len = strlen(suffixes[i]);

		if (!strncmp(s, suffixes[i], len))
			return len + strspn(s + len, "0123456789");
	}
	return 0;
}

void kmt_diff_plain_name(const char *name, struct kmt_buf *out)
{
	while (*name) {
		size_t len = *name == '.' ? suffix_len(name) : 0;

		if (!strncmp(name, "+0x", 3))
			len = 3 + strspn(name + 3, "0123456789abcdef");
		if (!len) {
			kmt_buf_add(out, name, 1);
			len = 1;
		}
		name += len;
	}
}

static const char *text_of(const struct kmt_report *r, const struct kmt_row *row, const char *key)
{
	int c = kmt_report_column(r, key);

	return c >= 0 && !row->cells[c].is_null ? row->cells[c].text : NULL;
}

/* "kmalloc-64 (inferred)" is kmalloc-64: another source may know it for certain. */
static void plain_cache(const char *name, struct kmt_buf *out)
{
	const char *guess = strstr(name, " (inferred)");

	kmt_buf_add(out, name, guess ? (size_t)(guess - name) : strlen(name));
}

static void name_of(const struct kmt_report *r, const struct kmt_row *row, unsigned by,
		    struct kmt_buf *out)
{
	const char *site = text_of(r, row, "site"), *cache = text_of(r, row, "cache");
	const char *stack = by & KMT_DIFF_STACK ? text_of(r, row, "stack") : NULL;

	if (stack)
		kmt_diff_plain_name(stack, out);
	else if (by & (KMT_DIFF_SITE | KMT_DIFF_STACK))
		kmt_diff_plain_name(site ? site : "?", out);
	kmt_buf_add(out, "\t", 1);
	if (by & KMT_DIFF_CACHE)
		plain_cache(cache ? cache : "?", out);
}

/* ---- matching ---- */

struct query {
	const struct pairs *p;
	const char *name;
};

static bool is_pair(const void *ctx, size_t i)
{
	const struct query *q = ctx;

	return !strcmp(q->p->v[i].name, q->name);
}

static struct pair *pair_of(struct pairs *p, const char *name)
{
	uint64_t hash = kmt_hash_str(0, name);
	size_t i = kmt_index_find(&p->index, hash, is_pair, &(struct query){ p, name });

	if (i != KMT_INDEX_NONE)
		return &p->v[i];
	if (p->n == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 64;
		struct pair *v = reallocarray(p->v, cap, sizeof(*v));

		if (!v)
			return NULL;
		p->v = v;
		p->cap = cap;
	}
	p->v[p->n] = (struct pair){ .name = strdup(name) };
	if (!p->v[p->n].name)
		return NULL;
	p->n++;
	return kmt_index_add(&p->index, hash, p->n - 1) ? NULL : &p->v[p->n - 1];
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t sub(int64_t a, int64_t b)
{
	int64_t diff;

	return __builtin_sub_overflow(a, b, &diff) ? (b < 0 ? INT64_MAX : INT64_MIN) : diff;
}

static int take_row(struct pairs *p, const struct kmt_report *r, const struct kmt_row *row,
		    unsigned by, int side)
{
	_cleanup_buf_ struct kmt_buf name = { 0 };
	struct pair *pair;

	name_of(r, row, by, &name);
	pair = name.error ? NULL : pair_of(p, kmt_buf_str(&name));
	if (!pair)
		return kmt_err(-ENOMEM, "out of memory");
	if (!pair->first) {
		pair->first = row;
		pair->of = r;
	}
	pair->in[side] = true;
	for (size_t m = 0; m < N_METRICS; m++) {
		int c = kmt_report_column(r, metric_keys[m]);

		if (c < 0 || row->cells[c].is_null)
			continue;
		pair->v[side][m] = add(pair->v[side][m], row->cells[c].i);
		pair->known[side][m] = true;
	}
	return 0;
}

static int take_report(struct pairs *p, const struct kmt_report *r, unsigned by, int side)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->n_rows; i++)
		err = take_row(p, r, &r->rows[i], by, side);
	return err;
}

/* ---- the report ---- */

/* Where a row is missing, nothing was allocated: that is 0, not unknown. */
static bool value_of(const struct pair *p, int side, size_t m, int64_t *ret)
{
	*ret = p->v[side][m];
	return p->known[side][m] || (!p->in[side] && p->known[!side][m]);
}

static void fill_three(struct kmt_cell *cells, bool known_a, int64_t a, bool known_b, int64_t b)
{
	if (known_a && known_b)
		kmt_cell_int(&cells[0], sub(b, a));
	if (known_a)
		kmt_cell_int(&cells[1], a);
	if (known_b)
		kmt_cell_int(&cells[2], b);
}

static int64_t per_second(int64_t v, uint64_t window_ns)
{
	__int128 rate = (__int128)v * 1000000000 / (__int128)window_ns;

	return rate > INT64_MAX ? INT64_MAX : rate < INT64_MIN ? INT64_MIN : (int64_t)rate;
}

static void fill_rate(struct kmt_cell *cells, const struct pair *p, size_t m,
		      const uint64_t window_ns[2])
{
	int64_t v[2];
	bool known[2];

	for (int side = 0; side < 2; side++) {
		known[side] = value_of(p, side, m, &v[side]) && window_ns[side];
		if (known[side])
			v[side] = per_second(v[side], window_ns[side]);
	}
	fill_three(cells, known[0], v[0], known[1], v[1]);
}

static const char *status_of(const struct pair *p)
{
	if (!p->in[0])
		return "new";
	if (!p->in[1])
		return "gone";
	return memcmp(p->v[0], p->v[1], sizeof(p->v[0])) ? "changed" : "same";
}

static int fill_names(struct kmt_row *row, const struct pair *p, unsigned by)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };
	const char *tab = strchr(p->name, '\t');
	const char *stack = by & KMT_DIFF_STACK ? text_of(p->of, p->first, "stack") : NULL;
	const char *site = text_of(p->of, p->first, "site");
	int err = 0;

	if (by & (KMT_DIFF_SITE | KMT_DIFF_STACK)) {
		kmt_diff_plain_name(site ? site : "?", &b);
		err = kmt_cell_text(&row->cells[COL_SITE], kmt_buf_str(&b));
	}
	if (!err && (by & KMT_DIFF_CACHE))
		err = kmt_cell_text(&row->cells[COL_CACHE], tab + 1);
	if (err || !stack)
		return err;
	kmt_buf_clear(&b);
	kmt_diff_plain_name(stack, &b);
	err = kmt_cell_text(&row->cells[COL_STACK], kmt_buf_str(&b));
	for (const char *line = kmt_buf_str(&b); !err && *line;) {
		size_t len = strcspn(line, "\n");
		_cleanup_free_ char *frame = strndup(line, len);

		err = frame ? kmt_row_detail(row, frame) : -ENOMEM;
		line += len + (line[len] == '\n');
	}
	return err;
}

static int fill_row(struct kmt_report *r, const struct pair *p, unsigned by,
		    const uint64_t window_ns[2])
{
	struct kmt_row *row = kmt_report_row(r);
	int64_t a, b;

	if (!row || fill_names(row, p, by) ||
	    kmt_cell_text(&row->cells[COL_STATUS], status_of(p)))
		return -ENOMEM;
	for (size_t m = 0; m < N_METRICS; m++) {
		bool known_a = value_of(p, 0, m, &a), known_b = value_of(p, 1, m, &b);

		fill_three(&row->cells[COL_METRICS + 3 * m], known_a, a, known_b, b);
	}
	fill_rate(&row->cells[COL_RATES], p, METRIC_allocs, window_ns);
	fill_rate(&row->cells[COL_RATES + 3], p, METRIC_live_bytes_allocated, window_ns);
	if (!value_of(p, 0, METRIC_live_bytes_allocated, &a) ||
	    !value_of(p, 1, METRIC_live_bytes_allocated, &b))
		return 0;
	if (a)
		kmt_cell_percent(&row->cells[COL_PERCENT],
				 100.0 * ((double)b - (double)a) / (double)a);
	b = sub(b, a);
	kmt_cell_int(&row->cells[COL_DISTANCE], b < 0 ? sub(0, b) : b);
	return 0;
}

/* ---- summary and quality: of both ---- */

struct both {
	const char *key, *key_a, *title_a, *key_b, *title_b;
};

#define BOTH(key, title) { #key, #key "_a", "A: " title, #key "_b", "B: " title }

static const struct both summary_fields[] = {
	BOTH(events, "events"), BOTH(allocs, "allocations"), BOTH(frees, "frees"),
	BOTH(live_objects, "live objects"), BOTH(live_bytes_allocated, "live, given"),
	BOTH(awaiting_rcu, "awaiting RCU"), BOTH(bytes_awaiting_rcu, "awaiting RCU, given"),
	BOTH(growth_bytes_per_s, "growth"), BOTH(peak_bytes_allocated, "peak, given"),
	BOTH(waste_bytes, "waste"), BOTH(failures, "failures"),
};

static const struct both quality_fields[] = {
	BOTH(source, "source"), BOTH(mode, "mode"), BOTH(kernel, "kernel"),
	BOTH(window_ns, "window"), BOTH(events, "events"), BOTH(lost_total, "lost, all reasons"),
	BOTH(lost_ring, "lost, ring full"), BOTH(lost_sites, "lost, site table full"),
	BOTH(lost_objects, "lost, object table full"), BOTH(lost_stacks, "lost stacks"),
	BOTH(lost_caches, "lost, cache table full"), BOTH(lost_input, "gaps in the input"),
	BOTH(lost_beginning, "beginning, written over"),
	BOTH(lost_unknown, "losses of unknown size"),
#define QUALITY_COUNT(field, title, text, how) BOTH(field, text),
#include "core/quality.def"
#undef QUALITY_COUNT
	BOTH(sample_bytes, "bytes between samples"),
};

static int copy_both(struct kmt_fields *to, const struct both *list, size_t n,
		     const struct kmt_fields *a, const struct kmt_fields *b)
{
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		const struct kmt_field *fa = kmt_fields_find(a, list[i].key);
		const struct kmt_field *fb = kmt_fields_find(b, list[i].key);

		if (fa)
			err = kmt_fields_copy(to, fa, list[i].key_a, list[i].title_a);
		if (!err && fb)
			err = kmt_fields_copy(to, fb, list[i].key_b, list[i].title_b);
	}
	return err;
}

/* What every output says of every report: here of both together. */
static int add_sums(struct kmt_fields *to, const struct kmt_fields *a, const struct kmt_fields *b)
{
	static const struct { const char *key, *title; } sums[] = {
		{ "lost_total", "lost in both" },
		{ "recursion_misses", "skipped by the kernel in both" },
		{ "frees_before_start", "frees of older objects in both" },
		{ "untraced_frees", "untraced frees in both" },
		{ "given_up_before_start", "older objects given up to RCU in both" },
	};
	int err = 0;

	for (size_t i = 0; !err && i < N(sums); i++) {
		const struct kmt_field *fa = kmt_fields_find(a, sums[i].key);
		const struct kmt_field *fb = kmt_fields_find(b, sums[i].key);
		int64_t sum = add(fa ? fa->cell.i : 0, fb ? fb->cell.i : 0);

		err = kmt_fields_int(to, sums[i].key, sums[i].title, COUNT, sum);
		if (!err)
			to->v[to->n - 1].alarm = (fa && fa->alarm) || (fb && fb->alarm);
	}
	return err;
}

static int copy_notes(struct kmt_report *to, const struct kmt_report *from, char side)
{
	int err = 0;

	for (size_t i = 0; !err && i < from->n_notes; i++)
		err = kmt_report_note(to, "%c: %s", side, from->notes[i]);
	return err;
}

static int add_window(struct kmt_fields *f, const char *key, const char *title, uint64_t ns)
{
	int err = kmt_fields_int(f, key, title, KMT_UNIT_NS, (int64_t)ns);

	if (!err)
		f->v[f->n - 1].cell.is_null = !ns;
	return err;
}

static int fill_head(struct kmt_report *r, const struct kmt_report *a, const struct kmt_report *b)
{
	int err = add_window(&r->summary, "window_a_ns", "A: window", a->window_ns);

	if (!err)
		err = add_window(&r->summary, "window_b_ns", "B: window", b->window_ns);
	if (!err)
		err = copy_both(&r->summary, summary_fields, N(summary_fields), &a->summary,
				&b->summary);
	if (!err)
		err = add_sums(&r->quality, &a->quality, &b->quality);
	if (!err)
		err = copy_both(&r->quality, quality_fields, N(quality_fields), &a->quality,
				&b->quality);
	if (!err)
		err = copy_notes(r, a, 'A');
	return err ? err : copy_notes(r, b, 'B');
}

/* By more than one part in a hundred. */
static bool lengths_differ(uint64_t a, uint64_t b)
{
	uint64_t more = a > b ? a : b, less = a > b ? b : a;

	return more - less > more / 100;
}

static const char *view_of(unsigned by)
{
	if (by & KMT_DIFF_STACK)
		return "stack";
	if (by == (KMT_DIFF_SITE | KMT_DIFF_CACHE))
		return "site,cache";
	return by & KMT_DIFF_CACHE ? "cache" : "site";
}

static int make(const struct kmt_report *a, const struct kmt_report *b, const struct pairs *p,
		unsigned by, struct kmt_report *r)
{
	const uint64_t window_ns[2] = { a->window_ns, b->window_ns };
	int err = fill_head(r, a, b);

	for (size_t i = 0; !err && i < p->n; i++)
		err = fill_row(r, &p->v[i], by, window_ns);
	r->window_ns = b->window_ns;
	return err ? err : kmt_report_sort(r, "distance_bytes");
}

int kmt_diff_run(const struct kmt_report *a, const struct kmt_report *b, unsigned by,
		 struct kmt_report **ret_report)
{
	bool rates = lengths_differ(a->window_ns, b->window_ns), cache = by == KMT_DIFF_CACHE;
	const struct kmt_column *columns = rates ? (cache ? rates_cache : rates_site) :
						   (cache ? columns_cache : columns_site);
	_cleanup_(pairs_done) struct pairs p = { 0 };
	struct kmt_report *r;
	int err = kmt_report_new("diff", view_of(by), columns, N_COLUMNS, &r);

	if (err)
		return err;
	err = take_report(&p, a, by, 0);
	if (!err)
		err = take_report(&p, b, by, 1);
	if (!err)
		err = make(a, b, &p, by, r);
	if (err) {
		kmt_report_free(r);
		return err;
	}
	*ret_report = r;
	return 0;
}
