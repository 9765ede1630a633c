// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loads, sizes and attaches the BPF programs and maps their tables: the only
 * user of libbpf on the tracing path, with what stands in bpf_load.h.
 */
#include "source/bpf_priv.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/err.h"
#include "kmemtrace.skel.h"
#include "kmemtrace_hash.skel.h"
#include "source/bpf_load.h"
#include "source/bpf_preempt.h"
#include "source/pages.h"
#include "source/probe.h"
#include "symbol/cgroups.h"
#include "symbol/frames.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"
#include "tracers/tracers.h"

/* libbpf's own words are kept for the error line; its printer is process-wide by design. */
static __thread char libbpf_said[200];

static int remember(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && !libbpf_said[0]) {
		vsnprintf(libbpf_said, sizeof(libbpf_said), fmt, ap);
		libbpf_said[strcspn(libbpf_said, "\n")] = '\0';
	}
	return 0;
}

/* Do call sites come from stacks? */
static bool needs_frames(const struct kmt_bpf *b)
{
	return KMT_TRACERS_OF_EVENTS(b->opts.tracers) & ~KMT_TRACER_BIT(slab);
}

/* Does a program need room of its own, besides stacks? */
static bool needs_scratch(const struct kmt_bpf *b)
{
	return needs_frames(b) || kmt_bpf_functions_bulk(&b->load->functions);
}

/* ---- sizes, knobs ---- */

static int set_sizes(struct kmt_bpf *b)
{
	struct kmemtrace_bpf *s = b->load->skel;
	const struct kmt_bpf_plan *p = &b->plan;
	int err;

	err = bpf_map__set_value_size(s->maps.kmt_tables, p->table_bytes);
	err = err ? err : bpf_map__set_max_entries(s->maps.kmt_scratch,
						   p->stacks > 1 || needs_scratch(b) ?
						   p->cpus * KMT_PROG_MAX : 1);
	if (!b->load->functions.entry)
		err = err ? err : bpf_map__set_max_entries(s->maps.kmt_bulk_calls, 1);
	err = err ? err : bpf_map__set_max_entries(s->maps.kmt_rings, p->cpus);
	/* a CPU claims one row at a time, and so does each interrupt on it */
	if (p->hashed)
		err = err ? err : bpf_map__set_max_entries(s->maps.kmt_claims, p->cpus * 4);
	if (p->hashed_objects)
		err = err ? err : bpf_map__set_max_entries(s->maps.kmt_objects, p->hashed_objects);
	if (!b->opts.filter || !(b->opts.filter->n_tgid || b->opts.filter->follow))
		err = err ? err : bpf_map__set_max_entries(s->maps.kmt_tgids, 1);
	return err ? kmt_err_errno(err, "cannot size the BPF maps") : 0;
}

static void set_places(const struct kmt_bpf_plan *p, struct kmemtrace_bpf__rodata *r)
{
	r->kmt_cpus = p->cpus;
	r->kmt_cpu_stride = p->cpu_stride;
	r->kmt_shard_stride = p->shard_stride;
	r->kmt_at_sites = p->at_sites;
	r->kmt_at_lifetimes = p->at_lifetimes;
	r->kmt_at_caches = p->at_caches;
	r->kmt_at_stacks = p->at_stacks;
	r->kmt_at_objects = p->at_objects;
	r->kmt_sites_mask = p->sites - 1;
	r->kmt_caches_mask = p->caches - 1;
	r->kmt_stacks_mask = p->stacks - 1;
	r->kmt_buckets = p->buckets;
	r->kmt_shard_mask = p->shards - 1;
}

static uint32_t filter_flags(const struct kmt_filter *f)
{
	if (!f || kmt_filter_empty(f))
		return 0;
	return KMT_F_FILTER | (f->cache.n || f->cache_not.n ? KMT_F_CACHE : 0) |
	       (f->site.n || f->module.n ? KMT_F_SITE : 0) |
	       (f->size_min || f->size_max ? KMT_F_SIZE : 0) | (f->task.n ? KMT_F_TASK : 0) |
	       (f->n_pid ? KMT_F_PID : 0) | (f->n_tgid || f->follow ? KMT_F_TGID : 0) |
	       (f->cgroup ? KMT_F_CGROUP : 0) | (f->follow_module ? KMT_F_MODULE : 0);
}

