// SPDX-License-Identifier: GPL-2.0-only
/* Views that are more than rows of counters, with numbers worked out by hand. */
#include "unit/world.h"

#include <errno.h>

#include "analysis/classes.h"
#include "analysis/hist.h"
#include "analysis/subsystem.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#define MS UINT64_C(1000000)

static void is_percent(const struct world *w, size_t row, const char *key, double want)
{
	const struct kmt_cell *c = cell(w, row, key);

	if (c->is_null || c->d < want - 0.005 || c->d > want + 0.005)
		fail_msg("%s in row %zu: %s%f, expected %f", key, row, c->is_null ? "null " : "",
			 c->d, want);
}

/* An allocation of 'given' bytes that lives for 'life' ns, from 'ts' on. */
static void brief(struct world *w, uint64_t site, const char *cache, uint64_t given, uint64_t ts,
		  uint64_t life)
{
	alloc(w, site, cache, 0x900000, given, given, ts);
	release(w, 0x900000, 0, ts + life);
}

/* ---- histograms --------------------------------------------------------------------- */

static void test_hist(void **state)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };
	uint64_t v[KMT_LIFETIMES] = { 0 }, ns = 7;

	assert_false(kmt_hist_percentile(v, 50, &ns));
	assert_int_equal(ns, 7);
	assert_int_equal(kmt_hist_from(0), 0);
	assert_int_equal(kmt_hist_from(1), 2048);
	assert_true(kmt_hist_to(0, &ns));
	assert_int_equal(ns, 2048);
	assert_true(kmt_hist_to(30, &ns));
	assert_int_equal(ns, UINT64_C(1024) << 31);	/* 2199 s */
	assert_false(kmt_hist_to(31, &ns));

	/* 1 + 98 + 1: of 100 the first ends in bucket 0, the 99th in 5, the last in 31 */
	v[0] = 1;
	v[5] = 98;
	v[31] = 1;
	assert_int_equal(kmt_hist_total(v), 100);
	assert_true(kmt_hist_percentile(v, 1, &ns));
	assert_int_equal(ns, 2048);
	assert_true(kmt_hist_percentile(v, 2, &ns));
	assert_int_equal(ns, 65536);
	assert_true(kmt_hist_percentile(v, 99, &ns));
	assert_int_equal(ns, 65536);
	assert_true(kmt_hist_percentile(v, 100, &ns));
	assert_int_equal(ns, UINT64_C(1024) << 31);	/* the beginning of what has no end */
	kmt_hist_strip(v, &b);
	assert_string_equal(kmt_buf_str(&b), "0....9.........................0");
	kmt_buf_clear(&b);
	v[5] = 1;
	v[7] = 2;
	kmt_hist_strip(v, &b);	/* fifths: 1, 1, 2, 1 */
	assert_string_equal(kmt_buf_str(&b), "2....2.4.......................2");
	/* the scale stands above it: 65 us is where bucket 5 ends, 2.1 s bucket 20 */
	assert_memory_equal(KMT_HIST_SCALE + 5, "65us", 4);
	assert_memory_equal(KMT_HIST_SCALE + 20, "2s", 2);

	kmt_buf_clear(&b);
	kmt_hist_bar(1, 1000, 10, &b);
	kmt_buf_puts(&b, "|");
	kmt_hist_bar(0, 1000, 10, &b);
	kmt_buf_puts(&b, "|");
	kmt_hist_bar(1000, 1000, 10, &b);
	kmt_buf_puts(&b, "|");
	kmt_hist_bar(349, 1000, 10, &b);	/* 3.49 */
	kmt_buf_puts(&b, "|");
	kmt_hist_bar(UINT64_MAX, UINT64_MAX, 4, &b);
	assert_string_equal(kmt_buf_str(&b), "#||##########|###|####");
}

/* ---- temporary ------------------------------------------------------------------------ */

/*
 * load_msg: 10 of 64 bytes for 3 us, 5 of 2048 for 0.9 ms, 5 of 64 for 1 ms and 1 ns;
 * mas_alloc: 2 of 256 for 100 us; mod_get keeps what it has.
 */
