// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracing directory mounted, on tracers that trace nothing: what the kernel makes
 * of it. It is served by a process of its own, which shares the tracers' counters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/fuse.h"
#include "control/tree.h"
#include "fake_control.h"

struct shared {
	struct fake fake;
	sem_t ready;
};

struct world {
	struct shared *shared;
	struct kmt_control_ops ops;
	struct kmt_tree *tree;
	struct fake_tracer *root;
	pid_t server;
	char dir[64];
};

static struct world *current;

static int make_noted(void *ctx, const char *name, void **ret_tracer)
{
	int err = fake_make(ctx, name, ret_tracer);

	if (!err && !*name)
		current->root = *ret_tracer;
	return err;
}

static void is_ready(void *ctx)
{
	struct world *w = ctx;

	sem_post(&w->shared->ready);
}

/* 0: all went well up to the end of the last tracer */
static int serve(struct world *w)
{
	struct kmt_fuse_opts opts = { .dir = w->dir, .ready = is_ready, .ctx = w };
	struct kmt_fuse *fuse = NULL;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = kmt_fuse_mount(w->tree, &opts, &fuse);
	if (err)
		is_ready(w);
	else
		err = kmt_fuse_serve(fuse);
	kmt_fuse_free(fuse);
	kmt_tree_free(w->tree);
	if (err)
		printf("server: %s\n", kmt_err_text());
	return err || w->shared->fake.n_tracers;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct kmt_tree_opts opts = { .close_wait_ms = 20000 };
	int err;

	current = w;
	snprintf(w->dir, sizeof(w->dir), "/tmp/kmt-test-fuse.XXXXXX");
	if (!mkdtemp(w->dir))
		return -1;
	w->shared = fake_shared(sizeof(*w->shared));
	w->ops = fake_ops(&w->shared->fake);
	w->ops.make = make_noted;
	opts.ops = &w->ops;
	sem_init(&w->shared->ready, 1, 0);
	err = kmt_tree_new(&opts, &w->tree);
	if (err)
		return err;
	fflush(stdout);
	w->server = fork();
	if (!w->server)
		exit(serve(w));
	while (sem_wait(&w->shared->ready))
		;
	*state = w;
	return 0;
}

/* As soon as the kernel has forgotten the files that were closed. */
static int unmount(struct world *w)
{
	for (int i = 0; i < 500; i++) {
		if (!umount2(w->dir, 0) || errno == EINVAL)
			return 0;
		usleep(10000);
	}
	return -EBUSY;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	int status = -1;

	/* a test that failed may have left files open: then the server does not end by itself */
	if (unmount(w)) {
		umount2(w->dir, MNT_DETACH);
		kill(w->server, SIGKILL);
	}
	waitpid(w->server, &status, 0);
	rmdir(w->dir);
	kmt_tree_free(w->tree);
	munmap(w->shared, sizeof(*w->shared));
	free(w);
	assert_int_equal(status, 0);
	return 0;
}

/* ---- helpers ---- */

static const char *at(struct world *w, const char *name, char path[static 200])
{
	snprintf(path, 200, "%s/%s", w->dir, name);
	return path;
}

static int open_at(struct world *w, const char *name, int flags)
{
	char path[200];

	return open(at(w, name, path), flags | O_CLOEXEC);
}

static int echo(struct world *w, const char *text, const char *name)
{
	int fd = open_at(w, name, O_WRONLY | O_TRUNC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

static void assert_cat(struct world *w, const char *name, const char *text)
{
	char is[4096];
	int fd = open_at(w, name, O_RDONLY);
	size_t len = 0;
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, is + len, sizeof(is) - 1 - len)) > 0)
		len += (size_t)n;
	assert_int_equal(n, 0);
	is[len] = '\0';
	close(fd);
	assert_string_equal(is, text);
}

/* ---- tests ---- */

