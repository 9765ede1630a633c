// SPDX-License-Identifier: GPL-2.0-only
/* Who, other than call sites: CPUs, NUMA nodes, cgroups. Sums done by hand. */
#include "unit/world.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "symbol/nodes.h"

#define SECOND UINT64_C(1000000000)

struct call {
	uint64_t addr;
	uint32_t cpu;
	int16_t node, real_node;
};

static void alloc_on(struct world *w, struct call c, const char *cache, uint64_t req, uint64_t given)
{
	struct kmt_event ev = {
		.op = KMT_OP_ALLOC, .type = strncmp(cache, "kmalloc", 7) ? KMT_TYPE_CACHE :
		KMT_TYPE_KMALLOC, .call_site = LOAD_MSG, .cache = cache, .addr = c.addr,
		.bytes_req = req, .bytes_alloc = given, .has_time = true, .ts_ns = SECOND,
		.cpu = c.cpu, .node = c.node, .real_node = c.real_node,
	};

	assert_int_equal(w->sink.event(w->sink.ctx, &ev), 0);
}

static size_t row_with(const struct world *w, const char *key, int64_t id)
{
	int c = kmt_report_column(w->r, key);

	for (size_t i = 0; i < w->r->n_rows; i++) {
		const struct kmt_cell *cell = &w->r->rows[i].cells[c];

		if (id < 0 ? cell->is_null : !cell->is_null && cell->i == id)
			return i;
	}
	fail_msg("no row with %s %lld", key, (long long)id);
	return 0;
}

/* 10 messages on CPU 1, 4 objects of a cache on CPU 3; 6 and 2 of the first freed on 1 and 3. */
static void events(struct world *w)
{
	for (uint64_t i = 0; i < 10; i++)
		alloc_on(w, (struct call){ MSG_ADDR + i * 2048, 1, -1, -1 }, "kmalloc-2k", 1048, 2048);
	for (uint64_t i = 0; i < 4; i++)
		alloc_on(w, (struct call){ MSG_ADDR + (100 + i) * 2048, 3, -1, -1 }, "nodes", 200, 256);
	for (uint64_t i = 0; i < 6; i++)
		release(w, MSG_ADDR + i * 2048, 1, SECOND + 10);
	for (uint64_t i = 6; i < 8; i++)
		release(w, MSG_ADDR + i * 2048, 3, 3 * SECOND);
	release(w, MSG_ADDR + 100 * 2048, 3, 3 * SECOND);
}

static void check_cpus(const struct world *w)
{
	size_t one = row_with(w, "cpu", 1), three = row_with(w, "cpu", 3);

	assert_int_equal(w->r->n_rows, 2);
	is_int(w, one, "live_objects", 2);
	is_int(w, one, "live_bytes_allocated", 2 * 2048);
	is_int(w, one, "allocs", 10);
	is_int(w, one, "bytes_requested", 10480);
	is_int(w, one, "bytes_allocated", 20480);
	is_int(w, one, "frees", 6);
	is_int(w, one, "bytes_freed", 6 * 2048);
	is_int(w, one, "cross_cpu_frees", 0);
	is_int(w, one, "temporary", 6);
	is_int(w, three, "live_objects", 3);
	is_int(w, three, "live_bytes_allocated", 3 * 256);
	is_int(w, three, "allocs", 4);
	is_int(w, three, "bytes_requested", 800);
	is_int(w, three, "frees", 3);
	is_int(w, three, "bytes_freed", 2 * 2048 + 256);
	is_int(w, three, "cross_cpu_frees", 2);
	is_int(w, three, "temporary", 0);
	is_null(w, one, "node");
	is_null(w, one, "untraced_frees");
}

