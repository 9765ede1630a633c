// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/kept.h"
#include "core/only.h"
#include "symbol/gfp.h"
#include "symbol/slabs.h"
#include "symbol/symbols.h"
#include "tracers/tracers.h"
#include "kmt/wire.h"

#define SEC 1000000000ull
#define OFF(f) offsetof(struct kmt_select, f)

#define FILTER_ROW										\
	{ "filter", 'f', KMT_OPT_LIST, OFF(filter_exprs), "EXPR",				\
	  "only events with cache=GLOB, cache!=GLOB, site=GLOB, module=NAME, size=MIN..MAX, "	\
	  "task=GLOB, pid=N, tgid=N, cgroup=DIR; any column of a view: COLUMN>=VALUE; may be "	\
	  "given several times", 0, 0, NULL }
#define TRACER_ROW										\
	{ "tracer", 0, KMT_OPT_STRING, OFF(tracer), "A,B,...",					\
	  "slab, bulk, page, percpu or vmalloc (default: slab,bulk)", 0, 0, NULL }
#define USER_PAGES_ROW										\
	{ "user-pages", 0, KMT_OPT_FLAG, OFF(user_pages), NULL,					\
	  "with tracer page: pages of processes and page cache too", 0, 0, NULL }
#define KALLSYMS_ROW(what)									\
	{ "kallsyms", 0, KMT_OPT_STRING, OFF(kallsyms), "FILE",					\
	  "kernel symbols (default: the recording's own" what ")", 0, 0, NULL }
#define STRICT_ROW										\
	{ "strict", 0, KMT_OPT_FLAG, OFF(strict), NULL, "exit with 5 when data were lost",	\
	  0, 0, NULL }

const struct kmt_option kmt_select_file_options[] = {
	TRACER_ROW,
	USER_PAGES_ROW,
	FILTER_ROW,
	KALLSYMS_ROW(""),
	STRICT_ROW,
	{ 0 }
};

/* What is traced, and the room for it. */
#define TRACE_ROWS										\
	TRACER_ROW,										\
	USER_PAGES_ROW,										\
	FILTER_ROW,										\
	{ "follow", 0, KMT_OPT_FLAG, OFF(follow), NULL,						\
	  "only CMD and its children (or those of --filter tgid=N)", 0, 0, NULL },		\
	{ "objects", 0, KMT_OPT_U64, OFF(objects), "N",						\
	  "rows of the live-object table (default: from the slab population)",			\
	  64, 1ull << 32, NULL },								\
	{ "objects-kb", 0, KMT_OPT_U64, OFF(objects_kb), "KB",					\
	  "the same as memory, in KiB", 2, 1ull << 32, NULL },					\
	{ "hash-maps", 0, KMT_OPT_FLAG, OFF(hash_maps), NULL,					\
	  "keep the live objects in the kernel's hash maps, as Linux 5.10 must", 0, 0, NULL },	\
	{ "sites", 0, KMT_OPT_U64, OFF(sites), "N", "rows of the call-site table",		\
	  16, 1u << 20, NULL },									\
	{ "own", 0, KMT_OPT_FLAG, OFF(own), NULL,						\
	  "do not leave kmemtrace's own allocations out", 0, 0, NULL }

const struct kmt_option kmt_select_options[] = {
	{ "for", 't', KMT_OPT_DURATION, OFF(for_ns), "T",
	  "stop after this time (10s, 5m; default: until ^C or the end of CMD)",
	  1000000, 366 * 86400ull * SEC, NULL },
	{ "source", 0, KMT_OPT_STRING, OFF(source_name), "NAME",
	  "bpf or tracefs (default: the first that works here)", 0, 0, NULL },
	TRACE_ROWS,
	{ "buffer", 0, KMT_OPT_SIZE, OFF(buffer_bytes), "SIZE", "stream buffer for each CPU",
	  4096, 1ull << 30, NULL },
	{ "no-realtime", 0, KMT_OPT_FLAG_OFF, OFF(realtime), NULL,
	  "leave the reader of the stream at normal priority", 0, 0, NULL },
	KALLSYMS_ROW(", or /proc/kallsyms"),
	STRICT_ROW,
	{ 0 }
};

