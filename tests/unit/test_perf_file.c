// SPDX-License-Identifier: GPL-2.0-only
/* The container of perf.data and the texts in it, from files put together by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "source/perf_file.h"
#include "source/perf_tracing.h"
#include "source/tp_format.h"
#include "symbol/gfp.h"
#include "unit/perf_image.h"

static struct kmt_perf_file *open_image(const struct image *im, int *ret_err)
{
	struct kmt_perf_file *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fd = image_fd(im);
	assert_true(f->fd >= 0);
	*ret_err = kmt_perf_file_open(f);
	return f;
}

static void close_image(struct kmt_perf_file *f)
{
	close(f->fd);
	kmt_perf_file_done(f);
	free(f);
}

/* ---- pipe mode ------------------------------------------------------------- */

static void check_pipe(bool is_big)
{
	static struct image im;
	struct kmt_perf_record rec;
	struct kmt_perf_file *f;
	uint64_t at;
	int err;

	im = (struct image){ .is_big = is_big };
	put_pipe_head(&im, TYPE_USUAL);
	at = im.len;
	put_kmalloc(&im, 7, 1000, 1, 0xffff888000001000, 100);
	put_round(&im);
	f = open_image(&im, &err);
	assert_int_equal(err, 0);
	assert_true(f->is_pipe);
	assert_int_equal(kmt_perf_file_next(f, 0, &rec), 1);
	assert_int_equal(rec.type, 9);
	assert_int_equal(rec.misc, 1);
	assert_int_equal(rec.at, at);
	assert_int_equal(rec.len, 40 + 4 + 52);
	assert_int_equal(f->n_attrs, 2);
	assert_int_equal(f->attr[0].type, 2);
	assert_int_equal(f->attr[0].config, ID_KMALLOC);
	assert_int_equal(f->attr[1].config, ID_KFREE);
	assert_int_equal(f->attr[1].sample_type, TYPE_USUAL);
	assert_true(f->attr[0].id_all);
	assert_false(f->attr[0].has_clockid);
	assert_int_equal(f->attr[0].n_ids, 1);
	assert_int_equal(f->attr[0].ids[0], 1000);
	assert_string_equal(f->info.release, "6.1.0-test");
	assert_non_null(f->tracing);
	assert_int_equal(kmt_perf_file_next(f, 0, &rec), 1);
	assert_int_equal(rec.type, KMT_PERF_REC_ROUND);
	assert_int_equal(kmt_perf_file_next(f, 0, &rec), 0);
	assert_string_equal(f->cut, "");
	assert_int_equal(kmt_perf_file_next(f, 0, &rec), 0);
	close_image(f);
}

static void test_pipe(void **state)
{
	check_pipe(false);
	check_pipe(true);
}

/* An event's attribute of any size: 64 bytes in 2009, 128 and more now. */
static void test_attr_sizes(void **state)
{
	static const size_t sizes[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 400 };
	static struct image im;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct kmt_perf_record rec;
		struct kmt_perf_file *f;
		int err;

		im = (struct image){ .is_big = i % 2 };
		put_bytes(&im, im.is_big ? "2ELIFREP" : "PERFILE2", 8);
		put64(&im, 16);
		size_t at = begin_record(&im, 64, 0);

		put_attr(&im, sizes[i], 4711, TYPE_USUAL, 1U << 2, 1U << 18 | 1U << 25);
		put64(&im, 5);
		put64(&im, 6);
		end_record(&im, at);
		f = open_image(&im, &err);
		assert_int_equal(err, 0);
		assert_int_equal(kmt_perf_file_next(f, 0, &rec), 0);
		assert_int_equal(f->n_attrs, 1);
		assert_int_equal(f->attr[0].config, 4711);
		assert_int_equal(f->attr[0].read_format, 4);
		assert_true(f->attr[0].id_all);
		assert_true(f->attr[0].has_clockid);
		assert_int_equal(f->attr[0].clockid, sizes[i] >= 96 ? 1 : 0);
		assert_int_equal(f->attr[0].n_ids, 2);
		assert_int_equal(f->attr[0].ids[1], 6);
		close_image(f);
	}
}

/* What follows an AUXTRACE record is not in its size. */
static void test_auxtrace(void **state)
{
	static struct image im;
	struct kmt_perf_record rec;
	struct kmt_perf_file *f;
	size_t at;
	int err;

	im = (struct image){ 0 };
	put_pipe_head(&im, TYPE_USUAL);
	at = begin_record(&im, 71, 0);
	put64(&im, 24);
	for (int i = 0; i < 4; i++)
		put64(&im, 0);
	end_record(&im, at);
	memset(im.data + im.len, 0xff, 24);
	im.len += 24;
	put_round(&im);
	f = open_image(&im, &err);
	assert_int_equal(err, 0);
	assert_int_equal(kmt_perf_file_next(f, 0, &rec), 1);
	assert_int_equal(rec.type, KMT_PERF_REC_ROUND);
	assert_int_equal(kmt_perf_file_next(f, 0, &rec), 0);
	assert_string_equal(f->cut, "");
	close_image(f);
}

