// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of the kernel to the tree and back. All files are read and written
 * past the page cache (direct_io): their sizes are not known, and what they say
 * changes.
 *
 * A read of a pipe that has to wait takes no thread: its request lies in a list
 * that one thread looks through twenty times a second, and so any number of waiting
 * readers leaves the others their threads.
 */
#define FUSE_USE_VERSION 312

#include "control/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "control/deadline.h"
#include "control/tree.h"

#define MAX_THREADS	64
#define IDLE_THREADS	8
#define LOOK_MS		50	/* how often waiting requests are looked at */
#define READ_MAX	(1u << 20)

/*
 * An open file, or an open directory as it was when it was opened: the kernel's
 * handle. All are in a ring, for the kernel need not tell the close of one when the
 * directory is unmounted.
 */
struct handle {
	struct handle *next, *prev;
	struct kmt_file *file;		/* NULL: a directory */
	struct fuse_pollhandle *poll;	/* who wants to know when it is ready */
	struct kmt_tree_entry *entries;
	size_t	n_entries;
};

/* A read that waits. */
struct waiter {
	struct waiter *next;
	fuse_req_t req;
	struct kmt_file *file;
	size_t	size;
};

struct kmt_fuse {
	struct kmt_tree *tree;
	struct kmt_fuse_opts opts;
	struct fuse_session *session;
	struct timespec start;
	uid_t	uid;
	unsigned max_read;		/* of the options; 0: not in them */
	bool	is_mounted, catches;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;
	struct handle handles;		/* the ring's head */
	struct waiter *waiters;		/* the oldest first */
	unsigned n_polls;
	bool	stop;
	char	*chunk;			/* of the thread that looks */
};

static struct kmt_fuse *fuse_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static void reply_error(fuse_req_t req, int err)
{
	fuse_reply_err(req, -err);
}

/* ---- reads that wait ---- */

/* The answer, if there is one by now. */
static bool waiter_answer(struct kmt_fuse *fs, const struct waiter *w)
{
	ssize_t n;

	if (fs->stop) {
		fuse_reply_buf(w->req, NULL, 0);	/* nothing will come any more */
		return true;
	}
	if (fuse_req_interrupted(w->req)) {
		reply_error(w->req, -EINTR);
		return true;
	}
	n = kmt_file_read(w->file, fs->chunk, w->size < READ_MAX ? w->size : READ_MAX, 0);
	if (n == -EAGAIN)
		return false;
	if (n < 0)
		reply_error(w->req, (int)n);
	else
		fuse_reply_buf(w->req, fs->chunk, (size_t)n);
	return true;
}

static void look_at_waiters(struct kmt_fuse *fs)
{
	struct waiter **at = &fs->waiters;

	while (*at) {
		struct waiter *w = *at;

		if (waiter_answer(fs, w)) {
			*at = w->next;
			free(w);
		} else {
			at = &w->next;
		}
	}
}

static void poll_forget(struct kmt_fuse *fs, struct handle *h)
{
	if (!h->poll)
		return;
	fuse_pollhandle_destroy(h->poll);
	h->poll = NULL;
	fs->n_polls--;
}

static void look_at_polls(struct kmt_fuse *fs)
{
	for (struct handle *h = fs->handles.next; h != &fs->handles; h = h->next) {
		if (!h->poll || !kmt_file_is_ready(h->file))
			continue;
		fuse_lowlevel_notify_poll(h->poll);
		poll_forget(fs, h);
	}
}

static void *look(void *arg)
{
	struct kmt_fuse *fs = arg;

	pthread_mutex_lock(&fs->lock);
	while (!fs->stop) {
		struct timespec until;

		if (!fs->waiters && !fs->n_polls) {
			pthread_cond_wait(&fs->changed, &fs->lock);
			continue;
		}
		until = kmt_deadline(LOOK_MS);
		pthread_cond_timedwait(&fs->changed, &fs->lock, &until);
		look_at_waiters(fs);
		look_at_polls(fs);
	}
	look_at_waiters(fs);
	pthread_mutex_unlock(&fs->lock);
	return NULL;
}

static int wait_for_more(struct kmt_fuse *fs, fuse_req_t req, struct kmt_file *file, size_t size)
{
	struct waiter *w = calloc(1, sizeof(*w)), **at;

	if (!w)
		return -ENOMEM;
	*w = (struct waiter){ .req = req, .file = file, .size = size };
	pthread_mutex_lock(&fs->lock);
	for (at = &fs->waiters; *at; at = &(*at)->next)
		;
	*at = w;
	/* its time to be looked at is as good as any; only who sleeps must be told */
	if (fs->waiters == w && !fs->n_polls)
		pthread_cond_signal(&fs->changed);
	pthread_mutex_unlock(&fs->lock);
	return 0;
}

