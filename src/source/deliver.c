// SPDX-License-Identifier: GPL-2.0-only
#include "source/deliver.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "source/cpu_queue.h"
#include "source/pages.h"
#include "source/select.h"
#include "source/tasks.h"
#include "tracers/tracers.h"

#define OWN_MAX		(1U << 16)	/* own live objects that are remembered */
#define ZERO_SIZE_PTR	16		/* what kmalloc(0) returns; freeing it is no free */

int kmt_deliver_init(struct kmt_deliver *d, const struct kmt_source_opts *opts)
{
	const struct kmt_filter *f = opts->filter;
	int err = 0;

	*d = (struct kmt_deliver){ .opts = *opts };
	kmt_addrset_init(&d->own, OWN_MAX);
	kmt_caller_init(&d->caller, opts->symbols);
	if (opts->want_task || opts->key == KMT_BY_TASK || kmt_select_wants_tasks(f))
		/* a recording's tasks are not in this machine's /proc */
		err = kmt_tasks_new(opts->path ? "/dev/null" : NULL, &d->tasks);
	if (!err && !kmt_filter_empty(f))
		err = kmt_select_new(opts, d->tasks, &d->select);
	if (!err && !opts->user_pages && (opts->tracers & KMT_TRACER_BIT(page)))
		err = kmt_pages_new(false, &d->pages);
	if (!err && (opts->want_cache || (f && (f->cache.n || f->cache_not.n)))) {
		if (!opts->path)
			kmt_kmalloc_gfp_from(opts->gfp_names, &d->kmalloc_gfp);
		err = kmt_kmalloc_names_new(opts->slabs, &d->kmalloc_names);
	}
	if (err)
		kmt_deliver_done(d);
	return err;
}

void kmt_deliver_done(struct kmt_deliver *d)
{
	kmt_select_free(d->select);
	kmt_tasks_free(d->tasks);
	kmt_kmalloc_names_free(d->kmalloc_names);
	kmt_addrset_done(&d->own);
	kmt_caller_done(&d->caller);
	kmt_pages_free(d->pages);
	*d = (struct kmt_deliver){ 0 };
}

static bool is_own_thread(const struct kmt_deliver *d, uint32_t tid)
{
	for (size_t i = 0; i < d->n_own_tids; i++)
		if (d->own_tid[i] == tid)
			return true;
	return false;
}

void kmt_deliver_refresh_own(struct kmt_deliver *d)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *de;

	d->n_own_tids = 0;
	while (dir && (de = readdir(dir)) && d->n_own_tids < KMT_OWN_THREADS)
		if (de->d_name[0] != '.')
			d->own_tid[d->n_own_tids++] = strtoul(de->d_name, NULL, 10);
	if (dir)
		closedir(dir);
}

/*
 * Our own allocations are left out, and the frees of just those objects,
 * whoever frees them. What an interrupt does on top of us is not ours, nor is
 * freeing what others made.
 */
static bool is_own(struct kmt_deliver *d, const struct kmt_node *node)
{
	const struct kmt_event *ev = &node->ev;

	if (d->opts.own)
		return false;
	if (ev->op == KMT_OP_GIVE_UP)	/* its free may follow */
		return kmt_addrset_has(&d->own, kmt_event_key(ev));
	if (ev->op == KMT_OP_FREE)
		return kmt_addrset_del(&d->own, kmt_event_key(ev));
	if (node->in_irq || !is_own_thread(d, ev->pid)) {
		kmt_addrset_del(&d->own, kmt_event_key(ev));	/* freed without an event */
		return false;
	}
	if (ev->addr)
		kmt_addrset_add(&d->own, kmt_event_key(ev));
	return true;
}

/* Name and process of the thread, into 'idle' for the one /proc does not know. */
static void set_task(struct kmt_deliver *d, struct kmt_event *ev, char idle[KMT_TASK_COMM])
{
	const struct kmt_task *task = ev->pid ? kmt_tasks_get(d->tasks, ev->pid) : NULL;

	ev->has_task = true;
	ev->comm = kmt_task_name(task, ev->pid, ev->cpu, idle);
	if (task && d->opts.key == KMT_BY_TASK && task->tgid)
		ev->pid = task->tgid;
}

