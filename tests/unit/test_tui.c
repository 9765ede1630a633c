// SPDX-License-Identifier: GPL-2.0-only
/* The screen: keys in, cells out. */
#include "unit/tui_world.h"

/* ---- tests ---- */

static void test_table(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	assert_string_equal(w.calls, "mrs");
	line_is(&w, 0, "kmemtrace top: host  counts of the last 2.00s  mode counted");
	line_is(&w, 2, "live 4.0 KiB  allocs 1500/s");
	line_is(&w, 4, "[1 Sites] 2 Caches 3 Suspects 4 Pages 5 Who 6 Modules 7 Both 8 Waste 9 Stacks");
	/*
	 * Widths: 7, 11, 4, 7, 5, 6, 7, 5, 8, 7 and the name's 14, with the blanks 91. There
	 * are 78: the module goes (83), and the untraced frees (74).
	 */
	line_is(&w, HEAD, "    LIVEv       NET/S OBJS ALLOC/S TEMP% WASTE% AGE P50 WASTE SITE");
	line_is(&w, HEAD + 1,
		"> 2.0 MiB -1000 KiB/s   10    30/s  12.5      -       -     - load_msg+0x41");
	line_is(&w, HEAD + 2,
		" !4.0 KiB  -2.0 KiB/s   11    33/s  12.5  100.0       -     - mas_alloc+0x30");
	/* what drives terminals does not come through */
	has(&w, "evil\\x1b[2J");
	assert_true(w.f.shown_attr[HEAD + 2][1] & KMT_ATTR_REVERSE);
	assert_false(w.f.shown_attr[HEAD + 1][1] & KMT_ATTR_REVERSE);
	end(&w);
}

static void test_losses(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	line_is(&w, 1, "lost 0  untraced frees 0");
	assert_false(is_reverse(&w, "lost 0"));
	w.lost = 12;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	line_is(&w, 1, "lost 12  untraced frees 12  ring buffer full 12");
	assert_true(is_reverse(&w, "lost 12"));
	assert_true(is_reverse(&w, "untraced frees 12"));
	assert_true(is_reverse(&w, "ring buffer full 12"));
	end(&w);
}

static void test_sort(void **state)
{
	struct world w;

	open_world(&w, 24, 80, true);
	begin(&w);
	/* the mark is a character of its own: U+25BC; reversed U+25B2 */
	assert_int_equal(w.f.shown[HEAD][8], 0x25bc);
	press(&w, "r");
	assert_int_equal(w.f.shown[HEAD][8], 0x25b2);
	has(&w, "SITE");
	assert_non_null(strstr(w.f.line[HEAD + 1], "evil"));
	press(&w, ">");	/* by NET/s, the greatest first: least live here */
	assert_non_null(strstr(w.f.line[HEAD], "NET/S?"));
	assert_non_null(strstr(w.f.line[HEAD + 1], "evil"));
	press(&w, "<<");	/* from the first to the last, the name: ascending */
	assert_non_null(strstr(w.f.line[HEAD], "SITE?"));
	assert_non_null(strstr(w.f.line[HEAD + 1], "evil"));
	assert_non_null(strstr(w.f.line[HEAD + 2], "load_msg"));
	press(&w, "r");
	assert_non_null(strstr(w.f.line[HEAD + 1], "mas_alloc"));
	/* it stays when there are new numbers */
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_non_null(strstr(w.f.line[HEAD + 1], "mas_alloc"));
	end(&w);
}

