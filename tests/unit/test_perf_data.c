// SPDX-License-Identifier: GPL-2.0-only
/* What perf.data records say, their order, and the source as a whole. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "source/perf_file.h"
#include "source/perf_pending.h"
#include "source/perf_sample.h"
#include "source/source.h"
#include "symbol/gfp.h"
#include "symbol/symbols.h"
#include "unit/perf_image.h"

/* ---- one record --------------------------------------------------------------- */

#define READ	(1U << 4)
#define ALL_PARTS ((1U << 0 | 1U << 1 | 1U << 2 | 1U << 3 | READ | 1U << 5 | 1U << 6 | 1U << 7 | \
		    1U << 8 | 1U << 9 | 1U << 10 | 1U << 16))
#define CONTEXT_KERNEL	((uint64_t)-128)
#define CONTEXT_USER	((uint64_t)-512)
#define CONTEXT_GUEST_KERNEL ((uint64_t)-2176)

/* A file with one attribute, which is all that the parsers look at. */
static struct kmt_perf_file *file_of(bool is_big, uint64_t type, uint64_t read_format)
{
	struct kmt_perf_file *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->swap = is_big;	/* these tests run on little-endian machines */
	f->n_attrs = 1;
	f->attr[0] = (struct kmt_perf_attr){ .type = 2, .sample_type = type,
					     .read_format = read_format, .id_all = true };
	return f;
}

static struct kmt_perf_record record_of(const struct image *im, size_t from)
{
	return (struct kmt_perf_record){ .type = 9, .data = im->data + from, .len = im->len - from };
}

/* Everything that can stand in front of the raw part, in the kernel's order. */
static void put_all_parts(struct image *im, bool group)
{
	put64(im, 42);			/* IDENTIFIER */
	put64(im, 1);			/* IP */
	put32(im, 10);
	put32(im, 11);			/* TID */
	put64(im, 12345);		/* TIME */
	put64(im, 2);			/* ADDR */
	put64(im, 42);			/* ID */
	put64(im, 3);			/* STREAM_ID */
	put32(im, 5);
	put32(im, 0);			/* CPU */
	put64(im, 1);			/* PERIOD */
	put64(im, group ? 2 : 7);	/* READ: number of counters, or the one */
	put64(im, 8);			/* time enabled */
	for (int i = 0; i < (group ? 6 : 2); i++)
		put64(im, 9);		/* [value,] id, lost */
	put64(im, 6);			/* CALLCHAIN */
	put64(im, CONTEXT_KERNEL);
	put64(im, 0xffffffff81000001);
	put64(im, 0xffffffff81000002);
	put64(im, CONTEXT_USER);
	put64(im, 0x4004);
	put64(im, CONTEXT_GUEST_KERNEL);
	put32(im, 4);			/* RAW */
	put_bytes(im, "abcd", 4);
}

static void check_all_parts(bool is_big, bool group)
{
	struct kmt_perf_file *f = file_of(is_big, ALL_PARTS, 1U << 0 | 1U << 2 | 1U << 4 |
					  (group ? 1U << 3 : 0));
	static struct image im;
	struct kmt_perf_ids ids = { 0 };
	struct kmt_perf_record rec;
	struct kmt_perf_sample s;
	uint64_t ips[8];

	im = (struct image){ .is_big = is_big };
	put_all_parts(&im, group);
	rec = record_of(&im, 0);
	assert_int_equal(kmt_perf_ids_update(&ids, f), 0);
	assert_int_equal(kmt_perf_sample_parse(f, &ids, &rec, &s), 0);
	assert_int_equal(s.pid, 10);
	assert_int_equal(s.tid, 11);
	assert_int_equal(s.time, 12345);
	assert_int_equal(s.cpu, 5);
	assert_int_equal(s.id, 42);
	assert_int_equal(s.raw_len, 4);
	assert_memory_equal(s.raw, "abcd", 4);
	assert_int_equal(kmt_perf_chain(f, &s, ips, 8), 2);
	assert_int_equal(ips[0], 0xffffffff81000001);
	assert_int_equal(ips[1], 0xffffffff81000002);
	assert_int_equal(kmt_perf_chain(f, &s, ips, 1), 1);
	for (size_t len = 0; len < im.len; len++) {
		unsigned char *exact = malloc(len + 1);

		memcpy(exact, im.data, len);
		rec.data = exact;
		rec.len = len;
		assert_int_equal(kmt_perf_sample_parse(f, &ids, &rec, &s), -EBADMSG);
		free(exact);
	}
	kmt_perf_ids_done(&ids);
	free(f);
}