static void test_temporary(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (uint64_t i = 0; i < 10; i++)
		brief(&w, LOAD_MSG, "kmalloc-64", 64, (1 + i) * 10 * MS, 3000);
	for (uint64_t i = 0; i < 5; i++)
		brief(&w, LOAD_MSG, "kmalloc-cg-2k", 2048, (20 + i) * 10 * MS, 900000);
	for (uint64_t i = 0; i < 5; i++)
		brief(&w, LOAD_MSG, "kmalloc-64", 64, (30 + i) * 10 * MS, MS + 1);
	brief(&w, MAS_ALLOC, "maple_node", 256, 400 * MS, 100000);
	brief(&w, MAS_ALLOC, "maple_node", 256, 410 * MS, 100000);
	alloc(&w, IN_MODULE, "kmalloc-64", 0x10000, 50, 64, 420 * MS);
	run(&w, "temporary");
	assert_int_equal(w.r->n_rows, 2);	/* mod_get has none */
	is_text(&w, 0, "site", "load_msg+0x10");
	is_text(&w, 0, "cache", "2 caches");
	is_int(&w, 0, "temporary", 15);
	is_int(&w, 0, "allocs", 20);
	is_percent(&w, 0, "temporary_percent", 75);
	is_int(&w, 0, "temporary_bytes", 10 * 64 + 5 * 2048);
	/* the 10th of 20 lived 3 us, which is in 2.048 .. 4.096 us */
	is_int(&w, 0, "lifetime_p50_ns", 4096);
	is_text(&w, 1, "site", "mas_alloc+0x30");
	is_int(&w, 1, "temporary", 2);
	is_percent(&w, 1, "temporary_percent", 100);
	is_int(&w, 1, "temporary_bytes", 512);
	is_int(&w, 1, "lifetime_p50_ns", 131072);	/* 100 us: 65.5 .. 131 us */
	assert_int_equal(w.r->sort_column, kmt_report_column(w.r, "temporary"));

	/* the next interval has one */
	kmt_session_mark(w.session);
	brief(&w, MAS_ALLOC, "maple_node", 256, 430 * MS, 10);
	alloc(&w, MAS_ALLOC, "maple_node", 0x20000, 256, 256, 440 * MS);
	w.in.interval_ns = 100 * MS;
	w.in.min_age_ns = 1;
	run(&w, "temporary");
	assert_int_equal(w.r->n_rows, 1);
	is_int(&w, 0, "temporary", 1);
	is_percent(&w, 0, "temporary_percent", 50);
	is_int(&w, 0, "temporary_bytes", 256);
	assert_true(has_note(&w, "--min-age does not change this view"));
	close_world(&w);
}

/* The same number wherever a row has it, and a share is never more than all. */
static void test_temporary_everywhere(void **state)
{
	struct world w;
	size_t i;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (uint64_t n = 0; n < 3; n++)
		brief(&w, LOAD_MSG, "kmalloc-64", 64, (1 + n) * 10 * MS, 3000);
	brief(&w, LOAD_MSG, "kmalloc-cg-2k", 2048, 50 * MS, 2 * MS);
	alloc(&w, IN_MODULE, "kmalloc-64", 0x10000, 50, 64, 60 * MS);
	run(&w, "site");
	is_percent(&w, row_of(&w, "site", "load_msg+0x10"), "temporary_percent", 75);
	is_percent(&w, row_of(&w, "site", "mod_get+0x20 [mymod]"), "temporary_percent", 0);
	run(&w, "cache");
	is_percent(&w, row_of(&w, "cache", "kmalloc-64"), "temporary_percent", 75);
	is_percent(&w, row_of(&w, "cache", "kmalloc-cg-2k"), "temporary_percent", 0);
	run(&w, "module");
	is_percent(&w, row_of(&w, "module", "vmlinux"), "temporary_percent", 75);
	assert_int_equal(kmt_report_filter(w.r, "temporary_percent>=50"), 0);
	assert_int_equal(w.r->n_rows, 1);

	/* two are taken before the mark and one after it; all three are freed after it */
	alloc(&w, MAS_ALLOC, "maple_node", 0x20000, 256, 256, 100 * MS);
	alloc(&w, MAS_ALLOC, "maple_node", 0x20100, 256, 256, 100 * MS);
	kmt_session_mark(w.session);
	w.in.interval_ns = 100 * MS;
	alloc(&w, MAS_ALLOC, "maple_node", 0x20200, 256, 256, 100 * MS);
	for (uint64_t n = 0; n < 3; n++)
		release(&w, 0x20000 + n * 0x100, 0, 100 * MS + 5000);
	run(&w, "site");
	i = row_of(&w, "site", "mas_alloc+0x30");
	is_int(&w, i, "temporary", 3);
	is_int(&w, i, "allocs", 1);
	is_percent(&w, i, "temporary_percent", 100);
	i = row_of(&w, "site", "load_msg+0x10");
	is_null(&w, i, "temporary_percent");	/* took nothing in this time */
	is_null(&w, i, "waste_percent");
	close_world(&w);
}

/* ---- lifetimes ---------------------------------------------------------------------------- */

/*
 * load_msg: 6 of 3 us (bucket 1), 1 of 1 us (0); mas_alloc: 4 of 3 us, 9 of 9 us
 * (8.192 .. 16.384: 3). Bucket 2 is empty and has a row all the same.
 */
static void lived(struct world *w)
{
	static const struct { uint64_t site, n, life; } v[] = {
		{ LOAD_MSG, 6, 3000 }, { LOAD_MSG, 1, 1000 }, { MAS_ALLOC, 4, 3000 },
		{ MAS_ALLOC, 9, 9000 },
	};
	uint64_t ts = MS;

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		for (uint64_t k = 0; k < v[i].n; k++, ts += MS)
			brief(w, v[i].site, "kmalloc-64", 64, ts, v[i].life);
	alloc(w, IN_MODULE, "kmalloc-64", 0x10000, 50, 64, ts);
}

