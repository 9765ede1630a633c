// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/child.h"

#define KMT_OUTPUT_CHUNK (1u << 20)
#define KMT_OUTPUT_PATIENCE_MS 500	/* for a stalled reader, once we were asked to stop */

void kmt_output_init(struct kmt_output *out, int fd, struct kmt_run *run)
{
	struct stat st;

	*out = (struct kmt_output) { .fd = fd, .chunk = KMT_OUTPUT_CHUNK, .run = run };
	/*
	 * A pipe that polls writable takes PIPE_BUF bytes at once; more would
	 * block in write(), where no signal ends the wait.
	 */
	if (!fstat(fd, &st) && !S_ISREG(st.st_mode))
		out->chunk = PIPE_BUF;
}

void kmt_output_done(struct kmt_output *out)
{
	kmt_buf_done(&out->buf);
}

static int wait_writable(struct kmt_output *out)
{
	struct pollfd p[2] = {
		{ .fd = out->fd, .events = POLLOUT },
		{ .fd = out->run->signal_fd, .events = POLLIN },
	};

	for (;;) {
		int n = poll(p, 2, out->run->signal ? KMT_OUTPUT_PATIENCE_MS : -1);

		if (n < 0 && errno != EINTR)
			return kmt_err_errno(-errno, "poll");
		if (n == 0)
			return -EINTR;
		if (p[0].revents & (POLLERR | POLLNVAL))
			return -EPIPE;
		if (p[0].revents & POLLOUT)
			return 0;
		/* asked to stop: a reader that still reads gets the rest, a stalled one does not */
		if (p[1].revents & POLLIN)
			kmt_run_over(out->run);
	}
}

int kmt_output_flush(struct kmt_output *out)
{
	const char *p = kmt_buf_str(&out->buf);
	size_t left = out->buf.len;
	int err = out->buf.error;

	while (!err && left) {
		ssize_t n;

		if (out->chunk == PIPE_BUF)
			err = wait_writable(out);
		if (err)
			break;
		n = write(out->fd, p, left < out->chunk ? left : out->chunk);
		if (n < 0 && errno != EINTR)
			err = errno == EPIPE ? -EPIPE : kmt_err_errno(-errno, "standard output");
		else if (n > 0) {
			p += n;
			left -= n;
		}
	}
	out->failed |= err && err != -EINTR && err != -EPIPE;
	out->dropped += left;
	kmt_buf_clear(&out->buf);
	return err;
}
