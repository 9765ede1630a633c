// SPDX-License-Identifier: GPL-2.0-only
/*
 * As many slab events as the machine gives, on every CPU, for a bounded time:
 * one worker pinned to each CPU forks a child and opens pipes and files in
 * turn. The number of turns of all workers goes to the phase file.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "load.h"

#define USAGE "usage: forkstorm [-t MS] [-j WORKERS] [-p PHASE_FILE]"
#define OPENS_PER_FORK 50

static void one_turn(void)
{
	pid_t pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < OPENS_PER_FORK; i++) {
		int p[2];
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		if (pipe(p))
			die("pipe: %s", strerror(errno));
		close(p[0]);
		close(p[1]);
	}
}

/* Never returns; dies with its parent. */
static void worker(int cpu, uint64_t until, unsigned long *turns)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(cpu);
	while (now_ns() < until) {
		one_turn();
		__atomic_fetch_add(turns, 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

/* The i-th CPU this process may run on, -1 if there are fewer: then not pinned. */
static int nth_cpu(long i)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set) && i-- == 0)
			return cpu;
	return -1;
}

int main(int argc, char **argv)
{
	long ms = 1000;
	long workers = sysconf(_SC_NPROCESSORS_ONLN);
	const char *phases = NULL;
	int c;

	while ((c = getopt(argc, argv, "t:j:p:h")) != -1) {
		switch (c) {
		case 't': ms = number(optarg, 1, 60000); break;
		case 'j': workers = number(optarg, 1, 1024); break;
		case 'p': phases = optarg; break;
		default: die(USAGE);
		}
	}
	if (optind != argc)
		die(USAGE);
	unsigned long *turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (turns == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	uint64_t until = now_ns() + (uint64_t)ms * 1000000u;
	for (long i = 0; i < workers; i++) {
		pid_t pid = fork();
		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid)
			worker(nth_cpu(i), until, turns);
	}
	int bad = 0;
	int status;
	while (wait(&status) > 0)
		bad |= status;
	phase(phases, "turns", (long)*turns);
	return bad != 0;
}
