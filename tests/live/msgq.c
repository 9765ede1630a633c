// SPDX-License-Identifier: GPL-2.0-only
/*
 * System V messages: N messages of S bytes are N kmallocs of S + 48 bytes
 * (struct msg_msg on 64-bit kernels, S + 48 <= page size), live from msgsnd()
 * to msgrcv().
 *
 *   wait (-W) ─► send on CPU -c ─► hold -t ms ─► detach (-d) ─► wait (-w) ─► receive on CPU -r
 *
 * With -d the process that was started ends after the holding time and a child
 * keeps the messages: whoever runs us sees an ended command and live messages.
 * The queues lie in an IPC namespace of our own where the kernel grants one,
 * so that they go away with us however we end.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#include "load.h"

#define USAGE "usage: msgq [-n MESSAGES] [-s BYTES] [-c CPU] [-r CPU] [-t HOLD_MS] [-d] " \
	      "[-W FIFO] [-w FIFO] [-p PHASE_FILE]"
#define MAX_LIFE_S 120
#define MAX_QUEUES 4096

struct opts {
	long n, size, hold_ms;
	int send_cpu, recv_cpu;
	int detach;
	const char *wait_send, *wait_recv, *phases;
};

struct message {
	long type;
	char text[65536];
};

/* Known to the signal handler, hence outside of any function. */
static int queues[MAX_QUEUES];
static volatile sig_atomic_t n_queues;

static void remove_queues(void)
{
	for (int i = 0; i < n_queues; i++)
		msgctl(queues[i], IPC_RMID, NULL);
	n_queues = 0;
}

static void on_signal(int sig)
{
	remove_queues();
	_exit(128 + sig);
}

static void guard(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };
	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		sigaction(sigs[i], &sa, NULL);
	atexit(remove_queues);
	alarm(MAX_LIFE_S);
}

/* How many messages of this size fit into a new queue; the queue is the last one. */
static long new_queue(long size)
{
	struct msqid_ds ds;
	if (n_queues == MAX_QUEUES)
		die("needs more than %d queues", MAX_QUEUES);
	int id = msgget(IPC_PRIVATE, 0600);
	if (id < 0)
		die("msgget: %s", strerror(errno));
	queues[n_queues] = id;
	n_queues++;
	if (msgctl(id, IPC_STAT, &ds))
		die("msgctl: %s", strerror(errno));
	long fits = (long)ds.msg_qbytes / (size ? size : 1);
	if (!fits)
		die("a queue takes %lu bytes, a message has %ld", (unsigned long)ds.msg_qbytes, size);
	return fits;
}

static void send_all(const struct opts *o, struct message *m)
{
	long room = 0;
	for (long i = 0; i < o->n; i++, room--) {
		if (!room)
			room = new_queue(o->size);
		if (msgsnd(queues[n_queues - 1], m, (size_t)o->size, IPC_NOWAIT))
			die("msgsnd: %s", strerror(errno));
	}
}

static long receive_all(const struct opts *o, struct message *m)
{
	long got = 0;
	for (int q = 0; q < n_queues; q++)
		while (msgrcv(queues[q], m, (size_t)o->size, 0, IPC_NOWAIT) >= 0)
			got++;
	return got;
}

/* The child goes on; the parent ends without touching the queues. */
static void detach(void)
{
	pid_t pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid)
		_exit(0);
	setsid();
	for (int fd = 0; fd < 64; fd++)
		close(fd);
	alarm(MAX_LIFE_S);
}

static void parse(int argc, char **argv, struct opts *o)
{
	int c;
	while ((c = getopt(argc, argv, "n:s:c:r:t:dW:w:p:h")) != -1) {
		switch (c) {
		case 'n': o->n = number(optarg, 0, 1000000); break;
		case 's': o->size = number(optarg, 0, 4048); break;
		case 'c': o->send_cpu = (int)number(optarg, 0, 1023); break;
		case 'r': o->recv_cpu = (int)number(optarg, 0, 1023); break;
		case 't': o->hold_ms = number(optarg, 0, 60000); break;
		case 'd': o->detach = 1; break;
		case 'W': o->wait_send = optarg; break;
		case 'w': o->wait_recv = optarg; break;
		case 'p': o->phases = optarg; break;
		default: die(USAGE);
		}
	}
	if (optind != argc)
		die(USAGE);
}

int main(int argc, char **argv)
{
	static struct message m = { .type = 1 };
	struct opts o = { .n = 1000, .size = 1000, .send_cpu = -1, .recv_cpu = -1 };

	parse(argc, argv, &o);
	if (unshare(CLONE_NEWIPC) && geteuid() == 0)
		fprintf(stderr, "msgq: no IPC namespace: %s\n", strerror(errno));
	guard();
	wait_fifo(o.wait_send);
	pin(o.send_cpu);
	send_all(&o, &m);
	phase(o.phases, "sent", o.n);
	sleep_ms(o.hold_ms);
	if (o.detach)
		detach();
	wait_fifo(o.wait_recv);
	pin(o.recv_cpu);
	long got = receive_all(&o, &m);
	phase(o.phases, "received", got);
	if (got != o.n)
		die("sent %ld messages, received %ld", o.n, got);
	return 0;
}
