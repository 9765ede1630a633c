// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor: a BPF program that does nothing ("return 0") on the slab
 * tracepoints, as raw tracepoint programs. What this costs, every BPF tool
 * costs. The program is two instructions written by hand, so that nothing but
 * the kernel stands between the measurement and the tracepoint.
 *
 * With -t it only tries and ends: exit status 0 if the kernel lets us, 3 with
 * the reason if not. Tests ask it before they blame kmemtrace.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/resource.h>

#include "../live/load.h"

#define USAGE "usage: emptybpf [-t]"
#define NOT_POSSIBLE 3

/* The second pair exists up to Linux 6.0 only. */
static const char *const tracepoints[] = {
	"kfree", "kmem_cache_free", "kmalloc", "kmem_cache_alloc",
	"kmalloc_node", "kmem_cache_alloc_node",
};
#define N_MANDATORY 4

static void refuse(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(NOT_POSSIBLE);
}

static int load(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "empty", "GPL", insns, 2, NULL);
	if (fd < 0)
		refuse("kernel refuses BPF programs");
	return fd;
}

int main(int argc, char **argv)
{
	int try_only = argc == 2 && !strcmp(argv[1], "-t");
	if (argc != 1 && !try_only)
		die(USAGE);
	/* kernels before 5.11 count BPF memory as locked memory */
	struct rlimit rl = { RLIM_INFINITY, RLIM_INFINITY };
	setrlimit(RLIMIT_MEMLOCK, &rl);
	for (size_t i = 0; i < sizeof(tracepoints) / sizeof(tracepoints[0]); i++) {
		int fd = bpf_raw_tracepoint_open(tracepoints[i], load());
		if (fd < 0 && i < N_MANDATORY)
			refuse(tracepoints[i]);
	}
	if (try_only)
		return 0;
	sigset_t set;
	int sig;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&set, &sig);
	return 0;
}