/* ---- file mode --------------------------------------------------------------- */

#define F_TRACING	1
#define F_BUILD_ID	2
#define F_HOSTNAME	3
#define F_RELEASE	4
#define F_CPUS		7
#define F_COMMAND	11
#define F_TIMES		21
#define F_CLOCK		29

static void put_feature(struct image *im, unsigned feature)
{
	size_t at;

	switch (feature) {
	case F_TRACING:
		put_tracing(im, "");
		break;
	case F_BUILD_ID:
		for (int i = 0; i < 2; i++) {	/* of a module, then of the kernel */
			at = begin_record(im, 0, 1 | 1U << 15);
			put32(im, 0xffffffff);
			for (int k = 0; k < 20; k++)
				put_number(im, i ? 0xa0 + k : 1, 1);
			put32(im, im->is_big ? 20U << 24 : 20);
			put_str(im, i ? "[kernel.kallsyms]" : "/lib/modules/ext4.ko");
			end_record(im, at);
		}
		break;
	case F_RELEASE:
	case F_HOSTNAME:
		put32(im, 12);
		put_bytes(im, "7.0.0-rc1\0\0\0", 12);
		break;
	case F_CPUS:
		put32(im, 8);
		put32(im, 6);
		break;
	case F_COMMAND:
		put32(im, 2);
		put32(im, 4);
		put_bytes(im, "perf", 4);	/* without NUL: fills its place */
		put32(im, 8);
		put_bytes(im, "record\0\0", 8);
		break;
	case F_TIMES:
		put64(im, 1000);
		put64(im, 2000);
		break;
	case F_CLOCK:
		put32(im, 1);
		put32(im, 1);
		put64(im, 1700000000000000000);
		put64(im, 999);
		break;
	default:
		break;
	}
}

static void put_features(struct image *im, const unsigned *features, size_t n)
{
	size_t table = im->len;

	im->len += n * 16;
	for (size_t i = 0; i < n; i++) {
		size_t at = im->len;

		put_feature(im, features[i]);
		patch(im, table + 16 * i, at, 8);
		patch(im, table + 16 * i + 8, im->len - at, 8);
	}
}

/* One event, one sample, and all features that are read. */
static void put_file(struct image *im, const char *magic, bool halves)
{
	static const unsigned features[] = { F_TRACING, F_BUILD_ID, F_HOSTNAME, F_RELEASE, F_CPUS,
					     F_COMMAND, F_TIMES, F_CLOCK };
	uint64_t bits = 0;
	size_t data;

	for (size_t i = 0; i < 8; i++)
		bits |= 1ULL << features[i];
	put_bytes(im, magic, 8);
	put64(im, 104);
	put64(im, 128 + 16);
	put64(im, 104 + 16);	/* attributes, behind the ids */
	put64(im, 128 + 16);
	im->len += 16;		/* data */
	put64(im, 0);
	put64(im, 0);
	put64(im, halves ? bits << 32 | bits >> 32 : bits);
	for (int i = 0; i < 3; i++)
		put64(im, 0);
	put64(im, 1000);
	put64(im, 1002);
	put_attr(im, 128, ID_KMALLOC, TYPE_USUAL, 0, 1U << 18);
	put64(im, 104);
	put64(im, 16);
	data = im->len;
	put_kmalloc(im, 7, 1000, 1, 0xffff888000001000, 100);
	patch(im, 40, data, 8);
	patch(im, 48, im->len - data, 8);
	put_features(im, features, 8);
}

static void check_file(bool is_big, const char *magic, bool halves)
{
	static struct image im;
	struct kmt_perf_record rec;
	struct kmt_perf_file *f;
	int err;

	im = (struct image){ .is_big = is_big };
	put_file(&im, magic, halves);
	f = open_image(&im, &err);
	assert_int_equal(err, 0);
	assert_false(f->is_pipe);
	assert_int_equal(f->n_attrs, 1);
	assert_int_equal(f->attr[0].n_ids, 2);
	assert_int_equal(f->attr[0].ids[1], 1002);
	assert_string_equal(f->info.release, "7.0.0-rc1");
	assert_string_equal(f->info.command, "perf record");
	assert_string_equal(f->info.build_id, "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3");
	assert_int_equal(f->info.n_cpus, 6);
	assert_int_equal(f->info.first_ns, 1000);
	assert_int_equal(f->info.last_ns, 2000);
	assert_true(f->info.has_wall);
	assert_int_equal(f->info.wall_ns, 1700000000000000000);
	assert_int_equal(f->info.wall_clock_ns, 999);
	assert_int_equal(kmt_perf_file_next(f, 0, &rec), 1);
	assert_int_equal(rec.type, 9);
	assert_int_equal(kmt_perf_file_next(f, 0, &rec), 0);
	assert_string_equal(f->cut, "");
	close_image(f);
}