/* ---- nodes ---- */

static int fill_attr(struct kmt_fuse *fs, kmt_node node, struct stat *st)
{
	struct kmt_tree_stat ts;
	int err = kmt_tree_stat(fs->tree, node, &ts);

	if (err)
		return err;
	*st = (struct stat){
		.st_ino = node, .st_mode = ts.mode, .st_nlink = ts.n_links, .st_uid = fs->uid,
		.st_gid = ts.gid, .st_blksize = 4096, .st_atim = fs->start,
		.st_mtim = fs->start, .st_ctim = fs->start,
	};
	return 0;
}

/* Nothing is cached in the kernel: instances come and go. */
static void reply_entry(fuse_req_t req, kmt_node node)
{
	struct fuse_entry_param e = { .ino = node };
	int err = fill_attr(fuse_of(req), node, &e.attr);

	if (err)
		reply_error(req, err);
	else
		fuse_reply_entry(req, &e);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct kmt_fuse *fs = userdata;

	if (fs->max_read)
		conn->max_read = fs->max_read;
	if (fs->opts.ready)
		fs->opts.ready(fs->opts.ctx);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	kmt_node node;
	int err = kmt_tree_lookup(fuse_of(req)->tree, parent, name, &node);

	if (err)
		reply_error(req, err);
	else
		reply_entry(req, node);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;
	int err = fill_attr(fuse_of(req), ino, &st);

	if (err)
		reply_error(req, err);
	else
		fuse_reply_attr(req, &st, 0);
}

/* truncate(2) and touch(1); owners and modes are fixed when it is mounted. */
static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	int err = 0;

	if (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		err = -EPERM;
	else if (to_set & FUSE_SET_ATTR_SIZE)
		err = kmt_tree_truncate(fuse_of(req)->tree, ino);
	if (err)
		reply_error(req, err);
	else
		op_getattr(req, ino, fi);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	kmt_node node;
	int err = kmt_tree_mkdir(fuse_of(req)->tree, parent, name, &node);

	if (err)
		reply_error(req, err);
	else
		reply_entry(req, node);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_error(req, kmt_tree_rmdir(fuse_of(req)->tree, parent, name));
}

/* ---- what tracefs does not allow either ---- */

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *fi)
{
	reply_error(req, -EACCES);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
	reply_error(req, -EACCES);
}

static void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	reply_error(req, -EPERM);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_error(req, -EPERM);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
		      const char *new_name, unsigned int flags)
{
	reply_error(req, -EPERM);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	reply_error(req, -EPERM);
}

/* ---- handles ---- */

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static void handle_close(struct kmt_fuse *fs, struct handle *h)
{
	pthread_mutex_lock(&fs->lock);
	poll_forget(fs, h);
	h->prev->next = h->next;
	h->next->prev = h->prev;
	pthread_mutex_unlock(&fs->lock);
	if (h->file)
		kmt_file_close(h->file);
	kmt_tree_entries_free(h->entries, h->n_entries);
	free(h);
}

static void reply_open(fuse_req_t req, struct handle *h, struct fuse_file_info *fi)
{
	struct kmt_fuse *fs = fuse_of(req);

	pthread_mutex_lock(&fs->lock);
	h->prev = &fs->handles;
	h->next = fs->handles.next;
	h->next->prev = h->prev->next = h;
	pthread_mutex_unlock(&fs->lock);
	fi->fh = (uintptr_t)h;
	/* an open(2) that was interrupted is never closed by the kernel */
	if (fuse_reply_open(req, fi) == -ENOENT)
		handle_close(fs, h);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	handle_close(fuse_of(req), handle_of(fi));
	reply_error(req, 0);
}