static void test_all_parts(void **state)
{
	check_all_parts(false, false);
	check_all_parts(true, false);
	check_all_parts(false, true);
	check_all_parts(true, true);
}

/* Counts that no record can hold must not wrap around. */
static void test_parts_lie(void **state)
{
	struct kmt_perf_file *f = file_of(false, 1U << 5 | 1U << 10, 0);
	struct kmt_perf_ids ids = { 0 };
	static const uint64_t lies[] = { 3, 1ULL << 61, UINT64_MAX, UINT64_MAX / 8 + 1 };

	assert_int_equal(kmt_perf_ids_update(&ids, f), 0);
	for (size_t i = 0; i < 4; i++) {
		static struct image im;
		struct kmt_perf_record rec;
		struct kmt_perf_sample s;

		im = (struct image){ 0 };
		put64(&im, lies[i]);
		put64(&im, 1);
		put64(&im, 0xffffffff00000004);
		rec = record_of(&im, 0);
		assert_int_equal(kmt_perf_sample_parse(f, &ids, &rec, &s), -EBADMSG);
	}
	kmt_perf_ids_done(&ids);
	free(f);
}

/* Two events with samples of different forms: the id says which. */
static void test_two_forms(void **state)
{
	struct kmt_perf_file *f = file_of(false, 1U << 1 | 1U << 2 | 1U << 6, 0);
	uint64_t one = 100, two = 200;
	struct kmt_perf_ids ids = { 0 };
	static struct image im;
	struct kmt_perf_record rec;
	struct kmt_perf_sample s;

	f->attr[0].ids = &one;
	f->attr[1] = f->attr[0];
	f->attr[1].sample_type |= 1U << 8 | 1U << 7;
	f->attr[1].ids = &two;
	f->attr[0].n_ids = f->attr[1].n_ids = 1;
	f->n_attrs = f->n_ids = 2;
	assert_int_equal(kmt_perf_ids_update(&ids, f), 0);
	put32(&im, 1);
	put32(&im, 2);
	put64(&im, 3);
	put64(&im, 200);
	put32(&im, 4);
	put32(&im, 0);
	put64(&im, 1);
	rec = record_of(&im, 0);
	assert_int_equal(kmt_perf_sample_parse(f, &ids, &rec, &s), 0);
	assert_true(s.has_cpu);
	assert_int_equal(s.cpu, 4);
	patch(&im, 16, 100, 8);
	assert_int_equal(kmt_perf_sample_parse(f, &ids, &rec, &s), 0);
	assert_false(s.has_cpu);
	patch(&im, 16, 300, 8);
	assert_int_equal(kmt_perf_sample_parse(f, &ids, &rec, &s), -EBADMSG);
	/* an id at different places says nothing */
	kmt_perf_ids_done(&ids);
	f->attr[1].sample_type |= 1U << 3;
	assert_int_equal(kmt_perf_ids_update(&ids, f), -EBADMSG);
	kmt_perf_ids_done(&ids);
	free(f);
}

/* ---- order ------------------------------------------------------------------------ */

static void add_at(struct kmt_perf_pending *q, uint64_t time, uint32_t tid)
{
	struct kmt_perf_item item = { .kind = KMT_PERF_COMM, .time = time, .tid = tid, .n_ips = 1,
				      .len = 3 };
	uint64_t ip = time * 2;

	assert_int_equal(kmt_perf_pending_add(q, &item, &ip, "ab"), 0);
}

static uint64_t take_one(struct kmt_perf_pending *q, uint64_t bound)
{
	const uint64_t *ips;
	const void *data;
	const struct kmt_perf_item *item = kmt_perf_pending_head(q, bound, &ips, &data);
	uint64_t time;

	if (!item)
		return 0;
	time = item->time;
	assert_int_equal(ips[0], time * 2);
	assert_string_equal(data, "ab");
	kmt_perf_pending_pop(q);
	return time;
}

static void test_pending(void **state)
{
	struct kmt_perf_pending q = { 0 };
	uint64_t seed = 1, last = 0;

	/* a little too late, much too late, backwards: comes out by time */
	for (unsigned i = 0; i < 3000; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		add_at(&q, i < 1000 ? 10 * i + 1 + (seed >> 60) : i < 2000 ? 20000 - i : 1 +
		       (seed >> 50), i);
	}
	kmt_perf_pending_sort(&q);
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t time = take_one(&q, UINT64_MAX);

		assert_true(time >= last);
		last = time;
		if (i % 700 == 0)
			kmt_perf_pending_compact(&q);
	}
	assert_int_equal(take_one(&q, UINT64_MAX), 0);
	kmt_perf_pending_compact(&q);
	assert_int_equal(kmt_perf_pending_bytes(&q), 0);
	/* nothing at or above the bound; equal times stay in their order */
	add_at(&q, 5, 1);
	add_at(&q, 7, 2);
	assert_int_equal(take_one(&q, 5), 0);
	assert_int_equal(take_one(&q, 7), 5);
	assert_int_equal(take_one(&q, 7), 0);
	kmt_perf_pending_compact(&q);
	assert_int_equal(take_one(&q, 8), 7);
	kmt_perf_pending_done(&q);
}

