// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/gfp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "symbol/gfp_table.h"

struct kmt_gfp_names *kmt_gfp_names_new(const char *zero)
{
	struct kmt_gfp_names *g = calloc(1, sizeof(*g));

	if (g)
		snprintf(g->zero, sizeof(g->zero), "%s", zero);
	return g;
}

void kmt_gfp_names_free(struct kmt_gfp_names *g)
{
	free(g);
}

int kmt_gfp_names_add(struct kmt_gfp_names *g, uint64_t mask, const char *name, size_t len)
{
	if (!mask || !len)
		return -EINVAL;
	if (g->n == KMT_GFP_MAX || len >= KMT_GFP_NAME_LEN)
		return -E2BIG;
	g->v[g->n].mask = mask;
	memcpy(g->v[g->n].name, name, len);
	g->v[g->n].name[len] = '\0';
	g->n++;
	return 0;
}

static uint64_t mask_of(const struct kmt_gfp_names *g, const char *name, size_t len)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < g->n; i++)
		if (strlen(g->v[i].name) == len && !memcmp(g->v[i].name, name, len))
			mask |= g->v[i].mask;
	return mask;
}

uint64_t kmt_gfp_mask(const struct kmt_gfp_names *g, const char *name)
{
	return g ? mask_of(g, name, strlen(name)) : 0;
}

/*
 * The composites of include/trace/events/mmflags.h in its order. A leading '?'
 * marks a bit that some kernels have and some do not: __GFP_ATOMIC was part of
 * GFP_ATOMIC until Linux commit 2973d8229b78 "mm: discard __GFP_ATOMIC" (in
 * v6.3). __GFP_NOWARN is part of GFP_NOWAIT since 16f5dfbc851b "gfp: include
 * __GFP_NOWARN in GFP_NOWAIT" (in v6.8), which is older than the enum of bits.
 */
#define USER_BITS "DIRECT_RECLAIM KSWAPD_RECLAIM IO FS HARDWALL "
static const struct {
	const char *name;
	const char *bits;
} composites[] = {
	{ "GFP_TRANSHUGE",
	  "DIRECT_RECLAIM IO FS HARDWALL HIGHMEM MOVABLE COMP NOMEMALLOC NOWARN ?SKIP_KASAN" },
	{ "GFP_TRANSHUGE_LIGHT",
	  "IO FS HARDWALL HIGHMEM MOVABLE COMP NOMEMALLOC NOWARN ?SKIP_KASAN" },
	{ "GFP_HIGHUSER_MOVABLE", USER_BITS "HIGHMEM MOVABLE ?SKIP_KASAN" },
	{ "GFP_HIGHUSER",	  USER_BITS "HIGHMEM" },
	{ "GFP_USER",		  USER_BITS },
	{ "GFP_KERNEL_ACCOUNT",	  "DIRECT_RECLAIM KSWAPD_RECLAIM IO FS ACCOUNT" },
	{ "GFP_KERNEL",		  "DIRECT_RECLAIM KSWAPD_RECLAIM IO FS" },
	{ "GFP_NOFS",		  "DIRECT_RECLAIM KSWAPD_RECLAIM IO" },
	{ "GFP_ATOMIC",		  "HIGH KSWAPD_RECLAIM ?ATOMIC" },
	{ "GFP_NOIO",		  "DIRECT_RECLAIM KSWAPD_RECLAIM" },
	{ "GFP_NOWAIT",		  "KSWAPD_RECLAIM NOWARN" },
	{ "GFP_DMA",		  "DMA" },
	{ "GFP_DMA32",		  "DMA32" },
	{ "__GFP_RECLAIM",	  "DIRECT_RECLAIM KSWAPD_RECLAIM" },
};

/* Mask of a list of bits; 0 if one that must be there is missing. */
static uint64_t compose(const struct kmt_gfp_names *g, const char *bits)
{
	uint64_t mask = 0;

	while (*bits) {
		bool optional = *bits == '?';
		size_t len;
		char name[KMT_GFP_NAME_LEN];

		bits += optional;
		len = strcspn(bits, " ");

		int n = snprintf(name, sizeof(name), "__GFP_%.*s", (int)len, bits);
		uint64_t bit = mask_of(g, name, (size_t)n);

		if (!bit && !optional)
			return 0;
		mask |= bit;
		bits += len + (bits[len] == ' ');
	}
	return mask;
}