static void test_filter(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "/MSG");
	line_is(&w, 23, "filter: MSG");
	assert_int_equal(w.f.cursor_row, 23);
	has(&w, "mas_alloc");
	press_key(&w, KMT_KEY_ENTER);
	assert_int_equal(w.f.cursor_row, -1);
	has(&w, "load_msg");
	has_not(&w, "mas_alloc");
	line_is(&w, 23, "? help  1 row  filter: MSG");
	press(&w, "/");
	for (int i = 0; i < 3; i++)
		press_key(&w, KMT_KEY_BACKSPACE);
	press(&w, "live<1M");
	press_key(&w, KMT_KEY_ENTER);
	has_not(&w, "load_msg");
	has(&w, "mas_alloc");
	press(&w, "/");
	press(&w, "(");
	press_key(&w, KMT_KEY_ENTER);	/* "live<1M(" is no size */
	has(&w, "'1M('");
	has_not(&w, "load_msg");	/* the former one stays */
	press(&w, "/");
	for (int i = 0; i < 7; i++)
		press_key(&w, KMT_KEY_BACKSPACE);
	press(&w, "waste%>=50");	/* what is unknown is not more than anything */
	press_key(&w, KMT_KEY_ENTER);
	line_is(&w, 23, "? help  1 row  filter: waste%>=50");
	has(&w, "mas_alloc");
	press(&w, "/");
	for (int i = 0; i < 10; i++)
		press_key(&w, KMT_KEY_BACKSPACE);
	press(&w, "nothing");
	press_key(&w, KMT_KEY_ENTER);
	has(&w, "no row passes the filter");
	press(&w, "/x");
	press_key(&w, KMT_KEY_ESCAPE);	/* the old one stays */
	has(&w, "no row passes the filter");
	end(&w);
}

static void test_pause(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, " ");
	has(&w, "[paused]");
	memset(w.calls, 0, sizeof(w.calls));
	for (int i = 0; i < 20; i++) {
		w.now += SEC;
		assert_int_equal(kmt_tui_step(w.tui), 0);
	}
	assert_string_equal(w.calls, "");
	press(&w, ">r");	/* can be looked at otherwise meanwhile */
	assert_string_equal(w.calls, "");
	press(&w, "p");
	assert_string_equal(w.calls, "mrs");
	has_not(&w, "[paused]");
	end(&w);
}

static void test_since(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "c");
	assert_string_equal(w.calls, "mrsa");
	has(&w, "counts of all 2.00s");
	press(&w, "b");	/* read, report, mark, and a report from there */
	assert_string_equal(w.calls, "mrsarams");
	has(&w, "counts of the baseline's 2.00s");
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_string_equal(w.calls, "mrsaramsrs");	/* the mark stays where it is */
	press(&w, "b");
	has(&w, "counts of the last 2.00s");
	end(&w);
}

/* Keys come as fast as they like: four drawings a second, and none for nothing. */
static void test_rate(void **state)
{
	struct world w;
	int shows;

	open_world(&w, 24, 80, false);
	begin(&w);
	shows = w.f.shows;
	for (int i = 0; i < 40; i++) {
		w.now += SEC / 20;
		if (i < 20)
			fake_press(&w.f, 'r');
		assert_int_equal(kmt_tui_step(w.tui), 0);
	}
	/*
	 * The first second has one already: three for the first keys, at once, and no
	 * more. Then one for the reading at 1 s, and one for that at 2 s.
	 */
	assert_int_equal(w.f.shows - shows, 5);
	end(&w);
}

static void test_size(void **state)
{
	struct world w;

	open_world(&w, 23, 80, false);
	begin(&w);
	line_is(&w, 0, "80x23 is too small: 80x24, or q");
	line_is(&w, 5, "");
	w.f.rows = 60;
	w.f.cols = 200;
	press_key(&w, KMT_KEY_RESIZE);
	assert_non_null(strstr(w.f.line[HEAD], "UNTRACED MODULE  SITE"));
	line_is(&w, 59, "? help  3 rows");
	w.f.rows = 3;
	w.f.cols = 79;
	press_key(&w, KMT_KEY_RESIZE);
	line_is(&w, 0, "79x3 is too small: 80x24, or q");
	end(&w);
}

