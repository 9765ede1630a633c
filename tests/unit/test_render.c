// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "render/render.h"
#include "report/report.h"

enum { TYPE, ALLOCS, LIVE, WASTE, AGE, ALIASES, VERDICT, ADDR, SITE, N_COLUMNS };

/* The frozen name stands in front here to show that text puts it last. */
static const struct kmt_column columns[N_COLUMNS] = {
	[TYPE]    = { "type", "T", KMT_UNIT_TEXT, false, false },
	[ALLOCS]  = { "allocs", "ALLOCS", KMT_UNIT_COUNT, false, false },
	[LIVE]    = { "live_bytes", "LIVE", KMT_UNIT_BYTES, false, false },
	[WASTE]   = { "waste", "WASTE%", KMT_UNIT_PERCENT, false, false },
	[AGE]     = { "age_ns", "AGE", KMT_UNIT_NS, false, false },
	[ALIASES] = { "aliases", "ALIASES", KMT_UNIT_LIST, true, false },
	[VERDICT] = { "balance.verdict", "BOOKS", KMT_UNIT_TEXT, true, false },
	[ADDR]    = { "addr", "ADDRESS", KMT_UNIT_ADDR, true, false },
	[SITE]    = { "site", "SITE", KMT_UNIT_TEXT, false, true },
};

static struct kmt_report *empty_report(void)
{
	struct kmt_report *r;

	assert_int_equal(kmt_report_new("stat", "site", columns, N_COLUMNS, &r), 0);
	r->kernel = strdup("6.18.0");
	r->window_ns = 10000000000;
	return r;
}

static struct kmt_row *add(struct kmt_report *r, const char *site, int64_t allocs, int64_t live)
{
	struct kmt_row *row = kmt_report_row(r);

	kmt_cell_text(&row->cells[TYPE], "K");
	kmt_cell_text(&row->cells[SITE], site);
	kmt_cell_int(&row->cells[ALLOCS], allocs);
	kmt_cell_int(&row->cells[LIVE], live);
	return row;
}

static void add_quality(struct kmt_report *r, int64_t lost_ring)
{
	struct kmt_fields *q = &r->quality;

	kmt_fields_text(q, "source", "source", "bpf");
	kmt_fields_int(q, "events", "events", KMT_UNIT_COUNT, 1000);
	kmt_fields_int(q, "lost_ring", "lost to ring", KMT_UNIT_COUNT, lost_ring);
	kmt_fields_int(q, "lost_stacks", "lost stacks", KMT_UNIT_COUNT, 0);
	kmt_fields_int(q, "recursion_misses", "recursion misses", KMT_UNIT_COUNT, 0);
	kmt_fields_int(q, "untraced_frees", "untraced frees", KMT_UNIT_COUNT, 5);
}

/* The report as a renderer writes it; free() it. */
static char *render_with(const char *name, const struct kmt_report *r, struct kmt_render_opts opts)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(kmt_renderer_find(name)->render(r, &opts, f), 0);
	fclose(f);
	assert_int_equal(strlen(text), len);
	return text;
}

static char *render(const char *name, const struct kmt_report *r)
{
	return render_with(name, r, (struct kmt_render_opts){ .first = true });
}

static void assert_renders(const char *name, const struct kmt_report *r, const char *want)
{
	char *text = render(name, r);

	assert_string_equal(text, want);
	free(text);
}

static size_t longest_line(const char *text)
{
	size_t longest = 0;

	while (*text) {
		size_t len = strcspn(text, "\n"), cells = 0;

		for (size_t i = 0; i < len; i++)
			cells += (text[i] & 0xc0) != 0x80;	/* not a following byte */
		longest = cells > longest ? cells : longest;
		text += len + (text[len] == '\n');
	}
	return longest;
}

/* A row with all types of cells, and one with none of them known. */
static struct kmt_report *sample(void)
{
	struct kmt_report *r = empty_report();
	struct kmt_row *row;