/* A stream that goes on for ever takes no more memory than what is pending. */
static void test_pending_bounded(void **state)
{
	struct kmt_perf_pending q = { 0 };

	for (unsigned i = 1; i < 100000; i++) {
		add_at(&q, i, i);
		if (i % 100)
			continue;
		for (unsigned k = 0; k < 100; k++)
			take_one(&q, i - 50);
		kmt_perf_pending_compact(&q);
		assert_true(kmt_perf_pending_bytes(&q) < 100000);
	}
	assert_true(q.data_cap < 200000);
	kmt_perf_pending_done(&q);
}

/* ---- the source ---------------------------------------------------------------------- */

struct seen {
	char text[8192];
	size_t len;
	uint64_t lost[KMT_LOSS_MAX];
};

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct seen *s = ctx;

	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len,
				   "%c%" PRIx64 "@%" PRIu64 "/%u %s-%u ",
				   ev->op == KMT_OP_ALLOC ? '+' : '-', ev->addr & 0xffff,
				   ev->ts_ns, ev->cpu, ev->comm ? ev->comm : "?", ev->pid);
	return 0;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct seen *s = ctx;

	s->lost[lost->reason] += lost->events ? lost->events : 1000000;
	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, "!%" PRIu64 " ",
				   lost->events);
	return 0;
}

static int open_source(const struct image *im, size_t len, const struct kmt_filter *filter,
		       struct kmt_source **ret)
{
	const struct kmt_source_ops *ops;
	int fd = image_fd_of(im, len), err;
	char path[64];
	struct kmt_source_opts opts = { .mode = KMT_MODE_STREAMED, .path = path, .filter = filter,
					.want_task = true, .want_stacks = true };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = kmt_source_for_file(path, &ops);
	if (!err) {
		assert_string_equal(ops->name, "perf_data");
		err = ops->open(&opts, ret);
	}
	close(fd);
	return err;
}

static struct kmt_quality run_source(struct kmt_source *src, struct seen *seen)
{
	const struct kmt_sink sink = { .event = on_event, .lost = on_lost, .ctx = seen };
	struct kmt_quality q = { 0 };
	int n;

	do
		n = src->ops->poll(src, &sink, 0);
	while (n >= 0);
	assert_int_equal(n, -ENODATA);
	assert_int_equal(src->ops->poll(src, &sink, 0), -ENODATA);
	src->ops->quality(src, &q);
	return q;
}

static struct kmt_quality run_image(const struct image *im, struct seen *seen)
{
	struct kmt_source *src = NULL;
	struct kmt_quality q;

	*seen = (struct seen){ 0 };
	assert_int_equal(open_source(im, im->len, NULL, &src), 0);
	q = run_source(src, seen);
	src->ops->close(src);
	return q;
}

static void put_comm(struct image *im, uint32_t tid, uint64_t time, const char *comm)
{
	size_t at = begin_record(im, 3, 0);

	put32(im, tid);
	put32(im, tid);
	put_str(im, comm);
	put_pad(im, at);
	put_trailer(im, 0, tid, time, 0);
	end_record(im, at);
}

static void put_fork(struct image *im, uint32_t parent, uint32_t tid, uint64_t time)
{
	size_t at = begin_record(im, 7, 0);

	put32(im, tid);
	put32(im, parent);
	put32(im, tid);
	put32(im, parent);
	put64(im, time);
	put_trailer(im, 0, parent, time, 0);
	end_record(im, at);
}

static void put_lost(struct image *im, uint64_t time, uint32_t cpu, uint64_t lost)
{
	size_t at = begin_record(im, 2, 0);

	put64(im, 1000);
	put64(im, lost);
	put_trailer(im, 1000, 1, time, cpu);
	end_record(im, at);
}

static void put_lost_samples(struct image *im, uint64_t lost)
{
	size_t at = begin_record(im, 13, 0);

	put64(im, lost);
	put_trailer(im, 1000, 0, 0, 0);
	end_record(im, at);
}

#define A(n) (0xffff888000000000 + (n))

