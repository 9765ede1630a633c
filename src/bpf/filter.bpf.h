/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BPF_FILTER_BPF_H
#define KMT_BPF_FILTER_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/module.bpf.h"

/* '*' may stand for nothing: whoever is before one is behind it too. No two are adjacent. */
static __always_inline __u64 kmt_glob_skip(const struct kmt_glob *g, __u64 at)
{
	return at | (at & g->star) << 1;
}

/*
 * Does the glob match the text? 'len' is the text's buffer. Runs when a site
 * is seen for the first time (cache names), or per event for a task filter.
 */
static __noinline int kmt_glob_match(const struct kmt_glob *g, const char *text, __u32 len)
{
	__u64 at;

	if (!g || !text)
		return 0;
	at = kmt_glob_skip(g, 1);
	for (__u32 i = 0; i < KMT_CACHE_NAME_LEN; i++) {
		__u8 c;

		if (i >= len)
			break;
		c = text[i];
		if (!c)
			break;
		at = kmt_glob_skip(g, (at & g->match[c]) << 1 | (at & g->star));
	}
	return (at & g->accept) != 0;
}

static __always_inline struct kmt_filter_tables *kmt_filter_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&kmt_filters, &zero);
}

/* Some of the globs matches. A static function, so that the verifier walks it once per caller. */
static __noinline int kmt_any_glob(const struct kmt_glob *globs, __u32 n, const char *text,
				   __u32 len)
{
	for (__u32 i = 0; i < KMT_GLOBS; i++) {
		if (i >= n)
			return 0;
		if (kmt_glob_match(&globs[i], text, len))
			return 1;
	}
	return 0;
}

static __always_inline int kmt_kmalloc_passes(struct kmt_filter_tables *f, __u32 bytes_alloc,
					      __u32 gfp_class)
{
	for (int i = 0; i < KMT_VERDICTS; i++) {
		if (i >= f->n_verdicts)
			return 0;
		if (f->kmalloc_ok[i].bytes_alloc == bytes_alloc &&
		    f->kmalloc_ok[i].gfp_class == gfp_class)
			return 1;
	}
	return 0;
}

/* Static and not inlined: called from the slow path of each alloc program. */
static __noinline int kmt_site_passes(__u64 call_site)
{
	struct kmt_filter_tables *f = kmt_filter_get();

	if (!f)
		return 0;
	for (int i = 0; i < KMT_RANGES; i++) {
		if (i >= f->n_ranges)
			return 0;
		if (call_site > f->range[i].start && call_site <= f->range[i].end)
			return 1;
	}
	return 0;
}

static __noinline int kmt_task_passes(void)
{
	struct kmt_filter_tables *f = kmt_filter_get();
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tgid = id >> 32, pid = id, flags = kmt_flags;

	if (!f)
		return 0;
	if (flags & KMT_F_TASK) {
		char comm[KMT_COMM_LEN];

		bpf_get_current_comm(comm, sizeof(comm));
		if (!kmt_any_glob(f->task, f->n_task, comm, sizeof(comm)))
			return 0;
	}
	if ((flags & KMT_F_CGROUP) && bpf_current_task_under_cgroup(&kmt_cgroup, 0) != 1)
		return 0;
	if ((flags & KMT_F_TGID) && bpf_map_lookup_elem(&kmt_tgids, &tgid))
		return 1;
	if (flags & KMT_F_PID) {
		for (int i = 0; i < KMT_GLOBS; i++) {
			if (i >= f->n_pid)
				break;
			if (f->pid[i] == pid)
				return 1;
		}
	}
	return !(flags & (KMT_F_TGID | KMT_F_PID));
}

/* Filters that look at the event itself; those on cache and site are kept in the site's row. */
static __always_inline int kmt_event_passes(__u32 flags, __u64 call_site, __u64 bytes_req)
{
	if ((flags & KMT_F_SIZE) && (bytes_req < kmt_size_min || bytes_req > kmt_size_max))
		return 0;
	/* per event: another module may have lain at this address before */
	if ((flags & KMT_F_MODULE) && !kmt_module_passes(call_site))
		return 0;
	if ((flags & KMT_F_WHO) && !kmt_task_passes())
		return 0;
	/* rows by task or cgroup hold many call sites, so the row cannot remember the verdict */
	if ((flags & KMT_F_SITE) && (flags & KMT_F_BY_WHOM) && !kmt_site_passes(call_site))
		return 0;
	return 1;
}

#endif
