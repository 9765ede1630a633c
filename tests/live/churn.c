// SPDX-License-Identifier: GPL-2.0-only
/*
 * N of something made and given up again: pipes, which are all held at once, or
 * processes, which end one after the other.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include "load.h"

#define USAGE "usage: churn pipes|forks N"

static void pipes(long n)
{
	struct rlimit lim = { .rlim_cur = (rlim_t)n * 2 + 1024,
			      .rlim_max = (rlim_t)n * 2 + 1024 };
	/* some may be open already */
	int *fds = calloc((size_t)n * 2, sizeof(*fds));

	if (!fds || setrlimit(RLIMIT_NOFILE, &lim))
		die("no room for %ld pipes: %s", n, strerror(errno));
	for (long i = 0; i < n; i++)
		if (pipe(fds + i * 2))
			die("pipe: %s", strerror(errno));
	for (long i = 0; i < n * 2; i++)
		close(fds[i]);
	free(fds);
}

static void forks(long n)
{
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid)
			_exit(0);
		if (waitpid(pid, NULL, 0) != pid)
			die("waitpid: %s", strerror(errno));
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		die(USAGE);
	long n = number(argv[2], 1, 100000);

	if (!strcmp(argv[1], "pipes"))
		pipes(n);
	else if (!strcmp(argv[1], "forks"))
		forks(n);
	else
		die(USAGE);
	return 0;
}
