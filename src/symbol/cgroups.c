// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cgroup's number is what its directory's file handle consists of (fs/kernfs/mount.c
 * since Linux commit 33c5ac9175195 "kernfs: implement custom exportfs ops and fid
 * type", in v5.5), and such a number is given to no other directory later.
 */
#include "symbol/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"

struct known {
	uint64_t id;
	const char *path;	/* NULL: none */
};

struct kmt_cgroups {
	int mount_fd;
	size_t mount_len;
	struct known *v;
	size_t n, cap;
	struct kmt_index index;
	struct kmt_arena arena;
};

static void cleanup_mntent(FILE **f)
{
	if (*f)
		endmntent(*f);
}

bool kmt_cgroups_mount(char *out, size_t size)
{
	_cleanup_(cleanup_mntent) FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	while (f && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "cgroup2"))
			continue;
		return snprintf(out, size, "%s", m->mnt_dir) < (int)size;
	}
	return false;
}

int kmt_cgroups_dir(const char *path, char *out, size_t size)
{
	char mount[256];
	struct stat st;
	size_t len;

	if (!kmt_cgroups_mount(mount, sizeof(mount)))
		return kmt_err(-ENOENT, "no cgroup v2 is mounted: 'cgroup=' cannot be used");
	len = strlen(mount);
	if (!strncmp(path, mount, len) && (path[len] == '/' || !path[len]))
		path += len;
	if (snprintf(out, size, "%s%s", mount, path) >= (int)size)
		return kmt_err(-ENAMETOOLONG, "cgroup path is too long");
	if (stat(out, &st) || !S_ISDIR(st.st_mode))
		return kmt_err(-ENOENT, "no such cgroup: '%s'", out);
	return 0;
}

int kmt_cgroups_new(struct kmt_cgroups **ret)
{
	struct kmt_cgroups *c;
	char mount[256];
	int fd;

	if (!kmt_cgroups_mount(mount, sizeof(mount)))
		return kmt_err(-ENOENT, "no cgroup v2 is mounted here");
	fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return kmt_err_errno(-errno, "cannot open '%s'", mount);
	c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return kmt_err_errno(-ENOMEM, "cgroups");
	}
	c->mount_fd = fd;
	c->mount_len = strlen(mount);
	*ret = c;
	return 0;
}

void kmt_cgroups_free(struct kmt_cgroups *c)
{
	if (!c)
		return;
	close(c->mount_fd);
	free(c->v);
	kmt_index_done(&c->index);
	kmt_arena_done(&c->arena);
	free(c);
}

/* The directory with this number, opened; negative: there is none. */
static int open_cgroup(const struct kmt_cgroups *c, uint64_t id)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int mount_id;

	/* of the mount itself: kind and size are the same for every directory below it */
	if (name_to_handle_at(c->mount_fd, "", &u.handle, &mount_id, AT_EMPTY_PATH) ||
	    u.handle.handle_bytes != sizeof(id))
		return -1;
	memcpy(u.handle.f_handle, &id, sizeof(id));
	return open_by_handle_at(c->mount_fd, &u.handle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static const char *ask(struct kmt_cgroups *c, uint64_t id)
{
	_cleanup_close_ int fd = open_cgroup(c, id);
	char link[64], path[4096];
	ssize_t n;

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < (ssize_t)c->mount_len)
		return NULL;
	path[n] = '\0';
	return kmt_arena_str(&c->arena, path[c->mount_len] ? path + c->mount_len : "/");
}

struct query {
	const struct known *v;
	uint64_t id;
};

static bool is_known(const void *ctx, size_t i)
{
	const struct query *q = ctx;

	return q->v[i].id == q->id;
}

static bool make_room(struct kmt_cgroups *c)
{
	size_t more = c->cap ? c->cap * 2 : 64;
	struct known *v;

	if (c->n < c->cap)
		return true;
	v = reallocarray(c->v, more, sizeof(*v));
	if (!v)
		return false;
	c->v = v;
	c->cap = more;
	return true;
}

const char *kmt_cgroups_path(struct kmt_cgroups *c, uint64_t id)
{
	struct query q = { .id = id };
	const char *path;
	uint64_t hash;
	size_t at;

	if (!c)
		return NULL;
	q.v = c->v;
	hash = kmt_hash_mix(0, id);
	at = kmt_index_find(&c->index, hash, is_known, &q);
	if (at != KMT_INDEX_NONE)
		return c->v[at].path;
	path = ask(c, id);
	/* without memory it is asked again the next time */
	if (make_room(c) && !kmt_index_add(&c->index, hash, c->n))
		c->v[c->n++] = (struct known){ .id = id, .path = path };
	return path;
}
