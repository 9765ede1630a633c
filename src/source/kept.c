// SPDX-License-Identifier: GPL-2.0-only
/* Where kept sessions lie: names, the lock, and how they come and go. */
#include "source/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#define OLD	"~old"
#define SWAP	"~swap="
#define DEPTH	4		/* folders that are open at once while they are removed */

int kmt_kept_check_name(const char *name)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(name);

	if (len > KMT_KEPT_NAME)
		return kmt_err(-EINVAL, "the name of a session has at most %d characters",
			       KMT_KEPT_NAME);
	if (!len || *name == '-' || strspn(name, ok) != len)
		return kmt_err(-EINVAL, "the name of a session is made of letters, digits, '_' and "
			       "'-', not '%s'", name);
	return 0;
}

/* ---- the place ---- */

static bool is_bpffs(const char *path)
{
	struct statfs st;

	return !statfs(path, &st) && (unsigned long)st.f_type == BPF_FS_MAGIC;
}

static int mount_bpffs(const char *path, bool *ret_mounted)
{
	if (is_bpffs(path))
		return 0;
	if (mount("bpf", path, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return kmt_err_errno(-errno, "no BPF file system at '%s', and none can be mounted "
				     "there", path);
	*ret_mounted = true;
	return 0;
}

int kmt_kept_open(const char *bpffs, bool make, struct kmt_kept *ret)
{
	struct kmt_kept k = KMT_KEPT_NONE;
	int err;

	bpffs = bpffs && *bpffs ? bpffs : KMT_KEPT_BPFFS;
	if (snprintf(k.path, sizeof(k.path), "%s/" KMT_KEPT_DIR, bpffs) >=
	    KMT_KEPT_PATH - KMT_KEPT_NAME - 64)
		return kmt_err(-ENAMETOOLONG, "the path of the BPF file system is too long");
	if (make) {
		err = mount_bpffs(bpffs, &k.mounted);
		if (err)
			return err;
		if (mkdir(k.path, 0700) && errno != EEXIST)
			return kmt_err_errno(-errno, "cannot make '%s'", k.path);
	}
	/* a link could lead anywhere, and what lies there would be taken for sessions */
	k.fd = open(k.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (k.fd < 0 && (make || errno != ENOENT))
		return kmt_err_errno(-errno, "cannot open '%s'", k.path);
	*ret = k;
	return 0;
}

int kmt_kept_check_place(const struct kmt_kept *k)
{
	struct statfs fs;
	struct stat st;

	if (k->fd < 0)
		return 0;
	if (fstatfs(k->fd, &fs) || fstat(k->fd, &st))
		return kmt_err_errno(-errno, "cannot look at '%s'", k->path);
	if ((unsigned long)fs.f_type != BPF_FS_MAGIC)
		return kmt_err(-ENOTDIR, "'%s' is not in a BPF file system: nothing in it is a session",
			       k->path);
	/* where all users may write, somebody else could have made it first */
	if (st.st_uid && st.st_uid != geteuid())
		return kmt_err(-EPERM, "'%s' belongs to another user (%u): remove it first", k->path,
			       st.st_uid);
	return 0;
}

void kmt_kept_done(struct kmt_kept *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
}

static int lock(struct kmt_kept *k, int how)
{
	if (k->fd < 0)
		return 0;
	while (flock(k->fd, how)) {
		if (errno == EWOULDBLOCK)
			return -EWOULDBLOCK;
		if (errno != EINTR)
			return kmt_err_errno(-errno, "cannot lock '%s'", k->path);
	}
	return 0;
}

int kmt_kept_lock(struct kmt_kept *k)
{
	int err = lock(k, LOCK_EX);

	return err ? err : kmt_kept_sweep(k);
}

int kmt_kept_try_lock(struct kmt_kept *k)
{
	int err = lock(k, LOCK_EX | LOCK_NB);

	return err ? err : kmt_kept_sweep(k);
}

int kmt_kept_lock_reading(struct kmt_kept *k)
{
	return lock(k, LOCK_SH);
}

void kmt_kept_unlock(struct kmt_kept *k)
{
	lock(k, LOCK_UN);
}

bool kmt_kept_exists(const struct kmt_kept *k, const char *name)
{
	struct stat st;

	return k->fd >= 0 && !fstatat(k->fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

/* ---- what there is ---- */

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static DIR *open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* The next entry of a folder but itself and the one above; NULL at the end. */
static const char *next_name(DIR *d)
{
	struct dirent *e;

	do
		e = readdir(d);
	while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	return e ? e->d_name : NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void kmt_kept_names_done(struct kmt_strlist *names)
{
	for (size_t i = 0; i < names->n; i++)
		free((char *)names->v[i]);
	kmt_strlist_done(names);
}

int kmt_kept_names(const struct kmt_kept *k, struct kmt_strlist *ret)
{
	_cleanup_(cleanup_dir) DIR *d = k->fd < 0 ? NULL : open_dir(k->fd, ".");
	const char *name;

	if (!d)
		return k->fd < 0 ? 0 : kmt_err_errno(-errno, "cannot read '%s'", k->path);
	while ((name = next_name(d))) {
		char *copy;

		if (kmt_kept_check_name(name))
			continue;
		copy = strdup(name);
		if (!copy || kmt_strlist_add(ret, copy)) {
			free(copy);
			kmt_kept_names_done(ret);
			return kmt_err(-ENOMEM, "out of memory for the sessions' names");
		}
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	return 0;
}

int kmt_kept_missing(const struct kmt_kept *k, const char *name)
{
	_cleanup_(kmt_kept_names_done) struct kmt_strlist names = { 0 };
	_cleanup_buf_ struct kmt_buf list = { 0 };

	if (kmt_kept_names(k, &names) || !names.n)
		return kmt_err(-ENOENT, "there is no session '%s', nor any other", name);
	for (size_t i = 0; i < names.n; i++)
		kmt_buf_printf(&list, "%s%s", i ? ", " : "", names.v[i]);
	return kmt_err(-ENOENT, "there is no session '%s', but: %s", name, kmt_buf_str(&list));
}

/* ---- coming and going ---- */

static int remove_folder(const struct kmt_kept *k, int at, const char *name, int depth);

/* What lies deeper becomes a folder of the place, left over like the others there. */
static int lift(const struct kmt_kept *k, int at, const char *name)
{
	for (unsigned i = 0; i < UINT_MAX; i++) {
		char up[32];

		snprintf(up, sizeof(up), "~deep%u", i);
		if (!renameat2(at, name, k->fd, up, RENAME_NOREPLACE))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EMFILE;
}

static int remove_entry(const struct kmt_kept *k, int at, const char *name, int depth)
{
	if (!unlinkat(at, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return depth ? remove_folder(k, at, name, depth - 1) : lift(k, at, name);
}

/* What is mounted on a folder is nobody's session. */
static bool is_mounted_on(const struct kmt_kept *k, int fd)
{
	struct stat place, st;

	return fstat(k->fd, &place) || fstat(fd, &st) || place.st_dev != st.st_dev;
}

/* A folder with all that is in it. */
static int remove_folder(const struct kmt_kept *k, int at, const char *name, int depth)
{
	for (;;) {
		_cleanup_(cleanup_dir) DIR *d = open_dir(at, name);
		const char *entry;
		size_t n = 0;

		if (!d)
			return -errno;
		if (is_mounted_on(k, dirfd(d)))
			return -EBUSY;
		for (; (entry = next_name(d)); n++) {
			int err = remove_entry(k, dirfd(d), entry, depth);

			if (err)
				return err;
		}
		/* names are passed over while others go: until there are none */
		if (!n)
			return unlinkat(at, name, AT_REMOVEDIR) ? -errno : 0;
	}
}

/* Also a pin or a link, which somebody else has put there. */
static int take_down(struct kmt_kept *k, const char *name)
{
	int err = remove_entry(k, k->fd, name, DEPTH);

	return err && err != -ENOENT ?
	       kmt_err_errno(err, "cannot remove '%s/%s'", k->path, name) : 0;
}

static int move(struct kmt_kept *k, const char *from, const char *to, unsigned flags)
{
	return renameat2(k->fd, from, k->fd, to, flags) ? -errno : 0;
}

int kmt_kept_remove(struct kmt_kept *k, const char *name)
{
	int err;

	if (k->fd < 0 || !kmt_kept_exists(k, name))
		return kmt_kept_missing(k, name);
	err = move(k, name, OLD, 0);
	if (err)
		return kmt_err_errno(err, "cannot remove '%s/%s'", k->path, name);
	return kmt_kept_sweep(k);
}

/* Before Linux commit 6429e46304ac "libfs: support RENAME_EXCHANGE in simple_rename()" (in v5.16). */
static int swap_in_steps(struct kmt_kept *k, const char *name)
{
	char swap[sizeof(SWAP) + KMT_KEPT_NAME];
	int err;

	snprintf(swap, sizeof(swap), SWAP "%.*s", KMT_KEPT_NAME, name);
	err = move(k, KMT_KEPT_NEW, swap, 0);
	err = err ? err : move(k, name, OLD, 0);
	return err ? err : move(k, swap, name, 0);
}

int kmt_kept_commit(struct kmt_kept *k, const char *name, bool replace)
{
	int err;

	if (!replace) {
		err = move(k, KMT_KEPT_NEW, name, RENAME_NOREPLACE);
		if (err == -EEXIST)
			return kmt_err(err, "a session '%s' exists already (see 'kmemtrace stop' and "
				       "'reset')", name);
		return err ? kmt_err_errno(err, "cannot make '%s/%s'", k->path, name) : 0;
	}
	if (!kmt_kept_exists(k, name))
		return kmt_kept_missing(k, name);
	err = move(k, KMT_KEPT_NEW, name, RENAME_EXCHANGE);
	if (err == -EINVAL)
		err = swap_in_steps(k, name);
	if (err)
		return kmt_err_errno(err, "cannot replace '%s/%s'", k->path, name);
	return kmt_kept_sweep(k);
}

/* What was to take a session's place does so if that is empty. */
static int complete(struct kmt_kept *k, const char *swap)
{
	const char *name = swap + strlen(SWAP);

	if (!kmt_kept_check_name(name) && !move(k, swap, name, RENAME_NOREPLACE))
		return 0;
	return take_down(k, swap);
}

int kmt_kept_sweep(struct kmt_kept *k)
{
	for (;;) {
		_cleanup_(cleanup_dir) DIR *d = k->fd < 0 ? NULL : open_dir(k->fd, ".");
		const char *name;
		size_t n = 0;

		if (!d)
			return 0;
		while ((name = next_name(d))) {
			int err;

			if (*name != '~')
				continue;
			err = strncmp(name, SWAP, strlen(SWAP)) ? take_down(k, name) :
			      complete(k, name);
			if (err)
				return err;
			n++;
		}
		if (!n)
			return 0;
	}
}
