// SPDX-License-Identifier: GPL-2.0-only
#include "source/ftrace_gfp.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "symbol/gfp.h"

#define BIT(n)		(UINT64_C(1) << (n))

#define DMA		BIT(0)
#define HIGHMEM		BIT(1)
#define DMA32		BIT(2)
#define MOVABLE		BIT(3)
#define HIGH		BIT(5)
#define IO		BIT(6)
#define FS		BIT(7)
#define DIRECT		BIT(10)
#define KSWAPD		BIT(11)
#define COMP		BIT(18)
#define NOMEMALLOC	BIT(19)
#define HARDWALL	BIT(20)
#define ACCOUNT		BIT(22)

/* What all kernels have in a composite: a part that is not here is printed on its own. */
#define KERNEL		(IO | FS)
#define USER		(KERNEL | HARDWALL)
#define TRANSHUGE	(USER | HIGHMEM | MOVABLE | COMP | NOMEMALLOC)

#define MARK(n)		BIT(63 - (n))
#define MARKS		(~UINT64_C(0) << 48)

/*
 * Composites first, in the kernel's order. __GFP_WAIT became __GFP_RECLAIM in
 * Linux commit 71baba4b92dc (in v4.4), and that two bits in d0164adc89f6.
 */
static const struct {
	uint64_t mask;
	const char *name;
} flags[] = {
	{ MARK(0) | TRANSHUGE,			"GFP_TRANSHUGE" },
	{ MARK(1) | TRANSHUGE,			"GFP_TRANSHUGE_LIGHT" },
	{ MARK(2) | USER | HIGHMEM | MOVABLE,	"GFP_HIGHUSER_MOVABLE" },
	{ MARK(3) | USER | HIGHMEM,		"GFP_HIGHUSER" },
	{ MARK(4) | USER,			"GFP_USER" },
	{ MARK(5) | KERNEL | ACCOUNT,		"GFP_KERNEL_ACCOUNT" },
	{ MARK(6) | KERNEL,			"GFP_TEMPORARY" },	/* until v4.15 */
	{ MARK(7) | KERNEL,			"GFP_KERNEL" },
	{ MARK(8) | IO,				"GFP_NOFS" },
	{ MARK(9) | HIGH,			"GFP_ATOMIC" },
	{ MARK(10),				"GFP_NOIO" },
	{ MARK(11),				"GFP_NOWAIT" },
	{ MARK(12) | DMA,			"GFP_DMA" },
	{ MARK(13) | DMA32,			"GFP_DMA32" },
	{ MARK(14) | DIRECT | KSWAPD,		"__GFP_RECLAIM" },
	{ MARK(15) | IO,			"GFP_IOFS" },		/* until v4.4 */
	/* single flags of v6.10 */
	{ DMA, "__GFP_DMA" },			{ HIGHMEM, "__GFP_HIGHMEM" },
	{ DMA32, "__GFP_DMA32" },		{ MOVABLE, "__GFP_MOVABLE" },
	{ BIT(4), "__GFP_RECLAIMABLE" },	{ HIGH, "__GFP_HIGH" },
	{ IO, "__GFP_IO" },			{ FS, "__GFP_FS" },
	{ BIT(8), "__GFP_ZERO" },		{ DIRECT, "__GFP_DIRECT_RECLAIM" },
	{ KSWAPD, "__GFP_KSWAPD_RECLAIM" },	{ BIT(12), "__GFP_WRITE" },
	{ BIT(13), "__GFP_NOWARN" },		{ BIT(14), "__GFP_RETRY_MAYFAIL" },
	{ BIT(15), "__GFP_NOFAIL" },		{ BIT(16), "__GFP_NORETRY" },
	{ BIT(17), "__GFP_MEMALLOC" },		{ COMP, "__GFP_COMP" },
	{ NOMEMALLOC, "__GFP_NOMEMALLOC" },	{ HARDWALL, "__GFP_HARDWALL" },
	{ BIT(21), "__GFP_THISNODE" },		{ ACCOUNT, "__GFP_ACCOUNT" },
	{ BIT(23), "__GFP_ZEROTAGS" },		{ BIT(24), "__GFP_NO_OBJ_EXT" },
	{ BIT(25), "__GFP_SKIP_ZERO" },		{ BIT(26), "__GFP_SKIP_KASAN" },
	{ BIT(27), "__GFP_NOLOCKDEP" },
	/* and of those before, with what tracing called them */
	{ BIT(9), "__GFP_ATOMIC" },		{ BIT(28), "__GFP_WAIT" },
	{ BIT(29), "__GFP_COLD" },		{ BIT(30), "__GFP_REPEAT" },
	{ BIT(31), "__GFP_NOTRACK" },		{ BIT(32), "__GFP_NO_KSWAPD" },
	{ BIT(33), "__GFP_OTHER_NODE" },	{ BIT(34), "__GFP_KMEMCG" },
	{ BIT(35), "__GFP_NOTRACK_FALSE_POSITIVE" },
	{ BIT(36), "__GFP_SKIP_KASAN_POISON" },	{ BIT(37), "__GFP_SKIP_KASAN_UNPOISON" },
	/* bits that the kernel had no name for and printed as a number, or names not known here */
	{ BIT(38), "other" },
};
#define N_FLAGS		(sizeof(flags) / sizeof(flags[0]))
#define OTHER		BIT(38)

