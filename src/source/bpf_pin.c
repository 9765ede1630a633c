// SPDX-License-Identifier: GPL-2.0-only
/* What bpf_load.c has loaded and attached, pinned: it stays when we are gone. */
#include "source/bpf_pin.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "kmemtrace.skel.h"
#include "source/bpf_load.h"

#define PATH_MAX_PIN (KMT_KEPT_PATH + 128)

void kmt_bpf_layout(char out[KMT_BPF_LAYOUT])
{
	snprintf(out, KMT_BPF_LAYOUT, "%d site %zu %zu %zu cache %zu object %zu %zu stack %zu cpu "
		 "%zu %d %d globals %zu %zu %zu %zu %zu", KMT_WIRE_VERSION,
		 sizeof(struct kmt_site_row), sizeof(struct kmt_site_cpu),
		 sizeof(struct kmt_lifetimes), sizeof(struct kmt_wire_cache),
		 sizeof(struct kmt_bucket), sizeof(struct kmt_hashed_object),
		 sizeof(struct kmt_stack), sizeof(struct kmt_cpu), KMT_PROG_MAX, KMT_CNT_MAX,
		 sizeof(struct kmemtrace_bpf__bss), offsetof(struct kmemtrace_bpf__bss, kmt_awake),
		 offsetof(struct kmemtrace_bpf__bss, kmt_own_tgid),
		 offsetof(struct kmemtrace_bpf__bss, kmt_own_start),
		 offsetof(struct kmemtrace_bpf__bss, kmt_follow_lost));
}

void kmt_bpf_globals(void *mapped, struct kmt_pin_globals *ret)
{
	struct kmemtrace_bpf__bss *bss = mapped;

	*ret = (struct kmt_pin_globals){ .awake = &bss->kmt_awake, .own_tgid = &bss->kmt_own_tgid,
					 .own_start = &bss->kmt_own_start,
					 .follow_lost = &bss->kmt_follow_lost };
}

size_t kmt_bpf_globals_size(void)
{
	return sizeof(struct kmemtrace_bpf__bss);
}

/* ---- one pin ---- */

static int pin(const struct kmt_kept *k, const char *name, int fd)
{
	char path[PATH_MAX_PIN];
	int err;

	snprintf(path, sizeof(path), "%s/" KMT_KEPT_NEW "/%s", k->path, name);
	err = bpf_obj_pin(fd, path);
	return err ? kmt_err_errno(err, "cannot pin '%s'", name) : 0;
}

static int pin_maps(const struct kmt_bpf *b, const struct kmt_kept *k)
{
	const struct kmemtrace_bpf *s = b->load->skel;
	int err = pin(k, KMT_PIN_TABLES, bpf_map__fd(s->maps.kmt_tables));

	err = err ? err : pin(k, KMT_PIN_GLOBALS, bpf_map__fd(s->maps.bss));
	if (b->plan.hashed)
		err = err ? err : pin(k, KMT_PIN_OBJECTS, bpf_map__fd(s->maps.kmt_objects));
	return err;
}

static int pin_programs(const struct kmt_bpf *b, const struct kmt_kept *k)
{
	struct bpf_program *p;
	int err = 0;

	bpf_object__for_each_program(p, b->load->skel->obj) {
		char name[64];

		if (bpf_program__fd(p) < 0)
			continue;
		snprintf(name, sizeof(name), KMT_PIN_PROG "%s", bpf_program__name(p));
		err = pin(k, name, bpf_program__fd(p));
		if (err)
			break;
	}
	return err;
}

static int pin_links(const struct kmt_kept *k, struct bpf_link *const *links, int n, int *at)
{
	for (int i = 0; i < n; i++) {
		char name[16];
		int err;

		snprintf(name, sizeof(name), KMT_PIN_LINK "%02d", (*at)++);
		err = pin(k, name, bpf_link__fd(links[i]));
		if (err)
			return err;
	}
	return 0;
}

/* libbpf switches a kprobe off before it lets go of it. */
static void let_go(struct bpf_link *const *links, int n)
{
	for (int i = 0; i < n; i++)
		bpf_link__disconnect(links[i]);
}

static int pin_description(const struct kmt_kept *k, const struct kmt_buf *desc)
{
	uint32_t zero = 0, len = (uint32_t)(desc->len + 7) & ~7u;
	_cleanup_free_ char *value = calloc(1, len);
	_cleanup_close_ int fd = -1;
	int err;

	if (!value)
		return kmt_err_errno(-ENOMEM, "session");
	memcpy(value, desc->data, desc->len);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "kmt_description", sizeof(zero), len, 1, NULL);
	if (fd < 0)
		return kmt_err_errno(fd, "cannot make a map of %u bytes", len);
	err = bpf_map_update_elem(fd, &zero, value, BPF_ANY);
	return err ? kmt_err_errno(err, "cannot write the session's description") :
		     pin(k, KMT_PIN_DESC, fd);
}

/* ---- all of them ---- */

static int describe(const struct kmt_bpf *b, const struct kmt_kept_ask *ask,
		    const struct kmt_facts *facts, struct kmt_buf *ret)
{
	struct kmt_bpf_desc d = { .ask = *ask, .plan = b->plan, .facts = *facts };

	kmt_bpf_layout(d.layout);
	snprintf(d.version, sizeof(d.version), "%s", KMT_VERSION);
	snprintf(d.functions, sizeof(d.functions), "%s", b->functions);
	return kmt_bpf_desc_put(&d, ret);
}

/* The links last: what is left of a killed command so does not trace for long. */
static int pin_all(const struct kmt_bpf *b, const struct kmt_kept *k, const struct kmt_buf *desc)
{
	const struct kmt_bpf_functions *f = &b->load->functions;
	int n = 0, err;

	if (mkdirat(k->fd, KMT_KEPT_NEW, 0700))
		return kmt_err_errno(-errno, "cannot make a directory in '%s'", k->path);
	err = pin_maps(b, k);
	err = err ? err : pin_description(k, desc);
	err = err ? err : pin_programs(b, k);
	err = err ? err : pin_links(k, b->load->links, b->load->n_links, &n);
	return err ? err : pin_links(k, f->links, f->n_links, &n);
}

int kmt_kept_pin(struct kmt_source *src, struct kmt_kept *k, const char *name, bool replace,
		 const struct kmt_kept_ask *ask, const struct kmt_facts *facts)
{
	struct kmt_bpf *b = (struct kmt_bpf *)src;
	_cleanup_buf_ struct kmt_buf desc = { 0 };
	char why[512];
	int err = describe(b, ask, facts, &desc);

	err = err ? err : kmt_kept_lock(k);
	if (err)
		return err;
	err = pin_all(b, k, &desc);
	err = err ? err : kmt_kept_commit(k, name, replace);
	if (!err) {
		let_go(b->load->links, b->load->n_links);
		let_go(b->load->functions.links, b->load->functions.n_links);
		/* our number will be another process's */
		kmt_bpf_awake(b, false);
	} else {
		snprintf(why, sizeof(why), "%s", kmt_err_text());
		kmt_kept_sweep(k);
		kmt_err(err, "%s", why);
	}
	kmt_kept_unlock(k);
	return err;
}
