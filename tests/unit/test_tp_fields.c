// SPDX-License-Identifier: GPL-2.0-only
#include <byteswap.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "source/tp_fields.h"

/*
 * Layouts of x86-64 kernels, as their format files and headers have them. The
 * records are filled at these offsets by hand, so that a wrong place shows.
 */
#define N(name_, at, len, sign) \
	{ .name = name_, .offset = at, .size = len, .is_signed = sign }
#define S(name_, at) { .name = name_, .offset = at, .size = 4, .is_dynamic = true }

#define SITE 0xffffffff81234567ULL
#define PTR  0xffff888104aa0800ULL

static const struct kmt_tp_field kmalloc_2009[] = {	/* 2.6.31 - 5.18 */
	N("call_site", 8, 8, 0), N("ptr", 16, 8, 0), N("bytes_req", 24, 8, 0),
	N("bytes_alloc", 32, 8, 0), N("gfp_flags", 40, 4, 0),
};
static const struct kmt_tp_field kmalloc_node_2009[] = {
	N("call_site", 8, 8, 0), N("ptr", 16, 8, 0), N("bytes_req", 24, 8, 0),
	N("bytes_alloc", 32, 8, 0), N("gfp_flags", 40, 4, 0), N("node", 44, 4, 1),
};
static const struct kmt_tp_field kmalloc_node_519[] = {	/* 5.19: the flags became a long */
	N("call_site", 8, 8, 0), N("ptr", 16, 8, 0), N("bytes_req", 24, 8, 0),
	N("bytes_alloc", 32, 8, 0), N("gfp_flags", 40, 8, 0), N("node", 48, 4, 1),
};
static const struct kmt_tp_field cache_alloc_61[] = {	/* 6.1 - 6.17 */
	N("call_site", 8, 8, 0), N("ptr", 16, 8, 0), N("bytes_req", 24, 8, 0),
	N("bytes_alloc", 32, 8, 0), N("gfp_flags", 40, 8, 0), N("node", 48, 4, 1),
	N("accounted", 52, 1, 0),
};
static const struct kmt_tp_field cache_alloc_618[] = {	/* 6.18: a name before the sizes */
	N("call_site", 8, 8, 0), N("ptr", 16, 8, 0), S("name", 24), N("bytes_req", 32, 8, 0),
	N("bytes_alloc", 40, 8, 0), N("gfp_flags", 48, 8, 0), N("node", 56, 4, 1),
	N("accounted", 60, 1, 0),
};
static const struct kmt_tp_field kfree_any[] = {
	N("call_site", 8, 8, 0), N("ptr", 16, 8, 0),
};
static const struct kmt_tp_field cache_free_512[] = {	/* since 5.12 */
	N("call_site", 8, 8, 0), N("ptr", 16, 8, 0), S("name", 24),
};
static const struct kmt_tp_field kmalloc_32bit[] = {	/* a 32-bit kernel */
	N("call_site", 8, 4, 0), N("ptr", 12, 4, 0), N("bytes_req", 16, 4, 0),
	N("bytes_alloc", 20, 4, 0), N("gfp_flags", 24, 4, 0), N("node", 28, 4, 1),
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void put(uint8_t *rec, size_t at, uint64_t v, size_t len)
{
	memcpy(rec + at, &v, len);	/* on a little-endian machine */
}

/* call_site and ptr stand first in every 64-bit layout */
static void put_head(uint8_t *rec)
{
	put(rec, 8, SITE, 8);
	put(rec, 16, PTR, 8);
}

static void check_alloc(const struct kmt_event *ev, uint8_t type)
{
	assert_int_equal(ev->op, KMT_OP_ALLOC);
	assert_int_equal(ev->type, type);
	assert_int_equal(ev->call_site, SITE);
	assert_int_equal(ev->addr, PTR);
	assert_int_equal(ev->bytes_req, 1048);
	assert_int_equal(ev->bytes_alloc, 2048);
	assert_int_equal(ev->gfp, 0xcc0);
}

static void test_2009(void **state)
{
	uint8_t rec[48] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { .cpu = 7 };

	put_head(rec);
	put(rec, 24, 1048, 8);
	put(rec, 32, 2048, 8);
	put(rec, 40, 0xcc0, 4);
	put(rec, 44, 1, 4);
	assert_int_equal(kmt_tp_bind("kmalloc", kmalloc_2009, COUNT(kmalloc_2009), &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, 44, &ev), 0);
	check_alloc(&ev, KMT_TYPE_KMALLOC);
	assert_int_equal(ev.node, -1);	/* not in this event */
	assert_null(ev.cache);
	assert_int_equal(ev.cpu, 7);	/* left alone */
	assert_int_equal(kmt_tp_bind("kmem_cache_alloc_node", kmalloc_node_2009,
				     COUNT(kmalloc_node_2009), &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	check_alloc(&ev, KMT_TYPE_CACHE);
	assert_int_equal(ev.node, 1);
}

static void test_519(void **state)
{
	uint8_t rec[56] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put_head(rec);
	put(rec, 24, 1048, 8);
	put(rec, 32, 2048, 8);
	put(rec, 40, 0xcc0, 8);
	put(rec, 48, (uint32_t)-1, 4);
	assert_int_equal(kmt_tp_bind("kmalloc_node", kmalloc_node_519, COUNT(kmalloc_node_519),
				     &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	check_alloc(&ev, KMT_TYPE_KMALLOC);
	assert_int_equal(ev.node, -1);
}

static void test_61(void **state)
{
	uint8_t rec[56] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put_head(rec);
	put(rec, 24, 1048, 8);
	put(rec, 32, 2048, 8);
	put(rec, 40, 0xcc0, 8);
	put(rec, 48, 3, 4);
	assert_int_equal(kmt_tp_bind("kmem_cache_alloc", cache_alloc_61, COUNT(cache_alloc_61),
				     &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	check_alloc(&ev, KMT_TYPE_CACHE);
	assert_int_equal(ev.node, 3);
	assert_null(ev.cache);
}

static void test_618(void **state)
{
	uint8_t rec[72] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put_head(rec);
	put(rec, 24, 7 << 16 | 64, 4);	/* 7 bytes at 64 */
	memcpy(rec + 64, "dentry", 7);
	put(rec, 32, 1048, 8);
	put(rec, 40, 2048, 8);
	put(rec, 48, 0xcc0, 8);
	put(rec, 56, (uint32_t)-1, 4);
	assert_int_equal(kmt_tp_bind("kmem_cache_alloc", cache_alloc_618, COUNT(cache_alloc_618),
				     &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	check_alloc(&ev, KMT_TYPE_CACHE);
	assert_string_equal(ev.cache, "dentry");
	assert_int_equal(ev.node, -1);
}

static void test_frees(void **state)
{
	uint8_t rec[40] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put_head(rec);
	put(rec, 24, 5 << 16 | 28, 4);
	memcpy(rec + 28, "filp", 5);
	assert_int_equal(kmt_tp_bind("kfree", kfree_any, COUNT(kfree_any), &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, 24, &ev), 0);
	assert_int_equal(ev.op, KMT_OP_FREE);
	assert_int_equal(ev.type, KMT_TYPE_KMALLOC);
	assert_int_equal(ev.call_site, SITE);
	assert_int_equal(ev.addr, PTR);
	assert_int_equal(ev.bytes_req, 0);
	assert_null(ev.cache);
	assert_int_equal(kmt_tp_bind("kmem_cache_free", cache_free_512, COUNT(cache_free_512),
				     &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_int_equal(ev.type, KMT_TYPE_CACHE);
	assert_string_equal(ev.cache, "filp");
	/* before 5.12 the event was kfree's twin */
	assert_int_equal(kmt_tp_bind("kmem_cache_free", kfree_any, COUNT(kfree_any), &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, 24, &ev), 0);
	assert_null(ev.cache);
}

static void test_32bit(void **state)
{
	uint8_t rec[32] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put(rec, 8, 0xc1234567, 4);
	put(rec, 12, 0xf6aa0800, 4);
	put(rec, 16, 100, 4);
	put(rec, 20, 128, 4);
	put(rec, 24, 0xd0, 4);
	put(rec, 28, (uint32_t)-1, 4);
	assert_int_equal(kmt_tp_bind("kmalloc_node", kmalloc_32bit, COUNT(kmalloc_32bit), &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_int_equal(ev.call_site, 0xc1234567);	/* not sign-extended */
	assert_int_equal(ev.addr, 0xf6aa0800);
	assert_int_equal(ev.bytes_req, 100);
	assert_int_equal(ev.bytes_alloc, 128);
	assert_int_equal(ev.gfp, 0xd0);
	assert_int_equal(ev.node, -1);
}

static void test_other_byte_order(void **state)
{
	uint8_t rec[56] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put(rec, 8, bswap_64(SITE), 8);
	put(rec, 16, bswap_64(PTR), 8);
	put(rec, 24, bswap_64(1048), 8);
	put(rec, 32, bswap_64(2048), 8);
	put(rec, 40, bswap_64(0xcc0), 8);
	put(rec, 48, bswap_32((uint32_t)-1), 4);
	assert_int_equal(kmt_tp_bind("kmalloc", kmalloc_node_519, COUNT(kmalloc_node_519), &l), 0);
	l.swap = true;
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	check_alloc(&ev, KMT_TYPE_KMALLOC);
	assert_int_equal(ev.node, -1);
}

static void test_short_record(void **state)
{
	uint8_t rec[72] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	assert_int_equal(kmt_tp_bind("kmem_cache_alloc", cache_alloc_618, COUNT(cache_alloc_618),
				     &l), 0);
	for (size_t len = 0; len < 60; len++)
		assert_int_equal(kmt_tp_decode(&l, rec, len, &ev), -EBADMSG);
	assert_int_equal(kmt_tp_decode(&l, rec, 60, &ev), 0);
}

/* A name that is not whole within the record is no name. */
static void test_bad_strings(void **state)
{
	static const uint32_t loc[] = {
		0, 64,			/* empty */
		7u << 16 | 66,		/* ends behind the record */
		0xffffu << 16 | 64, 7u << 16 | 0xffff,
		6u << 16 | 64,		/* without its end */
	};
	uint8_t rec[72] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev;

	memcpy(rec + 64, "dentry\0x", 8);
	assert_int_equal(kmt_tp_bind("kmem_cache_alloc", cache_alloc_618, COUNT(cache_alloc_618),
				     &l), 0);
	for (size_t i = 0; i < COUNT(loc); i++) {
		put(rec, 24, loc[i], 4);
		assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
		assert_null(ev.cache);
	}
	put(rec, 24, 7 << 16 | 64, 4);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_string_equal(ev.cache, "dentry");
}

static void test_relative_string(void **state)
{
	struct kmt_tp_field f[COUNT(cache_free_512)];
	uint8_t rec[40] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev;

	memcpy(f, cache_free_512, sizeof(f));
	f[2].is_relative = true;
	put(rec, 24, 5 << 16 | 4, 4);	/* four bytes behind the field's end at 28 */
	memcpy(rec + 32, "filp", 5);
	assert_int_equal(kmt_tp_bind("kmem_cache_free", f, COUNT(f), &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_string_equal(ev.cache, "filp");
}

static void test_unbindable(void **state)
{
	struct kmt_tp_field f[COUNT(kmalloc_2009)];
	struct kmt_tp_layout l;

	assert_int_equal(kmt_tp_bind("mm_page_free_batched", kmalloc_2009, COUNT(kmalloc_2009), &l),
			 -ENOENT);
	/* without any one of its fields an allocation is not understood */
	for (size_t skip = 0; skip < COUNT(kmalloc_2009); skip++) {
		size_t n = 0;

		for (size_t i = 0; i < COUNT(kmalloc_2009); i++)
			if (i != skip)
				f[n++] = kmalloc_2009[i];
		assert_int_equal(kmt_tp_bind("kmalloc", f, n, &l), -EPROTO);
		assert_non_null(strstr(kmt_err_text(), kmalloc_2009[skip].name));
	}
	memcpy(f, kmalloc_2009, sizeof(f));
	f[1].size = 16;
	assert_int_equal(kmt_tp_bind("kmalloc", f, COUNT(f), &l), -EPROTO);
	memcpy(f, kmalloc_2009, sizeof(f));
	f[1].offset = 0x10000;
	assert_int_equal(kmt_tp_bind("kmalloc", f, COUNT(f), &l), -EPROTO);
	/* a name of another kind is done without */
	f[0] = (struct kmt_tp_field)N("name", 24, 16, 0);
	memcpy(f + 1, kfree_any, sizeof(kfree_any));
	assert_int_equal(kmt_tp_bind("kmem_cache_free", f, 3, &l), 0);
	assert_false(l.has[KMT_TP_NAME]);
}

/* ---- the other layers: formats of 6.18 ---- */

static const struct kmt_tp_field page_alloc[] = {
	N("pfn", 8, 8, 0), N("order", 16, 4, 0), N("gfp_flags", 24, 8, 0),
	N("migratetype", 32, 4, 1),
};
static const struct kmt_tp_field page_free[] = { N("pfn", 8, 8, 0), N("order", 16, 4, 0) };
static const struct kmt_tp_field page_alloc_2009[] = {	/* 2.6.32 - 4.1 */
	N("page", 8, 8, 0), N("order", 16, 4, 0), N("gfp_flags", 20, 4, 0),
	N("migratetype", 24, 4, 1),
};
static const struct kmt_tp_field percpu_alloc[] = {	/* since 5.19 */
	N("call_site", 8, 8, 0), N("reserved", 16, 1, 0), N("is_atomic", 17, 1, 0),
	N("size", 24, 8, 0), N("align", 32, 8, 0), N("base_addr", 40, 8, 0),
	N("off", 48, 4, 1), N("ptr", 56, 8, 0), N("bytes_alloc", 64, 8, 0),
	N("gfp_flags", 72, 8, 0),
};
static const struct kmt_tp_field percpu_alloc_413[] = {
	N("reserved", 8, 1, 0), N("is_atomic", 9, 1, 0), N("size", 16, 8, 0),
	N("align", 24, 8, 0), N("base_addr", 32, 8, 0), N("off", 40, 4, 1), N("ptr", 48, 8, 0),
};
static const struct kmt_tp_field percpu_free[] = {
	N("base_addr", 8, 8, 0), N("off", 16, 4, 1), N("ptr", 24, 8, 0),
};
static const struct kmt_tp_field percpu_fail[] = {
	N("reserved", 8, 1, 0), N("is_atomic", 9, 1, 0), N("size", 16, 8, 0), N("align", 24, 8, 0),
};
static const struct kmt_tp_field vmap_alloc[] = {
	N("addr", 8, 8, 0), N("size", 16, 8, 0), N("align", 24, 8, 0), N("vstart", 32, 8, 0),
	N("vend", 40, 8, 0), N("failed", 48, 4, 1),
};
static const struct kmt_tp_field vmap_free[] = {
	N("va_start", 8, 8, 0), N("nr_lazy", 16, 8, 0), N("nr_lazy_max", 24, 8, 0),
};

static void test_pages(void **state)
{
	uint8_t rec[40] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put(rec, 8, 0x12345, 8);
	put(rec, 16, 3, 4);
	put(rec, 24, 0x40cc0, 8);
	put(rec, 32, 2, 4);
	assert_int_equal(kmt_tp_bind("mm_page_alloc", page_alloc, COUNT(page_alloc), &l), 0);
	assert_false(kmt_tp_has_site(&l));
	assert_string_equal(kmt_tp_system("mm_page_alloc"), "kmem");
	assert_int_equal(kmt_tp_decode(&l, rec, 36, &ev), 0);
	assert_int_equal(ev.op, KMT_OP_ALLOC);
	assert_int_equal(ev.type, KMT_TYPE_PAGES);
	assert_int_equal(ev.addr, 0x12345000);
	assert_int_equal(ev.bytes_req, 32768);
	assert_int_equal(ev.bytes_alloc, 32768);
	assert_int_equal(ev.gfp, 0x40cc0);
	assert_int_equal(ev.order, 3);
	assert_int_equal(ev.migratetype, KMT_MIGRATE_RECLAIMABLE);
	assert_int_equal(ev.call_site, 0);
	l.page_size = 65536;	/* arm64 can */
	assert_int_equal(kmt_tp_decode(&l, rec, 36, &ev), 0);
	assert_int_equal(ev.addr, 0x123450000);
	assert_int_equal(ev.bytes_alloc, 524288);
	put(rec, 8, UINT64_MAX, 8);	/* it failed */
	assert_int_equal(kmt_tp_decode(&l, rec, 36, &ev), 0);
	assert_int_equal(ev.addr, 0);
	put(rec, 8, 0x12345, 8);
	put(rec, 16, 200, 4);		/* no order that can be */
	assert_int_equal(kmt_tp_decode(&l, rec, 36, &ev), 0);
	assert_int_equal(ev.order, -1);
	assert_int_equal(ev.bytes_alloc, 0);
}

static void test_page_free(void **state)
{
	uint8_t rec[24] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put(rec, 8, 0x12345, 8);
	put(rec, 16, 1, 4);
	assert_int_equal(kmt_tp_bind("mm_page_free", page_free, COUNT(page_free), &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, 20, &ev), 0);
	assert_int_equal(ev.op, KMT_OP_FREE);
	assert_int_equal(ev.addr, 0x12345000);
	assert_int_equal(ev.order, 1);
	assert_int_equal(ev.bytes_alloc, 0);
	assert_int_equal(ev.migratetype, -1);
}

/* The address of the struct page: 64 bytes each, so the next one is the next number. */
static void test_pages_2009(void **state)
{
	uint8_t rec[32] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 }, next = { 0 };

	put(rec, 8, 0xffffea0000123400, 8);
	put(rec, 16, 0, 4);
	put(rec, 20, 0xd0, 4);
	assert_int_equal(kmt_tp_bind("mm_page_alloc", page_alloc_2009, COUNT(page_alloc_2009), &l),
			 0);
	assert_int_equal(kmt_tp_decode(&l, rec, 28, &ev), 0);
	put(rec, 8, 0xffffea0000123440, 8);
	assert_int_equal(kmt_tp_decode(&l, rec, 28, &next), 0);
	assert_int_equal(next.addr - ev.addr, 4096);
	assert_int_equal(ev.addr & 0xfff, 0);
	assert_int_equal(ev.gfp, 0xd0);
	put(rec, 8, 0, 8);
	assert_int_equal(kmt_tp_decode(&l, rec, 28, &ev), 0);
	assert_int_equal(ev.addr, 0);
}

static void test_percpu(void **state)
{
	uint8_t rec[80] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put(rec, 8, SITE, 8);
	put(rec, 24, 64, 8);
	put(rec, 56, 0x607fc00ull, 8);
	put(rec, 64, 384, 8);	/* 2 CPUs, and 2 bytes of bookkeeping for each byte */
	put(rec, 72, 0xcc0, 8);
	assert_int_equal(kmt_tp_bind("percpu_alloc_percpu", percpu_alloc, COUNT(percpu_alloc), &l),
			 0);
	assert_true(kmt_tp_has_site(&l));
	l.n_cpus = 2;
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_int_equal(ev.type, KMT_TYPE_PERCPU);
	assert_int_equal(ev.call_site, SITE);
	assert_int_equal(ev.addr, 0x607fc00);
	assert_int_equal(ev.bytes_req, 128);
	assert_int_equal(ev.bytes_alloc, 384);
	assert_int_equal(ev.order, -1);
	l.n_cpus = 0;	/* unknown: nothing is called waste */
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_int_equal(ev.bytes_req, 384);
	assert_int_equal(kmt_tp_bind("percpu_free_percpu", percpu_free, COUNT(percpu_free), &l), 0);
	put(rec, 24, 0x607fc00ull, 8);
	assert_int_equal(kmt_tp_decode(&l, rec, 32, &ev), 0);
	assert_int_equal(ev.op, KMT_OP_FREE);
	assert_int_equal(ev.addr, 0x607fc00);
}

static void test_percpu_others(void **state)
{
	uint8_t rec[56] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put(rec, 16, 64, 8);
	put(rec, 48, 0x60740ull, 8);
	assert_int_equal(kmt_tp_bind("percpu_alloc_percpu", percpu_alloc_413,
				     COUNT(percpu_alloc_413), &l), 0);
	assert_false(kmt_tp_has_site(&l));
	l.n_cpus = 4;
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_int_equal(ev.addr, 0x60740);
	assert_int_equal(ev.bytes_req, 256);
	assert_int_equal(ev.bytes_alloc, 256);
	assert_int_equal(kmt_tp_bind("percpu_alloc_percpu_fail", percpu_fail, COUNT(percpu_fail),
				     &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, 32, &ev), 0);
	assert_int_equal(ev.op, KMT_OP_ALLOC);
	assert_int_equal(ev.addr, 0);
}

static void test_vmalloc(void **state)
{
	uint8_t rec[52] = { 0 };
	struct kmt_tp_layout l;
	struct kmt_event ev = { 0 };

	put(rec, 8, 0xffffc90000123000, 8);
	put(rec, 16, 20480, 8);
	assert_int_equal(kmt_tp_bind("alloc_vmap_area", vmap_alloc, COUNT(vmap_alloc), &l), 0);
	assert_string_equal(kmt_tp_system("alloc_vmap_area"), "vmalloc");
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_int_equal(ev.type, KMT_TYPE_VMALLOC);
	assert_true(ev.addr == 0xffffc90000123000);
	assert_int_equal(ev.bytes_req, 20480);
	assert_int_equal(ev.bytes_alloc, 20480);
	put(rec, 48, 1, 4);
	assert_int_equal(kmt_tp_decode(&l, rec, sizeof(rec), &ev), 0);
	assert_int_equal(ev.addr, 0);
	assert_int_equal(kmt_tp_bind("free_vmap_area_noflush", vmap_free, COUNT(vmap_free), &l), 0);
	assert_int_equal(kmt_tp_decode(&l, rec, 32, &ev), 0);
	assert_int_equal(ev.op, KMT_OP_FREE);
	assert_true(ev.addr == 0xffffc90000123000);
}

static void test_frees_first(void **state)
{
	bool seen_alloc = false;

	for (size_t i = 0; kmt_tp_events[i]; i++) {
		bool is_free = strstr(kmt_tp_events[i], "free");	/* in the name of each */

		assert_false(is_free && seen_alloc);
		seen_alloc = seen_alloc || !is_free;
	}
	assert_true(seen_alloc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2009),
		cmocka_unit_test(test_519),
		cmocka_unit_test(test_61),
		cmocka_unit_test(test_618),
		cmocka_unit_test(test_frees),
		cmocka_unit_test(test_32bit),
		cmocka_unit_test(test_other_byte_order),
		cmocka_unit_test(test_short_record),
		cmocka_unit_test(test_bad_strings),
		cmocka_unit_test(test_relative_string),
		cmocka_unit_test(test_unbindable),
		cmocka_unit_test(test_frees_first),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_page_free),
		cmocka_unit_test(test_pages_2009),
		cmocka_unit_test(test_percpu),
		cmocka_unit_test(test_percpu_others),
		cmocka_unit_test(test_vmalloc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
