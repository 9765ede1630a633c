// SPDX-License-Identifier: GPL-2.0-only
/* One module, followed from its load to its unload: see bpf/module.bpf.c. */
#include "source/bpf_priv.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "core/module.h"
#include "symbol/symbols.h"

_Static_assert(KMT_MODULE_NAME == KMT_MODULE_NAME_LEN, "one is the kernel's, one the model's");
_Static_assert(KMT_MODULE_KEPT == KMT_MODULE_LOADS, "what the kernel keeps can be told");

static void cleanup_symbols(struct kmt_symbols **s)
{
	kmt_symbols_free(*s);
}

static const char *name_of(const struct kmt_bpf *b)
{
	return b->opts.filter ? b->opts.filter->follow_module : NULL;
}

static struct kmt_wire_load *load_at(struct kmt_wire_module *m, uint64_t load)
{
	return &m->load[(load - 1) % KMT_MODULE_LOADS];
}

/* ---- loaded before we came ---- */

enum state { NOT_THERE, BUILT_IN, LOADED };

/* What is built in has a folder too if it has parameters, but no state. */
static enum state state_of(const char *name)
{
	char path[128];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/sys/module/%s/initstate", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return LOADED;
	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return access(path, F_OK) ? NOT_THERE : BUILT_IN;
}

int kmt_bpf_module_start(struct kmt_bpf *b)
{
	struct kmt_wire_module *m = kmt_bpf_module_seen(b);
	const char *name = name_of(b);
	enum state state = name ? state_of(name) : NOT_THERE;
	struct kmt_range text;

	if (!name || !m || m->loads || state == NOT_THERE)
		return 0;
	if (state == BUILT_IN)
		return kmt_err(-EINVAL, "'%s' is built into this kernel: it is never loaded", name);
	if (!kmt_symbols_module_range(b->opts.symbols, name, (uint64_t *)&text.start,
				      (uint64_t *)&text.end))
		return kmt_err(-EACCES, "module '%s' is loaded already, and where it lies is not "
			       "known: /proc/kallsyms shows no function of it here", name);
	m->load[0].text = text;
	m->text.start = text.start;
	m->loads = m->changes = 1;
	b->named_loads = 1;
	__atomic_store_n(&m->text.end, text.end, __ATOMIC_SEQ_CST);
	/* gone while we looked: the program may have missed that */
	if (state_of(name) == NOT_THERE && !m->load[0].unloaded_ns) {
		m->text.end = 0;
		m->load[0].unloaded_ns = kmt_monotonic_ns();
		m->changes++;
	}
	return 0;
}

/* ---- its names ---- */

static bool within(const struct kmt_range *r, uint64_t addr)
{
	return addr >= r->start && addr < r->end;
}

/* The functions of a table as the kernel had it; everything in it is checked. */
static int read_names(const struct kmt_module_names *from, const struct kmt_wire_load *l,
		      const char *module, struct kmt_symbols *to, size_t *ret_n)
{
	size_t n = from->sym_bytes / sizeof(from->sym[0]);
	size_t len = from->str_bytes < sizeof(from->str) ? from->str_bytes : sizeof(from->str);
	int err = 0;

	*ret_n = 0;
	for (size_t i = 0; !err && i < n && i < KMT_MODULE_SYMS; i++) {
		const struct kmt_wire_sym *sym = &from->sym[i];
		struct kmt_symbol s = { .module = module, .start = sym->value, .size = sym->size };

		if (ELF64_ST_TYPE(sym->info) != STT_FUNC || sym->section == SHN_UNDEF ||
		    !(within(&l->text, s.start) || within(&l->init, s.start)))
			continue;
		if (sym->name >= len || !from->str[sym->name] ||
		    !memchr(from->str + sym->name, 0, len - sym->name))
			continue;
		s.name = from->str + sym->name;
		err = kmt_symbols_add(to, &s);
		*ret_n += !err;
	}
	return err == -ENOSPC ? 0 : err;
}

/* In place of names that could not be had: the module's own, for all of its text. */
static int name_whole(const struct kmt_wire_load *l, const char *module, struct kmt_symbols *to)
{
	const struct kmt_range *parts[] = { &l->text, &l->init };
	int err = 0;

	for (size_t i = 0; !err && i < 2; i++) {
		struct kmt_symbol s = { .name = module, .module = module,
					.start = parts[i]->start,
					.size = parts[i]->end - parts[i]->start };

		if (parts[i]->end)
			err = kmt_symbols_add(to, &s);
	}
	return err;
}

static int name_load(struct kmt_bpf *b, uint64_t load, const struct kmt_wire_load *l,
		     struct kmt_symbols **symbols)
{
	_cleanup_free_ struct kmt_module_names *names = malloc(sizeof(*names));
	_cleanup_(cleanup_symbols) struct kmt_symbols *found = NULL;
	size_t n = 0;
	int err = names ? kmt_symbols_new(&found) : kmt_err(-ENOMEM, "out of memory");

	if (err)
		return err;
	if (!kmt_bpf_module_copy(b, load, names))
		err = read_names(names, l, name_of(b), found, &n);
	if (!err && !n) {
		b->no_module_names = true;
		err = name_whole(l, name_of(b), found);
	}
	if (!err && !*symbols)
		err = kmt_symbols_new(symbols);
	if (!err)
		err = kmt_symbols_replace(*symbols, found, l->text.start, l->text.end);
	if (!err && l->init.end)
		err = kmt_symbols_replace(*symbols, found, l->init.start, l->init.end);
	return err;
}

/* ---- what became of it ---- */

static bool overlap(const struct kmt_range *a, const struct kmt_range *b)
{
	return a->start != b->start && a->start < b->end && b->start < a->end;
}

static void describe(struct kmt_wire_module *m, struct kmt_module_life *ret)
{
	uint64_t first = ret->loads > KMT_MODULE_LOADS ? ret->loads - KMT_MODULE_LOADS : 0;

	for (uint64_t i = first; i < ret->loads; i++) {
		const struct kmt_wire_load *l = load_at(m, i + 1);

		ret->load[ret->n].loaded_ns = l->loaded_ns;
		ret->load[ret->n++].unloaded_ns = __atomic_load_n(&l->unloaded_ns, __ATOMIC_ACQUIRE);
		for (uint64_t k = first; k < i; k++)
			ret->overlaps |= overlap(&load_at(m, k + 1)->text, &l->text);
	}
	ret->is_loaded = ret->n && !ret->load[ret->n - 1].unloaded_ns;
}

int kmt_bpf_module_look(struct kmt_bpf *b, struct kmt_symbols **symbols,
			struct kmt_module_life *ret)
{
	struct kmt_wire_module *m = name_of(b) ? kmt_bpf_module_seen(b) : NULL;
	struct kmt_module_life life = { .start_ns = b->start_ns };

	if (!m)
		return -ENOENT;
	snprintf(life.name, sizeof(life.name), "%s", name_of(b));
	life.changes = __atomic_load_n(&m->changes, __ATOMIC_ACQUIRE);
	life.loads = __atomic_load_n(&m->loads, __ATOMIC_ACQUIRE);
	while (b->named_loads < life.loads) {
		int err = name_load(b, b->named_loads + 1, load_at(m, b->named_loads + 1), symbols);

		if (err)
			return err;
		b->named_loads++;
	}
	describe(m, &life);
	life.has_no_names = b->no_module_names;
	*ret = life;
	return 0;
}
