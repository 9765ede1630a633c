// SPDX-License-Identifier: GPL-2.0-only
#include "store/counted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/columns.h"
#include "store/dict.h"
#include "store/format.h"

#define SITES_OF_BLOCK	4096u
#define ROWS_OF_BLOCK	65536u

/* allocs to peak_bytes, in their order; what came later has columns of its own */
#define FIRST_COUNTS 14

enum {
	SITE_TYPE, SITE_FLAGS, SITE_CALL_SITE, SITE_NAME, SITE_STACK, SITE_TGID, SITE_COMM,
	SITE_CACHE, SITE_OBJECT_SIZE, SITE_SIZE, SITE_COUNTS,
	SITE_GFP = SITE_COUNTS + FIRST_COUNTS,
	SITE_INDEX,
	SITE_LATER_COUNTS,	/* read as zeros where a file of 0.1.0 has no such column */
	SITE_FIELDS = SITE_LATER_COUNTS + sizeof(struct kmt_counts) / sizeof(uint64_t) -
		      FIRST_COUNTS
};
_Static_assert(SITE_FIELDS == 29, "kmemtrace-file(5) has a row for each");
_Static_assert(KMT_COL_SITE + SITE_FIELDS <= KMT_COL_SITE_LIVES, "columns overlap");

/* of pages: migratetype + 1 in eight bits, 0 unknown */
enum { SITE_INFERRED = 1, SITE_BY_TASK = 2, SITE_BY_CGROUP = 4, SITE_MIGRATETYPE_SHIFT = 8 };
enum { OBJECT_ADDR, OBJECT_REQ, OBJECT_BIRTH, OBJECT_SITE, OBJECT_CPU, OBJECT_AWAITING,
       OBJECT_FIELDS };
enum { FREE_SITE, FREE_TYPE, FREE_FREES, FREE_FIELDS };
enum { OLDER_CACHE, OLDER_FREES, OLDER_OWN, OLDER_FIELDS };
enum { TOTAL_NOW, TOTAL_SITES, TOTAL_FREE_SITES, TOTAL_OBJECTS,
       TOTAL_OLDER,		/* 0 as in files of 0.1.0: not counted */
       TOTAL_FIELDS };

/* ---- writing ---- */

void kmt_counted_done(struct kmt_counted *c)
{
	free((void *)c->snap.sites);
	free((void *)c->snap.free_sites);
	free((void *)c->snap.older);
	kmt_arena_done(&c->arena);
	*c = (struct kmt_counted){ 0 };
}

static bool copy_str(struct kmt_arena *a, const char **s)
{
	if (*s)
		*s = kmt_arena_str(a, *s);
	return *s;
}

static bool copy_key(struct kmt_arena *a, struct kmt_site_key *key)
{
	if ((key->call_site_name && !copy_str(a, &key->call_site_name)) ||
	    (key->comm && !copy_str(a, &key->comm)) ||
	    (key->cache && !copy_str(a, &key->cache)) ||
	    (key->cgroup_path && !copy_str(a, &key->cgroup_path)))
		return false;
	if (key->ips && key->n_ips)
		key->ips = kmt_arena_copy(a, key->ips, key->n_ips * sizeof(*key->ips));
	return key->ips || !key->n_ips;
}

static void *copy_of(const void *v, size_t n, size_t size)
{
	void *copy = calloc(n ? n : 1, size);

	if (copy && n)
		memcpy(copy, v, n * size);
	return copy;
}

int kmt_counted_set(struct kmt_counted *c, const struct kmt_snapshot *snap)
{
	struct kmt_snap_site *sites;
	struct kmt_snap_older *older;
	bool is_ok;

	kmt_counted_done(c);
	sites = copy_of(snap->sites, snap->n_sites, sizeof(*sites));
	c->snap = *snap;
	c->snap.cpus = NULL;	/* are not kept */
	c->snap.n_cpus = 0;
	c->snap.sites = sites;
	c->snap.free_sites = copy_of(snap->free_sites, snap->n_free_sites,
				     sizeof(*snap->free_sites));
	older = copy_of(snap->older, snap->n_older, sizeof(*older));
	c->snap.older = older;
	is_ok = sites && c->snap.free_sites && older;
	for (size_t i = 0; is_ok && i < snap->n_older; i++)
		is_ok = !older[i].cache || copy_str(&c->arena, &older[i].cache);
	for (size_t i = 0; is_ok && i < snap->n_sites; i++)
		is_ok = copy_key(&c->arena, &sites[i].key);
	if (!is_ok) {
		kmt_counted_done(c);
		return kmt_err(-ENOMEM, "out of memory for the recording");
	}
	c->is_set = true;
	return 0;
}

