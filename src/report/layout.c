// SPDX-License-Identifier: GPL-2.0-only
#include "report/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/cell_text.h"

/* A name cut shorter than this says nothing. */
#define FROZEN_MIN	20
#define FROZEN_MIN_TWO	14	/* each, when there are several, and no other column may go */
#define TEXT_MIN	9

static void add_defaults(struct kmt_layout *l, const struct kmt_report *r, bool frozen)
{
	for (size_t c = 0; c < r->n_columns; c++)
		if (r->columns[c].frozen == frozen && kmt_report_shows(r, c))
			l->v[l->n++].index = c;
}

int kmt_layout_init(struct kmt_layout *l, const struct kmt_report *r)
{
	*l = (struct kmt_layout){ .v = calloc(r->n_columns + 1, sizeof(*l->v)) };
	if (!l->v)
		return kmt_err(-ENOMEM, "out of memory");
	if (r->shown) {
		for (size_t i = 0; i < r->n_shown; i++)
			l->v[l->n++].index = r->shown[i];
		return 0;
	}
	add_defaults(l, r, false);
	add_defaults(l, r, true);
	return 0;
}

void kmt_layout_done(struct kmt_layout *l)
{
	free(l->v);
	*l = (struct kmt_layout){ 0 };
}

int kmt_layout_measure(struct kmt_layout *l, const struct kmt_report *r, bool titles,
		       bool exact_bytes)
{
	struct kmt_buf b _cleanup_(kmt_buf_done) = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		struct kmt_layout_column *c = &l->v[i];

		c->title_width = titles ? strlen(r->columns[c->index].title) +
					  ((int)c->index == r->sort_column) : 0;
		c->natural = c->title_width;
		for (size_t k = 0; k < r->n_rows && !b.error; k++) {
			kmt_buf_clear(&b);
			kmt_cell_print(&b, r->columns[c->index].unit, &r->rows[k].cells[c->index],
				       exact_bytes);
			if (b.len > c->natural)
				c->natural = b.len;
		}
	}
	return b.error ? kmt_err(b.error, "out of memory") : 0;
}

static size_t total(const struct kmt_layout *l)
{
	size_t sum = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!l->v[i].dropped)
			sum += l->v[i].width + (sum ? 1 : 0);
	return sum;
}

/* Take cells away from the widest of the (not) frozen text columns until it fits. */
static void shrink(struct kmt_layout *l, const struct kmt_report *r, size_t width, bool frozen,
		   size_t min)
{
	while (total(l) > width) {
		struct kmt_layout_column *widest = NULL;

		for (size_t i = 0; i < l->n; i++) {
			struct kmt_layout_column *c = &l->v[i];
			const struct kmt_column *column = &r->columns[c->index];

			if (c->dropped || column->frozen != frozen ||
			    !kmt_unit_is_text(column->unit))
				continue;
			if (c->width > min && c->width > c->title_width &&
			    (!widest || c->width > widest->width))
				widest = c;
		}
		if (!widest)
			return;
		widest->width--;
	}
}

static bool drop_one(struct kmt_layout *l, const struct kmt_report *r)
{
	for (size_t i = l->n; i-- > 0;) {
		struct kmt_layout_column *c = &l->v[i];

		if (c->dropped || r->columns[c->index].frozen || (int)c->index == r->sort_column)
			continue;
		c->dropped = true;
		return true;
	}
	return false;
}

/* Natural widths, cut as far as may be; false if that is not enough. */
static bool fits(struct kmt_layout *l, const struct kmt_report *r, size_t width)
{
	size_t n_frozen = 0;
	bool is_tight;

	for (size_t i = 0; i < l->n; i++) {
		struct kmt_layout_column *c = &l->v[i];

		/* no text needs more than the line; this also bounds shrink() */
		c->width = c->natural;
		if (kmt_unit_is_text(r->columns[c->index].unit) && c->width > width &&
		    width >= c->title_width)
			c->width = width;
		n_frozen += r->columns[c->index].frozen;
	}
	is_tight = n_frozen > 1 && !r->shown_may_drop;
	shrink(l, r, width, true, is_tight ? FROZEN_MIN_TWO : FROZEN_MIN);
	shrink(l, r, width, false, TEXT_MIN);
	return total(l) <= width;
}

void kmt_layout_fit(struct kmt_layout *l, const struct kmt_report *r, size_t width)
{
	while (!fits(l, r, width))
		if ((r->shown && !r->shown_may_drop) || !drop_one(l, r))
			return;
	/* a wide column that went last may have made room for narrow ones */
	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].dropped)
			continue;
		l->v[i].dropped = false;
		l->v[i].dropped = !fits(l, r, width);
	}
	fits(l, r, width);
}
