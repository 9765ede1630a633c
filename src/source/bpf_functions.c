// SPDX-License-Identifier: GPL-2.0-only
#include "source/bpf_functions.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "tracers/tracers.h"

/* By enum kmt_attach. */
static const char *const programs[KMT_FUNCTIONS][3] = {
	[KMT_FUNC_ALLOC_BULK] = { NULL, "kmt_bulk_alloc_kprobe", "kmt_bulk_alloc_fexit" },
	[KMT_FUNC_FREE_BULK] = { NULL, "kmt_bulk_free_kprobe", "kmt_bulk_free_fentry" },
	[KMT_FUNC_GIVE_UP] = { NULL, "kmt_give_up_kprobe", "kmt_give_up_fentry" },
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
	int err = find(obj, programs[i][f->f[i].how], &f->prog[i]);

	if (err)
		return err;
	if (i == KMT_FUNC_ALLOC_BULK && f->f[i].how == KMT_ATTACH_KPROBE)
		return find(obj, "kmt_bulk_alloc_entry", &f->entry);
	if (f->f[i].how == KMT_ATTACH_FENTRY)
		err = bpf_program__set_attach_target(f->prog[i], 0, f->f[i].name);
	return err ? kmt_err_errno(err, "cannot attach to the function %s", f->f[i].name) : 0;
}

int kmt_bpf_functions_choose(struct kmt_bpf_functions *f, struct bpf_object *obj,
			     const struct kmt_function found[KMT_FUNCTIONS],
			     const struct kmt_source_opts *o, bool may_kprobe)
{
	bool needs_kprobe = false;

	*f = (struct kmt_bpf_functions){ .chosen = true };
	memcpy(f->f, found, sizeof(f->f));
	for (int i = 0; i < KMT_FUNCTIONS; i++) {
		int err;

		if (f->f[i].how && (o->tracers & KMT_TRACERS_KPROBE))
			f->f[i].how = KMT_ATTACH_KPROBE;
		if (f->f[i].how == KMT_ATTACH_KPROBE && !may_kprobe) {
			f->f[i].how = KMT_ATTACH_NONE;
			needs_kprobe = true;
		}
		err = f->f[i].how ? choose(f, obj, i) : 0;
		if (err)
			return err;
	}
	if (o->must_bulk && needs_kprobe)
		return kmt_err(-EOPNOTSUPP, "tracer 'bulk' needs kprobes here, and this kernel "
			       "keeps none without a process (before Linux 5.15)");
	if (o->must_bulk && !kmt_bpf_functions_any(f))
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

static struct bpf_link *attach(struct kmt_bpf_functions *f, enum kmt_function_id i)
{
	struct bpf_link *link, *entry;

	if (f->f[i].how == KMT_ATTACH_FENTRY)
		return bpf_program__attach(f->prog[i]);
	link = bpf_program__attach_kprobe(f->prog[i], i == KMT_FUNC_ALLOC_BULK, f->f[i].name);
	if (!link || i != KMT_FUNC_ALLOC_BULK)
		return link;
	entry = bpf_program__attach_kprobe(f->entry, false, f->f[i].name);
	if (!entry) {
		bpf_link__destroy(link);
		return NULL;
	}
	f->links[f->n_links++] = entry;
	return link;
}

int kmt_bpf_functions_attach(struct kmt_bpf_functions *f, enum kmt_function_id i, bool must)
{
	struct bpf_link *link;

	if (!f->prog[i])
		return 0;
	link = attach(f, i);
	if (link) {
		f->links[f->n_links++] = link;
		return 0;
	}
	f->f[i].err = -errno;
	f->f[i].how = KMT_ATTACH_NONE;
	return must ? kmt_err_errno(f->f[i].err, "cannot attach to the function %s",
				    f->f[i].name) : 0;
}

void kmt_bpf_functions_detach(struct kmt_bpf_functions *f)
{
	while (f->n_links > 0)
		bpf_link__destroy(f->links[--f->n_links]);
}

void kmt_bpf_functions_tell(const struct kmt_bpf_functions *f, char text[KMT_FUNCTIONS_TEXT])
{
	static const char *const names[] = { "alloc_bulk", "free_bulk", "kvfree_call_rcu" };
	_cleanup_(kmt_buf_done) struct kmt_buf buf = { 0 };

	if (!f->chosen)
		return;
	for (int how = KMT_ATTACH_FENTRY; how >= KMT_ATTACH_NONE; how--) {
		int n = 0;

		for (int i = 0; i < KMT_FUNCTIONS; i++) {
			if ((int)f->f[i].how != how)
				continue;
			if (!n++)
				kmt_buf_printf(&buf, "%s%s:", buf.len ? "; " : "",
					       how ? kmt_attach_name(how) : "not seen");
			kmt_buf_printf(&buf, " %s", names[i]);
		}
	}
	snprintf(text, KMT_FUNCTIONS_TEXT, "%s", kmt_buf_str(&buf));
}
