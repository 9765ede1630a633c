// SPDX-License-Identifier: GPL-2.0-only
#include "source/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "source/addrset.h"
#include "source/pages.h"
#include "source/tasks.h"
#include "symbol/cgroups.h"
#include "symbol/slabs.h"
#include "symbol/symbols.h"

#define MAX_ADDRESSES	(1U << 20)	/* 16 MiB */
#define MAX_VERDICTS	(1U << 16)
#define CGROUP_AGE_NS	100000000ULL	/* a task may move: look again after this */

enum answer { NO, YES, UNKNOWN };

struct kmt_select {
	const struct kmt_filter *f;
	const struct kmt_symbols *symbols;
	const struct kmt_slabs *slabs;
	struct kmt_tasks *tasks;
	struct kmt_addrset passed;	/* live objects whose allocation passed */
	struct kmt_frames frames;	/* live pages of that kind, frame by frame */
	struct kmt_addrset yes, no;	/* call sites that were looked up */
	struct kmt_addrset cache_yes, cache_no;	/* hashes of cache names */
	uint64_t untracked, unknown_tasks;
	char *cgroup;			/* as in /proc/PID/cgroup: relative to the mount */
};

bool kmt_select_wants_tasks(const struct kmt_filter *f)
{
	return f && (f->task.n || f->n_tgid || f->cgroup || (f->follow && f->n_pid));
}

/* The filter's path, with or without the mount point in front. */
static int resolve_cgroup(struct kmt_select *s)
{
	char mount[256], dir[4096];
	size_t len;

	if (kmt_cgroups_dir(s->f->cgroup, dir, sizeof(dir)) ||
	    !kmt_cgroups_mount(mount, sizeof(mount)))
		return -EINVAL;
	s->cgroup = strdup(dir + strlen(mount));
	if (!s->cgroup)
		return kmt_err(-ENOMEM, "no memory for a cgroup path");
	for (len = strlen(s->cgroup); len && s->cgroup[len - 1] == '/'; len--)
		s->cgroup[len - 1] = '\0';
	return 0;
}

int kmt_select_new(const struct kmt_source_opts *opts, struct kmt_tasks *tasks,
		   struct kmt_select **ret)
{
	const struct kmt_filter *f = opts->filter;
	struct kmt_select *s;
	int err = 0;

