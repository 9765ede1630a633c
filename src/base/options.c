// SPDX-License-Identifier: GPL-2.0-only
#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"

#define WIDTH		80
#define TEXT_COLUMN_MAX	30	/* help texts start here at the latest */

/* What getopt_long() returns for a long option: above all characters. */
#define VAL_HELP	256
#define VAL_ROW		257

struct parser {
	const char *command;
	const struct kmt_option **rows;	/* the rows of all tables */
	size_t n_rows;
	struct option *longs;
	char *shorts;
};

static void parser_done(struct parser *p)
{
	free(p->rows);
	free(p->longs);
	free(p->shorts);
}

static bool has_arg(const struct kmt_option *o)
{
	return o->type != KMT_OPT_FLAG && o->type != KMT_OPT_FLAG_OFF;
}

/* A row's short name, unless a row before it has the same: that one is meant then. */
static char short_of(const struct kmt_option *const *tables, const struct kmt_option *row)
{
	for (size_t t = 0; tables[t]; t++) {
		for (const struct kmt_option *o = tables[t]; o->name; o++) {
			if (o == row)
				return row->short_name;
			if (o->short_name == row->short_name)
				return 0;
		}
	}
	return 0;
}

static int parser_init(struct parser *p, const struct kmt_option *const *tables,
		       const char *command)
{
	struct kmt_buf shorts = { 0 };
	size_t n = 0;

	for (size_t t = 0; tables[t]; t++)
		for (const struct kmt_option *o = tables[t]; o->name; o++)
			n++;
	p->command = command;
	p->rows = calloc(n + 1, sizeof(*p->rows));
	p->longs = calloc(n + 2, sizeof(*p->longs));
	if (!p->rows || !p->longs)
		return kmt_err(-ENOMEM, "out of memory");
	kmt_buf_puts(&shorts, "+:");	/* stop at the first operand, tell a missing argument */
	for (size_t t = 0; tables[t]; t++) {
		for (const struct kmt_option *o = tables[t]; o->name; o++) {
			p->longs[p->n_rows] = (struct option) {
				o->name, has_arg(o) ? required_argument : no_argument, NULL,
				VAL_ROW + (int)p->n_rows
			};
			p->rows[p->n_rows++] = o;
			if (short_of(tables, o))
				kmt_buf_printf(&shorts, "%c%s", o->short_name,
					       has_arg(o) ? ":" : "");
		}
	}
	kmt_buf_puts(&shorts, "h");	/* last: a table's own -h is found first */
	p->longs[n] = (struct option) { "help", no_argument, NULL, VAL_HELP };
	p->shorts = kmt_buf_take(&shorts);
	return p->shorts ? 0 : kmt_err(-ENOMEM, "out of memory");
}

static const struct kmt_option *find_row(const struct parser *p, int val)
{
	if (val >= VAL_ROW)
		return p->rows[val - VAL_ROW];
	for (size_t i = 0; i < p->n_rows; i++)
		if (p->rows[i]->short_name == val)
			return p->rows[i];
	return NULL;
}

/* "a, b or c" */
static void put_choices(struct kmt_buf *b, const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++)
		kmt_buf_printf(b, "%s%s", !i ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
}

static int set_choice(const struct kmt_option *o, const char *arg, int *field)
{
	struct kmt_buf want = { 0 }, got = { 0 };

	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], arg)) {
			*field = i;
			return 0;
		}
	}
	put_choices(&want, o->choices);
	kmt_buf_escape(&got, arg, 64);
	kmt_err(0, "--%s must be %s, not '%s'", o->name, kmt_buf_str(&want), kmt_buf_str(&got));
	kmt_buf_done(&want);
	kmt_buf_done(&got);
	return -EINVAL;
}

int kmt_strlist_add(struct kmt_strlist *l, const char *s)
{
	const char **v = reallocarray(l->v, l->n + 1, sizeof(*v));

	if (!v)
		return kmt_err(-ENOMEM, "out of memory");
	l->v = v;
	l->v[l->n++] = s;
	return 0;
}

static int set_value(const struct kmt_option *o, void *dest, const char *arg)
{
	void *field = (char *)dest + o->offset;
	char what[64];

	snprintf(what, sizeof(what), "--%s", o->name);
	switch (o->type) {
	case KMT_OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case KMT_OPT_FLAG_OFF:
		*(bool *)field = false;
		return 0;
	case KMT_OPT_STRING:
		*(const char **)field = arg;
		return 0;
	case KMT_OPT_U64:
		return kmt_parse_u64(arg, what, o->min, o->max, field);
	case KMT_OPT_SIZE:
		return kmt_parse_size(arg, what, o->min, o->max, field);
	case KMT_OPT_DURATION:
		return kmt_parse_duration(arg, what, o->min, o->max, field);
	case KMT_OPT_CHOICE:
		return set_choice(o, arg, field);
	case KMT_OPT_LIST:
		return kmt_strlist_add(field, arg);
	}
	return kmt_err(-EINVAL, "--%s has no type", o->name);
}

/* How many long options a word (without its dashes) may stand for. */
static unsigned count_prefix(const struct parser *p, const char *word, size_t len)
{
	unsigned n = 0;

	for (const struct option *l = p->longs; l->name; l++)
		n += !strncmp(l->name, word, len);
	return n;
}

