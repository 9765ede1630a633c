// SPDX-License-Identifier: GPL-2.0-only
/* A kept session (source/kept.h), read while it goes on: the pinned tables, mapped. */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/bpf_functions.h"
#include "source/bpf_pin.h"
#include "store/format.h"
#include "symbol/cgroups.h"

#define PROGS_MAX	64
#define LOOK_MAX	(1ull << 24)	/* bytes of a description */

extern const struct kmt_source_ops kmt_source_session;

/* The link of a kprobe: who has it open keeps it going, so it is opened to be asked only. */
struct kept_probe {
	char name[32];			/* its pin's */
	bool is_told;
	uint64_t missed;		/* so far, as it last said */
};

struct session {
	struct kmt_bpf bpf;		/* its source's head is ours; nothing is loaded */
	struct kmt_bpf_desc desc;
	int dir;			/* the session's */
	int progs[PROGS_MAX];
	size_t n_progs;
	struct kept_probe probes[KMT_FUNCTIONS + 1];
	size_t n_probes;
	uint32_t return_prog;		/* of a kretprobe, 0: there is none */
	int calls;			/* with it: the map of bulk allocations that have begun */
	int hashed;
	void *tables, *globals;
	size_t tables_len, globals_len;
	struct kmt_pin_globals g;
	uint64_t own_start;		/* when we began */
	uint32_t own_tgid;		/* as the kernel numbers us; 0 unknown */
};

static struct session *session_of(struct kmt_source *src)
{
	return (struct session *)src;
}

/* ---- what is pinned ---- */

/* By the directory that is open: its name may be another's by now. */
static int open_pin(const struct session *s, const char *name)
{
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", s->dir, name);
	fd = bpf_obj_get(path);
	return fd < 0 ? kmt_err_errno(fd, "its pin '%s' cannot be opened", name) : fd;
}

static size_t value_size(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.value_size;
}

static int read_description(struct session *s)
{
	_cleanup_close_ int fd = open_pin(s, KMT_PIN_DESC);
	_cleanup_free_ char *value = NULL;
	char layout[KMT_BPF_LAYOUT];
	uint32_t zero = 0;
	size_t len;

	if (fd < 0)
		return fd;
	len = value_size(fd);
	if (!len || len > LOOK_MAX)
		return kmt_err(-EBADMSG, "its description has an impossible size");
	value = malloc(len);
	if (!value)
		return kmt_err_errno(-ENOMEM, "session");
	if (bpf_map_lookup_elem(fd, &zero, value))
		return kmt_err_errno(-errno, "its description cannot be read");
	kmt_bpf_layout(layout);
	return kmt_bpf_desc_parse(value, len, layout, &s->desc);
}

static int map_pin(const struct session *s, const char *name, size_t bytes, void **ret,
		   size_t *ret_len)
{
	size_t page = sysconf(_SC_PAGESIZE), len = (bytes + page - 1) & ~(page - 1);
	_cleanup_close_ int fd = open_pin(s, name);
	void *p;

	if (fd < 0)
		return fd;
	if (value_size(fd) != bytes)
		return kmt_err(-EBADMSG, "its pin '%s' has another size than it should", name);
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return kmt_err_errno(-errno, "its pin '%s' cannot be mapped", name);
	*ret = p;
	*ret_len = len;
	return 0;
}

