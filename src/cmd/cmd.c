// SPDX-License-Identifier: GPL-2.0-only
/* What every command needs: errors to the user, help, colours, width. */
#include "cmd/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"

#define COMMAND(id) extern const struct kmt_command kmt_command_##id;
#include "cmd/commands.def"
#undef COMMAND

const struct kmt_command *const kmt_commands[] = {
#define COMMAND(id) &kmt_command_##id,
#include "cmd/commands.def"
#undef COMMAND
	NULL
};

const struct kmt_command *kmt_command_find(const char *name)
{
	for (size_t i = 0; kmt_commands[i]; i++)
		if (!strcmp(kmt_commands[i]->name, name))
			return kmt_commands[i];
	return NULL;
}

static void say(const char *fmt, va_list ap)
{
	struct kmt_buf out = { 0 };
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	/* parts may be escaped already: a backslash stays one */
	for (const char *s = text; *s; s++) {
		if (*s == '\\')
			kmt_buf_puts(&out, "\\");
		else
			kmt_buf_escape(&out, s, 1);
	}
	fprintf(stderr, "kmemtrace: %s\n", kmt_buf_str(&out));
	kmt_buf_done(&out);
}

int kmt_cmd_fail(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
	return status;
}

void kmt_cmd_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(fmt, ap);
	va_end(ap);
}

int kmt_cmd_usage_error(const char *command)
{
	return kmt_cmd_fail(KMT_EXIT_USAGE, "%s (see 'kmemtrace %s --help')", kmt_err_text(),
			    command);
}

int kmt_cmd_parse(const struct kmt_command *cmd, void *opts, int argc, char **argv,
		  const char **operands, size_t max, size_t *ret_n, bool *ret_help)
{
	size_t n = 0;
	int next = 0;

	for (;;) {
		bool only_operands;

		argv += next;
		argc -= next;
		argv[0] = (char *)cmd->name;	/* what an error begins with */
		if (kmt_options_parse(cmd->options, opts, argc, argv, &next, ret_help))
			return kmt_cmd_usage_error(cmd->name);
		only_operands = next > 1 && !strcmp(argv[next - 1], "--");
		do {
			if (*ret_help || next >= argc) {
				*ret_n = n;
				return 0;
			}
			if (n == max)
				return kmt_cmd_fail(KMT_EXIT_USAGE, "%s takes no argument '%s'",
						    cmd->name, argv[next]);
			operands[n++] = argv[next];
			next += only_operands;
		} while (only_operands);
	}
}

int kmt_cmd_help(const struct kmt_command *cmd)
{
	struct kmt_buf out = { 0 };

	kmt_buf_printf(&out, "usage: kmemtrace %s\n\n%s\n", cmd->synopsis, cmd->help);
	if (cmd->options) {
		kmt_buf_puts(&out, "\noptions:\n");
		kmt_options_help(cmd->options, &out);
	}
	kmt_buf_printf(&out, "\nSee kmemtrace-%s(1) for more.\n", cmd->name);
	fputs(kmt_buf_str(&out), stdout);
	kmt_buf_done(&out);
	return KMT_EXIT_OK;
}

unsigned kmt_cmd_width(void)
{
	struct winsize ws;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) || ws.ws_col < 20)
		return 80;
	return ws.ws_col;
}

bool kmt_cmd_color(void)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

int kmt_cmd_option_names(const char *command)
{
	const struct kmt_command *cmd = kmt_command_find(command);

	if (!cmd)
		return kmt_cmd_fail(KMT_EXIT_USAGE, "there is no command '%s'", command);
	for (size_t t = 0; cmd->options && cmd->options[t]; t++)
		for (const struct kmt_option *o = cmd->options[t]; o->name; o++)
			printf("--%s\n", o->name);
	printf("--help\n");
	return KMT_EXIT_OK;
}
