/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random events as no kernel would send them: addresses handed out again without
 * a free, frees of nothing and of what is not live, a clock that steps back.
 */
#ifndef KMT_TESTS_UNIT_STREAM_H
#define KMT_TESTS_UNIT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"

#define ADDR UINT64_C(0xffff888100000000)

static uint64_t rnd(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static const char *const caches[] = { NULL, "dentry", "maple_node", "kmalloc-64" };
static const char *const names[] = { NULL, NULL, NULL, NULL, "do_it+0x1c [mod]" };
static const uint64_t chains[][3] = { { 1, 2, 3 }, { 1, 2, 4 }, { 1, 2 }, { 9 } };
static const uint32_t chain_len[] = { 3, 3, 2, 1 };
static const uint64_t sizes[] = { 8, 64, 192, UINT64_C(1) << 20 };
static const uint8_t types[] = { KMT_TYPE_KMALLOC, KMT_TYPE_CACHE, KMT_TYPE_CACHE, KMT_TYPE_PAGES };

struct stream {
	uint64_t seed, clock;
	unsigned addresses;	/* how many different ones */
	unsigned free_percent;
	bool no_times;
	bool shapes;		/* the source numbers them */
	unsigned rcu_percent;	/* of the frees: given up to RCU */
};

static struct kmt_event next_event(struct stream *st)
{
	uint64_t *seed = &st->seed;
	unsigned chain = rnd(seed) % 4;
	struct kmt_event ev = {
		.op = rnd(seed) % 100 < st->free_percent ? KMT_OP_FREE : KMT_OP_ALLOC,
		.type = types[rnd(seed) % 4], .cpu = rnd(seed) % 3,
		.pid = 100 + rnd(seed) % 3, .has_task = true, .comm = "task",
		.addr = ADDR + (rnd(seed) % st->addresses) * 8,
		.call_site = 0xffffffff81000000 + rnd(seed) % 4,
		.call_site_name = names[rnd(seed) % 5],
		.has_time = !st->no_times && rnd(seed) % 20, .gfp = UINT64_C(1) << rnd(seed) % 30,
		.ips = chains[chain], .n_ips = rnd(seed) % 8 ? chain_len[chain] : 0,
	};

	/* mostly forward; sometimes a jump ahead, sometimes back */
	st->clock += rnd(seed) % 5000;
	if (rnd(seed) % 50 == 0)
		st->clock += rnd(seed) % 10000000000;
	if (rnd(seed) % 30 == 0)
		st->clock -= rnd(seed) % 50000;
	ev.ts_ns = st->clock;
	if (rnd(seed) % 40 == 0)
		ev.addr = rnd(seed) % 2 ? 0 : 16;
	if (rnd(seed) % 4 == 0)
		ev.tgid = 100 + rnd(seed) % 2;
	if (ev.op == KMT_OP_FREE && st->rcu_percent && rnd(seed) % 100 < st->rcu_percent)
		ev.op = KMT_OP_GIVE_UP;
	if (ev.op != KMT_OP_ALLOC) {
		ev.call_site_name = NULL;
		return ev;
	}
	ev.cache = ev.type == KMT_TYPE_PAGES ? NULL : caches[rnd(seed) % 4];
	ev.cache_inferred = ev.cache && rnd(seed) % 8 == 0;
	ev.bytes_alloc = sizes[rnd(seed) % 4];
	ev.bytes_req = rnd(seed) % (ev.bytes_alloc + 1);
	return ev;
}

#endif
