// SPDX-License-Identifier: GPL-2.0-only
#include "source/caller.h"

#include "core/event.h"
#include "symbol/frames.h"
#include "symbol/symbols.h"

#define MAX_FRAMES	(1u << 16)	/* remembered */

void kmt_caller_init(struct kmt_caller *c, const struct kmt_symbols *symbols)
{
	c->symbols = symbols;
	kmt_addrset_init(&c->yes, MAX_FRAMES);
	kmt_addrset_init(&c->no, MAX_FRAMES);
}

void kmt_caller_done(struct kmt_caller *c)
{
	kmt_addrset_done(&c->yes);
	kmt_addrset_done(&c->no);
}

static bool is_allocator(struct kmt_caller *c, uint64_t ip)
{
	struct kmt_symbol sym;
	bool is;

	if (kmt_addrset_has(&c->yes, ip))
		return true;
	if (kmt_addrset_has(&c->no, ip))
		return false;
	is = kmt_symbols_find_ret(c->symbols, ip, &sym) && kmt_frame_is_allocator(sym.name);
	/* a full memory only costs time */
	kmt_addrset_add(is ? &c->yes : &c->no, ip);
	return is;
}

void kmt_caller_fill(struct kmt_caller *c, struct kmt_event *ev)
{
	uint32_t i = 0;

	if (ev->call_site || !ev->n_ips || !c->symbols)
		return;
	/* what stands before the first of them belongs to the tracer: trampolines without a name */
	while (i < ev->n_ips && !is_allocator(c, ev->ips[i]))
		i++;
	if (i == ev->n_ips)
		i = 0;
	while (i < ev->n_ips && is_allocator(c, ev->ips[i]))
		i++;
	if (i == ev->n_ips)
		return;
	ev->call_site = ev->ips[i];
	ev->ips += i;
	ev->n_ips -= i;
}
