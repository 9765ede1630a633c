// SPDX-License-Identifier: GPL-2.0-only
#include "source/tracefs_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

#define RING_TOTAL	(256ULL << 20)	/* the default never takes more than this together */
#define RING_MIN	(64ULL << 10)

static void cleanup_mntent(FILE **f)
{
	if (*f)
		endmntent(*f);
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* A directory that can be looked into and has room for instances. */
static bool is_usable(const char *path)
{
	char instances[300];

	return snprintf(instances, sizeof(instances), "%s/instances", path) <
	       (int)sizeof(instances) && !access(instances, R_OK | W_OK | X_OK);
}

static bool find_mounted(char *out, size_t size)
{
	_cleanup_(cleanup_mntent) FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;

	while (f && (m = getmntent(f)))
		if (!strcmp(m->mnt_type, "tracefs") && is_usable(m->mnt_dir) &&
		    snprintf(out, size, "%s", m->mnt_dir) < (int)size)
			return true;
	return false;
}

static int mount_error(int err)
{
	if (err == -EPERM || err == -EACCES)
		return kmt_err(err, "tracefs is not open to us and may not be mounted: "
			       "needs root (CAP_SYS_ADMIN)");
	if (err == -ENODEV)
		return kmt_err(err, "this kernel has no tracefs (CONFIG_TRACING)");
	return kmt_err_errno(err, "cannot mount tracefs");
}

static int mount_detached(int *ret_fd)
{
	_cleanup_close_ int fs = fsopen("tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return mount_error(-errno);
	fd = fsmount(fs, FSMOUNT_CLOEXEC,
		     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fd < 0)
		return mount_error(-errno);
	*ret_fd = fd;
	return 0;
}

int kmt_tracefs_dir_open(struct kmt_tracefs_dir *ret)
{
	struct kmt_tracefs_dir d = { .mount_fd = -1 };
	int err;

	if (!find_mounted(d.path, sizeof(d.path))) {
		err = mount_detached(&d.mount_fd);
		if (err)
			return err;
		snprintf(d.path, sizeof(d.path), "/proc/self/fd/%d", d.mount_fd);
		if (!is_usable(d.path)) {
			err = -errno;
			close(d.mount_fd);
			return kmt_err_errno(err, "cannot use tracefs instances");
		}
	}
	*ret = d;
	return 0;
}

void kmt_tracefs_dir_close(struct kmt_tracefs_dir *d)
{
	if (d->mount_fd >= 0)
		close(d->mount_fd);
	d->mount_fd = -1;
	d->path[0] = '\0';
}

/*
 * Is the process that an instance is named after still a kmemtrace? Not if it
 * is this one: the name is a predecessor's then, who had the same number.
 */
static bool is_alive(const char *pid)
{
	char path[64], comm[32] = "";
	_cleanup_close_ int fd = -1;
	long number = strtol(pid, NULL, 10);	/* "-2" may follow: its third instance */

	if (number == getpid())
		return false;
	snprintf(path, sizeof(path), "/proc/%ld/comm", number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, comm, sizeof(comm) - 1) > 0 && !strcmp(comm, "kmemtrace\n");
}

static bool is_ours(const char *name)
{
	size_t len = strlen(KMT_TRACEFS_INSTANCE);

	if (strncmp(name, KMT_TRACEFS_INSTANCE, len) || !name[len])
		return false;
	for (name += len; *name; name++)
		if (!isdigit((unsigned char)*name) && *name != '-')
			return false;
	return true;
}

int kmt_tracefs_remove_leftovers(const struct kmt_tracefs_dir *d)
{
	char path[600];
	_cleanup_(cleanup_dir) DIR *dir = NULL;
	struct dirent *de;
	int n = 0;

	snprintf(path, sizeof(path), "%s/instances", d->path);
	dir = opendir(path);
	while (dir && (de = readdir(dir))) {
		if (!is_ours(de->d_name) || is_alive(de->d_name + strlen(KMT_TRACEFS_INSTANCE)))
			continue;
		snprintf(path, sizeof(path), "%s/instances/%s", d->path, de->d_name);
		/* EBUSY: somebody reads it, in another pid namespace perhaps */
		n += !rmdir(path);
	}
	return n;
}

static int by_number(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 :
	       *(const uint32_t *)a > *(const uint32_t *)b;
}

int kmt_tracefs_cpus(const char *per_cpu, uint32_t **ret, size_t *ret_n)
{
	_cleanup_(cleanup_dir) DIR *dir = opendir(per_cpu);
	_cleanup_free_ uint32_t *ids = NULL;
	struct dirent *de;
	size_t n = 0;

	while (dir && (de = readdir(dir))) {
		uint32_t id, *more;

		if (sscanf(de->d_name, "cpu%u", &id) != 1)
			continue;
		more = realloc(ids, (n + 1) * sizeof(*ids));
		if (!more)
			return kmt_err(-ENOMEM, "no memory for the list of CPUs");
		ids = more;
		ids[n++] = id;
	}
	if (!n)
		return kmt_err(-EIO, "cannot read '%s'", per_cpu);
	qsort(ids, n, sizeof(*ids), by_number);
	*ret = take_ptr(ids);
	*ret_n = n;
	return 0;
}

uint64_t kmt_tracefs_ring(size_t n_cpus)
{
	struct sysinfo si;
	uint64_t total = RING_TOTAL, each;

	if (!sysinfo(&si) && (uint64_t)si.totalram * si.mem_unit / 256 < total)
		total = (uint64_t)si.totalram * si.mem_unit / 256;
	each = total / (n_cpus ? n_cpus : 1);
	each = each < KMT_TRACEFS_RING ? each : KMT_TRACEFS_RING;
	return each > RING_MIN ? each : RING_MIN;
}

static uint64_t stat_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && *text) {
		if (!strncmp(text, key, len))
			return strtoull(text + len, NULL, 10);
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return 0;
}

uint64_t kmt_tracefs_stats_lost(const char *text)
{
	return stat_value(text, "overrun: ") + stat_value(text, "commit overrun: ") +
	       stat_value(text, "dropped events: ");
}
