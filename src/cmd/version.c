// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

extern const struct kmt_command kmt_command_version;

static int run(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return kmt_cmd_help(&kmt_command_version);
	if (argc > 1)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "version takes no argument '%s'", argv[1]);
	printf("kmemtrace %s\n", KMT_VERSION);
	return KMT_EXIT_OK;
}

const struct kmt_command kmt_command_version = {
	.name = "version",
	.synopsis = "version",
	.help = "print the version",
	.run = run,
};
