// SPDX-License-Identifier: GPL-2.0-only
#include "source/bpf_functions.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "kmt/wire.h"
#include "tracers/tracers.h"

/* By enum kmt_attach; those that have one more, which asks for caches, have _cache behind it. */
static const char *const programs[KMT_FUNCTIONS][3] = {
	[KMT_FUNC_ALLOC_BULK] = { NULL, KMT_FUNCTIONS_RETURN, "kmt_bulk_alloc_fexit" },
	[KMT_FUNC_FREE_BULK] = { NULL, "kmt_bulk_free_kprobe", "kmt_bulk_free_fentry" },
	[KMT_FUNC_GIVE_UP] = { NULL, "kmt_give_up_kprobe", "kmt_give_up_fentry" },
	[KMT_FUNC_CACHE_END] = { NULL, "kmt_cache_destroy_kprobe", "kmt_cache_destroy_fentry" },
};

static int find(struct bpf_object *obj, const char *name, struct bpf_program **ret)
{
	*ret = bpf_object__find_program_by_name(obj, name);
	if (!*ret)
		return kmt_err(-ENOENT, "BPF program %s is missing", name);
	bpf_program__set_autoload(*ret, true);
	return 0;
}

static int choose(struct kmt_bpf_functions *f, struct bpf_object *obj, enum kmt_function_id i)
{
	bool asks = f->can_ask && (i == KMT_FUNC_FREE_BULK || i == KMT_FUNC_GIVE_UP);
	char name[64];
	int err;

	snprintf(name, sizeof(name), "%s%s", programs[i][f->f[i].how], asks ? "_cache" : "");
	err = find(obj, name, &f->prog[i]);
	if (err)
		return err;
	if (i == KMT_FUNC_ALLOC_BULK && f->f[i].how == KMT_ATTACH_KPROBE)
		return find(obj, KMT_FUNCTIONS_ENTRY, &f->entry);
	if (f->f[i].how == KMT_ATTACH_FENTRY)
		err = bpf_program__set_attach_target(f->prog[i], 0, f->f[i].name);
	return err ? kmt_err_errno(err, "cannot attach to the function %s", f->f[i].name) : 0;
}

int kmt_bpf_functions_choose(struct kmt_bpf_functions *f, struct bpf_object *obj,
			     const struct kmt_function found[KMT_FUNCTIONS],
			     const struct kmt_source_opts *o)
{
	const unsigned wanted = f->wanted;
	bool needs_kprobe = false;

	memcpy(f->f, found, sizeof(f->f));
	for (int i = 0; i < KMT_FUNCTIONS; i++) {
		int err;

		if (!(wanted & 1u << i))
			f->f[i].how = KMT_ATTACH_NONE;
		if (f->f[i].how && (o->tracers & KMT_TRACERS_KPROBE))
			f->f[i].how = KMT_ATTACH_KPROBE;
		if (f->f[i].how == KMT_ATTACH_KPROBE && f->no_kprobes) {
			f->f[i].how = KMT_ATTACH_NONE;
			needs_kprobe |= KMT_FUNCTIONS_BULK & 1u << i;
		}
		err = f->f[i].how ? choose(f, obj, i) : 0;
		if (err)
			return err;
	}
	if (o->must_bulk && needs_kprobe)
		return kmt_err(-EOPNOTSUPP, "tracer 'bulk' needs kprobes here, and this kernel "
			       "keeps none without a process (before Linux 5.15)");
	if (o->must_bulk && !kmt_bpf_functions_bulk(f))
		return kmt_err(-EOPNOTSUPP, "tracer 'bulk' needs functions to attach to: %s (see "
			       "'kmemtrace doctor')", strerror(-found[KMT_FUNC_FREE_BULK].err));
	return 0;
}

bool kmt_bpf_functions_any(const struct kmt_bpf_functions *f)
{
	for (int i = 0; i < KMT_FUNCTIONS; i++)
		if (f->prog[i])
			return true;
	return false;
}

bool kmt_bpf_functions_bulk(const struct kmt_bpf_functions *f)
{
	return f->prog[KMT_FUNC_ALLOC_BULK] || f->prog[KMT_FUNC_FREE_BULK] ||
	       f->prog[KMT_FUNC_GIVE_UP];
}

static int keep(struct kmt_bpf_functions *f, struct bpf_link *link, bool is_kprobe)
{
	if (!link)
		return -errno;
	f->is_kprobe[f->n_links] = is_kprobe;
	f->links[f->n_links++] = link;
	return 0;
}

/*
 * A probe of a call's return, then that of its beginning, which is detached
 * first: what is on its way still returns to a probe.
 */
