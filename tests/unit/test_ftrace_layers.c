// SPDX-License-Identifier: GPL-2.0-only
/* Lines of pages, per-CPU memory and vmalloc areas; test_ftrace.c has those of slabs. */
#include "ftrace.h"
#include "tracers/tracers.h"

#define A KMT_OP_ALLOC
#define F KMT_OP_FREE

/*
 * The other layers. Sizes by hand: 2^order pages of 4096 bytes, the size of an
 * area, per-CPU memory for all CPUs where the line or a header says how much.
 */
static const struct layer_want {
	const char *line;
	enum kmt_op op;
	uint8_t type;
	const char *site;	/* NULL: the line has none */
	uint64_t addr, req, given;
	const char *gfp;
	int order, migratetype;
	bool is_hashed;
} layers[] = {
	/* 2.6.32: pfn=%lu, %p is the address, frees have another name */
	{ "  bash-4251  [001]  5082.123456: mm_page_alloc: page=ffffea0001b2f4a8 pfn=509789 order=2 "
	  "migratetype=2 gfp_flags=GFP_KERNEL|GFP_REPEAT|GFP_COMP",
	  A, KMT_TYPE_PAGES, NULL, 509789ULL * 4096, 16384, 16384, "GFP_KERNEL|GFP_COMP|GFP_REPEAT",
	  2, 2, false },
	{ "  bash-4251  [001]  5082.123457: mm_page_free_direct: page=ffffea0001b2f4a8 pfn=509789 "
	  "order=2", F, KMT_TYPE_PAGES, NULL, 509789ULL * 4096, 0, 0, NULL, 2, -1, false },
	/* a failure: no page; before 4.2 as after it */
	{ "  bash-4251  [001]  5082.123458: mm_page_alloc: page=          (null) pfn=0 order=9 "
	  "migratetype=1 gfp_flags=GFP_TRANSHUGE",
	  A, KMT_TYPE_PAGES, NULL, 0, 2097152, 2097152, "GFP_TRANSHUGE", 9, 1, false },
	/* 4.19: hashes, which do not matter where there is the number of the frame */
	{ "  bash-4251  [001] ....  5082.123459: mm_page_alloc: page=00000000d1c2b3a4 pfn=1048576 "
	  "order=0 migratetype=1 gfp_flags=GFP_HIGHUSER_MOVABLE|__GFP_ZERO",
	  A, KMT_TYPE_PAGES, NULL, 1ULL << 32, 4096, 4096, "GFP_HIGHUSER_MOVABLE|__GFP_ZERO", 0, 1,
	  false },
	{ "  bash-4251  [001] ....  5082.123459: mm_page_free: page=(____ptrval____) pfn=1048576 "
	  "order=0", F, KMT_TYPE_PAGES, NULL, 1ULL << 32, 0, 0, NULL, 0, -1, false },
	/* 6.18: pfn=0x%lx; with the option fields; perf, whose page is none */
	{ "  bash-3447  [000] ..... 20633.653635: mm_page_alloc: page=00000000b0ad8949 pfn=0x26dcf6 "
	  "order=1 migratetype=2 gfp_flags=__GFP_RECLAIMABLE|__GFP_IO",
	  A, KMT_TYPE_PAGES, NULL, 0x26dcf6000, 8192, 8192, "__GFP_RECLAIMABLE|__GFP_IO", 1, 2,
	  false },
	{ "  bash-3447  [000] ..... 20633.653636: mm_page_alloc: pfn=0x26dcf6 (2546934) order=0x3 (3) "
	  "gfp_flags=0xcc0 (3264) migratetype=0x0 (0)",
	  A, KMT_TYPE_PAGES, NULL, 0x26dcf6000, 32768, 32768, "0xcc0", 3, 0, false },
	{ "work.sh 25174 [001] 20432.420629782:             kmem:mm_page_alloc: page=0x1ab0b4 "
	  "pfn=0x1ab0b4 order=0 migratetype=0 gfp_flags=GFP_KERNEL_ACCOUNT|__GFP_ZERO|__GFP_COMP",
	  A, KMT_TYPE_PAGES, NULL, 0x1ab0b4000, 4096, 4096,
	  "GFP_KERNEL_ACCOUNT|__GFP_ZERO|__GFP_COMP", 0, 0, false },
	{ "work.sh 25174 [001] 20432.420629783:             kmem:mm_page_alloc: page=(nil) pfn=0x0 "
	  "order=4 migratetype=0 gfp_flags=GFP_NOWAIT",
	  A, KMT_TYPE_PAGES, NULL, 0, 65536, 65536, "GFP_NOWAIT", 4, 0, false },
	{ "work.sh 25174 [001] 20432.420629784:             kmem:mm_page_free: page=0x1ab0b4 "
	  "pfn=0x1ab0b4 order=0", F, KMT_TYPE_PAGES, NULL, 0x1ab0b4000, 0, 0, NULL, 0, -1, false },
	/* percpu 4.14: one CPU's share, a pointer into the first chunk; free; failure */
	{ "  bash-1  [001] ....  5.000001: percpu_alloc_percpu: reserved=0 is_atomic=0 size=24 align=8 "
	  "base_addr=ffff88003fc00000 off=124016 ptr=000000000001e470",
	  A, KMT_TYPE_PERCPU, NULL, 0x1e470, 24, 24, NULL, -1, -1, false },
	{ "  bash-1  [001] ....  5.000002: percpu_free_percpu: base_addr=ffff88003fc00000 off=124016 "
	  "ptr=00000000f978eb91", F, KMT_TYPE_PERCPU, NULL, 0xf978eb91, 0, 0, NULL, -1, -1, true },
	{ "  bash-1  [001] ....  5.000003: percpu_alloc_percpu_fail: reserved=0 is_atomic=1 size=40000 "
	  "align=8", A, KMT_TYPE_PERCPU, NULL, 0, 40000, 40000, NULL, -1, -1, false },
	/* 5.19 and later: its call site, its bytes */
	{ "  bash-1  [000] 20452.221898: percpu:percpu_alloc_percpu: call_site=m_init+0x2e7/0x4f0 [mod] "
	  "reserved=0 is_atomic=0 size=16 align=8 base_addr=0xffffe8ffffc00000 off=32520 "
	  "ptr=0x60795bafef08 bytes_alloc=64 gfp_flags=GFP_KERNEL",
	  A, KMT_TYPE_PERCPU, "m_init+0x2e7 [mod]", 0x60795bafef08, 64, 64, "GFP_KERNEL", -1, -1,
	  false },
	/* vmalloc: decimal address of the area; failed; fields */
	{ "work.sh 25174 [001] 20432.470404325:        vmalloc:alloc_vmap_area: va_start: "
	  "18446683600616505344 size=20480 align=16384 vstart=0xffffc90000000000 "
	  "vend=0xffffe8ffffffffff failed=0",
	  A, KMT_TYPE_VMALLOC, NULL, 18446683600616505344ULL, 20480, 20480, NULL, -1, -1, false },
	{ "  bash-1  [001] .....  5.000004: alloc_vmap_area: va_start: 18446708889337462783 "
	  "size=1052672 align=4096 vstart=0xffffc90000000000 vend=0xffffe8ffffffffff failed=1",
	  A, KMT_TYPE_VMALLOC, NULL, 0, 1052672, 1052672, NULL, -1, -1, false },
	{ "  bash-1  [001] .....  5.000004: alloc_vmap_area: addr=0xffffc900001a4000 "
	  "(18446683600571842560) size=0x2000 (8192) align=0x1 (1) vstart=0x0 (0) vend=0x0 (0) "
	  "failed=0x0 (0)",
	  A, KMT_TYPE_VMALLOC, NULL, 0xffffc900001a4000, 8192, 8192, NULL, -1, -1, false },
	{ "  bash-1  [001] .....  5.000005: free_vmap_area_noflush: va_start=0xffffc900001a4000 "
	  "nr_lazy=5 nr_lazy_max=16384",
	  F, KMT_TYPE_VMALLOC, NULL, 0xffffc900001a4000, 0, 0, NULL, -1, -1, false },
};

