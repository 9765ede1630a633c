// SPDX-License-Identifier: GPL-2.0-only
/* The tree of calls against hand calculations, and against paths looked up one by one. */
#include "unit/world.h"

#include <errno.h>
#include <stdlib.h>

static void alloc_from(struct world *w, const uint64_t *ips, uint32_t n, uint64_t addr,
		       uint64_t given)
{
	struct kmt_event ev = {
		.op = KMT_OP_ALLOC, .type = KMT_TYPE_CACHE, .call_site = ips[0], .cache = "a",
		.addr = addr, .bytes_req = given, .bytes_alloc = given, .ips = ips, .n_ips = n,
	};

	assert_int_equal(w->sink.event(w->sink.ctx, &ev), 0);
}

#define STACK(...) (const uint64_t[]){ __VA_ARGS__ },						\
	sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

/*
 *   do_syscall -> load_msg			 100 + 100 bytes, two lines of load_msg
 *   do_syscall -> mod_get -> load_msg		1000
 *   do_syscall -> mod_get -> mas_alloc		  50, freed
 *   mas_alloc					 300, called by nobody known
 */
static void four_stacks(struct world *w)
{
	open_world(w, (struct kmt_session_opts){ .by_stack = true });
	alloc_from(w, STACK(LOAD_MSG, SYSCALL), 0x1000, 100);
	alloc_from(w, STACK(LOAD_MSG + 4, SYSCALL + 8), 0x2000, 100);
	alloc_from(w, STACK(LOAD_MSG, IN_MODULE, SYSCALL), 0x3000, 1000);
	alloc_from(w, STACK(MAS_ALLOC, IN_MODULE, SYSCALL), 0x4000, 50);
	alloc_from(w, STACK(MAS_ALLOC), 0x5000, 300);
	release(w, 0x4000, 0, 0);
}

static void is_row(const struct world *w, size_t row, const char *tree, int64_t live,
		   int64_t allocs)
{
	is_text(w, row, "tree", tree);
	is_int(w, row, "live_bytes_allocated", live);
	is_int(w, row, "allocs", allocs);
}

static void test_top_down(void **state)
{
	struct world w;

	four_stacks(&w);
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 6);
	is_row(&w, 0, "+ do_syscall", 1200, 4);
	is_row(&w, 1, "  + mod_get [mymod]", 1000, 2);
	is_row(&w, 2, "    + load_msg", 1000, 1);
	is_row(&w, 3, "    + mas_alloc", 0, 1);
	is_row(&w, 4, "  + load_msg", 200, 2);
	is_row(&w, 5, "+ mas_alloc", 300, 1);
	assert_true(cell(&w, 0, "percent")->d == 80.0);
	assert_true(cell(&w, 5, "percent")->d == 20.0);
	is_int(&w, 0, "own_live_bytes_allocated", 0);
	is_int(&w, 4, "own_live_bytes_allocated", 200);
	is_int(&w, 3, "depth", 2);
	is_null(&w, 0, "parent");
	assert_int_equal(cell(&w, 3, "parent")->i, cell(&w, 1, "id")->i);
	assert_int_equal(w.r->n_notes, 0);
	close_world(&w);
}

/* By allocations, by name; the heaviest two; what is no order of a tree. */
static void test_order(void **state)
{
	struct world w;

	four_stacks(&w);
	w.in.sort = "allocs:asc";
	run(&w, "stacks");
	is_row(&w, 0, "+ mas_alloc", 300, 1);
	is_row(&w, 1, "+ do_syscall", 1200, 4);
	assert_true(cell(&w, 1, "percent")->d == 80.0);		/* 4 of 5 allocations */
	w.in.sort = "function";
	run(&w, "stacks");
	is_row(&w, 0, "+ do_syscall", 1200, 4);
	is_row(&w, 1, "  + load_msg", 200, 2);
	w.in.sort = NULL;
	w.in.limit = 3;
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 3);
	assert_int_equal(w.r->rows_total, 6);
	/* a chain goes straight down when its siblings are not shown */
	is_row(&w, 0, "+ do_syscall", 1200, 4);
	is_row(&w, 1, "  mod_get [mymod]", 1000, 2);
	is_row(&w, 2, "  load_msg", 1000, 1);
	w.in.sort = "depth";
	kmt_report_free(w.r);
	w.r = NULL;
	assert_int_equal(kmt_analysis_find("stacks")->run(&w.in, &w.r), -EINVAL);
	w.in.sort = "nosuch";
	assert_int_equal(kmt_analysis_find("stacks")->run(&w.in, &w.r), -EINVAL);
	close_world(&w);
}

