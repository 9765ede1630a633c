// SPDX-License-Identifier: GPL-2.0-only
#include "core/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/err.h"
#include "base/fmt.h"

/* Longest number or list entry that is looked at; names in the kernel are far shorter. */
#define PIECE_LEN 256

enum op { OP_EQ, OP_NE, OP_GE, OP_LE, OP_GT, OP_LT };

static const char *const op_text[] = { "=", "!=", ">=", "<=", ">", "<" };

struct expr {
	const char *text;	/* the whole expression, for messages */
	const char *key;
	size_t key_len;
	enum op op;
	const char *value;	/* NUL-terminated tail of the expression */
};

/* key, operator, value; false if there is no operator or no key. */
static bool split(const char *text, struct expr *ret)
{
	static const enum op longest_first[] = { OP_NE, OP_GE, OP_LE, OP_EQ, OP_GT, OP_LT };
	size_t len = strcspn(text, "!<>=");

	for (size_t i = 0; len && i < sizeof(longest_first) / sizeof(longest_first[0]); i++) {
		const char *op = op_text[longest_first[i]];

		if (strncmp(text + len, op, strlen(op)))
			continue;
		*ret = (struct expr){ .text = text, .key = text, .key_len = len,
				      .op = longest_first[i], .value = text + len + strlen(op) };
		return true;
	}
	return false;
}

static bool key_is(const struct expr *e, const char *key)
{
	return strlen(key) == e->key_len && !memcmp(e->key, key, e->key_len);
}

/* Index behind a bracket expression that begins at p, NULL if it is not closed. */
static const char *bracket_end(const char *p)
{
	p++;
	if (*p == '!' || *p == '^')
		p++;
	if (*p == ']')		/* a first ']' is a member, not the end */
		p++;
	for (; *p; p++) {
		if (*p == '\\' && !*++p)
			return NULL;
		if (*p == ']')
			return p + 1;
	}
	return NULL;
}

/* fnmatch() takes anything and then matches nothing: say what is wrong instead. */
static int check_glob(const struct expr *e)
{
	const char *p = e->value;

	if (!*p)
		return kmt_err(-EINVAL, "filter '%s': empty pattern", e->text);
	while (*p) {
		if (*p == '[') {
			p = bracket_end(p);
			if (!p)
				return kmt_err(-EINVAL, "filter '%s': '[' without ']'", e->text);
			continue;
		}
		if (*p == '\\' && !*++p)
			return kmt_err(-EINVAL, "filter '%s': backslash at the end", e->text);
		p++;
	}
	return 0;
}

static int too_many(const struct expr *e)
{
	return kmt_err(-EINVAL, "filter '%s': more than %d of '%.*s'", e->text, KMT_FILTER_MAX,
		       (int)e->key_len, e->key);
}

static int add_glob(struct kmt_globs *g, const struct expr *e)
{
	int err = check_glob(e);

	if (err)
		return err;
	if (g->n == KMT_FILTER_MAX)
		return too_many(e);
	g->v[g->n++] = e->value;
	return 1;
}

static int add_pid(uint32_t *list, size_t *n, const struct expr *e)
{
	uint64_t v;

	if (*n == KMT_FILTER_MAX)
		return too_many(e);
	/* 0 is the idle task of every CPU */
	if (kmt_parse_u64(e->value, e->text, 0, KMT_FILTER_PID_MAX, &v))
		return -EINVAL;
	list[(*n)++] = v;
	return 1;
}

/* One number of a size condition: at most 'len' bytes of 's'. */
static int parse_size(const struct expr *e, const char *s, size_t len, uint64_t min, uint64_t *ret)
{
	char piece[KMT_FMT_LEN];

	if (!len)
		return kmt_err(-EINVAL, "filter '%s': a size is missing", e->text);
	if (len >= sizeof(piece))
		return kmt_err(-EINVAL, "filter '%s': not a size", e->text);
	memcpy(piece, s, len);
	piece[len] = '\0';
	return kmt_parse_size(piece, e->text, min, (uint64_t)1 << 40, ret) ? -EINVAL : 0;
}