/* ---- directories ---- */

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = calloc(1, sizeof(*h));
	int err = h ? kmt_tree_list(fuse_of(req)->tree, ino, &h->entries, &h->n_entries) : -ENOMEM;

	if (err) {
		free(h);
		reply_error(req, err);
		return;
	}
	reply_open(req, h, fi);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		       struct fuse_file_info *fi)
{
	const struct handle *h = handle_of(fi);
	_cleanup_free_ char *out = malloc(size);
	size_t used = 0;

	if (!out) {
		reply_error(req, -ENOMEM);
		return;
	}
	for (size_t i = (size_t)offset; i < h->n_entries + 2; i++) {
		const struct kmt_tree_entry *e = i < 2 ? NULL : &h->entries[i - 2];
		struct stat st = { .st_ino = e ? e->node : ino,
				   .st_mode = e ? e->mode : S_IFDIR };
		size_t more = fuse_add_direntry(req, out + used, size - used, e ? e->name :
						i ? ".." : ".", &st, (off_t)i + 1);

		if (more > size - used)
			break;
		used += more;
	}
	fuse_reply_buf(req, out, used);
}

/* ---- files ---- */

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = calloc(1, sizeof(*h));
	int err = h ? kmt_tree_open(fuse_of(req)->tree, ino, fi->flags, &h->file) : -ENOMEM;

	if (err) {
		free(h);
		reply_error(req, err);
		return;
	}
	fi->direct_io = 1;
	fi->nonseekable = kmt_file_is_pipe(h->file);
	reply_open(req, h, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		    struct fuse_file_info *fi)
{
	struct kmt_file *file = handle_of(fi)->file;
	_cleanup_free_ char *out = NULL;
	ssize_t n = -ENOMEM;

	if (size > READ_MAX)
		size = READ_MAX;
	out = malloc(size ? size : 1);
	if (out)
		n = kmt_file_read(file, out, size, (uint64_t)offset);
	if (n == -EAGAIN && kmt_file_is_pipe(file) && !(fi->flags & O_NONBLOCK)) {
		n = wait_for_more(fuse_of(req), req, file, size);
		if (!n)
			return;
	}
	if (n < 0)
		reply_error(req, (int)n);
	else
		fuse_reply_buf(req, out, (size_t)n);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	ssize_t n = kmt_file_write(handle_of(fi)->file, data, size);

	if (n < 0)
		reply_error(req, (int)n);
	else
		fuse_reply_write(req, (size_t)n);
}

static void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		    struct fuse_pollhandle *poll)
{
	struct kmt_fuse *fs = fuse_of(req);
	struct handle *h = handle_of(fi);
	bool is_pipe = kmt_file_is_pipe(h->file);

	if (poll) {
		pthread_mutex_lock(&fs->lock);
		poll_forget(fs, h);
		h->poll = poll;
		if (!fs->n_polls++ && !fs->waiters)
			pthread_cond_signal(&fs->changed);
		pthread_mutex_unlock(&fs->lock);
	}
	if (!kmt_file_is_ready(h->file))
		fuse_reply_poll(req, 0);
	else
		fuse_reply_poll(req, POLLIN | POLLRDNORM | (is_pipe ? 0 : POLLOUT | POLLWRNORM));
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init, .lookup = op_lookup, .getattr = op_getattr, .setattr = op_setattr,
	.mkdir = op_mkdir, .rmdir = op_rmdir, .create = op_create, .mknod = op_mknod,
	.symlink = op_symlink, .unlink = op_unlink, .rename = op_rename, .link = op_link,
	.opendir = op_opendir, .readdir = op_readdir, .releasedir = op_release,
	.open = op_open, .release = op_release, .read = op_read, .write = op_write,
	.poll = op_poll,
};

/* ---- from mount to unmount ---- */

/*
 * libfuse would print: its last line becomes the error's text. It may come in
 * pieces, of which the first begins with "fuse: ".
 */
static void keep_message(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char text[400], before[400];
	bool begins;

	if (level > FUSE_LOG_WARNING)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	begins = !strncmp(text, "fuse: ", 6);
	snprintf(before, sizeof(before), "%s", begins ? "" : kmt_err_text());
	kmt_err(0, "%s%s", before, begins ? text + 6 : text);
}

/* The kernel is told one limit by mount(2) and libfuse another, unless both are the same. */
static int note_max_read(struct kmt_fuse *fs, struct fuse_args *args)
{
	static const struct fuse_opt opts[] = {
		{ "max_read=%u", offsetof(struct kmt_fuse, max_read), 0 },
		FUSE_OPT_KEY("max_read=", FUSE_OPT_KEY_KEEP), FUSE_OPT_END,
	};

	return fuse_opt_parse(args, fs, opts, NULL) ? -EINVAL : 0;
}

