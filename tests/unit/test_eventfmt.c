// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "eventfmt/eventfmt.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"

#define SAMPLES "tests/golden/samples/"

static const struct kmt_event alloc_2008 = {	/* line 2 of the samples */
	.op = KMT_OP_ALLOC,
	.type = KMT_TYPE_KMALLOC,
	.call_site = 0xffffffff8035acbd,
	.addr = 0xffff88007cad6000,
	.bytes_req = 4096,
	.bytes_alloc = 4096,
	.gfp = 0xd0,
	.node = -1,
	.real_node = -1,
};

static const struct kmt_event free_2008 = {	/* line 1 of the samples */
	.op = KMT_OP_FREE,
	.type = KMT_TYPE_CACHE,
	.call_site = 0xffffffff8034cb19,
	.addr = 0xffff88007c088780,
	.node = -1,
	.real_node = -1,
};

static void assert_event(const char *format, const struct kmt_eventfmt_opts *opts,
			 const struct kmt_event *ev, const char *expected)
{
	struct kmt_buf b = { 0 };

	kmt_eventfmt_find(format)->event(opts, ev, &b);
	assert_string_equal(kmt_buf_str(&b), expected);
	kmt_buf_done(&b);
}

static void find(void **state)
{
	const struct kmt_eventfmt *table = kmt_eventfmt_find("table");

	assert_non_null(table);
	assert_string_equal(kmt_eventfmt_find("default")->name, "default");
	assert_ptr_equal(kmt_eventfmt_find("kmem_minimalistic"), table);
	assert_ptr_equal(kmt_eventfmt_find("kmem_alternative"), table);
	assert_null(kmt_eventfmt_find("kmem"));
	assert_null(kmt_eventfmt_find(""));
	assert_null(kmt_eventfmt_find("kmem_minimalistic kmem_alternative"));
}

static void type_letters(void **state)
{
	assert_int_equal(kmt_type_letter(0), 'K');
	assert_int_equal(kmt_type_letter(1), 'C');
	assert_int_equal(kmt_type_letter(2), 'P');
	assert_int_equal(kmt_type_letter(3), 'U');
	assert_int_equal(kmt_type_letter(4), 'V');
	assert_int_equal(kmt_type_letter(5), '?');
	assert_int_equal(kmt_type_letter(255), '?');
	assert_int_equal(kmt_type_letter(UINT32_MAX), '?');
}

static void loss_words(void **state)
{
	assert_string_equal(kmt_loss_key(KMT_LOSS_RING), "lost_ring");
	assert_string_equal(kmt_loss_key(KMT_LOSS_SITES), "lost_sites");
	assert_string_equal(kmt_loss_key(KMT_LOSS_OBJECTS), "lost_objects");
	assert_string_equal(kmt_loss_key(KMT_LOSS_STACKS), "lost_stacks");
	assert_string_equal(kmt_loss_key(KMT_LOSS_INPUT), "lost_input");
	assert_string_equal(kmt_loss_key(KMT_LOSS_BEGINNING), "lost_beginning");
	for (int i = 0; i < KMT_LOSS_MAX; i++) {
		assert_non_null(kmt_loss_key(i));
		assert_non_null(kmt_loss_text(i));
	}
	assert_non_null(kmt_loss_text(KMT_LOSS_MAX));
}

/* The original's header, as it was printed in 2008. */
static void header_is_the_sample(void **state)
{
	const struct kmt_eventfmt_opts opts = { 0 };
	struct kmt_buf b = { 0 };
	char want[512];
	FILE *f = fopen(SAMPLES "table-header-2008.txt", "r");
	size_t n;

	assert_non_null(f);
	n = fread(want, 1, sizeof(want) - 1, f);
	want[n] = '\0';
	fclose(f);
	kmt_eventfmt_find("table")->header(&opts, &b);
	assert_string_equal(kmt_buf_str(&b), want);
	kmt_buf_done(&b);
	assert_null(kmt_eventfmt_find("default")->header);
}

