// SPDX-License-Identifier: GPL-2.0-only
/*
 * The original's default text (Linux commit 36994e58a48f "tracing/kmemtrace:
 * normalize the raw tracer event to the unified tracing API", in v2.6.30):
 * decimal throughout, one event a line. An allocation is told from a free by
 * its bytes_req only. Ours is the line of what is given up to RCU, which the
 * original could not see: that of a free, and a pair that says so.
 */
#include <inttypes.h>

#include "eventfmt/columns.h"

/*
 * Decimal, as ever. Where a source has a name and no address (an old table
 * without symbols) the name is kept, as v2.6.32 printed it; 0 would lose it.
 */
static void print_call_site(const struct kmt_event *ev, struct kmt_buf *out)
{
	if (!ev->call_site && ev->call_site_name)
		kmt_buf_escape(out, ev->call_site_name, SIZE_MAX);
	else
		kmt_buf_printf(out, "%" PRIu64, ev->call_site);
}

static void default_event(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
			  struct kmt_buf *out)
{
	kmt_buf_printf(out, "type_id %u call_site ", ev->type);
	print_call_site(ev, out);
	kmt_buf_printf(out, " ptr %" PRIu64, ev->addr);
	if (ev->op == KMT_OP_ALLOC)
		kmt_buf_printf(out, " bytes_req %" PRIu64 " bytes_alloc %" PRIu64
			       " gfp_flags %" PRIu64 " node %d", ev->bytes_req, ev->bytes_alloc,
			       ev->gfp, ev->node);
	if (ev->op == KMT_OP_GIVE_UP)
		kmt_buf_puts(out, " given_up rcu");
	kmt_columns_pairs(opts, ev, out);
	kmt_buf_puts(out, "\n");
	kmt_columns_stack(opts, ev, out);
}

const struct kmt_eventfmt kmt_eventfmt_default = {
	.name	= "default",
	.help	= "one event a line, decimal, as the original's default output",
	.header	= NULL,		/* as the original */
	.event	= default_event,
	.lost	= kmt_columns_lost,
};
