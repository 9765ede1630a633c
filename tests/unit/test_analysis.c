// SPDX-License-Identifier: GPL-2.0-only
/* Every view, with numbers worked out by hand from the events fed in. */
#include "unit/world.h"

#include "analysis/books.h"

static void test_table(void **state)
{
	static const char *const names[] = { "site", "cache", "site,cache", "object", "free-site",
					     "task" };
	size_t n = 0;

	while (kmt_analyses[n])
		n++;
	assert_true(n >= 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(kmt_analyses[i]->name, names[i]);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(kmt_analyses[i]->help);
		assert_ptr_equal(kmt_analysis_find(kmt_analyses[i]->name), kmt_analyses[i]);
		if (kmt_analyses[i]->aliases[0])
			assert_ptr_equal(kmt_analysis_find(kmt_analyses[i]->aliases[0]),
					 kmt_analyses[i]);
	}
	assert_int_equal(kmt_analysis_find("object")->needs, KMT_NEEDS_OBJECTS);
	assert_int_equal(kmt_analysis_find("task")->needs, KMT_NEEDS_TASKS);
	assert_ptr_equal(kmt_analysis_find("sites"), kmt_analysis_find("site"));
	assert_null(kmt_analysis_find("leak"));
}

/* Nothing seen: every view has no rows, and all the summary and quality there is. */
static void test_empty(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	w.in.symbols = NULL;
	for (size_t i = 0; kmt_analyses[i]; i++) {
		run(&w, kmt_analyses[i]->name);
		assert_int_equal(w.r->n_rows, 0);
		/* one view says that it was not asked for */
		if (w.r->n_notes && strcmp(kmt_analyses[i]->name, "unload"))
			fail_msg("%s: %s", kmt_analyses[i]->name, w.r->notes[0]);
		field_is(&w.r->summary, "events", 0);
		assert_true(field(&w.r->summary, "growth_bytes_per_s")->cell.is_null);
		field_is(&w.r->quality, "lost_ring", 0);
	}
	close_world(&w);
}

static void test_messages(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	messages(&w);
	run(&w, "site");
	assert_int_equal(w.r->n_rows, 1);
	assert_int_equal(w.r->rows_total, 1);
	is_text(&w, 0, "site", "load_msg+0x10");
	is_text(&w, 0, "module", "vmlinux");
	is_text(&w, 0, "type", "K");
	is_text(&w, 0, "cache", "kmalloc-cg-2k");
	is_int(&w, 0, "allocs", 1000);
	is_int(&w, 0, "frees", 0);
	is_int(&w, 0, "failures", 0);
	is_int(&w, 0, "live_objects", 1000);
	is_int(&w, 0, "bytes_requested", 1048000);
	is_int(&w, 0, "bytes_allocated", 2048000);
	is_int(&w, 0, "live_bytes_requested", 1048000);
	is_int(&w, 0, "live_bytes_allocated", 2048000);
	is_int(&w, 0, "peak_bytes_allocated", 2048000);
	is_int(&w, 0, "waste_bytes", 1000000);
	is_int(&w, 0, "object_size", 2048);
	is_text(&w, 0, "sizes", "2048:1000");
	is_text(&w, 0, "gfp", "0xcc0");
	/* the last was born just now, the first 999 us before; 0, 1, ..., 999: lower middle 499 */
	is_int(&w, 0, "age_min_ns", 0);
	is_int(&w, 0, "age_p50_ns", 499000);
	is_int(&w, 0, "age_max_ns", 999000);
	is_null(&w, 0, "surviving_objects");
	is_text(&w, 0, "balance.verdict", "not comparable (no slabinfo)");
	is_int(&w, 0, "balance.traced_net", 1000);
	is_null(&w, 0, "balance.real_net");
	field_is(&w.r->summary, "allocs", 1000);
	field_is(&w.r->summary, "live_bytes_allocated", 2048000);
	field_is(&w.r->summary, "waste_bytes", 1000000);
	/* 1000000 of 2048000 */
	assert_true(field(&w.r->summary, "waste_percent")->cell.d > 48.82);
	assert_true(field(&w.r->summary, "waste_percent")->cell.d < 48.83);
	/* 2048000 bytes in 999 us */
	field_is(&w.r->summary, "growth_bytes_per_s", 2050050050);
	assert_int_equal(w.r->window_ns, 999000);
	field_is(&w.r->summary, "temporary_threshold_ns", 1000000);
	field_is(&w.r->summary, "sites", 1);
	close_world(&w);
}