static void test_inverted(void **state)
{
	struct world w;

	four_stacks(&w);
	w.in.inverted = true;
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 7);
	is_row(&w, 0, "+ load_msg", 1200, 3);
	is_row(&w, 1, "  + mod_get [mymod]", 1000, 1);
	is_row(&w, 2, "    do_syscall", 1000, 1);
	is_row(&w, 3, "  + do_syscall", 200, 2);
	is_row(&w, 4, "+ mas_alloc", 300, 2);
	is_row(&w, 5, "  mod_get [mymod]", 0, 1);
	is_row(&w, 6, "  do_syscall", 0, 1);
	close_world(&w);
}

static void test_one_function(void **state)
{
	struct world w;

	four_stacks(&w);
	w.in.callers = "mod_*";
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 2);
	is_row(&w, 0, "+ mod_get [mymod]", 1000, 2);
	is_row(&w, 1, "  do_syscall", 1000, 2);
	/* of all that is live */
	assert_true(cell(&w, 0, "percent")->d > 66.6 && cell(&w, 0, "percent")->d < 66.7);
	w.in.callers = NULL;
	w.in.callees = "mod_get";
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 3);
	is_row(&w, 0, "+ mod_get [mymod]", 1000, 2);
	is_row(&w, 1, "  + load_msg", 1000, 1);
	is_row(&w, 2, "  + mas_alloc", 0, 1);
	w.in.callees = "nobody";
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 0);
	assert_true(has_note(&w, "no stack has a function that matches 'nobody'"));
	close_world(&w);
}

/* A function that calls itself: callees from its outermost call, callers from its innermost. */
static void test_recursion(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ .by_stack = true });
	alloc_from(&w, STACK(LOAD_MSG, MAS_ALLOC, MAS_ALLOC + 4, SYSCALL), 0x1000, 100);
	w.in.callees = "mas_alloc";
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 3);
	is_row(&w, 0, "+ mas_alloc", 100, 1);
	is_row(&w, 1, "  mas_alloc", 100, 1);
	is_row(&w, 2, "  load_msg", 100, 1);
	w.in.callees = NULL;
	w.in.callers = "mas_alloc";
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 3);
	is_row(&w, 2, "  do_syscall", 100, 1);
	close_world(&w);
}

/* The allocator's own frames are left out; what nobody can name is an address. */
static void test_names(void **state)
{
	struct kmt_event ev = { .op = KMT_OP_ALLOC, .call_site_name = "old_one+0x1c [gone]",
				.addr = 0x9000, .bytes_req = 8, .bytes_alloc = 8 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ .by_stack = true });
	assert_int_equal(w.sink.event(w.sink.ctx, &ev), 0);
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 1);
	is_row(&w, 0, "+ old_one [gone]", 8, 1);
	assert_true(has_note(&w, "there are no stacks"));
	alloc_from(&w, STACK(LOAD_MSG, 0x1234, SYSCALL), 0x1000, 100);
	run(&w, "stacks");
	is_row(&w, 1, "  0x1234", 100, 1);
	assert_int_equal(w.r->n_notes, 0);
	close_world(&w);
}

/* Pages lie under slab objects: no sum of both, and percentages of each alone. */
static void test_layers(void **state)
{
	static const uint64_t ips[] = { LOAD_MSG, SYSCALL };
	struct kmt_event pages = { .op = KMT_OP_ALLOC, .type = KMT_TYPE_PAGES, .call_site = LOAD_MSG,
				   .addr = 0x1000, .bytes_req = 4096, .bytes_alloc = 4096,
				   .ips = ips, .n_ips = 2 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ .by_stack = true });
	alloc_from(&w, STACK(LOAD_MSG, SYSCALL), 0x10000, 300);
	alloc_from(&w, STACK(MAS_ALLOC, SYSCALL), 0x20000, 100);
	assert_int_equal(w.sink.event(w.sink.ctx, &pages), 0);
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 7);
	is_row(&w, 0, "+ (pages)", 4096, 1);
	is_row(&w, 1, "  do_syscall", 4096, 1);
	is_row(&w, 2, "  load_msg", 4096, 1);
	is_row(&w, 3, "+ (slab)", 400, 2);
	is_row(&w, 4, "  do_syscall", 400, 2);
	is_row(&w, 5, "  + load_msg", 300, 1);
	assert_true(cell(&w, 2, "percent")->d == 100.0);
	assert_true(cell(&w, 5, "percent")->d == 75.0);
	w.in.callees = "mas_alloc";
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 2);
	is_row(&w, 0, "+ (slab)", 100, 1);
	is_row(&w, 1, "  mas_alloc", 100, 1);
	close_world(&w);
}