static uint32_t flags_of(const struct kmt_bpf *b)
{
	const struct kmt_bpf_plan *p = &b->plan;

	return (p->count ? KMT_F_COUNT : 0) | (p->track ? KMT_F_TRACK : 0) |
	       (p->emit ? KMT_F_EMIT : 0) | (p->tail ? KMT_F_TAIL : 0) |
	       (p->stacks > 1 ? KMT_F_STACK : 0) |
	       (b->opts.key == KMT_BY_STACK ? KMT_F_BY_STACK : 0) |
	       (b->opts.key == KMT_BY_TASK ? KMT_F_BY_TASK : 0) |
	       (b->opts.key == KMT_BY_CGROUP ? KMT_F_BY_CGROUP : 0) |
	       (p->shards >= p->cpus ? KMT_F_OWN_SHARD : 0) | filter_flags(b->opts.filter) |
	       (b->load->needs_guard ? KMT_F_GUARD : 0);
}

static void set_knobs(struct kmt_bpf *b)
{
	struct kmemtrace_bpf__rodata *r = b->load->skel->rodata;
	const struct kmt_filter *f = b->opts.filter;
	const struct kmt_bpf_plan *p = &b->plan;

	set_places(&b->plan, r);
	r->kmt_flags = flags_of(b);
	r->kmt_page_flags = p->emit ? r->kmt_flags & ~KMT_F_TRACK : r->kmt_flags;
	r->kmt_temporary = (b->opts.temporary_ns ? b->opts.temporary_ns : 1000000) >>
			   KMT_TIME_UNIT_SHIFT;
	if (!f)
		return;
	if (f->follow_module)
		snprintf((char *)r->kmt_module_name, sizeof(r->kmt_module_name), "%s",
			 f->follow_module);
	r->kmt_size_min = f->size_min;
	r->kmt_size_max = f->size_max ? f->size_max : UINT64_MAX;
}

static void set_gfp(struct kmt_bpf *b)
{
	struct kmemtrace_bpf__rodata *r = b->load->skel->rodata;

	kmt_kmalloc_gfp_from(b->opts.gfp_names, &b->kmalloc_gfp);
	r->kmt_gfp_account = b->kmalloc_gfp.account;
	r->kmt_gfp_reclaimable = b->kmalloc_gfp.reclaimable;
	r->kmt_gfp_dma = b->kmalloc_gfp.dma;
}

/* ---- after the load: who we are, filters, rings, mappings ---- */

/* Without the kfunc the programs look at the object's page: bpf/page_cache.bpf.h. */
static void set_memory_bases(struct kmt_bpf *b)
{
	struct kmemtrace_bpf__bss *s = b->load->skel->bss;
	struct kmt_symbol linear, pages;

	if (!b->load->asks_pages || !kmt_symbols_by_name(b->opts.symbols, KMT_SYMBOL_LINEAR, NULL, &linear) ||
	    !kmt_symbols_by_name(b->opts.symbols, KMT_SYMBOL_VMEMMAP, NULL, &pages))
		return;
	s->kmt_at_linear = linear.start;
	s->kmt_at_vmemmap = pages.start;
}

/* The idle task's number is 0, so "nobody" must be another one. */
static int learn_own(struct kmt_bpf *b)
{
	struct kmemtrace_bpf *s = b->load->skel;
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	s->bss->kmt_own_tgid = UINT32_MAX;
	set_memory_bases(b);
	if (bpf_prog_test_run_opts(bpf_program__fd(s->progs.kmt_whoami), &opts) ||
	    s->bss->kmt_own_tgid == UINT32_MAX)
		s->bss->kmt_own_tgid = getpid();
	if (b->opts.own)
		s->bss->kmt_own_tgid = UINT32_MAX;
	return 0;
}

