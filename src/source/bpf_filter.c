// SPDX-License-Identifier: GPL-2.0-only
/* The filter in the form the programs read: globs, address ranges, numbers. */
#include "source/bpf_priv.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/err.h"
#include "symbol/slabs.h"
#include "symbol/symbols.h"

#define BUILT_IN "vmlinux"

/* One position "[...]" of a glob; returns behind it, NULL if it has no end. */
static const char *compile_class(const char *p, struct kmt_glob *g, uint64_t bit)
{
	bool not = *p == '!' || *p == '^', in[256] = { false };
	const char *start = not ? ++p : p;

	while (*p && (*p != ']' || p == start)) {
		unsigned char from = *p == '\\' && p[1] ? *++p : *p, to = from;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			p += 2;
			to = *p == '\\' && p[1] ? *++p : *p;
		}
		for (unsigned c = from; c <= to; c++)
			in[c] = true;
		p++;
	}
	if (!*p)
		return NULL;
	for (unsigned c = 1; c < 256; c++)
		if (in[c] != not)
			g->match[c] |= bit;
	return p + 1;
}

int kmt_bpf_glob_compile(const char *text, struct kmt_glob *g)
{
	const char *p = text;
	unsigned n = 0;

	memset(g, 0, sizeof(*g));
	if (strstr(text, "[:") || strstr(text, "[.") || strstr(text, "[="))
		return kmt_err(-EINVAL, "'%s': classes such as [:alpha:] are not matched in the "
			       "kernel", text);
	while (*p) {
		uint64_t bit = 1ull << n;
		unsigned char c = *p++;

		if (n >= KMT_GLOB_LEN)
			return kmt_err(-EINVAL, "'%s' has more than %u characters", text,
				       KMT_GLOB_LEN);
		if (c == '*') {
			if (n && (g->star & bit >> 1))
				continue;
			g->star |= bit;
		} else if (c == '?') {
			for (unsigned i = 1; i < 256; i++)
				g->match[i] |= bit;
		} else if (c == '[') {
			p = compile_class(p, g, bit);
			if (!p)
				return kmt_err(-EINVAL, "'%s': '[' without ']'", text);
		} else {
			if (c == '\\' && *p)
				c = *p++;
			g->match[c] |= bit;
		}
		n++;
	}
	g->accept = 1ull << n;
	return 0;
}

static int add_glob(struct kmt_glob *to, uint32_t *n, const char *text, const char *what)
{
	if (*n >= KMT_GLOBS)
		return kmt_err(-EINVAL, "more than %u names for %s", KMT_GLOBS, what);
	return kmt_bpf_glob_compile(text, &to[(*n)++]);
}

/*
 * Merged caches go by the name of the first one: where a glob matches an
 * alias only, the kernel's own name is added.
 */
static int add_cache_globs(const struct kmt_source_opts *o, const struct kmt_globs *g,
			   struct kmt_glob *to, uint32_t *n)
{
	int err;

	for (size_t i = 0; i < g->n; i++) {
		err = add_glob(to, n, g->v[i], "cache");
		if (err)
			return err;
	}
	for (size_t i = 0; o->slabs && i < kmt_slabs_count(o->slabs); i++) {
		const struct kmt_slab *s = kmt_slabs_at(o->slabs, i);

		if (kmt_globs_match(g, s->name) || !kmt_globs_match_list(g, s->aliases))
			continue;
		err = add_glob(to, n, s->name, "cache (alias)");
		if (err)
			return err;
	}
	return 0;
}

/* Whether a name is wanted at all: an unknown cache is a mistake worth a word. */
static int check_known(const struct kmt_source_opts *o)
{
	const struct kmt_filter *f = o->filter;

	/* a module that is still to come may bring its caches along */
	for (size_t g = 0; o->slabs && !f->follow_module && g < f->cache.n; g++) {
		struct kmt_globs one = { .v = { f->cache.v[g] }, .n = 1 };
		bool found = strpbrk(f->cache.v[g], "*?") || kmt_globs_match(&one, "kmalloc-large");

		for (size_t i = 0; !found && i < kmt_slabs_count(o->slabs); i++) {
			const struct kmt_slab *s = kmt_slabs_at(o->slabs, i);

			found = kmt_globs_match(&one, s->name) ||
				kmt_globs_match_list(&one, s->aliases);
		}
		if (!found)
			return kmt_err(-EINVAL, "no slab cache is called '%s' (a glob may name "
				       "one that does not exist yet)", f->cache.v[g]);
	}
	return 0;
}

static bool cache_passes(const struct kmt_filter *f, const char *name)
{
	return (!f->cache.n || kmt_globs_match(&f->cache, name)) &&
	       !kmt_globs_match(&f->cache_not, name);
}

/* Where the kernel cannot tell a kmalloc's cache: the buckets that pass, by size and family. */
static int add_verdict(struct kmt_filter_tables *t, uint64_t bytes, int family)
{
	if (t->n_verdicts >= KMT_VERDICTS)
		return kmt_err(-E2BIG, "more than %u kmalloc caches pass the filter", KMT_VERDICTS);
	t->kmalloc_ok[t->n_verdicts].bytes_alloc = bytes;
	t->kmalloc_ok[t->n_verdicts++].gfp_class = family;
	return 0;
}

/* The families whose objects of this size come from this cache: its own, or all that have none. */
static int add_cache_verdicts(const struct kmt_kmalloc_names *names, const struct kmt_slab *s,
			      struct kmt_filter_tables *t)
{
	int err = 0;

