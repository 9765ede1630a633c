// SPDX-License-Identifier: GPL-2.0-only
#include "analysis/calltree.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/live_rows.h"
#include "analysis/names.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "core/sat.h"
#include "core/session.h"
#include "symbol/symbols.h"

/* A row's path: numbers of names, the root first. */
struct path {
	size_t *v;
	size_t n, cap;
};

void kmt_calltree_done(struct kmt_calltree *t)
{
	free(t->v);
	free(t->names);
	kmt_arena_done(&t->arena);
	kmt_index_done(&t->nodes);
	kmt_index_done(&t->by_name);
	*t = (struct kmt_calltree){ 0 };
}

/* Room for one more element; 'v' points to the array's pointer. */
static int make_room(void *v, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 64;
	void *p;

	if (n < *cap)
		return 0;
	memcpy(&p, v, sizeof(p));
	p = reallocarray(p, want, size);
	if (!p)
		return kmt_err(-ENOMEM, "out of memory");
	memcpy(v, &p, sizeof(p));
	*cap = want;
	return 0;
}

/* ---- names ------------------------------------------------------------------ */

struct name_query {
	const struct kmt_calltree *t;
	const char *name;
};

static bool is_name(const void *ctx, size_t i)
{
	const struct name_query *q = ctx;

	return !strcmp(q->t->names[i], q->name);
}

static int number_of(struct kmt_calltree *t, const char *name, size_t *ret)
{
	const struct name_query q = { .t = t, .name = name };
	uint64_t hash = kmt_hash_str(0, name);
	int err;

	*ret = kmt_index_find(&t->by_name, hash, is_name, &q);
	if (*ret != KMT_INDEX_NONE)
		return 0;
	err = make_room(&t->names, t->n_names, &t->cap_names, sizeof(*t->names));
	if (err)
		return err;
	t->names[t->n_names] = kmt_arena_str(&t->arena, name);
	if (!t->names[t->n_names])
		return kmt_err(-ENOMEM, "out of memory");
	err = kmt_index_add(&t->by_name, hash, t->n_names);
	if (err)
		return kmt_err(err, "out of memory");
	*ret = t->n_names++;
	return 0;
}

/* "func+0x1c [mod]" without the offset. */
static void put_function(struct kmt_buf *b, const char *name)
{
	size_t len = strcspn(name, "+");

	kmt_buf_add(b, name, len);
	kmt_buf_puts(b, name + len + strcspn(name + len, " "));
}

/* "func" or "func [mod]", of an address or of the source's own name. */
static int name_frame(const struct kmt_analysis_in *in, struct kmt_calltree *t, uint64_t addr,
		      const char *name, size_t *ret)
{
	_cleanup_buf_ struct kmt_buf full = { 0 }, b = { 0 };

	if (!name && addr)
		kmt_symbols_print(in->symbols, addr, true, &full);
	put_function(&b, name ? name : addr ? kmt_buf_str(&full) : "(unknown)");
	if (full.error || b.error)
		return kmt_err(-ENOMEM, "out of memory");
	return number_of(t, kmt_buf_str(&b), ret);
}

/* The name alone: what is after it is the module. */
static bool matches(const char *name, const char *pattern)
{
	char text[256];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(name, " "), name);
	return !fnmatch(pattern, text, 0);
}

/* ---- paths ------------------------------------------------------------------- */

static int add_step(struct path *p, size_t name)
{
	int err = make_room(&p->v, p->n, &p->cap, sizeof(*p->v));

	if (!err)
		p->v[p->n++] = name;
	return err;
}

/* From the allocating function outwards. */
static int read_frames(const struct kmt_analysis_in *in, struct kmt_calltree *t,
		       const struct kmt_site_key *key, struct path *p)
{
	size_t name;
	int err = 0;

	p->n = 0;
	for (uint32_t i = key->n_ips ? kmt_name_first_frame(in, key) : 0; i < key->n_ips; i++) {
		err = name_frame(in, t, key->ips[i], NULL, &name);
		if (!err)
			err = add_step(p, name);
		if (err)
			return err;
	}
	t->has_stacks |= p->n > 1;
	if (p->n)
		return 0;
	err = name_frame(in, t, key->call_site, key->call_site_name, &name);
	return err ? err : add_step(p, name);
}

static void turn(struct path *p)
{
	for (size_t i = 0; i < p->n / 2; i++) {
		size_t other = p->v[i];

		p->v[i] = p->v[p->n - 1 - i];
		p->v[p->n - 1 - i] = other;
	}
}

/* Drop what is before the first step that matches; everything, if none does. */
static void begin_at(const struct kmt_calltree *t, const char *pattern, struct path *p)
{
	size_t first = 0;

	while (first < p->n && !matches(t->names[p->v[first]], pattern))
		first++;
	p->n -= first;
	memmove(p->v, p->v + first, p->n * sizeof(*p->v));
}

