// SPDX-License-Identifier: GPL-2.0-only
#include "source/tp_fields.h"

#include <byteswap.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

/*
 * The events, frees first so that whoever switches them on in this order sees
 * no allocation without its free.
 *
 * kmalloc_node and kmem_cache_alloc_node: Linux commits 11e9734bcb6a and
 * 2c1d697fb8ba (in v6.1) folded them into the plain events. mm_page_free was
 * mm_page_free_direct until 3.3; mm_page_free_batched comes in
 * addition to mm_page_free and is none of ours.
 */
#define EVENTS(OP)							\
	OP("kmem",    "kfree",			FREE,  KMALLOC)		\
	OP("kmem",    "kmem_cache_free",	FREE,  CACHE)		\
	OP("kmem",    "mm_page_free",		FREE,  PAGES)		\
	OP("kmem",    "mm_page_free_direct",	FREE,  PAGES)		\
	OP("percpu",  "percpu_free_percpu",	FREE,  PERCPU)		\
	OP("vmalloc", "free_vmap_area_noflush",	FREE,  VMALLOC)		\
	OP("kmem",    "kmalloc",		ALLOC, KMALLOC)		\
	OP("kmem",    "kmalloc_node",		ALLOC, KMALLOC)		\
	OP("kmem",    "kmem_cache_alloc",	ALLOC, CACHE)		\
	OP("kmem",    "kmem_cache_alloc_node",	ALLOC, CACHE)		\
	OP("kmem",    "mm_page_alloc",		ALLOC, PAGES)		\
	OP("percpu",  "percpu_alloc_percpu",	ALLOC, PERCPU)		\
	OP("percpu",  "percpu_alloc_percpu_fail", ALLOC, PERCPU)	\
	OP("vmalloc", "alloc_vmap_area",	ALLOC, VMALLOC)

static const struct event {
	const char *system, *name;
	enum kmt_op op;
	enum kmt_type type;
} events[] = {
#define ROW(system, name, op, type) { system, name, KMT_OP_##op, KMT_TYPE_##type },
	EVENTS(ROW)
#undef ROW
};
#define N_EVENTS (sizeof(events) / sizeof(events[0]))

const char *const kmt_tp_events[] = {
#define ROW(system, name, op, type) name,
	EVENTS(ROW)
#undef ROW
	NULL
};

/*
 * Field names. A role with several rows: the first that a format has is taken,
 * so a renamed field is one more row here with the commit that renamed it.
 */
static const struct alias {
	enum kmt_tp_role role;
	const char *name;
} aliases[] = {
	{ KMT_TP_SITE,	"call_site" },	/* ca2b84cb3c4a (v2.6.31); %lx became %pS in v5.4 */
	{ KMT_TP_PTR,	"ptr" },	/* ca2b84cb3c4a */
	{ KMT_TP_REQ,	"bytes_req" },	/* ca2b84cb3c4a; behind "name" since v6.18 */
	{ KMT_TP_ALLOC,	"bytes_alloc" },	/* ca2b84cb3c4a */
	{ KMT_TP_GFP,	"gfp_flags" },	/* ca2b84cb3c4a; gfp_t, fe573327ffb1 (v5.19): long */
	{ KMT_TP_NODE,	"node" },	/* in the _node events; 11e9734bcb6a (v6.1): in all */
	{ KMT_TP_PTR,	"addr" },	/* alloc_vmap_area */
	{ KMT_TP_PTR,	"va_start" },	/* free_vmap_area_noflush */
	{ KMT_TP_REQ,	"size" },	/* percpu_alloc_percpu, alloc_vmap_area */
	{ KMT_TP_FAILED, "failed" },	/* alloc_vmap_area */
	{ KMT_TP_PFN,	"pfn" },	/* mm_page_*, since 4.2 */
	{ KMT_TP_PAGE,	"page" },	/* before that */
	{ KMT_TP_ORDER,	"order" },
	{ KMT_TP_MIGRATE, "migratetype" },
	{ KMT_TP_NAME,	"name" },	/* 3544de8ee6e4 (v5.12): frees; v6.18: allocations */
};