	kmt_fields_int(&r->summary, "events", "events", KMT_UNIT_COUNT, 1000);
	kmt_fields_int(&r->summary, "live_bytes", "live", KMT_UNIT_BYTES, 5 << 20);
	kmt_fields_percent(&r->summary, "waste", "waste", 12.346);
	row = add(r, "load_msg+0x2f", 1000, 2048000);
	kmt_cell_percent(&row->cells[WASTE], 48.828125);
	kmt_cell_int(&row->cells[AGE], 2000000000);
	kmt_cell_text(&row->cells[ALIASES], "one\ntwo");
	kmt_cell_text(&row->cells[VERDICT], "balanced");
	kmt_cell_int(&row->cells[ADDR], (int64_t)0xffff88007c088780ULL);
	kmt_row_detail(row, "do_msgsnd+0x10");
	kmt_row_detail(row, "ksys_msgsnd+0x62");
	kmt_report_row(r);
	kmt_report_note(r, "books of 'filp' do not balance");
	add_quality(r, 7);
	return r;
}

static void test_tables(void **state)
{
	static const char *const names[] = { "text", "json", "csv", "ndjson" };

	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(kmt_renderers[i]->name, names[i]);
		assert_ptr_equal(kmt_renderer_find(names[i]), kmt_renderers[i]);
	}
	assert_null(kmt_renderers[4]);
	assert_null(kmt_renderer_find("xml"));
}

/* 2048000 / 1024 / 1024 = 1.953; 78 cells in two halves of 39. */
static void test_text(void **state)
{
	struct kmt_report *r = sample();

	kmt_report_sort(r, "live_bytes");
	assert_renders("text", r,
		"events  1000                             live    5.0 MiB\n"
		"waste   12.3%\n"
		"\n"
		"T ALLOCS   LIVEv WASTE%   AGE SITE\n"
		"K   1000 2.0 MiB   48.8 2.00s load_msg+0x2f\n"
		"    do_msgsnd+0x10\n"
		"    ksys_msgsnd+0x62\n"
		"-      -       -      -     - -\n"
		"\n"
		"note: books of 'filp' do not balance\n"
		"quality  ! lost to ring 7, source bpf, events 1000, lost stacks 0,\n"
		"         recursion misses 0, untraced frees 5, window 10.0s, kernel 6.18.0\n");
	kmt_report_free(r);
}

static void test_text_options(void **state)
{
	struct kmt_report *r = sample();
	char *text;

	kmt_report_sort(r, "allocs:asc");
	kmt_report_limit(r, 1);
	kmt_report_choose(r, "site,aliases,live_bytes,addr");
	text = render_with("text", r, (struct kmt_render_opts){ .exact_bytes = true,
		.color = true });
	assert_non_null(strstr(text,
		"\n"	/* not the first report */
		"events  1000                             live    5242880\n"));
	assert_non_null(strstr(text,
		"SITE          ALIASES     LIVE            ADDRESS\n"
		"load_msg+0x2f one, two 2048000 0xffff88007c088780\n"
		"    do_msgsnd+0x10\n"
		"    ksys_msgsnd+0x62\n"
		"1 of 2 rows shown\n"));
	assert_non_null(strstr(text, "quality  \033[1;7m! lost to ring 7\033[0m, source"));
	free(text);
	text = render_with("text", r, (struct kmt_render_opts){ .no_header = true });
	assert_null(strstr(text, "ALIASES"));
	assert_non_null(strstr(text, "load_msg+0x2f one, two 2.0 MiB 0xffff88007c088780\n"));
	free(text);
	kmt_report_free(r);
}

