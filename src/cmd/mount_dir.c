// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/mount_dir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"

#define MAX_STACKED	16	/* dead mounts on top of each other */

/* "\040" is a blank, and so on; in place. */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
}

/* "36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw": /mnt and ext4, in place. */
static bool split_line(char *line, char **ret_path, char **ret_type)
{
	char *rest = line, *word, *path = NULL;

	for (int i = 0; (word = strsep(&rest, " \n")); i++) {
		if (i == 4)
			path = word;
		if (i < 6 || strcmp(word, "-"))
			continue;
		*ret_path = path;
		*ret_type = strsep(&rest, " \n");
		unescape(path);
		return *ret_type;
	}
	return false;
}

bool kmt_mountinfo_type(FILE *mountinfo, const char *path, char *type, size_t size)
{
	_cleanup_free_ char *line = NULL;
	bool found = false;
	size_t cap = 0;
	char *at, *what;

	while (getline(&line, &cap, mountinfo) >= 0) {
		if (!split_line(line, &at, &what) || strcmp(at, path))
			continue;
		snprintf(type, size, "%s", what);	/* the last one lies on top */
		found = true;
	}
	return found;
}

static bool is_ours(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mountinfo", "re");
	char type[64];

	return f && kmt_mountinfo_type(f, path, type, sizeof(type)) && !strcmp(type, KMT_MOUNT_TYPE);
}

/* Also of a directory whose file system answers nothing any more. */
static char *absolute(const char *dir)
{
	_cleanup_free_ char *copy = NULL, *parent = NULL;
	char *path = realpath(dir, NULL), *slash, *out;

	if (path || errno != ENOTCONN)
		return path;
	copy = strdup(dir);
	if (!copy)
		return NULL;
	while (*copy && copy[strlen(copy) - 1] == '/' && copy[1])
		copy[strlen(copy) - 1] = '\0';
	slash = strrchr(copy, '/');
	if (slash)
		*slash = '\0';
	parent = realpath(!slash ? "." : *copy ? copy : "/", NULL);
	if (!parent || asprintf(&out, "%s/%s", strcmp(parent, "/") ? parent : "",
				slash ? slash + 1 : copy) < 0)
		return NULL;
	return out;
}

/* Mounts whose daemon is gone, from the top down. */
static int remove_stale(const char *dir, const char *path, bool *ret_stale)
{
	struct stat st;
	bool stale = false;

	for (int i = 0; i < MAX_STACKED && stat(path, &st); i++) {
		int err = -errno;

		if (err != -ENOTCONN)
			return kmt_err_errno(err, "'%s'", dir);
		if (!is_ours(path))
			return kmt_err(err, "'%s' is the mount of another program that is gone "
				       "('umount -l' removes it)", dir);
		if (umount2(path, MNT_DETACH))
			return kmt_err_errno(-errno, "'%s': the mount of a kmemtrace that is gone cannot "
					     "be removed", dir);
		stale = true;
	}
	if (is_ours(path))
		return kmt_err(-EBUSY, "'%s' is a mounted tracing directory already ('umount' ends it)",
			       dir);
	*ret_stale = stale;
	return 0;
}

static int check_empty(const char *dir, const char *path)
{
	DIR *d = opendir(path);
	int err = 0;

	if (!d)
		return kmt_err_errno(-errno, "'%s'", dir);
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			err = -ENOTEMPTY;
	closedir(d);
	return err ? kmt_err(err, "'%s' is not empty", dir) : 0;
}

int kmt_mount_dir(const char *dir, char **ret_path, bool *ret_stale)
{
	_cleanup_free_ char *path = absolute(dir);
	bool stale = false;
	int err;

	if (!path)
		return kmt_err_errno(-errno, "'%s'", dir);
	err = remove_stale(dir, path, &stale);
	if (!err)
		err = check_empty(dir, path);
	if (err)
		return err;
	*ret_stale = stale;
	*ret_path = take_ptr(path);
	return 0;
}