static void test_files(void **state)
{
	struct world *w = *state;
	struct stat st;
	char path[200], c[4];
	int fd;

	assert_int_equal(stat(at(w, "trace", path), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(stat(w->dir, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0750);
	assert_int_equal(echo(w, "kmemtrace\n", "current_tracer"), 0);
	assert_cat(w, "current_tracer", "kmemtrace\n");
	assert_int_equal(echo(w, "x\n", "current_tracer"), -EINVAL);
	assert_int_equal(echo(w, "999999999\n", "buffer_size_kb"), -E2BIG);
	assert_int_equal(echo(w, "9\n", "object_table_kb"), -EBUSY);
	assert_int_equal(echo(w, "1 2\n", "set_event_pid"), 0);
	fd = open_at(w, "set_event_pid", O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "3\n", 2), 2);
	close(fd);
	assert_cat(w, "set_event_pid", "1\n2\n3\n");
	fake_events(w->root, 2);
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\nevent 0\nevent 1\n");
	fd = open_at(w, "trace", O_RDONLY);
	assert_int_equal(pread(fd, c, 4, 22), 4);	/* behind the two lines of the header */
	assert_memory_equal(c, "even", 4);
	close(fd);
	assert_int_equal(echo(w, "", "trace"), 0);
	assert_cat(w, "trace", "# tracer: kmemtrace\n#\n");
	/* what tracefs does not allow */
	assert_int_equal(open(at(w, "new", path), O_CREAT | O_WRONLY, 0600), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(unlink(at(w, "trace", path)), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(mkdir(at(w, "new", path), 0700), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(chmod(at(w, "trace", path), 0777), -1);
	assert_int_equal(errno, EPERM);
}

static unsigned count_entries(struct world *w, const char *name)
{
	char path[200];
	DIR *d = opendir(at(w, name, path));
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void test_directories(void **state)
{
	struct world *w = *state;
	char path[200], other[200];
	int fd;

	assert_int_equal(count_entries(w, ""), 20 + 2);
	assert_int_equal(count_entries(w, "options"), 7 + 2);
	assert_int_equal(count_entries(w, "instances"), 2);
	/* a file that was closed does not keep its instance, though the kernel tells late */
	for (int i = 0; i < 100; i++) {
		assert_int_equal(mkdir(at(w, "instances/web", path), 0700), 0);
		assert_cat(w, "instances/web/tracing_on", "1\n");
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdir(path, 0700), -1);
	assert_int_equal(errno, EEXIST);
	assert_int_equal(count_entries(w, "instances"), 3);
	assert_int_equal(w->shared->fake.n_tracers, 2);
	fd = open_at(w, "instances/web/trace_pipe", O_RDONLY);
	assert_int_equal(rmdir(path), -1);
	assert_int_equal(errno, EBUSY);
	close(fd);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(access(at(w, "instances/web/trace", other), F_OK), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(w->shared->fake.n_tracers, 1);
}

static void *events_later(void *arg)
{
	struct world *w = arg;

	usleep(150000);
	fake_events(w->root, 1);
	return NULL;
}

static void test_pipe(void **state)
{
	struct world *w = *state;
	int fd = open_at(w, "trace_pipe", O_RDONLY | O_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pthread_t later;
	char c[100];

	assert_int_equal(echo(w, "kmemtrace\n", "current_tracer"), 0);
	assert_int_equal(read(fd, c, sizeof(c)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(poll(&p, 1, 0), 0);
	pthread_create(&later, NULL, events_later, w);
	assert_int_equal(poll(&p, 1, 20000), 1);
	assert_int_equal(p.revents, POLLIN);
	assert_int_equal(read(fd, c, sizeof(c)), 8);
	assert_memory_equal(c, "event 0\n", 8);
	pthread_join(later, NULL);
	/* and without O_NONBLOCK the read itself waits */
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	pthread_create(&later, NULL, events_later, w);
	assert_int_equal(read(fd, c, sizeof(c)), 8);
	assert_memory_equal(c, "event 1\n", 8);
	pthread_join(later, NULL);
	assert_int_equal(lseek(fd, 0, SEEK_SET), -1);
	/* the end, as nothing traces */
	assert_int_equal(echo(w, "nop\n", "current_tracer"), 0);
	assert_int_equal(read(fd, c, sizeof(c)), 0);
	close(fd);
}

/* A reader that waits, in a process of its own; what ends it is a signal. */
static pid_t start_reader(struct world *w)
{
	pid_t pid = fork();
	char path[200], c[100];

	if (pid)
		return pid;
	signal(SIGTERM, SIG_DFL);
	_exit(read(open(at(w, "trace_pipe", path), O_RDONLY), c, sizeof(c)) < 0 ? 1 : 0);
}

/* More of them than the server has threads: others are answered as before. */
static void test_many_waiting(void **state)
{
	enum { N = 80 };
	struct world *w = *state;
	pid_t pids[N];
	int status;

	for (int i = 0; i < N; i++)
		pids[i] = start_reader(w);
	usleep(300000);
	assert_cat(w, "current_tracer", "nop\n");
	for (int i = 0; i < N; i++)
		assert_int_equal(kill(pids[i], i % 2 ? SIGTERM : SIGKILL), 0);
	for (int i = 0; i < N; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFSIGNALED(status));
	}
	assert_cat(w, "current_tracer", "nop\n");
}

/* Unmounted from outside: who waits is told the end, and the server ends. */
static void test_unmount(void **state)
{
	struct world *w = *state;
	pid_t pid;
	int status;

	/*
	 * The first close(2) makes the kernel learn that there is nothing to flush. If it
	 * were that of a process which is dying, it would be interrupted at once, and an
	 * interrupt that comes after the answer stays in libfuse (3.14) to its end.
	 */
	assert_cat(w, "current_tracer", "nop\n");
	pid = start_reader(w);
	usleep(200000);
	assert_int_equal(umount2(w->dir, 0), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(unmount(w), 0);
	assert_int_equal(access(w->dir, R_OK), 0);
	assert_int_equal(count_entries(w, ""), 2);
}

/* Unmounted before the server was told of each close: with ASan it shows what is kept. */
static void test_closed_late(void **state)
{
	enum { N = 200 };
	struct world *w = *state;
	int fds[2 * N];

	for (int i = 0; i < N; i++) {
		fds[i] = open_at(w, "trace", O_RDONLY);
		fds[N + i] = open_at(w, "options", O_RDONLY | O_DIRECTORY);
		assert_true(fds[i] >= 0 && fds[N + i] >= 0);
	}
	for (int i = 0; i < 2 * N; i++)
		close(fds[i]);
	assert_int_equal(unmount(w), 0);
}

/* ---- many at once ---- */

static void one_turn(struct world *w, unsigned *seed, int me)
{
	static const char *const files[] = { "trace", "current_tracer", "trace_options",
					     "trace_stat/call_site", "error_log", "overruns" };
	char path[200], name[40], buf[4096];
	int fd;

	switch (rand_r(seed) % 6) {
	case 0:
		echo(w, rand_r(seed) % 2 ? "kmemtrace\n" : "nop\n", "current_tracer");
		break;
	case 1:
		echo(w, rand_r(seed) % 2 ? "kmem_gfp\n" : "nonsense\n", "trace_options");
		break;
	case 2:
		snprintf(name, sizeof(name), "instances/i%d", me % 8);
		at(w, name, path);
		if (rand_r(seed) % 2)
			mkdir(path, 0700);
		else
			rmdir(path);
		break;
	case 3:
		fake_events(w->root, 3);
		fd = open_at(w, "trace_pipe", O_RDONLY | O_NONBLOCK);
		while (read(fd, buf, 1 + (size_t)rand_r(seed) % 4000) > 0)
			;
		close(fd);
		break;
	default:
		fd = open_at(w, files[(unsigned)rand_r(seed) % 6], O_RDONLY);
		while (read(fd, buf, sizeof(buf)) > 0)
			;
		close(fd);
	}
}

struct one_of_many {
	struct world *w;
	int me;
};

static void *many(void *arg)
{
	struct one_of_many *one = arg;
	unsigned seed = (unsigned)one->me;

	for (int i = 0; i < 60; i++)
		one_turn(one->w, &seed, one->me);
	return NULL;
}

static void test_many_at_once(void **state)
{
	enum { N = 50 };
	struct one_of_many one[N];
	struct world *w = *state;
	pthread_t threads[N];

	for (int i = 0; i < N; i++) {
		one[i] = (struct one_of_many){ w, i };
		assert_int_equal(pthread_create(&threads[i], NULL, many, &one[i]), 0);
	}
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	/* it still is in order: each event was taken, and each file can be used */
	assert_false(fake_pipe_ready(w->root));
	assert_int_equal(echo(w, "nop\n", "current_tracer"), 0);
	assert_cat(w, "current_tracer", "nop\n");
	assert_int_equal((unsigned)w->shared->fake.n_tracers, 1 + count_entries(w, "instances") - 2);
}

static void test_bad_mounts(void **state)
{
	struct kmt_fuse_opts opts = { .dir = "/nonexistent/kmt", .options = "nonsense" };
	struct fake fake = { 0 };
	struct kmt_control_ops ops = fake_ops(&fake);
	struct kmt_tree_opts tree_opts = { .ops = &ops };
	struct kmt_fuse *fuse = NULL;
	struct kmt_tree *tree;

	assert_int_equal(kmt_tree_new(&tree_opts, &tree), 0);
	assert_int_equal(kmt_fuse_mount(tree, &opts, &fuse), -EINVAL);
	assert_non_null(strstr(kmt_err_text(), "nonsense"));
	opts.options = NULL;
	assert_int_equal(kmt_fuse_mount(tree, &opts, &fuse), -EPERM);
	assert_non_null(strstr(kmt_err_text(), "/nonexistent/kmt"));
	kmt_tree_free(tree);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_files), TEST(test_directories), TEST(test_pipe),
		TEST(test_many_waiting), TEST(test_unmount), TEST(test_closed_late),
		TEST(test_many_at_once), cmocka_unit_test(test_bad_mounts),
	};

	if (geteuid() || access("/dev/fuse", R_OK | W_OK)) {
		printf("not root, or no /dev/fuse: not run\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
