// SPDX-License-Identifier: GPL-2.0-only
/* What awaits RCU and what was freed without an event, in every view. */
#include "unit/world.h"

#include "analysis/check.h"
#include "analysis/diff.h"
#include "core/snapshot.h"

#define SECOND UINT64_C(1000000000)

static void give_up(struct world *w, uint64_t addr, uint32_t cpu, uint64_t ts)
{
	struct kmt_event ev = { .op = KMT_OP_GIVE_UP, .call_site = FREE_MSG, .addr = addr,
				.cpu = cpu, .has_time = true, .ts_ns = ts };

	assert_int_equal(w->sink.event(w->sink.ctx, &ev), 0);
}

/*
 * load_msg takes three objects of 50 bytes in 64 and gives them up: one is freed,
 * one's address goes to mas_alloc, the third is not heard of any more and waits.
 * mas_alloc's first object of 200 in 256 ends without an event: load_msg has its
 * address now. Live at the end: mas_alloc 1 of 256, load_msg 1 of 64.
 */
static void run_stream(struct world *w)
{
	for (uint64_t i = 0; i < 3; i++)
		alloc(w, LOAD_MSG, "kmalloc-64", MSG_ADDR + i * 64, 50, 64, SECOND);
	alloc(w, MAS_ALLOC, "maple_node", MSG_ADDR + 4096, 200, 256, SECOND);
	for (uint64_t i = 0; i < 3; i++)
		give_up(w, MSG_ADDR + i * 64, 1, 2 * SECOND);
	release(w, MSG_ADDR, 1, 3 * SECOND);
	alloc(w, MAS_ALLOC, "maple_node", MSG_ADDR + 64, 200, 256, 4 * SECOND);
	alloc(w, LOAD_MSG, "kmalloc-64", MSG_ADDR + 4096, 50, 64, 5 * SECOND);
	assert_int_equal(kmt_session_settle(w->session), 0);
}

/* The time goes on by a NULL that is freed. */
static void wait_until(struct world *w, uint64_t ts)
{
	release(w, 0, 0, ts);
	assert_int_equal(kmt_session_settle(w->session), 0);
}

static bool is_one_of(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name))
		list++;
	return *list;
}

static void need(const struct world *w, const char *key)
{
	if (kmt_report_column(w->r, key) < 0)
		fail_msg("view %s has no column '%s'", w->r->view, key);
}

/* Whoever shows allocations or live objects shows these, too. */
static void test_every_view(void **state)
{
	static const char *const no_rcu[] = { "timeline", "object", NULL };
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	run_stream(&w);
	for (size_t i = 0; kmt_analyses[i]; i++) {
		const char *name = kmt_analyses[i]->name;

		if (kmt_analyses[i]->needs & KMT_NEEDS_CGROUPS)
			continue;	/* no event says so: it counts like task */
		run(&w, name);
		field_is(&w.r->summary, "awaiting_rcu", 1);
		field_is(&w.r->summary, "bytes_awaiting_rcu", 64);
		field_is(&w.r->quality, "untraced_frees", 1);
		if (kmt_report_column(w.r, "allocs") >= 0)
			need(&w, "untraced_frees");
		if (kmt_report_column(w.r, "live_objects") < 0 && strcmp(name, "slabinfo"))
			continue;
		if (is_one_of(name, no_rcu))
			continue;
		need(&w, "awaiting_rcu");
		need(&w, "bytes_awaiting_rcu");
	}
	close_world(&w);
}

static void is_row(const struct world *w, size_t row, int64_t live, int64_t rcu, int64_t frees,
		   int64_t untraced)
{
	is_int(w, row, "live_objects", live);
	is_int(w, row, "awaiting_rcu", rcu);
	is_int(w, row, "bytes_awaiting_rcu", rcu * 64);
	if (frees >= 0)
		is_int(w, row, "frees", frees);
	is_int(w, row, "untraced_frees", untraced);
}

static bool is_shown(const struct world *w, const char *key)
{
	return kmt_report_shows(w->r, (size_t)kmt_report_column(w->r, key));
}

