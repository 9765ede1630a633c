/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_BASE_OPTIONS_H
#define KMT_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Typed option rows that write into the command's own struct. Parsing, help
 * and completion come from the same rows.
 */
enum kmt_opt_type {
	KMT_OPT_FLAG,		/* bool, set to true */
	KMT_OPT_FLAG_OFF,	/* bool, set to false: --no-realtime */
	KMT_OPT_STRING,		/* const char *, borrowed from argv */
	KMT_OPT_U64,		/* uint64_t within min..max */
	KMT_OPT_SIZE,		/* uint64_t bytes, suffixes K M G T, within min..max */
	KMT_OPT_DURATION,	/* uint64_t nanoseconds, within min..max */
	KMT_OPT_CHOICE,		/* int: index into choices[] (NULL-terminated) */
	KMT_OPT_LIST,		/* struct kmt_strlist: may be given several times */
};

struct kmt_strlist {
	const char **v;		/* borrowed strings; the array is freed by kmt_strlist_done() */
	size_t n;
};

struct kmt_option {
	const char *name;	/* long name without dashes; NULL ends the table */
	char short_name;	/* 0 = none; of two rows with the same the first has it */
	enum kmt_opt_type type;
	size_t offset;		/* offsetof() in the command's struct */
	const char *arg;	/* name of the argument in help; NULL for flags */
	const char *help;	/* one sentence, lower case, no full stop */
	uint64_t min, max;	/* for numbers; max 0 = no limit */
	const char *const *choices;
};

/*
 * Parse argv[1..] (getopt_long; stops at the first operand or "--") into
 * 'dest'. *ret_next: index of the first argument left over; *ret_help: --help
 * or -h was seen (parsing stops there). Ranges are checked here, with the
 * range in the message. 'tables' is a NULL-terminated list of tables that are
 * all relative to 'dest'. Returns 0, -EINVAL, -ERANGE or -ENOMEM.
 */
int kmt_options_parse(const struct kmt_option *const *tables, void *dest, int argc, char **argv,
		      int *ret_next, bool *ret_help);

struct kmt_buf;
/* Append the help lines of a table: "  -n, --name=ARG  text", wrapped at 80 columns. */
void kmt_options_help(const struct kmt_option *const *tables, struct kmt_buf *out);

/* Append a borrowed string. 0 or -ENOMEM. */
int kmt_strlist_add(struct kmt_strlist *l, const char *s);
void kmt_strlist_done(struct kmt_strlist *l);

#endif
