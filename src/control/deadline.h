/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside control/ only: waiting on a condition for some time at most. */
#ifndef KMT_CONTROL_DEADLINE_H
#define KMT_CONTROL_DEADLINE_H

#include <pthread.h>
#include <time.h>

/* A condition whose deadlines are of CLOCK_MONOTONIC. */
void kmt_cond_init(pthread_cond_t *cond);
struct timespec kmt_deadline(unsigned ms);

#endif