static void test_rows(void **state)
{
	static const struct { const char *view, *key, *first, *second; } views[] = {
		{ "site", "site", "load_msg+0x10", "mas_alloc+0x30" },
		{ "cache", "cache", "kmalloc-64", "maple_node" },
		{ "site,cache", "cache", "kmalloc-64", "maple_node" },
		{ "subsystem", "subsystem", "msg", "mas" },
		{ "stacks", "function", "load_msg", "mas_alloc" },
	};
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	run_stream(&w);
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		run(&w, views[i].view);
		is_row(&w, row_of(&w, views[i].key, views[i].first), 1, 1, 3, 0);
		is_row(&w, row_of(&w, views[i].key, views[i].second), 1, 0, 0, 1);
		assert_true(is_shown(&w, "awaiting_rcu"));
		assert_true(is_shown(&w, "untraced_frees"));
		assert_false(is_shown(&w, "bytes_awaiting_rcu"));
	}
	run(&w, "module");
	is_row(&w, 0, 2, 1, 3, 1);
	run(&w, "sizes");
	is_row(&w, 0, 1, 1, -1, 0);
	is_row(&w, 1, 1, 0, -1, 1);
	run(&w, "summary");
	is_row(&w, row_of(&w, "site", "load_msg+0x10"), 1, 1, -1, 0);
	run(&w, "slabinfo");
	is_int(&w, row_of(&w, "cache", "kmalloc-64"), "awaiting_rcu", 1);
	is_int(&w, row_of(&w, "cache", "maple_node"), "untraced_frees", 1);
	run(&w, "free-site");
	is_int(&w, 0, "frees", 3);	/* the worker's free is no second one */
	/* the waiting is over */
	wait_until(&w, 42 * SECOND);
	run(&w, "site");
	is_row(&w, row_of(&w, "site", "load_msg+0x10"), 1, 0, 3, 0);
	assert_false(is_shown(&w, "awaiting_rcu"));
	field_is(&w.r->summary, "awaiting_rcu", 0);
	close_world(&w);
}

static void test_tasks(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ .by_task = true });
	run_stream(&w);
	run(&w, "task");
	is_row(&w, 0, 2, 1, 3, 1);
	close_world(&w);
}

static void test_objects(void **state)
{
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	run_stream(&w);
	run(&w, "object");
	assert_int_equal(w.r->n_rows, 3);
	assert_true(is_shown(&w, "state"));
	/* 3 s since it was given up, 1 s and 0 s since they were allocated */
	is_int(&w, 0, "address", (int64_t)(MSG_ADDR + 128));
	is_text(&w, 0, "state", "awaiting RCU");
	is_int(&w, 0, "age_ns", 3 * (int64_t)SECOND);
	is_text(&w, 1, "state", "live");
	is_int(&w, 1, "age_ns", (int64_t)SECOND);
	is_text(&w, 2, "state", "live");
	w.in.min_age_ns = SECOND / 2;
	run(&w, "object");
	assert_int_equal(w.r->n_rows, 1);	/* what waits survives nothing */
	run(&w, "site");
	assert_int_equal(w.r->n_rows, 1);
	is_int(&w, 0, "surviving_objects", 1);
	is_text(&w, 0, "site", "mas_alloc+0x30");
	w.in.min_age_ns = 0;
	wait_until(&w, 42 * SECOND);
	run(&w, "object");
	assert_int_equal(w.r->n_rows, 2);
	assert_false(is_shown(&w, "state"));
	close_world(&w);
}

/* What was given up in a slot is a free there; the free that follows is not. */
static void test_observers(void **state)
{
	int64_t frees = 0, up = 0, untraced = 0, live = -1;
	struct world w;

	open_world(&w, (struct kmt_session_opts){ 0 });
	watch(&w, "timeline");
	watch(&w, "pingpong");
	watch(&w, "peak");
	run_stream(&w);
	run(&w, "timeline");
	for (size_t i = 0; i < w.r->n_rows; i++) {
		frees += cell(&w, i, "frees")->i;
		up += cell(&w, i, "given_up_rcu")->i;
		untraced += cell(&w, i, "untraced_frees")->i;
		live = cell(&w, i, "live_bytes_allocated")->i;
	}
	assert_int_equal(frees, 3 + 1);		/* with the untraced one */
	assert_int_equal(up, 3);
	assert_int_equal(untraced, 1);
	assert_int_equal(live, 256 + 64);
	run(&w, "pingpong");
	is_int(&w, 0, "cross_cpu_frees", 3);
	is_text(&w, 0, "top_pair", "0 to 1");
	run(&w, "peak");	/* at 4 s: what awaits RCU is not live, what ended unseen still was */
	assert_int_equal(w.r->n_rows, 1);
	is_int(&w, 0, "at_peak_bytes_allocated", 256 * 2);
	is_row(&w, 0, 1, 0, -1, 1);
	field_is(&w.r->summary, "peak_bytes_allocated", 256 * 2);
	close_world(&w);
}

