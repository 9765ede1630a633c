// SPDX-License-Identifier: GPL-2.0-only
/* What this machine allows, what a missing thing costs, and how to get it. */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "render/render.h"
#include "report/report.h"
#include "source/probe.h"
#include "source/source.h"
#include "symbol/cgroups.h"

#define WIDTH	80
#define INDENT	5	/* of what belongs to a line: behind the status word */
#define NAME	22

enum status { OK, WARN, NO };

static const char *const status_text[] = { "ok", "warn", "no" };

struct finding {
	enum status status;
	char value[160];
	bool unknown;			/* it follows from another check: no advice here */
	const char *costs, *remedy;	/* NULL: nothing to say */
};

static void __attribute__((format(printf, 3, 4)))
found(struct finding *f, enum status status, const char *fmt, ...)
{
	va_list ap;

	f->status = status;
	va_start(ap, fmt);
	vsnprintf(f->value, sizeof(f->value), fmt, ap);
	va_end(ap);
}

/* Another check's failure hides this one. */
static void found_unknown(struct finding *f, const char *without)
{
	found(f, WARN, "unknown without %s", without);
	f->unknown = true;
}

/* The common form: works, or the errno that trying gave. */
static void found_err(struct finding *f, int err, enum status bad, const char *good)
{
	if (err)
		found(f, bad, "%s", strerror(-err));
	else
		found(f, OK, "%s", good);
}

static void privilege(const struct kmt_probe *p, struct finding *f)
{
	bool enough = p->cap_sys_admin || (p->cap_bpf && p->cap_perfmon);

	found(f, enough ? OK : NO, "uid %u%s%s%s%s", p->euid,
	      p->cap_sys_admin ? ", CAP_SYS_ADMIN" : "", p->cap_bpf ? ", CAP_BPF" : "",
	      p->cap_perfmon ? ", CAP_PERFMON" : "",
	      p->cap_sys_admin || p->cap_bpf || p->cap_perfmon ? "" : ", no capabilities");
}

static void lockdown(const struct kmt_probe *p, struct finding *f)
{
	/* "integrity" forbids writing to the kernel, which nobody does here */
	found(f, strcmp(p->lockdown, "confidentiality") ? OK : NO, "%s",
	      p->lockdown[0] ? p->lockdown : "not built in, or not to be seen");
}

static void btf(const struct kmt_probe *p, struct finding *f)
{
	found_err(f, p->btf, NO, "/sys/kernel/btf/vmlinux");
}

static void tracepoint(const struct kmt_probe *p, struct finding *f, enum kmt_probe_tp tp)
{
	if (p->btf)
		found_unknown(f, "BTF");
	else
		found(f, p->tp[tp] ? OK : NO, p->tp[tp] ? "present" : "absent");
}

/* Linux commits 11e9734bcb6a and 2c1d697fb8ba (in v6.1) folded them into the plain events. */
static void node_tracepoint(const struct kmt_probe *p, struct finding *f, enum kmt_probe_tp tp)
{
	tracepoint(p, f, tp);
	if (!p->btf && !p->tp[tp])
		found(f, OK, "absent: part of %s here", kmt_probe_tp_name(tp - 1));
}

static void kmalloc(const struct kmt_probe *p, struct finding *f)
{
	tracepoint(p, f, KMT_PROBE_KMALLOC);
}

static void kmalloc_node(const struct kmt_probe *p, struct finding *f)
{
	node_tracepoint(p, f, KMT_PROBE_KMALLOC_NODE);
}

static void cache_alloc(const struct kmt_probe *p, struct finding *f)
{
	tracepoint(p, f, KMT_PROBE_CACHE_ALLOC);
}

static void cache_alloc_node(const struct kmt_probe *p, struct finding *f)
{
	node_tracepoint(p, f, KMT_PROBE_CACHE_ALLOC_NODE);
}

static void kfree(const struct kmt_probe *p, struct finding *f)
{
	tracepoint(p, f, KMT_PROBE_KFREE);
}

static void cache_free(const struct kmt_probe *p, struct finding *f)
{
	tracepoint(p, f, KMT_PROBE_CACHE_FREE);
}