static void test_lifetimes(void **state)
{
	static const struct {
		int64_t from, to, frees;
		double share, sum;
		const char *bar;
	} want[] = {
		{ 0, 2048, 1, 5, 5, "##" },			/* 18 / 10 = 1.8 */
		{ 2048, 4096, 10, 50, 55, "##################" },
		{ 4096, 8192, 0, 0, 55, "" },
		{ 8192, 16384, 9, 45, 100, "################" },	/* 16.2 */
	};
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	lived(&w);
	run(&w, "lifetimes");
	assert_int_equal(w.r->n_rows, 4);
	for (size_t i = 0; i < 4; i++) {
		is_int(&w, i, "lifetime_min_ns", want[i].from);
		is_int(&w, i, "lifetime_max_ns", want[i].to);
		is_int(&w, i, "frees", want[i].frees);
		is_percent(&w, i, "frees_percent", want[i].share);
		is_percent(&w, i, "cumulative_percent", want[i].sum);
		is_text(&w, i, "bar", want[i].bar);
		is_text(&w, i, "layer", "slab");
	}
	is_text(&w, 1, "top_site", "load_msg+0x10");
	is_int(&w, 1, "top_site_frees", 6);
	is_null(&w, 2, "top_site");
	is_text(&w, 3, "top_site", "mas_alloc+0x30");
	is_int(&w, 3, "top_site_frees", 9);

	run(&w, "site,lifetimes");
	assert_int_equal(w.r->n_rows, 2);
	is_text(&w, 0, "site", "mas_alloc+0x30");
	is_int(&w, 0, "lifetimes", 13);
	/* 4 of 13 in bucket 1, 9 in bucket 3: 3.07 and 6.9 tenths; the 7th is in bucket 3 */
	is_text(&w, 0, "strip", ".3.6............................");
	is_int(&w, 0, "lifetime_p50_ns", 16384);
	is_text(&w, 1, "strip", "18..............................");
	is_int(&w, 1, "lifetimes", 7);
	is_int(&w, 1, "lifetime_p50_ns", 4096);
	is_int(&w, 1, "lifetime_p99_ns", 4096);
	close_world(&w);
}