static void test_diff_and_check(void **state)
{
	struct kmt_limits limits = { 0 };
	struct kmt_report *r = NULL;
	struct world a, b;
	size_t broken = 0;

	open_world(&a, (struct kmt_session_opts){ 0 });
	open_world(&b, (struct kmt_session_opts){ 0 });
	alloc(&a, LOAD_MSG, "kmalloc-64", MSG_ADDR, 50, 64, SECOND);
	run_stream(&b);
	run(&a, "site");
	run(&b, "site");
	assert_int_equal(kmt_diff_run(a.r, b.r, KMT_DIFF_SITE, &r), 0);
	kmt_report_free(a.r);
	a.r = r;
	is_int(&a, row_of(&a, "site", "load_msg"), "awaiting_rcu_delta", 1);
	is_int(&a, row_of(&a, "site", "load_msg"), "bytes_awaiting_rcu_b", 64);
	is_int(&a, row_of(&a, "site", "mas_alloc"), "untraced_frees_delta", 1);
	assert_true(is_shown(&a, "awaiting_rcu_delta"));
	field_is(&a.r->summary, "awaiting_rcu_b", 1);
	r = NULL;
	assert_int_equal(kmt_limit_parse(KMT_LIMIT_awaiting, "63", &limits), 0);
	assert_int_equal(kmt_limit_parse(KMT_LIMIT_untraced, "1", &limits), 0);
	assert_int_equal(kmt_check_run(b.r, b.r, &limits, &r, &broken), 0);
	assert_int_equal(broken, 1);
	kmt_report_free(r);
	close_world(&a);
	close_world(&b);
}

/* Counted books say the same as the events. */
struct copy {
	struct kmt_session *from;
	int (*cb)(void *ctx, const struct kmt_snap_object *o);
	void *ctx;
};

static int copy_object(void *ctx, const struct kmt_object *o)
{
	const struct copy *c = ctx;
	const struct kmt_snap_object snap = {
		.addr = o->addr, .bytes_req = o->bytes_req, .birth_ns = o->birth_ns,
		.site = (uint32_t)o->site, .cpu = o->cpu, .awaiting = o->awaiting,
	};

	return c->cb(c->ctx, &snap);
}

static int each_copy(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
		     void *cb_ctx)
{
	struct copy c = { .from = ctx, .cb = cb, .ctx = cb_ctx };

	return kmt_session_each_object(c.from, copy_object, &c);
}

static void take_over(struct world *to, struct world *from, uint64_t now_ns)
{
	struct kmt_snap_site sites[8] = { 0 };
	size_t n = kmt_session_n_sites(from->session);
	struct kmt_snapshot snap = { .now_ns = now_ns, .sites = sites, .n_sites = n,
				     .each_object = each_copy, .objects_ctx = from->session };

	assert_true(n <= 8);
	for (size_t i = 0; i < n; i++) {
		const struct kmt_site *s = kmt_session_site(from->session, i);

		sites[i] = (struct kmt_snap_site){ .key = s->key, .counts = s->counts,
						   .gfp = s->gfp, .index = (uint32_t)i };
		memcpy(sites[i].lifetimes, s->lifetimes, sizeof(s->lifetimes));
	}
	assert_int_equal(to->sink.snapshot(to->sink.ctx, &snap), 0);
	assert_int_equal(kmt_session_settle(to->session), 0);
}

/* Counted books see peaks only when they are read, and have no window of time here. */
static bool may_differ(const char *key)
{
	return !strcmp(key, "peak_bytes_allocated") || strstr(key, "_per_s");
}

static void compare_reports(const struct kmt_report *a, const struct kmt_report *b)
{
	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->n_columns, b->n_columns);
	for (size_t i = 0; i < a->n_rows; i++) {
		for (size_t c = 0; c < a->n_columns; c++) {
			const struct kmt_cell *x = &a->rows[i].cells[c], *y = &b->rows[i].cells[c];

			if (may_differ(a->columns[c].key))
				continue;
			assert_int_equal(x->is_null, y->is_null);
			if (x->is_null)
				continue;
			if (kmt_unit_is_text(a->columns[c].unit))
				assert_string_equal(x->text, y->text);
			else if (x->i != y->i)	/* percentages too: the same bits */
				fail_msg("%s in row %zu: %lld and %lld", a->columns[c].key, i,
					 (long long)x->i, (long long)y->i);
		}
	}
}

static void test_counted_agrees(void **state)
{
	static const char *const views[] = { "site", "cache", "site,cache", "module", "object",
					     "sizes", "summary", "stacks", NULL };
	struct world streamed, counted;

	open_world(&streamed, (struct kmt_session_opts){ 0 });
	open_world(&counted, (struct kmt_session_opts){ 0 });
	run_stream(&streamed);
	take_over(&counted, &streamed, 5 * SECOND);
	for (size_t i = 0; views[i]; i++) {
		run(&streamed, views[i]);
		run(&counted, views[i]);
		compare_reports(streamed.r, counted.r);
	}
	/* what the kernel's table still holds, a report 30 s later does not show */
	take_over(&counted, &streamed, 42 * SECOND);
	run(&counted, "site");
	field_is(&counted.r->summary, "awaiting_rcu", 0);
	is_row(&counted, row_of(&counted, "site", "load_msg+0x10"), 1, 0, 3, 0);
	close_world(&streamed);
	close_world(&counted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_view),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_observers),
		cmocka_unit_test(test_diff_and_check),
		cmocka_unit_test(test_counted_agrees),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