struct frames {
	struct kmt_frame_table *t;
	size_t n;
};

static int add_frame(void *ctx, const struct kmt_symbol *sym)
{
	struct frames *f = ctx;

	if (sym->module || !kmt_frame_is_allocator(sym->name))
		return 0;
	if (f->n == KMT_FRAMES)
		return kmt_err(-E2BIG, "more than %u allocator functions", KMT_FRAMES);
	f->t->range[f->n].start = sym->start;
	f->t->range[f->n++].end = sym->start + sym->size;
	return 0;
}

static int compare_ranges(const void *pa, const void *pb)
{
	const struct kmt_range *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

/* Without symbols the table is empty, and no call site of a page is known. */
static int push_frames(struct kmt_bpf *b)
{
	_cleanup_free_ struct kmt_frame_table *t = malloc(sizeof(*t));
	struct frames f = { .t = t };
	uint32_t zero = 0;
	int err = 0;

	if (!needs_frames(b))
		return 0;
	if (!t)
		return kmt_err_errno(-ENOMEM, "allocator functions");
	memset(t, 0xff, sizeof(*t));
	if (b->opts.symbols)
		err = kmt_symbols_match(b->opts.symbols, "*", add_frame, &f);
	if (err)
		return err;
	qsort(t->range, f.n, sizeof(t->range[0]), compare_ranges);
	err = bpf_map_update_elem(bpf_map__fd(b->load->skel->maps.kmt_frames), &zero, t, BPF_ANY);
	return err ? kmt_err_errno(err, "cannot write the allocator functions") : 0;
}

/* ---- struct page * to frame numbers ---- */

/* One more than the highest frame number of this machine; 0 unknown. */
static uint64_t end_of_memory(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/zoneinfo", "re");
	unsigned long long spanned = 0, start, end = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " spanned %llu", &spanned) == 1)
			continue;
		if (sscanf(line, " start_pfn: %llu", &start) == 1 && start + spanned > end)
			end = start + spanned;
	}
	return end;
}

/*
 * The array of struct page begins at a multiple of 1 GiB, wherever the kernel
 * put it (x86: vmemmap_base, aligned to a PUD), so an address's lower bits are
 * the frame's number. On machines of more than 64 GiB, and where the array
 * begins elsewhere, numbers are shifted, but still one for each frame, and
 * neighbours are neighbours.
 */
static void set_pages(struct kmt_bpf *b, const struct btf *btf)
{
	struct kmemtrace_bpf__rodata *r = b->load->skel->rodata;
	int id = btf__find_by_name_kind(btf, "page", BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, id) : NULL;
	uint64_t size = t && t->size ? t->size : 64, bytes = end_of_memory() * size;
	uint64_t mask = (1ull << 30) - 1;

	while (mask < bytes || (!bytes && mask >> 46 == 0))
		mask = mask << 1 | 1;
	r->kmt_page_struct = size;
	r->kmt_page_mask = mask;
	r->kmt_page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	r->kmt_page_skip = b->opts.user_pages ? 0 : KMT_GFP_MOVABLE;
}