static void test_file(void **state)
{
	check_file(false, "PERFILE2", false);
	check_file(true, "2ELIFREP", false);
	check_file(true, "2ELIFREP", true);	/* words of 32 bits */
	check_file(false, "PERFFILE", false);	/* before v3.4 */
	check_file(true, "PERFFILE", false);
}

/* Every length: an error with the offset, or a file that says it was cut. */
static void test_file_cut(void **state)
{
	static struct image im;

	im = (struct image){ 0 };
	put_file(&im, "PERFILE2", false);
	for (size_t len = 0; len <= im.len; len++) {
		struct kmt_perf_file *f = calloc(1, sizeof(*f));
		struct kmt_perf_record rec;
		int err, n = 0;

		assert_non_null(f);
		f->fd = image_fd_of(&im, len);
		err = kmt_perf_file_open(f);
		while (!err && kmt_perf_file_next(f, 0, &rec) == 1)
			n++;
		if (err) {
			assert_int_equal(err, -EBADMSG);
			assert_true(!strncmp(kmt_err_text(), "offset ", 7));
		} else {
			assert_int_equal(n, 1);
			assert_int_equal(!!f->cut[0], len < im.len);
		}
		close_image(f);
	}
}

/* A number that is too large, wherever one stands, is an error and no allocation. */
static void test_file_lies(void **state)
{
	static const uint64_t lies[] = { UINT64_MAX, UINT64_MAX - 7, INT64_MAX, 1ULL << 40, 1U << 24,
					 65536 };
	static struct image good, im;

	put_file(&good, "PERFILE2", false);
	for (size_t at = 8; at + 8 <= good.len; at += at < 400 ? 4 : 8) {
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			struct kmt_perf_record rec;
			struct kmt_perf_file *f;
			int err, n = 0;

			im = good;
			patch(&im, at, lies[i], 8);
			f = open_image(&im, &err);
			while (!err && kmt_perf_file_next(f, 0, &rec) == 1)
				n++;
			assert_true(n <= 200);
			close_image(f);
		}
	}
}

static void refuse(const struct image *im, int want, const char *text)
{
	struct kmt_perf_file *f;
	int err;

	f = open_image(im, &err);
	assert_int_equal(err, want);
	if (!strstr(kmt_err_text(), text))
		fail_msg("'%s' has no '%s'", kmt_err_text(), text);
	close_image(f);
}

static void test_refused(void **state)
{
	static struct image im;

	put_bytes(&im, "PERFILE3\x10\0\0\0\0\0\0", 16);
	assert_false(kmt_perf_file_detect(im.data, 16));
	refuse(&im, -EBADMSG, "not perf.data");
	im = (struct image){ 0 };
	put_file(&im, "PERFILE2", false);
	assert_true(kmt_perf_file_detect(im.data, im.len));
	assert_false(kmt_perf_file_detect(im.data, 15));
	patch(&im, 8, 105, 8);
	refuse(&im, -EBADMSG, "offset 8: a header of 105 bytes");
	patch(&im, 8, 104, 8);
	patch(&im, 48, 0, 8);
	refuse(&im, -EBADMSG, "perf was killed");
	patch(&im, 48, 1, 8);
	patch(&im, 16, 15, 8);
	refuse(&im, -EBADMSG, "offset 16: event attributes of 15 bytes");
}

/* ---- tracing data and formats --------------------------------------------------- */

static void check_tracing(bool is_big)
{
	static struct image im;
	struct kmt_perf_tracing t;
	struct kmt_buf b = { 0 };

	im = (struct image){ .is_big = is_big };
	put_tracing(&im, "some text");
	assert_int_equal(kmt_perf_tracing_parse(im.data, im.len, 0, &t), 0);
	assert_int_equal(t.n_events, 3);
	assert_int_equal(t.page_size, 4096);
	assert_int_equal(t.kallsyms_len, 9);
	assert_memory_equal(t.kallsyms, "some text", 9);
	assert_null(kmt_perf_tracing_event(&t, 5));	/* another system's kfree */
	assert_int_equal(kmt_perf_tracing_event(&t, ID_KFREE)->layout.op, KMT_OP_FREE);
	assert_int_equal(kmt_perf_tracing_event(&t, ID_CACHE_FREE)->layout.type, KMT_TYPE_CACHE);
	assert_int_equal(t.pid.offset, 4);
	assert_non_null(t.gfp_names);
	kmt_gfp_print(t.gfp_names, 0x500, &b);
	assert_string_equal(kmt_buf_str(&b), "__GFP_ONE|__GFP_ACCOUNT");
	kmt_buf_done(&b);
	kmt_perf_tracing_done(&t);
}