/* In UTF-8 the marks are nicer and still one cell wide. */
static void test_text_locales(void **state)
{
	char name[201];
	struct kmt_report *r = empty_report();
	char *text;

	memset(name, 'n', 200);
	name[200] = '\0';
	add(r, name, 1, 1);
	kmt_report_sort(r, "allocs");
	/* "K       1  1 B      -   - " takes 26 cells, 54 are left */
	text = render("text", r);
	name[51] = '\0';
	assert_non_null(strstr(text, "T ALLOCSv LIVE WASTE% AGE SITE\n"));
	assert_non_null(strstr(text, name));
	assert_non_null(strstr(text, "n...\n"));
	assert_int_equal(longest_line(text), 80);
	for (const char *p = text; *p; p++)
		assert_true((unsigned char)*p < 0x80);
	free(text);
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	text = render("text", r);
	assert_non_null(strstr(text, "T ALLOCS\u25bc LIVE WASTE% AGE SITE\n"));
	assert_non_null(strstr(text, "n\u2026\n"));
	assert_int_equal(longest_line(text), 80);
	free(text);
	kmt_report_sort(r, "site");
	text = render("text", r);
	assert_non_null(strstr(text, " SITE\u25b2\n"));
	free(text);
	setlocale(LC_CTYPE, "C");
	kmt_report_free(r);
}

/* Too wide values push out columns, not the line; never the name or the sorted column. */
static void test_text_width(void **state)
{
	struct kmt_report *r = empty_report();
	struct kmt_row *row;
	char *text;

	row = add(r, "a_site_whose_name_is_not_short+0x123", INT64_MIN, INT64_MAX);
	kmt_cell_int(&row->cells[AGE], INT64_MAX);
	kmt_cell_percent(&row->cells[WASTE], 123456789012.3);
	kmt_report_sort(r, "age_ns");
	add_quality(r, 0);
	text = render_with("text", r, (struct kmt_render_opts){ .exact_bytes = true });
	assert_true(longest_line(text) <= 80);
	/*
	 * 2^63 ns are 106751 d 23 h 47 min. 1 + 20 + 19 + 14 + 10 cells and 20 for
	 * the name with five blanks between are 89: one column too many.
	 */
	assert_non_null(strstr(text,
		"T               ALLOCS                LIVE       AGEv SITE\n"));
	assert_non_null(strstr(text, "K -9223372036854775808 9223372036854775807 106752d00h "));
	assert_non_null(strstr(text, "columns left out for width: waste (see --columns)\n"));
	free(text);
	text = render_with("text", r, (struct kmt_render_opts){ .exact_bytes = true,
		.width = 200 });
	assert_non_null(strstr(text, "a_site_whose_name_is_not_short+0x123\n"));
	assert_null(strstr(text, "left out"));
	free(text);
	for (unsigned width = 1; width < 100; width++)
		free(render_with("text", r, (struct kmt_render_opts){ .width = width }));
	kmt_report_free(r);
}

static void test_text_empty(void **state)
{
	struct kmt_report *r = empty_report();

	assert_renders("text", r, "no rows\n\nquality  window 10.0s, kernel 6.18.0\n");
	kmt_report_free(r);
	assert_int_equal(kmt_report_new("stat", "none", NULL, 0, &r), 0);
	assert_renders("text", r, "quality  window 0ns\n");
	kmt_report_free(r);
}

static void test_csv(void **state)
{
	struct kmt_report *r = sample();
	char *text;

	assert_renders("csv", r,
		"type,allocs,live_bytes,waste,age_ns,aliases,balance.verdict,addr,site,stack,"
		"quality_lost_total,quality_recursion_misses,quality_frees_before_start,"
		"quality_untraced_frees,quality_given_up_before_start\r\n"
		"K,1000,2048000,48.83,2000000000,one;two,balanced,0xffff88007c088780,load_msg+0x2f,"
		"do_msgsnd+0x10;ksys_msgsnd+0x62,7,0,0,5,0\r\n"
		",,,,,,,,,,7,0,0,5,0\r\n");
	kmt_report_choose(r, "site,waste");
	text = render_with("csv", r, (struct kmt_render_opts){ .first = false });
	assert_string_equal(text, "load_msg+0x2f,48.83,7,0,0,5,0\r\n,,7,0,0,5,0\r\n");
	free(text);
	text = render_with("csv", r, (struct kmt_render_opts){ .first = true, .no_header = true });
	assert_string_equal(text, "load_msg+0x2f,48.83,7,0,0,5,0\r\n,,7,0,0,5,0\r\n");
	free(text);
	kmt_report_free(r);
}