/* That of another mount of cgroup v2 can be opened by its directory only. */
static int open_cgroup(const char *path)
{
	char dir[4096];
	int err = kmt_cgroups_dir(path, dir, sizeof(dir));
	int fd = open(err ? path : dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : err ? err : kmt_err_errno(-errno, "cannot open cgroup '%s'", dir);
}

static int push_filters(struct kmt_bpf *b)
{
	const struct kmt_filter *f = b->opts.filter;
	struct kmemtrace_bpf *s = b->load->skel;
	_cleanup_free_ struct kmt_filter_tables *t = NULL;
	uint32_t zero = 0, one = 1;
	int err;

	if (!f || kmt_filter_empty(f))
		return 0;
	t = calloc(1, sizeof(*t));
	if (!t)
		return kmt_err_errno(-ENOMEM, "filter tables");
	err = kmt_bpf_filter_tables(&b->opts, t);
	if (err)
		return err;
	err = bpf_map_update_elem(bpf_map__fd(s->maps.kmt_filters), &zero, t, BPF_ANY);
	for (size_t i = 0; !err && i < f->n_tgid; i++)
		err = bpf_map_update_elem(bpf_map__fd(s->maps.kmt_tgids), &f->tgid[i], &one,
					  BPF_ANY);
	if (err)
		return kmt_err_errno(err, "cannot write the filters");
	if (!f->cgroup)
		return 0;
	b->load->cgroup_fd = open_cgroup(f->cgroup);
	if (b->load->cgroup_fd < 0)
		return b->load->cgroup_fd;
	err = bpf_map_update_elem(bpf_map__fd(s->maps.kmt_cgroup), &zero, &b->load->cgroup_fd,
				  BPF_ANY);
	return err ? kmt_err(-EINVAL, "'%s' is no cgroup v2 directory", f->cgroup) : 0;
}

static int map_tables(struct kmt_bpf *b)
{
	const struct kmt_bpf_plan *p = &b->plan;
	size_t page = sysconf(_SC_PAGESIZE);

	b->load->tables_len = (p->table_bytes + page - 1) & ~(page - 1);
	b->load->tables = mmap(NULL, b->load->tables_len, PROT_READ | PROT_WRITE, MAP_SHARED,
			       bpf_map__fd(b->load->skel->maps.kmt_tables), 0);
	if (b->load->tables == MAP_FAILED) {
		b->load->tables = NULL;
		return kmt_err_errno(-errno, "cannot map the BPF tables");
	}
	b->tables = b->load->tables;
	kmt_bpf_place_tables(b);
	b->hashed_fd = p->hashed ? bpf_map__fd(b->load->skel->maps.kmt_objects) : -1;
	return 0;
}

static int explain_load_error(int err)
{
	char lockdown[KMT_LOCKDOWN_LEN];

	if (err == -EPERM)
		return kmt_err(err, "the kernel refuses to load BPF programs: needs root, or "
			       "CAP_BPF and CAP_PERFMON (see 'kmemtrace doctor')");
	/* which libbpf may take for something that the kernel cannot */
	if (err == -EMFILE || strstr(libbpf_said, strerror(EMFILE)))
		return kmt_err(-EMFILE, "too many open files to load the BPF programs (ulimit -n)");
	/* ESRCH: the kernel's types, which were read before, and not a second time */
	if (err == -ENOMEM || err == -ESRCH)
		return kmt_err(-ENOMEM, "no memory for the BPF tables; try smaller --objects or --sites");
	kmt_probe_lockdown(lockdown);
	if (!strcmp(lockdown, "confidentiality"))
		return kmt_err(-EOPNOTSUPP, "the kernel is locked down (lockdown=confidentiality): "
			       "BPF programs may not read its memory");
	/* a verifier's EINVAL or E2BIG is no mistake of the user's */
	return kmt_err(-EOPNOTSUPP, "the kernel's verifier refuses the BPF programs: %s",
		       libbpf_said[0] ? libbpf_said : strerror(-err));
}

/* Both variants come from the same sources, so one's skeleton fits the other's object. */
_Static_assert(sizeof(struct kmemtrace_bpf) == sizeof(struct kmemtrace_hash_bpf), "skeletons");
_Static_assert(sizeof(struct kmemtrace_bpf__rodata) == sizeof(struct kmemtrace_hash_bpf__rodata),
	       "skeletons");
_Static_assert(sizeof(struct kmemtrace_bpf__bss) == sizeof(struct kmemtrace_hash_bpf__bss),
	       "skeletons");

static struct kmemtrace_bpf *open_skeleton(bool hashed)
{
	struct kmemtrace_bpf *s = calloc(1, sizeof(*s));
	int err = s ? kmemtrace_bpf__create_skeleton(s) : -ENOMEM;

	if (!err && hashed)
		s->skeleton->data = (void *)kmemtrace_hash_bpf__elf_bytes(&s->skeleton->data_sz);
	err = err ? err : bpf_object__open_skeleton(s->skeleton, NULL);
	if (!err)
		return s;
	kmemtrace_bpf__destroy(s);
	errno = -err;
	return NULL;
}

static int load_chosen(struct kmt_bpf *b, const struct btf *btf)
{
	struct kmemtrace_bpf *s = b->load->skel = open_skeleton(b->plan.hashed);
	int err;

	if (!s)
		return explain_load_error(-errno);
	/* it came with the protection: see bpf/guard.bpf.h */
	b->load->needs_guard = btf__find_by_name_kind(btf, "bpf_prog_inc_misses_counter",
						      BTF_KIND_FUNC) < 0;
	bpf_program__set_autoload(s->progs.kmt_whoami, true);
	bpf_program__set_autoload(s->progs.kmt_fork, b->opts.filter && b->opts.filter->follow);
	set_gfp(b);
	set_knobs(b);
	set_pages(b, btf);
	err = kmt_bpf_choose(b, btf);
	err = err ? err : set_sizes(b);
	err = err ? err : kmt_bpf_preempt_fill(s->obj, btf);
	if (err)
		return err;
	err = kmemtrace_bpf__load(s);
	b->load->functions.calls_fd = bpf_map__fd(s->maps.kmt_bulk_calls);
	return err ? explain_load_error(err) : 0;
}

/* What is attached to functions must not cost a run that can do without. */
static int load_without_functions(struct kmt_bpf *b, const struct btf *btf)
{
	kmemtrace_bpf__destroy(b->load->skel);
	*b->load = (struct kmt_bpf_load){ .cgroup_fd = -1 };
	libbpf_said[0] = '\0';
	b->no_functions = true;
	if (b->opts.tracers & KMT_TRACER_BIT(bulk))
		b->load->functions.wanted = KMT_FUNCTIONS_BULK;	/* none is seen: told so */
	return load_chosen(b, btf);
}

int kmt_bpf_load(struct kmt_bpf *b)
{
	const struct btf *btf = b->opts.btf;
	struct btf *own = NULL;
	int err;

	libbpf_set_print(remember);
	libbpf_said[0] = '\0';
	b->load = calloc(1, sizeof(*b->load));
	if (!b->load)
		return kmt_err_errno(-ENOMEM, "BPF source");
	b->load->cgroup_fd = -1;
	err = btf ? 0 : kmt_kernel_btf_load(&own);
	if (err)
		return err;
	btf = btf ? btf : own;
	err = load_chosen(b, btf);
	if (err && kmt_bpf_functions_any(&b->load->functions) && !b->opts.must_bulk)
		err = load_without_functions(b, btf);
	kmt_bpf_functions_tell(&b->load->functions, b->functions);
	err = err ? err : learn_own(b);
	err = err ? err : push_filters(b);
	err = err ? err : push_frames(b);
	err = err ? err : map_tables(b);
	err = err ? err : kmt_bpf_rings_make(b, bpf_map__fd(b->load->skel->maps.kmt_rings));
	kmt_kernel_btf_free(own);
	return err;
}

void kmt_bpf_unload(struct kmt_bpf *b)
{
	if (!b->load)
		return;
	kmt_bpf_detach(b);
	kmt_bpf_rings_free(b);
	if (b->load->tables)
		munmap(b->load->tables, b->load->tables_len);
	kmemtrace_bpf__destroy(b->load->skel);
	if (b->load->cgroup_fd >= 0)
		close(b->load->cgroup_fd);
	free(b->load);
	b->load = NULL;
}

static int attach_programs(struct kmt_bpf *b, struct bpf_program *const *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bpf_link *link;

		if (!p[i] || !bpf_program__autoload(p[i]))
			continue;
		link = bpf_program__attach(p[i]);
		if (!link)
			return kmt_err_errno(-errno, "cannot attach to tracepoint of %s",
					     bpf_program__name(p[i]));
		b->load->links[b->load->n_links++] = link;
	}
	return 0;
}

