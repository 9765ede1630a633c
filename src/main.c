// SPDX-License-Identifier: GPL-2.0-only
/* Finds the command, runs it. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

/* --version and --help read like options but are commands. */
static const char *spelled(const char *word)
{
	if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		return "version";
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return "help";
	return word;
}

/* What stdio still holds. A reader that went away is no error of ours. */
static int flush_output(int status)
{
	errno = 0;
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE || status != KMT_EXIT_OK)
		return status;
	return kmt_cmd_fail(KMT_EXIT_IMPOSSIBLE, "standard output: %s",
			    errno ? strerror(errno) : "cannot write");
}

/*
 * Standard input, output and error exist from here on: a file or socket opened
 * later must never get the number of one that the caller had closed. Nothing
 * can be written to the one that stands in for standard output, so that its
 * absence is an error and not silence.
 */
static void open_missing_fds(void)
{
	static const int modes[] = { O_RDWR, O_RDONLY, O_RDWR };

	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", modes[fd]);	/* takes the lowest number: this one */
}

int main(int argc, char **argv)
{
	static char printed[64u << 10];
	const struct kmt_command *cmd;

	open_missing_fds();
	setlocale(LC_CTYPE, "");
	/* what is printed goes out in flush_output(), which so learns why it cannot */
	setvbuf(stdout, printed, _IOFBF, sizeof(printed));
	/* a reader that went away is an error of the write, not the end of the process */
	signal(SIGPIPE, SIG_IGN);
	/* and so is a limit on the size of files (ulimit -f) */
	signal(SIGXFSZ, SIG_IGN);
	if (argc < 2)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "no command given (see 'kmemtrace help')");
	cmd = kmt_command_find(spelled(argv[1]));
	if (!cmd)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "there is no command '%s' (see 'kmemtrace "
				    "help')", argv[1]);
	return flush_output(cmd->run(argc - 1, argv + 1));
}