/* Pages lie under slabs: a histogram of each, never one of both. */
static void test_lifetime_layers(void **state)
{
	struct kmt_event page = { .op = KMT_OP_ALLOC, .type = KMT_TYPE_PAGES, .addr = 0x10000,
				  .call_site = MAS_ALLOC, .bytes_req = 4096, .bytes_alloc = 4096,
				  .has_time = true, .ts_ns = 1000 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	brief(&w, LOAD_MSG, "kmalloc-64", 64, 1000, 3000);
	assert_int_equal(w.sink.event(w.sink.ctx, &page), 0);
	page.op = KMT_OP_FREE;
	page.ts_ns = 4000;
	assert_int_equal(w.sink.event(w.sink.ctx, &page), 0);
	run(&w, "lifetimes");
	assert_int_equal(w.r->n_rows, 2);
	is_text(&w, 0, "layer", "slab");
	is_text(&w, 1, "layer", "pages");
	is_percent(&w, 0, "cumulative_percent", 100);
	is_percent(&w, 1, "cumulative_percent", 100);
	is_int(&w, 1, "lifetime_min_ns", 2048);
	run(&w, "sizes");
	assert_int_equal(w.r->n_rows, 2);
	is_int(&w, 0, "size_max_bytes", 64);
	is_text(&w, 1, "layer", "pages");
	is_int(&w, 1, "size_max_bytes", 4096);
	is_percent(&w, 1, "allocs_percent", 100);
	close_world(&w);
}

/* ---- size classes --------------------------------------------------------------------------- */

static void is_class(const struct kmt_classes *c, uint64_t bytes, uint64_t from, uint64_t to,
		     const char *name)
{
	struct kmt_class got = { 0 };

	assert_true(kmt_classes_of(c, bytes, &got));
	assert_int_equal(got.from, from);
	assert_int_equal(got.to, to);
	assert_string_equal(got.name, name);
}

static void test_classes(void **state)
{
	struct kmt_classes c;
	struct kmt_class got = { .to = 7 };
	struct kmt_slabs *s;

	kmt_classes_init(&c, NULL);
	assert_int_equal(c.n, 13);
	assert_false(kmt_classes_of(&c, 0, &got));
	assert_int_equal(got.to, 7);
	is_class(&c, 1, 1, 8, "kmalloc-8");
	is_class(&c, 8, 1, 8, "kmalloc-8");
	is_class(&c, 9, 9, 16, "kmalloc-16");
	is_class(&c, 65, 65, 96, "kmalloc-96");
	is_class(&c, 1048, 1025, 2048, "kmalloc-2k");
	is_class(&c, 8192, 4097, 8192, "kmalloc-8k");
	is_class(&c, 8193, 8193, 16384, "16384");
	is_class(&c, 16385, 16385, 32768, "32768");
	is_class(&c, UINT64_C(1) << 63, (UINT64_C(1) << 62) + 1, UINT64_C(1) << 63,
		 "9223372036854775808");
	assert_false(kmt_classes_of(&c, (UINT64_C(1) << 63) + 1, &got));

	/* no 8 .. 96 and no 192 (arm64); named in the old way; debugging adds 64 */
	s = slabs(HEAD LINE("kmalloc-128", "1", "192", "1") LINE("kmalloc-cg-64", "1", "64", "1")
		  LINE("kmalloc-rnd-05-96", "1", "96", "1") LINE("kmalloc-1024", "1", "1088", "1")
		  LINE("kmalloc-256", "1", "320", "1") LINE("kmalloc-2k", "1", "2112", "1")
		  LINE("dma-kmalloc-512", "1", "512", "1") LINE("kmalloc-", "1", "8", "1")
		  LINE("kmalloc-4kx", "1", "8", "1"));
	kmt_classes_init(&c, s);
	assert_int_equal(c.n, 4);
	is_class(&c, 1, 1, 128, "kmalloc-128");
	is_class(&c, 129, 129, 256, "kmalloc-256");
	is_class(&c, 257, 257, 1024, "kmalloc-1024");
	is_class(&c, 1025, 1025, 2048, "kmalloc-2k");
	is_class(&c, 2049, 2049, 4096, "4096");
	assert_true(kmt_classes_giving(&c, 320, &got));
	assert_int_equal(got.to, 256);
	assert_true(kmt_classes_giving(&c, 192, &got));
	assert_int_equal(got.to, 128);
	assert_true(kmt_classes_giving(&c, 300, &got));
	assert_int_equal(got.to, 1024);
	kmt_slabs_free(s);

	s = slabs(HEAD LINE("dentry", "1", "192", "1"));
	kmt_classes_init(&c, s);
	assert_int_equal(c.n, 13);
	kmt_slabs_free(s);
}

/*
 * kmalloc: 3 x 50 of 64 and 2 x 1048 of 2048, one of these freed; a cache of 248
 * bytes whose objects take 256, twice; one request of 10000 that gets 16384.
 */
static void test_sizes(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (uint64_t i = 0; i < 3; i++)
		alloc(&w, IN_MODULE, "kmalloc-64", 0x10000 + i * 64, 50, 64, MS);
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", 0x20000, 1048, 2048, MS);
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", 0x21000, 1048, 2048, MS);
	release(&w, 0x21000, 0, 2 * MS);
	alloc(&w, MAS_ALLOC, "tw_sock_TCP", 0x30000, 248, 256, MS);
	alloc(&w, LOAD_MSG, "tw_sock_TCP", 0x31000, 248, 256, MS);
	alloc(&w, MAS_ALLOC, NULL, 0x40000, 10000, 16384, MS);
	run(&w, "sizes");
	assert_int_equal(w.r->n_rows, 4);
	is_int(&w, 0, "size_min_bytes", 33);
	is_int(&w, 0, "size_max_bytes", 64);
	is_int(&w, 0, "allocs", 3);
	is_percent(&w, 0, "allocs_percent", 37.5);
	is_int(&w, 0, "live_bytes_allocated", 192);
	is_int(&w, 0, "waste_bytes", 42);
	is_int(&w, 0, "waste_total_bytes", 42);
	is_text(&w, 0, "bar", "############");
	is_text(&w, 0, "top_site", "mod_get+0x20 [mymod]");
	is_int(&w, 1, "size_max_bytes", 256);
	is_int(&w, 1, "allocs", 2);
	is_int(&w, 1, "waste_bytes", 16);
	is_text(&w, 1, "bar", "########");
	is_int(&w, 1, "top_site_allocs", 1);
	is_text(&w, 1, "top_site", "mas_alloc+0x30");	/* as many: seen first */
	is_int(&w, 2, "size_max_bytes", 2048);
	is_int(&w, 2, "live_objects", 1);
	is_int(&w, 2, "live_bytes_allocated", 2048);
	is_int(&w, 2, "waste_bytes", 1000);
	is_int(&w, 2, "waste_total_bytes", 2000);
	is_int(&w, 2, "bytes_requested", 2096);
	is_int(&w, 2, "bytes_allocated", 4096);
	is_int(&w, 3, "size_min_bytes", 8193);
	is_int(&w, 3, "size_max_bytes", 16384);
	is_text(&w, 3, "bar", "####");
	close_world(&w);
}

/* ---- slabinfo ------------------------------------------------------------------------- */

static void test_slabinfo(void **state)
{
	struct world w;
	size_t i;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (uint64_t k = 0; k < 200; k++)
		alloc(&w, LOAD_MSG, "kmalloc-cg-2k", MSG_ADDR + k * 2048, 1048, 2048, MS + k);
	alloc(&w, MAS_ALLOC, "maple_node", 0x10000, 256, 256, MS);
	set_slabs(&w, HEAD LINE("kmalloc-cg-2k", "100", "2048", "16")
		  LINE("maple_node", "500", "256", "16") LINE("silent", "1000", "64", "64")
		  LINE("still", "7", "8", "512") LINE("gone", "40", "128", "32"),
		  HEAD LINE("kmalloc-cg-2k", "350", "2048", "16")
		  LINE("maple_node", "490", "256", "16") LINE("silent", "3000", "64", "64")
		  LINE("still", "7", "8", "512"));
	run(&w, "slabinfo");
	assert_int_equal(w.r->n_rows, 5);
	is_text(&w, 0, "cache", "silent");	/* 2000 objects without one event */
	is_int(&w, 0, "balance.traced_net", 0);
	is_int(&w, 0, "balance.real_net", 2000);
	is_int(&w, 0, "balance.difference", -2000);
	is_int(&w, 0, "off_objects", 2000);
	is_int(&w, 0, "real_net_bytes", 128000);
	is_percent(&w, 0, "explained_percent", 0);
	is_text(&w, 0, "balance.verdict", "off by -2000");
	is_int(&w, 0, "memory_bytes", 9999 * 64);
	is_int(&w, 0, "active_objects", 3000);
	is_text(&w, 1, "cache", "kmalloc-cg-2k");
	is_int(&w, 1, "balance.traced_net", 200);
	is_int(&w, 1, "balance.real_net", 250);
	is_percent(&w, 1, "explained_percent", 80);
	is_text(&w, 1, "balance.verdict", "off by -50");
	is_int(&w, 1, "object_size", 2048);
	is_text(&w, 2, "cache", "gone");
	is_int(&w, 2, "balance.real_net", -40);
	is_int(&w, 2, "real_net_bytes", -5120);
	i = row_of(&w, "cache", "maple_node");
	assert_int_equal(i, 3);
	is_percent(&w, i, "explained_percent", 0);	/* +1 against -10 */
	is_text(&w, i, "balance.verdict", "balanced");
	is_int(&w, i, "off_objects", 11);
	is_percent(&w, 4, "explained_percent", 100);
	field_is(&w.r->summary, "allocs", 201);

	/* without the kernel's word there are only the traced caches */
	w.in.slabs_start = w.in.slabs_end = NULL;
	run(&w, "slabinfo");
	assert_int_equal(w.r->n_rows, 2);
	is_null(&w, 0, "balance.real_net");
	is_null(&w, 0, "explained_percent");
	is_null(&w, 0, "memory_bytes");
	is_text(&w, 0, "balance.verdict", "not comparable (no slabinfo)");
	close_world(&w);
}

/* ---- module, subsystem ------------------------------------------------------------------ */

static void test_subsystem_names(void **state)
{
	static const struct { const char *site, *want; } v[] = {
		{ "ext4_alloc_inode+0x1c", "ext4" },
		{ "__ext4_new_inode", "ext4" },
		{ "nft_set_elem_init [nf_tables]", "nft" },
		{ "nf_tables_newrule+0x1/0x2 [nf_tables]", "nf" },
		{ "tcp_v4_rcv+0x0", "tcp" },
		{ "__alloc_skb+0x86", "skb" },
		{ "getname_flags.part.0+0x24", "getname" },
		{ "kstrdup+0x3", "kstrdup" },
		{ "kstrdup.isra.0+0x3", "kstrdup" },
		{ "load_msg+0x10", "msg" },
		{ "do_alloc_pages", "pages" },
		{ "__x64_sys_epoll_ctl+0x8", "sys" },
		{ "ksys_read", "sys" },
		{ "system_wq_make", "system" },
		{ "d_alloc_parallel+0x5", "dcache" },
		{ "dup", "dup" },		/* nothing else to go by */
		{ "do_+0x4", "do" },
		{ "do__it", "do" },
		{ "get_new_alloc+0x1", "alloc" },
		{ "___", "" },
		{ "", "" },
		{ "0xffffffff81000110", "" },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };

		kmt_subsystem_of(v[i].site, &b);
		if (strcmp(kmt_buf_str(&b), v[i].want))
			fail_msg("%s: '%s', expected '%s'", v[i].site, kmt_buf_str(&b), v[i].want);
	}
}

