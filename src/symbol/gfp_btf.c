// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's types, and gfp bits from them: an enum since Linux commit
 * 772dd0342727 "mm: enumerate all gfp flags" (in v6.10). The only user of libbpf
 * in symbol/.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "symbol/gfp.h"
#include "symbol/gfp_table.h"

#define PREFIX "___GFP_"
#define SUFFIX "_BIT"

#define VMLINUX_BTF "/sys/kernel/btf/vmlinux"

/*
 * The whole file. libbpf would read it through a stream, and touch twice as much
 * fresh memory.
 */
static ssize_t read_types(void *data, size_t size)
{
	_cleanup_close_ int fd = open(VMLINUX_BTF, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -errno;
	while (len < size && (n = read(fd, (char *)data + len, size - len)) > 0)
		len += (size_t)n;
	return n < 0 ? -errno : (ssize_t)len;
}

/* libbpf knows other places, and would say itself that there is nothing. */
static struct btf *look_elsewhere(void)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	struct btf *btf = btf__load_vmlinux_btf();
	int err = errno;

	libbpf_set_print(print);
	errno = err;
	return btf;
}

int kmt_kernel_btf_load(struct btf **ret)
{
	_cleanup_free_ void *data = NULL;
	struct btf *btf = NULL;
	struct stat st;
	ssize_t len = 0;

	if (!stat(VMLINUX_BTF, &st) && st.st_size > 0) {
		data = malloc((size_t)st.st_size);
		if (!data)
			return kmt_err(-ENOMEM, "out of memory for the kernel's types");
		len = read_types(data, (size_t)st.st_size);
	}
	if (len > 0 && len <= UINT32_MAX)
		btf = btf__new(data, (uint32_t)len);
	else
		btf = look_elsewhere();
	if (!btf && errno == ENOMEM)
		return kmt_err(-ENOMEM, "out of memory for the kernel's types");
	if (!btf)
		return kmt_err(errno == ESRCH ? -ENOENT : -errno,
			       "this kernel has no BTF (" VMLINUX_BTF ")");
	*ret = btf;
	return 0;
}

void kmt_kernel_btf_free(struct btf *btf)
{
	btf__free(btf);
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

int kmt_gfp_names_from_btf(const struct btf *btf, struct kmt_gfp_names **ret)
{
	_cleanup_free_ struct kmt_gfp_names *g = NULL;
	const struct btf_type *t = find_enum(btf);
	int err = 0;

	if (!t)
		return kmt_err(-ENOENT, "this kernel's types have no enum of gfp bits");
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
		return kmt_err_errno(err, "cannot use the gfp bits of the kernel's types");
	*ret = take_ptr(g);
	return 0;
}