static void test_cpu_events(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	kmt_session_count_cpus(w.session);
	events(&w);
	run(&w, "cpu");
	check_cpus(&w);
	assert_int_equal(w.r->n_notes, 0);
	/* since the mark: one allocation at an address that is live: its free was not told */
	kmt_session_mark(w.session);
	alloc_on(&w, (struct call){ MSG_ADDR + 9 * 2048, 3, -1, -1 }, "kmalloc-2k", 1048, 2048);
	w.in.interval_ns = SECOND;
	run(&w, "cpu");
	is_int(&w, row_with(&w, "cpu", 1), "live_objects", 1);
	is_int(&w, row_with(&w, "cpu", 1), "allocs", 0);
	is_int(&w, row_with(&w, "cpu", 3), "live_objects", 4);
	is_int(&w, row_with(&w, "cpu", 3), "allocs", 1);
	is_int(&w, row_with(&w, "cpu", 3), "allocs_per_s", 1);
	is_int(&w, row_with(&w, "cpu", 3), "frees", 0);
	is_int(&w, row_with(&w, "cpu", -1), "untraced_frees", 1);
	assert_true(has_note(&w, "not by CPU"));
	close_world(&w);
}

static int each_copy(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
		     void *cb_ctx)
{
	static const uint32_t cpus[] = { 1, 1, 3, 3, 3 };
	int err = 0;

	for (uint64_t i = 0; i < 5 && !err; i++) {
		struct kmt_snap_object o = { .addr = MSG_ADDR + i * 4096, .bytes_req = 100,
					     .site = cpus[i] == 3, .cpu = cpus[i] };

		err = cb(cb_ctx, &o);
	}
	return err;
}

/* The same books, as the kernel would have counted them. */
static void test_cpu_counted(void **state)
{
	const struct kmt_snap_cpu cpus[] = {
		{ 1, KMT_TYPE_KMALLOC, { 10, 6, 10480, 20480, 6 * 2048, 0, 6 } },
		{ 3, KMT_TYPE_KMALLOC, { 0, 2, 0, 0, 2 * 2048, 2, 0 } },
		{ 3, KMT_TYPE_CACHE, { 4, 1, 800, 1024, 256, 0, 0 } },
		{ 0, KMT_TYPE_CACHE, { 0 } },
	};
	const struct kmt_snap_site sites[] = {
		{ .key = { .type = KMT_TYPE_KMALLOC, .call_site = LOAD_MSG, .size = 2048 } },
		{ .key = { .type = KMT_TYPE_CACHE, .call_site = LOAD_MSG, .size = 256 }, .index = 1 },
	};
	struct kmt_snapshot snap = { .now_ns = SECOND, .sites = sites, .n_sites = 2, .cpus = cpus,
				     .n_cpus = 4, .each_object = each_copy };
	const struct kmt_snap_cpu other = { KMT_CPU_NONE, KMT_TYPE_CACHE, { 0, 5, 0, 0, 500, 0, 0 } };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	/* cumulative: the second replaces the first */
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	run(&w, "cpu");
	check_cpus(&w);
	snap.cpus = &other;
	snap.n_cpus = 1;
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	run(&w, "cpu");
	is_int(&w, row_with(&w, "cpu", -1), "frees", 5);
	is_null(&w, row_with(&w, "cpu", -1), "live_objects");
	is_int(&w, row_with(&w, "cpu", 1), "allocs", 0);
	/* books that do not know, as those of a recording */
	snap.cpus = NULL;
	snap.n_cpus = 0;
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	run(&w, "cpu");
	is_null(&w, row_with(&w, "cpu", 1), "allocs");
	is_int(&w, row_with(&w, "cpu", 1), "live_objects", 2);
	assert_true(has_note(&w, "was not kept here"));
	close_world(&w);
}

