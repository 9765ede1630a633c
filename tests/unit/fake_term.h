/* SPDX-License-Identifier: GPL-2.0-only */
/* A terminal of the tests' own: keys come from a list, cells can be looked at. */
#ifndef KMT_TESTS_UNIT_FAKE_TERM_H
#define KMT_TESTS_UNIT_FAKE_TERM_H

#include <stdint.h>
#include <string.h>

#include "tui/term.h"

#define FAKE_ROWS 60
#define FAKE_COLS 200

struct fake_term {
	struct kmt_term term;
	int rows, cols;
	int keys[256];
	size_t n_keys, next_key;
	uint32_t cell[FAKE_ROWS][FAKE_COLS];	/* code points, being put */
	uint8_t attr[FAKE_ROWS][FAKE_COLS];
	char line[FAKE_ROWS][FAKE_COLS + 1];	/* as last shown; what is not ASCII is '?' */
	uint32_t shown[FAKE_ROWS][FAKE_COLS];
	uint8_t shown_attr[FAKE_ROWS][FAKE_COLS];
	int cursor_row, shows, closed;
};

static void fake_size(struct kmt_term *t, int *ret_rows, int *ret_cols)
{
	struct fake_term *f = (struct fake_term *)t;

	*ret_rows = f->rows;
	*ret_cols = f->cols;
}

static void fake_clear(struct kmt_term *t)
{
	struct fake_term *f = (struct fake_term *)t;

	memset(f->attr, 0, sizeof(f->attr));
	for (int r = 0; r < FAKE_ROWS; r++)
		for (int c = 0; c < FAKE_COLS; c++)
			f->cell[r][c] = ' ';
}

/* Only as much UTF-8 as the screen writes itself: three bytes. */
static void fake_put(struct kmt_term *t, int row, int col, unsigned attr, const char *text)
{
	struct fake_term *f = (struct fake_term *)t;
	const unsigned char *s = (const unsigned char *)text;

	assert_in_range(row, 0, f->rows - 1);
	while (*s && col < f->cols) {
		uint32_t c = *s++;

		if (c >= 0xe0) {
			assert_true(t->utf8);
			c = (c & 15) << 12 | (s[0] & 63u) << 6 | (s[1] & 63u);
			s += 2;
		}
		assert_true(c >= ' ' && c != 127);	/* nothing that drives a terminal */
		f->cell[row][col] = c;
		f->attr[row][col++] = (uint8_t)attr;
	}
}

static void fake_cursor(struct kmt_term *t, int row, int col)
{
	((struct fake_term *)t)->cursor_row = row;
}

static void fake_show(struct kmt_term *t)
{
	struct fake_term *f = (struct fake_term *)t;

	memcpy(f->shown, f->cell, sizeof(f->shown));
	memcpy(f->shown_attr, f->attr, sizeof(f->shown_attr));
	for (int r = 0; r < FAKE_ROWS; r++) {
		int n = f->cols;

		while (n && f->cell[r][n - 1] == ' ')
			n--;
		for (int c = 0; c < n; c++)
			f->line[r][c] = f->cell[r][c] < 127 ? (char)f->cell[r][c] : '?';
		f->line[r][n] = '\0';
	}
	f->shows++;
}

static int fake_key(struct kmt_term *t)
{
	struct fake_term *f = (struct fake_term *)t;

	return f->next_key < f->n_keys ? f->keys[f->next_key++] : KMT_KEY_NONE;
}

static void fake_close(struct kmt_term *t)
{
	((struct fake_term *)t)->closed++;
}

static const struct kmt_term_ops fake_ops = {
	.size = fake_size, .clear = fake_clear, .put = fake_put, .cursor = fake_cursor,
	.show = fake_show, .key = fake_key, .close = fake_close,
};

static void fake_init(struct fake_term *f, int rows, int cols, bool utf8)
{
	memset(f, 0, sizeof(*f));
	f->term.ops = &fake_ops;
	f->term.utf8 = utf8;
	f->rows = rows;
	f->cols = cols;
	fake_clear(&f->term);
}

static void fake_press(struct fake_term *f, int key)
{
	assert_true(f->n_keys < sizeof(f->keys) / sizeof(f->keys[0]));
	f->keys[f->n_keys++] = key;
}

#endif
