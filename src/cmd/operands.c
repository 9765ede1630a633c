// SPDX-License-Identifier: GPL-2.0-only
#include "cmd/operands.h"

#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"

struct operands {
	const char **v;
	size_t n, max;
};

static int take(struct operands *o, const char *command, const char *arg)
{
	if (o->n == o->max) {
		kmt_cmd_fail(KMT_EXIT_USAGE, "%s takes no argument '%s'", command, arg);
		return -EINVAL;
	}
	o->v[o->n++] = arg;
	return 0;
}

int kmt_operands_parse(const struct kmt_option *const *tables, void *dest, int argc, char **argv,
		       const char **ret_operands, size_t max, bool *ret_help)
{
	struct operands o = { .v = ret_operands, .max = max };
	char *const name = argv[0];
	int next = 0;

	do {
		bool rest;

		argv += next;
		argc -= next;
		argv[0] = name;		/* what an error begins with */
		if (kmt_options_parse(tables, dest, argc, argv, &next, ret_help)) {
			kmt_cmd_usage_error(name);
			return -EINVAL;
		}
		rest = next > 1 && !strcmp(argv[next - 1], "--");
		for (bool first = true; !*ret_help && next < argc && (first || rest); first = false)
			if (take(&o, name, argv[next++]))
				return -EINVAL;
		if (rest)
			break;
		next--;			/* the operand becomes the next round's argv[0] */
	} while (!*ret_help && next + 1 < argc);
	return (int)o.n;
}