/*
 * Until v4.6 single flags were printed without underscores: Linux commit
 * 1f7866b4aebd "mm, tracing: make show_gfp_flags() up to date".
 */
static const char *spelling(const char *name, bool old)
{
	return old && kmt_word_starts((struct kmt_word){ name, strlen(name) }, "__") ?
	       name + 2 : name;
}

int kmt_ftrace_gfp_names(bool old, struct kmt_gfp_names **ret)
{
	_cleanup_buf_ struct kmt_buf b = { 0 };

	kmt_buf_puts(&b, "0x0 none\n");
	for (size_t i = 0; i < N_FLAGS; i++)
		kmt_buf_printf(&b, "0x%" PRIx64 " %s\n", flags[i].mask,
			       spelling(flags[i].name, old));
	/* flags of several events or'ed together can have the mark without its parts */
	for (size_t i = 0; i < N_FLAGS; i++)
		if (flags[i].mask & MARKS)
			kmt_buf_printf(&b, "0x%" PRIx64 " %s\n", flags[i].mask & MARKS,
				       spelling(flags[i].name, old));
	if (b.error)
		return kmt_err(b.error, "out of memory for gfp names");
	return kmt_gfp_names_parse(kmt_buf_str(&b), b.len, ret);
}

static uint64_t mask_of(struct kmt_word name, bool old)
{
	for (size_t i = 0; i < N_FLAGS; i++)
		if (kmt_word_is(name, spelling(flags[i].name, old)))
			return flags[i].mask;
	return 0;
}

/* One part between '|'. False: nothing that a kernel prints. */
static bool parse_part(struct kmt_word w, struct kmt_ftrace_gfp *ret)
{
	uint64_t mask = mask_of(w, false);

	if (!mask && kmt_word_starts(w, "GFP_")) {
		mask = mask_of(w, true);
		ret->is_old |= mask != 0;
	}
	if (!mask && kmt_word_hex_0x(w, &mask)) {
		ret->number |= mask;
		return true;
	}
	if (!mask && !kmt_word_starts(w, "GFP_") && !kmt_word_starts(w, "__GFP_"))
		return false;
	ret->is_named = true;
	ret->bits |= mask ? mask : OTHER;
	return true;
}

bool kmt_ftrace_gfp_parse(struct kmt_word w, struct kmt_ftrace_gfp *ret)
{
	*ret = (struct kmt_ftrace_gfp){ .is_named = kmt_word_is(w, "none") };
	if (ret->is_named || kmt_word_is(w, "0"))
		return true;
	while (w.len) {
		const char *bar = memchr(w.p, '|', w.len);
		struct kmt_word part = { w.p, bar ? (size_t)(bar - w.p) : w.len };

		if (!parse_part(part, ret))
			return false;
		w = kmt_word_rest(w, part.len + (bar ? 1 : 0));
		if (bar && !w.len)
			return false;
	}
	if (ret->is_named && ret->number)
		ret->bits |= OTHER;
	else if (!ret->is_named)
		ret->bits = ret->number;
	return ret->is_named || ret->number;
}
