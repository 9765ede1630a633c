// SPDX-License-Identifier: GPL-2.0-only
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define SOURCE(id) extern const struct kmt_source_ops kmt_source_##id;
#include "source/sources.def"
#undef SOURCE

const struct kmt_source_ops *const kmt_sources[] = {
#define SOURCE(id) &kmt_source_##id,
#include "source/sources.def"
#undef SOURCE
	NULL
};

const struct kmt_source_ops *kmt_source_find(const char *name)
{
	for (size_t i = 0; kmt_sources[i]; i++)
		if (!strcmp(kmt_sources[i]->name, name))
			return kmt_sources[i];
	return NULL;
}

bool kmt_source_suits(const struct kmt_source_ops *ops, const struct kmt_source_opts *opts)
{
	return ops->live && (!opts->filter || !opts->filter->follow_module || ops->module) &&
	       (opts->key != KMT_BY_CGROUP || ops->counted);
}

/* Asked for too much, or nonsense: another source would refuse it as well. */
static bool is_refusal(int err)
{
	return err == -EINVAL || err == -ERANGE || err == -E2BIG;
}

int kmt_source_open_live(const struct kmt_source_opts *opts, struct kmt_source **ret,
			 char ret_why[KMT_SOURCE_WHY])
{
	char first[KMT_SOURCE_WHY] = "";
	int err = kmt_err(-ENODEV, "no live source can do that");

	for (size_t i = 0; kmt_sources[i]; i++) {
		if (!kmt_source_suits(kmt_sources[i], opts))
			continue;
		err = kmt_sources[i]->open(opts, ret);
		if (!err) {
			snprintf(ret_why, KMT_SOURCE_WHY, "%s", first);
			return 0;
		}
		if (is_refusal(err) || first[0])
			break;
		snprintf(first, sizeof(first), "%s", kmt_err_text());
	}
	/* of two that could not, the first one's cause says more */
	return first[0] && !is_refusal(err) ? kmt_err(err, "%s", first) : err;
}

#define HEAD_SIZE	4096	/* what detect() gets to see; less than any pipe holds */
#define PEEK_TRIES	100	/* times 10 ms: a slow writer may send half a line first */

static ssize_t head_of_file(int fd, char *head)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	ssize_t got, len = 0;

	do {
		got = pread(fd, head + len, (size_t)(HEAD_SIZE - len), at + len);
		if (got > 0)
			len += got;
	} while ((got > 0 && len < HEAD_SIZE) || (got < 0 && errno == EINTR));
	return got < 0 ? -errno : len;
}

/* tee() copies what is in the pipe and leaves it there for the source to read. */
static ssize_t peek(int fd, char *head)
{
	int ends[2];
	ssize_t len;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;

	_cleanup_close_ int out = ends[0];
	_cleanup_close_ int in = ends[1];

	len = tee(fd, in, HEAD_SIZE, 0);
	if (len > 0)
		len = read(out, head, HEAD_SIZE);
	return len < 0 ? -errno : len;
}

static ssize_t head_of_pipe(int fd, char *head)
{
	for (int i = 0; ; i++) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		ssize_t len = peek(fd, head);

		if (len <= 0 || len == HEAD_SIZE || memchr(head, '\n', (size_t)len) ||
		    i == PEEK_TRIES)
			return len;
		if (poll(&pfd, 1, 0) > 0 && (pfd.revents & POLLHUP))
			return peek(fd, head);
		poll(NULL, 0, 10);
	}
}

/* The first bytes; they stay unread, so that standard input can be opened after this. */
static ssize_t read_head(int fd, char *head)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISREG(st.st_mode))
		return head_of_file(fd, head);
	if (S_ISFIFO(st.st_mode))
		return head_of_pipe(fd, head);
	return S_ISDIR(st.st_mode) ? -EISDIR : -ESPIPE;
}

int kmt_source_for_file(const char *path, const struct kmt_source_ops **ret)
{
	bool is_stdin = !strcmp(path, "-");
	_cleanup_close_ int own = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	const char *name = is_stdin ? "standard input" : path;
	char head[HEAD_SIZE];
	ssize_t len;

	if (!is_stdin && own < 0)
		return kmt_err_errno(-errno, "cannot open '%s'", path);
	len = read_head(is_stdin ? STDIN_FILENO : own, head);
	if (len == -ESPIPE)
		return kmt_err(-EINVAL, "'%s' is neither a file nor a pipe", name);
	if (len < 0)
		return kmt_err_errno((int)len, "cannot read '%s'", name);
	if (!len)
		return kmt_err(-EINVAL, "'%s' is empty", name);
	for (size_t i = 0; kmt_sources[i]; i++) {
		if (kmt_sources[i]->detect && kmt_sources[i]->detect(head, (size_t)len)) {
			*ret = kmt_sources[i];
			return 0;
		}
	}
	return kmt_err(-EINVAL, "'%s' is in no format that can be read here: no kmemtrace event in "
		       "its first %zd bytes", name, len);
}