static bool is_number(const struct kmt_tp_field *f)
{
	return !f->is_dynamic && (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
}

/* Offsets come from a file: keep every later sum far from wrapping. */
static bool is_sane(enum kmt_tp_role role, const struct kmt_tp_field *f)
{
	if (f->offset > UINT16_MAX || f->size > UINT16_MAX)
		return false;
	return role == KMT_TP_NAME ? f->is_dynamic && f->size == 4 : is_number(f);
}

static bool is_needed(const struct kmt_tp_layout *l, enum kmt_tp_role role)
{
	bool alloc = l->op == KMT_OP_ALLOC;

	switch (role) {
	case KMT_TP_SITE:
		return l->type <= KMT_TYPE_CACHE;
	case KMT_TP_PTR:
		return l->type != KMT_TYPE_PAGES && !l->no_address;
	case KMT_TP_REQ:
		return alloc && l->type != KMT_TYPE_PAGES;
	case KMT_TP_ALLOC:
		return alloc && l->type <= KMT_TYPE_CACHE;
	case KMT_TP_GFP:
		return alloc && l->type <= KMT_TYPE_PAGES;
	case KMT_TP_PFN:
		return l->type == KMT_TYPE_PAGES && !l->has[KMT_TP_PAGE];
	case KMT_TP_ORDER:
		return l->type == KMT_TYPE_PAGES;
	default:
		return false;
	}
}

static const struct kmt_tp_field *find(const struct kmt_tp_field *fields, size_t n,
				       const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static int bind_alias(const char *event, const struct alias *a, const struct kmt_tp_field *f,
		      struct kmt_tp_layout *l)
{
	if (!f || l->has[a->role])
		return 0;
	if (!is_sane(a->role, f)) {
		if (!is_needed(l, a->role))
			return 0;	/* another thing by the same name: do without */
		return kmt_err(-EPROTO, "event '%s': field '%s' has an unknown form", event,
			       a->name);
	}
	l->field[a->role] = *f;
	l->field[a->role].name = NULL;
	l->has[a->role] = true;
	return 0;
}

static const struct event *find_event(const char *name)
{
	for (size_t i = 0; i < N_EVENTS; i++)
		if (!strcmp(events[i].name, name))
			return &events[i];
	return NULL;
}

bool kmt_tp_kind(const char *name, size_t len, enum kmt_op *ret_op, uint8_t *ret_type)
{
	for (size_t i = 0; i < N_EVENTS; i++) {
		if (strlen(events[i].name) != len || memcmp(events[i].name, name, len))
			continue;
		*ret_op = events[i].op;
		*ret_type = events[i].type;
		return true;
	}
	return false;
}

int kmt_tp_bind(const char *event, const struct kmt_tp_field *fields, size_t n,
		struct kmt_tp_layout *ret)
{
	const struct event *known = find_event(event);
	struct kmt_tp_layout l = { 0 };

	if (!known)
		return kmt_err(-ENOENT, "event '%s' is no allocation or free", event);
	l.op = known->op;
	l.type = known->type;
	l.no_address = !strcmp(event, "percpu_alloc_percpu_fail");
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		int err = bind_alias(event, &aliases[i], find(fields, n, aliases[i].name), &l);

		if (err)
			return err;
	}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (is_needed(&l, aliases[i].role) && !l.has[aliases[i].role])
			return kmt_err(-EPROTO, "event '%s' has no field '%s'", event,
				       aliases[i].name);
	*ret = l;
	return 0;
}

const char *kmt_tp_system(const char *event)
{
	const struct event *known = find_event(event);

	return known ? known->system : NULL;
}

bool kmt_tp_has_site(const struct kmt_tp_layout *l)
{
	return l->has[KMT_TP_SITE];
}

uint64_t kmt_tp_number(const struct kmt_tp_field *f, bool swap, const void *data, size_t len)
{
	union {
		uint8_t b;
		uint16_t h;
		uint32_t w;
		uint64_t d;
	} v;

	if (!f->size || (size_t)f->offset + f->size > len)
		return 0;
	memcpy(&v, (const char *)data + f->offset, f->size);
	switch (f->size) {
	case 1:
		return f->is_signed ? (uint64_t)(int8_t)v.b : v.b;
	case 2:
		v.h = swap ? bswap_16(v.h) : v.h;
		return f->is_signed ? (uint64_t)(int16_t)v.h : v.h;
	case 4:
		v.w = swap ? bswap_32(v.w) : v.w;
		return f->is_signed ? (uint64_t)(int32_t)v.w : v.w;
	default:
		return swap ? bswap_64(v.d) : v.d;
	}
}

/* Length and place of a string: 16 bits each. NULL if it does not end within the record. */
static const char *get_string(const struct kmt_tp_field *f, bool swap, const char *data, size_t len)
{
	struct kmt_tp_field word = { .offset = f->offset, .size = 4 };
	uint32_t loc = kmt_tp_number(&word, swap, data, len);
	size_t at = (loc & 0xffff) + (f->is_relative ? f->offset + f->size : 0);
	size_t n = loc >> 16;

	if (!n || at + n > len || !memchr(data + at, '\0', n))
		return NULL;
	return data + at;
}

#define PAGE_STRUCT	64	/* bytes of a struct page where events still carried its address */
#define ORDER_MAX	40	/* more cannot be: the shift must be defined */

/* The frame's number; false: the allocation failed, which the kernel says with -1 or NULL. */
static bool get_pfn(const struct kmt_tp_layout *l, const uint64_t *v, uint64_t *ret)
{
	const struct kmt_tp_field *f = &l->field[KMT_TP_PFN];

	if (!l->has[KMT_TP_PFN]) {
		/* a number as good as any: neighbours in memory are neighbours in it */
		*ret = (v[KMT_TP_PAGE] & 0xffffffffffffULL) / PAGE_STRUCT;
		return v[KMT_TP_PAGE] != 0;
	}
	*ret = v[KMT_TP_PFN];
	return v[KMT_TP_PFN] != (f->size == 4 ? UINT32_MAX : UINT64_MAX);
}

static void finish_pages(const struct kmt_tp_layout *l, const uint64_t *v, struct kmt_event *ev)
{
	uint64_t page = l->page_size ? l->page_size : 4096, pfn;

	ev->addr = get_pfn(l, v, &pfn) ? pfn * page : 0;
	ev->order = v[KMT_TP_ORDER] <= ORDER_MAX ? (int8_t)v[KMT_TP_ORDER] : -1;
	if (ev->op == KMT_OP_FREE)
		return;
	ev->bytes_req = ev->bytes_alloc = ev->order < 0 ? 0 : page << ev->order;
	if (l->has[KMT_TP_MIGRATE] && v[KMT_TP_MIGRATE] <= INT8_MAX)
		ev->migratetype = (int8_t)v[KMT_TP_MIGRATE];
}

static void finish_percpu(const struct kmt_tp_layout *l, struct kmt_event *ev)
{
	if (l->no_address)
		ev->addr = 0;
	if (ev->op == KMT_OP_FREE)
		return;
	/* the event's size is one CPU's share; bytes_alloc came with f67bed134a05 (v5.19) */
	if (l->n_cpus)
		ev->bytes_req *= l->n_cpus;
	else if (l->has[KMT_TP_ALLOC])
		ev->bytes_req = ev->bytes_alloc;
	if (!l->has[KMT_TP_ALLOC])
		ev->bytes_alloc = ev->bytes_req;
}

static void finish_vmalloc(const uint64_t *v, struct kmt_event *ev)
{
	ev->bytes_alloc = ev->bytes_req;
	if (v[KMT_TP_FAILED])
		ev->addr = 0;
}

bool kmt_tp_is_complete(const struct kmt_tp_layout *l)
{
	for (unsigned role = 0; role < KMT_TP_ROLE_MAX; role++)
		if (is_needed(l, role) && !l->has[role])
			return false;
	return true;
}

void kmt_tp_fill(const struct kmt_tp_layout *l, const uint64_t v[KMT_TP_NAME],
		 struct kmt_event *ev)
{
	ev->op = l->op;
	ev->type = l->type;
	ev->call_site = v[KMT_TP_SITE];
	ev->addr = v[KMT_TP_PTR];
	ev->bytes_req = v[KMT_TP_REQ];
	ev->bytes_alloc = v[KMT_TP_ALLOC];
	ev->gfp = v[KMT_TP_GFP];
	ev->node = l->has[KMT_TP_NODE] ? (int16_t)v[KMT_TP_NODE] : -1;
	ev->order = ev->migratetype = -1;
	ev->cache = NULL;
	if (l->type == KMT_TYPE_PAGES)
		finish_pages(l, v, ev);
	else if (l->type == KMT_TYPE_PERCPU)
		finish_percpu(l, ev);
	else if (l->type == KMT_TYPE_VMALLOC)
		finish_vmalloc(v, ev);
}

int kmt_tp_decode(const struct kmt_tp_layout *l, const void *data, size_t len,
		  struct kmt_event *ev)
{
	uint64_t v[KMT_TP_NAME] = { 0 };

	for (unsigned i = 0; i < KMT_TP_NAME; i++) {
		if (!l->has[i])
			continue;
		if ((size_t)l->field[i].offset + l->field[i].size > len)
			return kmt_err(-EBADMSG, "a record of %zu bytes is too short", len);
		v[i] = kmt_tp_number(&l->field[i], l->swap, data, len);
	}
	kmt_tp_fill(l, v, ev);
	if (l->has[KMT_TP_NAME])
		ev->cache = get_string(&l->field[KMT_TP_NAME], l->swap, data, len);
	return 0;
}
