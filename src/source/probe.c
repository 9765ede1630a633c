// SPDX-License-Identifier: GPL-2.0-only
#include "source/probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "source/bpf_preempt.h"
#include "source/tracefs_dir.h"
#include "symbol/gfp.h"
#include "symbol/kallsyms.h"
#include "symbol/symbols.h"

/* Numbers of linux/capability.h; CAP_PERFMON and CAP_BPF are not in older headers. */
#define CAP_BIT_SYS_ADMIN 21
#define CAP_BIT_PERFMON	  38
#define CAP_BIT_BPF	  39

#define KTIME_GET_COARSE_NS 160	/* first helper of the kernels that charge BPF memory to cgroups */

static const char *const tp_names[] = {
	[KMT_PROBE_KMALLOC] = "kmalloc",
	[KMT_PROBE_KMALLOC_NODE] = "kmalloc_node",
	[KMT_PROBE_CACHE_ALLOC] = "kmem_cache_alloc",
	[KMT_PROBE_CACHE_ALLOC_NODE] = "kmem_cache_alloc_node",
	[KMT_PROBE_KFREE] = "kfree",
	[KMT_PROBE_CACHE_FREE] = "kmem_cache_free",
};

const char *kmt_probe_tp_name(enum kmt_probe_tp tp)
{
	return tp_names[tp];
}

static const struct bpf_insn insn_return_0[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* Linux commit 5ffa25502b5a "bpf: Add instructions for atomic_[cmp]xchg" (in v5.12) */
static const struct bpf_insn insn_cmpxchg[] = {
	{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8, .imm = 0 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = 1 },
	{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_10, .src_reg = BPF_REG_1,
	  .off = -8, .imm = BPF_CMPXCHG },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static const struct bpf_insn insn_coarse_clock[] = {
	{ .code = BPF_JMP | BPF_CALL, .imm = KTIME_GET_COARSE_NS },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

#define N_INSN(insns) (sizeof(insns) / sizeof((insns)[0]))

/* A descriptor or a negative errno. */
static int load_raw_tp(const struct bpf_insn *insns, size_t n)
{
	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "kmt_probe", "GPL", insns, n, NULL);
}

/* As a socket filter: every kernel lets that type use the basic helpers. */
static int can_load(const struct bpf_insn *insns, size_t n)
{
	_cleanup_close_ int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "kmt_probe", "GPL",
					       insns, n, NULL);

	return fd < 0 ? fd : 0;
}

int kmt_probe_cmpxchg(void)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	int err = can_load(insn_cmpxchg, N_INSN(insn_cmpxchg));

	libbpf_set_print(print);
	return err;
}

static void try_raw_tp(struct kmt_probe *p)
{
	_cleanup_close_ int prog = load_raw_tp(insn_return_0, N_INSN(insn_return_0));
	_cleanup_close_ int link = -1;

	p->raw_tp_load = p->raw_tp = prog < 0 ? prog : 0;
	if (prog < 0)
		return;
	link = bpf_raw_tracepoint_open("kmem_cache_free", prog);
	p->raw_tp = link < 0 ? link : 0;
}

/* A function that exists in every kernel and is called rarely. */
static void try_fentry(struct kmt_probe *p, const struct btf *btf)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	_cleanup_close_ int prog = -1;
	_cleanup_close_ int link = -1;
	int id = btf__find_by_name_kind(btf, "kmem_cache_shrink", BTF_KIND_FUNC);

	p->fentry = p->fentry_load = id < 0 ? id : 0;
	if (id < 0)
		return;
	opts.attach_btf_id = id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "kmt_probe", "GPL", insn_return_0,
			     N_INSN(insn_return_0), &opts);
	p->fentry = p->fentry_load = prog < 0 ? prog : 0;
	if (prog < 0)
		return;
	link = bpf_raw_tracepoint_open(NULL, prog);
	p->fentry = link < 0 ? link : 0;
}

static void look_at_btf(struct kmt_probe *p)
{
	struct btf *btf;
	char name[64];

	p->btf = p->fentry = p->fentry_load = kmt_kernel_btf_load(&btf);
	if (p->btf)
		return;
	for (unsigned i = 0; i < KMT_PROBE_TP_MAX; i++) {
		snprintf(name, sizeof(name), "btf_trace_%s", tp_names[i]);
		p->tp[i] = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
	}
	p->kfunc_cache = btf__find_by_name_kind(btf, "bpf_get_kmem_cache", BTF_KIND_FUNC) > 0;
	p->preempted = kmt_bpf_is_preempted(btf);
	p->iter_cache = btf__find_by_name_kind(btf, "bpf_iter__kmem_cache", BTF_KIND_STRUCT) > 0;
	try_fentry(p, btf);
	kmt_functions_look(btf, NULL, true, p->function);
	kmt_kernel_btf_free(btf);
}