static void test_csv_empty(void **state)
{
	struct kmt_report *r = empty_report();

	kmt_report_choose(r, "site");
	assert_renders("csv", r, "site,quality_lost_total,quality_recursion_misses,"
				 "quality_frees_before_start,quality_untraced_frees,"
				 "quality_given_up_before_start\r\n");
	kmt_report_free(r);
}

/* A name full of what the formats themselves use. */
#define HOSTILE "a\"b,c;d\r\ne\x1b[2J\\ \xff\xc3(" /* 0xc3 0x28 is no UTF-8 */
#define ESCAPED "a\"b,c;d\\x0d\\x0ae\\x1b[2J\\x5c \\xff\\xc3("

static struct kmt_report *hostile(void)
{
	struct kmt_report *r = empty_report();
	struct kmt_row *row = add(r, HOSTILE, INT64_MIN, INT64_MAX);

	kmt_cell_text(&row->cells[TYPE], " ");
	kmt_cell_text(&row->cells[ALIASES], "x;y\n\"z\"\n\xfe");
	kmt_cell_percent(&row->cells[WASTE], NAN);
	kmt_cell_int(&row->cells[AGE], -5);
	kmt_row_detail(row, HOSTILE);
	kmt_fields_text(&r->summary, "command", "command", HOSTILE);
	kmt_fields_text(&r->quality, "source", "source", HOSTILE);
	kmt_report_note(r, "%s", HOSTILE);
	free(r->kernel);
	r->kernel = strdup(HOSTILE);
	return r;
}

static void test_csv_hostile(void **state)
{
	struct kmt_report *r = hostile();
	char *text = render_with("csv", r, (struct kmt_render_opts){ .no_header = true });

	assert_string_equal(text,
		"\" \",-9223372036854775808,9223372036854775807,,-5,"
		"\"x\\x3by;\"\"z\"\";\\xfe\",,,"
		"\"a\"\"b,c;d\\x0d\\x0ae\\x1b[2J\\x5c \\xff\\xc3(\","
		"\"a\"\"b,c\\x3bd\\x0d\\x0ae\\x1b[2J\\x5c \\xff\\xc3(\",0,0,0,0,0\r\n");
	free(text);
	kmt_report_free(r);
}

static void test_text_hostile(void **state)
{
	struct kmt_report *r = hostile();
	char *text = render("text", r);

	for (const char *p = text; *p; p++)
		assert_true(*p == '\n' || (*p >= 0x20 && *p <= 0x7e));
	assert_non_null(strstr(text, "    " ESCAPED "\n"));
	assert_non_null(strstr(text, "command  " ESCAPED "\n"));
	assert_non_null(strstr(text, "note: " ESCAPED "\n"));
	assert_non_null(strstr(text, "source " ESCAPED ", window"));
	free(text);
	kmt_report_free(r);
}

static json_t *load(const char *text, size_t len)
{
	json_error_t error;
	json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

	assert_non_null(j);
	return j;
}

static json_t *at(json_t *object, const char *key)
{
	json_t *v = json_object_get(object, key);

	assert_non_null(v);
	return v;
}

static void assert_json_string(json_t *object, const char *key, const char *want)
{
	assert_string_equal(json_string_value(at(object, key)), want);
}

static void assert_json_int(json_t *object, const char *key, int64_t want)
{
	assert_true(json_is_integer(at(object, key)));
	assert_int_equal(json_integer_value(at(object, key)), want);
}

