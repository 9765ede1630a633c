/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_CMD_CMD_H
#define KMT_CMD_CMD_H

#include "base/options.h"

enum kmt_exit {
	KMT_EXIT_OK = 0,
	KMT_EXIT_CHECK = 1,	/* a check failed */
	KMT_EXIT_USAGE = 2,
	KMT_EXIT_IMPOSSIBLE = 3,	/* not possible here: privilege, kernel */
	KMT_EXIT_INPUT = 4,	/* bad input file */
	KMT_EXIT_LOST = 5,	/* data were lost and --strict was given */
};

/* A subcommand: one file, one row in commands.def. */
struct kmt_command {
	const char *name;
	const char *synopsis;	/* "stat [OPTIONS] [-- CMD [ARG...]]" */
	const char *help;	/* one line, lower case, no full stop */
	const struct kmt_option *const *options;	/* NULL-terminated list of tables */
	/* argv[0] is the command's name; returns the exit status */
	int (*run)(int argc, char **argv);
};

extern const struct kmt_command *const kmt_commands[];	/* NULL-terminated */
const struct kmt_command *kmt_command_find(const char *name);

/* "kmemtrace: <text>" on standard error, one line, escaped; returns 'status'. */
int kmt_cmd_fail(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same without an end: something the user should know. */
void kmt_cmd_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Columns of standard output's terminal, 80 when it is none. */
unsigned kmt_cmd_width(void);
/* Standard output is a terminal that wants colour (NO_COLOR is honoured). */
bool kmt_cmd_color(void);
/* Options failed: the stored error and how to get help; returns KMT_EXIT_USAGE. */
int kmt_cmd_usage_error(const char *command);
/*
 * Options into 'opts', operands, which may stand anywhere among them, into
 * operands[max]. Returns 0 or an exit status after having told the user.
 */
int kmt_cmd_parse(const struct kmt_command *cmd, void *opts, int argc, char **argv,
		  const char **operands, size_t max, size_t *ret_n, bool *ret_help);
/* The long options of a command, one a line. */
int kmt_cmd_option_names(const char *command);
/* Print the command's help to standard output; returns KMT_EXIT_OK. */
int kmt_cmd_help(const struct kmt_command *cmd);

#endif
