// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

extern const struct kmt_command kmt_command_help;

static int run(int argc, char **argv)
{
	if (argc > 2)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "help takes one command, not '%s' too",
				    argv[2]);
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return kmt_cmd_help(&kmt_command_help);
	if (argc > 1) {
		const struct kmt_command *cmd = kmt_command_find(argv[1]);

		if (!cmd)
			return kmt_cmd_fail(KMT_EXIT_USAGE, "there is no command '%s' (see "
					    "'kmemtrace help')", argv[1]);
		return kmt_cmd_help(cmd);
	}
	printf("usage: kmemtrace COMMAND [OPTIONS] [-- CMD [ARG...]]\n\n"
	       "Shows who holds the kernel's memory, who keeps taking it, and who wastes it.\n\n");
	for (size_t i = 0; kmt_commands[i]; i++)
		printf("  %-8s %s\n", kmt_commands[i]->name, kmt_commands[i]->help);
	printf("\n'kmemtrace help COMMAND' shows a command's options; kmemtrace(1) has more.\n");
	return KMT_EXIT_OK;
}

const struct kmt_command kmt_command_help = {
	.name = "help",
	.synopsis = "help [COMMAND]",
	.help = "show the commands, or one command's options",
	.run = run,
};