static void raw_tp(const struct kmt_probe *p, struct finding *f)
{
	if (p->raw_tp)
		found(f, NO, "%s: %s", p->raw_tp_load ? "load" : "attach", strerror(-p->raw_tp));
	else
		found(f, OK, "loaded, attached and removed");
}

static void cmpxchg(const struct kmt_probe *p, struct finding *f)
{
	if (p->raw_tp_load)
		found_unknown(f, "loading programs");
	else if (p->cmpxchg)
		found(f, WARN, "absent: live objects are kept in the kernel's hash maps");
	else
		found(f, OK, "present");
}

static void preemption(const struct kmt_probe *p, struct finding *f)
{
	if (p->btf)
		found_unknown(f, "BTF");
	else
		found(f, OK, "%s", p->preempted ? "programs switch it off" :
		      "the kernel does not preempt programs");
}

static void functions(const struct kmt_probe *p, struct finding *f)
{
	const char *kprobes = p->kprobes ? "present" : "absent";

	if (p->raw_tp_load || p->btf) {
		found_unknown(f, p->btf ? "BTF" : "loading programs");
		return;
	}
	if (!p->fentry) {
		found(f, OK, "fentry works, kprobes %s", kprobes);
		return;
	}
	found(f, p->kprobes ? OK : WARN, "fentry %s: %s, kprobes %s",
	      p->fentry_load ? "load" : "attach", strerror(-p->fentry), kprobes);
	if (p->fentry != -EPERM)
		return;
	/* other programs do load, so it is not for want of privilege */
	f->remedy = "the kernel or a security module refuses it; a kernel with "
		    "CONFIG_FUNCTION_TRACER=y and CONFIG_KPROBES=y and no such module";
}

static void silent(const struct kmt_probe *p, struct finding *f, enum kmt_function_id id)
{
	const struct kmt_function *fn = &p->function[id];

	if (p->raw_tp_load || p->btf)
		found_unknown(f, p->btf ? "BTF" : "loading programs");
	else if (!fn->name)
		found(f, WARN, "absent");
	else if (fn->how == KMT_ATTACH_NONE)
		found(f, WARN, "%s: no fentry%s, no kprobe", fn->name,
		      fn->no_proto ? " (not in BTF)" : "");
	else
		found(f, OK, "%s: %s", fn->name, kmt_attach_name(fn->how));
}

static void bulk_alloc(const struct kmt_probe *p, struct finding *f)
{
	silent(p, f, KMT_FUNC_ALLOC_BULK);
}

static void bulk_free(const struct kmt_probe *p, struct finding *f)
{
	silent(p, f, KMT_FUNC_FREE_BULK);
}

static void give_up(const struct kmt_probe *p, struct finding *f)
{
	silent(p, f, KMT_FUNC_GIVE_UP);
}

static void cache_end(const struct kmt_probe *p, struct finding *f)
{
	silent(p, f, KMT_FUNC_CACHE_END);
}

static void kfunc(const struct kmt_probe *p, struct finding *f)
{
	if (p->btf) {
		found_unknown(f, "BTF");
		return;
	}
	found(f, p->kfunc_cache || p->page_cache ? OK : WARN, "bpf_get_kmem_cache %s",
	      p->kfunc_cache ? "present" :
	      p->page_cache ? "absent: the object's page is asked" : "absent");
	if (p->kallsyms)	/* by whose addresses the page could be asked */
		f->remedy = "Linux 6.13 or newer, or what kallsyms needs";
}

static void iterator(const struct kmt_probe *p, struct finding *f)
{
	if (p->btf) {
		found_unknown(f, "BTF");
		return;
	}
	found(f, p->iter_cache ? OK : WARN, "kmem_cache %s", p->iter_cache ? "present" : "absent");
}

static void memlock(const struct kmt_probe *p, struct finding *f)
{
	char size[KMT_FMT_LEN] = "unlimited";

	if (p->memlock != UINT64_MAX)
		kmt_fmt_bytes(size, p->memlock, false);
	if (p->raw_tp_load)
		found_unknown(f, "loading programs");
	else if (p->memcg_memory)
		found(f, OK, "RLIMIT_MEMLOCK %s (does not matter here)", size);
	else
		found(f, p->memlock == UINT64_MAX || p->cap_sys_admin ? OK : WARN,
		      "RLIMIT_MEMLOCK %s", size);
}

