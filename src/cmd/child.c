// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGCHLD);
}

static void turn_away(void)
{
	int fd = open("/dev/null", O_RDWR);

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (fd < 0 || dup2(fd, i) < 0)
			_exit(126);	/* better not at all than across the screen */
	if (fd > STDERR_FILENO)
		close(fd);
}

/* In the child: wait for the word, then become the command; a failure goes back as an errno. */
static void __attribute__((noreturn)) become(char **argv, bool quiet, int go, int back)
{
	sigset_t set;
	char c;
	int err;

	signal_set(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (quiet)
		turn_away();
	if (read(go, &c, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	err = errno;
	if (write(back, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int init(struct kmt_run *r, char **argv, bool quiet)
{
	sigset_t set;
	int go[2], back[2];

	*r = (struct kmt_run)KMT_RUN_NONE;
	signal_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (r->signal_fd < 0)
		return kmt_err_errno(-errno, "signalfd");
	if (!argv)
		return 0;
	if (pipe2(go, O_CLOEXEC))
		return kmt_err_errno(-errno, "pipe");
	if (pipe2(back, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return kmt_err_errno(-errno, "pipe");
	}
	r->pid = fork();
	if (r->pid == 0) {
		close(go[1]);
		close(back[0]);
		become(argv, quiet, go[0], back[1]);
	}
	close(go[0]);
	close(back[1]);
	if (r->pid < 0) {
		r->pid = 0;
		close(go[1]);
		close(back[0]);
		return kmt_err_errno(-errno, "cannot fork");
	}
	r->go_fd = go[1];
	r->back_fd = back[0];
	return 0;
}

int kmt_run_init(struct kmt_run *r, char **argv)
{
	return init(r, argv, false);
}

int kmt_run_init_quiet(struct kmt_run *r, char **argv)
{
	return init(r, argv, true);
}

int kmt_run_go(struct kmt_run *r)
{
	int err = 0;
	ssize_t n;

	if (!r->pid)
		return 0;
	if (write(r->go_fd, "g", 1) != 1)
		return kmt_err_errno(-errno, "cannot start the command");
	do
		n = read(r->back_fd, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	r->started = n == 0;
	return n > 0 ? -err : 0;
}

static void collect(struct kmt_run *r, int flags)
{
	if (r->pid && !r->ended && waitpid(r->pid, &r->wait_status, flags) == r->pid)
		r->ended = true;
}

bool kmt_run_over(struct kmt_run *r)
{
	struct signalfd_siginfo si;

	while (read(r->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD) {
			collect(r, WNOHANG);
			continue;
		}
		/* a terminal's ^C reaches the command by itself; a kill of us does not */
		if (r->pid && !r->ended && si.ssi_code != SI_KERNEL)
			kill(r->pid, si.ssi_signo);
		r->signal = si.ssi_signo;
	}
	return r->signal || (r->pid && r->ended && !r->goes_on);
}

void kmt_run_done(struct kmt_run *r)
{
	sigset_t set;

	if (r->signal_fd < 0)
		return;
	if (r->go_fd >= 0)
		close(r->go_fd);
	if (r->back_fd >= 0)
		close(r->back_fd);
	close(r->signal_fd);
	r->signal_fd = r->go_fd = r->back_fd = -1;
	/* before we wait: a second ^C must end us even if the command ignores the first */
	signal_set(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (r->pid && !r->ended) {
		if (r->started && !r->signal)
			kill(r->pid, SIGTERM);
		collect(r, 0);
	}
}

void kmt_run_mortal(sigset_t *ret_before)
{
	sigset_t set;

	signal_set(&set);
	sigprocmask(SIG_UNBLOCK, &set, ret_before);
}

void kmt_run_deaf(const sigset_t *before)
{
	sigprocmask(SIG_SETMASK, before, NULL);
}

int kmt_run_status(const struct kmt_run *r)
{
	if (!r->pid || !r->ended)
		return 0;
	return WIFEXITED(r->wait_status) ? WEXITSTATUS(r->wait_status) :
	       128 + WTERMSIG(r->wait_status);
}
