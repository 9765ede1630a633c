// SPDX-License-Identifier: GPL-2.0-only
/*
 * The original's second output, option kmem_minimalistic (Linux commit
 * 36994e58a48f "tracing/kmemtrace: normalize the raw tracer event to the
 * unified tracing API", in v2.6.30). Sizes of five digits and more move the
 * columns to the right, as they did there. Ours is the third sign, ~ for what is
 * given up to RCU: the original could not see that.
 */
#include <inttypes.h>
#include <string.h>

#include "eventfmt/columns.h"
#include "symbol/symbols.h"

#define TITLES	"# ALLOC  TYPE  REQ   GIVEN  FLAGS           POINTER         NODE    CALLER"
#define RULERS	"# FREE   |      |     |       |              |   |            |        |"
#define CALLER_COLUMN	66	/* where CALLER starts with 64-bit pointers */

static void table_header(const struct kmt_eventfmt_opts *opts, struct kmt_buf *out)
{
	kmt_buf_puts(out, "#\n" TITLES);
	kmt_columns_titles(opts, true, sizeof(TITLES) - 1 - CALLER_COLUMN, out);
	kmt_buf_puts(out, "\n" RULERS);
	kmt_columns_titles(opts, false, sizeof(RULERS) - 1 - CALLER_COLUMN, out);
	kmt_buf_puts(out, "\n# |\n\n");
}

/*
 * The function's plain name; 0 for no call site, as ever. A name the source
 * brought goes first: its address, if any, is only the function's start.
 */
static void print_caller(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
			 struct kmt_buf *out)
{
	if (ev->call_site_name)
		kmt_columns_word(out, ev->call_site_name, strcspn(ev->call_site_name, "+ "));
	else if (ev->call_site)
		kmt_symbols_print(opts->symbols, ev->call_site, false, out);
	else
		kmt_buf_puts(out, "0");
}

static void table_event(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
			struct kmt_buf *out)
{
	char letter = kmt_type_letter(ev->type);

	if (ev->op == KMT_OP_ALLOC)
		kmt_buf_printf(out, "  +      %c   %4" PRIu64 "   %4" PRIu64 "   %08" PRIx64
			       "   0x%" PRIx64 "   %4d   ", letter, ev->bytes_req, ev->bytes_alloc,
			       ev->gfp, ev->addr, ev->node);
	else
		kmt_buf_printf(out, "  %c      %c     %23s0x%" PRIx64 "   %7s",
			       ev->op == KMT_OP_FREE ? '-' : '~', letter, "", ev->addr, "");

	size_t start = out->len;

	print_caller(opts, ev, out);
	kmt_columns_cells(opts, ev, out->len - start, out);
	kmt_buf_puts(out, "\n");
	kmt_columns_stack(opts, ev, out);
}

const struct kmt_eventfmt kmt_eventfmt_table = {
	.name	 = "table",
	.help	 = "columns, as the original's kmem_minimalistic output",
	.aliases = "kmem_minimalistic kmem_alternative",
	.header	 = table_header,
	.event	 = table_event,
	.lost	 = kmt_columns_lost,
};
