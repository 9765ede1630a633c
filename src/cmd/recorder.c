// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/beside.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "core/session.h"
#include "store/writer.h"
#include "symbol/nodes.h"
#include "symbol/slabs.h"

#define BEHIND_MAX	(64ull << 20)	/* what may wait for the disk: seconds of any load */
#define BEHIND_MIN	(4ull << 20)
#define BEHIND_SHARE	256		/* of the memory */

/* ---- the file ---- */

static bool is_stdout(const char *path)
{
	return !strcmp(path, "-");
}

static int open_stdout(struct kmt_recorder *r)
{
	struct stat st;

	if (isatty(STDOUT_FILENO))
		return kmt_cmd_fail(KMT_EXIT_USAGE, "a recording is nothing for a terminal: "
				    "redirect standard output");
	/* appended, it would be no recording */
	if (!fstat(STDOUT_FILENO, &st) && S_ISREG(st.st_mode) && st.st_size)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "standard output is a file that is not empty");
	if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "cannot write to standard output: %s",
				    strerror(EBADF));
	r->fd = STDOUT_FILENO;
	return 0;
}

static int cannot_make(const char *path, int err)
{
	struct stat st;

	if (err == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode))
		err = EISDIR;
	if (err == EEXIST)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "'%s' exists already (--force overwrites "
				    "it)", path);
	return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "cannot make '%s': %s", path, strerror(err));
}

/* What may be a fifo, whose reader has yet to come. */
static int open_there(struct kmt_recorder *r)
{
	sigset_t before;
	int err;

	kmt_run_mortal(&before);
	r->fd = open(r->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	err = errno;
	kmt_run_deaf(&before);
	return r->fd < 0 ? cannot_make(r->path, err) : 0;
}

/*
 * Two writers would leave a file that is neither's. The lock goes with the
 * descriptor; where a file system has none, nobody is kept out.
 */
static int lock(struct kmt_recorder *r)
{
	struct stat st;

	if (fstat(r->fd, &st) || !S_ISREG(st.st_mode) || !flock(r->fd, LOCK_EX | LOCK_NB) ||
	    errno != EWOULDBLOCK)
		return 0;
	r->is_new = false;	/* it is the other's now, whoever made it */
	return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "'%s' is being written by another process",
			    r->path);
}

int kmt_recorder_open(struct kmt_recorder *r, const char *path, bool force)
{
	/* a recording holds addresses of the kernel: nobody else's business */
	const mode_t mode = S_IRUSR | S_IWUSR;

	*r = (struct kmt_recorder)KMT_RECORDER_NONE;
	r->path = path;
	if (is_stdout(path))
		return open_stdout(r);
	r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	r->is_new = r->fd >= 0;
	if (r->fd < 0 && (errno != EEXIST || !force))
		return cannot_make(path, errno);
	if (r->fd < 0) {
		int status = open_there(r);

		if (status)
			return status;
	}
	return lock(r);
}

static void empty_file(const struct kmt_recorder *r)
{
	struct stat st;

	if (!r->is_new && !fstat(r->fd, &st) && S_ISREG(st.st_mode) && st.st_size)
		(void)!ftruncate(r->fd, 0);
}

void kmt_recorder_done(struct kmt_recorder *r)
{
	struct stat mine, there;

	kmt_writer_free(r->writer);
	kmt_slabs_free(r->slabs_start);
	kmt_slabs_free(r->slabs_end);
	kmt_machine_done(&r->machine);
	if (r->fd >= 0 && r->fd != STDOUT_FILENO) {
		if (r->is_new && !r->has_begun && !fstat(r->fd, &mine) &&
		    !lstat(r->path, &there) && mine.st_ino == there.st_ino &&
		    mine.st_dev == there.st_dev)
			unlink(r->path);
		close(r->fd);
	}
	*r = (struct kmt_recorder)KMT_RECORDER_NONE;
}

/* ---- what is known ---- */

static void ask_machine(struct kmt_recorder *r, const struct kmt_recorder_opts *opts)
{
	r->is_live = true;
	kmt_machine_ask(&r->machine, opts->argv, opts->gfp_names);
	kmt_machine_facts(&r->machine, &r->facts);
	r->facts.symbols = opts->symbols;
	r->facts.clock = "mono";
	r->facts.temporary_ns = opts->temporary_ns;
}

static bool asked_to_stop(void *ctx)
{
	return kmt_run_over(ctx);
}