/* All received: 600 on the other CPU; the first 100 after 0.5 ms, the rest after 3 ms. */
static void test_freed(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	messages(&w);
	for (uint64_t i = 0; i < 1000; i++)
		release(&w, MSG_ADDR + i * 2048, i < 600,
			1000000000 + i * 1000 + (i < 100 ? 500000 : 3000000));
	run(&w, "site,cache");
	assert_int_equal(w.r->n_rows, 1);
	is_int(&w, 0, "frees", 1000);
	is_int(&w, 0, "live_objects", 0);
	is_int(&w, 0, "live_bytes_allocated", 0);
	is_int(&w, 0, "waste_bytes", 0);
	is_int(&w, 0, "bytes_allocated", 2048000);
	is_int(&w, 0, "peak_bytes_allocated", 2048000);
	is_int(&w, 0, "cross_cpu_frees", 600);
	is_int(&w, 0, "temporary", 100);
	is_int(&w, 0, "untraced_frees", 0);
	is_null(&w, 0, "age_p50_ns");
	/* 500 us = 488 units: bucket 8; 3 ms = 2929 units: bucket 11 */
	is_text(&w, 0, "lifetimes_log2", "0\n0\n0\n0\n0\n0\n0\n0\n100\n0\n0\n900\n0\n0\n0\n0\n0\n0"
		"\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0\n0");
	field_is(&w.r->summary, "events", 2000);
	field_is(&w.r->summary, "temporary", 100);
	assert_true(field(&w.r->summary, "waste_percent")->cell.is_null);

	run(&w, "free-site");
	assert_int_equal(w.r->n_rows, 1);
	is_text(&w, 0, "site", "free_msg+0x8");
	is_text(&w, 0, "module", "vmlinux");
	is_text(&w, 0, "type", "K");
	is_int(&w, 0, "frees", 1000);
	assert_true(cell(&w, 0, "frees_percent")->d == 100.0);
	close_world(&w);
}

/* Two sites, three caches, a module, an inferred name, a large allocation. */
static void mixture(struct world *w)
{
	struct kmt_event guess = { .op = KMT_OP_ALLOC, .call_site = IN_MODULE, .addr = 0x50000,
				   .bytes_req = 60, .bytes_alloc = 64, .cache = "kmalloc-64",
				   .cache_inferred = true, .has_time = true, .ts_ns = 5000000 };
	struct kmt_event large = { .op = KMT_OP_ALLOC, .call_site = IN_MODULE, .addr = 0x60000,
				   .bytes_req = 10000, .bytes_alloc = 16384, .has_time = true,
				   .ts_ns = 6000000 };

	alloc(w, MAS_ALLOC, "maple_node", 0x10000, 256, 256, 1000000);
	alloc(w, MAS_ALLOC, "maple_node", 0x20000, 256, 256, 2000000);
	alloc(w, MAS_ALLOC, "tw_sock_TCP", 0x30000, 248, 256, 3000000);
	alloc(w, IN_MODULE, "maple_node", 0x40000, 256, 256, 4000000);
	assert_int_equal(w->sink.event(w->sink.ctx, &guess), 0);
	assert_int_equal(w->sink.event(w->sink.ctx, &large), 0);
}