/*
 * CPU 1's events stand behind CPU 0's younger ones, as perf writes them. What
 * is behind the end of a round may be older than what is before it, but not
 * older than the end of the round before that.
 */
static void put_story(struct image *im)
{
	put_pipe_head(im, TYPE_USUAL);
	put_comm(im, 7, 0, "seven");
	put_kmalloc(im, 7, 1000, 0, A(1), 100);
	put_kmalloc(im, 7, 1010, 0, A(2), 100);
	put_kfree(im, 8, 1005, 1, A(1));
	put_round(im);
	put_fork(im, 7, 9, 1012);
	put_kfree(im, 9, 1020, 0, A(2));
	put_comm(im, 9, 1025, "nine");
	put_kmalloc(im, 9, 1030, 0, A(3), 8);
	put_kmalloc(im, 0, 1015, 1, A(4), 8);
	put_round(im);
	put_kfree(im, 7, 1028, 1, 0);		/* kfree(NULL) */
	put_kfree(im, 7, 1029, 1, A(4));
	put_round(im);
}

static const char story[] =
	"+1@1000/0 seven-7 -1@1005/1 ?-8 +2@1010/0 seven-7 +4@1015/1 swapper/1-0 "
	"-2@1020/0 seven-9 -4@1029/1 seven-7 +3@1030/0 nine-9 ";

static void test_source(void **state)
{
	static struct image im;
	struct seen seen;

	for (int is_big = 0; is_big < 2; is_big++) {
		struct kmt_quality q;

		im = (struct image){ .is_big = is_big };
		put_story(&im);
		q = run_image(&im, &seen);
		assert_string_equal(seen.text, story);
		assert_string_equal(q.source, "perf_data");
		assert_string_equal(q.kernel, "6.1.0-test");
		assert_int_equal(q.events, 7);
		assert_int_equal(q.null_frees, 1);
		assert_int_equal(q.window_ns, 30);
		assert_int_equal(kmt_quality_lost(&q), 0);
	}
}

/* Without rounds (and written backwards) it is put in order at the end. */
static void test_source_backwards(void **state)
{
	static struct image im;
	struct seen seen;

	put_pipe_head(&im, TYPE_USUAL);
	for (int i = 300; i > 0; i--)
		put_kmalloc(&im, 7, i, 0, A(i), 8);
	run_image(&im, &seen);
	assert_true(!strncmp(seen.text, "+1@1/0 ?-7 +2@2/0 ?-7 +3@3/0 ?-7 ", 33));
}

static void test_source_facts(void **state)
{
	static struct image im;
	const struct kmt_facts *facts;
	struct kmt_source *src;
	struct kmt_symbol sym;
	struct seen seen = { 0 };

	put_story(&im);
	assert_int_equal(open_source(&im, im.len, NULL, &src), 0);
	facts = src->ops->facts(src);
	assert_string_equal(facts->kernel, "6.1.0-test");
	assert_string_equal(facts->clock, "perf");
	assert_int_equal(facts->page_size, 4096);
	assert_int_equal(facts->start_ns, 1000);
	assert_int_equal(kmt_gfp_mask(facts->gfp_names, "__GFP_ONE"), 0x400);
	assert_true(kmt_symbols_find_ret(facts->symbols, 0xffffffff81001000, &sym));
	assert_string_equal(sym.name, "maker");
	run_source(src, &seen);
	assert_int_equal(src->ops->facts(src)->end_ns, 1030);
	src->ops->close(src);
}

/* With the recording's own names: frees follow their objects. */
static void test_source_filter(void **state)
{
	static struct image im;
	struct kmt_filter filter = { 0 };
	struct kmt_source *src;
	struct seen seen = { 0 };
	struct kmt_quality q;

	put_story(&im);
	assert_int_equal(kmt_filter_add(&filter, "site=maker"), 1);
	assert_int_equal(kmt_filter_add(&filter, "task=seven"), 1);
	assert_int_equal(open_source(&im, im.len, &filter, &src), 0);
	q = run_source(src, &seen);
	assert_string_equal(seen.text, "+1@1000/0 seven-7 -1@1005/1 ?-8 +2@1010/0 seven-7 "
			    "-2@1020/0 seven-9 ");
	assert_int_equal(q.filtered, 3);
	assert_int_equal(q.unknown_tasks, 0);
	src->ops->close(src);
}

