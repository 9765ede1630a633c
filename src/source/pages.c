// SPDX-License-Identifier: GPL-2.0-only
#include "source/pages.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "core/event.h"

#define MAX_ORDER	18		/* of a block whose frames are remembered one by one */
#define MAX_FRAMES	(1u << 22)	/* 32 MiB of numbers for 16 GiB of pages */

void kmt_frames_init(struct kmt_frames *f, size_t max)
{
	*f = (struct kmt_frames){ 0 };
	kmt_addrset_init(&f->set, max);
}

void kmt_frames_done(struct kmt_frames *f)
{
	kmt_addrset_done(&f->set);
}

/* Frames of a block; more than can be looked at one by one: its first alone. */
static uint64_t n_frames(const struct kmt_frames *f, const struct kmt_event *ev)
{
	return f->page_size && ev->order > 0 && ev->order <= MAX_ORDER ? 1ull << ev->order : 1;
}

int kmt_frames_add(struct kmt_frames *f, const struct kmt_event *ev)
{
	int res = 0;

	if (!f->page_size && ev->order >= 0)
		f->page_size = ev->bytes_alloc >> ev->order;
	for (uint64_t i = 0, n = n_frames(f, ev); i < n && ev->addr; i++) {
		int err = kmt_addrset_add(&f->set, ev->addr + i * f->page_size);

		res = err < 0 ? err : res;
	}
	f->is_full |= res < 0;
	return res;
}

bool kmt_frames_del(struct kmt_frames *f, const struct kmt_event *ev)
{
	bool found = f->is_full;

	for (uint64_t i = 0, n = n_frames(f, ev); i < n; i++)
		found |= kmt_addrset_del(&f->set, ev->addr + i * f->page_size);
	return found;
}

bool kmt_pages_is_user(const struct kmt_event *ev)
{
	return ev->gfp & KMT_GFP_MOVABLE;
}

struct kmt_pages {
	struct kmt_frames frames;	/* of live pages that passed */
	bool user;
};

int kmt_pages_new(bool user, struct kmt_pages **ret)
{
	struct kmt_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return kmt_err(-ENOMEM, "no memory for page frames");
	kmt_frames_init(&p->frames, MAX_FRAMES);
	p->user = user;
	*ret = p;
	return 0;
}

void kmt_pages_free(struct kmt_pages *p)
{
	if (p)
		kmt_frames_done(&p->frames);
	free(p);
}

bool kmt_pages_pass(struct kmt_pages *p, const struct kmt_event *ev)
{
	bool known = kmt_frames_del(&p->frames, ev);

	if (ev->op != KMT_OP_ALLOC)
		return known;
	if (!p->user && kmt_pages_is_user(ev))
		return false;
	/* what finds no room makes is_full true, so that its free passes all the same */
	kmt_frames_add(&p->frames, ev);
	return true;
}

size_t kmt_pages_bytes(const struct kmt_pages *p)
{
	return p ? kmt_addrset_bytes(&p->frames.set) : 0;
}