static void test_site_view(void **state)
{
	struct world w;
	size_t a, b, c;

	open_world(&w, (struct kmt_session_opts){ 0 });
	mixture(&w);
	run(&w, "site");
	/* two kinds of call at one place are two rows */
	assert_int_equal(w.r->n_rows, 3);
	a = row_of(&w, "site", "mas_alloc+0x30");
	is_text(&w, a, "cache", "2 caches");
	is_text(&w, a, "caches", "maple_node\ntw_sock_TCP");
	is_null(&w, a, "aliases");
	is_null(&w, a, "balance.traced_net");
	is_int(&w, a, "allocs", 3);
	is_int(&w, a, "live_bytes_allocated", 768);
	is_int(&w, a, "waste_bytes", 8);
	is_int(&w, a, "age_p50_ns", 4000000);	/* 3, 4, 5 ms before 6 ms */
	is_int(&w, a, "object_size", 256);
	is_text(&w, a, "sizes", "256:3");
	/* 16384 + 64 live: the largest, so it comes first */
	b = 0;
	is_text(&w, b, "site", "mod_get+0x20 [mymod]");
	is_text(&w, b, "module", "mymod");
	is_text(&w, b, "type", "K");
	is_text(&w, b, "cache", "2 caches");
	is_text(&w, b, "caches", "kmalloc-64 (inferred)");
	is_text(&w, b, "sizes", "64:1\n16384:1");
	is_int(&w, b, "live_bytes_allocated", 16448);
	is_int(&w, b, "waste_bytes", 6388);
	is_null(&w, b, "object_size");
	c = 3 - a - b;
	is_text(&w, c, "type", "C");
	is_text(&w, c, "cache", "maple_node");
	assert_true(has_note(&w, "(inferred)"));
	field_is(&w.r->summary, "sites", 3);
	assert_int_equal(w.r->sort_column, kmt_report_column(w.r, "live_bytes_allocated"));
	close_world(&w);
}

static void test_cache_view(void **state)
{
	struct world w;
	size_t maple, tw, guess;

	open_world(&w, (struct kmt_session_opts){ 0 });
	mixture(&w);
	set_slabs(&w, HEAD LINE("maple_node", "100", "256", "16")
		  LINE("tw_sock_TCP", "5", "256", "16") LINE("kmalloc-64", "10", "64", "64") LINE("kmalloc-rnd-01-64", "10", "64", "64"),
		  HEAD LINE("maple_node", "103", "256", "16") LINE("tw_sock_TCP", "6", "256", "16")
		  LINE("kmalloc-64", "11", "64", "64") LINE("kmalloc-rnd-01-64", "10", "64", "64"));
	run(&w, "cache");
	assert_int_equal(w.r->n_rows, 4);
	is_null(&w, 0, "cache");	/* whole pages: no cache */
	is_int(&w, 0, "object_size", 16384);
	is_text(&w, 0, "balance.verdict", "not comparable (cache unknown)");
	maple = row_of(&w, "cache", "maple_node");
	is_int(&w, maple, "allocs", 3);
	is_int(&w, maple, "live_bytes_allocated", 768);
	is_int(&w, maple, "object_size", 256);
	is_int(&w, maple, "balance.traced_net", 3);
	is_int(&w, maple, "balance.real_net", 3);
	is_text(&w, maple, "balance.verdict", "balanced");
	is_null(&w, maple, "aliases");
	tw = row_of(&w, "cache", "tw_sock_TCP");
	is_text(&w, tw, "aliases", "eventpoll_epi");
	is_int(&w, tw, "balance.real_net", 1);
	guess = row_of(&w, "cache", "kmalloc-64 (inferred)");
	is_text(&w, guess, "balance.verdict", "not comparable (cache inferred)");
	run(&w, "site,cache");
	assert_int_equal(w.r->n_rows, 5);
	/* both of maple_node's rows have the verdict of their cache */
	is_text(&w, row_of(&w, "cache", "maple_node"), "balance.verdict", "balanced");
	is_int(&w, row_of(&w, "cache", "maple_node"), "balance.traced_net", 3);
	close_world(&w);
}

/*
 * 12000 maple nodes at 4000 addresses, none freed with an event: 8000 untraced
 * frees, 4000 live; the kernel says +8.
 */