static int map_tables(struct session *s)
{
	struct kmt_bpf *b = &s->bpf;
	int err = map_pin(s, KMT_PIN_TABLES, b->plan.table_bytes, &s->tables, &s->tables_len);

	if (err)
		return err;
	b->tables = s->tables;
	kmt_bpf_place_tables(b);
	if (b->plan.hashed) {
		s->hashed = open_pin(s, KMT_PIN_OBJECTS);
		if (s->hashed < 0)
			return s->hashed;
	}
	b->hashed_fd = s->hashed;
	err = map_pin(s, KMT_PIN_GLOBALS, kmt_bpf_globals_size(), &s->globals, &s->globals_len);
	if (!err)
		kmt_bpf_globals(s->globals, &s->g);
	return err;
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Each pin whose name begins so; the callback has its descriptor to close. */
static int each_pin(struct session *s, const char *prefix,
		    int (*cb)(struct session *s, const char *name, int fd))
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(cleanup_dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int err = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return kmt_err_errno(-errno, "its directory cannot be read");
	}
	while (!err && (e = readdir(d))) {
		if (strncmp(e->d_name, prefix, strlen(prefix)))
			continue;
		fd = open_pin(s, e->d_name);
		err = fd < 0 ? fd : cb(s, e->d_name, fd);
	}
	return err;
}

/* The map that this program and its kretprobe share has no pin. */
static int open_calls(int prog)
{
	uint32_t ids[32] = { 0 }, len;
	struct bpf_prog_info info = { .nr_map_ids = 32, .map_ids = (uintptr_t)ids };

	len = sizeof(info);
	if (bpf_obj_get_info_by_fd(prog, &info, &len))
		return -1;
	for (uint32_t i = 0; i < info.nr_map_ids && i < 32; i++) {
		int fd = bpf_map_get_fd_by_id(ids[i]);
		struct bpf_map_info map = { 0 };

		len = sizeof(map);
		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &map, &len) &&
		    map.type == BPF_MAP_TYPE_HASH &&
		    map.value_size == sizeof(struct kmt_wire_bulk_call))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

/* For the runs that the kernel skipped, which it counts with each program. */
static int keep_program(struct session *s, const char *name, int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (s->n_progs == PROGS_MAX) {
		close(fd);
		return 0;
	}
	s->progs[s->n_progs++] = fd;
	if (!strcmp(name, KMT_PIN_PROG KMT_FUNCTIONS_ENTRY) && s->calls < 0)
		s->calls = open_calls(fd);
	if (!strcmp(name, KMT_PIN_PROG KMT_FUNCTIONS_RETURN) &&
	    !bpf_obj_get_info_by_fd(fd, &info, &len))
		s->return_prog = info.id;
	return 0;
}

/* And with each kprobe, or not at all. The programs are known. */
static int note_probe(struct session *s, const char *name, int fd)
{
	struct kmt_link_said said = { 0 };
	struct kept_probe *p = &s->probes[s->n_probes];

	if (kmt_bpf_link_ask(fd, &said) && said.is_probe && said.prog != s->return_prog &&
	    s->n_probes < sizeof(s->probes) / sizeof(s->probes[0]) &&
	    strlen(name) < sizeof(p->name)) {
		snprintf(p->name, sizeof(p->name), "%s", name);
		s->n_probes++;
	}
	close(fd);
	return 0;
}

static uint64_t probe_misses(struct session *s, uint64_t *ret_untold)
{
	uint64_t n = s->calls < 0 ? 0 : kmt_bpf_functions_unfinished(s->calls), untold = 0;

	for (size_t i = 0; i < s->n_probes; i++) {
		struct kept_probe *p = &s->probes[i];
		/* of one that was stopped meanwhile what it said last stays */
		_cleanup_close_ int fd = open_pin(s, p->name);
		struct kmt_link_said said;

		if (fd >= 0 && kmt_bpf_link_ask(fd, &said)) {
			p->is_told = said.is_told;
			p->missed = said.missed;
		}
		untold += !p->is_told;
		n += p->missed;
	}
	*ret_untold = untold;
	return n;
}

static uint64_t recursion_misses(const struct session *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_progs; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(s->progs[i], &info, &len))
			n += info.recursion_misses;
	}
	return n;
}

/* ---- our own events ---- */