/* perf record --synth=no: who was there before has no name, but has its process. */
static void test_source_filter_unnamed(void **state)
{
	static const struct { const char *expr; uint64_t events, filtered, unknown; } cases[] = {
		{ "task=seven", 1, 3, 2 },
		{ "tgid=8", 2, 2, 0 },
	};
	static struct image im;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kmt_filter filter = { 0 };
		struct kmt_source *src;
		struct seen seen = { 0 };
		struct kmt_quality q;

		im = (struct image){ 0 };
		put_pipe_head(&im, TYPE_USUAL);
		put_comm(&im, 7, 0, "seven");
		put_kmalloc(&im, 7, 1000, 0, A(1), 100);
		put_kmalloc(&im, 8, 1001, 0, A(2), 100);
		put_kmalloc(&im, 8, 1002, 0, A(3), 100);
		put_kmalloc(&im, 0, 1003, 0, A(4), 100);	/* swapper/0: known */
		put_round(&im);
		assert_int_equal(kmt_filter_add(&filter, cases[i].expr), 1);
		assert_int_equal(open_source(&im, im.len, &filter, &src), 0);
		q = run_source(src, &seen);
		assert_int_equal(q.events, cases[i].events);
		assert_int_equal(q.filtered, cases[i].filtered);
		assert_int_equal(q.unknown_tasks, cases[i].unknown);
		src->ops->close(src);
	}
}

/* Losses in their places, and the rest of what the counters say at the end. */
static void test_source_losses(void **state)
{
	static struct image im;
	struct seen seen;
	struct kmt_quality q;

	put_pipe_head(&im, TYPE_USUAL);
	put_kmalloc(&im, 7, 1000, 0, A(1), 8);
	put_kmalloc(&im, 7, 1010, 0, A(2), 8);
	put_lost(&im, 1005, 1, 30);
	put_round(&im);
	put_lost_samples(&im, 20);
	put_lost_samples(&im, 15);
	q = run_image(&im, &seen);
	assert_string_equal(seen.text, "+1@1000/0 ?-7 !30 +2@1010/0 ?-7 !5 ");
	assert_int_equal(q.lost[KMT_LOSS_RING], 35);
	/* fewer than the records told of: the counters of older kernels are all zero */
	im = (struct image){ 0 };
	put_pipe_head(&im, TYPE_USUAL);
	put_lost(&im, 1005, 1, 30);
	put_lost_samples(&im, 0);
	q = run_image(&im, &seen);
	assert_int_equal(q.lost[KMT_LOSS_RING], 30);
}

static void test_source_bad_records(void **state)
{
	static struct image im;
	struct seen seen;
	struct kmt_quality q;
	size_t at;

	put_pipe_head(&im, TYPE_USUAL);
	put_kmalloc(&im, 7, 1000, 0, A(1), 8);
	end_record(&im, begin_record(&im, 9, 0));	/* an empty sample */
	end_record(&im, begin_record(&im, 3, 0));	/* a name of nobody */
	at = begin_sample(&im, 1001, 7, 7, 1001, 0);	/* a tracepoint record that is cut off */
	put32(&im, 12);
	put_common(&im, ID_KFREE, 7);
	put32(&im, 0);
	end_record(&im, at);
	end_record(&im, begin_record(&im, 40, 0));	/* a type of the future */
	end_record(&im, begin_record(&im, 12, 0));	/* ITRACE_START: known, of no use */
	put_kmalloc(&im, 7, 1010, 0, A(2), 8);
	q = run_image(&im, &seen);
	assert_int_equal(q.lost[KMT_LOSS_INPUT], 4);
	assert_int_equal(seen.lost[KMT_LOSS_INPUT], 4);
	assert_int_equal(q.events, 2);
}

/* Cut at every byte: the events before the cut, or one line of error with the offset. */
static void test_source_cut(void **state)
{
	static struct image im;
	unsigned answers = 0;

	put_story(&im);
	for (size_t len = 16; len < im.len; len++) {
		struct kmt_source *src = NULL;
		struct seen seen = { 0 };
		int err = open_source(&im, len, NULL, &src);

		if (err) {
			assert_int_equal(err, -EBADMSG);
			assert_non_null(strstr(kmt_err_text(), "': offset "));
			assert_null(src);
			continue;
		}
		run_source(src, &seen);
		answers++;
		src->ops->close(src);
	}
	assert_true(answers > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_parts),
		cmocka_unit_test(test_parts_lie),
		cmocka_unit_test(test_two_forms),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_pending_bounded),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_source_backwards),
		cmocka_unit_test(test_source_facts),
		cmocka_unit_test(test_source_filter),
		cmocka_unit_test(test_source_filter_unnamed),
		cmocka_unit_test(test_source_losses),
		cmocka_unit_test(test_source_bad_records),
		cmocka_unit_test(test_source_cut),
	};

	return cmocka_run_group_tests_name("perf_data", tests, NULL, NULL);
}