static void test_node_events(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	watch(&w, "node");
	kmt_session_count_cpus(w.session);
	alloc_on(&w, (struct call){ MSG_ADDR, 1, 1, 0 }, "nodes", 200, 256);
	alloc_on(&w, (struct call){ MSG_ADDR + 4096, 1, 1, 1 }, "nodes", 200, 256);
	alloc_on(&w, (struct call){ MSG_ADDR + 8192, 1, -1, -1 }, "nodes", 200, 256);
	run(&w, "node");
	is_int(&w, row_with(&w, "node", 0), "asked", 0);
	is_int(&w, row_with(&w, "node", 0), "placed", 1);
	is_int(&w, row_with(&w, "node", 1), "asked", 2);
	is_int(&w, row_with(&w, "node", 1), "placed", 1);
	is_null(&w, row_with(&w, "node", 1), "live_objects");
	is_int(&w, row_with(&w, "node", -1), "live_objects", 3);
	is_int(&w, row_with(&w, "node", -1), "allocs", 3);
	assert_true(has_note(&w, "a recording does not say"));
	w.in.no_nodes = "why not";
	run(&w, "node");
	assert_true(has_note(&w, "why not"));
	close_world(&w);
}

/* A machine with one node: all lies there, and nothing is remote. */
static void test_node_here(void **state)
{
	struct kmt_nodes *nodes;
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	kmt_session_count_cpus(w.session);
	assert_int_equal(kmt_nodes_load(root, &nodes), 0);
	w.in.nodes = nodes;
	events(&w);
	run(&w, "node");
	assert_int_equal(w.r->n_rows, 1);
	is_int(&w, 0, "node", 0);
	is_int(&w, 0, "live_objects", 5);
	is_int(&w, 0, "live_bytes_allocated", 2 * 2048 + 3 * 256);
	is_int(&w, 0, "remote_bytes", 0);
	is_int(&w, 0, "allocs", 14);
	is_int(&w, 0, "frees", 9);
	run(&w, "cpu");
	is_int(&w, row_with(&w, "cpu", 3), "node", 0);
	close_world(&w);
	kmt_nodes_free(nodes);
}

static struct kmt_snap_site in_cgroup(uint64_t id, const char *path, const char *cache,
				      uint64_t allocs, uint64_t frees, uint32_t index)
{
	return (struct kmt_snap_site){
		.key = { .type = KMT_TYPE_CACHE, .by_cgroup = true, .cgroup = id,
			 .cgroup_path = path, .cache = cache, .size = 64, .object_size = 64 },
		.counts = { .allocs = allocs, .bytes_alloc = allocs * 64, .bytes_req = allocs * 64,
			    .frees = frees, .bytes_alloc_freed = frees * 64,
			    .bytes_req_freed = frees * 64 }, .index = index,
	};
}

static void test_cgroup(void **state)
{
	const struct kmt_snap_site sites[] = {
		in_cgroup(7, "/a/b", "one", 10, 4, 0), in_cgroup(7, "/a/b", "two", 5, 5, 1),
		in_cgroup(8, NULL, "one", 3, 1, 2), in_cgroup(1, "/", "one", 1, 0, 3),
	};
	const struct kmt_snapshot snap = { .now_ns = SECOND, .sites = sites, .n_sites = 4,
					   .each_object = each_copy };
	struct world w;
	size_t row;

	open_world(&w, (struct kmt_session_opts){ 0 });
	run(&w, "cgroup");	/* nothing was seen yet */
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	run(&w, "cgroup");
	assert_int_equal(w.r->n_rows, 3);
	row = row_of(&w, "cgroup", "/a/b");
	is_int(&w, row, "cgroup_id", 7);
	is_int(&w, row, "allocs", 15);
	is_int(&w, row, "live_objects", 6);
	is_int(&w, row, "live_bytes_allocated", 6 * 64);
	row = row_of(&w, "cgroup", "number 8, no more");
	is_int(&w, row, "live_objects", 2);
	is_int(&w, row_of(&w, "cgroup", "/"), "live_objects", 1);
	close_world(&w);
}

static void test_cgroup_of_events(void **state)
{
	struct kmt_report *r = NULL;
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	messages(&w);
	assert_int_equal(kmt_analysis_find("cgroup")->run(&w.in, &r), -ENOTSUP);
	assert_null(r);
	assert_non_null(strstr(kmt_err_text(), "--by cgroup"));
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_events),
		cmocka_unit_test(test_cpu_counted),
		cmocka_unit_test(test_node_events),
		cmocka_unit_test(test_node_here),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_cgroup_of_events),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
