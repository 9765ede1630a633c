// SPDX-License-Identifier: GPL-2.0-only
#include "source/tp_fields.h"

#include <byteswap.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"

/*
 * The slab events, frees first so that whoever switches them on in this order
 * sees no allocation without its free.
 *
 * kmalloc_node and kmem_cache_alloc_node: Linux commits 11e9734bcb6a and
 * 2c1d697fb8ba (in v6.1) folded them into the plain events.
 */
static const struct event {
	const char *name;
	enum kmt_op op;
	enum kmt_type type;
} events[] = {
	{ "kfree",		   KMT_OP_FREE,	 KMT_TYPE_KMALLOC },
	{ "kmem_cache_free",	   KMT_OP_FREE,	 KMT_TYPE_CACHE },
	{ "kmalloc",		   KMT_OP_ALLOC, KMT_TYPE_KMALLOC },
	{ "kmalloc_node",	   KMT_OP_ALLOC, KMT_TYPE_KMALLOC },
	{ "kmem_cache_alloc",	   KMT_OP_ALLOC, KMT_TYPE_CACHE },
	{ "kmem_cache_alloc_node", KMT_OP_ALLOC, KMT_TYPE_CACHE },
};
#define N_EVENTS (sizeof(events) / sizeof(events[0]))

const char *const kmt_tp_events[] = {
	"kfree", "kmem_cache_free", "kmalloc", "kmalloc_node", "kmem_cache_alloc",
	"kmem_cache_alloc_node", NULL
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
	switch (role) {
	case KMT_TP_SITE:
	case KMT_TP_PTR:
		return true;
	case KMT_TP_REQ:
	case KMT_TP_ALLOC:
	case KMT_TP_GFP:
		return l->op == KMT_OP_ALLOC;
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
	ev->op = l->op;
	ev->type = l->type;
	ev->call_site = v[KMT_TP_SITE];
	ev->addr = v[KMT_TP_PTR];
	ev->bytes_req = v[KMT_TP_REQ];
	ev->bytes_alloc = v[KMT_TP_ALLOC];
	ev->gfp = v[KMT_TP_GFP];
	ev->node = l->has[KMT_TP_NODE] ? (int16_t)v[KMT_TP_NODE] : -1;
	ev->cache = l->has[KMT_TP_NAME] ?
		    get_string(&l->field[KMT_TP_NAME], l->swap, data, len) : NULL;
	return 0;
}
