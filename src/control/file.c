// SPDX-License-Identifier: GPL-2.0-only
/* Open files: what is common to all types. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "control/tree.h"
#include "control/tree_priv.h"

void kmt_tree_refused(struct kmt_instance *i, const char *where, int err, const char *command,
		      size_t len)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&i->tree->lock);
	kmt_error_log_add(&i->errors, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
			  where, *kmt_err_text() ? kmt_err_text() : strerror(-err), command, len);
	pthread_mutex_unlock(&i->tree->lock);
}

static void refused(struct kmt_file *f, int err, const char *command, size_t len)
{
	char where[128];

	snprintf(where, sizeof(where), "%s%s", f->row.dir, f->row.name);
	kmt_tree_refused(f->instance, where, err, command, len);
}

static bool reads(int flags)
{
	return (flags & O_ACCMODE) != O_WRONLY;
}

static int truncate_file(struct kmt_file *f)
{
	int err;

	if (!f->row.type->truncate)
		return 0;
	kmt_err(0, "%s", "");
	err = f->row.type->truncate(f);
	if (err)
		refused(f, err, NULL, 0);
	return err;
}

/* Count statistics among those that are open, or refuse them. */
static int hold_text(struct kmt_file *f)
{
	struct kmt_tree *t = f->instance->tree;
	const uint64_t max = t->opts.max_stat_bytes;
	uint64_t others;
	bool fits;

	pthread_mutex_lock(&t->lock);
	others = t->stat_bytes;
	fits = !others || (others <= max && f->text.cap <= max - others);
	if (fits) {
		t->stat_bytes += f->text.cap;
		f->held_bytes = f->text.cap;
	}
	pthread_mutex_unlock(&t->lock);
	return fits ? 0 : kmt_err(-ENOMEM, "open files of trace_stat/ take %" PRIu64
				  " MiB already", others >> 20);
}

static int prepare_read(struct kmt_file *f)
{
	int err = 0;

	kmt_err(0, "%s", "");
	if (f->row.type->open)
		err = f->row.type->open(f);
	else if (f->row.type->text)
		err = f->row.type->text(f, &f->text);
	if (!err && f->text.error)
		err = kmt_err(f->text.error, "no memory for the text");
	if (!err && f->row.stat)
		err = hold_text(f);
	if (err)
		refused(f, err, NULL, 0);
	return err;
}

static void file_free(struct kmt_file *f)
{
	pthread_mutex_lock(&f->instance->tree->lock);
	f->instance->tree->stat_bytes -= f->held_bytes;
	pthread_mutex_unlock(&f->instance->tree->lock);
	kmt_buf_done(&f->text);
	kmt_buf_done(&f->list);
	kmt_buf_done(&f->left);
	pthread_mutex_destroy(&f->lock);
	kmt_tree_drop(f->instance);
	free(f);
}

int kmt_tree_open(struct kmt_tree *t, kmt_node node, int flags, struct kmt_file **ret_file)
{
	struct kmt_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	err = kmt_tree_hold(t, node, &f->row, &f->instance);
	if (err) {
		free(f);
		return err;
	}
	f->flags = flags;
	pthread_mutex_init(&f->lock, NULL);
	if ((flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY)
		err = truncate_file(f);
	if (!err && reads(flags))
		err = prepare_read(f);
	if (err)
		file_free(f);
	else
		*ret_file = f;
	return err;
}

void kmt_file_close(struct kmt_file *f)
{
	if (f->row.type->close)
		f->row.type->close(f);
	file_free(f);
}

int kmt_tree_truncate(struct kmt_tree *t, kmt_node node)
{
	struct kmt_file f = { 0 };
	int err = kmt_tree_hold(t, node, &f.row, &f.instance);

	if (err)
		return err;
	err = truncate_file(&f);
	kmt_tree_drop(f.instance);
	return err;
}

static ssize_t read_text(const struct kmt_file *f, char *out, size_t size, uint64_t offset)
{
	if (offset >= f->text.len)
		return 0;
	if (size > f->text.len - offset)
		size = f->text.len - offset;
	memcpy(out, f->text.data + offset, size);
	return (ssize_t)size;
}

ssize_t kmt_file_read(struct kmt_file *f, char *out, size_t size, uint64_t offset)
{
	ssize_t n;

	if (!reads(f->flags))
		return -EBADF;
	if (!size)
		return 0;
	pthread_mutex_lock(&f->lock);
	if (f->row.type->read)
		n = f->row.type->read(f, out, size, offset);
	else
		n = read_text(f, out, size, offset);
	pthread_mutex_unlock(&f->lock);
	return n;
}

ssize_t kmt_file_write(struct kmt_file *f, const char *data, size_t size)
{
	int err;

	if ((f->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	kmt_err(0, "%s", "");
	if (!f->row.type->write || !(f->row.mode & 0200)) {
		err = kmt_err(-EINVAL, "it can only be read");
	} else {
		pthread_mutex_lock(&f->lock);
		err = f->row.type->write(f, data, size);
		pthread_mutex_unlock(&f->lock);
	}
	if (err)
		refused(f, err, data, size);
	return err ? err : (ssize_t)size;
}

bool kmt_file_is_pipe(const struct kmt_file *f)
{
	return f->row.type->is_pipe;
}
