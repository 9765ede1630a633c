// SPDX-License-Identifier: GPL-2.0-only
#include "control/deadline.h"

#define NS_PER_S	1000000000
#define NS_PER_MS	1000000

void kmt_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

struct timespec kmt_deadline(unsigned ms)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * NS_PER_MS;
	if (t.tv_nsec >= NS_PER_S) {
		t.tv_sec++;
		t.tv_nsec -= NS_PER_S;
	}
	return t;
}