/* What is gathered for one block. */
struct block {
	struct kmt_dict_rows rows;
	struct kmt_dict_strings strings;
	struct kmt_dict_stacks stacks;
	struct kmt_cols_out *cols;
	int (*put)(void *ctx, unsigned type, struct kmt_cols_out *cols);
	void *ctx;
	uint64_t n;		/* rows of all blocks so far */
};

static void block_done(struct block *b)
{
	kmt_dict_rows_done(&b->rows);
	kmt_dict_strings_done(&b->strings);
	kmt_dict_stacks_done(&b->stacks);
}

static int site_row(struct block *b, const struct kmt_snap_site *s)
{
	const struct kmt_site_key *key = &s->key;
	uint64_t row[SITE_FIELDS + KMT_LIFETIMES] = {
		[SITE_TYPE] = key->type,
		[SITE_FLAGS] = (key->cache_inferred ? SITE_INFERRED : 0) |
			       (key->by_task ? SITE_BY_TASK : 0) |
			       (key->by_cgroup ? SITE_BY_CGROUP : 0) |
			       (uint64_t)(key->type == KMT_TYPE_PAGES ?
					  (uint8_t)(key->migratetype + 1) : 0) <<
			       SITE_MIGRATETYPE_SHIFT,
		[SITE_CALL_SITE] = key->call_site,
		[SITE_TGID] = key->by_cgroup ? key->cgroup : key->tgid,
		[SITE_OBJECT_SIZE] = key->object_size,
		[SITE_SIZE] = key->size,
		[SITE_GFP] = s->gfp,
		[SITE_INDEX] = s->index,
	};
	int err;

	memcpy(&row[SITE_COUNTS], &s->counts, FIRST_COUNTS * sizeof(uint64_t));
	memcpy(&row[SITE_LATER_COUNTS], (const uint64_t *)&s->counts + FIRST_COUNTS,
	       sizeof(s->counts) - FIRST_COUNTS * sizeof(uint64_t));
	memcpy(&row[SITE_FIELDS], s->lifetimes, sizeof(s->lifetimes));
	err = kmt_dict_strings_get(&b->strings, key->call_site_name, &row[SITE_NAME]);
	if (!err)
		err = kmt_dict_strings_get(&b->strings, key->by_cgroup ? key->cgroup_path :
					   key->comm, &row[SITE_COMM]);
	if (!err)
		err = kmt_dict_strings_get(&b->strings, key->cache, &row[SITE_CACHE]);
	if (!err)
		err = kmt_dict_stacks_get(&b->stacks, key->ips, key->n_ips, &row[SITE_STACK]);
	return err ? err : kmt_dict_rows_add(&b->rows, row);
}

static int put_site_block(struct block *b)
{
	const struct kmt_dict_rows *rows = &b->rows;

	kmt_dict_strings_put(&b->strings, b->cols);
	kmt_dict_stacks_put(&b->stacks, b->cols);
	for (unsigned f = 0; f < rows->width && rows->n; f++)
		kmt_cols_put(b->cols, f < SITE_FIELDS ? KMT_COL_SITE + f :
			     KMT_COL_SITE_LIVES + f - SITE_FIELDS, rows->v + f, rows->n,
			     rows->width);
	kmt_dict_rows_clear(&b->rows);
	kmt_dict_strings_clear(&b->strings);
	kmt_dict_stacks_clear(&b->stacks);
	return b->put(b->ctx, KMT_BLOCK_COUNTED_SITES, b->cols);
}

static int put_sites(struct block *b, const struct kmt_snapshot *snap)
{
	int err = 0;

	b->rows.width = SITE_FIELDS + KMT_LIFETIMES;
	for (size_t i = 0; !err && i < snap->n_sites; i++) {
		err = site_row(b, &snap->sites[i]);
		if (!err && b->rows.n == SITES_OF_BLOCK)
			err = put_site_block(b);
	}
	return !err && b->rows.n ? put_site_block(b) : err;
}