/* The bounds an expression sets; a bound it does not set stays as it is. */
static int size_bounds(const struct expr *e, uint64_t *min, uint64_t *max)
{
	const char *dots = strstr(e->value, "..");
	size_t len = strlen(e->value);
	uint64_t v;
	int err;

	if (e->op == OP_EQ && dots) {
		err = parse_size(e, e->value, dots - e->value, 0, min);
		return err ? err : parse_size(e, dots + 2, strlen(dots + 2), 1, max);
	}
	err = parse_size(e, e->value, len, e->op == OP_GE || e->op == OP_GT ? 0 :
			 e->op == OP_LT ? 2 : 1, &v);
	if (err)
		return err;
	if (e->op == OP_GE || e->op == OP_GT || e->op == OP_EQ)
		*min = v + (e->op == OP_GT);
	if (e->op == OP_LE || e->op == OP_LT || e->op == OP_EQ)
		*max = v - (e->op == OP_LT);
	return 0;
}

/* Several size conditions must all hold: the range gets narrower. */
static int add_size(struct kmt_filter *f, const struct expr *e)
{
	uint64_t min = 0, max = 0;
	int err;

	if (e->op == OP_NE)
		return kmt_err(-EINVAL, "filter '%s': size takes = >= <= > < or MIN..MAX", e->text);
	err = size_bounds(e, &min, &max);
	if (err)
		return err;
	if (min < f->size_min)
		min = f->size_min;
	if (!max || (f->size_max && f->size_max < max))
		max = f->size_max;
	if (max && min > max)
		return kmt_err(-EINVAL, "filter '%s': no size is left, %llu..%llu", e->text,
			       (unsigned long long)min, (unsigned long long)max);
	f->size_min = min;
	f->size_max = max;
	return 1;
}

static int add_cgroup(struct kmt_filter *f, const struct expr *e)
{
	if (*e->value != '/')
		return kmt_err(-EINVAL, "filter '%s': a cgroup is a path that begins with '/'",
			       e->text);
	if (f->cgroup)
		return kmt_err(-EINVAL, "filter '%s': only one cgroup can be given", e->text);
	f->cgroup = e->value;
	return 1;
}

static int wrong_op(const struct expr *e)
{
	return kmt_err(-EINVAL, "filter '%s': '%.*s' takes no '%s'", e->text, (int)e->key_len,
		       e->key, op_text[e->op]);
}

/* Keys whose value is a pattern. '!=' is an event filter for caches only. */
static int add_name(struct kmt_filter *f, const struct expr *e)
{
	struct kmt_globs *g = NULL;

	if (key_is(e, "cache"))
		g = e->op == OP_NE ? &f->cache_not : &f->cache;
	else if (key_is(e, "site"))
		g = &f->site;
	else if (key_is(e, "module"))
		g = &f->module;
	else if (key_is(e, "task"))
		g = &f->task;
	if (!g)
		return 0;
	if (e->op != OP_EQ && e->op != OP_NE)
		return wrong_op(e);
	if (e->op == OP_NE && g != &f->cache_not)
		return 0;	/* left to the rows of a view */
	return add_glob(g, e);
}

int kmt_filter_add(struct kmt_filter *f, const char *text)
{
	struct expr e;

	if (!split(text, &e))
		return kmt_err(-EINVAL, "filter '%s': expected KEY=VALUE", text);
	if (key_is(&e, "size"))
		return add_size(f, &e);
	if (key_is(&e, "pid") || key_is(&e, "tgid") || key_is(&e, "cgroup")) {
		if (e.op != OP_EQ)
			return wrong_op(&e);
		if (key_is(&e, "cgroup"))
			return add_cgroup(f, &e);
		return *e.key == 'p' ? add_pid(f->pid, &f->n_pid, &e) :
				       add_pid(f->tgid, &f->n_tgid, &e);
	}
	return add_name(f, &e);
}

bool kmt_filter_empty(const struct kmt_filter *f)
{
	return !f || !(f->cache.n || f->cache_not.n || f->site.n || f->module.n || f->task.n ||
		       f->n_pid || f->n_tgid || f->size_min || f->size_max || f->cgroup ||
		       f->follow_module);
}

bool kmt_globs_match(const struct kmt_globs *g, const char *name)
{
	for (size_t i = 0; name && i < g->n; i++)
		if (!fnmatch(g->v[i], name, 0))
			return true;
	return false;
}

bool kmt_globs_match_list(const struct kmt_globs *g, const char *names)
{
	char piece[PIECE_LEN];

	while (names && *names) {
		size_t len = strcspn(names, "\n");

		if (len && len < sizeof(piece)) {
			memcpy(piece, names, len);
			piece[len] = '\0';
			if (kmt_globs_match(g, piece))
				return true;
		}
		names += len + (names[len] == '\n');
	}
	return false;
}