/* The mixture of one page: two built-in functions, a module, and an address without a name. */
static void test_labels(void **state)
{
	struct kmt_event page = { .op = KMT_OP_ALLOC, .type = KMT_TYPE_PAGES, .addr = 0x90000,
				  .call_site = IN_MODULE, .bytes_req = 4096, .bytes_alloc = 4096,
				  .has_time = true, .ts_ns = MS };
	struct world w;
	size_t i;

	open_world(&w, (struct kmt_session_opts){ 0 });
	alloc(&w, LOAD_MSG, "kmalloc-64", 0x10000, 50, 64, MS);
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", 0x11000, 1048, 2048, MS);
	alloc(&w, MAS_ALLOC, "maple_node", 0x12000, 256, 256, MS);
	alloc(&w, IN_MODULE, "kmalloc-64", 0x13000, 60, 64, MS);
	alloc(&w, IN_MODULE + 16, "dentry", 0x14000, 190, 192, MS);
	alloc(&w, IN_MODULE + 16, "dentry", 0x15000, 190, 192, 2 * MS);
	alloc(&w, 0x1234, "dentry", 0x16000, 190, 192, MS);
	release(&w, 0x15000, 1, 3 * MS);
	assert_int_equal(w.sink.event(w.sink.ctx, &page), 0);

	run(&w, "module");
	assert_int_equal(w.r->n_rows, 4);
	is_text(&w, 0, "module", "mymod");	/* pages are another layer */
	is_text(&w, 0, "type", "P");
	is_int(&w, 0, "live_bytes_allocated", 4096);
	i = row_of(&w, "module", "vmlinux");
	assert_int_equal(i, 1);
	is_int(&w, i, "allocs", 3);
	is_int(&w, i, "sites", 2);
	is_int(&w, i, "live_bytes_allocated", 2048 + 64 + 256);
	is_int(&w, i, "waste_bytes", 14 + 1000);
	is_text(&w, i, "caches", "kmalloc-64\nkmalloc-cg-2k\nmaple_node");
	is_null(&w, i, "type");
	is_text(&w, 2, "module", "mymod");
	is_int(&w, 2, "sites", 2);
	is_int(&w, 2, "allocs", 3);
	is_int(&w, 2, "frees", 1);
	is_int(&w, 2, "cross_cpu_frees", 1);
	is_int(&w, 2, "live_bytes_allocated", 256);
	is_null(&w, 3, "module");
	is_int(&w, 3, "live_bytes_allocated", 192);

	run(&w, "subsystem");
	assert_int_equal(w.r->n_rows, 5);
	is_text(&w, 1, "subsystem", "msg");
	is_int(&w, 1, "live_bytes_allocated", 2112);
	i = row_of(&w, "subsystem", "mas");
	is_int(&w, i, "allocs", 1);
	is_text(&w, 0, "subsystem", "mod");
	w.in.min_age_ns = 2 * MS;
	run(&w, "subsystem");
	i = row_of(&w, "subsystem", "mas");
	is_int(&w, i, "surviving_bytes", 256);
	close_world(&w);
}

