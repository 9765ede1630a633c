// SPDX-License-Identifier: GPL-2.0-only
/*
 * A recording against tests/store/decode.py, which was written from
 * kmemtrace-file(5) alone: each line it prints is compared with what was put in.
 */
#include "store.h"

#include <inttypes.h>

#include "base/buf.h"
#include "core/snapshot.h"
#include "symbol/gfp.h"
#include "symbol/slabs.h"
#include "symbol/symbols.h"

#define EVENTS 1500

static void add_name(struct kmt_buf *b, const char *name)
{
	kmt_buf_puts(b, name ? "'" : "-");
	for (; name && *name; name++)
		kmt_buf_printf(b, "%02x", (unsigned char)*name);
}

static void add_stack(struct kmt_buf *b, const uint64_t *ips, size_t n)
{
	if (!n)
		kmt_buf_puts(b, "-");
	for (size_t i = 0; i < n; i++)
		kmt_buf_printf(b, "%s%" PRIx64, i ? "," : "", ips[i]);
}

static const char *op_name(enum kmt_op op)
{
	return op == KMT_OP_ALLOC ? "alloc" : op == KMT_OP_FREE ? "free" : "give_up";
}

static void add_event(struct kmt_buf *b, const struct kmt_event *ev)
{
	kmt_buf_printf(b, "event %s type %u time %u:%" PRIu64 " task %u:%u/%u ",
		       op_name(ev->op), ev->type, ev->has_time, ev->ts_ns, ev->has_task, ev->pid,
		       ev->tgid);
	add_name(b, ev->comm);
	kmt_buf_printf(b, " cpu %u node %d real %d inferred %u order %d migratetype %d site %" PRIx64
		       " ", ev->cpu, ev->node, ev->real_node, ev->cache_inferred, ev->order,
		       ev->migratetype, ev->call_site);
	add_name(b, ev->call_site_name);
	kmt_buf_puts(b, " cache ");
	add_name(b, ev->cache);
	kmt_buf_printf(b, " addr %" PRIx64 " req %" PRIu64 " alloc %" PRIu64 " gfp %" PRIx64
		       " stack ", ev->addr, ev->bytes_req, ev->bytes_alloc, ev->gfp);
	add_stack(b, ev->ips, ev->n_ips);
	kmt_buf_puts(b, "\n");
}

static void add_lost(struct kmt_buf *b, const struct kmt_lost *l)
{
	kmt_buf_printf(b, "lost reason %d cpu %u events %" PRIu64 " ts %" PRIu64 "\n", l->reason,
		       l->cpu, l->events, l->ts_ns);
}

static void add_numbers(struct kmt_buf *b, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kmt_buf_printf(b, "%s%" PRIu64, i ? "," : "", v[i]);
}

static void add_site(struct kmt_buf *b, const struct kmt_snap_site *s)
{
	kmt_buf_printf(b, "site type %u inferred %u task %u migratetype %d %" PRIx64 " ", s->key.type,
		       s->key.cache_inferred, s->key.by_task,
		       s->key.type == KMT_TYPE_PAGES ? s->key.migratetype : -1, s->key.call_site);
	add_name(b, s->key.call_site_name);
	kmt_buf_puts(b, " stack ");
	add_stack(b, s->key.ips, s->key.n_ips);
	kmt_buf_printf(b, " tgid %u ", s->key.tgid);
	add_name(b, s->key.comm);
	kmt_buf_puts(b, " cache ");
	add_name(b, s->key.cache);
	kmt_buf_printf(b, " object %u size %u counts ", s->key.object_size, s->key.size);
	add_numbers(b, (const uint64_t *)&s->counts, sizeof(s->counts) / 8);
	kmt_buf_printf(b, " gfp %" PRIx64 " index %u lives ", s->gfp, s->index);
	add_numbers(b, s->lifetimes, KMT_LIFETIMES);
	kmt_buf_puts(b, "\n");
}

static const struct kmt_snap_object objects[] = {
	{ 0xffff888100000040, 33, 1ull << 63, 6, 1, false },
	{ 0xffff888100000000, UINT64_MAX, 0, UINT32_MAX, UINT32_MAX, true },
};

static int walk(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o), void *cb_ctx)
{
	for (size_t i = 0; i < 2; i++)
		if (cb(cb_ctx, &objects[i]))
			return -1;
	return 0;
}

