// SPDX-License-Identifier: GPL-2.0-only
#include "store/behind.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"

#define ASK_MS		100
#define PATIENCE_MS	500	/* for a reader that takes nothing, once there is a hurry */

struct job {
	struct job *next;
	uint8_t *data;		/* NULL: shorten the file to 'at' */
	size_t len;
	uint64_t at;
};

struct kmt_behind {
	struct kmt_behind_opts opts;
	bool is_file;		/* else a pipe: a write must not wait for ever */
	pthread_t thread;
	pthread_mutex_t lock;	/* of all below */
	pthread_cond_t more;	/* a job, or the end */
	pthread_cond_t less;	/* a job is done */
	struct job *first, **last;
	size_t waiting;
	int error;
	bool is_over, in_hurry;
};

static void job_free(struct job *j)
{
	free(j->data);
	free(j);
}

/* ---- the thread ---- */

static bool hurries(struct kmt_behind *b)
{
	bool yes;

	pthread_mutex_lock(&b->lock);
	yes = b->in_hurry || b->is_over;
	pthread_mutex_unlock(&b->lock);
	return yes;
}

/* A pipe that polls writable takes PIPE_BUF bytes at once. */
static int wait_writable(struct kmt_behind *b)
{
	struct pollfd p = { .fd = b->opts.fd, .events = POLLOUT };
	int patience = PATIENCE_MS;

	for (;;) {
		int n = poll(&p, 1, ASK_MS);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			return p.revents & POLLOUT ? 0 : -EPIPE;
		if (hurries(b))
			patience -= ASK_MS;
		if (patience <= 0)
			return -EPIPE;
	}
}

static int write_some(struct kmt_behind *b, const uint8_t *p, size_t n, uint64_t at,
		      size_t *ret)
{
	ssize_t got;

	if (!b->is_file) {
		int err = wait_writable(b);

		if (err)
			return err;
		n = n < PIPE_BUF ? n : PIPE_BUF;
	}
	got = b->opts.has_places ? pwrite(b->opts.fd, p, n, (off_t)at) :
	      write(b->opts.fd, p, n);
	if (got < 0 && errno != EINTR)
		return -errno;
	if (!got)
		return -ENOSPC;
	*ret = got > 0 ? (size_t)got : 0;
	return 0;
}

/* A torn block at the end of the file is taken back; in a ring readers pass over it. */
static void cut_back(const struct kmt_behind *b, uint64_t at, uint64_t end)
{
	struct stat st;

	if (!b->is_file || fstat(b->opts.fd, &st) || (uint64_t)st.st_size > end)
		return;
	if (!ftruncate(b->opts.fd, (off_t)at) && !b->opts.has_places)
		lseek(b->opts.fd, (off_t)at, SEEK_SET);
}

static int do_job(struct kmt_behind *b, const struct job *j)
{
	size_t done = 0, got = 0;
	int err = 0;

	if (!j->data)
		return ftruncate(b->opts.fd, (off_t)j->at) ? -errno : 0;
	while (!err && done < j->len) {
		err = write_some(b, j->data + done, j->len - done, j->at + done, &got);
		done += err ? 0 : got;
	}
	if (err && done)
		cut_back(b, j->at, j->at + done);
	return err;
}

static struct job *next_job(struct kmt_behind *b)
{
	struct job *j;

	while (!b->first && !b->is_over)
		pthread_cond_wait(&b->more, &b->lock);
	j = b->is_over ? NULL : b->first;
	return j;
}

static void *run(void *ctx)
{
	struct kmt_behind *b = ctx;
	struct job *j;

	pthread_mutex_lock(&b->lock);
	while ((j = next_job(b))) {
		int err = b->error;

		pthread_mutex_unlock(&b->lock);
		if (!err)
			err = do_job(b, j);
		pthread_mutex_lock(&b->lock);
		b->error = err;
		/* only now: who waits for nothing to wait waits for this one too */
		b->first = j->next;
		if (!b->first)
			b->last = &b->first;
		b->waiting -= j->len;
		job_free(j);
		pthread_cond_broadcast(&b->less);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

/* ---- the caller's side ---- */

/* With the lock held: until a job is done, or it is time to ask. */
static void wait_for_less(struct kmt_behind *b)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ASK_MS * 1000000l;
	if (until.tv_nsec >= 1000000000l) {
		until.tv_nsec -= 1000000000l;
		until.tv_sec++;
	}
	if (pthread_cond_timedwait(&b->less, &b->lock, &until) == ETIMEDOUT && b->opts.hurry &&
	    !b->in_hurry) {
		bool yes;

		pthread_mutex_unlock(&b->lock);
		yes = b->opts.hurry(b->opts.ctx);
		pthread_mutex_lock(&b->lock);
		b->in_hurry = yes;
	}
}

static int add(struct kmt_behind *b, uint8_t *data, size_t len, uint64_t at)
{
	struct job *j = calloc(1, sizeof(*j));
	int err;

	if (!j) {
		free(data);
		return -ENOMEM;
	}
	*j = (struct job){ .data = data, .len = len, .at = at };
	pthread_mutex_lock(&b->lock);
	while (!b->error && b->first && b->waiting + len > b->opts.max_waiting)
		wait_for_less(b);
	err = b->error;
	if (!err) {
		*b->last = j;
		b->last = &j->next;
		b->waiting += len;
		pthread_cond_signal(&b->more);
		j = NULL;
	}
	pthread_mutex_unlock(&b->lock);
	if (j)
		job_free(j);
	return err;
}

int kmt_behind_put(struct kmt_behind *b, uint8_t *data, size_t len, uint64_t at)
{
	return add(b, data, len, at);
}

int kmt_behind_cut(struct kmt_behind *b, uint64_t at)
{
	return add(b, NULL, 0, at);
}

int kmt_behind_wait(struct kmt_behind *b)
{
	int err;

	pthread_mutex_lock(&b->lock);
	while (b->first)
		wait_for_less(b);
	err = b->error;
	pthread_mutex_unlock(&b->lock);
	return err;
}

void kmt_behind_free(struct kmt_behind *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->is_over = true;
	pthread_cond_signal(&b->more);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->thread, NULL);
	while (b->first) {
		struct job *j = b->first;

		b->first = j->next;
		job_free(j);
	}
	pthread_cond_destroy(&b->less);
	pthread_cond_destroy(&b->more);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

int kmt_behind_new(const struct kmt_behind_opts *opts, struct kmt_behind **ret)
{
	struct kmt_behind *b = calloc(1, sizeof(*b));
	pthread_condattr_t attr;
	struct stat st;
	int err;

	if (!b)
		return kmt_err(-ENOMEM, "out of memory for the recording");
	b->opts = *opts;
	b->last = &b->first;
	b->is_file = !fstat(opts->fd, &st) && S_ISREG(st.st_mode);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->more, NULL);
	pthread_cond_init(&b->less, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&b->thread, NULL, run, b);
	if (err) {
		pthread_cond_destroy(&b->less);
		pthread_cond_destroy(&b->more);
		pthread_mutex_destroy(&b->lock);
		free(b);
		return kmt_err_errno(-err, "cannot make a thread that writes");
	}
	*ret = b;
	return 0;
}
