// SPDX-License-Identifier: GPL-2.0-only
/*
 * Split a mapping 64 times with mprotect() and unmap it, 100 times over. Each
 * split takes maple tree nodes, which the kernel gives back in bulk and through
 * RCU: most of those frees fire no tracepoint.
 */
#include <getopt.h>
#include <sys/mman.h>

#include "load.h"

#define USAGE "usage: mprotect [-n SPLITS] [-k ROUNDS]"

static void round_of(long splits, size_t page)
{
	size_t len = (2 * (size_t)splits + 1) * page;
	char *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	/* every second page read-only: each call makes two areas more */
	for (long i = 0; i < splits; i++)
		if (mprotect(map + (2 * (size_t)i + 1) * page, page, PROT_READ))
			die("mprotect: %s", strerror(errno));
	if (munmap(map, len))
		die("munmap: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	long splits = 64;
	long rounds = 100;
	int c;

	while ((c = getopt(argc, argv, "n:k:h")) != -1) {
		switch (c) {
		case 'n': splits = number(optarg, 1, 10000); break;
		case 'k': rounds = number(optarg, 1, 100000); break;
		default: die(USAGE);
		}
	}
	if (optind != argc)
		die(USAGE);
	for (long i = 0; i < rounds; i++)
		round_of(splits, (size_t)sysconf(_SC_PAGESIZE));
	return 0;
}
