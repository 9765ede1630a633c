// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which programs this kernel and this run want: by the events and their arguments
 * that BTF tells of, and by what the run does.
 */
#include "source/bpf_priv.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "kmemtrace.skel.h"
#include "source/bpf_load.h"
#include "tracers/tracers.h"

/* ---- argument positions from BTF ---- */

static const char *type_name(const struct btf *btf, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_mod(t) || btf_is_ptr(t)))
		t = btf__type_by_id(btf, t->type);
	return t ? btf__name_by_offset(btf, t->name_off) : "";
}

/* The prototype of a raw tracepoint: typedef btf_trace_<event>, a pointer to function. */
static const struct btf_type *event_proto(const struct btf *btf, const char *event)
{
	char name[64];
	const struct btf_type *t;
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", event);
	id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return NULL;
	t = btf__type_by_id(btf, id);
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? t : NULL;
}

/* Where an alloc event passes what. Parameter 0 is the tracepoint's own data pointer. */
static void find_args(const struct btf *btf, const struct btf_type *proto, struct kmt_args *at)
{
	const struct btf_param *p = btf_params(proto);
	int n = btf_vlen(proto);

	memset(at, KMT_ARG_NONE, sizeof(*at));
	for (int i = 3; i < n && i - 1 <= 6; i++) {
		const char *name = type_name(btf, p[i].type);
		uint8_t arg = i - 1;

		if (!strcmp(name, "kmem_cache"))
			at->cache = arg;
		else if (!strcmp(name, "gfp_t"))
			at->gfp = arg;
		else if (!strcmp(name, "int"))
			at->node = arg;
		else if (at->req == KMT_ARG_NONE)
			at->req = arg;
		else if (at->alloc == KMT_ARG_NONE)
			at->alloc = arg;
	}
}

static const struct kmt_args new_kmalloc = { KMT_ARG_NONE, 2, 3, 4, 5 };
static const struct kmt_args new_cache = { 2, KMT_ARG_NONE, KMT_ARG_NONE, 3, 4 };

/* Sets the argument positions; true if all are those of 6.1 and later. */
static bool set_args(const struct btf *btf, struct kmemtrace_bpf__rodata *r, bool has[KMT_PROG_MAX])
{
	struct { const char *event; enum kmt_prog prog; struct kmt_args *at; } alloc[] = {
		{ "kmalloc", KMT_PROG_KMALLOC, &r->kmt_args_kmalloc },
		{ "kmalloc_node", KMT_PROG_KMALLOC_NODE, &r->kmt_args_kmalloc_node },
		{ "kmem_cache_alloc", KMT_PROG_CACHE_ALLOC, &r->kmt_args_cache },
		{ "kmem_cache_alloc_node", KMT_PROG_CACHE_ALLOC_NODE, &r->kmt_args_cache_node },
	};
	const struct btf_type *proto;

	for (size_t i = 0; i < sizeof(alloc) / sizeof(alloc[0]); i++) {
		proto = event_proto(btf, alloc[i].event);
		has[alloc[i].prog] = proto != NULL;
		if (proto)
			find_args(btf, proto, alloc[i].at);
	}
	has[KMT_PROG_KFREE] = has[KMT_PROG_CACHE_FREE] = true;
	proto = event_proto(btf, "kmem_cache_free");
	if (proto && btf_vlen(proto) > 3 &&
	    !strcmp(type_name(btf, btf_params(proto)[3].type), "kmem_cache"))
		r->kmt_arg_free_cache = 2;
	return !has[KMT_PROG_KMALLOC_NODE] && !has[KMT_PROG_CACHE_ALLOC_NODE] &&
	       r->kmt_arg_free_cache == 2 &&
	       !memcmp(&r->kmt_args_kmalloc, &new_kmalloc, sizeof(new_kmalloc)) &&
	       !memcmp(&r->kmt_args_cache, &new_cache, sizeof(new_cache));
}

/* The fast programs' suffix for what this run does; NULL: only the general ones can. */
static const char *fast_mode(uint32_t flags)
{
	switch (flags & ~KMT_F_OWN_SHARD) {
	case KMT_F_COUNT:
		return "count";
	case KMT_F_COUNT | KMT_F_TRACK:
		return "track";
	case KMT_F_EMIT:
		return "emit";
	case KMT_F_COUNT | KMT_F_EMIT | KMT_F_TAIL:
		return "record";
	}
	return NULL;
}

static int choose(struct kmt_bpf *b, enum kmt_prog prog, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(b->load->skel->obj, name);

	if (!p)
		return kmt_err(-ENOENT, "BPF program %s is missing", name);
	b->load->prog[prog] = p;
	bpf_program__set_autoload(p, true);
	return 0;
}

/* The other layers: a program fits an event that passes this many arguments. */
static const struct other {
	enum kmt_tracer_id tracer;
	enum kmt_prog prog;
	const char *event;
	int n_args;
	const char *name;
	bool is_needed;		/* without it the tracer is of no use */
} others[] = {
	{ KMT_TRACER_page, KMT_PROG_PAGE_FREE, "mm_page_free", 2, "kmt_page_free", true },
	{ KMT_TRACER_page, KMT_PROG_PAGE_ALLOC, "mm_page_alloc", 4, "kmt_page_alloc", true },
	{ KMT_TRACER_percpu, KMT_PROG_PERCPU_FREE, "percpu_free_percpu", 3, "kmt_percpu_free",
	  true },
	{ KMT_TRACER_percpu, KMT_PROG_PERCPU_ALLOC, "percpu_alloc_percpu", 7,
	  "kmt_percpu_alloc_old", false },
	{ KMT_TRACER_percpu, KMT_PROG_PERCPU_ALLOC, "percpu_alloc_percpu", 10, "kmt_percpu_alloc",
	  false },
	{ KMT_TRACER_percpu, KMT_PROG_PERCPU_FAIL, "percpu_alloc_percpu_fail", 4,
	  "kmt_percpu_fail", false },
	{ KMT_TRACER_vmalloc, KMT_PROG_VMAP_FREE, "free_vmap_area_noflush", 3, "kmt_vmap_free",
	  true },
	{ KMT_TRACER_vmalloc, KMT_PROG_VMAP_ALLOC, "alloc_vmap_area", 6, "kmt_vmap_alloc", true },
};

