/* SPDX-License-Identifier: GPL-2.0-only */
/* The traced command, and the signals that end a run. */
#ifndef KMT_CMD_CHILD_H
#define KMT_CMD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct kmt_run {
	int signal_fd;		/* SIGINT, SIGTERM, SIGCHLD arrive here */
	int go_fd, back_fd;	/* "go" to the child, its exec error back */
	pid_t pid;		/* 0 = no command */
	bool started, ended;
	bool goes_on;		/* the run does not end with the command */
	int wait_status;
	int signal;		/* that asked us to stop, 0 = none */
};

#define KMT_RUN_NONE { .signal_fd = -1, .go_fd = -1, .back_fd = -1 }

/* Block the signals; fork the command if argv is not NULL: it waits for kmt_run_go(). */
int kmt_run_init(struct kmt_run *r, char **argv);
/* The same where the terminal is ours: the command reads and writes /dev/null. */
int kmt_run_init_quiet(struct kmt_run *r, char **argv);
/* Let the command run; -ENOENT and the like when it cannot be executed. */
int kmt_run_go(struct kmt_run *r);
/* Look at pending signals; true when the run should end. Never waits. */
bool kmt_run_over(struct kmt_run *r);
/* End the command if it still runs, collect it, give the signals back; may be called again. */
void kmt_run_done(struct kmt_run *r);
/*
 * While a file is opened, which on a fifo waits for whoever has its other end, a
 * signal must end us: there is nothing yet to be tidied up. What was blocked before
 * goes to kmt_run_deaf() again.
 */
void kmt_run_mortal(sigset_t *ret_before);
void kmt_run_deaf(const sigset_t *before);
/* What the command's end means for our exit status: its own, or 128 + signal. */
int kmt_run_status(const struct kmt_run *r);

#endif
