// SPDX-License-Identifier: GPL-2.0-only
#include "report/match.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/cell_text.h"

/* The column whose name stands before an operator; -1: there is none, so it is no condition. */
static int column_before_operator(const struct kmt_report *r, const char *expr, size_t *ret_len)
{
	size_t len = strcspn(expr, "=!<>~");
	_cleanup_free_ char *name = strndup(expr, len);

	*ret_len = len;
	return name && len && expr[len] ? kmt_report_column(r, name) : -1;
}

static int compile(regex_t *re, const char *text)
{
	_cleanup_buf_ struct kmt_buf got = { 0 };
	char why[80];
	int err = regcomp(re, text, REG_EXTENDED | REG_ICASE | REG_NOSUB);

	if (!err)
		return 0;
	regerror(err, re, why, sizeof(why));
	kmt_buf_escape(&got, text, 64);
	return kmt_err(err == REG_ESPACE ? -ENOMEM : -EINVAL, "regular expression '%s': %s",
		       kmt_buf_str(&got), why);
}

/* In one column, or (-1) in any. 1: found, 0: not, or -ENOMEM. */
static int finds(const struct kmt_report *r, const struct kmt_row *row, int column,
		 const regex_t *re, struct kmt_buf *b)
{
	size_t first = column < 0 ? 0 : (size_t)column;
	size_t end = column < 0 ? r->n_columns : first + 1;

	for (size_t c = first; c < end; c++) {
		if (column < 0 && !kmt_unit_is_text(r->columns[c].unit))
			continue;	/* digits are in every number */
		kmt_buf_clear(b);
		kmt_cell_print(b, r->columns[c].unit, &row->cells[c], false);
		if (b->error)
			return kmt_err(b->error, "out of memory");
		if (!regexec(re, kmt_buf_str(b), 0, NULL, 0))
			return 1;
	}
	return 0;
}

static bool is_set(const void *ctx, size_t row)
{
	return ((const bool *)ctx)[row];
}

/* Which rows stay is known before the first one goes. */
static int keep_found(struct kmt_report *r, int column, bool wanted, const regex_t *re)
{
	_cleanup_free_ bool *stays = calloc(r->n_rows + 1, sizeof(*stays));
	_cleanup_buf_ struct kmt_buf b = { 0 };

	if (!stays)
		return kmt_err(-ENOMEM, "out of memory");
	for (size_t i = 0; i < r->n_rows; i++) {
		int found = finds(r, &r->rows[i], column, re, &b);

		if (found < 0)
			return found;
		stays[i] = found == wanted;
	}
	kmt_report_keep(r, is_set, stays);
	return 0;
}

int kmt_report_match(struct kmt_report *r, const char *expr)
{
	size_t len = 0;
	int column = column_before_operator(r, expr, &len), err;
	bool is_not = column >= 0 && expr[len] == '!' && expr[len + 1] == '~';
	regex_t re;

	if (column >= 0 && expr[len] != '~' && !is_not)
		return kmt_report_filter(r, expr);
	err = compile(&re, column < 0 ? expr : expr + len + 1 + is_not);
	if (err)
		return err;
	err = keep_found(r, column, !is_not, &re);
	regfree(&re);
	return err;
}
