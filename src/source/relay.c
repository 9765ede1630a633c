// SPDX-License-Identifier: GPL-2.0-only
/*
 * The binary recordings of the original as it was before it became an ftrace
 * plugin: the files cpu<n> of debugfs, copied away. Whichever of them is named,
 * those beside it are read as well, and all become one stream by the sequence
 * number that they share.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/legacy_filter.h"
#include "source/relay_file.h"
#include "source/source.h"
#include "source/words.h"

#define BATCH	4096	/* records looked at in one poll() */
#define MAX_CPUS 1024	/* 16 MiB of buffers, and as many files as a process may open */

extern const struct kmt_source_ops kmt_source_relay;

struct relay {
	struct kmt_source base;
	struct kmt_relay_file **file;
	size_t n;
	bool swap;
	bool has_seq;
	uint32_t next_seq;	/* that of the next record, if none is missing */
	uint64_t overruns;	/* what the kernel counted; told at the end */
	uint64_t bad_told;
	uint64_t lost[KMT_LOSS_MAX];
	struct kmt_legacy_filter filter;
};

static struct relay *relay_of(struct kmt_source *src)
{
	return (struct relay *)src;
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool relay_detect(const void *head, size_t len)
{
	bool swap;

	return kmt_relay_detect(head, len, &swap);
}

static void relay_close(struct kmt_source *src)
{
	struct relay *r = relay_of(src);

	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		kmt_relay_file_done(r->file[i]);
		free(r->file[i]);
	}
	free(r->file);
	kmt_legacy_filter_done(&r->filter);
	free(r);
}

static int add_file(struct relay *r, int fd, uint32_t cpu)
{
	struct kmt_relay_file *f = malloc(sizeof(*f));

	if (!f) {
		if (fd > STDIN_FILENO)
			close(fd);
		return kmt_err(-ENOMEM, "out of memory for reading CPU %" PRIu32, cpu);
	}
	kmt_relay_file_init(f, fd, cpu, r->swap);
	r->file[r->n++] = f;
	return 0;
}

/* "cpu12.out": 12 and ".out" */
static bool parse_name(const char *name, uint32_t *ret_cpu, const char **ret_suffix)
{
	size_t digits = strncmp(name, "cpu", 3) ? 0 : strspn(name + 3, "0123456789");
	uint64_t cpu;

	if (!kmt_word_number((struct kmt_word){ name + 3, digits }, 10, UINT32_MAX - 1, &cpu))
		return false;
	*ret_cpu = (uint32_t)cpu;
	*ret_suffix = name + 3 + digits;
	return true;
}

static int open_sibling(struct relay *r, int dir, const char *name, uint32_t cpu)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return kmt_err_errno(-errno, "cannot open 'cpu%" PRIu32 "' beside it", cpu);
	return add_file(r, fd, cpu);
}

/* "total_overruns" of the same directory, if it was copied as well. */
static uint64_t read_overruns(int dir)
{
	_cleanup_close_ int fd = openat(dir, "total_overruns", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[32];
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text));
	uint64_t n = 0;

	while (len > 0 && text[len - 1] == '\n')
		len--;
	if (len > 0 && !kmt_word_number((struct kmt_word){ text, (size_t)len }, 10, UINT64_MAX, &n))
		return 0;
	return n;
}

static int open_siblings(struct relay *r, const char *path, const char *base, uint32_t own_cpu,
			 const char *suffix)
{
	char dir_path[4096];
	_cleanup_(cleanup_dir) DIR *dir = NULL;
	struct dirent *de;
	int err = 0;

	if (snprintf(dir_path, sizeof(dir_path), "%.*s.", (int)(base - path), path) >=
	    (int)sizeof(dir_path))
		return kmt_err(-ENAMETOOLONG, "the path is too long");
	dir = opendir(dir_path);
	if (!dir)
		return kmt_err_errno(-errno, "cannot look for other CPUs in '%s'", dir_path);
	while (!err && (de = readdir(dir))) {
		const char *rest;
		uint32_t cpu;

		if (!parse_name(de->d_name, &cpu, &rest) || strcmp(rest, suffix) || cpu == own_cpu)
			continue;
		if (r->n == MAX_CPUS)
			return kmt_err(-E2BIG, "more than %d CPUs", MAX_CPUS);
		err = open_sibling(r, dirfd(dir), de->d_name, cpu);
	}
	r->overruns = read_overruns(dirfd(dir));
	return err;
}

/* The byte order is that of the file that was named. */
static int open_files(struct relay *r, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *suffix;
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), err;
	struct kmt_relay_file *f;
	uint32_t cpu = 0;
	bool has_name;

	if (fd < 0)
		return kmt_err_errno(-errno, "cannot open '%s'", path);
	has_name = !is_stdin && parse_name(base, &cpu, &suffix);
	err = add_file(r, fd, cpu);
	if (err)
		return err;
	f = r->file[0];
	do {	/* enough to see what it is; it stays in the buffer */
		ssize_t got = read(fd, f->buf + f->len, sizeof(f->buf) - f->len);

		if (got < 0 && errno != EINTR)
			return kmt_err_errno(-errno, "cannot read '%s'", path);
		f->at_end = !got;
		f->len += got > 0 ? (size_t)got : 0;
	} while (!f->at_end && f->len < KMT_RELAY_ALLOC);
	if (!kmt_relay_detect(f->buf, f->len, &r->swap))
		return kmt_err(-EINVAL, "byte 0: no kmemtrace record");
	f->swap = r->swap;
	return has_name ? open_siblings(r, path, base, cpu, suffix) : 0;
}