static void other_layers(void **state)
{
	struct kmt_ftrace_line l = { 0 };

	for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		const struct layer_want *w = &layers[i];
		enum kmt_ftrace_kind kind = parse(&l, w->line);

		if (kind != KMT_FTRACE_EVENT)
			fail_msg("%s: %s", kind == KMT_FTRACE_BAD ? l.why : "no event", w->line);
		if (l.ev.addr != w->addr)
			fail_msg("address %llx: %s", (unsigned long long)l.ev.addr, w->line);
		assert_int_equal(l.ev.op, w->op);
		assert_int_equal(l.ev.type, w->type);
		assert_int_equal(l.ev.call_site, 0);
		assert_str(l.ev.call_site_name, w->site);
		assert_int_equal(l.ev.bytes_req, w->req);
		assert_int_equal(l.ev.bytes_alloc, w->given);
		assert_int_equal(l.ev.order, w->order);
		assert_int_equal(l.ev.migratetype, w->migratetype);
		assert_int_equal(l.is_hashed, w->is_hashed);
		assert_true(l.ev.has_time && l.ev.has_task);
		assert_null(l.ev.cache);
		if (w->gfp)
			assert_gfp(&l, w->gfp);
	}
	/* where a header tells the CPUs, what was asked for is known */
	assert_int_equal(parse(&l, "# entries-in-buffer/entries-written: 12/12   #P:3"),
			 KMT_FTRACE_HEADER);
	parse(&l, "percpu_alloc_percpu: call_site=f+0x1/0x2 reserved=0 is_atomic=0 size=16 align=8 "
	      "base_addr=0 off=0 ptr=0x60795bafef08 bytes_alloc=80 gfp_flags=GFP_KERNEL");
	assert_int_equal(l.ev.bytes_req, 48);
	assert_int_equal(l.ev.bytes_alloc, 80);
	assert_int_equal(parse(&l, "cpus=4"), KMT_FTRACE_HEADER);
	parse(&l, "percpu_alloc_percpu: reserved=0 is_atomic=0 size=16 align=8 base_addr=0 off=0 "
	      "ptr=0x80");
	assert_int_equal(l.ev.bytes_req, 64);
	assert_int_equal(l.ev.bytes_alloc, 64);
	/* names of caches hold what are keys elsewhere */
	parse(&l, "kmem_cache_free: call_site=f+0x1/0x2 ptr=ffff888100a3c000 name=a size=1 order=2");
	assert_str(l.ev.cache, "a size=1 order=2");
}