static void test_cursor(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press_key(&w, KMT_KEY_DOWN);
	assert_non_null(strstr(w.f.line[HEAD + 2], ">!4.0 KiB"));
	/* the row goes to the top: the cursor goes with it */
	w.bytes[1] = 4096000;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_non_null(strstr(w.f.line[HEAD + 1], ">!3.9 MiB"));
	/* on the first place it stays there */
	w.bytes[1] = 1;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_non_null(strstr(w.f.line[HEAD + 1], "load_msg"));
	assert_int_equal(w.f.line[HEAD + 1][0], '>');
	press_key(&w, KMT_KEY_END);
	assert_int_equal(w.f.line[HEAD + 3][0], '>');
	press_key(&w, KMT_KEY_HOME);
	assert_int_equal(w.f.line[HEAD + 1][0], '>');
	end(&w);
}

/* 100 rows, 17 of them on the screen. */
static void test_scroll(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	w.n_rows = 100;
	begin(&w);
	line_is(&w, 23, "? help  100 rows");
	press_key(&w, KMT_KEY_END);
	assert_int_equal(w.f.line[22][0], '>');
	press_key(&w, KMT_KEY_PAGE_UP);
	assert_int_equal(w.f.line[HEAD + 1][0], '>');
	press_key(&w, KMT_KEY_PAGE_UP);
	assert_int_equal(w.f.line[HEAD + 1][0], '>');
	press_key(&w, KMT_KEY_DOWN);
	assert_int_equal(w.f.line[HEAD + 2][0], '>');
	end(&w);
}

static void test_detail(void **state)
{
	struct world w;

	open_world(&w, 60, 200, false);
	begin(&w);
	press_key(&w, KMT_KEY_ENTER);
	has(&w, "site                   load_msg+0x41");
	has(&w, "gfp                    GFP_KERNEL");
	has(&w, "live_objects                       10");
	has(&w, "lifetimes of what was freed");
	/* entry 1: below 2 * 2.048 us, 10 of them, the longest bar; entry 3: half as many */
	has(&w, "below 4.10us         10 ##############################");
	has(&w, "below 16.4us          5 ###############");
	has_not(&w, "below 2.05us");
	has(&w, "64 B         30 ##############################");
	has(&w, "2.0 KiB         10 ##########");
	press(&w, "B");
	has(&w, "2048000");
	press_key(&w, KMT_KEY_ESCAPE);
	has(&w, "SITE");
	press(&w, "n");
	has(&w, "note: a note that proves nothing");
	press(&w, "?");
	has(&w, "1 Sites");
	has(&w, "leave");
	end(&w);
}

/* A pane longer than the screen: 24 lines, 5 of the header and the last are taken. */
static void test_pane_scroll(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "?");
	has(&w, "1 Sites      who");
	press_key(&w, KMT_KEY_END);
	has_not(&w, "1 Sites      who");
	has(&w, "proves nothing.");
	press_key(&w, KMT_KEY_UP);
	has_not(&w, "proves nothing.");
	end(&w);
}

static void test_leave(void **state)
{
	static const int keys[] = { 'q', KMT_KEY_GONE };
	struct world w;

	for (size_t i = 0; i < 2; i++) {
		open_world(&w, 24, 80, false);
		begin(&w);
		fake_press(&w.f, keys[i]);
		assert_int_equal(kmt_tui_step(w.tui), 1);
		end(&w);
	}
	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "/q");	/* typed, not pressed */
	fake_press(&w.f, KMT_KEY_GONE);
	assert_int_equal(kmt_tui_step(w.tui), 1);
	end(&w);
}

static void test_errors(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	w.read_error = -EIO;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), -EIO);
	w.read_error = 0;
	w.report_error = -ENOMEM;
	w.now += SEC;
	assert_int_equal(kmt_tui_step(w.tui), -ENOMEM);
	end(&w);
}

static void test_save(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	begin(&w);
	press(&w, "w");
	line_is(&w, 23, "written: x.kmt");
	press(&w, "[");
	line_is(&w, 23, "time keys are for recordings: kmemtrace top FILE");
	end(&w);
}

