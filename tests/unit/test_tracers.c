// SPDX-License-Identifier: GPL-2.0-only
/* Choosing tracers, one layer of several, and call sites out of stacks. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "core/only.h"
#include "core/snapshot.h"
#include "source/caller.h"
#include "symbol/frames.h"
#include "symbol/symbols.h"
#include "tracers/tracers.h"

static void test_parse(void **state)
{
	uint32_t set = 77;

	assert_int_equal(kmt_tracers_default(), KMT_TRACER_BIT(slab) | KMT_TRACER_BIT(bulk));
	assert_int_equal(kmt_tracers_parse("slab", &set), 0);
	assert_int_equal(set, 1);
	assert_int_equal(kmt_tracers_parse("vmalloc,page", &set), 0);
	assert_int_equal(set, KMT_TRACER_BIT(page) | KMT_TRACER_BIT(vmalloc));
	assert_int_equal(kmt_tracers_parse("slab,pag", &set), -EINVAL);
	assert_non_null(strstr(kmt_err_text(), "'pag'"));
	assert_int_equal(kmt_tracers_parse("", &set), -EINVAL);
	assert_int_equal(kmt_tracers_parse("slab,", &set), -EINVAL);
	assert_int_equal(set, KMT_TRACER_BIT(page) | KMT_TRACER_BIT(vmalloc));
}

/* It has no events of its own: it completes another tracer, and is of its layer. */
static void test_bulk(void **state)
{
	uint32_t set = 0;

	assert_int_equal(kmt_tracers_parse("bulk", &set), -EINVAL);
	assert_int_equal(kmt_tracers_parse("page,bulk", &set), -EINVAL);
	assert_int_equal(kmt_tracers_parse("bulk,slab", &set), 0);
	assert_int_equal(set, KMT_TRACER_BIT(slab) | KMT_TRACER_BIT(bulk));
	assert_int_equal(kmt_tracers_parse("slab,bulk:kprobe", &set), 0);
	assert_int_equal(set, KMT_TRACER_BIT(slab) | KMT_TRACER_BIT(bulk) | KMT_TRACERS_KPROBE);
	assert_int_equal(KMT_TRACERS_OF_EVENTS(set), KMT_TRACER_BIT(slab));
	assert_int_equal(kmt_tracers_types(set), kmt_tracers_types(KMT_TRACER_BIT(slab)));
	assert_int_equal(kmt_tracers_parse("slab,bulk:", &set), -EINVAL);
	assert_int_equal(kmt_tracers_parse("slab:kprobe", &set), -EINVAL);
}

static void test_of(void **state)
{
	assert_int_equal(kmt_tracers_of_type(KMT_TYPE_CACHE), KMT_TRACER_BIT(slab));
	assert_int_equal(kmt_tracers_of_type(KMT_TYPE_PERCPU), KMT_TRACER_BIT(percpu));
	assert_int_equal(kmt_tracers_of_type(99), 0);
	assert_int_equal(kmt_tracers_of_event("kmalloc"), KMT_TRACER_BIT(slab));
	assert_int_equal(kmt_tracers_of_event("kmalloc_node"), KMT_TRACER_BIT(slab));
	assert_int_equal(kmt_tracers_of_event("mm_page_free"), KMT_TRACER_BIT(page));
	assert_int_equal(kmt_tracers_of_event("mm_page_free_batched"), 0);
	assert_int_equal(kmt_tracers_of_event("alloc"), 0);
	assert_int_equal(kmt_tracers_of_event(""), 0);
	assert_int_equal(kmt_tracers_types(KMT_TRACER_BIT(slab)), 3);
	assert_int_equal(kmt_tracers_types(KMT_TRACER_BIT(page) | KMT_TRACER_BIT(vmalloc)), 20);
}

static void test_frames(void **state)
{
	assert_true(kmt_frame_is_allocator("__alloc_frozen_pages_noprof"));
	assert_true(kmt_frame_is_allocator("kfree"));
	assert_true(kmt_frame_is_allocator("new_slab.constprop.0"));
	assert_true(kmt_frame_is_allocator("get_free_pages_noprof"));
	assert_true(kmt_frame_is_allocator("vzalloc_node_noprof"));
	assert_false(kmt_frame_is_allocator("kfree_skb_reason"));
	assert_false(kmt_frame_is_allocator("alloc_skb_with_frags"));
	assert_false(kmt_frame_is_allocator("pte_alloc_one"));
	assert_false(kmt_frame_is_allocator(""));
	assert_false(kmt_frame_is_allocator("_noprof"));
}

