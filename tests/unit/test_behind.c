// SPDX-License-Identifier: GPL-2.0-only
/* Writing in a thread: order, places, and every way in which the output can fail. */
#include "store.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "store/behind.h"

static uint8_t *block(size_t len, uint8_t value)
{
	uint8_t *p = malloc(len);

	assert_non_null(p);
	memset(p, value, len);
	return p;
}

static off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

static struct kmt_behind *start(int fd, bool has_places, size_t max)
{
	struct kmt_behind_opts o = { .fd = fd, .has_places = has_places, .max_waiting = max };
	struct kmt_behind *b = NULL;

	assert_int_equal(kmt_behind_new(&o, &b), 0);
	return b;
}

/* A thousand blocks one after the other, far more than may wait at once. */
static void test_order(void **state)
{
	int fd = memfd_create("behind", 0);
	struct kmt_behind *b = start(fd, false, 10000);
	uint8_t back[4096];
	off_t at = 0;

	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(kmt_behind_put(b, block(1 + i * 4, (uint8_t)i), 1 + i * 4,
						(uint64_t)at), 0);
		at += 1 + (off_t)i * 4;
	}
	assert_int_equal(kmt_behind_wait(b), 0);
	assert_int_equal(size_of(fd), at);
	for (unsigned i = 0, pos = 0; i < 1000; pos += 1 + i * 4, i++) {
		assert_int_equal(pread(fd, back, 1 + i * 4, pos), 1 + i * 4);
		for (unsigned k = 0; k < 1 + i * 4; k++)
			assert_int_equal(back[k], (uint8_t)i);
	}
	kmt_behind_free(b);
	close(fd);
}

/* What a ring does: over the old, and shorter in between. */
static void test_places(void **state)
{
	int fd = memfd_create("behind", 0);
	struct kmt_behind *b = start(fd, true, 10000);
	char back[8] = "";

	assert_int_equal(kmt_behind_put(b, block(6, 'a'), 6, 0), 0);
	assert_int_equal(kmt_behind_put(b, block(2, 'b'), 2, 1), 0);
	assert_int_equal(kmt_behind_cut(b, 4), 0);
	assert_int_equal(kmt_behind_put(b, block(1, 'c'), 1, 6), 0);
	assert_int_equal(kmt_behind_wait(b), 0);
	assert_int_equal(pread(fd, back, 8, 0), 7);
	assert_memory_equal(back, "abba\0\0c", 7);
	kmt_behind_free(b);
	close(fd);
}

