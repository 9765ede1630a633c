// SPDX-License-Identifier: GPL-2.0-only
/* The NUMA node of an address, on machines made of files. */
#include <elf.h>
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "symbol/nodes.h"

#define MAP	0xffff888000000000ull	/* where the direct map begins on x86 */
#define BLOCK	0x8000000ull		/* 128 MiB */
#define NODE	"sys/devices/system/node"

static char root[64];

static void make_dir(const char *name)
{
	char path[256], *p;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	assert_int_equal(mkdir(path, 0700), 0);
}

static void write_file(const char *name, const void *data, size_t len)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

static void remove_file(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(unlink(path), 0);
}

static void write_kcore(const Elf64_Phdr *ph, size_t n)
{
	struct { Elf64_Ehdr eh; Elf64_Phdr ph[8]; } core = { 0 };

	memcpy(core.eh.e_ident, ELFMAG, SELFMAG);
	core.eh.e_ident[EI_CLASS] = ELFCLASS64;
	core.eh.e_phoff = sizeof(core.eh);
	core.eh.e_phentsize = sizeof(Elf64_Phdr);
	core.eh.e_phnum = n;
	memcpy(core.ph, ph, n * sizeof(*ph));
	write_file("proc/kcore", &core, sizeof(core.eh) + n * sizeof(*ph));
}

/*
 * 1 GiB: 512 MiB at 0 and 512 MiB at 4 GiB (a hole below, as on a PC), the
 * vmalloc area without a physical address. Block 0-1 and 34-35 node 0, 2-3
 * node 1, 32-33 node 2.
 */
static void write_machine(void)
{
	static const Elf64_Phdr ph[] = {
		{ .p_type = PT_NOTE, .p_vaddr = MAP, .p_memsz = 1ull << 40 },
		{ .p_type = PT_LOAD, .p_vaddr = 0xffffc90000000000, .p_paddr = UINT64_MAX,
		  .p_memsz = 1ull << 45 },
		{ .p_type = PT_LOAD, .p_vaddr = MAP, .p_paddr = 0, .p_memsz = 4 * BLOCK },
		{ .p_type = PT_LOAD, .p_vaddr = MAP + (4ull << 30), .p_paddr = 4ull << 30,
		  .p_memsz = 4 * BLOCK },
	};
	static const char *const dirs[] = {
		"node0/memory0", "node0/memory1", "node1/memory2", "node1/memory3",
		"node2/memory32", "node2/memory33", "node0/memory34", "node0/memory35",
		/* neither is a block */
		"node1/memory_side_cache", "node1/memory7x",
	};

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char name[128];

		snprintf(name, sizeof(name), NODE "/%s", dirs[i]);
		make_dir(name);
	}
	write_text(NODE "/has_memory", "0-2\n");
	write_text(NODE "/online", "0-3\n");
	write_text(NODE "/node0/cpulist", "0-3\n");
	write_text(NODE "/node1/cpulist", "5\n");
	write_text(NODE "/node2/cpulist", "\n");
	make_dir(NODE "/node3");
	write_text(NODE "/node3/cpulist", "6-7\n");
	make_dir("sys/devices/system/memory");
	write_text("sys/devices/system/memory/block_size_bytes", "8000000\n");
	make_dir("proc");
	write_kcore(ph, sizeof(ph) / sizeof(ph[0]));
}

