// SPDX-License-Identifier: GPL-2.0-only
/* The traced command, the signals that end a run, and standard output that is read slowly. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

/* src/cmd is no part of the library */
#include "cmd/child.c"
#include "cmd/output.c"

/* Wait until the run is over; the time limit only ends a test that hangs. */
static void wait_over(struct kmt_run *r)
{
	for (int i = 0; i < 600; i++) {
		struct pollfd p = { .fd = r->signal_fd, .events = POLLIN };

		if (kmt_run_over(r))
			return;
		poll(&p, 1, 100);
	}
	fail_msg("the run does not end");
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool is_blocked(int sig)
{
	sigset_t set;

	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &set), 0);
	return sigismember(&set, sig);
}

/* Runs sh -c TEXT to its end; its exit status as the tool passes it on. */
static int run_sh(const char *text)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)text, NULL };
	struct kmt_run r;
	int status;

	assert_int_equal(kmt_run_init(&r, argv), 0);
	assert_int_equal(kmt_run_go(&r), 0);
	assert_true(r.started);
	wait_over(&r);
	assert_true(r.ended);
	assert_int_equal(r.signal, 0);
	status = kmt_run_status(&r);
	kmt_run_done(&r);
	kmt_run_done(&r);
	return status;
}

static void test_status(void **state)
{
	int before = open_fds();

	assert_int_equal(run_sh("exit 0"), 0);
	assert_int_equal(run_sh("exit 7"), 7);
	assert_int_equal(run_sh("exit 255"), 255);
	assert_int_equal(run_sh("kill -KILL $$"), 128 + SIGKILL);
	assert_int_equal(run_sh("kill -TERM $$"), 128 + SIGTERM);
	assert_int_equal(open_fds(), before);
	assert_false(is_blocked(SIGINT));
	assert_false(is_blocked(SIGCHLD));
}

static void test_no_command(void **state)
{
	struct kmt_run r;
	int before = open_fds();

	assert_int_equal(kmt_run_init(&r, NULL), 0);
	assert_true(is_blocked(SIGINT));
	assert_int_equal(kmt_run_go(&r), 0);
	assert_false(kmt_run_over(&r));
	assert_int_equal(kmt_run_status(&r), 0);
	kmt_run_done(&r);
	assert_false(is_blocked(SIGINT));
	assert_int_equal(open_fds(), before);
}

static void test_cannot_execute(void **state)
{
	char *missing[] = { (char *)"/no/such/command", NULL };
	char *forbidden[] = { (char *)"/etc/passwd", NULL };
	char *directory[] = { (char *)"/tmp", NULL };
	struct kmt_run r;
	int before = open_fds();

	assert_int_equal(kmt_run_init(&r, missing), 0);
	assert_int_equal(kmt_run_go(&r), -ENOENT);
	assert_false(r.started);
	kmt_run_done(&r);
	assert_int_equal(kmt_run_init(&r, forbidden), 0);
	assert_int_equal(kmt_run_go(&r), -EACCES);
	kmt_run_done(&r);
	assert_int_equal(kmt_run_init(&r, directory), 0);
	assert_int_equal(kmt_run_go(&r), -EACCES);
	kmt_run_done(&r);
	assert_int_equal(open_fds(), before);
}

/* Nothing of the command runs before it is let go, nor if it never is. */
static void test_waits_for_the_word(void **state)
{
	char path[] = "/tmp/kmt-child-XXXXXX", text[64];
	char *argv[] = { (char *)"sh", (char *)"-c", text, NULL };
	struct kmt_run r;

	close(mkstemp(path));
	unlink(path);
	snprintf(text, sizeof(text), ": >%s", path);
	assert_int_equal(kmt_run_init(&r, argv), 0);
	assert_int_equal(access(path, F_OK), -1);
	kmt_run_done(&r);		/* given up before the start */
	assert_true(r.ended);
	assert_int_equal(access(path, F_OK), -1);

	assert_int_equal(kmt_run_init(&r, argv), 0);
	assert_int_equal(kmt_run_go(&r), 0);
	wait_over(&r);
	assert_int_equal(access(path, F_OK), 0);
	kmt_run_done(&r);
	unlink(path);
}