/* The program that knows who runs it: of several readers the last one is left out. */
static void learn_own(struct session *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	_cleanup_close_ int fd = s->desc.ask.own ? -1 : open_pin(s, KMT_PIN_WHOAMI);

	if (fd < 0 || bpf_prog_test_run_opts(fd, &opts))
		return;
	s->own_tgid = __atomic_load_n(s->g.own_tgid, __ATOMIC_SEQ_CST);
	s->own_start = __atomic_load_n(s->g.own_start, __ATOMIC_SEQ_CST);
	__atomic_store_n(s->g.awake, 1, __ATOMIC_SEQ_CST);
}

static bool is_last_reader(const struct session *s)
{
	return s->own_tgid && __atomic_load_n(s->g.own_tgid, __ATOMIC_SEQ_CST) == s->own_tgid;
}

static void set_awake(struct session *s, bool awake)
{
	if (s->own_tgid && awake) {
		__atomic_store_n(s->g.own_start, s->own_start, __ATOMIC_SEQ_CST);
		__atomic_store_n(s->g.own_tgid, s->own_tgid, __ATOMIC_SEQ_CST);
	}
	if (is_last_reader(s))
		__atomic_store_n(s->g.awake, awake, __ATOMIC_SEQ_CST);
}

/* ---- the source ---- */

static void session_close(struct kmt_source *src)
{
	struct session *s = session_of(src);

	if (!s)
		return;
	if (s->globals)
		set_awake(s, false);
	for (size_t i = 0; i < s->n_progs; i++)
		close(s->progs[i]);
	if (s->hashed >= 0)
		close(s->hashed);
	if (s->calls >= 0)
		close(s->calls);
	if (s->dir >= 0)
		close(s->dir);
	if (s->tables)
		munmap(s->tables, s->tables_len);
	if (s->globals)
		munmap(s->globals, s->globals_len);
	kmt_kmalloc_names_free(s->bpf.kmalloc_names);
	kmt_cgroups_free(s->bpf.cgroups);
	kmt_bpf_desc_done(&s->desc);
	free(s);
}

/* They may be mounted no more: their numbers are known all the same. */
static int know_cgroups(struct kmt_bpf *b)
{
	int err = b->opts.key == KMT_BY_CGROUP ? kmt_cgroups_new(&b->cgroups) : 0;

	return err == -ENOENT ? 0 : err;
}

static int open_all(struct session *s, const struct kmt_source_opts *opts)
{
	struct kmt_bpf *b = &s->bpf;
	int err;

	s->dir = open(opts->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dir < 0)
		return kmt_err_errno(-errno, "its directory cannot be opened");
	err = read_description(s);
	if (err)
		return err;
	b->plan = s->desc.plan;
	b->opts = *opts;
	b->opts.key = s->desc.ask.key;
	b->start_ns = s->desc.facts.start_ns;
	b->running = true;
	snprintf(b->functions, sizeof(b->functions), "%s", s->desc.functions);
	err = map_tables(s);
	err = err ? err : each_pin(s, KMT_PIN_PROG, keep_program);
	err = err ? err : each_pin(s, KMT_PIN_LINK, note_probe);
	err = err ? err : kmt_kmalloc_names_new(opts->slabs, &b->kmalloc_names);
	err = err ? err : know_cgroups(b);
	if (!err && !opts->own)
		learn_own(s);
	return err;
}

static int session_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	const char *name = strrchr(opts->path, '/');
	struct session *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return kmt_err_errno(-ENOMEM, "session");
	s->bpf.src.ops = &kmt_source_session;
	s->dir = s->hashed = s->calls = -1;
	err = open_all(s, opts);
	if (err) {
		session_close(&s->bpf.src);
		return kmt_err_prefix(err, "session '%s': ", name ? name + 1 : opts->path);
	}
	*ret = &s->bpf.src;
	return 0;
}

static int session_start(struct kmt_source *src)
{
	return 0;
}

static int session_stop(struct kmt_source *src)
{
	return 0;
}

static int session_poll(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms)
{
	struct session *s = session_of(src);
	int err = 0;

	if (timeout_ms > 0) {
		set_awake(s, false);
		err = kmt_bpf_sleep(s->bpf.opts.wake_fd, timeout_ms);
		set_awake(s, true);
	}
	return err;
}

