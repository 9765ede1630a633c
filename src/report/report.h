/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answer: what every renderer and the screen can show. Units and
 * formatting are the renderer's business, never the analysis's.
 *
 *   kmt_report
 *   ├── summary   list of (key, title, unit, value)
 *   ├── table     columns × rows of typed cells, a row may carry detail lines
 *   ├── quality   list of (key, title, unit, value): how far to trust the rest
 *   └── notes     sentences for people
 */
#ifndef KMT_REPORT_REPORT_H
#define KMT_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum kmt_unit {
	KMT_UNIT_TEXT,
	KMT_UNIT_LIST,		/* text with '\n' between entries; JSON array */
	KMT_UNIT_COUNT,
	KMT_UNIT_BYTES,
	KMT_UNIT_PERCENT,
	KMT_UNIT_BAR,		/* a percentage that text draws */
	KMT_UNIT_NS,		/* duration */
	KMT_UNIT_ADDR,		/* JSON: hex string */
	KMT_UNIT_BYTES_PER_S,
	KMT_UNIT_COUNT_PER_S,
};

/* Of a column in text, unless --columns asks for it; programs always get all. */
enum kmt_show {
	KMT_SHOWN,
	KMT_HIDDEN,
	KMT_IF_ANY,		/* a number: shown where a row has one that is not 0 */
};

struct kmt_cell {
	bool	is_null;	/* unknown: "-" in text, null in JSON, empty in CSV */
	bool	has_text, is_shared;	/* inside report/ only */
	union {			/* by the column's unit */
		int64_t	i;	/* COUNT, BYTES, NS, ADDR (as uint64_t), *_PER_S */
		double	d;	/* PERCENT, BAR */
		char	*text;	/* TEXT, LIST: owned by the report */
	};
};

/* A column. 'key' is the stable JSON/CSV name; "balance.verdict" nests in JSON. */
struct kmt_column {
	const char *key;
	const char *title;	/* short, upper case, for text */
	enum kmt_unit unit;
	enum kmt_show show;
	bool	frozen;		/* always a column of its own, never elided (the row's name) */
};

struct kmt_field {
	const char *key;
	const char *title;
	enum kmt_unit unit;
	struct kmt_cell cell;
	bool	alarm;		/* worth a person's attention (a loss that is not zero) */
	bool	quiet;		/* text leaves it out while it is 0 */
};

struct kmt_fields {
	struct kmt_field *v;
	size_t n, cap;
};

struct kmt_row {
	struct kmt_cell *cells;	/* n_columns of them */
	char **detail;		/* extra lines under the row (stack frames); owned */
	size_t n_detail;
};

struct kmt_report {
	char	*command;	/* "stat" */
	char	*view;		/* "site" */
	char	*kernel;	/* release of the traced kernel, NULL unknown */
	uint64_t window_ns;	/* how long was looked */
	struct kmt_fields summary;
	struct kmt_fields quality;
	const struct kmt_column *columns;	/* borrowed: static tables of the analyses */
	size_t	n_columns;
	struct kmt_row *rows;
	size_t	n_rows, cap_rows;
	uint64_t rows_total;	/* before --limit */
	size_t	*shown;		/* columns chosen by --columns, in order; NULL = defaults */
	size_t	n_shown;
	bool	shown_may_drop;	/* 'shown' is a proposal: what does not fit is left out */
	int	sort_column;	/* -1 = none */
	bool	sort_ascending;
	char	**notes;
	size_t	n_notes;
	struct kmt_arena shared;	/* texts of many cells */
};

/* All return 0 or -ENOMEM; strings are copied unless said otherwise. */
int kmt_report_new(const char *command, const char *view, const struct kmt_column *columns,
		   size_t n_columns, struct kmt_report **ret_report);
void kmt_report_free(struct kmt_report *r);

/* A new row with all cells null; the pointer is valid until the next row. NULL = no memory. */
struct kmt_row *kmt_report_row(struct kmt_report *r);
/* Free what a row that leaves the report owns. */
void kmt_report_row_done(const struct kmt_report *r, struct kmt_row *row);
int kmt_row_detail(struct kmt_row *row, const char *line);
int kmt_cell_text(struct kmt_cell *c, const char *text);	/* NULL text: null cell */
/* Hand the text to the report: the cell may then be copied to any of its rows by "=". */
int kmt_cell_share(struct kmt_report *r, struct kmt_cell *c);
bool kmt_unit_is_text(enum kmt_unit unit);
/* Unknown, also where the unit wants a text and there is none. */
bool kmt_cell_is_null(const struct kmt_cell *c, enum kmt_unit unit);
void kmt_cell_int(struct kmt_cell *c, int64_t v);
void kmt_cell_percent(struct kmt_cell *c, double v);
int kmt_report_note(struct kmt_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Append a field; key and title are borrowed (string constants). */
int kmt_fields_int(struct kmt_fields *f, const char *key, const char *title, enum kmt_unit unit,
		   int64_t v);
int kmt_fields_percent(struct kmt_fields *f, const char *key, const char *title, double v);
int kmt_fields_text(struct kmt_fields *f, const char *key, const char *title, const char *v);
/* Append what another field says, under another name. */
int kmt_fields_copy(struct kmt_fields *f, const struct kmt_field *from, const char *key,
		    const char *title);
const struct kmt_field *kmt_fields_find(const struct kmt_fields *f, const char *key);

/* Column index by key (or by title, case-insensitive), -1 if there is none. */
int kmt_report_column(const struct kmt_report *r, const char *key);

/* Is the column in text, when --columns does not say? */
bool kmt_report_shows(const struct kmt_report *r, size_t column);

/*
 * The view's shaping, in this order: filter, sort, limit, choose columns.
 * -EINVAL with the known names in the error text where a name is unknown.
 * sort: "key" (numbers descending, text ascending), "key:asc", "key:desc"; stable.
 * filter: "key=glob", "key!=glob" for text; "key>=1M", "<", ">", "<=", "=", "!="
 * for numbers with the unit's suffixes. limit 0 = all.
 */
int kmt_report_filter(struct kmt_report *r, const char *expr);
/* Only the rows for whose number 'stays' answers true, asked in order, once each. */
void kmt_report_keep(struct kmt_report *r, bool (*stays)(const void *ctx, size_t row),
		     const void *ctx);
int kmt_report_sort(struct kmt_report *r, const char *spec);
void kmt_report_limit(struct kmt_report *r, uint64_t limit);
int kmt_report_choose(struct kmt_report *r, const char *comma_list);
/* All of it; sort and columns may be NULL. */
int kmt_report_shape(struct kmt_report *r, const char *const *filters, size_t n_filters,
		     const char *sort, uint64_t limit, const char *columns);

#endif