/* What waits for the disk, on a small machine less. */
static size_t behind_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t share = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / BEHIND_SHARE : 0;

	return share > BEHIND_MAX ? BEHIND_MAX : share < BEHIND_MIN ? BEHIND_MIN : share;
}

int kmt_recorder_begin(struct kmt_recorder *r, const struct kmt_recorder_opts *opts)
{
	struct kmt_writer_opts wo = {
		.fd = r->fd, .name = is_stdout(r->path) ? "standard output" : r->path,
		.facts = &r->facts, .options = opts->filters, .source = opts->source,
		.max_bytes = opts->max_bytes, .ring_bytes = opts->ring_bytes,
		.starts_later = true, .behind_bytes = behind_bytes(),
		.hurry = opts->run ? asked_to_stop : NULL, .hurry_ctx = opts->run,
	};
	int err;

	if (opts->facts) {
		r->facts = *opts->facts;
		r->facts.symbols = opts->symbols;
	} else {
		ask_machine(r, opts);
	}
	r->has_begun = true;
	empty_file(r);
	err = kmt_writer_new(&wo, &r->writer);
	if (err)
		r->failed = true;
	else
		r->out = kmt_writer_sink(r->writer);
	return err;
}

int kmt_recorder_start(struct kmt_recorder *r)
{
	int err;

	if (r->is_live) {
		r->facts.start_ns = kmt_live_now();
		r->facts.start_realtime_ns = kmt_live_realtime_now();
		if (!kmt_slabs_count_now(NULL, false, &r->slabs_start))
			r->facts.slabs_start = r->slabs_start;
	}
	err = kmt_writer_start(r->writer, &r->facts);
	r->failed |= err < 0;
	return err;
}

void kmt_recorder_stop(struct kmt_recorder *r)
{
	r->facts.end_ns = kmt_live_now();
	if (!kmt_slabs_count_now(NULL, false, &r->slabs_end))
		r->facts.slabs_end = r->slabs_end;
}

/* ---- events ---- */

static int on_event(void *ctx, const struct kmt_event *ev)
{
	struct kmt_recorder *r = ctx;
	struct kmt_event with_node;
	int err;

	if (r->nodes && ev->op == KMT_OP_ALLOC && ev->real_node < 0 && ev->addr) {
		with_node = *ev;
		with_node.real_node = (int16_t)kmt_nodes_of(r->nodes, ev->addr);
		ev = &with_node;
	}
	err = r->out.event(r->out.ctx, ev);
	r->failed |= err < 0;
	r->events += !err;
	return err;
}

static int on_lost(void *ctx, const struct kmt_lost *lost)
{
	struct kmt_recorder *r = ctx;
	int err = r->out.lost(r->out.ctx, lost);

	r->failed |= err < 0;
	return err;
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	struct kmt_recorder *r = ctx;
	int err = r->out.snapshot(r->out.ctx, snap);

	r->failed |= err < 0;
	return err;
}

struct kmt_sink kmt_recorder_sink(struct kmt_recorder *r)
{
	return (struct kmt_sink){ .event = on_event, .lost = on_lost, .snapshot = on_snapshot,
				  .ctx = r };
}

int kmt_recorder_turn(struct kmt_recorder *r)
{
	int err = kmt_writer_tick(r->writer);

	r->failed |= err < 0;
	return err;
}

/* ---- a session's books ---- */

struct object_walk {
	int (*cb)(void *ctx, const struct kmt_snap_object *o);
	void *ctx;
};

static int walk_object(void *ctx, const struct kmt_object *o)
{
	const struct object_walk *w = ctx;
	const struct kmt_snap_object snap = {
		.addr = o->addr, .bytes_req = o->bytes_req, .birth_ns = o->birth_ns,
		.site = (uint32_t)o->site, .cpu = o->cpu, .awaiting = o->awaiting,
	};

	return w->cb(w->ctx, &snap);
}

static int each_object(void *ctx, int (*cb)(void *cb_ctx, const struct kmt_snap_object *o),
		       void *cb_ctx)
{
	struct object_walk w = { .cb = cb, .ctx = cb_ctx };

	return kmt_session_each_object(ctx, walk_object, &w);
}