/* A full disk: the file ends with its last whole block, and nothing follows. */
static void test_full(void **state)
{
	char path[] = "/tmp/test_behind.XXXXXX";
	struct rlimit was, limit;
	int fd = mkstemp(path);
	struct kmt_behind *b = start(fd, false, 1 << 20);

	assert_true(fd >= 0);
	unlink(path);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = (struct rlimit){ .rlim_cur = 10000, .rlim_max = was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (unsigned i = 0; i < 4; i++)
		kmt_behind_put(b, block(4000, 1), 4000, i * 4000);
	assert_int_equal(kmt_behind_wait(b), -EFBIG);
	assert_int_equal(kmt_behind_put(b, block(1, 1), 1, 0), -EFBIG);
	assert_int_equal(kmt_behind_wait(b), -EFBIG);
	kmt_behind_free(b);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(size_of(fd), 8000);
	close(fd);
}

static void test_writer_full(void **state)
{
	char path[] = "/tmp/test_behind.XXXXXX";
	struct kmt_writer_opts o = { .fd = mkstemp(path), .name = "full.kmt" };
	struct rlimit was, limit;
	uint64_t state64 = 1;
	struct full_event *f = calloc(1, sizeof(*f));
	struct result res = { 0 };
	struct kmt_writer *w;
	int err = 0;

	assert_non_null(f);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	limit = (struct rlimit){ .rlim_cur = 3000000, .rlim_max = was.rlim_max };
	for (unsigned behind = 0; behind < 2; behind++) {
		assert_int_equal(ftruncate(o.fd, 0), 0);
		assert_int_equal(lseek(o.fd, 0, SEEK_SET), 0);
		o.behind_bytes = behind ? 1 << 20 : 0;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_int_equal(kmt_writer_new(&o, &w), 0);
		for (unsigned i = 0; i < 1000000 && !err; i++) {
			random_event(&state64, true, f);
			f->ev.addr = random64(&state64);
			err = kmt_writer_sink(w).event(kmt_writer_sink(w).ctx, &f->ev);
		}
		assert_int_equal(err, -EIO);
		assert_non_null(strstr(kmt_err_text(), "cannot write to 'full.kmt': "));
		err = 0;
		kmt_writer_free(w);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
		memset(&res, 0, sizeof(res));
		assert_int_equal(read_recording(path, NULL, &res), -ENODATA);
		assert_true(res.events >= 65536);
		assert_int_equal(res.events % 65536, 0);
	}
	unlink(path);
	close(o.fd);
	free(f);
}

static bool in_hurry(void *ctx)
{
	*(unsigned *)ctx += 1;
	return true;
}

/* A reader that does not read: given up once somebody is in a hurry. */
static void test_stalled_pipe(void **state)
{
	unsigned asked = 0;
	int ends[2];
	struct kmt_behind_opts o = { .max_waiting = 1 << 20, .hurry = in_hurry, .ctx = &asked };
	struct kmt_behind *b;

	assert_int_equal(pipe(ends), 0);
	o.fd = ends[1];
	assert_int_equal(kmt_behind_new(&o, &b), 0);
	assert_int_equal(kmt_behind_put(b, block(300000, 1), 300000, 0), 0);
	assert_int_equal(kmt_behind_wait(b), -EPIPE);
	assert_true(asked >= 1);
	kmt_behind_free(b);
	/* the same without ever asking: free() does not wait for the reader either */
	b = start(ends[1], false, 1 << 20);
	assert_int_equal(kmt_behind_put(b, block(300000, 1), 300000, 0), 0);
	kmt_behind_free(b);
	close(ends[0]);
	close(ends[1]);
}

static void test_closed_pipe(void **state)
{
	struct kmt_behind *b;
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	b = start(ends[1], false, 1 << 20);
	kmt_behind_put(b, block(10, 1), 10, 0);
	assert_int_equal(kmt_behind_wait(b), -EPIPE);
	kmt_behind_free(b);
	close(ends[1]);
}

/* A pipe that is read slowly loses nothing and tears nothing. */
static void test_slow_pipe(void **state)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	struct kmt_behind *b;
	size_t got = 0;
	uint8_t back[5000];
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	b = start(ends[1], false, 1 << 20);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(kmt_behind_put(b, block(3000, (uint8_t)i), 3000, 0), 0);
	while (got < 300000) {
		ssize_t n = read(ends[0], back, sizeof(back));

		assert_true(n > 0);
		for (ssize_t k = 0; k < n; k++)
			assert_int_equal(back[k], (got + (size_t)k) / 3000);
		got += (size_t)n;
		nanosleep(&pause, NULL);
	}
	assert_int_equal(kmt_behind_wait(b), 0);
	kmt_behind_free(b);
	close(ends[0]);
	close(ends[1]);
}

/* A recording that begins later, written behind, says the same as any other. */
static void test_starts_later(void **state)
{
	const struct kmt_facts before = { .kernel = "not yet" };
	const struct kmt_facts facts = { .kernel = "6.1.0-test", .start_ns = 77, .n_cpus = 3 };
	struct full_event all[100];
	struct result res = { .expect = all };
	struct kmt_source_opts opts = { 0 };
	struct kmt_source *src;
	uint64_t state64 = 9;

	for (unsigned ring = 0; ring < 2; ring++) {
		struct recording r;

		assert_int_equal(recording_new(&r, (struct kmt_writer_opts){
			.source = "bpf", .facts = &before, .starts_later = true,
			.behind_bytes = 1 << 20, .ring_bytes = ring << 20 }), 0);
		assert_int_equal(kmt_writer_start(r.w, &facts), 0);
		for (unsigned i = 0; i < 100; i++) {
			random_event(&state64, false, &all[i]);
			assert_int_equal(r.sink.event(r.sink.ctx, &all[i].ev), 0);
		}
		recording_end(&r, NULL, NULL);
		res.events = 0;
		assert_int_equal(read_recording(r.path, NULL, &res), -ENODATA);
		assert_int_equal(res.events, 100);
		opts.path = r.path;
		assert_int_equal(kmt_source_kmt_file.open(&opts, &src), 0);
		assert_string_equal(kmt_source_kmt_file.facts(src)->kernel, "6.1.0-test");
		assert_int_equal(kmt_source_kmt_file.facts(src)->start_ns, 77);
		assert_int_equal(kmt_source_kmt_file.facts(src)->n_cpus, 3);
		kmt_source_kmt_file.close(src);
		recording_done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_writer_full),
		cmocka_unit_test(test_stalled_pipe),
		cmocka_unit_test(test_closed_pipe),
		cmocka_unit_test(test_slow_pipe),
		cmocka_unit_test(test_starts_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