static int new_session(struct kmt_fuse *fs)
{
	_cleanup_buf_ struct kmt_buf options = { 0 };
	char *argv[] = { "kmemtrace", "-o", NULL, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);

	kmt_buf_puts(&options, "fsname=kmemtrace,default_permissions");
	if (fs->opts.allow_other)
		kmt_buf_puts(&options, ",allow_other");
	if (fs->opts.options && *fs->opts.options)
		kmt_buf_printf(&options, ",%s", fs->opts.options);
	/* the last one counts: by it a dead mount is known as ours */
	kmt_buf_puts(&options, ",subtype=kmemtrace");
	if (options.error)
		return kmt_err(-ENOMEM, "no memory for the options");
	argv[2] = options.data;
	kmt_err(0, "the options are wrong");
	if (!note_max_read(fs, &args))
		fs->session = fuse_session_new(&args, &ops, sizeof(ops), fs);
	fuse_opt_free_args(&args);
	return fs->session ? 0 : -EINVAL;
}

static int check_device(void)
{
	_cleanup_close_ int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return 0;
	if (errno == EACCES || errno == EPERM)
		return kmt_err(-EPERM, "no right to open /dev/fuse (run as root)");
	return kmt_err(-ENODEV, "no /dev/fuse: this kernel has no FUSE, or not yet ('modprobe fuse')");
}

/* From before it is mounted until it is not any more: a signal must not leave a dead mount. */
static int catch_signals(struct kmt_fuse *fs)
{
	if (!fs->opts.signals)
		return 0;
	if (fuse_set_signal_handlers(fs->session))
		return kmt_err(-EIO, "signals cannot be caught");
	fs->catches = true;
	return 0;
}

int kmt_fuse_mount(struct kmt_tree *tree, const struct kmt_fuse_opts *opts,
		   struct kmt_fuse **ret_fuse)
{
	struct kmt_fuse *fs;
	int err = check_device();

	if (err)
		return err;
	fs = calloc(1, sizeof(*fs));
	if (!fs)
		return kmt_err(-ENOMEM, "no memory for the mount");
	fs->tree = tree;
	fs->opts = *opts;
	fs->uid = geteuid();
	fs->handles.next = fs->handles.prev = &fs->handles;
	clock_gettime(CLOCK_REALTIME, &fs->start);
	pthread_mutex_init(&fs->lock, NULL);
	kmt_cond_init(&fs->changed);
	fuse_set_log_func(keep_message);
	fs->chunk = malloc(READ_MAX);
	err = fs->chunk ? new_session(fs) : kmt_err(-ENOMEM, "no memory for the mount");
	if (!err)
		err = catch_signals(fs);
	if (!err) {
		kmt_err(0, "not allowed");
		fs->is_mounted = !fuse_session_mount(fs->session, opts->dir);
		err = fs->is_mounted ? 0 : -EPERM;
	}
	if (err)
		kmt_fuse_free(fs);
	else
		*ret_fuse = fs;
	return err;
}

static int serve(struct kmt_fuse *fs)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int err;

	if (!config)
		return kmt_err(-ENOMEM, "no memory to serve");
	fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
	fuse_loop_cfg_set_idle_threads(config, IDLE_THREADS);
	/* 0: unmounted; a signal's number: that was it */
	err = fuse_session_loop_mt(fs->session, config);
	fuse_loop_cfg_destroy(config);
	/* unmounted too, but with requests under way: libfuse (3.14) knows ENODEV only */
	if (err == -ECONNABORTED)
		err = 0;
	return err < 0 ? kmt_err_errno(err, "serving the mount failed") : 0;
}

int kmt_fuse_serve(struct kmt_fuse *fs)
{
	sigset_t all, before;
	pthread_t looker;
	int err;

	/* signals are for this thread, which waits for the others' end */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = -pthread_create(&looker, NULL, look, fs);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return kmt_err_errno(err, "no thread");
	err = serve(fs);
	pthread_mutex_lock(&fs->lock);
	fs->stop = true;
	pthread_cond_signal(&fs->changed);
	pthread_mutex_unlock(&fs->lock);
	pthread_join(looker, NULL);
	return err;
}

void kmt_fuse_free(struct kmt_fuse *fs)
{
	if (!fs)
		return;
	if (fs->is_mounted)
		fuse_session_unmount(fs->session);
	if (fs->catches)
		fuse_remove_signal_handlers(fs->session);
	while (fs->handles.next && fs->handles.next != &fs->handles)
		handle_close(fs, fs->handles.next);
	if (fs->session)
		fuse_session_destroy(fs->session);
	pthread_cond_destroy(&fs->changed);
	pthread_mutex_destroy(&fs->lock);
	free(fs->chunk);
	free(fs);
}