/* ---- waste --------------------------------------------------------------------------------- */

/*
 * load_msg: 10 x 1048 in 2048, 4 of them freed. mod_get: 60 and 50 in 64. mas_alloc: two
 * objects of a cache of 70 bytes with a stride of 128; 3 requests that fill 64.
 */
static void wasteful(struct world *w)
{
	for (uint64_t i = 0; i < 10; i++)
		alloc(w, LOAD_MSG, "kmalloc-cg-2k", MSG_ADDR + i * 2048, 1048, 2048, MS + i);
	for (uint64_t i = 0; i < 4; i++)
		release(w, MSG_ADDR + i * 2048, 0, 2 * MS);
	alloc(w, IN_MODULE, "kmalloc-64", 0x10000, 60, 64, MS);
	alloc(w, IN_MODULE, "kmalloc-64", 0x10040, 50, 64, MS);
	alloc(w, MAS_ALLOC, "padded", 0x20000, 70, 128, MS);
	alloc(w, MAS_ALLOC, "padded", 0x20080, 70, 128, MS);
	for (uint64_t i = 0; i < 3; i++)
		alloc(w, MAS_ALLOC, "kmalloc-64", 0x30000 + i * 64, 64, 64, MS);
}

static void test_waste(void **state)
{
	struct world w;
	size_t i;

	open_world(&w, (struct kmt_session_opts){ 0 });
	watch(&w, "waste");
	wasteful(&w);
	run(&w, "waste");
	assert_int_equal(w.r->n_rows, 3);	/* what is full is no waste */
	is_text(&w, 0, "site", "load_msg+0x10");
	is_int(&w, 0, "waste_bytes", 6000);
	is_int(&w, 0, "waste_total_bytes", 10000);
	is_percent(&w, 0, "waste_percent", 48.828);	/* 10000 of 20480 */
	is_int(&w, 0, "request_mean_bytes", 1048);
	is_int(&w, 0, "request_bytes", 1048);
	is_int(&w, 0, "object_size", 2048);
	is_text(&w, 0, "fit", "cache 1048");
	is_int(&w, 0, "fit_bytes", 1048);
	is_int(&w, 0, "saved_bytes_per_object", 1000);
	is_int(&w, 0, "saved_live_bytes", 6000);
	is_int(&w, 0, "saved_total_bytes", 10000);
	is_int(&w, 0, "over_bytes", 24);	/* 1024 would fit kmalloc-1k */
	i = row_of(&w, "site", "mas_alloc+0x30");
	is_int(&w, i, "waste_bytes", 116);
	is_text(&w, i, "fit", "kmalloc-96");
	is_int(&w, i, "saved_bytes_per_object", 32);
	is_int(&w, i, "saved_live_bytes", 64);
	is_int(&w, i, "over_bytes", 6);
	i = row_of(&w, "site", "mod_get+0x20 [mymod]");
	is_int(&w, i, "waste_bytes", 18);
	is_int(&w, i, "request_mean_bytes", 55);
	is_int(&w, i, "request_min_bytes", 50);
	is_int(&w, i, "request_max_bytes", 60);
	is_null(&w, i, "request_bytes");
	is_null(&w, i, "fit");
	is_null(&w, i, "saved_live_bytes");
	is_int(&w, i, "over_bytes", 28);

	/* the same elsewhere: 116 of 2 x 128 bytes (kmalloc has another row), 18 of 128 */
	run(&w, "site");
	is_percent(&w, row_of(&w, "site", "load_msg+0x10"), "waste_percent", 48.828);
	is_percent(&w, row_of(&w, "site", "mas_alloc+0x30"), "waste_percent", 45.3125);
	is_percent(&w, row_of(&w, "site", "mod_get+0x20 [mymod]"), "waste_percent", 14.0625);
	run(&w, "cache");
	is_percent(&w, row_of(&w, "cache", "kmalloc-64"), "waste_percent", 5.625);	/* 5 x 64 */
	assert_int_equal(kmt_report_sort(w.r, "waste_percent"), 0);
	is_text(&w, 0, "cache", "kmalloc-cg-2k");	/* 48.8, padded 45.3, 5.6 */
	is_text(&w, 2, "cache", "kmalloc-64");

	/* a kernel without kmalloc-96 */
	set_slabs(&w, HEAD LINE("kmalloc-64", "1", "64", "1") LINE("kmalloc-128", "1", "128", "1")
		  LINE("kmalloc-2k", "1", "2048", "1"), HEAD LINE("kmalloc-64", "1", "64", "1")
		  LINE("kmalloc-128", "1", "128", "1") LINE("kmalloc-2k", "1", "2048", "1"));
	run(&w, "waste");
	i = row_of(&w, "site", "mas_alloc+0x30");
	is_text(&w, i, "fit", "cache 72");	/* 70, aligned as a pointer */
	is_int(&w, i, "saved_bytes_per_object", 56);
	is_int(&w, row_of(&w, "site", "load_msg+0x10"), "over_bytes", 1048 - 128);
	close_world(&w);
}

