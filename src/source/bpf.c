// SPDX-License-Identifier: GPL-2.0-only
/* The BPF source: this machine's slab events, counted or streamed. */
#include "source/bpf_priv.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/err.h"
#include "source/pages.h"
#include "source/probe.h"
#include "symbol/cgroups.h"
#include "symbol/slabs.h"
#include "tracers/tracers.h"

#define KMT_LOOK_EVERY_MS 5	/* how long records may wait in the rings */

static struct kmt_bpf *bpf_of(struct kmt_source *src)
{
	return (struct kmt_bpf *)src;
}

static void bpf_close(struct kmt_source *src)
{
	struct kmt_bpf *b = bpf_of(src);

	if (!b)
		return;
	kmt_bpf_unload(b);
	kmt_kmalloc_names_free(b->kmalloc_names);
	kmt_cgroups_free(b->cgroups);
	kmt_pages_free(b->pages);
	free(b);
}

static int look_at_machine(const struct kmt_source_opts *o, struct kmt_bpf_machine *m)
{
	struct sysinfo si;
	int n;

	if (sysinfo(&si))
		return kmt_err_errno(-errno, "cannot read the memory size");
	m->ram_bytes = (uint64_t)si.totalram * si.mem_unit;
	m->page_size = sysconf(_SC_PAGESIZE);
	n = kmt_cpus_file("/sys/devices/system/cpu/possible", NULL, NULL);
	if (n <= 0)
		return n ? n : kmt_err(-EIO, "no possible CPU");
	m->possible_cpus = n;
	n = sysconf(_SC_NPROCESSORS_ONLN);
	m->online_cpus = n > 0 ? n : 1;
	/* without the privilege nothing is known, and loading the programs will say so */
	n = o->hash_maps ? -EINVAL : kmt_probe_cmpxchg();
	m->hashed = n && n != -EPERM;
	for (size_t i = 0; o->slabs && i < kmt_slabs_count(o->slabs); i++)
		m->slab_objects += kmt_slabs_at(o->slabs, i)->active_objs;
	return 0;
}

extern const struct kmt_source_ops kmt_source_bpf;

static int bpf_open(const struct kmt_source_opts *opts, struct kmt_source **ret)
{
	struct kmt_bpf_machine m = { 0 };
	struct kmt_bpf *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return kmt_err_errno(-ENOMEM, "BPF source");
	b->src.ops = &kmt_source_bpf;
	b->opts = *opts;
	if (!b->opts.tracers)
		b->opts.tracers = kmt_tracers_default();
	err = look_at_machine(opts, &m);
	err = err ? err : kmt_bpf_make_plan(opts, &m, &b->plan);
	err = err ? err : kmt_kmalloc_names_new(opts->slabs, &b->kmalloc_names);
	if (!err && opts->key == KMT_BY_CGROUP)
		err = kmt_cgroups_new(&b->cgroups);
	/* in a stream the kernel tells every free of pages: see tracers/page.bpf.c */
	if (!err && b->plan.emit && (b->opts.tracers & KMT_TRACER_BIT(page)) &&
	    (!opts->user_pages || (opts->filter && !kmt_filter_empty(opts->filter))))
		err = kmt_pages_new(opts->user_pages, &b->pages);
	err = err ? err : kmt_bpf_load(b);
	b->opts.btf = NULL;	/* it was lent */
	if (err) {
		bpf_close(&b->src);
		return err;
	}
	*ret = &b->src;
	return 0;
}

int kmt_bpf_sleep(const int *wake_fd, int ms)
{
	struct pollfd p = { .fd = wake_fd ? *wake_fd : -1, .events = POLLIN };

	return poll(&p, 1, ms) < 0 ? -errno : 0;
}

/* Sleep; the programs need not ask meanwhile whether an event is our own. */
static int nap(struct kmt_bpf *b, const int *wake_fd, int ms)
{
	int err;

	kmt_bpf_awake(b, b->opts.threads);
	err = kmt_bpf_sleep(wake_fd, ms);
	kmt_bpf_awake(b, true);
	return err;
}

static int bpf_start(struct kmt_source *src)
{
	struct kmt_bpf *b = bpf_of(src);
	int err;

	kmt_bpf_awake(b, true);
	err = kmt_bpf_attach(b);
	if (err)
		return err;
	err = kmt_bpf_module_start(b);
	if (err) {
		kmt_bpf_detach(b);
		return err;
	}
	if (!b->start_ns)
		b->start_ns = kmt_monotonic_ns();
	b->stop_ns = 0;
	b->running = true;
	return 0;
}

static int bpf_stop(struct kmt_source *src)
{
	struct kmt_bpf *b = bpf_of(src);

	if (!b->running)
		return 0;
	kmt_bpf_detach(b);
	/* a program may still run on another CPU: its last record must not be missed */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nap(b, NULL, 20);
	b->stop_ns = kmt_monotonic_ns();
	b->running = false;
	return 0;
}

static int bpf_poll(struct kmt_source *src, const struct kmt_sink *sink, int timeout_ms)
{
	struct kmt_bpf *b = bpf_of(src);
	int n;

	if (!b->plan.emit)
		return nap(b, b->opts.wake_fd, timeout_ms);
	n = kmt_bpf_drain(b, sink, !b->running);
	if (n)
		return n;
	if (!b->running)
		return -ENODATA;
	/* nobody wakes us: the programs never do, so that an event stays cheap */
	return nap(b, NULL, timeout_ms < KMT_LOOK_EVERY_MS ? timeout_ms : KMT_LOOK_EVERY_MS);
}

static int bpf_snapshot(struct kmt_source *src, const struct kmt_sink *sink)
{
	return kmt_bpf_snapshot(bpf_of(src), sink);
}

static int bpf_module(struct kmt_source *src, struct kmt_symbols **symbols,
		      struct kmt_module_life *ret)
{
	return kmt_bpf_module_look(bpf_of(src), symbols, ret);
}

static void bpf_quality(struct kmt_source *src, struct kmt_quality *q)
{
	struct kmt_bpf *b = bpf_of(src);

	kmt_bpf_quality(b, q);
	q->recursion_misses += kmt_bpf_missed(b, &q->misses_untold);
	q->lost_unknown = kmt_bpf_follow_lost(b);	/* children that could not be followed */
}

const struct kmt_source_ops kmt_source_bpf = {
	.name = "bpf",
	.help = "raw tracepoints through BPF: counted in the kernel, or streamed",
	.live = true,
	.counted = true,
	.open = bpf_open,
	.start = bpf_start,
	.poll = bpf_poll,
	.stop = bpf_stop,
	.snapshot = bpf_snapshot,
	.module = bpf_module,
	.quality = bpf_quality,
	.close = bpf_close,
};