static int put_rows(struct block *b, unsigned type, unsigned id)
{
	kmt_dict_rows_put(&b->rows, b->cols, id);
	kmt_dict_rows_clear(&b->rows);
	return b->put(b->ctx, type, b->cols);
}

static int put_free_sites(struct block *b, const struct kmt_snapshot *snap)
{
	int err = 0;

	kmt_dict_rows_done(&b->rows);
	b->rows.width = FREE_FIELDS;
	for (size_t i = 0; !err && i < snap->n_free_sites; i++) {
		const struct kmt_snap_free_site *s = &snap->free_sites[i];
		const uint64_t row[FREE_FIELDS] = { s->call_site, s->type, s->frees };

		err = kmt_dict_rows_add(&b->rows, row);
		if (!err && b->rows.n == ROWS_OF_BLOCK)
			err = put_rows(b, KMT_BLOCK_COUNTED_SITES, KMT_COL_FREE_SITE);
	}
	return !err && b->rows.n ? put_rows(b, KMT_BLOCK_COUNTED_SITES, KMT_COL_FREE_SITE) : err;
}

static int put_older(struct block *b, const struct kmt_snapshot *snap)
{
	int err = 0;

	kmt_dict_rows_done(&b->rows);
	b->rows.width = OLDER_FIELDS;
	/* as many as there are caches: one block has room for them */
	for (size_t i = 0; !err && i < snap->n_older && i < ROWS_OF_BLOCK; i++) {
		uint64_t row[OLDER_FIELDS] = { 0, snap->older[i].frees,
						snap->older[i].own_allocs };

		err = kmt_dict_strings_get(&b->strings, snap->older[i].cache, &row[OLDER_CACHE]);
		if (!err)
			err = kmt_dict_rows_add(&b->rows, row);
	}
	if (err || !b->rows.n)
		return err;
	kmt_dict_strings_put(&b->strings, b->cols);
	err = put_rows(b, KMT_BLOCK_COUNTED_SITES, KMT_COL_OLDER);
	kmt_dict_strings_clear(&b->strings);
	return err;
}

static int on_object(void *ctx, const struct kmt_snap_object *o)
{
	const uint64_t row[OBJECT_FIELDS] = { o->addr, o->bytes_req, o->birth_ns, o->site, o->cpu,
					       o->awaiting };
	struct block *b = ctx;
	int err = kmt_dict_rows_add(&b->rows, row);

	b->n++;
	return !err && b->rows.n == ROWS_OF_BLOCK ?
	       put_rows(b, KMT_BLOCK_COUNTED_OBJECTS, KMT_COL_OBJECT) : err;
}

static int put_objects(struct block *b, const struct kmt_snapshot *snap)
{
	int err = 0;

	kmt_dict_rows_done(&b->rows);
	b->rows.width = OBJECT_FIELDS;
	if (snap->each_object)
		err = snap->each_object(snap->objects_ctx, on_object, b);
	return !err && b->rows.n ? put_rows(b, KMT_BLOCK_COUNTED_OBJECTS, KMT_COL_OBJECT) : err;
}

int kmt_counted_put(const struct kmt_counted *c, struct kmt_cols_out *cols,
		    int (*put)(void *ctx, unsigned type, struct kmt_cols_out *cols), void *ctx)
{
	struct block b = { .cols = cols, .put = put, .ctx = ctx };
	uint64_t totals[TOTAL_FIELDS] = {
		[TOTAL_NOW] = c->snap.now_ns,
		[TOTAL_SITES] = c->snap.n_sites,
		[TOTAL_FREE_SITES] = c->snap.n_free_sites,
		[TOTAL_OLDER] = c->snap.has_older ? c->snap.n_older + 1 : 0,
	};
	int err = put_sites(&b, &c->snap);

	if (!err)
		err = put_free_sites(&b, &c->snap);
	if (!err)
		err = put_older(&b, &c->snap);
	if (!err)
		err = put_objects(&b, &c->snap);
	/* all bits set: there was no table of objects */
	totals[TOTAL_OBJECTS] = c->snap.each_object ? b.n : UINT64_MAX;
	for (unsigned f = 0; f < TOTAL_FIELDS; f++)
		kmt_cols_put(cols, KMT_COL_TOTALS + f, &totals[f], 1, 1);
	if (!err)
		err = put(ctx, KMT_BLOCK_COUNTED, cols);
	block_done(&b);
	return err;
}