static int deliver_event(struct kmt_deliver *d, const struct kmt_sink *sink, struct kmt_node *node)
{
	struct kmt_event *ev = &node->ev;
	char idle[KMT_TASK_COMM];
	int pass = 1;

	if (ev->op != KMT_OP_ALLOC && ev->addr <= ZERO_SIZE_PTR) {
		d->n_null++;
		return 0;
	}
	if (is_own(d, node)) {
		d->n_own++;
		return 0;
	}
	if (d->pages && ev->type == KMT_TYPE_PAGES)
		pass = kmt_pages_pass(d->pages, ev);
	if (pass <= 0) {
		d->n_filtered++;
		return 0;
	}
	kmt_caller_fill(&d->caller, ev);
	if (!d->opts.want_stacks)
		ev->n_ips = 0;
	if (d->kmalloc_names && ev->op == KMT_OP_ALLOC && ev->type == KMT_TYPE_KMALLOC) {
		ev->cache = kmt_kmalloc_name(d->kmalloc_names, ev->bytes_alloc,
					     kmt_kmalloc_gfp_family(&d->kmalloc_gfp, ev->gfp));
		ev->cache_inferred = ev->cache;
	}
	if (d->select)
		pass = kmt_select_event(d->select, ev);
	if (pass <= 0) {
		d->n_filtered += !pass;
		return pass;
	}
	d->n_out++;
	d->n_failed += ev->op == KMT_OP_ALLOC && !ev->addr;
	if (d->opts.want_task || d->opts.key == KMT_BY_TASK)
		set_task(d, ev, idle);
	return sink->event ? sink->event(sink->ctx, ev) : 0;
}

int kmt_deliver_lost(const struct kmt_sink *sink, enum kmt_loss reason, uint32_t cpu,
		     uint64_t events, uint64_t ts_ns)
{
	struct kmt_lost lost = { .reason = reason, .cpu = cpu, .events = events, .ts_ns = ts_ns };

	return sink->lost ? sink->lost(sink->ctx, &lost) : 0;
}

int kmt_deliver_node(struct kmt_deliver *d, const struct kmt_sink *sink, uint32_t cpu,
		     struct kmt_node *node)
{
	switch (node->kind) {
	case KMT_NODE_EVENT:
		return deliver_event(d, sink, node);
	case KMT_NODE_LOST:
		return kmt_deliver_lost(sink, KMT_LOSS_RING, cpu, node->lost, node->ts_ns);
	case KMT_NODE_BORN:
		if (d->select)
			return kmt_select_born(d->select, node->ev.pid, node->tid, node->is_thread,
					       node->text);
		return kmt_tasks_born(d->tasks, node->ev.pid, node->tid, node->is_thread,
				      node->text) ? 0 : kmt_err(-ENOMEM, "too many tasks");
	case KMT_NODE_RENAMED:
		kmt_tasks_rename(d->tasks, node->tid, node->text);
		return 0;
	case KMT_NODE_GONE:
		kmt_tasks_forget(d->tasks, node->tid);
		return 0;
	}
	return 0;
}

int kmt_deliver_untracked(struct kmt_deliver *d, const struct kmt_sink *sink, uint64_t ts_ns)
{
	uint64_t n = d->select ? kmt_select_untracked(d->select) - d->untracked_told : 0;

	if (!n)
		return 0;
	d->untracked_told += n;
	return kmt_deliver_lost(sink, KMT_LOSS_OBJECTS, UINT32_MAX, n, ts_ns);
}

void kmt_deliver_quality(const struct kmt_deliver *d, struct kmt_quality *q)
{
	q->events = d->n_out;
	q->failed_allocations = d->n_failed;
	q->null_frees = d->n_null;
	q->filtered = d->n_filtered;
	q->own = d->n_own;
	q->unknown_tasks = d->select ? kmt_select_unknown_tasks(d->select) : 0;
	q->lost[KMT_LOSS_OBJECTS] = d->select ? kmt_select_untracked(d->select) : 0;
}

size_t kmt_deliver_bytes(const struct kmt_deliver *d)
{
	return kmt_addrset_bytes(&d->own) + (d->select ? kmt_select_bytes(d->select) : 0) +
	       kmt_pages_bytes(d->pages);
}