	if ((f->site.n || f->module.n) && !opts->symbols)
		return kmt_err(-EINVAL, "filters by site or module need kernel symbols");
	s = calloc(1, sizeof(*s));
	if (!s)
		return kmt_err(-ENOMEM, "no memory for the filter");
	s->f = f;
	s->symbols = opts->symbols;
	s->slabs = opts->slabs;
	s->tasks = tasks;
	kmt_addrset_init(&s->passed, opts->objects ? opts->objects : MAX_ADDRESSES);
	kmt_frames_init(&s->frames, MAX_ADDRESSES);
	kmt_addrset_init(&s->yes, MAX_VERDICTS);
	kmt_addrset_init(&s->no, MAX_VERDICTS);
	kmt_addrset_init(&s->cache_yes, MAX_VERDICTS);
	kmt_addrset_init(&s->cache_no, MAX_VERDICTS);
	if (f->cgroup)
		err = resolve_cgroup(s);
	if (err) {
		kmt_select_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void kmt_select_free(struct kmt_select *s)
{
	if (!s)
		return;
	kmt_addrset_done(&s->passed);
	kmt_frames_done(&s->frames);
	kmt_addrset_done(&s->yes);
	kmt_addrset_done(&s->no);
	kmt_addrset_done(&s->cache_yes);
	kmt_addrset_done(&s->cache_no);
	free(s->cgroup);
	free(s);
}

/* Take a remembered verdict; a full memory only costs time. */
static bool remembered(const struct kmt_addrset *yes, const struct kmt_addrset *no, uint64_t key,
		       bool *ret)
{
	*ret = kmt_addrset_has(yes, key);
	return *ret || kmt_addrset_has(no, key);
}

static bool look_up_cache(const struct kmt_select *s, const char *name)
{
	const struct kmt_slab *slab = kmt_slabs_find(s->slabs, name);
	const struct kmt_globs *in = &s->f->cache, *out = &s->f->cache_not;
	bool is_in = kmt_globs_match(in, name), is_out = kmt_globs_match(out, name);

	if (slab) {
		is_in = is_in || kmt_globs_match(in, slab->name) ||
			kmt_globs_match_list(in, slab->aliases);
		is_out = is_out || kmt_globs_match(out, slab->name) ||
			 kmt_globs_match_list(out, slab->aliases);
	}
	return (!in->n || is_in) && !is_out;
}

static uint64_t hash_name(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;	/* FNV-1a */

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3ULL;
	return h ? h : 1;
}

static bool cache_passes(struct kmt_select *s, const char *name)
{
	uint64_t key;
	bool pass;

	if (!s->f->cache.n && !s->f->cache_not.n)
		return true;
	if (!name)
		return !s->f->cache.n;
	key = hash_name(name);
	if (remembered(&s->cache_yes, &s->cache_no, key, &pass))
		return pass;
	pass = s->slabs ? look_up_cache(s, name) :
	       (!s->f->cache.n || kmt_globs_match(&s->f->cache, name)) &&
	       !kmt_globs_match(&s->f->cache_not, name);
	kmt_addrset_add(pass ? &s->cache_yes : &s->cache_no, key);
	return pass;
}

static bool site_passes(struct kmt_select *s, uint64_t call_site)
{
	struct kmt_symbol sym;
	bool pass;

	if (!s->f->site.n && !s->f->module.n)
		return true;
	if (!call_site)
		return false;
	if (remembered(&s->yes, &s->no, call_site, &pass))
		return pass;
	pass = kmt_symbols_find_ret(s->symbols, call_site, &sym) &&
	       (!s->f->site.n || kmt_globs_match(&s->f->site, sym.name)) &&
	       (!s->f->module.n ||
		kmt_globs_match(&s->f->module, sym.module ? sym.module : "vmlinux"));
	kmt_addrset_add(pass ? &s->yes : &s->no, call_site);
	return pass;
}

static bool size_passes(const struct kmt_filter *f, uint64_t bytes)
{
	return bytes >= f->size_min && (!f->size_max || bytes <= f->size_max);
}

static bool in_list(const uint32_t *list, size_t n, uint32_t v)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return false;
}

/*
 * Path of the task in cgroup v2 against the filter's, component by component.
 * 1, 0, or -ENOENT for a task that has gone.
 */
static int read_cgroup(const struct kmt_select *s, uint32_t tid)
{
	size_t len = strlen(s->cgroup);
	char path[64], line[4096];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::", 3))
			continue;
		return !strncmp(line + 3, s->cgroup, len) &&
		       (line[3 + len] == '/' || line[3 + len] == '\n');
	}
	return f ? 0 : -ENOENT;
}

static enum answer cgroup_passes(const struct kmt_select *s, struct kmt_task *task, uint64_t now)
{
	int res;

	if (!task->cgroup_ns || now - task->cgroup_ns > CGROUP_AGE_NS) {
		res = read_cgroup(s, task->tid);
		task->in_cgroup = res > 0;
		task->no_cgroup = res < 0 && task->tid;	/* the idle tasks are in the root */
		task->cgroup_ns = now ? now : 1;
	}
	return task->no_cgroup ? UNKNOWN : task->in_cgroup ? YES : NO;
}

static bool is_named(const struct kmt_filter *f, const struct kmt_task *task)
{
	return in_list(f->pid, f->n_pid, task->tid) ||
	       ((task->tgid || !task->tid) && in_list(f->tgid, f->n_tgid, task->tgid));
}

static enum answer number_passes(const struct kmt_filter *f, const struct kmt_task *task)
{
	if (!(f->n_pid || f->n_tgid) || (f->follow && task->followed) || is_named(f, task))
		return YES;
	return f->n_tgid && !task->tgid && task->tid ? UNKNOWN : NO;
}

