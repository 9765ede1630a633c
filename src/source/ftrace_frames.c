// SPDX-License-Identifier: GPL-2.0-only
#include "source/ftrace_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "symbol/symbols.h"

/*
 * Made-up addresses: no architecture has anything there. Each function has a
 * step, in its upper half the places whose offset is not known.
 */
#define BASE		0x0100000000000000ULL
#define STEP		(1ULL << 24)
#define UNKNOWN		(STEP / 2)
#define MAX_FUNCS	(1U << 16)

struct kmt_ftrace_func {
	const char *func, *module;
};

int kmt_ftrace_frames_init(struct kmt_ftrace_frames *f, const struct kmt_symbols *given)
{
	*f = (struct kmt_ftrace_frames){ .given = given };
	return kmt_symbols_new(&f->symbols);
}

void kmt_ftrace_frames_done(struct kmt_ftrace_frames *f)
{
	kmt_symbols_free(f->symbols);
	kmt_index_done(&f->index);
	kmt_arena_done(&f->names);
	free(f->v);
	*f = (struct kmt_ftrace_frames){ 0 };
}

struct query {
	const struct kmt_ftrace_func *v;
	const struct kmt_symbol_text *name;
};

static bool is_func(const void *ctx, size_t i)
{
	const struct query *q = ctx;

	return !strcmp(q->v[i].func, q->name->func) && !strcmp(q->v[i].module, q->name->module);
}

static int add_func(struct kmt_ftrace_frames *f, const struct kmt_symbol_text *name, uint64_t hash)
{
	struct kmt_ftrace_func new;

	if (f->n == MAX_FUNCS)
		return -ENOSPC;
	if (f->n == f->cap) {
		size_t cap = f->cap ? f->cap * 2 : 256;
		struct kmt_ftrace_func *v = reallocarray(f->v, cap, sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory for stacks");
		f->v = v;
		f->cap = cap;
	}
	new.func = kmt_arena_str(&f->names, name->func);
	new.module = kmt_arena_str(&f->names, name->module);
	if (!new.func || !new.module || kmt_index_add(&f->index, hash, f->n))
		return kmt_err(-ENOMEM, "out of memory for stacks");
	f->v[f->n++] = new;
	return 0;
}

/* The made-up start of a function. */
static int start_of(struct kmt_ftrace_frames *f, const struct kmt_symbol_text *name, uint64_t *ret)
{
	uint64_t hash = kmt_hash_str(kmt_hash_str(1, name->func), name->module);
	const struct query q = { f->v, name };
	size_t i = kmt_index_find(&f->index, hash, is_func, &q);
	int err;

	if (i == KMT_INDEX_NONE) {
		err = add_func(f, name, hash);
		if (err)
			return err;
		i = f->n - 1;
	}
	*ret = BASE + i * STEP;
	return 0;
}

static int remember(struct kmt_ftrace_frames *f, const struct kmt_symbol_text *name,
		    uint64_t start, uint64_t addr)
{
	struct kmt_symbol sym = {
		.name = name->func, .module = name->module[0] ? name->module : NULL,
		.start = start, .size = addr > start ? addr - start : 1,
		.no_start = !name->has_off,
	};

	if (name->size > sym.size && name->size < UNKNOWN)
		sym.size = name->size;
	return kmt_symbols_add(f->symbols, &sym);
}

int kmt_ftrace_frames_address(struct kmt_ftrace_frames *f, const struct kmt_symbol_text *name,
			      uint64_t addr, uint64_t *ret)
{
	uint64_t start;
	int err;

	if (!addr && name)
		addr = kmt_symbol_text_address(name, f->given);
	else if (addr && name && name->off <= addr) {
		*ret = addr;
		/* where the function begins may not be known: then only this one place of it */
		return remember(f, name, name->has_off ? addr - name->off : addr - 1, addr);
	}
	if (addr || !name) {
		*ret = addr;
		return 0;
	}
	err = start_of(f, name, &start);
	if (err)
		return err;
	if (!name->has_off || name->off >= UNKNOWN)
		start += UNKNOWN;
	*ret = start + (name->off && name->off < UNKNOWN ? name->off : 1);
	return remember(f, name, start, *ret);
}
