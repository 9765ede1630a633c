/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A terminal as the screen needs it: keys in, cells out. The real one is
 * ncursesw's, in term.c; tests have one of their own behind the same calls.
 *
 *   kmt_tui ──put──► cells ──show──► terminal
 *           ◄──key── keys
 */
#ifndef KMT_TUI_TERM_H
#define KMT_TUI_TERM_H

#include <stdbool.h>

/* Keys that are no character; characters are themselves (ASCII only). */
enum kmt_term_key {
	KMT_KEY_NONE = 0,	/* none waits */
	KMT_KEY_UP = 0x100,
	KMT_KEY_DOWN,
	KMT_KEY_LEFT,
	KMT_KEY_RIGHT,
	KMT_KEY_PAGE_UP,
	KMT_KEY_PAGE_DOWN,
	KMT_KEY_HOME,
	KMT_KEY_END,
	KMT_KEY_ENTER,
	KMT_KEY_ESCAPE,
	KMT_KEY_BACKSPACE,
	KMT_KEY_RESIZE,		/* the size is another one now */
	KMT_KEY_GONE,		/* the terminal is no more */
	KMT_KEY_OTHER,
};

/*
 * How cells look. Colours only beside what the text says or another attribute shows:
 * a terminal may have none, and NO_COLOR takes them away.
 */
#define KMT_ATTR_BOLD		1u
#define KMT_ATTR_REVERSE	2u
#define KMT_ATTR_UNDERLINE	4u
#define KMT_ATTR_RED		8u	/* trust nothing: losses, books that are off */
#define KMT_ATTR_YELLOW		16u	/* look here: a suspect */
#define KMT_ATTR_CYAN		32u	/* where we are: title, view, order */

struct kmt_term;

struct kmt_term_ops {
	void (*size)(struct kmt_term *t, int *ret_rows, int *ret_cols);
	/* All cells blank; nothing is seen before show(). */
	void (*clear)(struct kmt_term *t);
	/* UTF-8 (ASCII where the terminal has none); what passes the margin is cut off. */
	void (*put)(struct kmt_term *t, int row, int col, unsigned attr, const char *text);
	/* The cursor: where text is typed; row -1 hides it. */
	void (*cursor)(struct kmt_term *t, int row, int col);
	void (*show)(struct kmt_term *t);
	int (*key)(struct kmt_term *t);		/* never waits */
	void (*close)(struct kmt_term *t);	/* as it was before */
};

/* Common head of every terminal's own struct. */
struct kmt_term {
	const struct kmt_term_ops *ops;
	bool utf8;
};

/*
 * The terminal of standard input and output, which must be one. It is put back
 * by close(), and by a fatal signal too. 0, or -ENOTTY, -ENXIO (nobody knows this
 * kind of terminal) with its text. One at a time.
 */
int kmt_term_open(struct kmt_term **ret);

#endif