static void header_with_columns(void **state)
{
	const struct kmt_eventfmt_opts opts = { .cache = true, .time = true, .gfp = true };
	struct kmt_buf b = { 0 };

	kmt_eventfmt_find("table")->header(&opts, &b);
	/* CALLER is 28 wide from column 66; then columns of 20 and 18, 3 blanks between */
	assert_string_equal(kmt_buf_str(&b),
		"#\n"
		"# ALLOC  TYPE  REQ   GIVEN  FLAGS           POINTER         NODE    CALLER"
		"                       CACHE                  TIME                 GFP\n"
		"# FREE   |      |     |       |              |   |            |        |"
		"                         |                      |                    |\n"
		"# |\n\n");
	kmt_buf_done(&b);
}

static void lines_of_2008(void **state)
{
	const struct kmt_eventfmt_opts opts = { 0 };
	struct kmt_event ev = alloc_2008;

	assert_event("default", &opts, &alloc_2008,
		     "type_id 0 call_site 18446744071565585597 ptr 18446612134405955584"
		     " bytes_req 4096 bytes_alloc 4096 gfp_flags 208 node -1\n");
	assert_event("default", &opts, &free_2008,
		     "type_id 1 call_site 18446744071565527833 ptr 18446612134395152256\n");
	ev.call_site_name = "getname";
	assert_event("table", &opts, &ev,
		     "  +      K   4096   4096   000000d0   0xffff88007cad6000     -1   getname\n");
	ev = free_2008;
	ev.call_site_name = "file_free_rcu";
	assert_event("table", &opts, &ev,
		     "  -      C                            0xffff88007c088780          "
		     "file_free_rcu\n");
}

/* A line of its own: a free's with a pair, and the sign of neither. */
static void given_up(void **state)
{
	struct kmt_eventfmt_opts opts = { 0 };
	struct kmt_event ev = free_2008;

	ev.op = KMT_OP_GIVE_UP;
	assert_event("default", &opts, &ev, "type_id 1 call_site 18446744071565527833 ptr "
		     "18446612134395152256 given_up rcu\n");
	assert_event("table", &opts, &ev, "  ~      C                            0xffff88007c088780          "
		     "0xffffffff8034cb19\n");
}

static void caller_forms(void **state)
{
	const struct kmt_eventfmt_opts opts = { 0 };
	struct kmt_event ev = free_2008;

	ev.addr = 0x10;
	ev.call_site = 0;
	assert_event("table", &opts, &ev,
		     "  -      C                            0x10          0\n");
	ev.call_site = 0x1234;
	assert_event("table", &opts, &ev,
		     "  -      C                            0x10          0x1234\n");
	ev.call_site_name = "ext4_inode+0x1c [ext4]";	/* the table has plain names */
	assert_event("table", &opts, &ev,
		     "  -      C                            0x10          ext4_inode\n");
	assert_event("default", &opts, &ev, "type_id 1 call_site 4660 ptr 16\n");
	ev.call_site = 0;
	assert_event("default", &opts, &ev,
		     "type_id 1 call_site ext4_inode+0x1c [ext4] ptr 16\n");
}

/* printf's widths are least widths: five digits move the rest of the line. */
static void wide_sizes(void **state)
{
	const struct kmt_eventfmt_opts opts = { 0 };
	struct kmt_event ev = alloc_2008;

	ev.type = 9;
	ev.bytes_req = 12345;
	ev.bytes_alloc = 16384;
	ev.gfp = 0x123456789;
	ev.node = 12;
	ev.addr = 0xc0001000;
	ev.call_site_name = "f";
	assert_event("table", &opts, &ev,
		     "  +      ?   12345   16384   123456789   0xc0001000     12   f\n");
	ev.bytes_req = UINT64_MAX;
	assert_event("default", &opts, &ev,
		     "type_id 9 call_site 18446744071565585597 ptr 3221229568"
		     " bytes_req 18446744073709551615 bytes_alloc 16384 gfp_flags 4886718345"
		     " node 12\n");
}