/* Each without one thing that it needs, or with nonsense there. */
static void bad_lines(void **state)
{
	static const char *const lines[] = {
		"mm_page_alloc: page=ffffea0000000000 pfn=1 migratetype=0 gfp_flags=none",
		"mm_page_alloc: page=ffffea0000000000 pfn=1 order=0 migratetype=0",
		"mm_page_alloc: order=0 migratetype=0 gfp_flags=none",
		"mm_page_alloc: page=1 pfn=1 order=0 migratetype=x gfp_flags=none",
		"mm_page_alloc: page=1 pfn=0x order=0 migratetype=0 gfp_flags=none",
		"mm_page_alloc: page=1 pfn=1 order=0 migratetype=0 gfp_flags=|",
		"mm_page_free: page=1 pfn=1 order=-1",
		"percpu_alloc_percpu: reserved=0 size=8 align=8",
		"percpu_alloc_percpu: reserved=0 align=8 ptr=1000",
		"percpu_alloc_percpu: call_site=+ size=8 ptr=1000",
		"percpu_free_percpu: base_addr=1 off=1",
		"percpu_free_percpu: base_addr=1 off=1 ptr=(ptrval)",
		"alloc_vmap_area: size=4096 align=1 failed=0",
		"alloc_vmap_area: va_start: 4096 align=1 failed=0",
		"free_vmap_area_noflush: va_start=xyz",
		"mm_page_free_batched: page=1 pfn=1 order=0 cold=0",
	};
	struct kmt_ftrace_line l = { 0 };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		l.why = NULL;
		if (parse(&l, lines[i]) != KMT_FTRACE_BAD)
			fail_msg("not bad: %s", lines[i]);
		assert_non_null(l.why);
	}
	assert_int_equal(parse(&l, "a-1 [000] 1.000001: mm_page_free_batched: page=1 pfn=1 order=0 "
			       "cold=0"), KMT_FTRACE_OTHER);
}

