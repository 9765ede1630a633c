// SPDX-License-Identifier: GPL-2.0-only
/*
 * gfp names from the "print fmt" of a kmem event, for kernels whose bits are
 * #defines: ... __print_flags(REC->gfp_flags, "|", {EXPR, "NAME"}, ...). EXPR
 * is C as the preprocessor left it: numbers, casts, parentheses, | & ~ <<.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "symbol/gfp.h"
#include "symbol/gfp_table.h"

#define MAX_DEPTH 64

struct expr {
	const char *p, *end;
	unsigned depth;
	bool bad;
};

static uint64_t parse_or(struct expr *e);

static int peek(struct expr *e)
{
	while (e->p < e->end && (*e->p == ' ' || *e->p == '\t'))
		e->p++;
	return e->p < e->end ? (unsigned char)*e->p : -1;
}

static bool accept(struct expr *e, char c)
{
	if (peek(e) != c)
		return false;
	e->p++;
	return true;
}

static uint64_t fail(struct expr *e)
{
	e->bad = true;
	return 0;
}

static bool is_word(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '*';
}

static int digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

static uint64_t parse_number(struct expr *e)
{
	uint64_t v = 0;
	int base = 10, d;
	const char *start;

	if (e->end - e->p > 2 && e->p[0] == '0' && (e->p[1] | 0x20) == 'x') {
		base = 16;
		e->p += 2;
	}
	for (start = e->p; e->p < e->end && (d = digit(*e->p)) < base; e->p++) {
		if (v > (UINT64_MAX - (uint64_t)d) / (uint64_t)base)
			return fail(e);
		v = v * (uint64_t)base + (uint64_t)d;
	}
	if (e->p == start)
		return fail(e);
	while (e->p < e->end && strchr("uUlL", *e->p) && *e->p)
		e->p++;
	return v;
}

/* ( words ): a cast. Leaves e behind it; false, and e unmoved, if it is none. */
static bool skip_cast(struct expr *e)
{
	struct expr at = *e;

	if (!accept(&at, '(') || !is_word(peek(&at)))
		return false;
	while (is_word(peek(&at)) || (at.p < at.end && digit(*at.p) < 10))
		at.p++;
	if (!accept(&at, ')'))
		return false;
	e->p = at.p;
	return true;
}

static uint64_t parse_unary(struct expr *e)
{
	uint64_t v;

	if (e->bad || e->depth >= MAX_DEPTH)
		return fail(e);
	e->depth++;
	if (accept(e, '~')) {
		v = ~parse_unary(e);
	} else if (skip_cast(e)) {
		v = parse_unary(e);
	} else if (accept(e, '(')) {
		v = parse_or(e);
		if (!accept(e, ')'))
			fail(e);
	} else {
		v = parse_number(e);
	}
	e->depth--;
	return v;
}

static uint64_t parse_shift(struct expr *e)
{
	uint64_t v = parse_unary(e);

	while (!e->bad && peek(e) == '<' && e->end - e->p > 1 && e->p[1] == '<') {
		e->p += 2;

		uint64_t by = parse_unary(e);

		if (by > 63)
			return fail(e);
		v <<= by;
	}
	return v;
}

static uint64_t parse_and(struct expr *e)
{
	uint64_t v = parse_shift(e);

	while (!e->bad && accept(e, '&'))
		v &= parse_shift(e);
	return v;
}

static uint64_t parse_or(struct expr *e)
{
	uint64_t v = parse_and(e);

	while (!e->bad && accept(e, '|'))
		v |= parse_and(e);
	return v;
}

/* One {EXPR, "NAME"}: 1 taken, 0 end of the list (or a sentinel), negative: not understood. */
static int parse_entry(struct expr *e, struct kmt_gfp_names *g)
{
	uint64_t mask;
	const char *name;
	size_t len;

	if (!accept(e, '{'))
		return 0;
	mask = parse_or(e);
	if (e->bad || !accept(e, ','))
		return -EINVAL;
	if (!accept(e, '"'))
		return 0;
	name = e->p;
	while (e->p < e->end && *e->p != '"')
		e->p++;
	len = (size_t)(e->p - name);
	if (!accept(e, '"') || !accept(e, '}'))
		return -EINVAL;
	accept(e, ',');
	if (mask) {	/* bits that are compiled out are 0 */
		int err = kmt_gfp_names_add(g, mask & UINT32_MAX, name, len);

		if (err)
			return err;
	}
	return 1;
}

int kmt_gfp_names_from_format(const char *text, size_t len, struct kmt_gfp_names **ret)
{
	static const char lead[] = "__print_flags(REC->gfp_flags, \"|\", ";
	const char *list = memmem(text, len, lead, sizeof(lead) - 1);
	_cleanup_free_ struct kmt_gfp_names *g = kmt_gfp_names_new("none");
	int err;

	if (!g)
		return kmt_err(-ENOMEM, "out of memory for gfp names");
	if (!list)
		return kmt_err(-ENOENT, "no gfp flag list in the event format");

	struct expr e = { .p = list + sizeof(lead) - 1, .end = text + len };

	while ((err = parse_entry(&e, g)) > 0)
		;
	if (err)
		return kmt_err_errno(err, "cannot read the gfp flag list of the event format");
	if (!g->n)
		return kmt_err(-ENOENT, "the gfp flag list of the event format is empty");
	*ret = take_ptr(g);
	return 0;
}