/* Frees first: an allocation seen without its free would look like a leak. */
int kmt_bpf_attach(struct kmt_bpf *b)
{
	struct bpf_program **p = b->load->prog;
	struct bpf_program *const frees[] = {
		b->load->skel->progs.kmt_module_load, b->load->skel->progs.kmt_module_free,
		b->load->skel->progs.kmt_fork, p[KMT_PROG_KFREE], p[KMT_PROG_CACHE_FREE],
		p[KMT_PROG_PAGE_FREE], p[KMT_PROG_PERCPU_FREE], p[KMT_PROG_VMAP_FREE],
	};
	struct bpf_program *const allocs[] = {
		p[KMT_PROG_KMALLOC], p[KMT_PROG_KMALLOC_NODE], p[KMT_PROG_CACHE_ALLOC],
		p[KMT_PROG_CACHE_ALLOC_NODE], p[KMT_PROG_PAGE_ALLOC], p[KMT_PROG_PERCPU_ALLOC],
		p[KMT_PROG_PERCPU_FAIL], p[KMT_PROG_VMAP_ALLOC],
	};
	struct kmt_bpf_functions *f = &b->load->functions;
	int err = attach_programs(b, frees, sizeof(frees) / sizeof(frees[0]));

	b->load->n_free_links = b->load->n_links;
	err = err ? err : kmt_bpf_functions_attach(f, KMT_FUNC_FREE_BULK, b->opts.must_bulk);
	err = err ? err : kmt_bpf_functions_attach(f, KMT_FUNC_GIVE_UP, b->opts.must_bulk);
	err = err ? err : kmt_bpf_functions_attach(f, KMT_FUNC_ALLOC_BULK, b->opts.must_bulk);
	err = err ? err : attach_programs(b, allocs, sizeof(allocs) / sizeof(allocs[0]));
	/* where it is refused, caches that are destroyed are not noticed */
	err = err ? err : kmt_bpf_functions_attach(f, KMT_FUNC_CACHE_END, false);
	if (err)
		kmt_bpf_detach(b);
	else
		kmt_bpf_functions_tell(f, b->functions);
	return err;
}