static int setup(void **state)
{
	snprintf(root, sizeof(root), "/tmp/kmt-nodes-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_null(void **state)
{
	kmt_nodes_free(NULL);
	assert_int_equal(kmt_nodes_of(NULL, MAP), -1);
	assert_int_equal(kmt_nodes_of_cpu(NULL, 0), -1);
	assert_int_equal(kmt_nodes_of_frame(NULL, 0), -1);
}

/* With one node nothing else is read, and every address lies there. */
static void test_one_node(void **state)
{
	struct kmt_nodes *n;

	make_dir(NODE);
	write_text(NODE "/has_memory", "3\n");
	assert_int_equal(kmt_nodes_load(root, &n), 0);
	assert_int_equal(kmt_nodes_of(n, MAP + 12345), 3);
	assert_int_equal(kmt_nodes_of_cpu(n, 17), 3);
	assert_int_equal(kmt_nodes_of_frame(n, 4096), 3);
	kmt_nodes_free(n);
}

static void test_no_numa(void **state)
{
	struct kmt_nodes *n;

	assert_int_equal(kmt_nodes_load(root, &n), 0);
	assert_int_equal(kmt_nodes_of(n, MAP), 0);
	kmt_nodes_free(n);
	make_dir(NODE);
	write_text(NODE "/has_memory", "\n");
	assert_int_equal(kmt_nodes_load(root, &n), 0);
	assert_int_equal(kmt_nodes_of(n, MAP), 0);
	kmt_nodes_free(n);
}

static void test_several(void **state)
{
	static const struct { uint64_t addr; int node; } want[] = {
		{ MAP, 0 }, { MAP + 2 * BLOCK - 1, 0 }, { MAP + 2 * BLOCK, 1 },
		{ MAP + 4 * BLOCK - 1, 1 },
		{ MAP + 4 * BLOCK, -1 },		/* the hole */
		{ MAP + (4ull << 30) - 1, -1 },
		{ MAP + (4ull << 30), 2 }, { MAP + (4ull << 30) + 2 * BLOCK - 1, 2 },
		{ MAP + (4ull << 30) + 2 * BLOCK, 0 }, { MAP + (4ull << 30) + 4 * BLOCK - 1, 0 },
		{ MAP + (4ull << 30) + 4 * BLOCK, -1 },
		{ MAP - 1, -1 }, { 0, -1 }, { UINT64_MAX, -1 },
		{ 0xffffc90000001000, -1 },		/* vmalloc */
	};
	struct kmt_nodes *n;

	write_machine();
	assert_int_equal(kmt_nodes_load(root, &n), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_int_equal(kmt_nodes_of(n, want[i].addr), want[i].node);
	assert_int_equal(kmt_nodes_of_frame(n, 2 * BLOCK), 1);
	assert_int_equal(kmt_nodes_of_frame(n, 4 * BLOCK), -1);
	assert_int_equal(kmt_nodes_of_frame(n, 4ull << 30), 2);
	/* node 3 has CPUs and no memory */
	assert_int_equal(kmt_nodes_of_cpu(n, 0), 0);
	assert_int_equal(kmt_nodes_of_cpu(n, 5), 1);
	assert_int_equal(kmt_nodes_of_cpu(n, 6), 3);
	assert_int_equal(kmt_nodes_of_cpu(n, 4), -1);
	assert_int_equal(kmt_nodes_of_cpu(n, 100000), -1);
	kmt_nodes_free(n);
}

static void expect_error(int err, const char *word)
{
	struct kmt_nodes *n = (void *)1;

	assert_int_equal(kmt_nodes_load(root, &n), err);
	assert_ptr_equal(n, (void *)1);
	assert_non_null(strstr(kmt_err_text(), word));
}

static void test_errors(void **state)
{
	write_machine();
	remove_file("sys/devices/system/memory/block_size_bytes");
	expect_error(-ENOENT, "memory blocks");
	write_text("sys/devices/system/memory/block_size_bytes", "0\n");
	expect_error(-ENOENT, "memory blocks");
	write_text("proc/kcore", "\177ELF");
	expect_error(-EIO, "no 64-bit core file");
	remove_file("proc/kcore");
	expect_error(-ENOENT, "/proc/kcore");
}

static void test_cut_kcore(void **state)
{
	Elf64_Phdr ph[3] = { { .p_type = PT_LOAD }, { .p_type = PT_LOAD }, { .p_type = PT_LOAD } };
	char path[128];

	write_machine();
	write_kcore(ph, 3);
	snprintf(path, sizeof(path), "%s/proc/kcore", root);
	assert_int_equal(truncate(path, sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) + 5), 0);
	expect_error(-EIO, "program header 2 is cut");
}

/* A block number that would need a table of gigabytes. */
static void test_absurd_block(void **state)
{
	write_machine();
	make_dir(NODE "/node1/memory16777216");
	expect_error(-E2BIG, "memory block 16777216");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_null),
		TEST(test_one_node),
		TEST(test_no_numa),
		TEST(test_several),
		TEST(test_errors),
		TEST(test_cut_kcore),
		TEST(test_absurd_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
