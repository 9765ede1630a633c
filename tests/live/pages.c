// SPDX-License-Identifier: GPL-2.0-only
/*
 * A known number of pages, percpu objects or vmalloc areas, held or let go.
 *
 * usage: pages [-w FIFO] pipe N		one page in each of N pipes
 *        pages [-w FIFO] ring ORDER N		a packet ring of N blocks of 2^ORDER pages
 *        pages [-w FIFO] percpu N		N BPF arrays of 8 bytes for each CPU
 *        pages [-w FIFO] vmalloc BYTES N	N BPF arrays of that many bytes
 *
 * With -w a child holds it all until somebody opens FIFO for writing, and the
 * command ends when it has it. Without, it is all let go, the areas of BPF arrays
 * are waited for, and a second passes for what else the kernel frees later.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void use_pipes(long n)
{
	static char page[65536];
	long size = sysconf(_SC_PAGESIZE);

	for (long i = 0; i < n; i++) {
		int p[2];

		if (pipe(p) || write(p[1], page, size) != size)
			die("pipe");
	}
}

static void use_ring(long order, long n)
{
	unsigned block = (unsigned)sysconf(_SC_PAGESIZE) << order;
	struct tpacket_req req = { .tp_block_size = block, .tp_block_nr = n,
				   .tp_frame_size = 2048, .tp_frame_nr = block / 2048 * n };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)))
		die("packet ring");
}

static void use_maps(unsigned type, unsigned entries, long n)
{
	for (long i = 0; i < n; i++) {
		union bpf_attr attr = { .map_type = type, .key_size = 4, .value_size = 8,
					.max_entries = entries };

		if (syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) < 0)
			die("BPF map");
	}
}

/* BPF arrays in the kernel's list of areas; 0 as well where it cannot be read. */
static long areas(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "r");
	char line[512];
	long n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "bpf_map_area_alloc") || strstr(line, "array_map_alloc");
	if (f)
		fclose(f);
	return n;
}

static void use(int argc, char **argv)
{
	long a = argc > 1 ? strtol(argv[1], NULL, 0) : 0, b = argc > 2 ? strtol(argv[2], NULL, 0) : 0;

	if (!strcmp(argv[0], "pipe"))
		use_pipes(a);
	else if (!strcmp(argv[0], "ring"))
		use_ring(a, b);
	else if (!strcmp(argv[0], "percpu"))
		use_maps(BPF_MAP_TYPE_PERCPU_ARRAY, 1, a);
	else if (!strcmp(argv[0], "vmalloc"))
		use_maps(BPF_MAP_TYPE_ARRAY, a / 8, b);
	else
		exit(2);
}

int main(int argc, char **argv)
{
	struct rlimit files = { 65536, 65536 };
	struct rlimit memory = { RLIM_INFINITY, RLIM_INFINITY };
	const char *fifo = NULL;
	int ready, opt, status = 0;
	eventfd_t v = 0;
	long before;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+w:")) != -1) {
		if (opt != 'w')
			return 2;
		fifo = optarg;
	}
	if (optind >= argc)
		return 2;
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_MEMLOCK, &memory);	/* BPF maps count for it before Linux 5.11 */
	ready = eventfd(0, 0);	/* a pipe would take a page */
	if (ready < 0)
		die("eventfd");
	before = areas();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		use(argc - optind, argv + optind);
		if (eventfd_write(ready, 1))
			_exit(1);
		if (fifo) {
			/* whoever waits for our output's end need not wait for this */
			close(1);
			close(2);
			if (open(fifo, O_RDONLY) < 0)
				_exit(1);
		}
		_exit(0);
	}
	while (poll(&(struct pollfd){ .fd = ready, .events = POLLIN }, 1, 100) == 0)
		if (waitpid(pid, &status, WNOHANG) == pid)
			return 1;	/* it said why */
	if (eventfd_read(ready, &v))
		return 1;
	if (fifo)
		return 0;
	waitpid(pid, &status, 0);
	/* a worker frees them one by one, after grace periods of RCU */
	for (int tries = 0; areas() > before && tries < 200; tries++)
		usleep(100 * 1000);
	sleep(1);
	return status != 0;
}