/* The command has the usual signals, not ours: neither blocked nor ignored. */
static void test_signals_of_the_command(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(run_sh("grep -q 'SigBlk:.0*$' /proc/self/status"), 0);
	assert_int_equal(run_sh("kill -PIPE $$; exit 1"), 128 + SIGPIPE);
	assert_int_equal(run_sh("kill -INT $$; exit 1"), 128 + SIGINT);
	signal(SIGPIPE, SIG_DFL);
}

/* A signal to us ends the run and reaches the command. */
static void test_signal_is_passed_on(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		char *argv[] = { (char *)"sleep", (char *)"1000", NULL };
		struct kmt_run r;

		assert_int_equal(kmt_run_init(&r, argv), 0);
		assert_int_equal(kmt_run_go(&r), 0);
		assert_false(kmt_run_over(&r));
		assert_int_equal(kill(getpid(), signals[i]), 0);
		wait_over(&r);
		assert_int_equal(r.signal, signals[i]);
		kmt_run_done(&r);
		assert_true(r.ended);
		assert_int_equal(kmt_run_status(&r), 128 + signals[i]);
	}
}

/* We are done, the command is not: it is ended, and collected. */
static void test_done_ends_the_command(void **state)
{
	char *argv[] = { (char *)"sleep", (char *)"1000", NULL };
	struct kmt_run r;

	assert_int_equal(kmt_run_init(&r, argv), 0);
	assert_int_equal(kmt_run_go(&r), 0);
	kmt_run_done(&r);
	assert_true(r.ended);
	assert_int_equal(kill(r.pid, 0), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(kmt_run_status(&r), 128 + SIGTERM);
}

static void test_signal_without_command(void **state)
{
	struct kmt_run r;

	assert_int_equal(kmt_run_init(&r, NULL), 0);
	kill(getpid(), SIGINT);
	assert_true(kmt_run_over(&r));
	assert_int_equal(r.signal, SIGINT);
	kmt_run_done(&r);
}

/* ---- output ---- */

struct pipe_out {
	struct kmt_run run;
	struct kmt_output out;
	int fd[2];
};

static void pipe_setup(struct pipe_out *p)
{
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(kmt_run_init(&p->run, NULL), 0);
	assert_int_equal(pipe(p->fd), 0);
	kmt_output_init(&p->out, p->fd[1], &p->run);
}

static void pipe_teardown(struct pipe_out *p)
{
	kmt_output_done(&p->out);
	kmt_run_done(&p->run);
	for (int i = 0; i < 2; i++)
		if (p->fd[i] >= 0)
			close(p->fd[i]);
	signal(SIGPIPE, SIG_DFL);
}

static void add_text(struct kmt_output *out, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		char c = 'a' + (seed + i) % 26;

		kmt_buf_add(&out->buf, &c, 1);
	}
}

/* A child that reads everything, in sips, and says whether it was right. */
static pid_t slow_reader(struct pipe_out *p, size_t want)
{
	pid_t pid = fork();

	if (!pid) {
		size_t n = 0;
		char buf[333];
		ssize_t got;

		close(p->fd[1]);
		while ((got = read(p->fd[0], buf, sizeof(buf))) > 0)
			for (ssize_t i = 0; i < got; i++, n++)
				if (buf[i] != (char)('a' + n % 26))
					_exit(2);
		_exit(n == want ? 0 : 3);
	}
	close(p->fd[0]);
	p->fd[0] = -1;
	return pid;
}

