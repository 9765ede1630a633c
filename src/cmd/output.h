/* SPDX-License-Identifier: GPL-2.0-only */
/* Standard output for a stream of text that may be read slowly, or no more. */
#ifndef KMT_CMD_OUTPUT_H
#define KMT_CMD_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct kmt_run;

struct kmt_output {
	int fd;
	struct kmt_buf buf;
	size_t chunk;		/* what one write may take without blocking us for ever */
	bool failed;		/* a write failed: the fault is not the input's */
	uint64_t dropped;	/* bytes that a gone or stalled reader did not take */
	struct kmt_run *run;	/* whose signals end the wait for a slow reader */
};

void kmt_output_init(struct kmt_output *out, int fd, struct kmt_run *run);
/*
 * Write everything; waits for a slow reader, but not longer than until a
 * signal asks us to stop (-EINTR, the rest is dropped). -EPIPE: reader gone.
 */
int kmt_output_flush(struct kmt_output *out);
void kmt_output_done(struct kmt_output *out);

#endif
