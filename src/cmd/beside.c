// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define TRIES	100	/* names that a killed process may have left */

/* Its directory; free() it. NULL: it has none that can be found. */
static char *directory_of(const char *path)
{
	char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL;

	if (slash)
		slash[slash == real] = '\0';
	return real;
}

int kmt_beside_open(const char *path, int there)
{
	_cleanup_free_ char *dir = directory_of(path);
	struct stat st;
	int fd;

	if (!dir || fstat(there, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return -1;
	fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd >= 0 && (fchown(fd, st.st_uid, st.st_gid) || fchmod(fd, st.st_mode & 07777))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Give it a name next to 'real', into 'ret'. */
static int name_it(const char *real, int fd, char ret[PATH_MAX])
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	for (int i = 0; i < TRIES; i++) {
		if (snprintf(ret, PATH_MAX, "%s.new%d", real, i) >= PATH_MAX)
			return -ENAMETOOLONG;
		if (!linkat(AT_FDCWD, self, AT_FDCWD, ret, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int kmt_beside_replace(const char *path, int fd)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	char name[PATH_MAX];
	int err = real ? fdatasync(fd) : -1;

	err = err ? -errno : name_it(real, fd, name);
	if (!err && rename(name, real)) {
		err = -errno;
		unlink(name);
	}
	return err ? kmt_err_errno(err, "'%s' cannot be replaced", path) : 0;
}
