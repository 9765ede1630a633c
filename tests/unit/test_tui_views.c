// SPDX-License-Identifier: GPL-2.0-only
/* The views of the screen, how they share keys, and what is in colour. */
#include "unit/tui_world.h"

static void test_views(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	w.report_error = -ENOTSUP;
	w.live = 8192;
	press(&w, "4");
	has(&w, "[4 Pages]");
	has(&w, "no such table here");
	has(&w, "live 8.0 KiB");	/* what stands above it is known all the same */
	press(&w, "/x");
	press_key(&w, KMT_KEY_ENTER);
	press(&w, "<>r");
	press_key(&w, KMT_KEY_ENTER);
	has(&w, "no such table here");
	w.report_error = 0;
	press(&w, "1");
	assert_string_equal(w.analysis, "site");
	w.report_error = -ENOTSUP;
	press(&w, "9>");	/* a tree */
	has(&w, "these rows have an order of their own");
	w.report_error = 0;
	press(&w, "\t");	/* behind the last comes the first */
	has(&w, "[1 Sites]");
	end(&w);
}

/* Views that share a key: the first that has something, then one after the other. */
static void test_tab(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	has(&w, " 5 Who ");
	press(&w, "5");
	has(&w, "[5 Task]");
	line_is(&w, 23, "? help  0 rows  5: [Task] Cgroup CPU Node");
	press(&w, "5");
	has(&w, "[5 Cgroup]");
	assert_string_equal(w.analysis, "cgroup");
	/* 80 cells exactly */
	line_is(&w, 4, "1 Sites 2 Caches 3 Suspects 4 Pages [5 Cgroup] 6 Modules 7 Both 8 Waste 9 Stacks");
	press(&w, "55");
	has(&w, "[5 Node]");
	press(&w, "1");
	has(&w, " 5 Who ");
	press(&w, "5");	/* where it was left */
	has(&w, "[5 Node]");
	press(&w, "5");
	has(&w, "[5 Task]");
	press(&w, "\t");
	has(&w, "[6 Modules]");
	end(&w);
	/* by task and by cgroup nothing is counted here */
	open_world(&w, 24, 80, false);
	begin(&w);
	w.not_counted = true;
	press(&w, "5");
	has(&w, "[5 CPU]");
	has_not(&w, "no such table here");
	end(&w);
}

static void test_callers(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "t");
	assert_string_equal(w.analysis, "stacks");
	assert_string_equal(w.data.callers, "load_msg");
	has(&w, "callers of load_msg (t: all)");
	press(&w, "t");
	assert_string_equal(w.data.callers, "");
	has_not(&w, "callers of");
	press(&w, "i");
	assert_true(w.data.inverted);
	press(&w, "5");
	press(&w, "i");
	assert_false(w.data.inverted);
	assert_string_equal(w.data.callers, "");
	assert_string_equal(w.analysis, "stacks");
	end(&w);
}

/* What became of the command stands behind the title. */
static void test_state(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	w.data.state = "[command ended: 3]";
	press(&w, "r");
	line_is(&w, 0, "kmemtrace top: host  [command ended: 3]  counts of the last 2.00s  mode counted");
	end(&w);
}

static unsigned attr_at(struct world *w, const char *text)
{
	int r = 0, c = 0;

	assert_true(find(w, text, &r, &c));
	return w->f.shown_attr[r][c];
}

/* Colours come with another attribute, or with what the text says. */
static void test_colors(void **state)
{
	const unsigned colors = KMT_ATTR_RED | KMT_ATTR_YELLOW | KMT_ATTR_CYAN;
	struct world w;

	open_world(&w, 24, 80, false);
	w.lost = 1;
	begin(&w);
	assert_int_equal(attr_at(&w, "lost 1"), KMT_ATTR_RED | KMT_ATTR_REVERSE | KMT_ATTR_BOLD);
	assert_int_equal(attr_at(&w, "!4.0 KiB"), KMT_ATTR_RED | KMT_ATTR_REVERSE);
	assert_int_equal(attr_at(&w, "kmemtrace top"), KMT_ATTR_CYAN | KMT_ATTR_BOLD);
	assert_int_equal(attr_at(&w, "[1 Sites]"), KMT_ATTR_CYAN | KMT_ATTR_BOLD);
	assert_int_equal(attr_at(&w, "LIVEv"), KMT_ATTR_CYAN | KMT_ATTR_BOLD | KMT_ATTR_UNDERLINE);
	assert_int_equal(attr_at(&w, "OBJS"), KMT_ATTR_BOLD | KMT_ATTR_UNDERLINE);
	for (int r = 0; r < 24; r++)
		for (int c = 0; c < 80; c++)
			if (w.f.shown_attr[r][c] & colors)
				assert_true(w.f.shown_attr[r][c] & ~colors);
	end(&w);
}

/* Every view has an analysis, and that has the view's columns. */
static void test_columns(void **state)
{
	for (size_t i = 0; kmt_tui_views[i]; i++) {
		const struct kmt_analysis *a = kmt_analysis_find(kmt_tui_views[i]->analysis);
		struct kmt_session *s;
		struct kmt_analysis_in in = { .command = "top" };
		struct kmt_report *r = NULL;

		assert_non_null(a);
		assert_string_equal(a->name, kmt_tui_views[i]->analysis);
		assert_int_equal(kmt_session_new(&(struct kmt_session_opts){ 0 }, &s), 0);
		in.session = s;
		assert_int_equal(a->run(&in, &r), 0);
		if (kmt_tui_view_choose(kmt_tui_views[i], r))
			fail_msg("%s: %s", a->name, kmt_err_text());
		assert_true(r->shown_may_drop);
		assert_int_equal(kmt_tui_views[i]->has_order, a->own_order);
		kmt_report_free(r);
		kmt_session_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_tab),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_colors),
		cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
