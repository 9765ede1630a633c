// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/key.h"
#include "cmd/live.h"
#include "cmd/machine.h"
#include "cmd/view.h"
#include "symbol/slabs.h"
#include "tracers/tracers.h"

int kmt_kept_fail(int err)
{
	int status = KMT_EXIT_IMPOSSIBLE;

	if (err == -EINVAL)
		status = KMT_EXIT_USAGE;
	else if (err == -ENOENT || err == -EPROTO || err == -EBADMSG)
		status = KMT_EXIT_INPUT;
	return kmt_cmd_fail(status, "%s", kmt_err_text());
}

int kmt_kept_find(bool make, struct kmt_kept *ret)
{
	const char *bpffs = getenv("KMEMTRACE_BPFFS");
	int err = kmt_kept_open(bpffs, make, ret);

	if (err)
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s%s", kmt_err_text(),
				    err == -EPERM || err == -EACCES ? ": sessions need root" : "");
	if (kmt_kept_check_place(ret)) {
		kmt_kept_done(ret);
		return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text());
	}
	if (ret->mounted)
		kmt_cmd_warn("the BPF file system was not mounted: it is now, at %s",
			     bpffs && *bpffs ? bpffs : KMT_KEPT_BPFFS);
	return 0;
}

int kmt_kept_place(struct kmt_kept *ret)
{
	return kmt_kept_open(getenv("KMEMTRACE_BPFFS"), false, ret);
}

/* ---- starting ---- */

/* The events are on from here; what the kernel counts then belongs to the books. */
static int begin(struct kmt_source *src, struct kmt_facts *facts, struct kmt_slabs **slabs)
{
	int err;

	kmt_slabs_count_now(NULL, false, slabs);
	err = src->ops->start(src);
	facts->start_ns = kmt_live_now();
	facts->start_realtime_ns = kmt_live_realtime_now();
	if (!err && *slabs)
		kmt_slabs_recount(NULL, *slabs);
	facts->slabs_start = *slabs;
	return err;
}

/*
 * Who asked for tracer 'bulk' learns what is not seen of it, and of caches that are
 * destroyed. For all others it stands under 'functions' of each report.
 */
static void tell_functions(const struct kmt_select *s)
{
	struct kmt_quality q = { 0 };

	s->source->ops->quality(s->source, &q);
	if (s->tracer && (s->tracers & KMT_TRACER_BIT(bulk)) && strstr(q.functions, "not seen"))
		kmt_cmd_warn("not every function is seen: %s", q.functions);
}

int kmt_kept_start(struct kmt_select *s, const struct kmt_kept_ask *ask, struct kmt_kept *k,
		   const struct kmt_kept_job *job)
{
	struct kmt_source_opts so = {
		.mode = KMT_MODE_COUNTED, .key = ask->key, .temporary_ns = ask->temporary_ns,
		.want_stacks = ask->key == KMT_BY_STACK, .want_task = ask->key == KMT_BY_TASK,
		.no_objects = ask->no_objects, .kept = true,
	};
	struct kmt_facts facts = { .clock = "mono", .temporary_ns = ask->temporary_ns };
	struct kmt_machine machine = { 0 };
	struct kmt_slabs *slabs = NULL;
	int status, err;

	s->source_name = "bpf";
	status = kmt_select_open(s, &so);
	if (status)
		return status;
	kmt_machine_ask(&machine, job->argv, s->gfp_names);
	kmt_machine_facts(&machine, &facts);
	if (job->command)
		facts.command = job->command;
	err = begin(s->source, &facts, &slabs);
	if (!err)
		err = kmt_kept_pin(s->source, k, job->name, job->replace, ask, &facts);
	if (err)
		status = kmt_kept_fail(err);
	else
		tell_functions(s);
	kmt_machine_done(&machine);
	kmt_slabs_free(slabs);
	return status;
}

/* ---- reading ---- */

