/* SPDX-License-Identifier: GPL-2.0-only */
/* A session to look at: symbols and slabinfo in a temporary root, events, cells. */
#ifndef KMT_TESTS_UNIT_WORLD_H
#define KMT_TESTS_UNIT_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "core/observer.h"
#include "core/session.h"
#include "report/report.h"
#include "symbol/slabs.h"
#include "symbol/symbols.h"

/* no test needs all of it */
#pragma GCC diagnostic ignored "-Wunused-function"

/* ---- the world: symbols, two looks at slabinfo -------------------------------- */

#define LOAD_MSG	UINT64_C(0xffffffff81000110)	/* load_msg+0x10 */
#define MAS_ALLOC	UINT64_C(0xffffffff81000230)	/* mas_alloc+0x30 */
#define IN_MODULE	UINT64_C(0xffffffffa0000020)	/* mod_get+0x20 [mymod] */
#define FREE_MSG	UINT64_C(0xffffffff81000308)	/* free_msg+0x8 */
#define SYSCALL		UINT64_C(0xffffffff81000404)	/* do_syscall+0x4 */
#define KMALLOC_IN	UINT64_C(0xffffffff81000504)	/* __kmalloc_noprof+0x4 */
#define BPF_IN		UINT64_C(0xffffffff81000604)	/* bpf_trace_run5+0x4 */

static const char kallsyms[] =
	"ffffffff81000000 T _stext\n"
	"ffffffff81000100 T load_msg\n"
	"ffffffff81000200 t mas_alloc\n"
	"ffffffff81000300 T free_msg\n"
	"ffffffff81000400 T do_syscall\n"
	"ffffffff81000500 T __kmalloc_noprof\n"
	"ffffffff81000600 T bpf_trace_run5\n"
	"ffffffff81000700 T last_one\n"
	"ffffffffa0000000 t mod_get\t[mymod]\n"
	"ffffffffa0001000 t mod_end\t[mymod]\n";

static char root[64];

