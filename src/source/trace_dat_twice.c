// SPDX-License-Identifier: GPL-2.0-only
#include "source/trace_dat_twice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "source/cpu_queue.h"
#include "source/trace_dat_file.h"

#define RECENT		64		/* events of a CPU that may come between the two */
#define WINDOW_NS	100000000ULL	/* a virtual CPU may be away for a while between them */
#define MAX_RINGS	1024

struct recent {
	struct kmt_event ev;		/* its pointers are not followed */
	uint64_t seen[KMT_TDAT_BUFFERS / 64];	/* a bit for each buffer that had it */
};

struct ring {
	struct recent recent[RECENT];
	unsigned n;			/* in all, so n % RECENT is the next place */
};

struct kmt_tdat_twice {
	size_t mask;
	struct ring ring[];
};

int kmt_tdat_twice_new(size_t n_cpus, struct kmt_tdat_twice **ret)
{
	size_t n = 1;
	struct kmt_tdat_twice *t;

	while (n < n_cpus && n < MAX_RINGS)
		n *= 2;
	t = calloc(1, sizeof(*t) + n * sizeof(t->ring[0]));
	if (!t)
		return kmt_err(-ENOMEM, "no memory for the events of several buffers");
	t->mask = n - 1;
	*ret = t;
	return 0;
}

void kmt_tdat_twice_free(struct kmt_tdat_twice *t)
{
	free(t);
}

static bool same(const struct kmt_event *a, const struct kmt_event *b)
{
	return a->op == b->op && a->type == b->type && a->call_site == b->call_site &&
	       a->pid == b->pid && a->bytes_req == b->bytes_req &&
	       a->bytes_alloc == b->bytes_alloc && a->gfp == b->gfp && a->node == b->node;
}

bool kmt_tdat_twice_is_copy(struct kmt_tdat_twice *t, unsigned buffer, const struct kmt_node *node)
{
	const struct kmt_event *ev = &node->ev;
	const uint64_t bit = 1ULL << (buffer & 63);
	struct ring *ring = &t->ring[ev->cpu & t->mask];
	unsigned kept = ring->n < RECENT ? ring->n : RECENT;
	struct recent *r;

	if (node->kind != KMT_NODE_EVENT)
		return false;
	for (unsigned i = 1; i <= kept; i++) {
		r = &ring->recent[(ring->n - i) % RECENT];
		if (r->ev.addr != ev->addr || r->ev.cpu != ev->cpu)
			continue;
		if (!same(&r->ev, ev) || ev->ts_ns - r->ev.ts_ns > WINDOW_NS ||
		    r->seen[buffer / 64] & bit)
			break;
		r->seen[buffer / 64] |= bit;
		return true;
	}
	r = &ring->recent[ring->n++ % RECENT];
	*r = (struct recent){ .ev = *ev };
	r->seen[buffer / 64] |= bit;
	return false;
}
