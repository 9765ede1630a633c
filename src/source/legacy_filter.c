// SPDX-License-Identifier: GPL-2.0-only
#include "source/legacy_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "symbol/symbols.h"

#define MAX_ADDRESSES (1U << 20)	/* 16 MiB */

int kmt_legacy_filter_init(struct kmt_legacy_filter *lf, const struct kmt_filter *f,
			   const struct kmt_symbols *symbols)
{
	*lf = (struct kmt_legacy_filter){ .symbols = symbols };
	kmt_addrset_init(&lf->passed, MAX_ADDRESSES);
	kmt_frames_init(&lf->frames, MAX_ADDRESSES);
	if (!f || kmt_filter_empty(f))
		return 0;
	if (f->n_tgid || f->cgroup || f->follow)
		return kmt_err(-EINVAL, "a recording of this kind knows no processes and cgroups: only "
			       "'pid=' and 'task=' select its tasks");
	lf->f = f;
	return 0;
}

void kmt_legacy_filter_done(struct kmt_legacy_filter *lf)
{
	kmt_addrset_done(&lf->passed);
	kmt_frames_done(&lf->frames);
}

/* Function and module of a call site; "func+0x1c [module]" is taken apart. */
static bool site_of(const struct kmt_legacy_filter *lf, const struct kmt_event *ev,
		    char *func, size_t size, char *module, size_t module_size)
{
	struct kmt_symbol sym;
	const char *name = ev->call_site_name, *open;

	if (!name) {
		if (!kmt_symbols_find_ret(lf->symbols, ev->call_site, &sym))
			return false;
		snprintf(func, size, "%s", sym.name);
		snprintf(module, module_size, "%s", sym.module ? sym.module : "vmlinux");
		return true;
	}
	open = strstr(name, " [");
	snprintf(func, size, "%.*s", (int)strcspn(name, "+ "), name);
	if (open)
		snprintf(module, module_size, "%.*s", (int)strcspn(open + 2, "]"), open + 2);
	else if (kmt_symbols_find(lf->symbols, ev->call_site, &sym) && sym.module)
		snprintf(module, module_size, "%s", sym.module);
	else
		snprintf(module, module_size, "vmlinux");
	return true;
}

static bool site_passes(const struct kmt_legacy_filter *lf, const struct kmt_event *ev)
{
	const struct kmt_filter *f = lf->f;
	char func[600], module[64];

	if (!f->site.n && !f->module.n)
		return true;
	if (!site_of(lf, ev, func, sizeof(func), module, sizeof(module)))
		return false;
	return (!f->site.n || kmt_globs_match(&f->site, func)) &&
	       (!f->module.n || kmt_globs_match(&f->module, module));
}

/* A task that the line does not name does not pass, and is counted. */
static bool task_passes(struct kmt_legacy_filter *lf, const struct kmt_event *ev)
{
	const struct kmt_filter *f = lf->f;
	bool is_listed = !f->n_pid;

	if ((f->n_pid && !ev->has_task) || (f->task.n && !ev->comm)) {
		lf->unknown_tasks++;
		return false;
	}
	for (size_t i = 0; i < f->n_pid; i++)
		is_listed |= f->pid[i] == ev->pid;
	return is_listed && (!f->task.n || kmt_globs_match(&f->task, ev->comm));
}

static bool alloc_passes(struct kmt_legacy_filter *lf, const struct kmt_event *ev)
{
	const struct kmt_filter *f = lf->f;

	if (ev->bytes_req < f->size_min || (f->size_max && ev->bytes_req > f->size_max))
		return false;
	if ((f->cache.n && !kmt_globs_match(&f->cache, ev->cache)) ||
	    kmt_globs_match(&f->cache_not, ev->cache))
		return false;
	return site_passes(lf, ev) && task_passes(lf, ev);
}

static bool forget(struct kmt_legacy_filter *lf, const struct kmt_event *ev)
{
	if (!ev->addr)
		return false;
	if (ev->type == KMT_TYPE_PAGES)
		return kmt_frames_del(&lf->frames, ev);
	return kmt_addrset_del(&lf->passed, kmt_event_key(ev));
}

static int remember(struct kmt_legacy_filter *lf, const struct kmt_event *ev)
{
	if (!ev->addr)
		return 0;
	if (ev->type == KMT_TYPE_PAGES)
		return kmt_frames_add(&lf->frames, ev);
	return kmt_addrset_add(&lf->passed, kmt_event_key(ev));
}

static int decide(struct kmt_legacy_filter *lf, const struct kmt_event *ev)
{
	int err;

	if (ev->op == KMT_OP_GIVE_UP && ev->type != KMT_TYPE_PAGES)	/* its free may follow */
		return ev->addr && kmt_addrset_has(&lf->passed, kmt_event_key(ev));
	if (ev->op != KMT_OP_ALLOC)
		return forget(lf, ev);
	if (!alloc_passes(lf, ev)) {
		/* whoever had this address is gone, though no free was seen */
		forget(lf, ev);
		return 0;
	}
	err = remember(lf, ev);
	if (err == -ENOSPC)
		lf->untracked++;
	else if (err < 0)
		return kmt_err(err, "out of memory for the filter's addresses");
	return 1;
}

int kmt_legacy_filter_event(struct kmt_legacy_filter *lf, const struct kmt_event *ev)
{
	int pass = lf->f ? decide(lf, ev) : 1;

	lf->rejected += !pass;
	return pass;
}
