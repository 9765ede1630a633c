/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_CLEANUP_H
#define KMT_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Locals that clean up after themselves; hand over with take_ptr(). */
static inline void kmt_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void kmt_cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void kmt_cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_(fn)		__attribute__((cleanup(fn)))
#define _cleanup_free_		_cleanup_(kmt_cleanup_free)
#define _cleanup_close_		_cleanup_(kmt_cleanup_close)
#define _cleanup_fclose_	_cleanup_(kmt_cleanup_fclose)

/* Give up ownership: returns the pointer and leaves NULL behind. */
#define take_ptr(p) ({ __typeof__(p) taken_ = (p); (p) = NULL; taken_; })

#endif