const struct kmt_option kmt_select_start_options[] = {
	TRACE_ROWS,
	KALLSYMS_ROW(", or /proc/kallsyms"),
	{ 0 }
};

const struct kmt_option kmt_select_session_options[] = {
	{ "session", 0, KMT_OPT_STRING, OFF(session), "NAME",
	  "read a session of 'kmemtrace start' instead of tracing", 0, 0, NULL },
	{ 0 }
};

const struct kmt_option kmt_select_from_options[] = {
	{ "from", 0, KMT_OPT_STRING, OFF(from), "FILE",
	  "read a recording instead of tracing ('-': standard input)", 0, 0, NULL },
	{ "ring", 0, KMT_OPT_SIZE, OFF(buffer_bytes), "SIZE", "older name of --buffer",
	  4096, 1ull << 30, NULL },
	{ 0 }
};

void kmt_select_init(struct kmt_select *s)
{
	*s = (struct kmt_select) { .realtime = true };
}

void kmt_select_done(struct kmt_select *s)
{
	if (s->source)
		s->source->ops->close(s->source);
	kmt_symbols_free(s->symbols);
	kmt_symbols_free(s->unreadable);
	kmt_slabs_free(s->slabs);
	kmt_gfp_names_free(s->gfp_names);
	kmt_strlist_done(&s->filter_exprs);
	kmt_strlist_done(&s->row_filters);
}

static int parse_filters(struct kmt_select *s)
{
	s->row_filters.v = calloc(s->filter_exprs.n + 1, sizeof(*s->row_filters.v));
	if (!s->row_filters.v)
		return kmt_err_errno(-ENOMEM, "filters");
	for (size_t i = 0; i < s->filter_exprs.n; i++) {
		/* what is counted already has rows only */
		int res = s->session ? 0 : kmt_filter_add(&s->filter, s->filter_exprs.v[i]);

		if (res < 0)
			return res;
		if (!res)
			s->row_filters.v[s->row_filters.n++] = s->filter_exprs.v[i];
	}
	s->filter.follow = s->follow;
	if (!s->module)
		return 0;
	if (kmt_module_name(s->module, s->module_name))
		return kmt_err(-EINVAL, "--module: %s", kmt_err_text());
	s->filter.follow_module = s->module_name;
	return 0;
}

static int load_symbols(struct kmt_select *s)
{
	if (s->kallsyms && kmt_symbols_load(s->kallsyms, &s->symbols))
		return kmt_cmd_fail(KMT_EXIT_INPUT, "%s", kmt_err_text());
	return 0;
}

/* A missing list of symbols is no error: addresses are printed instead. */
static void wait_for_symbols(struct kmt_select *s)
{
	if (!s->symbols || !kmt_symbols_wait(s->symbols))
		return;
	snprintf(s->no_symbols, sizeof(s->no_symbols), "%s", kmt_err_text());
	s->unreadable = s->symbols;	/* the source may have been given it */
	s->symbols = NULL;
}

void kmt_select_read_symbols(struct kmt_select *s)
{
	if (s->symbols)
		return;
	if (kmt_symbols_load_later(&s->symbols))
		snprintf(s->no_symbols, sizeof(s->no_symbols), "%s", kmt_err_text());
	wait_for_symbols(s);
}

/* Who cannot do without names while the source opens. */
static bool names_come_first(const struct kmt_select *s)
{
	return s->filter.site.n || s->filter.module.n || s->filter.follow_module ||
	       (KMT_TRACERS_OF_EVENTS(s->tracers) & ~KMT_TRACER_BIT(slab));
}

static int parse_tracers(struct kmt_select *s)
{
	s->tracers = kmt_tracers_default();
	if (s->tracer && kmt_tracers_parse(s->tracer, &s->tracers))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--tracer: %s (see 'kmemtrace list')",
				    kmt_err_text());
	if (s->user_pages && !(s->tracers & KMT_TRACER_BIT(page)))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--user-pages belongs to --tracer page");
	return 0;
}