static void test_books_off(void **state)
{
	struct kmt_lost lost = { .reason = KMT_LOSS_RING, .events = 100 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (uint64_t i = 0; i < 12000; i++)
		alloc(&w, MAS_ALLOC, "maple_node", 0x100000 + i % 4000 * 256, 256, 256, 1000 + i);
	set_slabs(&w, HEAD LINE("maple_node", "713", "256", "16"),
		  HEAD LINE("maple_node", "721", "256", "16"));
	run(&w, "cache");
	is_int(&w, 0, "untraced_frees", 8000);
	is_int(&w, 0, "live_objects", 4000);
	is_int(&w, 0, "balance.traced_net", 4000);
	is_int(&w, 0, "balance.real_net", 8);
	is_text(&w, 0, "balance.verdict", "off by 3992");
	assert_true(has_note(&w, "maple_node (8000)"));
	assert_true(has_note(&w, "do not balance"));
	run(&w, "site");
	is_text(&w, 0, "balance.verdict", "off by 3992");
	field_is(&w.r->quality, "untraced_frees", 8000);

	/* 100 lost events do not explain 3992 objects; 3960 would (tolerance 32) */
	assert_int_equal(w.sink.lost(w.sink.ctx, &lost), 0);
	run(&w, "cache");
	is_text(&w, 0, "balance.verdict", "off by 3992");
	lost.events = 3860;
	assert_int_equal(w.sink.lost(w.sink.ctx, &lost), 0);
	run(&w, "cache");
	is_text(&w, 0, "balance.verdict", "not comparable (events were lost)");
	field_is(&w.r->quality, "lost_ring", 3960);
	field_is(&w.r->quality, "lost_total", 3960);
	assert_true(field(&w.r->quality, "lost_ring")->alarm);
	assert_false(field(&w.r->quality, "lost_sites")->alarm);
	assert_true(has_note(&w, "3960 events were lost"));
	w.in.filtered = true;
	run(&w, "cache");
	is_text(&w, 0, "balance.verdict", "not comparable (filtered)");
	close_world(&w);
}

/* The other way round: the kernel took 500 more than there were events. */
static void test_books_tolerance(void **state)
{
	struct world w;

	assert_int_equal(kmt_books_tolerance(0), 32);
	assert_int_equal(kmt_books_tolerance(16), 32);
	assert_int_equal(kmt_books_tolerance(64), 128);
	open_world(&w, (struct kmt_session_opts){ 0 });
	alloc(&w, MAS_ALLOC, "c_32", 0x30000, 8, 8, 10);
	alloc(&w, MAS_ALLOC, "b_33", 0x20000, 8, 8, 10);
	alloc(&w, MAS_ALLOC, "a_512", 0x10000, 8, 8, 10);
	alloc(&w, MAS_ALLOC, "d_new", 0x40000, 8, 8, 10);
	alloc(&w, MAS_ALLOC, "e_none", 0x50000, 8, 8, 10);
	set_slabs(&w, HEAD LINE("a_512", "0", "8", "16") LINE("b_33", "100", "8", "16")
		  LINE("c_32", "100", "8", "8"),
		  HEAD LINE("a_512", "501", "8", "16") LINE("b_33", "134", "8", "16")
		  LINE("c_32", "69", "8", "8") LINE("d_new", "2", "8", "16"));
	run(&w, "cache");
	is_text(&w, row_of(&w, "cache", "a_512"), "balance.verdict", "off by -500");
	is_text(&w, row_of(&w, "cache", "b_33"), "balance.verdict", "off by -33");
	is_text(&w, row_of(&w, "cache", "c_32"), "balance.verdict", "balanced");
	is_int(&w, row_of(&w, "cache", "c_32"), "balance.real_net", -31);
	is_int(&w, row_of(&w, "cache", "d_new"), "balance.real_net", 2);
	is_text(&w, row_of(&w, "cache", "d_new"), "balance.verdict", "balanced");
	is_text(&w, row_of(&w, "cache", "e_none"), "balance.verdict",
		"not comparable (not in slabinfo)");
	assert_true(has_note(&w, "a_512 (off by -500), b_33 (off by -33)"));
	/* a site that takes from all of them has the worst verdict */
	run(&w, "site");
	is_text(&w, 0, "cache", "5 caches");
	is_text(&w, 0, "balance.verdict", "off by -500");
	close_world(&w);
}

/* An object table of 64 rows. */
static void test_object_table_full(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ .max_objects = 64 });
	messages(&w);
	set_slabs(&w, HEAD LINE("kmalloc-cg-2k", "0", "2048", "16"),
		  HEAD LINE("kmalloc-cg-2k", "1000", "2048", "16"));
	run(&w, "site");
	is_int(&w, 0, "allocs", 1000);
	is_int(&w, 0, "bytes_allocated", 2048000);
	is_int(&w, 0, "live_objects", 64);
	is_int(&w, 0, "live_bytes_allocated", 64 * 2048);
	is_int(&w, 0, "untracked", 936);
	/* from the first event to the last, 1000 of them 1 us apart */
	is_int(&w, 0, "allocs_per_s", 1001001);
	is_int(&w, 0, "net_bytes_per_s", 131203203);	/* of the 64 that are known */
	/* allocations are all counted, and nothing was freed */
	is_text(&w, 0, "balance.verdict", "balanced");
	field_is(&w.r->quality, "lost_objects", 936);
	assert_true(has_note(&w, "936 allocations were not tracked"));
	kmt_slabs_free(w.start);
	kmt_slabs_free(w.end);
	set_slabs(&w, HEAD LINE("kmalloc-cg-2k", "0", "2048", "16"),
		  HEAD LINE("kmalloc-cg-2k", "900", "2048", "16"));
	run(&w, "site");
	is_text(&w, 0, "balance.verdict", "not comparable (object table full)");
	close_world(&w);
}