static void test_json(void **state)
{
	struct kmt_report *r = sample();
	char *text = render("json", r);
	json_t *j = load(text, strlen(text)), *row = json_array_get(at(j, "rows"), 0);

	assert_json_string(j, "schema", "kmemtrace.report/1");
	assert_json_string(j, "command", "stat");
	assert_json_string(j, "view", "site");
	assert_json_string(j, "kernel", "6.18.0");
	assert_json_int(j, "window_ns", 10000000000);
	assert_json_int(j, "rows_total", 2);
	assert_json_int(at(j, "quality"), "lost_ring", 7);
	assert_json_int(at(j, "quality"), "recursion_misses", 0);
	assert_json_string(at(j, "quality"), "source", "bpf");
	assert_json_int(at(j, "summary"), "live_bytes", 5242880);
	assert_true(json_real_value(at(at(j, "summary"), "waste")) == 12.35);
	assert_non_null(strstr(text, "\"waste\":12.35,") ?: strstr(text, "\"waste\":12.35}"));
	assert_json_int(row, "allocs", 1000);
	assert_true(json_real_value(at(row, "waste")) == 48.83);
	assert_json_string(row, "addr", "0xffff88007c088780");
	assert_json_string(at(row, "balance"), "verdict", "balanced");
	assert_int_equal(json_array_size(at(row, "aliases")), 2);
	assert_string_equal(json_string_value(json_array_get(at(row, "aliases"), 1)), "two");
	assert_string_equal(json_string_value(json_array_get(at(row, "stack"), 1)),
			    "ksys_msgsnd+0x62");
	row = json_array_get(at(j, "rows"), 1);
	assert_true(json_is_null(at(row, "allocs")));
	assert_true(json_is_null(at(row, "aliases")));
	assert_true(json_is_null(at(at(row, "balance"), "verdict")));
	assert_null(json_object_get(row, "stack"));
	json_decref(j);
	free(text);
	kmt_report_free(r);
}

static void test_json_chosen(void **state)
{
	struct kmt_report *r = sample();
	char *text;
	json_t *j, *row;

	kmt_report_limit(r, 1);
	kmt_report_choose(r, "balance.verdict,allocs");
	text = render("json", r);
	j = load(text, strlen(text));
	row = json_array_get(at(j, "rows"), 0);
	assert_int_equal(json_array_size(at(j, "rows")), 1);
	assert_json_int(j, "rows_total", 2);
	assert_int_equal(json_object_size(row), 3);	/* and the stack */
	assert_json_string(at(row, "balance"), "verdict", "balanced");
	json_decref(j);
	free(text);
	kmt_report_free(r);
}

static void test_json_hostile(void **state)
{
	struct kmt_report *r = hostile();
	char *text = render("json", r);
	json_t *j = load(text, strlen(text)), *row = json_array_get(at(j, "rows"), 0);

	assert_json_string(row, "site", ESCAPED);
	assert_json_string(row, "allocs", "-9223372036854775808");	/* beyond 2^53 */
	assert_json_string(row, "live_bytes", "9223372036854775807");
	assert_json_int(row, "age_ns", -5);
	assert_true(json_is_null(at(row, "waste")));
	assert_string_equal(json_string_value(json_array_get(at(row, "aliases"), 2)), "\\xfe");
	assert_string_equal(json_string_value(json_array_get(at(row, "stack"), 0)), ESCAPED);
	assert_string_equal(json_string_value(json_array_get(at(j, "notes"), 0)), ESCAPED);
	assert_json_string(j, "kernel", ESCAPED);
	json_decref(j);
	free(text);
	kmt_report_free(r);
}

