// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/nodes.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/err.h"

#define KMT_NODES_SEGMENTS 512
#define KMT_NODES_BLOCKS (1ul << 24)

struct kmt_nodes {
	const char *root;		/* while it is being loaded */
	int only;			/* the one node there is, -1 = several */
	size_t n_segments;
	struct { uint64_t vaddr, paddr, size; } segment[KMT_NODES_SEGMENTS];
	uint64_t block_bytes;		/* memory is hot-plugged, and named, in such blocks */
	size_t n_blocks;
	int16_t *block_node;		/* by physical block number, -1 = no memory */
};

#define KMT_NODES_PATH 256

static void path_of(const struct kmt_nodes *n, char path[KMT_NODES_PATH], const char *name)
{
	snprintf(path, KMT_NODES_PATH, "%s%s", n->root, name);
}

static int each_node(struct kmt_nodes *n, int (*cb)(void *ctx, uint32_t node))
{
	char path[KMT_NODES_PATH];

	path_of(n, path, "/sys/devices/system/node/has_memory");
	return kmt_cpus_file(path, cb, n);
}

static int note_node(void *ctx, uint32_t node)
{
	struct kmt_nodes *n = ctx;

	n->only = n->only == -2 ? (int)node : -1;
	return 0;
}

/* Loadable segments of /proc/kcore: where each piece of RAM is mapped. */
static int read_kcore(struct kmt_nodes *n)
{
	_cleanup_close_ int fd = -1;
	char path[KMT_NODES_PATH];
	Elf64_Ehdr eh;

	path_of(n, path, "/proc/kcore");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return kmt_err_errno(-errno, "cannot read /proc/kcore");
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(Elf64_Phdr))
		return kmt_err(-EIO, "/proc/kcore is no 64-bit core file");
	for (unsigned i = 0; i < eh.e_phnum && n->n_segments < KMT_NODES_SEGMENTS; i++) {
		Elf64_Phdr ph;

		if (pread(fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) != sizeof(ph))
			return kmt_err(-EIO, "/proc/kcore: program header %u is cut", i);
		/* segments without a physical address say -1 */
		if (ph.p_type != PT_LOAD || ph.p_paddr == UINT64_MAX)
			continue;
		n->segment[n->n_segments].vaddr = ph.p_vaddr;
		n->segment[n->n_segments].paddr = ph.p_paddr;
		n->segment[n->n_segments++].size = ph.p_memsz;
	}
	return 0;
}

static int add_block(struct kmt_nodes *n, unsigned long block, int node)
{
	if (block >= KMT_NODES_BLOCKS)
		return kmt_err(-E2BIG, "memory block %lu", block);
	if (block >= n->n_blocks) {
		size_t want = block + 1024;
		int16_t *p = realloc(n->block_node, want * sizeof(*p));

		if (!p)
			return kmt_err_errno(-ENOMEM, "memory blocks");
		for (size_t i = n->n_blocks; i < want; i++)
			p[i] = -1;
		n->block_node = p;
		n->n_blocks = want;
	}
	n->block_node[block] = node;
	return 0;
}

static int read_node(void *ctx, uint32_t node)
{
	char name[64], path[KMT_NODES_PATH];
	DIR *d;
	struct dirent *e;
	int err = 0;

	snprintf(name, sizeof(name), "/sys/devices/system/node/node%u", node);
	path_of(ctx, path, name);
	d = opendir(path);
	if (!d)
		return kmt_err_errno(-errno, "cannot read '%s'", path);
	while (!err && (e = readdir(d))) {
		unsigned long block;
		char end;

		if (sscanf(e->d_name, "memory%lu%c", &block, &end) == 1)
			err = add_block(ctx, block, node);
	}
	closedir(d);
	return err;
}

static int read_block_size(struct kmt_nodes *n)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[KMT_NODES_PATH];
	unsigned long long v;

	path_of(n, path, "/sys/devices/system/memory/block_size_bytes");
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llx", &v) != 1 || !v)
		return kmt_err(-ENOENT, "the size of memory blocks is not known here");
	n->block_bytes = v;
	return 0;
}

int kmt_nodes_load(const char *root, struct kmt_nodes **ret)
{
	struct kmt_nodes *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return kmt_err_errno(-ENOMEM, "nodes");
	n->root = root ? root : "";
	n->only = -2;
	err = each_node(n, note_node);
	if (err <= 0)
		n->only = 0;	/* a kernel without NUMA has one node */
	err = 0;
	if (n->only < 0) {
		err = read_kcore(n);
		err = err ? err : read_block_size(n);
		err = err ? err : each_node(n, read_node);
	}
	if (err < 0) {
		kmt_nodes_free(n);
		return err;
	}
	*ret = n;
	return 0;
}

void kmt_nodes_free(struct kmt_nodes *n)
{
	if (!n)
		return;
	free(n->block_node);
	free(n);
}

int kmt_nodes_of(const struct kmt_nodes *n, uint64_t addr)
{
	if (!n)
		return -1;
	if (n->only >= 0)
		return n->only;
	for (size_t i = 0; i < n->n_segments; i++) {
		uint64_t off = addr - n->segment[i].vaddr, block;

		if (addr < n->segment[i].vaddr || off >= n->segment[i].size)
			continue;
		block = (n->segment[i].paddr + off) / n->block_bytes;
		return block < n->n_blocks ? n->block_node[block] : -1;
	}
	return -1;
}