int kmt_gfp_names_compose(struct kmt_gfp_names *g)
{
	_cleanup_free_ struct kmt_gfp_names *out = kmt_gfp_names_new(g->zero);

	if (!out)
		return kmt_err(-ENOMEM, "out of memory for gfp names");
	for (size_t i = 0; i < sizeof(composites) / sizeof(composites[0]); i++) {
		const char *name = composites[i].name;
		uint64_t mask = compose(g, composites[i].bits);
		int err = mask ? kmt_gfp_names_add(out, mask, name, strlen(name)) : 0;

		if (err)
			return err;
	}
	if (out->n + g->n > KMT_GFP_MAX)
		return -E2BIG;
	memcpy(&out->v[out->n], g->v, g->n * sizeof(g->v[0]));
	out->n += g->n;
	*g = *out;
	return 0;
}

/*
 * gfp.h of 2.6.28 to 2.6.35, and the composites its header for tracing named.
 * __GFP_MOVABLE moved from 0x100000 to 0x08 on the way; the old bit stayed
 * free, so both can stand here. No bit at all was GFP_NOWAIT.
 */
#define OLD_KERNEL	(0x10 | 0x40 | 0x80)
#define OLD_USER	(OLD_KERNEL | 0x20000)
#define OLD_HIGHUSER	(OLD_USER | 0x02)
static const struct {
	uint32_t mask;
	const char *name;
} names_2008[] = {
	{ OLD_HIGHUSER | 0x08,		"GFP_HIGHUSER_MOVABLE" },
	{ OLD_HIGHUSER | 0x100000,	"GFP_HIGHUSER_MOVABLE" },
	{ OLD_HIGHUSER,			"GFP_HIGHUSER" },
	{ OLD_USER,			"GFP_USER" },
	{ OLD_KERNEL | 0x80000,		"GFP_TEMPORARY" },
	{ OLD_KERNEL,			"GFP_KERNEL" },
	{ 0x10 | 0x40,			"GFP_NOFS" },
	{ 0x20,				"GFP_ATOMIC" },
	{ 0x10,				"GFP_NOIO" },
	{ 0x01, "__GFP_DMA" },		{ 0x02, "__GFP_HIGHMEM" },
	{ 0x04, "__GFP_DMA32" },	{ 0x08, "__GFP_MOVABLE" },
	{ 0x10, "__GFP_WAIT" },		{ 0x20, "__GFP_HIGH" },
	{ 0x40, "__GFP_IO" },		{ 0x80, "__GFP_FS" },
	{ 0x100, "__GFP_COLD" },	{ 0x200, "__GFP_NOWARN" },
	{ 0x400, "__GFP_REPEAT" },	{ 0x800, "__GFP_NOFAIL" },
	{ 0x1000, "__GFP_NORETRY" },	{ 0x4000, "__GFP_COMP" },
	{ 0x8000, "__GFP_ZERO" },	{ 0x10000, "__GFP_NOMEMALLOC" },
	{ 0x20000, "__GFP_HARDWALL" },	{ 0x40000, "__GFP_THISNODE" },
	{ 0x80000, "__GFP_RECLAIMABLE" }, { 0x100000, "__GFP_MOVABLE" },
	{ 0x200000, "__GFP_NOTRACK" },
};

int kmt_gfp_names_2008(struct kmt_gfp_names **ret)
{
	_cleanup_free_ struct kmt_gfp_names *g = kmt_gfp_names_new("GFP_NOWAIT");

	if (!g)
		return kmt_err(-ENOMEM, "out of memory for gfp names");
	for (size_t i = 0; i < sizeof(names_2008) / sizeof(names_2008[0]); i++) {
		const char *name = names_2008[i].name;
		int err = kmt_gfp_names_add(g, names_2008[i].mask, name, strlen(name));

		if (err)
			return err;
	}
	*ret = take_ptr(g);
	return 0;
}