#define PAGE(who, t, pfn, order, gfp) who " " t ": mm_page_alloc: page=ffffea0000000040 pfn=" pfn \
	" order=" order " migratetype=0 gfp_flags=" gfp "\n"
#define PAGE_FREE(who, t, pfn, order) who " " t ": mm_page_free: page=ffffea0000000040 pfn=" pfn \
	" order=" order "\n"

static void assert_layers(const char *text, struct capture c, const char *want)
{
	c.sites = true;
	assert_int_equal(run_text(text, &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), want);
	kmt_buf_done(&c.text);
}

/* What no line says is in the stack below it, behind tracer and allocator. */
static void call_sites_come_from_stacks(void **state)
{
	const struct capture all = {
		.tracers = KMT_TRACER_BIT(slab) | KMT_TRACER_BIT(page) | KMT_TRACER_BIT(percpu) |
			   KMT_TRACER_BIT(vmalloc),
	};
	struct capture stacks = all;

	stacks.stacks = true;
	static const char text[] =
		PAGE("a-1 [000] .....", "1.000001", "0x10", "1", "GFP_KERNEL")
		STACK("a-1 [000] .....", "1.000001")
		" => trace_event_raw_event_mm_page_alloc\n => __alloc_frozen_pages_noprof\n"
		" => alloc_pages_mpol\n => alloc_pages_noprof\n => pte_alloc_one\n => do_fault\n"
		ALLOC("a-1 [000] .....", "1.000002", "f+0x10/0x20", "ffff888100000010")
		STACK("a-1 [000] .....", "1.000002") " => __kmalloc\n => f\n => g\n"
		"a-1 [000] ..... 1.000003: alloc_vmap_area: va_start: 65536 size=8192 align=1 "
		"vstart=0x0 vend=0x0 failed=0\n"
		STACK("a-1 [000] .....", "1.000003")
		" => alloc_vmap_area\n => __get_vm_area_node\n => __vmalloc_node_range_noprof\n"
		" => vzalloc_noprof\n => m_open+0x20/0x30 [mod]\n => g\n"
		"a-1 [000] ..... 1.000004: percpu_free_percpu: base_addr=1 off=1 ptr=60795bafef08\n"
		STACK("a-1 [000] .....", "1.000004") " => free_percpu\n => __mmdrop\n";

	assert_layers(text, all, "+10000@pte_alloc_one +ffff888100000010@f+0x10 "
		      "+10000@m_open+0x20 [mod] -60795bafef08@__mmdrop ");
	assert_layers(text, stacks, "+10000@pte_alloc_one<pte_alloc_one<do_fault "
		      "+ffff888100000010@f+0x10<f+0x10<g "
		      "+10000@m_open+0x20 [mod]<m_open+0x20 [mod]<g "
		      "-60795bafef08@__mmdrop<__mmdrop ");
	/* perf: addresses, tracing itself in front; nothing but the allocator; no stack at all */
	assert_layers(PAGE("a 1 [000]", "1.000001", "0x10", "0", "GFP_KERNEL")
		      "\tffffffff81000100 perf_trace_mm_page_alloc+0x58 ([kernel.kallsyms])\n"
		      "\tffffffff81000210 alloc_pages_mpol+0x10 ([kernel.kallsyms])\n"
		      "\tffffffffa0000004 m+0x4 ([mod])\n"
		      "\t           ee137 main+0x7 (/usr/bin/x)\n\n"
		      PAGE("a 1 [000]", "1.000002", "0x11", "0", "GFP_KERNEL")
		      "\tffffffff81000210 alloc_pages_mpol+0x10 ([kernel.kallsyms])\n\n"
		      PAGE("a 1 [000]", "1.000003", "0x12", "0", "GFP_KERNEL"),
		      all, "+10000@m+0x4 [mod] +11000@? +12000@? ");
}

