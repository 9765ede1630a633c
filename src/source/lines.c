// SPDX-License-Identifier: GPL-2.0-only
#include "source/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

int kmt_lines_open(struct kmt_lines *l, const char *path)
{
	l->at_end = l->in_long_line = false;
	l->line_no = l->pos = l->len = 0;
	l->fd = STDIN_FILENO;
	if (strcmp(path, "-"))
		l->fd = open(path, O_RDONLY | O_CLOEXEC);
	return l->fd < 0 ? kmt_err_errno(-errno, "cannot open '%s'", path) : 0;
}

void kmt_lines_close(struct kmt_lines *l)
{
	if (l->fd > STDIN_FILENO)
		close(l->fd);
	l->fd = -1;
}

/* Make more of the file available. 1: there is more; 0: nothing within the time; -ENODATA. */
static int fill(struct kmt_lines *l, int timeout_ms)
{
	struct pollfd pfd = { .fd = l->fd, .events = POLLIN };
	ssize_t got;

	if (l->at_end)
		return -ENODATA;
	if (l->pos) {
		memmove(l->buf, l->buf + l->pos, l->len - l->pos);
		l->len -= l->pos;
		l->pos = 0;
	}
	switch (poll(&pfd, 1, timeout_ms)) {
	case 0:
		return 0;
	case -1:
		return kmt_err_errno(-errno, "cannot wait for input");
	default:
		break;
	}
	got = read(l->fd, l->buf + l->len, sizeof(l->buf) - l->len);
	if (got < 0 && errno == EAGAIN)
		return 0;
	if (got < 0)
		return kmt_err_errno(-errno, "cannot read line %" PRIu64, l->line_no + 1);
	if (!got) {
		l->at_end = true;
		return l->len ? 1 : -ENODATA;
	}
	l->len += (size_t)got;
	return 1;
}

/*
 * The next whole line in the buffer; false if more is needed. A line that is
 * too long comes out once, as what fits, and the rest of it is thrown away.
 */
static bool take_line(struct kmt_lines *l, struct kmt_word *ret)
{
	while (l->pos < l->len) {
		const char *start = l->buf + l->pos;
		size_t left = l->len - l->pos;
		const char *nl = memchr(start, '\n', left);
		size_t len = nl ? (size_t)(nl - start) : left;
		bool was_long = l->in_long_line;

		if (!nl && len <= KMT_LINE_MAX && !l->at_end && !was_long)
			return false;
		l->pos += len + (nl ? 1 : 0);
		l->in_long_line = !nl && !l->at_end;
		if (was_long)
			continue;
		l->line_no++;
		*ret = (struct kmt_word){ start, len };
		return true;
	}
	return false;
}

int kmt_lines_next(struct kmt_lines *l, int timeout_ms, struct kmt_word *ret)
{
	while (!take_line(l, ret)) {
		int err = fill(l, timeout_ms);

		if (err != 1)
			return err;
	}
	return 1;
}
