// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small allocation storm on one CPU, for measuring what a tracer costs. One
 * iteration makes about 80 slab events, always the same ones, without forks or
 * disk: every letter of -m once, in order.
 *
 *   f  open and close a file        6 events
 *   p  pipe                        18
 *   s  AF_UNIX socket pair         26
 *   e  eventfd                      9
 *   P  epoll with an eventfd       21
 *
 * The time of each chunk of iterations is printed when all of them are done,
 * one number of nanoseconds per line.
 */
#include <getopt.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "../live/load.h"

#define USAGE "usage: allocstorm [-c CPU] [-n ITERATIONS_PER_CHUNK] [-k CHUNKS] [-m LETTERS] [-q]"

static void check(int ret, const char *what)
{
	if (ret < 0)
		die("%s: %s", what, strerror(errno));
}

static void do_file(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	check(fd, "open");
	close(fd);
}

static void do_pair(int socket)
{
	int p[2];
	check(socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, p) : pipe(p), "pair");
	close(p[0]);
	close(p[1]);
}

static void do_eventfd(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	check(fd, "eventfd");
	close(fd);
}

static void do_epoll(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	int fd = eventfd(0, EFD_CLOEXEC);
	check(ep, "epoll_create1");
	check(fd, "eventfd");
	check(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), "epoll_ctl");
	close(fd);
	close(ep);
}

static void one_iteration(const char *mix)
{
	for (; *mix; mix++) {
		switch (*mix) {
		case 'f': do_file(); break;
		case 'p': do_pair(0); break;
		case 's': do_pair(1); break;
		case 'e': do_eventfd(); break;
		case 'P': do_epoll(); break;
		default: die("unknown letter '%c': one of fpseP", *mix);
		}
	}
}

int main(int argc, char **argv)
{
	long n = 400;
	long chunks = 200;
	int cpu = -1;
	int quiet = 0;
	const char *mix = "fpseP";
	int c;

	while ((c = getopt(argc, argv, "c:n:k:m:qh")) != -1) {
		switch (c) {
		case 'c': cpu = (int)number(optarg, 0, 1023); break;
		case 'n': n = number(optarg, 1, 10000000); break;
		case 'k': chunks = number(optarg, 1, 1000000); break;
		case 'm': mix = optarg; break;
		case 'q': quiet = 1; break;
		default: die(USAGE);
		}
	}
	if (optind != argc)
		die(USAGE);
	uint64_t *ns = calloc((size_t)chunks, sizeof(*ns));
	if (!ns)
		die("out of memory");
	pin(cpu);
	for (long i = 0; i < chunks; i++) {
		uint64_t start = now_ns();
		for (long j = 0; j < n; j++)
			one_iteration(mix);
		ns[i] = now_ns() - start;
	}
	for (long i = 0; i < chunks && !quiet; i++)
		printf("%llu\n", (unsigned long long)ns[i]);
	free(ns);
	return 0;
}