static void extra_columns(void **state)
{
	struct kmt_gfp_names *names;
	struct kmt_event ev = alloc_2008, fr = free_2008;

	assert_int_equal(kmt_gfp_names_2008(&names), 0);

	const struct kmt_eventfmt_opts opts = {
		.cache = true, .real_node = true, .time = true, .task = true, .gfp = true,
		.gfp_names = names,
	};

	ev.gfp = 0x80d0;
	ev.cache = "filp";
	ev.has_time = true;
	ev.ts_ns = 12345678901;
	ev.has_task = true;
	ev.comm = "bash";
	ev.pid = 4711;
	ev.cpu = 3;
	ev.real_node = 1;
	ev.call_site_name = "getname";
	assert_event("default", &opts, &ev,
		     "type_id 0 call_site 18446744071565585597 ptr 18446612134405955584"
		     " bytes_req 4096 bytes_alloc 4096 gfp_flags 32976 node -1"
		     " cache filp real_node 1 time 12.345678901 task bash-4711 cpu 3"
		     " gfp GFP_KERNEL|__GFP_ZERO\n");
	assert_event("table", &opts, &ev,
		     "  +      K   4096   4096   000080d0   0xffff88007cad6000     -1   "
		     "getname" "                        "	/* 28 - 7 + 3 */
		     "filp"    "                   "		/* 20 - 4 + 3 */
		     "1"       "       "			/*  5 - 1 + 3 */
		     "12.345678901" "         "			/* 18 - 12 + 3 */
		     "bash-4711"    "                "		/* 22 - 9 + 3 */
		     "3"       "     "				/*  3 - 1 + 3 */
		     "GFP_KERNEL|__GFP_ZERO\n");
	/* unknown values: left out, or '-' */
	assert_event("default", &opts, &fr,
		     "type_id 1 call_site 18446744071565527833 ptr 18446612134395152256\n");
	fr.call_site_name = "file_free_rcu";
	assert_event("table", &opts, &fr,
		     "  -      C                            0xffff88007c088780          "
		     "file_free_rcu" "                  "	/* 28 - 13 + 3 */
		     "-" "                      "
		     "-" "       "
		     "-" "                    "
		     "-" "                        "
		     "-" "     "
		     "-\n");
	kmt_gfp_names_free(names);
}

static void hostile_names(void **state)
{
	const struct kmt_eventfmt_opts opts = { .cache = true, .task = true };
	struct kmt_event ev = free_2008;

	ev.cache = "a b\n+      K";
	ev.has_task = true;
	ev.comm = "\033[2J \\";
	ev.pid = 1;
	assert_event("default", &opts, &ev,
		     "type_id 1 call_site 18446744071565527833 ptr 18446612134395152256"
		     " cache a\\x20b\\x0a+\\x20\\x20\\x20\\x20\\x20\\x20K"
		     " task \\x1b[2J\\x20\\x5c-1 cpu 0\n");
	ev.has_task = false;
	ev.cache = NULL;
	ev.call_site = 0;
	ev.call_site_name = "x\ny";
	assert_event("default", &opts, &ev,
		     "type_id 1 call_site x\\x0ay ptr 18446612134395152256\n");
}

static void stacks(void **state)
{
	const uint64_t ips[] = { 0xffffffff8035acbd, 0xffffffff8035ac7e, 0x1000 };
	struct kmt_symbols *symbols;
	struct kmt_event ev = free_2008;

	assert_int_equal(kmt_symbols_load(SAMPLES "kallsyms-2008.txt", &symbols), 0);

	const struct kmt_eventfmt_opts opts = { .stacks = true, .symbols = symbols };

	ev.ips = ips;
	ev.n_ips = 3;
	assert_event("table", &opts, &ev,
		     "  -      C                            0xffff88007c088780          "
		     "file_free_rcu\n"
		     "\t=> getname+0x2d\n"	/* ..acbd - ..ac90 of the test's kallsyms */
		     "\t=> putname+0x2e\n"	/* ..ac7e - ..ac50 */
		     "\t=> 0x1000\n");

	/* from the call site on: what lies before it is the tracer's and the allocator's */
	ev.call_site = ips[1];
	assert_event("table", &opts, &ev,
		     "  -      C                            0xffff88007c088780          "
		     "putname\n"
		     "\t=> putname+0x2e\n"
		     "\t=> 0x1000\n");
	kmt_symbols_free(symbols);
}