static void look_at_privilege(struct kmt_probe *p)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	p->euid = geteuid();
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t caps;

		if (strncmp(line, "CapEff:", 7))
			continue;
		caps = strtoull(line + 7, NULL, 16);
		p->cap_sys_admin = caps >> CAP_BIT_SYS_ADMIN & 1;
		p->cap_perfmon = caps >> CAP_BIT_PERFMON & 1;
		p->cap_bpf = caps >> CAP_BIT_BPF & 1;
	}
}

/* securityfs is often not mounted: look through a mount of our own then. */
static int open_lockdown(void)
{
	int fd = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int fs = -1;
	_cleanup_close_ int mnt = -1;

	if (fd >= 0)
		return fd;
	fs = fsopen("securityfs", FSOPEN_CLOEXEC);
	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return mnt < 0 ? -1 : openat(mnt, "lockdown", O_RDONLY | O_CLOEXEC);
}

/* "none [integrity] confidentiality" */
void kmt_probe_lockdown(char ret[KMT_LOCKDOWN_LEN])
{
	_cleanup_close_ int fd = open_lockdown();
	char text[128];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *from, *to;

	*ret = '\0';
	if (len <= 0)
		return;
	text[len] = '\0';
	from = strchr(text, '[');
	to = from ? strchr(from, ']') : NULL;
	if (to)
		snprintf(ret, KMT_LOCKDOWN_LEN, "%.*s", (int)(to - from - 1), from + 1);
}

static bool has_cgroup1(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mounts", "re");
	char line[1024], type[32];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*s %31s", type) == 1 && !strcmp(type, "cgroup"))
			return true;
	return false;
}

static void look_at_tracefs(struct kmt_probe *p)
{
	struct kmt_tracefs_dir dir;
	char path[320];
	_cleanup_close_ int fd = -1;

	p->tracefs = kmt_tracefs_dir_open(&dir);
	if (p->tracefs)
		return;
	p->tracefs_mounted = dir.mount_fd < 0;
	snprintf(path, sizeof(path), "%s/events/kmem/kmalloc/enable", dir.path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		p->tracefs = -errno;
	kmt_tracefs_dir_close(&dir);
}

/* What bpf/page_cache.bpf.h needs: see symbol/symbols.h. */
static bool has_memory_bases(void)
{
	_cleanup_fclose_ FILE *f = fopen(KMT_KALLSYMS, "re");
	char line[512], *name;
	int found = 0;

	while (f && found < 2 && fgets(line, sizeof(line), f)) {
		bool has_address = strtoull(line, &name, 16);

		name += strnlen(name, 3);	/* behind " d " */
		name[strcspn(name, "\n")] = '\0';
		found += has_address && (!strcmp(name, KMT_SYMBOL_LINEAR) ||
					 !strcmp(name, KMT_SYMBOL_VMEMMAP));
	}
	return found == 2;
}

static int look_at_kallsyms(void)
{
	_cleanup_fclose_ FILE *f = fopen(KMT_KALLSYMS, "re");
	char line[512];

	if (!f)
		return -errno;
	for (int i = 0; i < 1000 && fgets(line, sizeof(line), f); i++)
		if (strtoull(line, NULL, 16))
			return 0;
	return -EPERM;
}

/* Readable is not enough: where it is hidden, something empty lies over it. */
static int look_at_slabinfo(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/slabinfo", "re");
	char line[64];

	if (!f)
		return -errno;
	return fgets(line, sizeof(line), f) && !strncmp(line, "slabinfo", 8) ? 0 : -ENODATA;
}

static void look_at_memory(struct kmt_probe *p)
{
	struct rlimit rl;

	p->memlock = UINT64_MAX;
	if (!getrlimit(RLIMIT_MEMLOCK, &rl) && rl.rlim_cur != RLIM_INFINITY)
		p->memlock = rl.rlim_cur;
	/* Linux commit d05512618056 "bpf: Add bpf_ktime_get_coarse_ns helper" (in v5.11) */
	p->memcg_memory = !can_load(insn_coarse_clock, N_INSN(insn_coarse_clock));
}

void kmt_probe(struct kmt_probe *ret)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);

	*ret = (struct kmt_probe){ .slabinfo = look_at_slabinfo() };
	look_at_privilege(ret);
	kmt_probe_lockdown(ret->lockdown);
	look_at_btf(ret);
	try_raw_tp(ret);
	ret->cmpxchg = kmt_probe_cmpxchg();
	ret->cgroup1 = has_cgroup1();
	look_at_tracefs(ret);
	ret->kallsyms = look_at_kallsyms();
	/* a hundred thousand lines are not read for what is not needed */
	ret->page_cache = !ret->kfunc_cache && !ret->kallsyms && has_memory_bases();
	look_at_memory(ret);
	ret->kprobes = !access("/sys/bus/event_source/devices/kprobe/type", F_OK);
	libbpf_set_print(print);
}