static void tracefs(const struct kmt_probe *p, struct finding *f)
{
	found_err(f, p->tracefs, WARN, p->tracefs_mounted ? "mounted" :
		  "not mounted; kmemtrace uses a private mount");
}

static void kallsyms(const struct kmt_probe *p, struct finding *f)
{
	if (p->kallsyms == -EPERM)
		found(f, NO, "every address is hidden");
	else
		found_err(f, p->kallsyms, NO, "readable, with addresses");
}

static void slabinfo(const struct kmt_probe *p, struct finding *f)
{
	found_err(f, p->slabinfo, WARN, "readable");
}

static void cgroup(const struct kmt_probe *p, struct finding *f)
{
	char mount[128];

	if (!kmt_cgroups_mount(mount, sizeof(mount))) {
		found(f, WARN, "no cgroup v2 is mounted");
		return;
	}
	found(f, p->cgroup1 ? WARN : OK, "cgroup v2 at %s%s", mount,
	      p->cgroup1 ? ", beside v1" : "");
	f->costs = "tasks that v1 sorts into groups may all be in the root of v2";
	f->remedy = "boot with systemd.unified_cgroup_hierarchy=1";
}

static const struct check {
	const char *name;
	void (*look)(const struct kmt_probe *p, struct finding *f);
	const char *costs, *remedy;	/* shown unless it is ok; look() may say better */
} checks[] = {
	{ "privilege", privilege, "nothing can be traced",
	  "run as root, or with CAP_BPF, CAP_PERFMON, CAP_SYSLOG, CAP_DAC_READ_SEARCH" },
	{ "lockdown", lockdown, "BPF may not read kernel memory and tracefs is closed",
	  "boot with lockdown=integrity or without lockdown=" },
	{ "kernel BTF", btf, "the bpf source cannot find the kernel's types",
	  "a kernel with CONFIG_DEBUG_INFO_BTF=y" },
	{ "kmalloc", kmalloc, "kmalloc is not seen", "a kernel with CONFIG_TRACEPOINTS=y" },
	{ "kmalloc_node", kmalloc_node, NULL, NULL },
	{ "kmem_cache_alloc", cache_alloc, "allocations from named caches are not seen",
	  "a kernel with CONFIG_TRACEPOINTS=y" },
	{ "kmem_cache_alloc_node", cache_alloc_node, NULL, NULL },
	{ "kfree", kfree, "frees are not seen: nothing can be called live",
	  "a kernel with CONFIG_TRACEPOINTS=y" },
	{ "kmem_cache_free", cache_free, "frees are not seen: nothing can be called live",
	  "a kernel with CONFIG_TRACEPOINTS=y" },
	{ "raw tracepoint", raw_tp, "the bpf source cannot run; tracefs costs more per event",
	  "root, and a kernel with CONFIG_BPF_SYSCALL=y and CONFIG_BPF_EVENTS=y" },
	{ "BPF compare-and-swap", cmpxchg,
	  "an event of the bpf source costs more, a row for a live object 104 bytes, not 21",
	  "Linux 5.12 or newer, with the JIT on (net.core.bpf_jit_enable)" },
	{ "preemption", preemption, NULL, NULL },
	{ "function attach", functions,
	  "bulk allocations and frees stay unseen; they show as untraced frees",
	  "a kernel with CONFIG_FUNCTION_TRACER=y or CONFIG_KPROBES=y" },
	{ "bulk allocation", bulk_alloc, "objects taken in bulk are seen only as frees of older ones",
	  "see function attach" },
	{ "bulk free", bulk_free, "objects freed in bulk stay live until their address is reused",
	  "see function attach" },
	{ "kfree_rcu", give_up, "what kfree_rcu() was given counts as live until its grace period",
	  "see function attach" },
	{ "cache destruction", cache_end, "what is in a cache that is destroyed stays live",
	  "see function attach" },
	{ "cache of a kmalloc", kfunc, "caches of kmalloc are inferred from size and flags",
	  "Linux 6.13 or newer" },
	{ "cache iterator", iterator, "the kernel's own counts are read from /proc/slabinfo",
	  "Linux 6.13 or newer" },
	{ "memory limit", memlock, "tables larger than the limit are refused",
	  "ulimit -l unlimited" },
	{ "tracefs", tracefs, "no source is left where BPF cannot be used",
	  "root, and a kernel with CONFIG_FTRACE=y" },
	{ "kallsyms", kallsyms, "call sites are numbers; filters by site or module fail",
	  "root, and sysctl kernel.kptr_restrict=1 or 0; or --kallsyms FILE" },
	{ "slabinfo", slabinfo, "books cannot be compared with the kernel's, no sizes of caches",
	  "root, and a kernel with CONFIG_SLUB_DEBUG=y" },
	{ "cgroups", cgroup, "no view by cgroup, and no filter 'cgroup='",
	  "mount -t cgroup2 cgroup2 /sys/fs/cgroup" },
};
#define N_CHECKS (sizeof(checks) / sizeof(checks[0]))