static int choose_others(struct kmt_bpf *b, const struct btf *btf)
{
	uint32_t set = b->opts.tracers;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct other *o = &others[i];
		const struct btf_type *proto;
		int err;

		if (!(set & 1u << o->tracer))
			continue;
		proto = event_proto(btf, o->event);	/* its parameter 0 is no argument */
		if (proto && btf_vlen(proto) == o->n_args + 1) {
			err = choose(b, o->prog, o->name);
			if (err)
				return err;
		} else if (o->is_needed) {
			return kmt_err(-ENOENT, "this kernel has no event %s of the known form",
				       o->event);
		}
	}
	if ((set & KMT_TRACER_BIT(percpu)) && !b->load->prog[KMT_PROG_PERCPU_ALLOC])
		return kmt_err(-ENOENT, "this kernel has no event percpu_alloc_percpu of the known "
			       "form");
	return 0;
}

/* The kfunc that names an address's cache: bpf/compat.bpf.h. */
static bool can_ask(const struct btf *btf)
{
	return btf__find_by_name_kind(btf, "bpf_get_kmem_cache", BTF_KIND_FUNC) >= 0;
}

/* Choose one program for each event of this kernel. */
static int choose_slab(struct kmt_bpf *b, const struct btf *btf)
{
	static const char *const base[KMT_PROG_CACHE_FREE + 1] = {
		"kmt_kmalloc", "kmt_kmalloc_node", "kmt_cache_alloc", "kmt_cache_alloc_node",
		"kmt_kfree", "kmt_cache_free",
	};
	struct kmemtrace_bpf__rodata *r = b->load->skel->rodata;
	bool ask = can_ask(btf);
	bool has[KMT_PROG_MAX] = { 0 };
	const char *fast = set_args(btf, r, has) ? fast_mode(r->kmt_flags) : NULL;

	b->load->asks_pages = !ask;
	for (int i = 0; i <= KMT_PROG_CACHE_FREE; i++) {
		char name[64];
		int err;

		if (!has[i])
			continue;
		snprintf(name, sizeof(name), "%s%s%s%s", base[i],
			 ask && (i == KMT_PROG_KMALLOC || i == KMT_PROG_KFREE) ? "_cache" : "",
			 fast ? "_" : "",
			 fast ? fast : "");
		err = choose(b, i, name);
		if (err)
			return err;
	}
	return 0;
}

/* --module: the programs that see it come and go, and the room for its symbols. */
static int choose_module(struct kmt_bpf *b, const struct btf *btf)
{
	struct kmemtrace_bpf *s = b->load->skel;
	bool wanted = b->opts.filter && b->opts.filter->follow_module;

	if (wanted && !event_proto(btf, "module_load"))
		return kmt_err(-EOPNOTSUPP, "this kernel cannot load modules (it has no event "
			       "module_load)");
	bpf_program__set_autoload(s->progs.kmt_module_load, wanted);
	bpf_program__set_autoload(s->progs.kmt_module_free, wanted);
	return bpf_map__set_autocreate(s->maps.kmt_names, wanted);
}

/* What tracer bulk does; -EOPNOTSUPP: it must be had, and cannot be. */
static int choose_functions(struct kmt_bpf *b, const struct btf *btf)
{
	struct kmemtrace_bpf__rodata *r = b->load->skel->rodata;
	struct kmt_function found[KMT_FUNCTIONS];
	unsigned wanted = b->opts.tracers & KMT_TRACER_BIT(bulk) ? KMT_FUNCTIONS_BULK : 0;

	/* a cache that is destroyed takes what is in it along */
	if (b->plan.track && (!b->plan.emit || b->opts.books))
		wanted |= 1u << KMT_FUNC_CACHE_END;
	if (!wanted || b->no_functions)
		return 0;
	kmt_functions_look(btf, NULL, false, found);
	r->kmt_bulk_bool = found[KMT_FUNC_ALLOC_BULK].is_other_form;
	r->kmt_rcu_func = found[KMT_FUNC_GIVE_UP].is_other_form;
	/* without a table of objects what is given up would be counted twice */
	if (!(r->kmt_flags & (KMT_F_TRACK | KMT_F_EMIT)))
		found[KMT_FUNC_GIVE_UP].how = KMT_ATTACH_NONE;
	/* Linux commit b89fbfbb854c "bpf: Implement minimal BPF perf link" (in v5.15) */
	b->load->functions = (struct kmt_bpf_functions){
		.wanted = wanted, .can_ask = can_ask(btf),
		.no_kprobes = b->opts.kept && btf__find_by_name_kind(btf, "bpf_perf_link",
								     BTF_KIND_STRUCT) < 0,
	};
	return kmt_bpf_functions_choose(&b->load->functions, b->load->skel->obj, found, &b->opts);
}

int kmt_bpf_choose(struct kmt_bpf *b, const struct btf *btf)
{
	int err = b->opts.tracers & KMT_TRACER_BIT(slab) ? choose_slab(b, btf) : 0;

	err = err ? err : choose_others(b, btf);
	err = err ? err : choose_module(b, btf);
	return err ? err : choose_functions(b, btf);
}