static int relay_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	struct relay *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return kmt_err(-ENOMEM, "out of memory for reading '%s'", opts->path);
	r->base.ops = &kmt_source_relay;
	r->file = calloc(MAX_CPUS, sizeof(*r->file));
	err = r->file ? kmt_legacy_filter_init(&r->filter, opts->filter, opts->symbols) :
	      kmt_err(-ENOMEM, "out of memory for reading '%s'", opts->path);
	if (!err)
		err = open_files(r, opts->path);
	if (err) {
		relay_close(&r->base);
		return err;
	}
	*ret = &r->base;
	return 0;
}

static int pass_lost(struct relay *r, const struct kmt_sink *sink, enum kmt_loss reason,
		     uint64_t events)
{
	const struct kmt_lost lost = { .reason = reason, .cpu = UINT32_MAX, .events = events };

	if (!events)
		return 0;
	r->lost[reason] += events;
	return sink->lost ? sink->lost(sink->ctx, &lost) : 0;
}

static uint64_t bad_places(const struct relay *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->file[i]->bad_places;
	return n;
}

/*
 * The file whose next record is the next of all; NULL if there is none, with
 * the reason. Numbers wrap: what matters is how far they are from the expected
 * one.
 */
static struct kmt_relay_file *pick(struct relay *r, int timeout_ms, int *ret_err)
{
	struct kmt_relay_file *best = NULL;

	*ret_err = -ENODATA;
	for (size_t i = 0; i < r->n; i++) {
		struct kmt_relay_file *f = r->file[i];
		uint32_t base = r->has_seq ? r->next_seq : best ? best->seq : 0;
		int err = kmt_relay_file_head(f, timeout_ms);

		if (err == -ENODATA)
			continue;
		if (err != 1) {
			*ret_err = err;
			return NULL;
		}
		if (!best || (int32_t)(f->seq - base) < (int32_t)(best->seq - base))
			best = f;
	}
	return best;
}

/* 1: handed on; 0: the filter has it; negative: the sink's error. */
static int pass_record(struct relay *r, const struct kmt_sink *sink, struct kmt_relay_file *f)
{
	int32_t gap = r->has_seq ? (int32_t)(f->seq - r->next_seq) : 0;
	uint64_t bad = bad_places(r) - r->bad_told;
	int err = pass_lost(r, sink, KMT_LOSS_INPUT, bad);

	r->bad_told += bad;
	f->has_head = false;
	if (!err && gap > 0)
		err = pass_lost(r, sink, KMT_LOSS_RING, (uint64_t)gap);
	if (gap >= 0)		/* one that comes late fills no gap that was told */
		r->next_seq = f->seq + 1;
	r->has_seq = true;
	if (!err)
		err = kmt_legacy_filter_event(&r->filter, &f->ev);
	if (err <= 0)
		return err;
	err = sink->event ? sink->event(sink->ctx, &f->ev) : 0;
	return err ? err : 1;
}

static int at_end(struct relay *r, const struct kmt_sink *sink)
{
	uint64_t bad = bad_places(r) - r->bad_told, overruns = r->overruns;
	int err = pass_lost(r, sink, KMT_LOSS_INPUT, bad);

	r->bad_told += bad;
	r->overruns = 0;
	if (!err)
		err = pass_lost(r, sink, KMT_LOSS_RING, overruns);
	return err ? err : -ENODATA;
}

static int relay_poll(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms)
{
	struct relay *r = relay_of(src);
	int events = 0;

	for (int i = 0; i < BATCH; i++) {
		int err;
		struct kmt_relay_file *f = pick(r, events ? 0 : timeout_ms, &err);

		if (!f && (events || !err))
			return events;	/* an error comes again the next time */
		if (!f)
			return err == -ENODATA ? at_end(r, sink) : err;
		err = pass_record(r, sink, f);
		if (err < 0)
			return err;
		events += err;
	}
	return events;
}

static void relay_quality(struct kmt_source *src, struct kmt_quality *q)
{
	struct relay *r = relay_of(src);

	snprintf(q->source, sizeof(q->source), "%s", r->base.ops->name);
	snprintf(q->mode, sizeof(q->mode), "streamed");
	for (unsigned i = 0; i < KMT_LOSS_MAX; i++)
		q->lost[i] = r->lost[i];
	q->lost[KMT_LOSS_OBJECTS] += r->filter.untracked;
	q->filtered = r->filter.rejected;
	q->unknown_tasks = r->filter.unknown_tasks;
	for (size_t i = 0; i < r->n && !q->first_bad[0]; i++)
		if (r->file[i]->bad_places)
			snprintf(q->first_bad, sizeof(q->first_bad),
				 "byte %" PRIu64 " of CPU %" PRIu32 ": no record",
				 r->file[i]->first_bad, r->file[i]->ev.cpu);
}

const struct kmt_source_ops kmt_source_relay = {
	.name	 = "relay",
	.help	 = "cpu<n> files of the original's binary recordings, all of a directory",
	.detect	 = relay_detect,
	.open	 = relay_open,
	.poll	 = relay_poll,
	.quality = relay_quality,
	.close	 = relay_close,
};