/* "0xMASK NAME"; false: it is no such line. */
static bool parse_stored(const char *line, size_t len, uint64_t *ret_mask, const char **ret_name,
			 size_t *ret_len)
{
	const char *blank = memchr(line, ' ', len);
	char mask[24];
	char *end;

	if (!blank || blank - line < 3 || (size_t)(blank - line) >= sizeof(mask) ||
	    line[0] != '0' || line[1] != 'x')
		return false;
	memcpy(mask, line, (size_t)(blank - line));
	mask[blank - line] = '\0';
	*ret_mask = strtoull(mask + 2, &end, 16);
	*ret_name = blank + 1;
	*ret_len = len - (size_t)(blank + 1 - line);
	for (size_t i = 0; i < *ret_len; i++)
		if ((*ret_name)[i] <= ' ' || (*ret_name)[i] > '~')
			return false;
	return !*end && *ret_len && *ret_len < KMT_GFP_NAME_LEN;
}

int kmt_gfp_names_parse(const char *text, size_t len, struct kmt_gfp_names **ret)
{
	_cleanup_free_ struct kmt_gfp_names *g = kmt_gfp_names_new("none");

	if (!g)
		return kmt_err(-ENOMEM, "out of memory for gfp names");
	for (const char *line = text, *end = text + len; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line)), *name;
		size_t n = (size_t)((nl ? nl : end) - line), name_len;
		uint64_t mask;

		if (!parse_stored(line, n, &mask, &name, &name_len))
			return kmt_err(-EINVAL, "a stored gfp name is not understood");
		if (!mask)
			snprintf(g->zero, sizeof(g->zero), "%.*s", (int)name_len, name);
		else if (kmt_gfp_names_add(g, mask, name, name_len))
			return kmt_err(-E2BIG, "too many stored gfp names");
		line = nl ? nl + 1 : end;
	}
	if (!g->n)
		return kmt_err(-EINVAL, "the list of gfp names is empty");
	*ret = take_ptr(g);
	return 0;
}

void kmt_gfp_names_store(const struct kmt_gfp_names *g, struct kmt_buf *out)
{
	if (!g)
		return;
	kmt_buf_printf(out, "0x0 %s\n", g->zero);
	for (size_t i = 0; i < g->n; i++)
		kmt_buf_printf(out, "0x%" PRIx64 " %s\n", g->v[i].mask, g->v[i].name);
}

static int from_format_file(const char *path, struct kmt_gfp_names **ret)
{
	char text[32768];
	size_t len = 0;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -ENOENT;
	while (len < sizeof(text)) {
		ssize_t n = read(fd, text + len, sizeof(text) - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	return kmt_gfp_names_from_format(text, len, ret);
}

int kmt_gfp_names_of(const struct btf *btf, struct kmt_gfp_names **ret)
{
	static const char *const formats[] = {
		"/sys/kernel/tracing/events/kmem/kmalloc/format",
		"/sys/kernel/debug/tracing/events/kmem/kmalloc/format",
	};

	if (btf && !kmt_gfp_names_from_btf(btf, ret))
		return 0;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!from_format_file(formats[i], ret))
			return 0;
	return kmt_err(-ENOENT, "no gfp names: neither the kernel's BTF nor a kmem event format "
		       "has them");
}

int kmt_gfp_names_running(struct kmt_gfp_names **ret)
{
	struct btf *btf = NULL;
	int err;

	kmt_kernel_btf_load(&btf);	/* without it there are the other places */
	err = kmt_gfp_names_of(btf, ret);
	kmt_kernel_btf_free(btf);
	return err;
}

void kmt_gfp_print(const struct kmt_gfp_names *g, uint64_t gfp, struct kmt_buf *out)
{
	const char *sep = "";

	if (g && !gfp) {
		kmt_buf_puts(out, g->zero);
		return;
	}
	for (size_t i = 0; g && i < g->n; i++) {
		if ((gfp & g->v[i].mask) != g->v[i].mask)
			continue;
		kmt_buf_puts(out, sep);
		kmt_buf_puts(out, g->v[i].name);
		gfp &= ~g->v[i].mask;
		sep = "|";
	}
	if (gfp || !g)
		kmt_buf_printf(out, "%s0x%" PRIx64, sep, gfp);
}