	for (unsigned family = 0; !err && family < KMT_KMALLOC_FAMILIES; family++) {
		const char *name = kmt_kmalloc_name(names, s->object_size, family);

		if (name && !strcmp(name, s->name))
			err = add_verdict(t, s->object_size, family);
	}
	return err;
}

#define KMT_LARGEST_KMALLOC (1ull << 30)

static int add_large_verdicts(struct kmt_filter_tables *t, uint64_t largest_cache)
{
	int err = 0;

	for (uint64_t size = largest_cache * 2; !err && size <= KMT_LARGEST_KMALLOC; size *= 2)
		for (int family = 0; !err && family < KMT_KMALLOC_FAMILIES; family++)
			err = add_verdict(t, size, family);
	return err;
}

static int add_verdicts(const struct kmt_source_opts *o, struct kmt_filter_tables *t)
{
	struct kmt_kmalloc_names *names = NULL;
	uint64_t largest = 0;
	int err;

	if (!o->slabs)
		return 0;
	err = kmt_kmalloc_names_new(o->slabs, &names);
	for (size_t i = 0; !err && i < kmt_slabs_count(o->slabs); i++) {
		const struct kmt_slab *s = kmt_slabs_at(o->slabs, i);

		if (kmt_kmalloc_family(s->name) < 0)
			continue;
		if (s->object_size > largest)
			largest = s->object_size;
		if (cache_passes(o->filter, s->name))
			err = add_cache_verdicts(names, s, t);
	}
	if (!err && largest && cache_passes(o->filter, "kmalloc-large"))
		err = add_large_verdicts(t, largest);
	kmt_kmalloc_names_free(names);
	return err;
}

static int add_range(struct kmt_filter_tables *t, uint64_t start, uint64_t end)
{
	if (t->n_ranges >= KMT_RANGES)
		return kmt_err(-EINVAL, "the site filter matches more than %u functions",
			       KMT_RANGES);
	t->range[t->n_ranges].start = start;
	t->range[t->n_ranges++].end = end;
	return 0;
}

struct ranges {
	const struct kmt_filter *f;
	struct kmt_filter_tables *t;
};

/* A function of the right name; with modules asked for too, both must hold. */
static int add_symbol(void *ctx, const struct kmt_symbol *sym)
{
	struct ranges *r = ctx;

	if (r->f->module.n && !kmt_globs_match(&r->f->module, sym->module ? sym->module : BUILT_IN))
		return 0;
	return add_range(r->t, sym->start, sym->start + sym->size);
}

static int widen(void *ctx, const struct kmt_symbol *sym)
{
	struct kmt_range *r = ctx;

	if (sym->module)
		return 0;
	if (!r->end || sym->start < r->start)
		r->start = sym->start;
	if (sym->start + sym->size > r->end)
		r->end = sym->start + sym->size;
	return 0;
}

/* What is built in has no module of its own in the list of symbols. */
static bool module_range(const struct kmt_symbols *s, const char *module, struct kmt_range *ret)
{
	uint64_t start, end;

	if (!strcmp(module, BUILT_IN)) {
		*ret = (struct kmt_range){ 0 };
		kmt_symbols_match(s, "*", widen, ret);
		return ret->end != 0;
	}
	if (!kmt_symbols_module_range(s, module, &start, &end))
		return false;
	*ret = (struct kmt_range){ .start = start, .end = end };
	return true;
}

static int add_modules(const struct kmt_source_opts *o, struct kmt_filter_tables *t)
{
	const struct kmt_filter *f = o->filter;

	for (size_t i = 0; i < f->module.n; i++) {
		struct kmt_range r;
		int err;

		if (!module_range(o->symbols, f->module.v[i], &r))
			return kmt_err(-EINVAL, "module '%s' is not loaded", f->module.v[i]);
		err = f->site.n ? 0 : add_range(t, r.start, r.end);
		if (err)
			return err;
	}
	return 0;
}

static int add_ranges(const struct kmt_source_opts *o, struct kmt_filter_tables *t)
{
	const struct kmt_filter *f = o->filter;
	struct ranges r = { .f = f, .t = t };

	if (!o->symbols && (f->site.n || f->module.n))
		return kmt_err(-EACCES, "a site or module filter needs /proc/kallsyms, which "
			       "shows no addresses here");
	for (size_t i = 0; i < f->site.n; i++) {
		uint32_t before = t->n_ranges;
		int err = kmt_symbols_match(o->symbols, f->site.v[i], add_symbol, &r);

		if (err)
			return err;
		if (t->n_ranges == before)
			return kmt_err(-EINVAL, "no kernel function matches '%s'", f->site.v[i]);
	}
	return add_modules(o, t);
}

int kmt_bpf_filter_tables(const struct kmt_source_opts *o, struct kmt_filter_tables *t)
{
	const struct kmt_filter *f = o->filter;
	int err;

	err = check_known(o);
	err = err ? err : add_cache_globs(o, &f->cache, t->cache, &t->n_cache);
	err = err ? err : add_cache_globs(o, &f->cache_not, t->cache_not, &t->n_cache_not);
	for (size_t i = 0; !err && i < f->task.n; i++)
		err = add_glob(t->task, &t->n_task, f->task.v[i], "task");
	if (!err && (f->cache.n || f->cache_not.n))
		err = add_verdicts(o, t);
	err = err ? err : add_ranges(o, t);
	if (err)
		return err;
	for (size_t i = 0; i < f->n_pid && i < KMT_GLOBS; i++)
		t->pid[t->n_pid++] = f->pid[i];
	return 0;
}
