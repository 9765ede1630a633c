/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the load generators share. They are programs of a few dozen lines with
 * one job: make the kernel allocate an amount that can be worked out by hand.
 * They print nothing on standard output, which belongs to the tool that runs
 * them; phases go to the file of -p, so that a test can look in between.
 */
#ifndef KMT_TESTS_LOAD_H
#define KMT_TESTS_LOAD_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2), noreturn))
static inline void die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* A whole number between lo and hi, or the end of the program. */
static inline long number(const char *text, long lo, long hi)
{
	char *end;
	errno = 0;
	long v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < lo || v > hi)
		die("not a number from %ld to %ld: '%s'", lo, hi, text);
	return v;
}

/* From here on this thread runs on that CPU only; -1 leaves it alone. */
static inline void pin(int cpu)
{
	cpu_set_t set;
	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot run on CPU %d: %s", cpu, strerror(errno));
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void sleep_ms(long ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Append one line "phase number" to the file, if there is one. */
static inline void phase(const char *path, const char *what, long n)
{
	if (!path)
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		die("cannot open '%s': %s", path, strerror(errno));
	dprintf(fd, "%s %ld\n", what, n);
	close(fd);
}

/* Wait until somebody opens the fifo for writing and closes it again. */
static inline void wait_fifo(const char *path)
{
	char buf[64];
	if (!path)
		return;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("cannot open '%s': %s", path, strerror(errno));
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
}

#endif