/* The counted tables, and what is to be printed of them. */
static void put_snapshot(struct recording *r, struct kmt_buf *want)
{
	static const uint64_t ips[] = { 0xffffffff81000045, 1 };
	struct kmt_snap_site sites[2] = {
		{ .key = { .type = 2, .migratetype = 5, .cache_inferred = true, .call_site = 0xffffffff81000001,
			   .cache = "dentry", .object_size = 192, .size = 192 },
		  .gfp = 0xcc0, .index = 6 },
		{ .key = { .by_task = true, .migratetype = -1, .tgid = 4242, .comm = "cc1 \xff", .ips = ips,
			   .n_ips = 2, .call_site_name = "func+0x1" },
		  .index = 7 },
	};
	const struct kmt_snap_free_site frees[] = { { UINT64_MAX, 3, 1ull << 32 } };
	const struct kmt_snapshot snap = {
		.now_ns = 555, .sites = sites, .n_sites = 2, .free_sites = frees, .n_free_sites = 1,
		.each_object = walk,
	};

	for (size_t k = 0; k < sizeof(sites[0].counts) / 8; k++)
		((uint64_t *)&sites[0].counts)[k] = k * k << 3 * k;
	for (size_t k = 0; k < KMT_LIFETIMES; k++)
		sites[1].lifetimes[k] = 1ull << 2 * k;
	assert_int_equal(r->sink.snapshot(r->sink.ctx, &snap), 0);
	add_site(want, &sites[0]);
	add_site(want, &sites[1]);
	kmt_buf_puts(want, "free_site ffffffffffffffff type 3 frees 4294967296\n"
		     "object ffff888100000040 req 33 birth 9223372036854775808 site 6 cpu 1 "
		     "awaiting 0\n"
		     "object ffff888100000000 req 18446744073709551615 birth 0 site 4294967295 "
		     "cpu 4294967295 awaiting 1\n"
		     "totals time 555 sites 2 free_sites 1 objects 2\n");
}

static struct kmt_facts make_facts(void)
{
	static const char kallsyms[] = "ffffffff81000000 T one\nffffffff81000123 t two\n"
				       "ffffffffc0000000 t three\t[mod]\n";
	struct kmt_symbols *symbols;
	struct kmt_slabs *slabs, *end;
	struct kmt_gfp_names *gfp;

	assert_int_equal(kmt_symbols_parse(kallsyms, strlen(kallsyms), "x", &symbols), 0);
	assert_int_equal(kmt_slabs_parse("5 10 64 8 kmalloc-64\tx\ty\n", 25, "x", &slabs), 0);
	assert_int_equal(kmt_slabs_parse("7 7 8 9 late\n", 13, "x", &end), 0);
	assert_int_equal(kmt_gfp_names_parse("0x0 none\n0xcc0 GFP_KERNEL\n", 26, &gfp), 0);
	return (struct kmt_facts){
		.symbols = symbols, .slabs_start = slabs, .slabs_end = end, .gfp_names = gfp,
		.kernel = "6.18\n", .clock = "mono", .start_ns = 17, .n_cpus = 2, .end_ns = 99,
	};
}

static void free_facts(struct kmt_facts *f)
{
	kmt_symbols_free((struct kmt_symbols *)f->symbols);
	kmt_slabs_free((struct kmt_slabs *)f->slabs_start);
	kmt_slabs_free((struct kmt_slabs *)f->slabs_end);
	kmt_gfp_names_free((struct kmt_gfp_names *)f->gfp_names);
}

static void put_events(struct recording *r, struct kmt_buf *want)
{
	struct full_event *f = calloc(1, sizeof(*f));
	const struct kmt_lost lost = { .reason = KMT_LOSS_CACHES, .cpu = 1, .events = 2, .ts_ns = 3 };
	uint64_t state = 99;

	assert_non_null(f);
	for (size_t i = 0; i < EVENTS; i++) {
		random_event(&state, i % 3, f);
		assert_int_equal(r->sink.event(r->sink.ctx, &f->ev), 0);
		add_event(want, &f->ev);
		if (i % 700 && i != EVENTS - 1)
			continue;
		assert_int_equal(r->sink.lost(r->sink.ctx, &lost), 0);
		add_lost(want, &lost);
	}
	free(f);
}

static const char facts_lines[] =
	"symbol ffffffff81000000 one -\nsymbol ffffffff81000123 two -\n"
	"symbol ffffffffc0000000 three mod\n"
	"gfp 0x0 none\ngfp 0xcc0 GFP_KERNEL\n"
	"meta source bpf\nmeta options -f x\nmeta kernel 6.18\\x0a\nmeta clock mono\n"
	"meta start_realtime_ns 0\nmeta start_ns 17\nmeta temporary_ns 0\nmeta page_size 0\n"
	"meta n_cpus 2\n"
	"slabs_start 5 10 64 8 kmalloc-64\tx\ty\n";

static const char quality_lines[] =
	"quality source bpf\nquality mode streamed\nquality window_ns 1\nquality events 2\n"
	"quality recursion_misses 3\nquality misses_untold 14\n"
	"quality frees_before_start 4\n"
	"quality given_up_before_start 15\nquality untraced_frees 5\n"
	"quality failed_allocations 6\nquality null_frees 7\nquality filtered 8\n"
	"quality unknown_tasks 16\nquality own 9\n"
	"quality sample_bytes 10\nquality table_bytes 11\nquality objects_capacity 12\n"
	"quality clock_resolution_ns 13\nquality lost_ring 20\nquality lost_sites 21\n"
	"quality lost_objects 22\nquality lost_stacks 23\nquality lost_caches 24\n"
	"quality lost_input 25\nquality lost_beginning 26\nquality lost_unknown 1\nquality hashed_addresses 0\n"
	"quality end_ns 99\nend\n";