/* 1, 2, 4 of 4: an eighth each of 7 below the highest, which alone has '#'. */
static void test_curve(void **state)
{
	static const int64_t live[] = { 1000, 2000, 4000 };
	struct world w;

	open_world(&w, 24, 80, false);
	w.live = live[0];
	begin(&w);
	line_is(&w, 3, "live  #  peak 8.0 KiB");
	for (int i = 1; i < 3; i++) {
		w.live = live[i];
		w.now += SEC;
		assert_int_equal(kmt_tui_step(w.tui), 0);
	}
	/* 1 + 7/4 = 2 -> '.', 1 + 14/4 = 4 -> '-' */
	line_is(&w, 3, "live  .-#  peak 8.0 KiB");
	w.data.slab_bytes = 3 << 20;	/* the machine's, where it is known */
	press(&w, "?");
	line_is(&w, 3, "live  .-#  peak 8.0 KiB  slab 3.0 MiB");
	end(&w);
}

/*
 * A recording's is that of all of it, whatever was read: the highest of the parts that
 * share a cell, and the cell where we are in reverse video.
 */
static void test_curve_recording(void **state)
{
	int64_t curve[80] = { 0 };
	struct world w;

	open_world(&w, 24, 80, false);
	curve[2] = 1000;	/* 80 columns leave 40 cells, of two parts each */
	curve[3] = 2000;
	curve[40] = 4000;
	curve[79] = 1000;
	w.data.seek = seek;
	w.data.at_ns = w.data.length_ns = 80 * SEC;
	w.data.curve = curve;
	w.data.n_curve = 80;
	begin(&w);
	line_is(&w, 3, "live   -                  #                  .  peak 8.0 KiB");
	assert_true(w.f.shown_attr[3][6 + 39] & KMT_ATTR_REVERSE);
	press(&w, "{");
	assert_int_equal(w.sought, 1);
	line_is(&w, 3, "live   -                  #                  .  peak 8.0 KiB");
	assert_true(w.f.shown_attr[3][6] & KMT_ATTR_REVERSE);
	assert_false(w.f.shown_attr[3][6 + 39] & KMT_ATTR_REVERSE);
	end(&w);
}

static void test_recording(void **state)
{
	struct world w;

	open_world(&w, 24, 80, false);
	w.data.seek = seek;
	w.data.save = NULL;
	w.data.at_ns = w.data.length_ns = 50 * SEC;
	w.data.notice = "damaged at offset 7";
	begin(&w);
	has(&w, "at 50.0s of 50.0s");
	line_is(&w, 23, "damaged at offset 7");
	press(&w, "[");	/* a fiftieth, and a nanosecond for what the division left */
	assert_int_equal(w.sought, 49 * SEC - 1);
	has(&w, "at 49.0s of 50.0s");
	press_key(&w, KMT_KEY_RIGHT);
	assert_int_equal(w.sought, 50 * SEC);
	press(&w, "{");
	assert_int_equal(w.sought, 1);
	press(&w, "[");
	assert_int_equal(w.sought, 1);
	press(&w, " ");	/* plays: as long as it lasted */
	for (int i = 0; i < 10; i++) {
		w.now += SEC;
		assert_int_equal(kmt_tui_step(w.tui), 0);
	}
	assert_in_range(w.sought, 10 * SEC, 11 * SEC);
	w.now += 60 * SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_int_equal(w.sought, 50 * SEC);
	w.sought = 0;
	w.now += 60 * SEC;
	assert_int_equal(kmt_tui_step(w.tui), 0);
	assert_int_equal(w.sought, 0);	/* and stops at the end */
	press(&w, "w");
	line_is(&w, 23, "this is a recording already");
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_scroll),
		cmocka_unit_test(test_detail),
		cmocka_unit_test(test_pane_scroll),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_save),
		cmocka_unit_test(test_curve),
		cmocka_unit_test(test_curve_recording),
		cmocka_unit_test(test_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