/* An event that names no call site begins where the allocator was called. */
static void stack_without_call_site(void **state)
{
	static const char text[] =
		"ffffffff81000000 t bpf_prog_0123456789abcdef_kmt\t[bpf]\n"
		"ffffffff81001000 T bpf_trace_run5\n"
		"ffffffff81002000 T kmem_cache_alloc_noprof\n"
		"ffffffff81003000 T alloc_empty_file\n"
		"ffffffff81004000 T kmalloc_trace\n"
		"ffffffff81005000 T end\n";
	const uint64_t ips[] = { 0xffffffff81000010, 0xffffffff81001020, 0xffffffff81002030,
				 0xffffffff81003040, 0xffffffff81004050 };
	struct kmt_symbols *symbols;
	struct kmt_event ev = free_2008;

	assert_int_equal(kmt_symbols_parse(text, sizeof(text) - 1, "test", &symbols), 0);

	const struct kmt_eventfmt_opts opts = { .stacks = true, .symbols = symbols };

	ev.call_site = 0;
	ev.ips = ips;
	ev.n_ips = 5;
	assert_event("default", &opts, &ev,
		     "type_id 1 call_site 0 ptr 18446612134395152256\n"
		     "\t=> alloc_empty_file+0x40\n"
		     "\t=> kmalloc_trace+0x50\n");
	ev.n_ips = 3;	/* nothing but the allocator: shown as it is */
	assert_event("default", &opts, &ev,
		     "type_id 1 call_site 0 ptr 18446612134395152256\n"
		     "\t=> bpf_prog_0123456789abcdef_kmt+0x10 [bpf]\n"
		     "\t=> bpf_trace_run5+0x20\n"
		     "\t=> kmem_cache_alloc_noprof+0x30\n");
	kmt_symbols_free(symbols);
}

static void overflow(void **state)
{
	const struct kmt_eventfmt_opts opts = { 0 };
	struct kmt_lost lost = { .reason = KMT_LOSS_RING, .cpu = 3, .events = 17 };

	for (size_t i = 0; kmt_eventfmts[i]; i++) {
		struct kmt_buf b = { 0 };

		lost = (struct kmt_lost){ .reason = KMT_LOSS_RING, .cpu = 3, .events = 17 };
		kmt_eventfmts[i]->lost(&opts, &lost, &b);
		assert_string_equal(kmt_buf_str(&b),
				    "# overflow: events lost: 17 (ring buffer full), cpu 3\n");
		kmt_buf_clear(&b);
		lost = (struct kmt_lost){
			.reason = KMT_LOSS_OBJECTS, .cpu = UINT32_MAX, .ts_ns = 2000000001,
		};
		kmt_eventfmts[i]->lost(&opts, &lost, &b);
		assert_string_equal(kmt_buf_str(&b), "# overflow: events lost: unknown "
				    "(live-object table full), time 2.000000001\n");
		kmt_buf_done(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find),
		cmocka_unit_test(type_letters),
		cmocka_unit_test(loss_words),
		cmocka_unit_test(header_is_the_sample),
		cmocka_unit_test(header_with_columns),
		cmocka_unit_test(lines_of_2008),
		cmocka_unit_test(given_up),
		cmocka_unit_test(caller_forms),
		cmocka_unit_test(wide_sizes),
		cmocka_unit_test(extra_columns),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(stacks),
		cmocka_unit_test(stack_without_call_site),
		cmocka_unit_test(overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