static int each_counted(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
			void *cb_ctx)
{
	const struct kmt_snap_object *v = ctx;
	int res = 0;

	for (size_t i = 0; !res && v[i].addr; i++)
		res = cb(cb_ctx, &v[i]);
	return res;
}

/* What counted books let one say: rows by what their live objects and sums are. */
static void test_waste_counted(void **state)
{
#define ROW(nr, at, n, req, given)								\
	{ .index = nr, .key = { .call_site = at, .size = given, .cache = "kmalloc-64" },	\
	  .counts = { .allocs = n, .bytes_req = req, .bytes_alloc = (uint64_t)(n) * (given) } }
	const struct kmt_snap_site sites[] = {
		ROW(0, LOAD_MSG, 5, 200, 64),	/* the live ones are 40: 5 x 40, so all are */
		ROW(1, MAS_ALLOC, 5, 190, 64),	/* the live ones are 40, but all are not */
		ROW(2, SYSCALL, 4, 160, 64),	/* none is live: who knows */
		ROW(3, FREE_MSG, 4, 256, 64),	/* all full */
	};
	const struct kmt_snap_object objects[] = {
		{ .addr = 0x1000, .bytes_req = 40, .site = 0 },
		{ .addr = 0x2000, .bytes_req = 40, .site = 0 },
		{ .addr = 0x3000, .bytes_req = 40, .site = 1 },
		{ 0 },
	};
	const struct kmt_snapshot snap = { .now_ns = 100, .sites = sites, .n_sites = 4,
					   .each_object = each_counted,
					   .objects_ctx = (void *)objects };
	struct world w;
	size_t i;

	open_world(&w, (struct kmt_session_opts){ 0 });
	watch(&w, "waste");
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	run(&w, "waste");
	assert_int_equal(w.r->n_rows, 3);
	i = row_of(&w, "site", "load_msg+0x10");
	is_int(&w, i, "request_bytes", 40);
	is_text(&w, i, "fit", "cache 40");
	is_int(&w, i, "saved_total_bytes", 5 * 24);
	i = row_of(&w, "site", "mas_alloc+0x30");
	is_int(&w, i, "waste_total_bytes", 130);
	is_int(&w, i, "request_mean_bytes", 38);
	is_null(&w, i, "request_min_bytes");
	is_null(&w, i, "fit");
	i = row_of(&w, "site", "do_syscall+0x4");
	is_null(&w, i, "request_bytes");
	is_int(&w, i, "waste_total_bytes", 96);
	close_world(&w);
#undef ROW
}