static int attach_both(struct kmt_bpf_functions *f, enum kmt_function_id i)
{
	int err = keep(f, bpf_program__attach_kprobe(f->prog[i], true, f->f[i].name), false);

	if (err)
		return err;
	err = keep(f, bpf_program__attach_kprobe(f->entry, false, f->f[i].name), true);
	if (err)
		bpf_link__destroy(f->links[--f->n_links]);
	return err;
}

static int attach(struct kmt_bpf_functions *f, enum kmt_function_id i)
{
	if (f->f[i].how == KMT_ATTACH_FENTRY)
		return keep(f, bpf_program__attach(f->prog[i]), false);
	if (i == KMT_FUNC_ALLOC_BULK)
		return attach_both(f, i);
	return keep(f, bpf_program__attach_kprobe(f->prog[i], false, f->f[i].name), true);
}

int kmt_bpf_functions_attach(struct kmt_bpf_functions *f, enum kmt_function_id i, bool must)
{
	int err = f->prog[i] ? attach(f, i) : 0;

	if (!err)
		return 0;
	f->f[i].err = err;
	f->f[i].how = KMT_ATTACH_NONE;
	return must ? kmt_err_errno(err, "cannot attach to the function %s", f->f[i].name) : 0;
}

/*
 * What the kernel tells of a link, up to what is wanted. Linux commit
 * 3acf8ace6823 "bpf: Add missed value to kprobe perf link info" (in v6.7): no
 * kind of link had made it as long before.
 */
struct link_info {
	uint32_t type, id, prog_id, pad;
	uint32_t event, pad2;
	uint64_t name;
	uint32_t name_len, offset;
	uint64_t addr, missed;
};

bool kmt_bpf_link_ask(int fd, struct kmt_link_said *ret)
{
	struct link_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return false;
	*ret = (struct kmt_link_said){
		.prog = info.prog_id, .is_probe = info.type == BPF_LINK_TYPE_PERF_EVENT,
	};
	ret->is_told = ret->is_probe && len >= sizeof(info);
	ret->missed = ret->is_told ? info.missed : 0;
	return true;
}

/* Their return was missed or is still to come. */
uint64_t kmt_bpf_functions_unfinished(int calls_fd)
{
	struct kmt_wire_bulk_call call;
	uint64_t key = 0, n = 0;
	bool is_first = true;

	for (int i = 0; i < KMT_BULK_CALLS; i++) {
		if (bpf_map_get_next_key(calls_fd, is_first ? NULL : &key, &key))
			break;
		is_first = false;
		if (!bpf_map_lookup_elem(calls_fd, &key, &call))
			n += call.n;
	}
	return n;
}

uint64_t kmt_bpf_functions_missed(const struct kmt_bpf_functions *f, uint64_t *ret_untold)
{
	uint64_t sum = f->missed, untold = f->untold;

	for (int i = 0; i < f->n_links; i++) {
		struct kmt_link_said said = { 0 };

		if (!f->is_kprobe[i])
			continue;
		kmt_bpf_link_ask(bpf_link__fd(f->links[i]), &said);
		untold += !said.is_told;
		sum += said.missed;
	}
	if (f->n_links && f->entry)
		sum += kmt_bpf_functions_unfinished(f->calls_fd);
	*ret_untold = untold;
	return sum;
}

void kmt_bpf_functions_detach(struct kmt_bpf_functions *f)
{
	/* the kernel's own count goes with the links */
	f->missed = kmt_bpf_functions_missed(f, &f->untold);
	while (f->n_links > 0)
		bpf_link__destroy(f->links[--f->n_links]);
}

void kmt_bpf_functions_tell(const struct kmt_bpf_functions *f, char text[KMT_FUNCTIONS_TEXT])
{
	static const char *const names[] = {
		"alloc_bulk", "free_bulk", "kvfree_call_rcu", "cache_destroy",
	};
	_cleanup_(kmt_buf_done) struct kmt_buf buf = { 0 };

	if (!(f->wanted & KMT_FUNCTIONS_BULK))
		return;
	for (int how = KMT_ATTACH_FENTRY; how >= KMT_ATTACH_NONE; how--) {
		int n = 0;

		for (int i = 0; i < KMT_FUNCTIONS; i++) {
			if ((int)f->f[i].how != how || !(f->wanted & 1u << i))
				continue;
			if (!n++)
				kmt_buf_printf(&buf, "%s%s:", buf.len ? "; " : "",
					       how ? kmt_attach_name(how) : "not seen");
			kmt_buf_printf(&buf, " %s", names[i]);
		}
	}
	snprintf(text, KMT_FUNCTIONS_TEXT, "%s", kmt_buf_str(&buf));
}