/* 0xff10.. traceiter, 0xff20.. alloc_pages, 0xff30.. pipe_write, 0xff40.. vfs_write */
static const char kallsyms[] =
	"ffffffff81001000 t __traceiter_mm_page_alloc\n"
	"ffffffff81002000 T __alloc_pages\n"
	"ffffffff81003000 t pipe_write\n"
	"ffffffff81004000 T vfs_write\n"
	"ffffffff81005000 T last\n";

static void test_caller(void **state)
{
	static const uint64_t ips[] = { 0xffffffffc0001234, 0xffffffff81001010,
					0xffffffff81002020, 0xffffffff81003030,
					0xffffffff81004040 };
	struct kmt_symbols *symbols = NULL;
	struct kmt_caller c;
	struct kmt_event ev = { .ips = ips, .n_ips = 5 }, none = { .ips = ips, .n_ips = 3 };

	assert_int_equal(kmt_symbols_parse(kallsyms, sizeof(kallsyms) - 1, "test", &symbols), 0);
	kmt_caller_init(&c, symbols);
	kmt_caller_fill(&c, &ev);
	assert_true(ev.call_site == ips[3]);
	assert_int_equal(ev.n_ips, 2);
	assert_ptr_equal(ev.ips, ips + 3);
	kmt_caller_fill(&c, &none);	/* nothing but the allocator */
	assert_int_equal(none.call_site, 0);
	assert_int_equal(none.n_ips, 3);
	ev.call_site = 5;		/* the event's own word is not changed */
	kmt_caller_fill(&c, &ev);
	assert_int_equal(ev.call_site, 5);
	kmt_caller_done(&c);
	kmt_symbols_free(symbols);
}

static int count(void *ctx, const struct kmt_event *ev)
{
	(*(int *)ctx)++;
	return 0;
}

static void test_only_events(void **state)
{
	int n = 0;
	struct kmt_only o = { .types = kmt_tracers_types(KMT_TRACER_BIT(slab)),
			      .to = { .event = count, .ctx = &n } };
	struct kmt_sink sink = kmt_only_sink(&o);

	for (unsigned type = 0; type < 5; type++) {
		struct kmt_event ev = { .type = type };

		assert_int_equal(sink.event(sink.ctx, &ev), 0);
	}
	assert_int_equal(n, 2);
	assert_int_equal(o.left_out, 3);
	assert_int_equal(o.left_out_types, 4 | 8 | 16);
}

static int see(void *ctx, const struct kmt_snapshot *snap)
{
	assert_int_equal(snap->n_sites, 1);
	assert_int_equal(snap->sites[0].key.type, KMT_TYPE_PAGES);
	assert_int_equal(snap->n_free_sites, 1);
	assert_int_equal(snap->free_sites[0].type, KMT_TYPE_PAGES);
	(*(int *)ctx)++;
	return 0;
}

static void test_only_snapshot(void **state)
{
	const struct kmt_snap_site sites[] = {
		{ .key.type = KMT_TYPE_KMALLOC, .counts = { .allocs = 5, .frees = 2 } },
		{ .key.type = KMT_TYPE_PAGES, .counts = { .allocs = 7 } },
	};
	const struct kmt_snap_free_site frees[] = { { .type = KMT_TYPE_KMALLOC },
						    { .type = KMT_TYPE_PAGES } };
	const struct kmt_snapshot snap = { .sites = sites, .n_sites = 2, .free_sites = frees,
					   .n_free_sites = 2 };
	int n = 0;
	struct kmt_only o = { .types = 1u << KMT_TYPE_PAGES, .to = { .snapshot = see, .ctx = &n } };
	struct kmt_sink sink = kmt_only_sink(&o);

	assert_int_equal(sink.snapshot(sink.ctx, &snap), 0);
	assert_int_equal(sink.snapshot(sink.ctx, &snap), 0);
	assert_int_equal(n, 2);
	assert_int_equal(o.left_out, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_bulk),
		cmocka_unit_test(test_of),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_caller),
		cmocka_unit_test(test_only_events),
		cmocka_unit_test(test_only_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