/* Counted stacks are rows as well. */
static void test_counted(void **state)
{
	static const uint64_t one[] = { LOAD_MSG, SYSCALL }, two[] = { MAS_ALLOC, SYSCALL };
	const struct kmt_snap_site sites[] = {
		{ .key = { .type = KMT_TYPE_CACHE, .ips = one, .n_ips = 2, .size = 100 },
		  .counts = { .allocs = 10, .bytes_alloc = 1000 }, .index = 0 },
		{ .key = { .type = KMT_TYPE_CACHE, .ips = two, .n_ips = 2, .size = 100 },
		  .counts = { .allocs = 30, .bytes_alloc = 3000 }, .index = 1 },
	};
	const struct kmt_snapshot snap = { .now_ns = 1, .sites = sites, .n_sites = 2 };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ .by_stack = true });
	assert_int_equal(w.sink.snapshot(w.sink.ctx, &snap), 0);
	run(&w, "stacks");
	assert_int_equal(w.r->n_rows, 3);
	is_text(&w, 1, "tree", "  + mas_alloc");
	is_int(&w, 1, "bytes_allocated", 3000);
	/* without objects nothing is known to be live */
	is_null(&w, 1, "live_bytes_allocated");
	assert_true(cell(&w, 1, "percent")->d == 75.0);
	close_world(&w);
}

/* ---- each node of random stacks, looked up one by one --------------------------- */

#define STACKS	300
#define DEPTH	6

struct one {
	uint64_t ips[DEPTH], given;
	uint32_t n;
	bool live;
};

static const uint64_t places[] = { LOAD_MSG, MAS_ALLOC, IN_MODULE, SYSCALL };
static const char *const functions[] = { "load_msg", "mas_alloc", "mod_get [mymod]", "do_syscall" };

static const char *function_at(const struct one *o, uint32_t depth)
{
	uint64_t ip = o->ips[o->n - 1 - depth];

	for (int i = 0; i < 4; i++)
		if (ip - places[i] < 8)
			return functions[i];
	fail();
	return NULL;
}

static bool has_prefix(const struct one *o, const char *const *path, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (i >= o->n || strcmp(function_at(o, i), path[i]))
			return false;
	return true;
}

static void check_nodes(struct world *w, const struct one *v)
{
	const char *path[DEPTH];
	size_t paths = 0;

	for (size_t row = 0; row < w->r->n_rows; row++) {
		uint32_t depth = cell(w, row, "depth")->i;
		int64_t live = 0, allocs = 0;

		/* rows come with the parent above the child */
		path[depth] = cell(w, row, "function")->text;
		for (int i = 0; i < STACKS; i++) {
			if (!has_prefix(&v[i], path, depth + 1))
				continue;
			allocs++;
			live += v[i].live ? (int64_t)v[i].given : 0;
			paths += v[i].n == depth + 1;
		}
		is_int(w, row, "live_bytes_allocated", live);
		is_int(w, row, "allocs", allocs);
	}
	/* and no stack is missing */
	assert_int_equal(paths, STACKS);
}

static void test_random(void **state)
{
	struct one *v = calloc(STACKS, sizeof(*v));
	struct world w;

	assert_non_null(v);
	srandom(7);
	open_world(&w, (struct kmt_session_opts){ .by_stack = true });
	for (int i = 0; i < STACKS; i++) {
		v[i].n = 1 + random() % DEPTH;
		for (uint32_t k = 0; k < v[i].n; k++)
			v[i].ips[k] = places[random() % 4] + random() % 2 * 4;
		v[i].given = 8 + random() % 1000;
		v[i].live = random() % 3;
		alloc_from(&w, v[i].ips, v[i].n, 0x10000 + i * 64, v[i].given);
		if (!v[i].live)
			release(&w, 0x10000 + i * 64, 0, 0);
	}
	run(&w, "stacks");
	check_nodes(&w, v);
	w.in.sort = "function:desc";
	run(&w, "stacks");
	check_nodes(&w, v);
	close_world(&w);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top_down),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_inverted),
		cmocka_unit_test(test_one_function),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