/* getopt_long() returned '?'. */
static int refuse(const struct parser *p, const char *word)
{
	struct kmt_buf got = { 0 };
	size_t len;

	if (optopt >= VAL_HELP) {
		const char *name = optopt == VAL_HELP ? "help" : find_row(p, optopt)->name;

		return kmt_err(-EINVAL, "--%s takes no argument", name);
	}
	if (optopt) {
		char c = optopt;

		kmt_buf_puts(&got, "-");
		kmt_buf_escape(&got, &c, 1);
		kmt_err(0, "unknown option '%s'", kmt_buf_str(&got));
	} else {
		len = strcspn(word, "=");
		kmt_buf_escape(&got, word, len < 64 ? len : 64);
		if (len > 2 && count_prefix(p, word + 2, len - 2) > 1)
			kmt_err(0, "option '%s' is ambiguous", kmt_buf_str(&got));
		else
			kmt_err(0, "unknown option '%s'", kmt_buf_str(&got));
	}
	kmt_buf_done(&got);
	return -EINVAL;
}

static int needs_argument(const struct parser *p)
{
	const struct kmt_option *o = find_row(p, optopt);

	return kmt_err(-EINVAL, "--%s needs an argument: %s", o->name, o->arg ? o->arg : "VALUE");
}

static int parse_all(const struct parser *p, void *dest, int argc, char **argv, bool *help)
{
	int val, err;

	optind = 0;	/* glibc: start afresh, also after a parse that was left early */
	opterr = 0;
	while ((val = getopt_long(argc, argv, p->shorts, p->longs, NULL)) != -1) {
		if (val == '?')
			return refuse(p, argv[optind - 1]);
		if (val == ':')
			return needs_argument(p);
		const struct kmt_option *o = find_row(p, val);

		if (!o) {	/* --help; -h unless a table has its own */
			*help = true;
			return 0;
		}
		err = set_value(o, dest, optarg);
		if (err)
			return err;
	}
	return 0;
}

int kmt_options_parse(const struct kmt_option *const *tables, void *dest, int argc, char **argv,
		      int *ret_next, bool *ret_help)
{
	struct parser p __attribute__((cleanup(parser_done))) = { 0 };
	bool help = false;
	int err;

	if (argc < 1)	/* nobody's argv, but execve() allows it */
		return kmt_err(-EINVAL, "no arguments");
	err = parser_init(&p, tables, argv[0]);
	if (!err)
		err = parse_all(&p, dest, argc, argv, &help);
	if (err)
		return kmt_err_prefix(err, "%s: ", p.command ? p.command : "");
	*ret_next = optind;
	*ret_help = help;
	return 0;
}

/* "  -n, --name=ARG" */
static void put_names(struct kmt_buf *b, const struct kmt_option *o, char short_name)
{
	if (short_name)
		kmt_buf_printf(b, "  -%c, --%s", short_name, o->name);
	else
		kmt_buf_printf(b, "      --%s", o->name);
	if (has_arg(o))
		kmt_buf_printf(b, "=%s", o->arg ? o->arg : "VALUE");
}

static void put_help(struct kmt_buf *out, const struct kmt_option *o, char short_name,
		     size_t text_column)
{
	struct kmt_buf text = { 0 };
	size_t start = out->len, used;

	put_names(out, o, short_name);
	used = out->len - start;
	if (used + 2 > text_column) {
		kmt_buf_puts(out, "\n");
		used = 0;
	}
	kmt_buf_printf(out, "%*s", (int)(text_column - used), "");
	kmt_buf_puts(&text, o->help);
	if (o->choices) {
		kmt_buf_puts(&text, ": ");
		put_choices(&text, o->choices);
	}
	kmt_buf_wrap(out, kmt_buf_str(&text), text_column, text_column, WIDTH);
	kmt_buf_puts(out, "\n");
	if (text.error)
		out->error = text.error;
	kmt_buf_done(&text);
}

void kmt_options_help(const struct kmt_option *const *tables, struct kmt_buf *out)
{
	static const struct kmt_option help = {
		.name = "help", .short_name = 'h', .type = KMT_OPT_FLAG, .help = "show this help",
	};
	size_t text_column = 0;

	for (size_t t = 0; tables[t]; t++) {
		for (const struct kmt_option *o = tables[t]; o->name; o++) {
			struct kmt_buf names = { 0 };

			put_names(&names, o, short_of(tables, o));
			if (names.len + 2 > text_column && names.len + 2 <= TEXT_COLUMN_MAX)
				text_column = names.len + 2;
			kmt_buf_done(&names);
		}
	}
	if (text_column < 14)
		text_column = 14;	/* "  -h, --help" and two blanks */
	for (size_t t = 0; tables[t]; t++)
		for (const struct kmt_option *o = tables[t]; o->name; o++)
			put_help(out, o, short_of(tables, o), text_column);
	put_help(out, &help, help.short_name, text_column);
}

void kmt_strlist_done(struct kmt_strlist *l)
{
	if (!l)
		return;
	free(l->v);
	*l = (struct kmt_strlist){ 0 };
}