/* The reverse order: allocations first, so that the last allocations still find their free. */
void kmt_bpf_detach(struct kmt_bpf *b)
{
	while (b->load->n_links > b->load->n_free_links)
		bpf_link__destroy(b->load->links[--b->load->n_links]);
	kmt_bpf_functions_detach(&b->load->functions);
	while (b->load->n_links > 0)
		bpf_link__destroy(b->load->links[--b->load->n_links]);
}

uint64_t kmt_bpf_missed(const struct kmt_bpf *b, uint64_t *ret_untold)
{
	uint64_t n = kmt_bpf_functions_missed(&b->load->functions, ret_untold);
	struct bpf_program *p;

	bpf_object__for_each_program(p, b->load->skel->obj) {
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);

		if (bpf_program__fd(p) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			n += info.recursion_misses;
	}
	return n;
}

void kmt_bpf_awake(struct kmt_bpf *b, bool awake)
{
	if (b->load && b->load->skel && b->load->skel->bss)
		__atomic_store_n(&b->load->skel->bss->kmt_awake, awake, __ATOMIC_SEQ_CST);
}

uint64_t kmt_bpf_follow_lost(const struct kmt_bpf *b)
{
	return b->load->skel->bss ? b->load->skel->bss->kmt_follow_lost : 0;
}

struct kmt_wire_module *kmt_bpf_module_seen(const struct kmt_bpf *b)
{
	return b->load->skel->bss ? &b->load->skel->bss->kmt_module : NULL;
}

int kmt_bpf_module_copy(const struct kmt_bpf *b, uint64_t load, struct kmt_module_names *ret)
{
	uint32_t slot = load % KMT_MODULE_NAMES;

	if (bpf_map_lookup_elem(bpf_map__fd(b->load->skel->maps.kmt_names), &slot, ret))
		return kmt_err_errno(-errno, "cannot read the module's symbols");
	return ret->load == load ? 0 : -ESTALE;
}