int kmt_select_one_layer(const struct kmt_select *s)
{
	uint32_t layers = KMT_TRACERS_OF_EVENTS(s->tracers);

	if (!(layers & (layers - 1)))
		return 0;
	return kmt_cmd_fail(KMT_EXIT_USAGE, "--tracer: a report is about one of them, for slab "
			    "objects lie in pages, and '%s' are several", s->tracer);
}

void kmt_select_tell_left_out(const struct kmt_select *s, const struct kmt_only *o)
{
	struct kmt_buf names = { 0 };

	if (!s->from || !o->left_out)
		return;
	for (size_t i = 0; kmt_tracers[i].name; i++)
		if (kmt_tracers_types(1u << i) & o->left_out_types)
			kmt_buf_printf(&names, "%s%s", names.len ? "," : "", kmt_tracers[i].name);
	kmt_cmd_warn("%llu events of the recording are of other layers: see --tracer %s",
		     (unsigned long long)o->left_out, kmt_buf_str(&names));
	kmt_buf_done(&names);
}

int kmt_select_prepare(struct kmt_select *s, const char *command)
{
	int status = parse_tracers(s);

	if (status)
		return status;
	if (parse_filters(s))
		return kmt_cmd_usage_error(command);
	if (s->from && s->source_name)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--from and --source exclude each other");
	if (s->from && (s->for_ns || s->follow))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--from reads a recording: --for and --follow "
				    "belong to tracing");
	if (s->from && s->module)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--module belongs to tracing, not to --from");
	if (s->session) {
		status = kmt_kept_select(s);
		if (status)
			return status;
	}
	if (s->objects && s->objects_kb)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--objects and --objects-kb exclude each other");
	if (s->objects_kb)
		s->objects = s->objects_kb * 1024 / sizeof(struct kmt_bucket) * KMT_BUCKET_WAYS;
	return load_symbols(s);
}

int kmt_select_command(struct kmt_select *s, struct kmt_run *run, char **argv)
{
	struct kmt_filter *f = &s->filter;

	if (f->follow && !argv && !f->n_tgid && !f->n_pid)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--follow needs a CMD or --filter tgid=N");
	if (s->quiet_command ? kmt_run_init_quiet(run, argv) : kmt_run_init(run, argv))
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	if (f->follow && argv) {
		if (f->n_tgid >= KMT_FILTER_MAX)
			return kmt_cmd_fail(KMT_EXIT_USAGE, "--filter: more than %u processes",
					    KMT_FILTER_MAX - 1);
		f->tgid[f->n_tgid++] = run->pid;
	}
	return 0;
}

static int open_error(int err)
{
	int status = err == -EINVAL || err == -ERANGE || err == -E2BIG ? KMT_EXIT_USAGE :
		     KMT_EXIT_IMPOSSIBLE;

	return kmt_cmd_fail(status, "%s", kmt_err_text());
}

static int open_file(struct kmt_select *s, struct kmt_source_opts *opts)
{
	const struct kmt_source_ops *ops;
	sigset_t before;
	int err;

	opts->path = s->from;
	kmt_run_mortal(&before);
	err = kmt_source_for_file(s->from, &ops);
	if (!err)
		err = ops->open(opts, &s->source);
	kmt_run_deaf(&before);
	if (!err && ops->facts)
		s->facts = ops->facts(s->source);
	return err ? kmt_cmd_fail(KMT_EXIT_INPUT, "%s", kmt_err_text()) : 0;
}

const char *kmt_select_filters_text(const struct kmt_select *s, struct kmt_buf *buf)
{
	/* a session's are those that it was started with */
	const struct kmt_strlist *l = s->session ? &kmt_kept_ask_of(s->source)->filters :
						   &s->filter_exprs;

	for (size_t i = 0; i < l->n; i++)
		kmt_buf_printf(buf, "%s--filter %s", buf->len ? " " : "", l->v[i]);
	if (s->module)
		kmt_buf_printf(buf, "%s--module %s", buf->len ? " " : "", s->module);
	if (s->filter.follow)
		kmt_buf_printf(buf, "%s--follow", buf->len ? " " : "");
	return buf->len ? kmt_buf_str(buf) : NULL;
}

