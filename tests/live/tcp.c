// SPDX-License-Identifier: GPL-2.0-only
/*
 * N TCP connections over loopback, each closed by the client first: each leaves
 * one TIME-WAIT socket (inet_twsk_alloc) that lives for 60 s. The port of the
 * server goes to the phase file, so that a test can count them in /proc/net/tcp.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "load.h"

#define USAGE "usage: tcp [-n CONNECTIONS] [-b BYTES_EACH] [-p PHASE_FILE]"

static int listener(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*addr = (struct sockaddr_in){ .sin_family = AF_INET };
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, len) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)addr, &len))
		die("cannot listen on loopback: %s", strerror(errno));
	return fd;
}

static void one_connection(int server, const struct sockaddr_in *addr, size_t bytes)
{
	static char buf[65536];
	int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client < 0 || connect(client, (const struct sockaddr *)addr, sizeof(*addr)))
		die("cannot connect: %s", strerror(errno));
	int peer = accept(server, NULL, NULL);
	if (peer < 0)
		die("cannot accept: %s", strerror(errno));
	if (write(client, buf, bytes) != (ssize_t)bytes)
		die("short write: %s", strerror(errno));
	close(client);
	while (read(peer, buf, sizeof(buf)) > 0)
		;
	close(peer);
}

int main(int argc, char **argv)
{
	long n = 200;
	long bytes = 1024;
	const char *phases = NULL;
	int c;

	while ((c = getopt(argc, argv, "n:b:p:h")) != -1) {
		switch (c) {
		case 'n': n = number(optarg, 1, 20000); break;
		case 'b': bytes = number(optarg, 0, 65536); break;
		case 'p': phases = optarg; break;
		default: die(USAGE);
		}
	}
	if (optind != argc)
		die(USAGE);
	struct sockaddr_in addr;
	int server = listener(&addr);
	phase(phases, "port", ntohs(addr.sin_port));
	for (long i = 0; i < n; i++)
		one_connection(server, &addr, (size_t)bytes);
	close(server);
	phase(phases, "closed", n);
	return 0;
}