static void test_tracing(void **state)
{
	check_tracing(false);
	check_tracing(true);
}

/* Up to the end of the formats everything is needed, and each cut has its place. */
static void test_tracing_cut(void **state)
{
	static struct image im;
	struct kmt_perf_tracing t;
	size_t formats;

	im = (struct image){ 0 };
	put_tracing(&im, "");
	formats = im.len - 4 - 4 - 8;
	for (size_t len = 0; len < im.len; len++) {
		unsigned char *exact = malloc(len + 1);	/* so that ASan sees a step too far */
		int err;

		memcpy(exact, im.data, len);
		err = kmt_perf_tracing_parse(exact, len, 100, &t);
		assert_int_equal(err, len < formats ? -EBADMSG : 0);
		if (err)
			assert_true(!strncmp(kmt_err_text(), "offset ", 7) &&
				    strtoul(kmt_err_text() + 7, NULL, 10) >= 100 &&
				    strtoul(kmt_err_text() + 7, NULL, 10) <= 100 + len);
		else
			kmt_perf_tracing_done(&t);
		free(exact);
	}
}

/* v2.6.31: nothing about the sign, no type in front of a colon. */
static void test_format_old(void **state)
{
	static const char text[] =
		"name: kmem_cache_alloc_node\nID: 44\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n"
		"\tfield:unsigned long call_site;\toffset:16;\tsize:8;\n"
		"\tfield:const void * ptr;\toffset:24;\tsize:8;\n"
		"\tfield:gfp_t gfp_flags;\toffset:48;\tsize:4;\n"
		"\tfield:int node;\toffset:52;\tsize:4;\n"
		"\tfield:char comm[16];\toffset:56;\tsize:16;\n"
		"\tfield:nothing;\tsize:16;\n"
		"\tfield:int beyond;\toffset:99999999999;\tsize:4;\n"
		"\nprint fmt: \"field:int no;\toffset:0;\tsize:4;\"\n";
	static struct kmt_tp_format f;

	assert_int_equal(kmt_tp_format_parse(text, strlen(text), &f), 0);
	assert_string_equal(f.name, "kmem_cache_alloc_node");
	assert_int_equal(f.id, 44);
	assert_int_equal(f.n, 6);
	assert_false(kmt_tp_format_field(&f, "ptr")->is_signed);
	assert_false(kmt_tp_format_field(&f, "call_site")->is_signed);
	assert_true(kmt_tp_format_field(&f, "node")->is_signed);
	assert_int_equal(kmt_tp_format_field(&f, "node")->offset, 52);
	assert_int_equal(kmt_tp_format_field(&f, "comm")->size, 16);
	assert_null(kmt_tp_format_field(&f, "no"));
	assert_null(kmt_tp_format_field(&f, "nothing"));
}

static void test_format_strings(void **state)
{
	static const char text[] =
		"name: x\nID: 1\n"
		"\tfield:__data_loc char[] name;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:__rel_loc char[] other;\toffset:12;\tsize:4;\tsigned:0;\n"
		"\tfield:bool flag[2];\toffset:16;\tsize:2;\tsigned:0;\n";
	static struct kmt_tp_format f;

	assert_int_equal(kmt_tp_format_parse(text, strlen(text), &f), 0);
	assert_true(kmt_tp_format_field(&f, "name")->is_dynamic);
	assert_false(kmt_tp_format_field(&f, "name")->is_relative);
	assert_true(kmt_tp_format_field(&f, "name")->is_signed);
	assert_true(kmt_tp_format_field(&f, "other")->is_dynamic);
	assert_true(kmt_tp_format_field(&f, "other")->is_relative);
	assert_false(kmt_tp_format_field(&f, "flag")->is_dynamic);
	assert_int_equal(kmt_tp_format_parse("", 0, &f), -EPROTO);
	assert_int_equal(kmt_tp_format_parse("name: x\nID: 1\n", 14, &f), -EPROTO);
	assert_int_equal(kmt_tp_format_parse(text + 8, strlen(text + 8), &f), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_attr_sizes),
		cmocka_unit_test(test_auxtrace),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_file_cut),
		cmocka_unit_test(test_file_lies),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_tracing),
		cmocka_unit_test(test_tracing_cut),
		cmocka_unit_test(test_format_old),
		cmocka_unit_test(test_format_strings),
	};

	return cmocka_run_group_tests_name("perf_file", tests, NULL, NULL);
}