static void path_of(char *out, size_t size, const char *name)
{
	assert_true((size_t)snprintf(out, size, "%s/%s", root, name) < size);
}

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	path_of(path, sizeof(path), name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int make_root(void **state)
{
	static const char *const dirs[] = { "proc", "sys", "sys/kernel", "sys/kernel/slab",
					    "sys/kernel/slab/:0000256" };
	char path[256];

	snprintf(root, sizeof(root), "/tmp/kmt-analysis-XXXXXX");
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		path_of(path, sizeof(path), dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	path_of(path, sizeof(path), "sys/kernel/slab/tw_sock_TCP");
	assert_int_equal(symlink(":0000256", path), 0);
	path_of(path, sizeof(path), "sys/kernel/slab/eventpoll_epi");
	assert_int_equal(symlink(":0000256", path), 0);
	write_file("kallsyms", kallsyms);
	return 0;
}

static int remove_root(void **state)
{
	static const char *const names[] = {
		"sys/kernel/slab/tw_sock_TCP", "sys/kernel/slab/eventpoll_epi",
		"sys/kernel/slab/:0000256", "sys/kernel/slab", "sys/kernel", "sys",
		"proc/slabinfo", "proc", "kallsyms", "",
	};
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(path, sizeof(path), names[i]);
		remove(path);
	}
	return 0;
}

#define HEAD "slabinfo - version: 2.1\n# name <active_objs> <num_objs> <objsize> ...\n"
#define LINE(name, active, size, per_slab)							\
	name "   " active " 9999 " size " " per_slab						\
	" 1 : tunables    0    0    0 : slabdata      1      1      0\n"

static inline struct kmt_slabs *slabs(const char *text)
{
	struct kmt_slabs *s = NULL;

	write_file("proc/slabinfo", text);
	assert_int_equal(kmt_slabs_load(root, &s), 0);
	return s;
}

struct world {
	struct kmt_session *session;
	struct kmt_sink sink;
	struct kmt_symbols *symbols;
	struct kmt_slabs *start, *end;
	struct kmt_analysis_in in;
	struct kmt_report *r;
};

static void open_world(struct world *w, struct kmt_session_opts opts)
{
	char path[256];

	*w = (struct world){ 0 };
	assert_int_equal(kmt_session_new(&opts, &w->session), 0);
	w->sink = kmt_session_sink(w->session);
	path_of(path, sizeof(path), "kallsyms");
	assert_int_equal(kmt_symbols_load(path, &w->symbols), 0);
	w->in = (struct kmt_analysis_in){ .session = w->session, .symbols = w->symbols,
					  .command = "stat" };
}

static void close_world(struct world *w)
{
	kmt_report_free(w->r);
	kmt_slabs_free(w->start);
	kmt_slabs_free(w->end);
	kmt_symbols_free(w->symbols);
	kmt_session_free(w->session);
}

static inline void set_slabs(struct world *w, const char *start, const char *end)
{
	w->in.slabs_start = w->start = slabs(start);
	w->in.slabs_end = w->end = slabs(end);
}

#define MSG_ADDR UINT64_C(0xffff888100000000)

static inline void alloc(struct world *w, uint64_t site, const char *cache, uint64_t addr, uint64_t req,
		  uint64_t given, uint64_t ts)
{
	struct kmt_event ev = {
		.op = KMT_OP_ALLOC, .type = cache && strncmp(cache, "kmalloc", 7) ?
		KMT_TYPE_CACHE : KMT_TYPE_KMALLOC, .call_site = site, .cache = cache, .addr = addr,
		.bytes_req = req, .bytes_alloc = given, .has_time = true, .ts_ns = ts, .gfp = 0xcc0,
	};

	assert_int_equal(w->sink.event(w->sink.ctx, &ev), 0);
}

static inline void release(struct world *w, uint64_t addr, uint32_t cpu, uint64_t ts)
{
	struct kmt_event ev = { .op = KMT_OP_FREE, .call_site = FREE_MSG, .addr = addr, .cpu = cpu,
				.has_time = true, .ts_ns = ts };

	assert_int_equal(w->sink.event(w->sink.ctx, &ev), 0);
}

/* 1000 messages of 1048 bytes in a 2 KiB cache, one every microsecond from 1 s on. */
static inline void messages(struct world *w)
{
	for (uint64_t i = 0; i < 1000; i++)
		alloc(w, LOAD_MSG, "kmalloc-cg-2k", MSG_ADDR + i * 2048, 1048, 2048,
		      1000000000 + i * 1000);
}

/* Hang a view's observer on the session, as must be done before the first event. */
static inline void watch(struct world *w, const char *view)
{
	const struct kmt_observer *o = kmt_analysis_find(view)->observer;

	assert_non_null(o);
	assert_int_equal(kmt_session_observe(w->session, o), 0);
}

static void run(struct world *w, const char *view)
{
	const struct kmt_analysis *a = kmt_analysis_find(view);

	assert_non_null(a);
	kmt_report_free(w->r);
	w->r = NULL;
	assert_int_equal(a->run(&w->in, &w->r), 0);
	assert_string_equal(w->r->command, "stat");
	assert_string_equal(w->r->view, view);
}

/* ---- reading a report ----------------------------------------------------------- */

static inline const struct kmt_cell *cell(const struct world *w, size_t row, const char *key)
{
	int c = kmt_report_column(w->r, key);

	if (c < 0)
		fail_msg("no column '%s'", key);
	assert_true(row < w->r->n_rows);
	return &w->r->rows[row].cells[c];
}

static inline void is_int(const struct world *w, size_t row, const char *key, int64_t want)
{
	const struct kmt_cell *c = cell(w, row, key);

	if (c->is_null || c->i != want)
		fail_msg("%s in row %zu: %s%lld, expected %lld", key, row,
			 c->is_null ? "null " : "", (long long)c->i, (long long)want);
}

static inline void is_text(const struct world *w, size_t row, const char *key, const char *want)
{
	const struct kmt_cell *c = cell(w, row, key);

	if (c->is_null || strcmp(c->text, want))
		fail_msg("%s in row %zu: '%s', expected '%s'", key, row,
			 c->is_null ? "(null)" : c->text, want);
}

static inline void is_null(const struct world *w, size_t row, const char *key)
{
	if (!cell(w, row, key)->is_null)
		fail_msg("%s in row %zu is not null", key, row);
}

static inline const struct kmt_field *field(const struct kmt_fields *f, const char *key)
{
	const struct kmt_field *v = kmt_fields_find(f, key);

	if (!v)
		fail_msg("no field '%s'", key);
	return v;
}

static inline void field_is(const struct kmt_fields *f, const char *key, int64_t want)
{
	const struct kmt_field *v = field(f, key);

	if (v->cell.is_null || v->cell.i != want)
		fail_msg("%s: %s%lld, expected %lld", key, v->cell.is_null ? "null " : "",
			 (long long)v->cell.i, (long long)want);
}

static size_t row_of(const struct world *w, const char *key, const char *text)
{
	int c = kmt_report_column(w->r, key);

	assert_true(c >= 0);
	for (size_t i = 0; i < w->r->n_rows; i++)
		if (!w->r->rows[i].cells[c].is_null && !strcmp(w->r->rows[i].cells[c].text, text))
			return i;
	fail_msg("no row with %s '%s'", key, text);
	return 0;
}

static inline bool has_note(const struct world *w, const char *part)
{
	for (size_t i = 0; i < w->r->n_notes; i++)
		if (strstr(w->r->notes[i], part))
			return true;
	return false;
}

#endif