static const struct kmt_column columns[] = {
	{ .key = "check", .title = "CHECK", .unit = KMT_UNIT_TEXT, .frozen = true },
	{ .key = "status", .title = "STATUS", .unit = KMT_UNIT_TEXT },
	{ .key = "value", .title = "VALUE", .unit = KMT_UNIT_TEXT },
	{ .key = "costs", .title = "COSTS", .unit = KMT_UNIT_TEXT },
	{ .key = "remedy", .title = "REMEDY", .unit = KMT_UNIT_TEXT },
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void look(const struct check *c, const struct kmt_probe *p, struct finding *ret)
{
	*ret = (struct finding){ 0 };
	c->look(p, ret);
	if (ret->status == OK || ret->unknown) {
		ret->costs = ret->remedy = NULL;
		return;
	}
	ret->costs = ret->costs ? ret->costs : c->costs;
	ret->remedy = ret->remedy ? ret->remedy : c->remedy;
}

/* The live source that really opens here, in the order they are tried; NULL: none does. */
static const struct kmt_source_ops *usable_source(struct kmt_buf *why)
{
	/* small tables: this is only a try */
	const struct kmt_source_opts opts = {
		.mode = KMT_MODE_STREAMED, .sites = 1024, .objects = 1024, .ring_bytes = 64 << 10,
	};

	for (size_t i = 0; kmt_sources[i]; i++) {
		struct kmt_source *src;

		if (!kmt_sources[i]->live)
			continue;
		if (!kmt_sources[i]->open(&opts, &src)) {
			kmt_sources[i]->close(src);
			return kmt_sources[i];
		}
		kmt_buf_printf(why, "%s%s: %s", why->len ? "; " : "", kmt_sources[i]->name,
			       kmt_err_text());
	}
	return NULL;
}

/* Words after the 'col' columns that stand there, broken at WIDTH; further lines are indented. */
static void print_words(size_t col, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (col + 1 + len > WIDTH) {
			printf("\n%*s", INDENT + 2, "");
			col = INDENT + 2;
		} else {
			putchar(' ');
			col++;
		}
		printf("%.*s", (int)len, text);
		col += len;
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_wrapped(const char *first, const char *text)
{
	printf("%*s%s", INDENT, "", first);
	print_words(INDENT + strlen(first), text);
}

static void print_text(const struct kmt_probe *p)
{
	for (size_t i = 0; i < N_CHECKS; i++) {
		struct finding f;

		look(&checks[i], p, &f);
		print_words((size_t)printf("%-4s %-*s", status_text[f.status], NAME, checks[i].name),
			    f.value);
		if (f.costs)
			print_wrapped("costs:", f.costs);
		if (f.remedy)
			print_wrapped("to get it:", f.remedy);
	}
}

static int fill_row(struct kmt_report *r, const struct check *c, const struct kmt_probe *p)
{
	struct kmt_row *row = kmt_report_row(r);
	struct finding f;
	int err;

	if (!row)
		return -ENOMEM;
	look(c, p, &f);
	err = kmt_cell_text(&row->cells[0], c->name);
	err = err ? err : kmt_cell_text(&row->cells[1], status_text[f.status]);
	err = err ? err : kmt_cell_text(&row->cells[2], f.value);
	err = err ? err : kmt_cell_text(&row->cells[3], f.costs);
	return err ? err : kmt_cell_text(&row->cells[4], f.remedy);
}

static int fill_report(struct kmt_report *r, const struct kmt_probe *p, const char *source,
		       const struct kmt_buf *why)
{
	struct utsname un;
	int err = 0;

	if (!uname(&un))
		r->kernel = strdup(un.release);
	for (size_t i = 0; !err && i < N_CHECKS; i++)
		err = fill_row(r, &checks[i], p);
	r->rows_total = r->n_rows;
	if (!err && !source)
		err = kmt_report_note(r, "kmemtrace cannot trace here: %s", kmt_buf_str(why));
	return err ? err : kmt_fields_text(&r->summary, "source", "source used", source);
}

static int print_report(const struct kmt_renderer *renderer, const struct kmt_probe *p,
			const char *source, const struct kmt_buf *why)
{
	struct kmt_render_opts opts = { .first = true };
	struct kmt_report *r = NULL;
	int err = kmt_report_new("doctor", "checks", columns, N_COLUMNS, &r);

	if (!err)
		err = fill_report(r, p, source, why);
	if (!err)
		err = renderer->render(r, &opts, stdout);
	kmt_report_free(r);
	if (err == -ENOMEM)
		return kmt_err(err, "no memory for the report");
	return err == -EPIPE ? 0 : err;
}

struct options {
	const char *format;
};

static const struct kmt_option option_table[] = {
	{ .name = "format", .type = KMT_OPT_STRING, .offset = offsetof(struct options, format),
	  .arg = "FORMAT", .help = "text, json, csv or ndjson" },
	{ 0 }
};
static const struct kmt_option *const option_tables[] = { option_table, NULL };

static void print_verdict(const struct kmt_source_ops *source, const struct kmt_buf *why)
{
	if (source) {
		printf("kmemtrace can trace this kernel: the '%s' source will be used\n",
		       source->name);
		return;
	}
	printf("\n");
	print_wrapped("because", kmt_buf_str(why));
	printf("kmemtrace cannot trace here: no source can be used\n");
}

static int examine(const struct kmt_renderer *renderer)
{
	const struct kmt_source_ops *source;
	_cleanup_(kmt_buf_done) struct kmt_buf why = { 0 };
	struct kmt_probe p;
	int err = 0;

	kmt_probe(&p);
	source = usable_source(&why);
	if (!renderer) {
		print_text(&p);
		print_verdict(source, &why);
	} else {
		err = print_report(renderer, &p, source ? source->name : NULL, &why);
	}
	if (err)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	return source ? KMT_EXIT_OK : KMT_EXIT_IMPOSSIBLE;
}

static int run(int argc, char **argv)
{
	struct options o = { .format = "text" };
	const struct kmt_renderer *renderer;
	bool help;
	int next;

	if (kmt_options_parse(option_tables, &o, argc, argv, &next, &help))
		return kmt_cmd_usage_error("doctor");
	if (help)
		return kmt_cmd_help(kmt_command_find("doctor"));
	renderer = kmt_renderer_find(o.format);
	if (!renderer) {
		kmt_err(-EINVAL, "--format: there is no format '%s'", o.format);
		return kmt_cmd_usage_error("doctor");
	}
	if (next < argc) {
		kmt_err(-EINVAL, "unexpected argument '%s'", argv[next]);
		return kmt_cmd_usage_error("doctor");
	}
	return examine(strcmp(o.format, "text") ? renderer : NULL);
}

extern const struct kmt_command kmt_command_doctor;
const struct kmt_command kmt_command_doctor = {
	.name = "doctor",
	.synopsis = "doctor [OPTIONS]",
	.help = "what this machine allows, what a missing thing costs, how to get it",
	.options = option_tables,
	.run = run,
};