static int open_locked(struct kmt_select *s, struct kmt_kept *k)
{
	struct kmt_source_opts so = { .mode = KMT_MODE_COUNTED, .slabs = s->slabs, .own = s->own };
	char path[KMT_KEPT_PATH + KMT_KEPT_NAME];
	int err;

	if (!kmt_kept_exists(k, s->session))
		return kmt_kept_missing(k, s->session);
	snprintf(path, sizeof(path), "%s/%s", k->path, s->session);
	so.path = path;
	err = kmt_source_find("session")->open(&so, &s->source);
	return err == -ENOENT ? kmt_err_prefix(-EBADMSG, "not whole: ") : err;
}

int kmt_kept_source(struct kmt_select *s, const struct kmt_kept *place)
{
	struct kmt_kept k = *place;
	int err = kmt_kept_check_name(s->session);

	if (!s->slabs)
		kmt_slabs_load(NULL, &s->slabs);
	if (!err)
		err = kmt_kept_lock_reading(&k);
	if (err)
		return err;
	err = open_locked(s, &k);
	kmt_kept_unlock(&k);
	return err;
}

int kmt_kept_view(struct kmt_ask *a)
{
	const struct kmt_kept_ask *ask = kmt_kept_ask_of(a->select.source);
	const enum kmt_key key = ask->key;
	const bool no_stacks = a->stacks && key != KMT_BY_STACK;
	const struct kmt_analysis *view;
	enum kmt_key wanted;

	if (!a->by)
		a->by = kmt_key_view(key);
	if (key == KMT_BY_STACK)
		a->stacks = true;
	view = kmt_analysis_find(a->by ? a->by : "site");
	if (ask->no_objects && (a->min_age_ns || (view && (view->needs & KMT_NEEDS_OBJECTS))))
		return kmt_err(-EOPNOTSUPP, "session '%s' was started with --no-objects: it has none "
			       "for %s%s", a->select.session, a->min_age_ns ? "--min-age" : "the view ",
			       a->min_age_ns ? "" : view->name);
	/* what is no view is told later */
	if (!no_stacks && (!view || kmt_key_serves(key, view, false)))
		return 0;
	wanted = no_stacks ? KMT_BY_STACK : kmt_key_of(view, false);
	return kmt_err(-EOPNOTSUPP, "session '%s' counts by %s: %s%s needs one that counts by %s "
		       "('kmemtrace start%s%s')", a->select.session, kmt_key_name(key),
		       no_stacks ? "--stacks" : "the view ", no_stacks ? "" : view->name,
		       kmt_key_name(wanted), *kmt_key_option(wanted) ? " " : "",
		       kmt_key_option(wanted));
}

int kmt_kept_ask(struct kmt_ask *a)
{
	struct kmt_kept k = KMT_KEPT_NONE;
	int status, err;

	if (a->select.from)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--from and --session exclude each other");
	if (a->temporary_ns)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--temporary belongs to 'kmemtrace start', not to "
				    "--session");
	status = kmt_kept_find(false, &k);
	if (status)
		return status;
	err = kmt_kept_source(&a->select, &k);
	kmt_kept_done(&k);
	if (err)
		return kmt_kept_fail(err);
	return kmt_kept_view(a) ? kmt_cmd_fail(KMT_EXIT_USAGE, "%s", kmt_err_text()) : 0;
}

int kmt_kept_select(struct kmt_select *s)
{
	const struct kmt_kept_ask *ask = kmt_kept_ask_of(s->source);

	if (s->source_name || s->tracer || s->user_pages || s->follow || s->objects ||
	    s->objects_kb || s->sites || s->hash_maps || s->buffer_bytes || s->module)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "--session reads what was started: options of "
				    "tracing belong to 'kmemtrace start'");
	for (size_t i = 0; i < ask->filters.n; i++)
		kmt_filter_add(&s->filter, ask->filters.v[i]);
	s->filter.follow = ask->follow;
	return ask->tracer && kmt_tracers_parse(ask->tracer, &s->tracers) ?
	       kmt_cmd_fail(KMT_EXIT_INPUT, "%s", kmt_err_text()) : 0;
}