/* Survivors: 10 ms and more. 1 s + 0, 1, ..., 999 us; now is 1 s + 10.9 ms. */
static void test_min_age(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	messages(&w);
	alloc(&w, MAS_ALLOC, "maple_node", 0x10000, 256, 256, 1010900000);
	w.in.min_age_ns = 10000000;
	run(&w, "site");
	/* old enough: those born up to 900 us after the first, 901 of them */
	assert_int_equal(w.r->n_rows, 1);
	is_text(&w, 0, "site", "load_msg+0x10");
	is_int(&w, 0, "surviving_objects", 901);
	is_int(&w, 0, "surviving_bytes", 901 * 2048);
	is_int(&w, 0, "live_objects", 1000);
	is_int(&w, 0, "age_min_ns", 10000000);
	is_int(&w, 0, "age_p50_ns", 10450000);
	is_int(&w, 0, "age_max_ns", 10900000);
	assert_int_equal(w.r->sort_column, kmt_report_column(w.r, "surviving_bytes"));
	run(&w, "object");
	assert_int_equal(w.r->n_rows, 901);
	is_int(&w, 900, "age_ns", 10000000);
	w.in.min_age_ns = 60000000000;
	run(&w, "site");
	assert_int_equal(w.r->n_rows, 0);
	close_world(&w);
}