/* A text without stacks has lost none; one with some has lost those that are missing. */
static void stacks_of_pages_are_counted(void **state)
{
	struct capture c = { .tracers = KMT_TRACER_BIT(page) };

	assert_int_equal(run_text(PAGE("a-1 [000] .....", "1.000001", "1", "0", "GFP_KERNEL")
				  PAGE("a-1 [000] .....", "1.000002", "2", "0", "GFP_KERNEL"), &c),
			 -ENODATA);
	assert_int_equal(c.q.lost[KMT_LOSS_STACKS], 0);
	kmt_buf_done(&c.text);
	c = (struct capture){ .tracers = KMT_TRACER_BIT(page) };
	assert_int_equal(run_text(PAGE("a-1 [000] .....", "1.000001", "1", "0", "GFP_KERNEL")
				  ALLOC("a-1 [000] .....", "1.000002", "f+0x1/0x2", "10010")
				  PAGE("a-1 [000] .....", "1.000003", "2", "0", "GFP_KERNEL")
				  STACK("a-1 [000] .....", "1.000003") " => f\n", &c),
			 -ENODATA);
	assert_int_equal(c.q.lost[KMT_LOSS_STACKS], 1);
	kmt_buf_done(&c.text);
}

/* What may be moved is left out unless asked for, and with it its frees, in parts too. */
static void user_pages(void **state)
{
	static const char text[] =
		PAGE("a-1 [000] .....", "1.000001", "0x10", "2", "GFP_KERNEL")
		PAGE("a-1 [000] .....", "1.000002", "0x20", "1", "GFP_HIGHUSER_MOVABLE|__GFP_ZERO")
		PAGE_FREE("a-1 [000] .....", "1.000003", "0x12", "1")
		PAGE_FREE("a-1 [000] .....", "1.000004", "0x20", "1")
		PAGE_FREE("a-1 [000] .....", "1.000005", "0x99", "0");
	struct kmt_filter big = { .size_min = 10000 };
	struct capture c = { .tracers = KMT_TRACER_BIT(page) };

	assert_int_equal(run_text(text, &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), "+10000 -12000 ");
	assert_int_equal(c.q.filtered, 3);
	kmt_buf_done(&c.text);
	c = (struct capture){ .tracers = KMT_TRACER_BIT(page), .user_pages = true };
	assert_int_equal(run_text(text, &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), "+10000 +20000 -12000 -20000 -99000 ");
	kmt_buf_done(&c.text);
	/* a filter remembers frames, too */
	c = (struct capture){ .tracers = KMT_TRACER_BIT(page), .user_pages = true, .filter = &big };
	assert_int_equal(run_text(text, &c), -ENODATA);
	assert_string_equal(kmt_buf_str(&c.text), "+10000 -12000 ");
	kmt_buf_done(&c.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_layers),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(call_sites_come_from_stacks),
		cmocka_unit_test(stacks_of_pages_are_counted),
		cmocka_unit_test(user_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
