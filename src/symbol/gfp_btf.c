// SPDX-License-Identifier: GPL-2.0-only
/*
 * gfp bits from the kernel's BTF: an enum since Linux commit 772dd0342727 "mm:
 * enumerate all gfp flags" (in v6.10). The only user of libbpf in symbol/.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "symbol/gfp.h"
#include "symbol/gfp_table.h"

#define PREFIX "___GFP_"
#define SUFFIX "_BIT"

static void cleanup_btf(struct btf **btf)
{
	btf__free(*btf);
}

/* "___GFP_IO_BIT" = 6 becomes "__GFP_IO", 0x40. Others and place holders are skipped. */
static int add_bit(struct kmt_gfp_names *g, const char *name, int32_t bit)
{
	size_t len = strlen(name), affix = sizeof(PREFIX) - 1 + sizeof(SUFFIX) - 1;

	if (len <= affix || memcmp(name, PREFIX, sizeof(PREFIX) - 1) ||
	    strcmp(name + len - (sizeof(SUFFIX) - 1), SUFFIX))
		return 0;
	if (!strcmp(name, "___GFP_LAST_BIT") || !strcmp(name, "___GFP_UNUSED_BIT"))
		return 0;
	if (bit < 0 || bit > 63)
		return 0;
	return kmt_gfp_names_add(g, 1ULL << bit, name + 1, len - sizeof(SUFFIX));
}

static const struct btf_type *find_enum(const struct btf *btf)
{
	for (__u32 id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);

		if (!btf_is_enum(t) || !btf_vlen(t))
			continue;

		const char *first = btf__name_by_offset(btf, btf_enum(t)->name_off);

		if (first && !strncmp(first, PREFIX, sizeof(PREFIX) - 1))
			return t;
	}
	return NULL;
}

int kmt_gfp_names_from_btf(const char *path, struct kmt_gfp_names **ret)
{
	_cleanup_(cleanup_btf) struct btf *btf = btf__parse(path, NULL);
	_cleanup_free_ struct kmt_gfp_names *g = NULL;
	const struct btf_type *t;
	int err = 0;

	if (!btf)
		return kmt_err_errno(-errno, "cannot read BTF '%s'", path);
	t = find_enum(btf);
	if (!t)
		return kmt_err(-ENOENT, "'%s' has no enum of gfp bits", path);
	g = kmt_gfp_names_new("none");
	if (!g)
		return kmt_err(-ENOMEM, "out of memory for gfp names");
	for (__u16 i = 0; i < btf_vlen(t) && !err; i++) {
		const char *name = btf__name_by_offset(btf, btf_enum(t)[i].name_off);

		err = name ? add_bit(g, name, btf_enum(t)[i].val) : 0;
	}
	if (!err)
		err = kmt_gfp_names_compose(g);
	if (err)
		return kmt_err_errno(err, "cannot use the gfp bits of '%s'", path);
	*ret = take_ptr(g);
	return 0;
}