/* "(slab)" before all steps. */
static int begin_with(struct kmt_calltree *t, const char *layer, struct path *p)
{
	char text[32];
	size_t name;
	int err;

	snprintf(text, sizeof(text), "(%s)", layer);
	err = number_of(t, text, &name);
	if (!err)
		err = add_step(p, name);
	if (err)
		return err;
	memmove(p->v + 1, p->v, (p->n - 1) * sizeof(*p->v));
	p->v[0] = name;
	return 0;
}

static int make_path(const struct kmt_analysis_in *in, struct kmt_calltree *t,
		     const struct kmt_site_key *key, struct path *p)
{
	int err = read_frames(in, t, key, p);

	if (err)
		return err;
	if (in->callers) {
		begin_at(t, in->callers, p);
		return 0;
	}
	if (!in->inverted)
		turn(p);
	if (in->callees)
		begin_at(t, in->callees, p);
	return 0;
}

/* ---- nodes -------------------------------------------------------------------- */

struct node_query {
	const struct kmt_calltree *t;
	size_t parent, name;
};

static bool is_node(const void *ctx, size_t i)
{
	const struct node_query *q = ctx;

	return q->t->v[i].parent == q->parent && q->t->v[i].name == q->name;
}

static int child_of(struct kmt_calltree *t, size_t parent, size_t name, unsigned layer, size_t *ret)
{
	const struct node_query q = { .t = t, .parent = parent, .name = name };
	uint64_t hash = kmt_hash_mix(kmt_hash_mix(0, parent), name);
	int err;

	*ret = kmt_index_find(&t->nodes, hash, is_node, &q);
	if (*ret != KMT_INDEX_NONE)
		return 0;
	err = make_room(&t->v, t->n, &t->cap, sizeof(*t->v));
	if (err)
		return err;
	err = kmt_index_add(&t->nodes, hash, t->n);
	if (err)
		return kmt_err(err, "out of memory");
	t->v[t->n] = (struct kmt_call_node){ .parent = parent, .name = name, .layer = layer };
	if (parent != KMT_CALLTREE_NONE) {
		t->v[t->n].depth = t->v[parent].depth + 1;
		t->v[parent].n_children++;
	}
	*ret = t->n++;
	return 0;
}

static void add_weights(struct kmt_call_node *to, const struct kmt_call_node *w)
{
	to->live_bytes = kmt_sat_add(to->live_bytes, w->live_bytes);
	to->live_objects = kmt_sat_add(to->live_objects, w->live_objects);
	to->allocs = kmt_sat_add(to->allocs, w->allocs);
	to->frees = kmt_sat_add(to->frees, w->frees);
	to->bytes_allocated = kmt_sat_add(to->bytes_allocated, w->bytes_allocated);
	to->temporary = kmt_sat_add(to->temporary, w->temporary);
	to->awaiting = kmt_sat_add(to->awaiting, w->awaiting);
	to->bytes_awaiting = kmt_sat_add(to->bytes_awaiting, w->bytes_awaiting);
	to->untraced_frees = kmt_sat_add(to->untraced_frees, w->untraced_frees);
}

static int add_site(const struct kmt_analysis_in *in, const struct kmt_site *site,
		    struct kmt_calltree *t, struct path *p, bool is_layered)
{
	unsigned layer = kmt_layer_of(&site->key);
	size_t at = KMT_CALLTREE_NONE;
	struct kmt_counts c;
	struct kmt_call_node w;
	int err = make_path(in, t, &site->key, p);

	if (!err && is_layered && p->n)
		err = begin_with(t, kmt_layer_text(layer), p);
	kmt_window_counts(in, site, &c);
	w = (struct kmt_call_node){
		.live_bytes = kmt_counts_live_alloc(&site->counts),
		.live_objects = kmt_counts_live(&site->counts),
		.allocs = c.allocs, .frees = c.frees, .bytes_allocated = c.bytes_alloc,
		.temporary = c.temporary, .untraced_frees = c.untraced_frees,
		.awaiting = site->counts.awaiting,
		.bytes_awaiting = site->counts.bytes_awaiting,
	};
	add_weights(&t->total[layer], &w);
	for (size_t i = 0; i < p->n && !err; i++) {
		err = child_of(t, at, p->v[i], layer, &at);
		if (!err)
			add_weights(&t->v[at], &w);
	}
	if (!err && at != KMT_CALLTREE_NONE)
		t->v[at].own_live_bytes = kmt_sat_add(t->v[at].own_live_bytes, w.live_bytes);
	return err;
}

int kmt_calltree_make(const struct kmt_analysis_in *in, struct kmt_calltree *ret)
{
	struct kmt_calltree t = { 0 };
	struct path p = { 0 };
	bool is_layered = kmt_count_layers(in->session) > 1;
	int err = 0;

	for (size_t i = 0; i < kmt_session_n_sites(in->session) && !err; i++)
		err = add_site(in, kmt_session_site(in->session, i), &t, &p, is_layered);
	free(p.v);
	if (err) {
		kmt_calltree_done(&t);
		return err;
	}
	*ret = t;
	return 0;
}