static void test_slow_reader_gets_all(void **state)
{
	enum { LEN = 3000000 };
	struct pipe_out p;
	int status;
	pid_t pid;

	pipe_setup(&p);
	pid = slow_reader(&p, LEN);
	for (size_t at = 0; at < LEN; at += LEN / 10) {
		add_text(&p.out, LEN / 10, at);
		assert_int_equal(kmt_output_flush(&p.out), 0);
		assert_int_equal(p.out.buf.len, 0);
	}
	close(p.fd[1]);
	p.fd[1] = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	pipe_teardown(&p);
}

static void test_reader_gone(void **state)
{
	struct pipe_out p;

	pipe_setup(&p);
	close(p.fd[0]);
	p.fd[0] = -1;
	add_text(&p.out, 100, 0);
	assert_int_equal(kmt_output_flush(&p.out), -EPIPE);
	pipe_teardown(&p);
}

/* Nobody reads, the pipe is full: a signal ends the wait, the rest is dropped. */
static void test_signal_ends_the_wait(void **state)
{
	struct pipe_out p;

	pipe_setup(&p);
	add_text(&p.out, 1 << 20, 0);
	kill(getpid(), SIGTERM);
	assert_int_equal(kmt_output_flush(&p.out), -EINTR);
	assert_int_equal(p.run.signal, SIGTERM);
	assert_int_equal(p.out.buf.len, 0);
	pipe_teardown(&p);
}

/* A signal that came before does not keep the last words back from a reader who reads. */
static void test_flush_after_signal(void **state)
{
	struct pipe_out p;
	char buf[64];

	pipe_setup(&p);
	kill(getpid(), SIGINT);
	assert_true(kmt_run_over(&p.run));
	add_text(&p.out, 26, 0);
	assert_int_equal(kmt_output_flush(&p.out), 0);
	assert_int_equal(read(p.fd[0], buf, sizeof(buf)), 26);
	pipe_teardown(&p);
}

/* After it, too, a full pipe that nobody reads must not hold us for ever. */
static void test_second_flush_after_signal(void **state)
{
	struct pipe_out p;

	pipe_setup(&p);
	kill(getpid(), SIGINT);
	assert_true(kmt_run_over(&p.run));
	add_text(&p.out, 1 << 20, 0);
	assert_int_equal(kmt_output_flush(&p.out), -EINTR);
	pipe_teardown(&p);
}

static void test_file(void **state)
{
	enum { LEN = 2500000 };
	char path[] = "/tmp/kmt-output-XXXXXX";
	int fd = mkstemp(path);
	struct kmt_output out;
	struct kmt_run run;

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(kmt_run_init(&run, NULL), 0);
	kmt_output_init(&out, fd, &run);
	add_text(&out, LEN, 0);
	assert_int_equal(kmt_output_flush(&out), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), LEN);
	kmt_output_done(&out);
	kmt_run_done(&run);
	close(fd);
}

static void test_disk_full(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct kmt_output out;
	struct kmt_run run;

	if (fd < 0)
		skip();
	assert_int_equal(kmt_run_init(&run, NULL), 0);
	kmt_output_init(&out, fd, &run);
	add_text(&out, 10, 0);
	assert_int_equal(kmt_output_flush(&out), -ENOSPC);
	assert_non_null(strstr(kmt_err_text(), "standard output"));
	kmt_output_done(&out);
	kmt_run_done(&run);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_no_command),
		cmocka_unit_test(test_cannot_execute),
		cmocka_unit_test(test_waits_for_the_word),
		cmocka_unit_test(test_signals_of_the_command),
		cmocka_unit_test(test_signal_is_passed_on),
		cmocka_unit_test(test_done_ends_the_command),
		cmocka_unit_test(test_signal_without_command),
		cmocka_unit_test(test_slow_reader_gets_all),
		cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_signal_ends_the_wait),
		cmocka_unit_test(test_flush_after_signal),
		cmocka_unit_test(test_second_flush_after_signal),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_disk_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