static enum answer name_passes(const struct kmt_filter *f, const struct kmt_task *task,
			       uint32_t cpu)
{
	char idle[KMT_TASK_COMM];
	const char *name;

	if (!f->task.n)
		return YES;
	name = kmt_task_name(task, task->tid, cpu, idle);
	return !name ? UNKNOWN : kmt_globs_match(&f->task, name) ? YES : NO;
}

static enum answer ask_task(const struct kmt_select *s, const struct kmt_event *ev)
{
	struct kmt_task *task = kmt_tasks_get(s->tasks, ev->pid);
	enum answer res = task ? number_passes(s->f, task) : UNKNOWN, name;

	if (!task || res == NO)
		return res;
	name = name_passes(s->f, task, ev->cpu);
	if (res == YES || name == NO)
		res = name;
	if (res == YES && s->f->cgroup)
		res = cgroup_passes(s, task, ev->ts_ns);
	return res;
}

/* A task of which is not known what the filter asks does not pass, and is counted. */
static bool task_passes(struct kmt_select *s, const struct kmt_event *ev)
{
	const struct kmt_filter *f = s->f;
	enum answer res;

	if (!kmt_select_wants_tasks(f))
		return !f->n_pid || in_list(f->pid, f->n_pid, ev->pid);
	res = ask_task(s, ev);
	s->unknown_tasks += res == UNKNOWN;
	return res == YES;
}

static bool alloc_passes(struct kmt_select *s, const struct kmt_event *ev)
{
	/* the task last: of what is left out for anything else it need not be known */
	return size_passes(s->f, ev->bytes_req) && cache_passes(s, ev->cache) &&
	       site_passes(s, ev->call_site) && task_passes(s, ev);
}

static bool forget(struct kmt_select *s, const struct kmt_event *ev)
{
	if (ev->type == KMT_TYPE_PAGES)
		return kmt_frames_del(&s->frames, ev);
	return kmt_addrset_del(&s->passed, kmt_event_key(ev));
}

static int remember(struct kmt_select *s, const struct kmt_event *ev)
{
	if (ev->type == KMT_TYPE_PAGES)
		return kmt_frames_add(&s->frames, ev);
	return kmt_addrset_add(&s->passed, kmt_event_key(ev));
}

int kmt_select_event(struct kmt_select *s, const struct kmt_event *ev)
{
	int err;

	if (ev->op == KMT_OP_GIVE_UP && ev->type != KMT_TYPE_PAGES)	/* its free may follow */
		return kmt_addrset_has(&s->passed, kmt_event_key(ev));
	if (ev->op != KMT_OP_ALLOC)
		return forget(s, ev);
	if (!alloc_passes(s, ev)) {
		/* whoever had this address is gone, though no free was seen */
		forget(s, ev);
		return 0;
	}
	if (!ev->addr)
		return 1;
	err = remember(s, ev);
	if (err == -ENOSPC)
		s->untracked++;
	else if (err < 0)
		return kmt_err(err, "no memory for the filter's addresses");
	return 1;
}

int kmt_select_born(struct kmt_select *s, uint32_t parent, uint32_t tid, bool thread,
		    const char *comm)
{
	struct kmt_task *mother = kmt_tasks_get(s->tasks, parent);

	if (mother && is_named(s->f, mother))
		mother->followed = true;
	if (!mother || !kmt_tasks_born(s->tasks, parent, tid, thread, comm))
		return kmt_err(-ENOMEM, "no memory for the task table");
	return 0;
}

uint64_t kmt_select_untracked(const struct kmt_select *s)
{
	return s->untracked;
}

uint64_t kmt_select_unknown_tasks(const struct kmt_select *s)
{
	return s->unknown_tasks;
}

size_t kmt_select_bytes(const struct kmt_select *s)
{
	return kmt_addrset_bytes(&s->passed) + kmt_addrset_bytes(&s->frames.set) +
	       kmt_addrset_bytes(&s->yes) +
	       kmt_addrset_bytes(&s->no);
}