static void test_object_view(void **state)
{
	struct kmt_event ageless = { .op = KMT_OP_ALLOC, .call_site = LOAD_MSG, .addr = 0x70000,
				     .bytes_req = 3, .bytes_alloc = 8, .cpu = 2 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	mixture(&w);
	assert_int_equal(w.sink.event(w.sink.ctx, &ageless), 0);
	release(&w, 0x20000, 0, 7000000);
	run(&w, "object");
	assert_int_equal(w.r->n_rows, 6);
	assert_int_equal(w.r->rows_total, 6);
	is_int(&w, 0, "address", 0x10000);
	is_int(&w, 0, "age_ns", 6000000);
	is_text(&w, 0, "site", "mas_alloc+0x30");
	is_text(&w, 0, "cache", "maple_node");
	is_text(&w, 0, "type", "C");
	is_int(&w, 0, "bytes_allocated", 256);
	is_int(&w, 1, "address", 0x30000);
	is_int(&w, 1, "waste_bytes", 8);
	is_int(&w, 2, "address", 0x40000);
	is_text(&w, 2, "module", "mymod");
	is_text(&w, 3, "cache", "kmalloc-64 (inferred)");
	is_null(&w, 4, "cache");
	is_int(&w, 4, "age_ns", 1000000);
	is_int(&w, 5, "address", 0x70000);	/* age unknown: last */
	is_null(&w, 5, "age_ns");
	is_int(&w, 5, "cpu", 2);
	close_world(&w);
}

static void test_task_view(void **state)
{
	struct kmt_event ev = { .op = KMT_OP_ALLOC, .call_site = LOAD_MSG, .bytes_req = 100,
				.bytes_alloc = 128, .cache = "kmalloc-128", .has_task = true };
	static const struct { uint32_t pid, tgid; const char *comm; } tasks[] = {
		{ 11, 10, "bash" }, { 12, 10, "bash-worker" }, { 20, 0, "cron" },
		{ 10, 10, "bash" },
	};
	struct world w;

	open_world(&w, (struct kmt_session_opts){ .by_task = true });
	for (int i = 0; i < 4; i++) {
		ev.pid = tasks[i].pid;
		ev.tgid = tasks[i].tgid;
		ev.comm = tasks[i].comm;
		ev.addr = 0x1000 + i * 128;
		assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	}
	ev.type = KMT_TYPE_CACHE;
	ev.cache = "dentry";
	ev.addr = 0x9000;
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	run(&w, "task");
	assert_int_equal(w.r->n_rows, 2);
	is_text(&w, 0, "task", "bash");	/* threads of one process, named as first seen */
	is_int(&w, 0, "tgid", 10);
	is_int(&w, 0, "allocs", 4);
	is_int(&w, 0, "live_bytes_allocated", 512);
	is_text(&w, 0, "caches", "dentry\nkmalloc-128");
	is_null(&w, 0, "type");		/* both K and C */
	is_text(&w, 1, "task", "cron");
	is_int(&w, 1, "tgid", 20);
	is_text(&w, 1, "type", "K");
	is_int(&w, 1, "waste_bytes", 28);
	close_world(&w);
}

/* Interval: counts since the mark, live as it is. */
static void test_interval(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	messages(&w);
	for (uint64_t i = 0; i < 300; i++)
		release(&w, MSG_ADDR + i * 2048, 0, 1100000000);
	kmt_session_mark(w.session);
	for (uint64_t i = 300; i < 400; i++)
		release(&w, MSG_ADDR + i * 2048, 0, 1200000000);
	alloc(&w, LOAD_MSG, "kmalloc-cg-2k", MSG_ADDR, 1048, 2048, 1300000000);
	w.in.interval_ns = 2000000000;
	run(&w, "site");
	is_int(&w, 0, "allocs", 1);
	is_int(&w, 0, "frees", 100);
	is_int(&w, 0, "bytes_allocated", 2048);
	is_int(&w, 0, "live_objects", 601);
	is_int(&w, 0, "peak_bytes_allocated", 2048000);
	is_int(&w, 0, "balance.traced_net", 601);	/* what is live is so since the start */
	is_text(&w, 0, "sizes", "2048:1");
	field_is(&w.r->summary, "events", 101);
	field_is(&w.r->summary, "allocs", 1);
	field_is(&w.r->summary, "frees", 100);
	field_is(&w.r->summary, "live_objects", 601);
	/* 99 objects of 2048 bytes fewer in 2 s */
	field_is(&w.r->summary, "growth_bytes_per_s", -101376);
	is_int(&w, 0, "net_bytes_per_s", -101376);
	is_int(&w, 0, "allocs_per_s", 0);	/* 1 in 2 s */
	assert_int_equal(w.r->window_ns, 2000000000);
	run(&w, "free-site");
	is_int(&w, 0, "frees", 100);
	close_world(&w);
}

static void test_stacks(void **state)
{
	const uint64_t with_site[] = { BPF_IN, KMALLOC_IN, LOAD_MSG, SYSCALL };
	const uint64_t without[] = { BPF_IN, KMALLOC_IN, MAS_ALLOC, SYSCALL };
	const uint64_t nothing_else[] = { BPF_IN, KMALLOC_IN };
	struct kmt_event ev = { .op = KMT_OP_ALLOC, .call_site = LOAD_MSG, .bytes_req = 8,
				.bytes_alloc = 8, .addr = 0x1000, .ips = with_site, .n_ips = 4 };
	struct world w;
	size_t i;

	open_world(&w, (struct kmt_session_opts){ .by_stack = true });
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	ev.addr = 0x2000;
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	ev.addr = 0x3000;
	ev.ips = without;
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	ev.addr = 0x4000;
	ev.ips = nothing_else;
	ev.n_ips = 2;
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	run(&w, "site");
	assert_int_equal(w.r->n_rows, 3);
	i = row_of(&w, "site", "load_msg+0x10");
	is_int(&w, i, "allocs", 2);
	assert_int_equal(w.r->rows[i].n_detail, 2);
	assert_string_equal(w.r->rows[i].detail[0], "load_msg+0x10");
	assert_string_equal(w.r->rows[i].detail[1], "do_syscall+0x4");
	is_text(&w, i, "stack", "load_msg+0x10\ndo_syscall+0x4");
	i = row_of(&w, "site", "mas_alloc+0x30");
	is_text(&w, i, "stack", "mas_alloc+0x30\ndo_syscall+0x4");
	i = row_of(&w, "site", "bpf_trace_run5+0x4");
	assert_int_equal(w.r->rows[i].n_detail, 2);
	close_world(&w);
}

/* Names instead of addresses, as the original's table has them. */
static void test_names(void **state)
{
	struct kmt_event ev = { .op = KMT_OP_ALLOC, .bytes_req = 8, .bytes_alloc = 8,
				.addr = 0x1000, .call_site_name = "old_func+0x1c [ext3]" };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	ev.call_site_name = "plain_func";
	ev.addr = 0x2000;
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	ev.call_site_name = NULL;
	ev.addr = 0x3000;
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	ev.call_site = 0x1234;
	ev.addr = 0x4000;
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	run(&w, "site");
	assert_int_equal(w.r->n_rows, 4);
	is_text(&w, 0, "site", "old_func+0x1c [ext3]");
	is_text(&w, 0, "module", "ext3");
	is_text(&w, 1, "site", "plain_func");
	is_text(&w, 1, "module", "vmlinux");
	is_null(&w, 2, "site");
	is_null(&w, 2, "module");
	is_text(&w, 3, "site", "0x1234");
	is_null(&w, 3, "module");
	is_text(&w, 0, "balance.verdict", "not comparable (cache unknown)");
	close_world(&w);
}

/* Counted without an object table: frees by site and all that is live are unknown. */
static void test_no_objects(void **state)
{
	struct kmt_snap_site site = {
		.key = { .type = KMT_TYPE_CACHE, .call_site = MAS_ALLOC, .cache = "maple_node",
			 .size = 256 },
		.counts = { .allocs = 7, .bytes_req = 1792, .bytes_alloc = 1792 },
	};
	struct kmt_snap_free_site fr = { .call_site = FREE_MSG, .type = KMT_TYPE_CACHE,
					 .frees = 5 };
	struct kmt_snapshot snap = { .now_ns = 100, .sites = &site, .n_sites = 1, .free_sites = &fr,
				     .n_free_sites = 1 };
	struct kmt_quality q = { .source = "bpf", .mode = "counted", .kernel = "6.18.0",
				 .window_ns = 10000000000, .events = 12, .recursion_misses = 3 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	kmt_session_set_quality(w.session, &q);
	run(&w, "site");
	is_int(&w, 0, "allocs", 7);
	is_null(&w, 0, "frees");
	is_null(&w, 0, "live_objects");
	is_null(&w, 0, "live_bytes_allocated");
	is_null(&w, 0, "waste_bytes");
	is_null(&w, 0, "lifetimes_log2");
	is_null(&w, 0, "balance.traced_net");
	is_text(&w, 0, "balance.verdict", "not comparable (objects not tracked)");
	field_is(&w.r->summary, "frees", 5);
	field_is(&w.r->summary, "events", 12);
	assert_true(field(&w.r->summary, "live_objects")->cell.is_null);
	assert_true(field(&w.r->summary, "growth_bytes_per_s")->cell.is_null);
	assert_string_equal(field(&w.r->quality, "source")->cell.text, "bpf");
	assert_string_equal(field(&w.r->quality, "mode")->cell.text, "counted");
	assert_true(field(&w.r->quality, "recursion_misses")->alarm);
	assert_true(field(&w.r->quality, "misses_untold")->quiet);
	assert_string_equal(w.r->kernel, "6.18.0");
	assert_int_equal(w.r->window_ns, 10000000000);
	assert_true(has_note(&w, "live objects were not tracked"));
	assert_true(has_note(&w, "3 events were lost"));
	close_world(&w);
}

/* Default text of every view: numbers at their widest and 20 cells a name fit 80 columns. */
static void test_width(void **state)
{
	static const int widest[] = {
		[KMT_UNIT_TEXT] = 12, [KMT_UNIT_LIST] = 20, [KMT_UNIT_COUNT] = 8,
		[KMT_UNIT_BYTES] = 9, [KMT_UNIT_PERCENT] = 6, [KMT_UNIT_NS] = 7,
		[KMT_UNIT_ADDR] = 18, [KMT_UNIT_BYTES_PER_S] = 12, [KMT_UNIT_COUNT_PER_S] = 10,
		[KMT_UNIT_BAR] = 20,
	};
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	for (size_t i = 0; kmt_analyses[i]; i++) {
		for (int survivors = 0; survivors < 2; survivors++) {
			int width = -1, frozen = 0;

			w.in.min_age_ns = survivors;
			run(&w, kmt_analyses[i]->name);
			for (size_t c = 0; c < w.r->n_columns; c++) {
				const struct kmt_column *col = &w.r->columns[c];
				int title = strlen(col->title);

				frozen += col->frozen;
				if (col->show != KMT_SHOWN)
					continue;
				if (col->frozen)
					width += 1 + 14;
				else
					width += 1 + (title > widest[col->unit] ? title :
						      widest[col->unit]);
			}
			assert_true(frozen >= 1);
			assert_true(width <= 80);
		}
	}
	close_world(&w);
}

/* The keys that scripts rely on. */
static void test_keys(void **state)
{
	static const char *const keys[] = {
		"site", "module", "type", "cache", "aliases", "allocs", "frees", "failures",
		"bytes_requested", "bytes_allocated", "live_objects", "live_bytes_requested",
		"live_bytes_allocated", "peak_bytes_allocated", "waste_bytes", "cross_cpu_frees",
		"temporary", "untraced_frees", "age_min_ns", "age_p50_ns", "age_max_ns",
		"balance.traced_net", "balance.real_net", "balance.verdict", "awaiting_rcu",
		"bytes_awaiting_rcu",
	};
	static const char *const quality[] = {
		"source", "events", "lost_ring", "lost_sites", "lost_objects", "lost_stacks",
		"recursion_misses", "frees_before_start", "untraced_frees", "failed_allocations",
		"sample_bytes",
	};
	static const char *const summary[] = {
		"events", "allocs", "frees", "live_objects", "live_bytes_requested",
		"live_bytes_allocated", "awaiting_rcu", "bytes_awaiting_rcu",
		"growth_bytes_per_s", "bytes_requested", "bytes_allocated",
		"waste_bytes", "waste_percent", "peak_bytes_allocated", "cross_cpu_frees",
		"temporary", "temporary_threshold_ns", "failures", "sites",
	};
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	run(&w, "site,cache");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (kmt_report_column(w.r, keys[i]) < 0)
			fail_msg("no column '%s'", keys[i]);
	for (size_t i = 0; i < sizeof(quality) / sizeof(quality[0]); i++)
		field(&w.r->quality, quality[i]);
	for (size_t i = 0; i < sizeof(summary) / sizeof(summary[0]); i++)
		assert_string_equal(w.r->summary.v[i].key, summary[i]);
	assert_int_equal(w.r->summary.n, sizeof(summary) / sizeof(summary[0]));
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_site_view),
		cmocka_unit_test(test_cache_view),
		cmocka_unit_test(test_books_off),
		cmocka_unit_test(test_books_tolerance),
		cmocka_unit_test(test_object_table_full),
		cmocka_unit_test(test_min_age),
		cmocka_unit_test(test_object_view),
		cmocka_unit_test(test_task_view),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_objects),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_keys),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