const struct kmt_symbols *kmt_select_symbols(const struct kmt_select *s)
{
	return s->symbols ? s->symbols : s->facts ? s->facts->symbols : NULL;
}

/* The first live source that opens; falling back is told, with its cause. */
static int open_live(struct kmt_select *s, struct kmt_source_opts *opts)
{
	char why[KMT_SOURCE_WHY];
	int err = kmt_source_open_live(opts, &s->source, why);

	if (err)
		return open_error(err);
	if (why[0])
		kmt_cmd_warn("%s; using %s: all events go through user space, which costs about "
			     "twice as much", why, s->source->ops->name);
	return 0;
}

static int open_named(struct kmt_select *s, struct kmt_source_opts *opts)
{
	const struct kmt_source_ops *ops = kmt_source_find(s->source_name);
	int err;

	if (!ops || !ops->live)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--source must be bpf or tracefs, not '%s'",
				    s->source_name);
	if (opts->key == KMT_BY_CGROUP && !ops->counted)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "the view cgroup needs the bpf source: events do "
				    "not say in which cgroup a task was");
	if (!kmt_source_suits(ops, opts))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--module needs the bpf source: %s cannot follow "
				    "a module", ops->name);
	err = ops->open(opts, &s->source);
	return err ? open_error(err) : 0;
}

/* Whichever source it will be: without names these filters let nothing pass. */
static int start_symbols(struct kmt_select *s)
{
	/* a second CPU reads them while this one does the rest */
	if (names_come_first(s))
		kmt_select_read_symbols(s);
	else if (!s->symbols && kmt_symbols_load_later(&s->symbols))
		snprintf(s->no_symbols, sizeof(s->no_symbols), "%s", kmt_err_text());
	if (s->symbols || !(s->filter.site.n || s->filter.module.n))
		return 0;
	return kmt_cmd_fail(KMT_EXIT_USAGE, "a site or module filter needs the kernel's symbols, "
			    "and %s", s->no_symbols);
}

/* The kernel's types are loaded once, for all that asks them while the source opens. */
static int open_this_machine(struct kmt_select *s, struct kmt_source_opts *opts)
{
	struct btf *btf = NULL;
	int status;

	status = start_symbols(s);
	if (status)
		return status;
	opts->symbols = s->symbols;
	kmt_kernel_btf_load(&btf);
	if (!s->gfp_names)
		kmt_gfp_names_of(btf, &s->gfp_names);
	/* without privilege there are no cache names and no aliases; the tracer says more */
	kmt_slabs_load(NULL, &s->slabs);
	opts->slabs = s->slabs;
	opts->gfp_names = s->gfp_names;
	opts->btf = btf;
	status = s->source_name ? open_named(s, opts) : open_live(s, opts);
	opts->btf = NULL;
	kmt_kernel_btf_free(btf);
	wait_for_symbols(s);
	return status;
}

int kmt_select_open(struct kmt_select *s, struct kmt_source_opts *opts)
{
	int status;

	opts->filter = &s->filter;
	opts->symbols = s->symbols;
	opts->objects = s->objects;
	opts->objects_bytes = s->objects_kb * 1024;
	opts->hash_maps = s->hash_maps;
	opts->sites = s->sites;
	opts->ring_bytes = s->buffer_bytes;
	opts->own = s->own;
	opts->tracers = s->tracers;
	opts->must_bulk = s->tracer && (s->tracers & KMT_TRACER_BIT(bulk));
	opts->user_pages = s->user_pages;
	opts->realtime = s->realtime;
	if (s->from)
		return open_file(s, opts);
	if (s->session) {
		kmt_select_read_symbols(s);
		if (s->no_symbols[0])
			kmt_cmd_warn("%s; call sites are shown as addresses", s->no_symbols);
		return 0;	/* open since it was asked for */
	}
	status = open_this_machine(s, opts);
	if (!status && s->no_symbols[0])
		kmt_cmd_warn("%s; call sites are shown as addresses", s->no_symbols);
	return status;
}
