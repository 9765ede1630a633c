// SPDX-License-Identifier: GPL-2.0-only
/* .kmt recordings that were cut, damaged, overwritten, limited, or are none. */
#include "store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store/columns.h"
#include "store/encode.h"
#include "store/file.h"
#include "store/format.h"
#include "store/zip.h"

/* ---- recordings as bytes ---- */

struct bytes {
	uint8_t *v;
	size_t n;
};

static struct bytes bytes_of(int fd)
{
	struct bytes b = { .n = (size_t)lseek(fd, 0, SEEK_END) };

	b.v = malloc(b.n);
	assert_non_null(b.v);
	assert_int_equal(pread(fd, b.v, b.n, 0), b.n);
	return b;
}

/* Reads n bytes as a file; the code as read_recording() gives it. */
static int read_bytes(const uint8_t *v, size_t n, struct result *res)
{
	int fd = memfd_create("kmt", 0), err;
	char path[64];

	assert_true(fd >= 0);
	assert_int_equal(write(fd, v, n), n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = read_recording(path, NULL, res);
	close(fd);
	return err;
}

/* Blocks of ten events whose address is their number from 1. */
#define BLOCKS	4u
#define EVENTS	10u

struct maker {
	struct kmt_block_out out;
	struct kmt_encoder *encoder;
	struct kmt_zip *zip;
	struct kmt_cols_out cols;
	int fd;
	uint64_t next;
};

static void maker_new(struct maker *m, uint64_t ring_bytes)
{
	*m = (struct maker){ .fd = memfd_create("kmt", 0), .next = 1 };
	m->out = (struct kmt_block_out){ .fd = m->fd, .name = "x", .ring_bytes = ring_bytes };
	assert_int_equal(kmt_encoder_new(&m->encoder), 0);
	assert_int_equal(kmt_zip_new(&m->zip), 0);
	m->cols.zip = m->zip;
	assert_int_equal(kmt_block_out_head(&m->out), 0);
	assert_int_equal(kmt_block_out_put(&m->out, KMT_BLOCK_META, KMT_CODEC_RAW,
					   "kernel 6.18\n", 12, 12), 0);
	kmt_block_out_begin_ring(&m->out);
}

static void maker_done(struct maker *m)
{
	kmt_block_out_done(&m->out);
	kmt_encoder_free(m->encoder);
	kmt_cols_out_done(&m->cols);
	kmt_zip_free(m->zip);
	close(m->fd);
}

static void put_events(struct maker *m, size_t n)
{
	static const char *const comms[] = { "bash", "make", NULL };
	const struct kmt_lost lost = { .reason = KMT_LOSS_RING, .events = 1 };

	for (size_t i = 0; i < n; i++, m->next++) {
		const uint64_t ips[2] = { m->next % 3, 7 };
		const struct kmt_event ev = {
			.addr = m->next, .ts_ns = m->next * 1000, .has_time = true,
			.cpu = m->next % 2, .comm = comms[m->next % 3], .cache = "kmalloc-64",
			.bytes_alloc = 64, .bytes_req = m->next % 64, .ips = ips,
			.n_ips = m->next % 3,
		};

		assert_int_equal(kmt_encoder_event(m->encoder, &ev), 0);
	}
	assert_int_equal(kmt_encoder_lost(m->encoder, &lost), 0);
	kmt_encoder_put(m->encoder, &m->cols);
	kmt_encoder_clear(m->encoder);
	assert_int_equal(kmt_block_out_put(&m->out, KMT_BLOCK_EVENT, KMT_CODEC_COLUMNS,
					   m->cols.out.data, m->cols.out.len, m->cols.raw), 0);
	kmt_cols_out_clear(&m->cols);
}

static void put_end(struct maker *m)
{
	kmt_block_out_end_ring(&m->out);
	assert_int_equal(kmt_block_out_put(&m->out, KMT_BLOCK_QUALITY, KMT_CODEC_RAW,
					   "own 5\n", 6, 6), 0);
	assert_int_equal(kmt_block_out_put(&m->out, KMT_BLOCK_END, KMT_CODEC_RAW, "", 0, 0), 0);
}

/* ends[0]: behind the facts; ends[i]: behind block i of events; the last: of the file */
static struct bytes small_recording(size_t ends[BLOCKS + 2])
{
	struct maker m;
	struct bytes b;

	maker_new(&m, 0);
	ends[0] = m.out.end;
	for (unsigned i = 1; i <= BLOCKS; i++) {
		put_events(&m, EVENTS);
		ends[i] = m.out.end;
	}
	put_end(&m);
	b = bytes_of(m.fd);
	ends[BLOCKS + 1] = b.n;
	maker_done(&m);
	return b;
}

/* ---- cut and damaged ---- */

/* Cut anywhere: the blocks that are whole, and word of what is missing. */
static void test_cut(void **state)
{
	size_t ends[BLOCKS + 2];
	struct bytes b = small_recording(ends);

	for (size_t n = 0; n <= b.n; n++) {
		struct result res = { 0 };
		int err = read_bytes(b.v, n, &res);
		size_t whole = 0;

		if (n < KMT_FILE_HEAD) {
			assert_int_equal(err, -EINVAL);
			assert_null(strchr(kmt_err_text(), '\n'));
			continue;
		}
		assert_int_equal(err, -ENODATA);
		while (whole < BLOCKS && n >= ends[whole + 1])
			whole++;
		assert_int_equal(res.events, whole * EVENTS);
		assert_int_equal(res.lost[KMT_LOSS_RING], whole);
		assert_int_equal(res.lost_unknown > 0, n < b.n);
		assert_int_equal(res.quality.lost_unknown, n < b.n);
		assert_int_equal(res.quality.lost[KMT_LOSS_INPUT], res.lost_unknown);
		/* a piece of a block and the missing end are one thing each */
		assert_in_range(res.lost_unknown, 0, 2);
	}
	free(b.v);
}

/*
 * One bit of one byte anywhere: the block that has it is passed over, and only
 * that one. The head of the file refuses, or says nothing that matters.
 */
static void test_flip(void **state)
{
	size_t ends[BLOCKS + 2];
	struct bytes b = small_recording(ends);

	for (size_t i = 0; i < b.n; i++) {
		struct result res = { 0 };
		bool is_event = i >= ends[0] && i < ends[BLOCKS];
		int err;

		b.v[i] ^= 1u << i % 8;
		err = read_bytes(b.v, b.n, &res);
		b.v[i] ^= 1u << i % 8;
		if (i < 12) {
			assert_int_equal(err, -EINVAL);
			continue;
		}
		assert_int_equal(err, -ENODATA);
		assert_int_equal(res.events, (BLOCKS - is_event) * EVENTS);
		if (i >= KMT_FILE_HEAD)
			assert_true(res.lost_unknown && res.quality.lost_unknown);
	}
	free(b.v);
}

/* A hole in the middle, and rubbish in front of a block. */
static void test_hole(void **state)
{
	size_t ends[BLOCKS + 2];
	struct bytes b = small_recording(ends);
	uint8_t *v = calloc(2, b.n);
	struct result res = { 0 };
	size_t hole = ends[2] - ends[1];

	assert_non_null(v);
	memcpy(v, b.v, ends[1]);
	memcpy(v + ends[1], b.v + ends[2], b.n - ends[2]);
	assert_int_equal(read_bytes(v, b.n - hole, &res), -ENODATA);
	assert_int_equal(res.events, 3 * EVENTS);
	assert_int_equal(res.lost_unknown, 1);

	memcpy(v, b.v, ends[2]);
	memcpy(v + ends[2], "KMTBKMTBKMTBKMTBKMTBKMTBKMTBKMTBKMTBKMTB", 40);
	memcpy(v + ends[2] + 40, b.v + ends[2], b.n - ends[2]);
	res = (struct result){ 0 };
	assert_int_equal(read_bytes(v, b.n + 40, &res), -ENODATA);
	assert_int_equal(res.events, 4 * EVENTS);
	assert_int_equal(res.lost_unknown, 1);

	/* a block that comes twice is one */
	memcpy(v, b.v, ends[1]);
	memcpy(v + ends[1], b.v + ends[0], ends[1] - ends[0]);
	memcpy(v + 2 * ends[1] - ends[0], b.v + ends[1], b.n - ends[1]);
	res = (struct result){ 0 };
	assert_int_equal(read_bytes(v, b.n + ends[1] - ends[0], &res), -ENODATA);
	assert_int_equal(res.events, 4 * EVENTS);
	free(v);
	free(b.v);
}

/* Blocks of a type that a later version may have are no loss. */
static void test_unknown_type(void **state)
{
	struct result res = { 0 };
	struct maker m;
	struct bytes b;

	maker_new(&m, 0);
	put_events(&m, EVENTS);
	assert_int_equal(kmt_block_out_put(&m.out, 999, 77, "what?", 5, 6), 0);
	put_events(&m, EVENTS);
	put_end(&m);
	b = bytes_of(m.fd);
	assert_int_equal(read_bytes(b.v, b.n, &res), -ENODATA);
	assert_int_equal(res.events, 2 * EVENTS);
	assert_int_equal(res.lost_unknown, 0);
	assert_int_equal(res.quality.own, 5);
	free(b.v);
	maker_done(&m);
}

/* ---- no recordings ---- */

static void refuse(const void *v, size_t n, const char *why)
{
	struct result res = { 0 };

	assert_int_equal(read_bytes(v, n, &res), -EINVAL);
	assert_non_null(strstr(kmt_err_text(), "'/proc/self/fd/"));
	if (!strstr(kmt_err_text(), why))
		fail_msg("'%s' is not in '%s'", why, kmt_err_text());
}

static void test_no_recording(void **state)
{
	uint8_t head[16] = "KMTRACE\n\2\0\0";
	struct result res = { 0 };

	refuse("", 0, "ends at byte 0");
	refuse("KMTRACE\n", 8, "ends at byte 8");
	refuse("KMTRACE\r\1\0\0\0\0\0\0\0", 16, "byte 0: no kmemtrace recording");
	refuse(head, 16, "byte 8: format version 2; this kmemtrace reads up to 1");
	memcpy(head + 8, "\0\0\0\1", 4);
	refuse(head, 16, "byte 8: wrong byte order");
	memcpy(head + 8, "\0\0\0\0", 4);
	refuse(head, 16, "byte 8: format version 0");
	assert_int_equal(read_recording("/", NULL, &res), -EISDIR);
	assert_non_null(strstr(kmt_err_text(), "'/': "));
	assert_int_equal(read_recording("/does/not/exist", NULL, &res), -ENOENT);
}

/* Heads that claim anything: read in bounded time and memory, as a gap. */
static void test_absurd(void **state)
{
	const size_t n = 4u << 20;
	uint8_t *v = calloc(1, n);
	struct result res = { 0 };

	assert_non_null(v);
	memcpy(v, "KMTRACE\n\1\0\0\0\0\0\0", 16);
	for (size_t i = 16; i + 32 <= n; i += 32) {
		/* each says it is 1 MiB long */
		memcpy(v + i, "KMTB\6\0\2\0\0\0\x10\0\0\0\x10\0\1", 17);
	}
	assert_int_equal(read_bytes(v, n, &res), -ENODATA);
	assert_int_equal(res.events, 0);
	assert_in_range(res.lost_unknown, 1, 2);
	memset(v + 16, 0xff, n - 16);
	res = (struct result){ 0 };
	assert_int_equal(read_bytes(v, n, &res), -ENODATA);
	assert_in_range(res.lost_unknown, 1, 2);
	free(v);
}

/* Good checksums over any content: the columns are checked, nothing is believed. */
static void test_forged(void **state)
{
	const size_t from = KMT_FILE_HEAD + KMT_BLOCK_HEAD + 12;	/* behind META */
	uint64_t seed = 7;
	struct maker m;
	struct bytes b;
	uint8_t *v;

	maker_new(&m, 0);
	put_events(&m, EVENTS);
	b = bytes_of(m.fd);
	v = malloc(b.n);
	assert_non_null(v);
	for (int round = 0; round < 2000; round++) {
		struct result res = { 0 };
		struct kmt_block head;

		memcpy(v, b.v, b.n);
		assert_int_equal(kmt_block_parse(v + from, &head), 0);
		for (int k = 0; k < 4; k++)
			v[from + KMT_BLOCK_HEAD + below(&seed, head.stored_len)] =
				(uint8_t)odd_number(&seed);
		if (!below(&seed, 9))
			head.raw_len = (uint32_t)below(&seed, 4000);
		kmt_block_seal(&head, v + from);
		assert_int_equal(read_bytes(v, b.n, &res), -ENODATA);
		assert_in_range(res.events, 0, 65536);
	}
	free(v);
	free(b.v);
	maker_done(&m);
}

/* ---- pipes ---- */

static void test_pipe(void **state)
{
	size_t ends[BLOCKS + 2];
	struct bytes b = small_recording(ends);
	struct result res = { 0 };
	int ends_of[2];
	char path[64];
	pid_t pid;

	assert_int_equal(pipe(ends_of), 0);
	pid = fork();
	if (!pid) {
		close(ends_of[0]);
		for (size_t i = 0; i < b.n; i++) {
			if (write(ends_of[1], b.v + i, 1) != 1)
				_exit(1);
			if (i % 500 == 0)
				usleep(1000);
		}
		_exit(0);
	}
	close(ends_of[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends_of[0]);
	assert_int_equal(read_recording(path, NULL, &res), -ENODATA);
	assert_int_equal(res.events, BLOCKS * EVENTS);
	assert_int_equal(res.lost_unknown, 0);
	close(ends_of[0]);
	waitpid(pid, NULL, 0);
	free(b.v);
}

/* Written into a pipe: the same bytes as into a file. */
static void test_write_pipe(void **state)
{
	int ends[2];
	struct kmt_writer_opts opts = { .name = "pipe", .source = "bpf" };
	const struct kmt_event ev = { .addr = 1 };
	static const struct kmt_quality none;
	struct kmt_writer *w;
	struct kmt_sink sink;
	uint8_t v[8192];
	struct result res = { 0 };
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	opts.fd = ends[1];
	assert_int_equal(kmt_writer_new(&opts, &w), 0);
	sink = kmt_writer_sink(w);
	assert_int_equal(sink.event(sink.ctx, &ev), 0);
	assert_int_equal(kmt_writer_end(w, NULL, &none), 0);
	n = read(ends[0], v, sizeof(v));
	assert_int_equal(n, kmt_writer_bytes(w));
	assert_int_equal(read_bytes(v, (size_t)n, &res), -ENODATA);
	assert_int_equal(res.events, 1);
	assert_int_equal(res.lost_unknown, 0);
	kmt_writer_free(w);
	close(ends[0]);
	close(ends[1]);
}

/* ---- rings ---- */

/* Addresses of the events, which must be without a hole. */
struct run {
	uint64_t first, last, events;
	bool has_hole;
	struct result res;
};

static int run_event(void *ctx, const struct kmt_event *ev)
{
	struct run *r = ctx;

	if (!r->events++)
		r->first = ev->addr;
	else if (ev->addr != r->last + 1)
		r->has_hole = true;
	r->last = ev->addr;
	return 0;
}

static int run_lost(void *ctx, const struct kmt_lost *lost)
{
	struct run *r = ctx;

	return result_lost(&r->res, lost);
}

static int read_run(int fd, struct run *r)
{
	const struct kmt_sink sink = { .event = run_event, .lost = run_lost, .ctx = r };
	struct kmt_source_opts opts = { 0 };
	struct kmt_source *src;
	char path[64];
	int n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opts.path = path;
	*r = (struct run){ 0 };
	n = kmt_source_kmt_file.open(&opts, &src);
	if (n)
		return n;
	while ((n = kmt_source_kmt_file.poll(src, &sink, 0)) >= 0)
		;
	kmt_source_kmt_file.quality(src, &r->res.quality);
	kmt_source_kmt_file.close(src);
	return n;
}

/* After each block, and with each block torn: what opens is one piece up to now. */
static void test_ring(void **state)
{
	const uint64_t ring = 6000;
	struct maker m;
	struct run r;
	uint64_t most = 0;

	maker_new(&m, ring);
	for (unsigned i = 1; i <= 60; i++) {
		uint64_t before = m.next, pos;
		uint8_t rubbish[64];

		put_events(&m, EVENTS + i % 7);
		assert_true(m.out.end <= ring + 200);
		assert_int_equal(read_run(m.fd, &r), -ENODATA);
		assert_false(r.has_hole);
		assert_int_equal(r.last, m.next - 1);
		assert_true(r.first == 1 || r.events >= 3 * EVENTS);
		/* the beginning is missing, and the end mark */
		assert_int_equal(r.res.lost_unknown, 1 + (r.first > 1));
		assert_int_equal(r.res.quality.lost[KMT_LOSS_BEGINNING], r.first > 1);
		assert_int_equal(r.res.quality.lost[KMT_LOSS_INPUT], 1);
		assert_true(r.res.quality.lost_unknown);
		most = r.events > most ? r.events : most;

		/* killed while the next block was written: 64 bytes of it are there */
		pos = m.out.pos;
		if (pos + 64 <= m.out.end) {
			memset(rubbish, 0x55, sizeof(rubbish));
			assert_int_equal(pwrite(m.fd, rubbish, 64, (off_t)pos), 64);
			assert_int_equal(read_run(m.fd, &r), -ENODATA);
			assert_false(r.has_hole);
			assert_int_equal(r.last, m.next - 1);
			assert_true(r.events >= 2 * EVENTS);
		}
		assert_true(before < m.next);
	}
	assert_true(r.first > 1);
	put_end(&m);
	assert_int_equal(read_run(m.fd, &r), -ENODATA);
	assert_false(r.has_hole);
	assert_int_equal(r.last, m.next - 1);
	assert_int_equal(r.res.lost_unknown, 1);
	assert_int_equal(r.res.quality.lost[KMT_LOSS_BEGINNING], 1);
	assert_int_equal(r.res.quality.lost[KMT_LOSS_INPUT], 0);
	assert_int_equal(r.res.quality.own, 5);
	maker_done(&m);
}

/* The same through the writer, many times round; facts in front are never touched. */
static void test_ring_writer(void **state)
{
	const struct kmt_facts facts = { .kernel = "6.18.0-ring" };
	struct kmt_writer_opts opts = { .source = "bpf", .facts = &facts, .ring_bytes = 300000 };
	struct recording rec;
	uint64_t seed = 1;
	struct run r;

	assert_int_equal(recording_new(&rec, opts), 0);
	for (uint64_t i = 1; i <= 1000000; i++) {
		const struct kmt_event ev = {
			.addr = i, .ts_ns = odd_number(&seed), .has_time = true,
			.bytes_alloc = below(&seed, 50),
		};

		assert_int_equal(rec.sink.event(rec.sink.ctx, &ev), 0);
		if (i % 99999 == 0) {
			assert_true(kmt_writer_bytes(rec.w) < 310000);
			assert_int_equal(read_run(rec.fd, &r), -ENODATA);
			assert_false(r.has_hole);
		}
	}
	recording_end(&rec, NULL, NULL);
	assert_int_equal(read_run(rec.fd, &r), -ENODATA);
	assert_false(r.has_hole);
	assert_int_equal(r.last, 1000000);
	assert_true(r.first > 800000);
	assert_true(r.events > 5000);
	assert_string_equal(r.res.quality.kernel, "6.18.0-ring");
	assert_int_equal(r.res.lost_unknown, 1);
	recording_done(&rec);
}

/* A ring that never came round has all. */
static void test_ring_unused(void **state)
{
	struct maker m;
	struct run r;

	maker_new(&m, 1 << 20);
	put_events(&m, EVENTS);
	put_events(&m, EVENTS);
	put_end(&m);
	assert_int_equal(read_run(m.fd, &r), -ENODATA);
	assert_int_equal(r.first, 1);
	assert_int_equal(r.events, 2 * EVENTS);
	assert_int_equal(r.res.lost_unknown, 0);
	maker_done(&m);
}

/* ---- limits ---- */

static void test_max_bytes(void **state)
{
	for (uint64_t max = 50000; max < 1000000; max += 77777) {
		struct kmt_writer_opts opts = { .source = "bpf", .max_bytes = max };
		struct recording rec;
		uint64_t seed = 1, n = 0;
		struct run r;
		int err = 0;

		assert_int_equal(recording_new(&rec, opts), 0);
		while (!err) {
			const struct kmt_event ev = {
				.addr = n + 1, .ts_ns = random64(&seed),
				.bytes_alloc = below(&seed, 50), .has_time = true,
			};

			err = rec.sink.event(rec.sink.ctx, &ev);
			n += !err;
			assert_true(kmt_writer_bytes(rec.w) <= max);
		}
		assert_int_equal(err, -EFBIG);
		assert_non_null(strstr(kmt_err_text(), "'test.kmt'"));
		recording_end(&rec, NULL, NULL);
		assert_true(lseek(rec.fd, 0, SEEK_END) <= (off_t)max);
		assert_true(lseek(rec.fd, 0, SEEK_END) > (off_t)max - 45000);
		/* each event that was taken is there */
		assert_int_equal(read_run(rec.fd, &r), -ENODATA);
		assert_false(r.has_hole);
		assert_int_equal(r.events, n);
		assert_int_equal(r.res.lost_unknown, 0);
		recording_done(&rec);
	}
}

/* A full disk, as the kernel tells it when a file may not grow: cut back to whole blocks. */
static void test_no_space(void **state)
{
	const struct rlimit small = { 200001, RLIM_INFINITY };
	struct rlimit before;
	const struct kmt_writer_opts opts = { .source = "bpf" };
	static const struct kmt_quality none;
	struct recording rec;
	uint64_t seed = 1, n = 0;
	struct run r;
	off_t size;
	int err = 0;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(recording_new(&rec, opts), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ small.rlim_cur,
							       before.rlim_max }), 0);
	while (!err) {
		const struct kmt_event ev = { .addr = ++n, .ts_ns = random64(&seed) };

		err = rec.sink.event(rec.sink.ctx, &ev);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(err, -EIO);	/* -EFBIG is max_bytes */
	assert_non_null(strstr(kmt_err_text(), "cannot write to 'test.kmt': File too large"));
	size = lseek(rec.fd, 0, SEEK_END);
	assert_int_equal(size, kmt_writer_bytes(rec.w));
	assert_true(size < 200001);
	/* the same error from everything that comes after */
	assert_int_equal(kmt_writer_end(rec.w, NULL, &none), -EIO);
	assert_int_equal(lseek(rec.fd, 0, SEEK_END), size);
	assert_int_equal(read_run(rec.fd, &r), -ENODATA);
	assert_false(r.has_hole);
	assert_int_equal(r.res.lost_unknown, 1);	/* only the end is missing */
	recording_done(&rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_flip),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_unknown_type),
		cmocka_unit_test(test_no_recording),
		cmocka_unit_test(test_absurd),
		cmocka_unit_test(test_forged),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_write_pipe),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_ring_writer),
		cmocka_unit_test(test_ring_unused),
		cmocka_unit_test(test_max_bytes),
		cmocka_unit_test(test_no_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