static void make(struct recording *r, struct kmt_buf *want)
{
	struct kmt_quality q = {
		.source = "bpf", .mode = "streamed", .window_ns = 1, .events = 2,
		.lost = { 20, 21, 22, 23, 24, 25, 26 }, .lost_unknown = true,
		.recursion_misses = 3, .misses_untold = 14, .given_up_before_start = 15,
		.frees_before_start = 4, .untraced_frees = 5, .failed_allocations = 6,
		.null_frees = 7, .filtered = 8, .unknown_tasks = 16, .own = 9, .sample_bytes = 10, .table_bytes = 11,
		.objects_capacity = 12, .clock_resolution_ns = 13,
	};
	struct kmt_facts f = make_facts();
	const struct kmt_writer_opts opts = { .source = "bpf", .options = "-f x", .facts = &f };

	assert_int_equal(recording_new(r, opts), 0);
	kmt_buf_puts(want, facts_lines);
	put_events(r, want);
	kmt_buf_puts(want, "slabs_end 7 7 8 9 late\n");
	put_snapshot(r, want);
	kmt_buf_puts(want, quality_lines);
	recording_end(r, &f, &q);
	free_facts(&f);
}

/* What decode.py prints of a file, as far as lines begin with 'only', against 'want'. */
static size_t compare(const char *path, const char *only, const struct kmt_buf *want)
{
	char command[256], line[8192];
	const char *at = kmt_buf_str(want);
	size_t n = 0;
	FILE *p;

	snprintf(command, sizeof(command), "python3 tests/store/decode.py %s", path);
	p = popen(command, "r");
	assert_non_null(p);
	while (fgets(line, sizeof(line), p)) {
		size_t len = strcspn(at, "\n") + 1;

		if (strncmp(line, only, strlen(only)))
			continue;
		n++;
		if (strlen(line) != len || strncmp(line, at, len))
			fail_msg("line %zu\n got: %s want: %.*s", n, line, (int)len, at);
		at += len;
	}
	assert_int_equal(pclose(p), 0);
	assert_string_equal(at, "");
	return n;
}

static bool has_python(void)
{
	return !system("python3 -c 'import ctypes' 2>/dev/null");
}

static void test_decode(void **state)
{
	struct kmt_buf want = { 0 };
	struct recording r;

	if (!has_python())
		skip();
	make(&r, &want);
	assert_true(compare(r.path, "", &want) > EVENTS + 40);	/* the memfd is inherited */
	recording_done(&r);
	kmt_buf_done(&want);
}

/* ---- recordings of earlier days: the reader and the decoder see the same ---- */

static int text_event(void *ctx, const struct kmt_event *ev)
{
	add_event(ctx, ev);
	return 0;
}

static int text_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_sites; i++)
		add_site(ctx, &snap->sites[i]);
	return 0;
}

static void read_golden(const char *path, struct kmt_buf *want, struct kmt_quality *q)
{
	const struct kmt_source_opts opts = { .path = path };
	const struct kmt_sink sink = { .event = text_event, .snapshot = text_snapshot,
				       .ctx = want };
	struct kmt_symbol sym;
	struct kmt_source *src;

	assert_int_equal(kmt_source_kmt_file.open(&opts, &src), 0);
	while (kmt_source_kmt_file.poll(src, &sink, 0) >= 0)
		;
	kmt_source_kmt_file.quality(src, q);
	assert_true(kmt_symbols_by_name(kmt_source_kmt_file.facts(src)->symbols,
					"do_epoll_create", NULL, &sym));
	assert_non_null(kmt_slabs_find(kmt_source_kmt_file.facts(src)->slabs_end, "filp"));
	kmt_source_kmt_file.close(src);
}

static void test_golden(void **state)
{
	struct kmt_buf want = { 0 };
	struct kmt_quality q;

	if (!has_python())
		skip();
	read_golden("tests/golden/kmt/v1-stacks.kmt", &want, &q);
	assert_int_equal(compare("tests/golden/kmt/v1-stacks.kmt", "event ", &want), 5837);
	assert_int_equal(q.null_frees, 1899);	/* as told when it was recorded */
	assert_int_equal(q.own, 809);
	assert_false(q.lost_unknown);
	kmt_buf_clear(&want);
	read_golden("tests/golden/kmt/v1-counted.kmt", &want, &q);
	assert_true(compare("tests/golden/kmt/v1-counted.kmt", "site ", &want) > 50);
	assert_int_equal(q.events, 44942);
	assert_string_equal(q.mode, "counted");
	kmt_buf_done(&want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),
		cmocka_unit_test(test_golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