/* 2^53 is the last integer that every reader keeps. */
static void test_json_borders(void **state)
{
	struct kmt_report *r = empty_report();
	char *text;
	json_t *j, *rows;

	add(r, "a", 9007199254740992, -9007199254740992);
	add(r, "b", 9007199254740993, -9007199254740993);
	text = render("json", r);
	j = load(text, strlen(text));
	rows = at(j, "rows");
	assert_json_int(json_array_get(rows, 0), "allocs", 9007199254740992);
	assert_json_int(json_array_get(rows, 0), "live_bytes", -9007199254740992);
	assert_json_string(json_array_get(rows, 1), "allocs", "9007199254740993");
	assert_json_string(json_array_get(rows, 1), "live_bytes", "-9007199254740993");
	json_decref(j);
	free(text);
	kmt_report_free(r);
}

/* "a" as a value and "a.b" as a member of it cannot both be. */
static void test_json_nesting(void **state)
{
	static const struct kmt_column nested[] = {
		{ "a", "A", KMT_UNIT_COUNT, false, false },
		{ "a.b", "B", KMT_UNIT_COUNT, false, false },
		{ "c.d.e", "E", KMT_UNIT_COUNT, false, false },
		{ "c.d.f", "F", KMT_UNIT_COUNT, false, false },
	};
	struct kmt_report *r;
	char *text;
	json_t *j, *row;

	assert_int_equal(kmt_report_new("stat", "x", nested, 4, &r), 0);
	kmt_report_row(r);
	for (int i = 0; i < 4; i++)
		kmt_cell_int(&r->rows[0].cells[i], i + 1);
	text = render("json", r);
	j = load(text, strlen(text));
	row = json_array_get(at(j, "rows"), 0);
	assert_json_int(row, "a", 1);
	assert_json_int(row, "a.b", 2);
	assert_json_int(at(at(row, "c"), "d"), "e", 3);
	assert_json_int(at(at(row, "c"), "d"), "f", 4);
	assert_true(json_is_null(at(j, "kernel")));
	json_decref(j);
	free(text);
	kmt_report_free(r);
}

static void test_json_empty(void **state)
{
	struct kmt_report *r = empty_report();
	char *text = render("json", r);
	json_t *j = load(text, strlen(text));

	assert_int_equal(json_array_size(at(j, "rows")), 0);
	assert_int_equal(json_object_size(at(j, "quality")), 0);
	json_decref(j);
	free(text);
	kmt_report_free(r);
}

static void test_ndjson(void **state)
{
	struct kmt_report *r = sample();
	char *text = render("ndjson", r), *line = text;
	size_t len = strcspn(line, "\n");
	json_t *j = load(line, len);

	assert_json_string(j, "record", "summary");
	assert_json_int(j, "events", 1000);
	assert_json_int(j, "window_ns", 10000000000);
	assert_json_int(j, "quality_lost_ring", 7);
	assert_json_int(j, "quality_lost_total", 7);
	assert_json_int(j, "quality_untraced_frees", 5);
	assert_json_string(j, "quality_source", "bpf");
	json_decref(j);
	line += len + 1;
	len = strcspn(line, "\n");
	j = load(line, len);
	assert_json_string(j, "record", "row");
	assert_json_string(j, "balance.verdict", "balanced");
	assert_string_equal(json_string_value(json_array_get(at(j, "aliases"), 0)), "one");
	assert_int_equal(json_array_size(at(j, "stack")), 2);
	assert_json_int(j, "window_ns", 10000000000);
	assert_json_int(j, "quality_lost_total", 7);
	assert_json_int(j, "quality_recursion_misses", 0);
	assert_json_int(j, "quality_frees_before_start", 0);
	assert_json_int(j, "quality_untraced_frees", 5);
	json_decref(j);
	line += len + 1;
	len = strcspn(line, "\n");
	j = load(line, len);
	assert_true(json_is_null(at(j, "site")));
	json_decref(j);
	assert_string_equal(line + len, "\n");	/* and nothing else */
	free(text);
	kmt_report_free(r);
}

