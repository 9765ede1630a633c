/* SPDX-License-Identifier: GPL-2.0-only */
/* Arguments that are no options, wherever they stand. */
#ifndef KMT_CMD_OPERANDS_H
#define KMT_CMD_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>

struct kmt_option;

/*
 * Parse options and operands in any order; behind "--" all are operands.
 * argv[0] is the command's name. Returns the number of operands, or -EINVAL
 * after having told the user (also that there are more than 'max').
 */
int kmt_operands_parse(const struct kmt_option *const *tables, void *dest, int argc, char **argv,
		       const char **ret_operands, size_t max, bool *ret_help);

#endif