/* ---- reading ---- */

#define MAX_SITES	(1u << 20)
#define MAX_OBJECTS	(16u << 20)	/* 512 MiB */
#define MAX_ARENA_ROWS	(1u << 20)

void kmt_counted_in_done(struct kmt_counted_in *in)
{
	free(in->sites);
	free(in->free_sites);
	free(in->objects);
	free(in->older);
	kmt_arena_done(&in->arena);
	*in = (struct kmt_counted_in){ 0 };
}

void kmt_counted_in_clear(struct kmt_counted_in *in)
{
	in->n_sites = in->n_free_sites = in->n_objects = in->n_older = 0;
	in->left_out = 0;
	kmt_arena_done(&in->arena);
}

static int bad(const char *what)
{
	return kmt_err(-EBADMSG, "%s", what);
}

/* How many of 'more' rows have room behind n; the array grows. */
static int make_room(struct kmt_counted_in *in, void *p, size_t n, size_t *cap, size_t size,
		     size_t max, size_t *more)
{
	size_t room = max - n, want;
	void **at = p, *v;

	if (*more > room) {
		in->left_out += *more - room;
		*more = room;
	}
	if (n + *more <= *cap)
		return 0;
	want = *cap * 2 > n + *more ? *cap * 2 : n + *more;
	v = reallocarray(*at, want, size);
	if (!v)
		return kmt_err(-ENOMEM, "out of memory for counted tables");
	*at = v;
	*cap = want;
	return 0;
}

static uint64_t value(const struct kmt_cols *cols, unsigned id, size_t row)
{
	const struct kmt_col *c = &cols->col[id];

	return row < c->n ? kmt_col_at(c, row) : 0;
}

/* Where string and stack number n begin: sums of the lengths before it. */
struct dicts {
	const struct kmt_cols *cols;
	const char **string;
	const uint64_t **stack;
	size_t n_strings, n_stacks;
};

static void dicts_done(struct dicts *d)
{
	free(d->string);
	free(d->stack);
}

static int take_strings(struct dicts *d, struct kmt_arena *a)
{
	const struct kmt_col *len = &d->cols->col[KMT_COL_STRING_LEN];
	const struct kmt_col *bytes = &d->cols->col[KMT_COL_STRING_BYTES];
	size_t at = 0;

	if (len->n > KMT_BLOCK_EVENTS || (bytes->n && (bytes->width != 1 || bytes->base)))
		return bad("its names are no bytes");
	d->string = calloc((size_t)len->n + 1, sizeof(*d->string));
	if (!d->string)
		return kmt_err(-ENOMEM, "out of memory");
	d->n_strings = (size_t)len->n + 1;
	for (size_t i = 0; i < len->n; i++) {
		uint64_t n = kmt_col_at(len, i);

		if (n > KMT_STRING_MAX || bytes->n - at <= n || bytes->plane[0][at + n])
			return bad("a name does not end");
		d->string[i + 1] = kmt_arena_copy(a, bytes->plane[0] + at, n + 1);
		if (!d->string[i + 1])
			return kmt_err(-ENOMEM, "out of memory");
		at += n + 1;
	}
	return 0;
}

static int take_stacks(struct dicts *d, struct kmt_arena *a)
{
	const struct kmt_col *len = &d->cols->col[KMT_COL_STACK_LEN];
	const struct kmt_col *ips = &d->cols->col[KMT_COL_STACK_IPS];
	size_t at = 0;
	uint64_t *v;

	if (len->n > KMT_BLOCK_EVENTS)
		return bad("it has too many stacks");
	v = kmt_arena_alloc(a, ((size_t)ips->n + 1) * sizeof(*v));
	d->stack = calloc((size_t)len->n + 1, sizeof(*d->stack));
	if (!v || !d->stack)
		return kmt_err(-ENOMEM, "out of memory");
	kmt_col_expand(ips, 0, ips->n, v);
	d->n_stacks = (size_t)len->n + 1;
	for (size_t i = 0; i < len->n; i++) {
		uint64_t n = kmt_col_at(len, i);

		if (n > KMT_STACK_MAX || n > ips->n - at)
			return bad("a stack does not end");
		d->stack[i + 1] = v + at;
		at += n;
	}
	return 0;
}

