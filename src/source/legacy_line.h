/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SOURCE_LEGACY_LINE_H
#define KMT_SOURCE_LEGACY_LINE_H

#include <stddef.h>

#include "core/event.h"
#include "source/symbol_text.h"

struct kmt_symbols;

#define KMT_LEGACY_COLUMNS	6	/* extra columns of our own table */

enum kmt_legacy_kind {
	KMT_LEGACY_NOTHING,	/* blank, comment, stack frame */
	KMT_LEGACY_HEADER,	/* a comment that says the file is ours to read */
	KMT_LEGACY_EVENT,
	KMT_LEGACY_LOST,	/* our overflow comment, or ftrace's LOST line */
	KMT_LEGACY_BAD,		/* why says what is wrong */
};

/*
 * Reads one line of the original's text outputs: the default text (of 2008 and,
 * with ftrace's prefix and symbols, of v2.6.32), the table, and both with the
 * extra columns that kmemtrace adds. Keeps what a header said about the lines
 * below it. Zero-initialize.
 */
struct kmt_legacy_line {
	const struct kmt_symbols *symbols;	/* resolves names to addresses; may be NULL */
	struct kmt_event ev;			/* points into this struct */
	struct kmt_lost lost;
	const char *why;
	/* kept from line to line */
	unsigned n_columns;			/* extra columns of the table's header */
	unsigned char columns[KMT_LEGACY_COLUMNS];
	char call_site_name[KMT_SYMBOL_TEXT];
	char comm[64];
	char cache[256];
};

enum kmt_legacy_kind kmt_legacy_line_parse(struct kmt_legacy_line *l, const char *line, size_t len);

#endif