/* A row of a cache that is gone gets another key (bpf_tables.c): by one reader at a time. */
static int session_snapshot(struct kmt_source *src, const struct kmt_sink *sink)
{
	struct session *s = session_of(src);
	int err;

	while (flock(s->dir, LOCK_EX) && errno == EINTR)
		;
	err = kmt_bpf_snapshot(&s->bpf, sink);
	flock(s->dir, LOCK_UN);
	return err;
}

static void session_quality(struct kmt_source *src, struct kmt_quality *q)
{
	struct session *s = session_of(src);

	kmt_bpf_quality(&s->bpf, q);
	snprintf(q->source, sizeof(q->source), "session");
	q->recursion_misses += recursion_misses(s) + probe_misses(s, &q->misses_untold);
	q->lost_unknown = *s->g.follow_lost;
}

const struct kmt_kept_ask *kmt_kept_ask_of(const struct kmt_source *src)
{
	return &((const struct session *)src)->desc.ask;
}

const struct kmt_facts *kmt_kept_facts(const struct kmt_source *src)
{
	return &((const struct session *)src)->desc.facts;
}

void kmt_kept_sizes(const struct kmt_source *src, uint64_t *ret_sites, uint64_t *ret_object_bytes)
{
	const struct kmt_bpf_plan *p = &((const struct session *)src)->desc.plan;

	*ret_sites = p->sites;
	*ret_object_bytes = kmt_bpf_plan_object_bytes(p);
}

/* Its pins were what kept it going; the directory goes last. */
bool kmt_kept_is_over(const struct kmt_source *src)
{
	struct stat st;

	return !fstat(((const struct session *)src)->dir, &st) && !st.st_nlink;
}

static int count_object(void *ctx, uint64_t key, const struct kmt_hashed_object *o)
{
	++*(uint64_t *)ctx;
	return 0;
}

int kmt_kept_fills(const struct kmt_source *src, struct kmt_kept_fill *ret_sites,
		   struct kmt_kept_fill *ret_caches, struct kmt_kept_fill *ret_stacks,
		   struct kmt_kept_fill *ret_objects)
{
	const struct kmt_bpf *b = &((const struct session *)src)->bpf;
	const struct kmt_bpf_plan *p = &b->plan;
	struct kmt_kept_fill objects = { 0 };
	int err = 0;

	*ret_sites = (struct kmt_kept_fill){ .size = p->sites };
	*ret_caches = (struct kmt_kept_fill){ .size = p->caches };
	*ret_stacks = (struct kmt_kept_fill){ .size = p->stacks > 1 ? p->stacks : 0 };
	for (uint32_t i = 0; i < p->sites; i++)
		ret_sites->used += b->sites[i].id.key != 0;
	for (uint32_t i = 0; i < p->caches; i++)
		ret_caches->used += b->caches[i].ptr != 0;
	for (uint32_t i = 0; i < p->stacks && p->stacks > 1; i++)
		ret_stacks->used += b->stacks[i].key != 0;
	if (p->track && p->hashed) {
		objects.size = p->hashed_objects;
		err = kmt_bpf_each_hashed(b, count_object, &objects.used);
	} else if (p->track) {
		objects.size = (uint64_t)p->buckets * KMT_BUCKET_WAYS;
		for (uint64_t i = 0; i < objects.size; i++)
			objects.used += b->objects[i / KMT_BUCKET_WAYS].addr[i % KMT_BUCKET_WAYS] != 0;
	}
	*ret_objects = objects;
	return err;
}

const struct kmt_source_ops kmt_source_session = {
	.name = "session",
	.help = "a session that 'kmemtrace start' left running",
	.counted = true,
	.open = session_open,
	.start = session_start,
	.poll = session_poll,
	.stop = session_stop,
	.snapshot = session_snapshot,
	.quality = session_quality,
	.close = session_close,
};