static int take_site(const struct dicts *d, size_t i, struct kmt_snap_site *s)
{
	uint64_t v[SITE_FIELDS], stack;

	for (unsigned f = 0; f < SITE_FIELDS; f++)
		v[f] = value(d->cols, KMT_COL_SITE + f, i);
	stack = v[SITE_STACK];
	if (v[SITE_NAME] >= d->n_strings || v[SITE_COMM] >= d->n_strings ||
	    v[SITE_CACHE] >= d->n_strings || stack >= d->n_stacks)
		return bad("a site names what is not there");
	*s = (struct kmt_snap_site){
		.key = {
			.type = (uint8_t)v[SITE_TYPE],
			.cache_inferred = v[SITE_FLAGS] & SITE_INFERRED,
			.by_task = v[SITE_FLAGS] & SITE_BY_TASK,
			.migratetype = v[SITE_TYPE] == KMT_TYPE_PAGES ?
				       (int8_t)((uint8_t)(v[SITE_FLAGS] >>
							  SITE_MIGRATETYPE_SHIFT) - 1) : 0,
			.call_site = v[SITE_CALL_SITE],
			.call_site_name = d->string[v[SITE_NAME]],
			.comm = d->string[v[SITE_COMM]],
			.cache = d->string[v[SITE_CACHE]],
			.ips = d->stack[stack],
			.n_ips = stack ? (uint32_t)value(d->cols, KMT_COL_STACK_LEN, stack - 1) : 0,
			.tgid = (uint32_t)v[SITE_TGID],
			.object_size = (uint32_t)v[SITE_OBJECT_SIZE],
			.size = (uint32_t)v[SITE_SIZE],
		},
		.gfp = v[SITE_GFP],
		.index = (uint32_t)v[SITE_INDEX],
	};
	if (v[SITE_FLAGS] & SITE_BY_CGROUP) {
		s->key.by_cgroup = true;
		s->key.cgroup = v[SITE_TGID];
		s->key.cgroup_path = d->string[v[SITE_COMM]];
		s->key.comm = NULL;
		s->key.tgid = 0;
	}
	memcpy(&s->counts, &v[SITE_COUNTS], FIRST_COUNTS * sizeof(uint64_t));
	memcpy((uint64_t *)&s->counts + FIRST_COUNTS, &v[SITE_LATER_COUNTS],
	       sizeof(s->counts) - FIRST_COUNTS * sizeof(uint64_t));
	for (unsigned k = 0; k < KMT_LIFETIMES; k++)
		s->lifetimes[k] = value(d->cols, KMT_COL_SITE_LIVES + k, i);
	return 0;
}

static int add_sites(struct kmt_counted_in *in, const struct kmt_cols *cols)
{
	struct dicts d = { .cols = cols };
	size_t n = cols->col[KMT_COL_SITE].n;
	int err;

	if (n > ROWS_OF_BLOCK)
		return bad("it has too many sites");
	err = make_room(in, &in->sites, in->n_sites, &in->cap_sites, sizeof(*in->sites),
			MAX_SITES, &n);
	if (!err && n)
		err = take_strings(&d, &in->arena);
	if (!err && n)
		err = take_stacks(&d, &in->arena);
	for (size_t i = 0; !err && i < n; i++) {
		err = take_site(&d, i, &in->sites[in->n_sites]);
		in->n_sites += !err;
	}
	dicts_done(&d);
	return err;
}

static int add_free_sites(struct kmt_counted_in *in, const struct kmt_cols *cols)
{
	size_t n = cols->col[KMT_COL_FREE_SITE].n;
	int err;

	if (n > ROWS_OF_BLOCK)
		return bad("it has too many sites");
	err = make_room(in, &in->free_sites, in->n_free_sites, &in->cap_free_sites,
			sizeof(*in->free_sites), MAX_SITES, &n);
	for (size_t i = 0; !err && i < n; i++)
		in->free_sites[in->n_free_sites++] = (struct kmt_snap_free_site){
			.call_site = value(cols, KMT_COL_FREE_SITE + FREE_SITE, i),
			.type = (uint8_t)value(cols, KMT_COL_FREE_SITE + FREE_TYPE, i),
			.frees = value(cols, KMT_COL_FREE_SITE + FREE_FREES, i),
		};
	return err;
}