/* ---- pingpong ---------------------------------------------------------------------------- */

static void test_pingpong(void **state)
{
	static const uint32_t cpus[] = { 1, 1, 1, 2, 2, 0, 0, 0, 0, 3 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	watch(&w, "pingpong,cpu");
	messages(&w);	/* 1000, all on CPU 0 */
	for (uint64_t i = 0; i < 10; i++)
		release(&w, MSG_ADDR + i * 2048, cpus[i], 2000 * MS);
	alloc(&w, MAS_ALLOC, "maple_node", 0x10000, 256, 256, 2001 * MS);
	release(&w, 0x10000, 1, 2002 * MS);
	alloc(&w, IN_MODULE, "kmalloc-64", 0x20000, 60, 64, 2003 * MS);
	release(&w, 0x20000, 0, 2004 * MS);
	/* handed out again without a free: of nobody knows which CPU */
	alloc(&w, IN_MODULE, "kmalloc-64", 0x30000, 60, 64, 2005 * MS);
	alloc(&w, IN_MODULE, "kmalloc-64", 0x30000, 60, 64, 2006 * MS);
	run(&w, "pingpong");
	assert_int_equal(w.r->n_rows, 2);
	is_text(&w, 0, "site", "load_msg+0x10");
	is_int(&w, 0, "cross_cpu_frees", 6);
	is_percent(&w, 0, "cross_cpu_percent", 60);
	is_int(&w, 0, "cross_cpu_bytes", 6 * 2048);
	is_text(&w, 0, "top_pair", "0 to 1");
	is_int(&w, 0, "top_pair_frees", 3);
	is_int(&w, 0, "pairs", 3);
	is_text(&w, 1, "top_pair", "0 to 1");
	is_percent(&w, 1, "cross_cpu_percent", 100);
	is_int(&w, 1, "pairs", 1);

	run(&w, "pingpong,cpu");
	assert_int_equal(w.r->n_rows, 3);
	is_int(&w, 0, "from_cpu", 0);
	is_int(&w, 0, "to_cpu", 1);
	is_int(&w, 0, "cross_cpu_frees", 4);
	is_percent(&w, 0, "pair_percent", 100.0 * 4 / 7);
	is_int(&w, 0, "cross_cpu_bytes", 3 * 2048 + 256);
	is_text(&w, 0, "bar", "##################");
	is_text(&w, 0, "top_site", "load_msg+0x10");
	is_int(&w, 0, "top_site_frees", 3);
	is_int(&w, 1, "to_cpu", 2);
	is_text(&w, 1, "bar", "#########");
	is_int(&w, 2, "to_cpu", 3);
	is_int(&w, 2, "cross_cpu_frees", 1);
	close_world(&w);
}

/* Counted: a number for each site, and for pairs one line that says what it takes. */
static void test_pingpong_counted(void **state)
{
	struct kmt_snap_site site = {
		.key = { .type = KMT_TYPE_CACHE, .call_site = MAS_ALLOC, .cache = "maple_node",
			 .size = 256 },
		.counts = { .allocs = 9, .frees = 8, .cross_cpu_frees = 2, .bytes_req = 2304,
			    .bytes_alloc = 2304 },
	};
	struct kmt_snap_object none = { 0 };
	struct kmt_snapshot snap = { .now_ns = 100, .sites = &site, .n_sites = 1,
				     .each_object = each_counted, .objects_ctx = &none };
	struct kmt_quality q = { .source = "bpf", .mode = "counted" };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	watch(&w, "pingpong");
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	kmt_session_set_quality(w.session, &q);
	run(&w, "pingpong");
	assert_int_equal(w.r->n_rows, 1);
	is_int(&w, 0, "cross_cpu_frees", 2);
	is_percent(&w, 0, "cross_cpu_percent", 25);
	is_int(&w, 0, "cross_cpu_bytes", 512);
	is_null(&w, 0, "top_pair");
	is_null(&w, 0, "pairs");
	kmt_report_free(w.r);
	w.r = NULL;
	assert_int_equal(kmt_analysis_find("pingpong,cpu")->run(&w.in, &w.r), -EINVAL);
	assert_string_equal(kmt_err_text(), "this view needs the event stream: record first");
	assert_null(w.r);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hist),
		cmocka_unit_test(test_temporary),
		cmocka_unit_test(test_temporary_everywhere),
		cmocka_unit_test(test_lifetimes),
		cmocka_unit_test(test_lifetime_layers),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_slabinfo),
		cmocka_unit_test(test_subsystem_names),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_waste),
		cmocka_unit_test(test_waste_counted),
		cmocka_unit_test(test_pingpong),
		cmocka_unit_test(test_pingpong_counted),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