static void copy_rows(const struct kmt_session *s, struct kmt_snap_site *sites, size_t n,
		      struct kmt_snap_free_site *frees, size_t n_frees)
{
	for (size_t i = 0; i < n; i++) {
		const struct kmt_site *from = kmt_session_site(s, i);

		sites[i] = (struct kmt_snap_site){ .key = from->key, .counts = from->counts,
						   .gfp = from->gfp, .index = (uint32_t)i };
		memcpy(sites[i].lifetimes, from->lifetimes, sizeof(from->lifetimes));
	}
	for (size_t i = 0; i < n_frees; i++) {
		const struct kmt_free_site *from = kmt_session_free_site(s, i);

		frees[i] = (struct kmt_snap_free_site){ .call_site = from->call_site,
							.type = from->type, .frees = from->frees };
	}
}

int kmt_recorder_session(struct kmt_recorder *r, struct kmt_session *s)
{
	size_t n = kmt_session_n_sites(s), n_frees = kmt_session_n_free_sites(s);
	_cleanup_free_ struct kmt_snap_site *sites = calloc(n + 1, sizeof(*sites));
	_cleanup_free_ struct kmt_snap_free_site *frees = calloc(n_frees + 1, sizeof(*frees));
	_cleanup_free_ struct kmt_snap_older *older = NULL;
	size_t n_older = 0;
	struct kmt_snapshot snap = {
		.now_ns = kmt_session_now(s),
		.sites = sites, .n_sites = n, .free_sites = frees, .n_free_sites = n_frees,
		.each_object = kmt_session_has_objects(s) ? each_object : NULL,
		.objects_ctx = s,
	};
	int err;

	if (!sites || !frees)
		return kmt_err(-ENOMEM, "out of memory for the recording");
	err = kmt_session_settle(s);
	if (err)
		return err;
	copy_rows(s, sites, n, frees, n_frees);
	snap.has_older = kmt_session_has_older(s);
	for (struct kmt_snap_older o; kmt_session_older_at(s, n_older, &o);)
		n_older++;
	older = calloc(n_older + 1, sizeof(*older));
	if (!older)
		return kmt_err(-ENOMEM, "out of memory for the recording");
	while (kmt_session_older_at(s, snap.n_older, &older[snap.n_older]))
		snap.n_older++;
	snap.older = older;
	return on_snapshot(r, &snap);
}

/* ---- the end ---- */

int kmt_recorder_end(struct kmt_recorder *r, const struct kmt_facts *facts,
		     const struct kmt_quality *q)
{
	int err = kmt_writer_end(r->writer, facts ? facts : &r->facts, q);

	r->failed |= err < 0;
	return err;
}

uint64_t kmt_recorder_bytes(const struct kmt_recorder *r)
{
	return r->writer ? kmt_writer_bytes(r->writer) : 0;
}

static int write_books(struct kmt_recorder *r, const struct kmt_recorder_opts *opts,
		       const struct kmt_slabs *slabs_start, const struct kmt_slabs *slabs_end,
		       struct kmt_session *s)
{
	struct kmt_quality q = { 0 };
	int err = kmt_recorder_begin(r, opts);

	kmt_session_quality(s, &q);
	r->facts.end_ns = kmt_live_now();
	r->facts.start_ns = r->facts.end_ns - q.window_ns;
	r->facts.start_realtime_ns = kmt_live_realtime_now() - q.window_ns;
	r->facts.slabs_start = slabs_start;
	r->facts.slabs_end = slabs_end;
	if (!err)
		err = kmt_writer_start(r->writer, &r->facts);
	if (!err)
		err = kmt_recorder_session(r, s);
	if (!err)
		err = kmt_recorder_end(r, NULL, &q);
	/* half of the books is nothing that anybody could read: a new file goes again */
	if (err)
		r->has_begun = false;
	return err;
}

/* Written in one go: what the file held before stays until all of it can take its place. */
int kmt_recorder_books(struct kmt_recorder *r, const struct kmt_recorder_opts *opts,
		       const struct kmt_slabs *slabs_start, const struct kmt_slabs *slabs_end,
		       struct kmt_session *s)
{
	int there = r->fd, err;
	int beside = r->is_new || is_stdout(r->path) ? -1 : kmt_beside_open(r->path, there);

	if (beside < 0)
		return write_books(r, opts, slabs_start, slabs_end, s);
	r->fd = beside;
	err = write_books(r, opts, slabs_start, slabs_end, s);
	if (!err) {
		err = kmt_beside_replace(r->path, beside);
		r->failed |= err < 0;
	}
	close(there);	/* and its lock */
	return err;
}
