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
#define KMT_NODES_CPUS 16384

struct kmt_nodes {
	const char *root;		/* while it is being loaded */
	int only;			/* the one node there is, -1 = several */
	size_t n_segments;
	struct { uint64_t vaddr, paddr, size; } segment[KMT_NODES_SEGMENTS];
	uint64_t block_bytes;		/* memory is hot-plugged, and named, in such blocks */
	size_t n_blocks;
	int16_t *block_node;		/* by physical block number, -1 = no memory */
	size_t n_cpus;
	int16_t *cpu_node;		/* -1 = none */
	uint32_t reading;		/* the node whose CPUs are being read */
};

#define KMT_NODES_PATH 256

static void path_of(const struct kmt_nodes *n, char path[KMT_NODES_PATH], const char *name)
{
	snprintf(path, KMT_NODES_PATH, "%s%s", n->root, name);
}

static int each_node(struct kmt_nodes *n, const char *which,
		     int (*cb)(void *ctx, uint32_t node))
{
	char name[64], path[KMT_NODES_PATH];

	snprintf(name, sizeof(name), "/sys/devices/system/node/%s", which);
	path_of(n, path, name);
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

static int note_cpu(void *ctx, uint32_t cpu)
{
	struct kmt_nodes *n = ctx;

	if (cpu >= KMT_NODES_CPUS)
		return 0;
	if (cpu >= n->n_cpus) {
		size_t want = cpu + 64;
		int16_t *p = realloc(n->cpu_node, want * sizeof(*p));

		if (!p)
			return kmt_err_errno(-ENOMEM, "CPUs of nodes");
		for (size_t i = n->n_cpus; i < want; i++)
			p[i] = -1;
		n->cpu_node = p;
		n->n_cpus = want;
	}
	n->cpu_node[cpu] = (int16_t)n->reading;
	return 0;
}

/* A node that has no memory may have CPUs. Without the file their node stays unknown. */
static int read_cpus(void *ctx, uint32_t node)
{
	struct kmt_nodes *n = ctx;
	char name[64], path[KMT_NODES_PATH];
	int res;

	n->reading = node;
	snprintf(name, sizeof(name), "/sys/devices/system/node/node%u/cpulist", node);
	path_of(n, path, name);
	res = kmt_cpus_file(path, note_cpu, n);
	return res == -ENOMEM ? res : 0;
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
	err = each_node(n, "has_memory", note_node);
	if (err <= 0)
		n->only = 0;	/* a kernel without NUMA has one node */
	err = 0;
	if (n->only < 0) {
		err = read_kcore(n);
		err = err ? err : read_block_size(n);
		err = err ? err : each_node(n, "has_memory", read_node);
		if (err >= 0 && each_node(n, "online", read_cpus) == -ENOMEM)
			err = -ENOMEM;
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
	free(n->cpu_node);
	free(n);
}

int kmt_nodes_of_frame(const struct kmt_nodes *n, uint64_t paddr)
{
	uint64_t block;

	if (!n || n->only >= 0)
		return n ? n->only : -1;
	block = paddr / n->block_bytes;
	return block < n->n_blocks ? n->block_node[block] : -1;
}

int kmt_nodes_of_cpu(const struct kmt_nodes *n, uint32_t cpu)
{
	if (!n || n->only >= 0)
		return n ? n->only : -1;
	return cpu < n->n_cpus ? n->cpu_node[cpu] : -1;
}

int kmt_nodes_of(const struct kmt_nodes *n, uint64_t addr)
{
	if (!n)
		return -1;
	if (n->only >= 0)
		return n->only;
	for (size_t i = 0; i < n->n_segments; i++) {
		uint64_t off = addr - n->segment[i].vaddr;

		if (addr < n->segment[i].vaddr || off >= n->segment[i].size)
			continue;
		return kmt_nodes_of_frame(n, n->segment[i].paddr + off);
	}
	return -1;
}