/* A total, where there is one, is believed; else the reasons are added. */
static void test_loss_total(void **state)
{
	struct kmt_report *r = empty_report();
	char *text;

	kmt_report_choose(r, "site");
	add(r, "s", 1, 1);
	kmt_fields_int(&r->quality, "lost_ring", "R", KMT_UNIT_COUNT, 3);
	kmt_fields_int(&r->quality, "lost_sites", "S", KMT_UNIT_COUNT, 4);
	text = render_with("csv", r, (struct kmt_render_opts){ 0 });
	assert_string_equal(text, "s,7,0,0,0,0\r\n");
	free(text);
	kmt_fields_int(&r->quality, "lost_total", "T", KMT_UNIT_COUNT, 9);
	text = render_with("csv", r, (struct kmt_render_opts){ 0 });
	assert_string_equal(text, "s,9,0,0,0,0\r\n");
	free(text);
	kmt_report_free(r);
}

/* More than a chunk, more than a pipe holds. */
static void test_long_reports(void **state)
{
	struct kmt_report *r = empty_report();
	char *text;
	json_t *j;

	for (int i = 0; i < 5000; i++)
		add(r, "site", i, i);
	text = render("json", r);
	j = load(text, strlen(text));
	assert_int_equal(json_array_size(at(j, "rows")), 5000);
	assert_json_int(json_array_get(at(j, "rows"), 4999), "allocs", 4999);
	json_decref(j);
	free(text);
	kmt_report_free(r);
}

static void test_write_errors(void **state)
{
	struct kmt_render_opts opts = { .first = true };
	struct kmt_report *r = sample();

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; kmt_renderers[i]; i++) {
		int fds[2];
		FILE *f;

		assert_int_equal(pipe(fds), 0);
		close(fds[0]);
		f = fdopen(fds[1], "w");
		assert_int_equal(kmt_renderers[i]->render(r, &opts, f), -EPIPE);
		fclose(f);
		f = fopen("/dev/full", "w");
		assert_int_equal(kmt_renderers[i]->render(r, &opts, f), -ENOSPC);
		fclose(f);
	}
	kmt_report_free(r);
}

/* 20 characters are 100 percent, 2.5 are half a one; what is more than nothing is seen. */
static void test_bar(void **state)
{
	static const struct kmt_column bar[] = { { "live_percent", "BAR", KMT_UNIT_BAR, false, true } };
	static const double v[] = { 0, 0.01, 7.4, 7.6, 50, 100, 1000 };
	static const char *const want[] = { "", "#", "#", "##", "##########",
					    "####################", "####################" };
	struct kmt_report *r;
	char *text, *rest, *line;

	assert_int_equal(kmt_report_new("report", "timeline", bar, 1, &r), 0);
	for (int i = 0; i < 7; i++)
		kmt_cell_percent(&kmt_report_row(r)->cells[0], v[i]);
	rest = text = render("text", r);
	assert_string_equal(strsep(&rest, "\n"), "BAR");
	for (int i = 0; i < 7; i++) {
		line = strsep(&rest, "\n");
		assert_int_equal(strspn(line, "#"), strlen(want[i]));
	}
	free(text);
	text = render("csv", r);
	assert_non_null(strstr(text, "\r\n7.40,"));
	free(text);
	text = render("json", r);
	assert_non_null(strstr(text, "\"live_percent\":7.6"));
	free(text);
	kmt_report_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_options),
		cmocka_unit_test(test_text_locales),
		cmocka_unit_test(test_text_width),
		cmocka_unit_test(test_text_empty),
		cmocka_unit_test(test_text_hostile),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_csv_empty),
		cmocka_unit_test(test_csv_hostile),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_chosen),
		cmocka_unit_test(test_json_hostile),
		cmocka_unit_test(test_json_borders),
		cmocka_unit_test(test_json_nesting),
		cmocka_unit_test(test_json_empty),
		cmocka_unit_test(test_ndjson),
		cmocka_unit_test(test_loss_total),
		cmocka_unit_test(test_long_reports),
		cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_bar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
