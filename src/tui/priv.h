/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside tui/ only: what the screen is made of. */
#ifndef KMT_TUI_PRIV_H
#define KMT_TUI_PRIV_H

#include "base/buf.h"
#include "report/layout.h"
#include "report/report.h"
#include "tui/term.h"
#include "tui/tui.h"

#define KMT_TUI_ROWS	24	/* the least that everything fits into */
#define KMT_TUI_COLS	80
#define KMT_TUI_VIEWS	16	/* rows of views.def at most */
#define KMT_TUI_HISTORY	256	/* readings that the curve remembers */
#define KMT_TUI_DRAWS	4	/* in a second, at most */
#define KMT_TUI_TEXT	160	/* what can be typed, and a message */

/* From when on counts are counted. */
enum kmt_tui_since { KMT_SINCE_READING, KMT_SINCE_START, KMT_SINCE_BASELINE };

/* What covers the table. */
enum kmt_tui_pane { KMT_PANE_NONE, KMT_PANE_DETAIL, KMT_PANE_NOTES, KMT_PANE_HELP };

struct kmt_tui {
	struct kmt_term *term;
	struct kmt_tui_data *data;
	size_t view;			/* in kmt_tui_views */
	size_t tab_view[KMT_TUI_VIEWS];	/* of each tab: the view that was last there, + 1 */
	char sort[KMT_TUI_VIEWS][KMT_TUI_TEXT];	/* "COLUMN:asc"; "" the analysis's own order */
	char filter[KMT_TUI_TEXT];	/* "" none */
	enum kmt_tui_since since;
	uint64_t baseline_ns;		/* when it was set */
	bool exact_bytes;
	bool is_paused;			/* the display; a recording: it does not play */

	struct kmt_report *report;	/* filtered and sorted; NULL: there is none */
	char no_table[512];		/* why the view has none: the report is for the header only */
	struct kmt_layout layout;	/* of the report, not yet fitted */
	char *selected;			/* what the row under the cursor is called */
	size_t cursor, top;		/* rows of the report: selected, first on the screen */
	size_t page;			/* rows that were on the screen */

	enum kmt_tui_pane pane;
	size_t pane_top;
	bool is_typing;			/* the filter */
	char typed[KMT_TUI_TEXT];
	char message[512];		/* until the next key */

	int64_t history[KMT_TUI_HISTORY];	/* live bytes at the last readings, a ring */
	size_t n_history;
	uint64_t next_read_ns, play_from_ns, play_at_ns;
	uint64_t drawn_ns[KMT_TUI_DRAWS];	/* the last drawings, a ring */
	size_t n_drawn;
	bool is_dirty;
};

/* table.c: which tab a view belongs to, from 0 on; do two belong to one? */
size_t kmt_tui_tab(size_t view);
bool kmt_tui_same_tab(size_t a, size_t b);

/* Has the view a table, so that the report's rows are its rows? */
bool kmt_tui_has_table(const struct kmt_tui *t);
/* tui.c: the report again, as of the last reading. 0, -ENOMEM */
int kmt_tui_reload(struct kmt_tui *t);
/* Take a reading, and the report. 0 or what the data said. */
int kmt_tui_refresh(struct kmt_tui *t);
/* Put the rows into the order of t->sort; cursor and layout follow. */
int kmt_tui_sort(struct kmt_tui *t);
void kmt_tui_select(struct kmt_tui *t, size_t row);
/* What a row is called: its frozen cells and what else tells it from others. NULL: no memory. */
char *kmt_tui_name(const struct kmt_report *r, const struct kmt_row *row);
void kmt_tui_say(struct kmt_tui *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* keys.c: 0, 1 = leave, or an error of the data */
int kmt_tui_key(struct kmt_tui *t, int key);

/* draw.c: all of the screen. 0 or -ENOMEM */
int kmt_tui_draw(struct kmt_tui *t);

/* header.c: the first lines; returns how many. */
int kmt_tui_header(struct kmt_tui *t, int cols);

/* pane.c: the text of the open pane, lines of at most 'cols' where they can be broken. */
void kmt_tui_pane_text(const struct kmt_tui *t, size_t cols, struct kmt_buf *out);

#endif
