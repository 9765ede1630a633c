// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/trim.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "cmd/child.h"
#include "cmd/cmd.h"
#include "cmd/feed.h"
#include "cmd/select.h"
#include "core/snapshot.h"
#include "source/addrset.h"
#include "symbol/symbols.h"

#define MAX_ADDRESSES (4u << 20)

static int note(struct kmt_addrset *used, uint64_t addr)
{
	int res = addr ? kmt_addrset_add(used, addr) : 0;

	return res < 0 ? kmt_err(res, "too many call sites to choose their symbols") : 0;
}

static int note_all(struct kmt_addrset *used, uint64_t call_site, const uint64_t *ips, uint32_t n)
{
	int err = note(used, call_site);

	for (uint32_t i = 0; !err && i < n; i++)
		err = note(used, ips[i]);
	return err;
}

static int on_event(void *ctx, const struct kmt_event *ev)
{
	return note_all(ctx, ev->call_site, ev->ips, ev->n_ips);
}

static int on_snapshot(void *ctx, const struct kmt_snapshot *snap)
{
	int err = 0;

	for (size_t i = 0; !err && i < snap->n_sites; i++)
		err = note_all(ctx, snap->sites[i].key.call_site, snap->sites[i].key.ips,
			       snap->sites[i].key.n_ips);
	for (size_t i = 0; !err && i < snap->n_free_sites; i++)
		err = note(ctx, snap->free_sites[i].call_site);
	return err;
}

/* The members to the front of the slots: the set is no set afterwards. */
static size_t pack(struct kmt_addrset *used)
{
	size_t n = 0;

	for (size_t i = 0; i < used->cap; i++)
		if (used->slot[i])
			used->slot[n++] = used->slot[i];
	return n;
}

static int read_twice(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode))
		return 0;
	return kmt_cmd_fail(KMT_EXIT_USAGE, "--trim reads the input twice: it must be a file, not "
			    "a pipe");
}

static int choose(const struct kmt_symbols *from, struct kmt_addrset *used,
		  struct kmt_symbols **ret_symbols)
{
	size_t n = pack(used);

	/* no address: none is of use, and a list must not be empty */
	if (!from || !n)
		return 0;
	return kmt_symbols_subset(from, used->slot, n, ret_symbols);
}

int kmt_trim_symbols(struct kmt_select *s, const struct kmt_source_opts *given,
		     struct kmt_run *run, struct kmt_symbols **ret_symbols)
{
	struct kmt_source_opts so = *given;
	struct kmt_addrset used;
	struct kmt_sink sink = { .event = on_event, .snapshot = on_snapshot, .ctx = &used };
	int status = read_twice(s->from), err;

	if (!status)
		status = kmt_select_open(s, &so);
	if (status)
		return status;
	kmt_addrset_init(&used, MAX_ADDRESSES);
	err = kmt_feed_file(s, &sink, run);
	/* what cannot be read is told when it is read again */
	if (!err || (err != -ENOMEM && err != -ENOSPC && err != -EINTR))
		err = choose(kmt_select_symbols(s), &used, ret_symbols);
	kmt_addrset_done(&used);
	s->source->ops->close(s->source);
	s->source = NULL;
	s->facts = NULL;
	if (err == -EINTR)
		return 128 + run->signal;
	return err ? kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "%s", kmt_err_text()) : 0;
}