static int add_older(struct kmt_counted_in *in, const struct kmt_cols *cols)
{
	struct dicts d = { .cols = cols };
	size_t n = cols->col[KMT_COL_OLDER].n;
	int err;

	if (n > ROWS_OF_BLOCK)
		return bad("it has too many caches");
	err = make_room(in, &in->older, in->n_older, &in->cap_older, sizeof(*in->older),
			MAX_SITES, &n);
	if (!err && n)
		err = take_strings(&d, &in->arena);
	for (size_t i = 0; !err && i < n; i++) {
		uint64_t cache = value(cols, KMT_COL_OLDER + OLDER_CACHE, i);

		if (cache >= d.n_strings)
			err = bad("a cache has no name there");
		else
			in->older[in->n_older++] = (struct kmt_snap_older){
				.cache = d.string[cache],
				.frees = value(cols, KMT_COL_OLDER + OLDER_FREES, i),
				.own_allocs = value(cols, KMT_COL_OLDER + OLDER_OWN, i),
			};
	}
	dicts_done(&d);
	return err;
}

static int add_objects(struct kmt_counted_in *in, const struct kmt_cols *cols)
{
	size_t n = cols->col[KMT_COL_OBJECT].n;
	int err;

	if (n > ROWS_OF_BLOCK)
		return bad("it has too many objects");
	err = make_room(in, &in->objects, in->n_objects, &in->cap_objects,
			sizeof(*in->objects), MAX_OBJECTS, &n);
	for (size_t i = 0; !err && i < n; i++)
		in->objects[in->n_objects++] = (struct kmt_snap_object){
			.addr = value(cols, KMT_COL_OBJECT + OBJECT_ADDR, i),
			.bytes_req = value(cols, KMT_COL_OBJECT + OBJECT_REQ, i),
			.birth_ns = value(cols, KMT_COL_OBJECT + OBJECT_BIRTH, i),
			.site = (uint32_t)value(cols, KMT_COL_OBJECT + OBJECT_SITE, i),
			.cpu = (uint32_t)value(cols, KMT_COL_OBJECT + OBJECT_CPU, i),
			.awaiting = value(cols, KMT_COL_OBJECT + OBJECT_AWAITING, i),
		};
	return err;
}

int kmt_counted_in_add(struct kmt_counted_in *in, const struct kmt_cols *cols)
{
	int err = add_sites(in, cols);

	if (!err)
		err = add_free_sites(in, cols);
	if (!err)
		err = add_older(in, cols);
	return err ? err : add_objects(in, cols);
}

static int each_object(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
		       void *cb_ctx)
{
	const struct kmt_counted_in *in = ctx;
	int stop = 0;

	for (size_t i = 0; !stop && i < in->n_objects; i++)
		stop = cb(cb_ctx, &in->objects[i]);
	return stop;
}

static uint64_t missing(uint64_t total, size_t have)
{
	return total > have ? total - have : 0;
}

int kmt_counted_in_end(struct kmt_counted_in *in, const struct kmt_cols *cols,
		       struct kmt_snapshot *ret, uint64_t *ret_missing)
{
	uint64_t objects = value(cols, KMT_COL_TOTALS + TOTAL_OBJECTS, 0);
	uint64_t older = value(cols, KMT_COL_TOTALS + TOTAL_OLDER, 0);

	for (unsigned f = 0; f < TOTAL_OLDER; f++)
		if (!cols->col[KMT_COL_TOTALS + f].n)
			return bad("the counted tables have no totals");
	*ret = (struct kmt_snapshot){
		.now_ns = value(cols, KMT_COL_TOTALS + TOTAL_NOW, 0),
		.sites = in->sites,
		.n_sites = in->n_sites,
		.free_sites = in->free_sites,
		.n_free_sites = in->n_free_sites,
		.older = in->older,
		.n_older = in->n_older,
		.has_older = older,
		.each_object = objects == UINT64_MAX ? NULL : each_object,
		.objects_ctx = in,
	};
	*ret_missing = missing(value(cols, KMT_COL_TOTALS + TOTAL_SITES, 0), in->n_sites) +
		       missing(value(cols, KMT_COL_TOTALS + TOTAL_FREE_SITES, 0), in->n_free_sites) +
		       missing(older ? older - 1 : 0, in->n_older);
	if (objects != UINT64_MAX)
		*ret_missing += missing(objects, in->n_objects);
	return 0;
}
