// SPDX-License-Identifier: GPL-2.0-only
/* The real terminal: the only place that knows ncurses. */
#include "tui/term.h"

#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

/* functions instead of macros, whose names are words like 'clear' and 'move' */
#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"

#define ESCAPE_MS	25	/* a key that sends several bytes sends them faster */
#define LINE		1024	/* no terminal is wider than we look at */

struct curses_term {
	struct kmt_term term;
	SCREEN *screen;
	WINDOW *keys;	/* a pad: where keys are asked for, so that the screen is not drawn for it */
	bool has_colors;
};

/* Colour pairs, on the terminal's own background. */
static const struct {
	unsigned attr;
	short color;
} colors[] = {
	{ KMT_ATTR_RED, COLOR_RED }, { KMT_ATTR_YELLOW, COLOR_YELLOW },
	{ KMT_ATTR_CYAN, COLOR_CYAN },
};
#define N_COLORS (sizeof(colors) / sizeof(colors[0]))

/*
 * What a fatal signal's handler must know, and nothing hands it a context: the
 * terminal's own state and the bytes that undo ours. Written before the handlers
 * are set.
 */
static struct {
	struct termios termios;
	char undo[256];
	size_t len;
} before;

static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT, SIGSYS };

/* Only what may be called here; then the signal does what it does without us. */
static void on_fatal(int sig)
{
	int err = errno;

	if (write(STDOUT_FILENO, before.undo, before.len) < 0)
		err = errno;	/* nothing is left to be done about it */
	tcsetattr(STDOUT_FILENO, TCSANOW, &before.termios);
	errno = err;
	raise(sig);	/* SA_RESETHAND: the default action, once we return */
}

static int take_byte(int c)
{
	if (before.len < sizeof(before.undo))
		before.undo[before.len++] = (char)c;
	return c;
}

/* The capability's bytes, without its delays. */
static void undo_with(const char *name)
{
	const char *text = tigetstr(name);

	if (text && text != (const char *)-1)
		tputs(text, 1, take_byte);
}

static void catch_fatal(void)
{
	struct sigaction sa = { .sa_handler = on_fatal, .sa_flags = SA_RESETHAND };

	before.len = 0;
	undo_with("sgr0");
	undo_with("op");
	undo_with("cnorm");
	undo_with("rmkx");
	undo_with("rmcup");
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		sigaction(fatal[i], &sa, NULL);
}

static void uncatch_fatal(void)
{
	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		signal(fatal[i], SIG_DFL);
}

static void term_size(struct kmt_term *t, int *ret_rows, int *ret_cols)
{
	*ret_rows = getmaxy(stdscr);
	*ret_cols = getmaxx(stdscr);
}

static void term_clear(struct kmt_term *t)
{
	werase(stdscr);
}

static chtype color_of(const struct kmt_term *t, unsigned attr)
{
	const struct curses_term *ct = (const struct curses_term *)t;

	for (size_t i = 0; ct->has_colors && i < N_COLORS; i++)
		if (attr & colors[i].attr)
			return (chtype)COLOR_PAIR((int)i + 1);
	return 0;
}

static void term_put(struct kmt_term *t, int row, int col, unsigned attr, const char *text)
{
	int rows, cols;
	wchar_t wide[LINE];
	size_t n = mbstowcs(wide, text, LINE - 1);

	term_size(t, &rows, &cols);
	if (n == (size_t)-1 || row < 0 || row >= rows || col < 0 || col >= cols)
		return;
	if (n > (size_t)(cols - col))
		n = (size_t)(cols - col);
	wattrset(stdscr, (attr & KMT_ATTR_BOLD ? A_BOLD : 0) |
			 (attr & KMT_ATTR_REVERSE ? A_REVERSE : 0) |
			 (attr & KMT_ATTR_UNDERLINE ? A_UNDERLINE : 0) | color_of(t, attr));
	mvwaddnwstr(stdscr, row, col, wide, (int)n);
	wattrset(stdscr, A_NORMAL);
}

static void term_cursor(struct kmt_term *t, int row, int col)
{
	curs_set(row >= 0);
	if (row >= 0)
		wmove(stdscr, row, col);
}

static void term_show(struct kmt_term *t)
{
	wrefresh(stdscr);
}

static int translate(int c)
{
	static const struct { int curses, ours; } keys[] = {
		{ KEY_UP, KMT_KEY_UP }, { KEY_DOWN, KMT_KEY_DOWN }, { KEY_LEFT, KMT_KEY_LEFT },
		{ KEY_RIGHT, KMT_KEY_RIGHT }, { KEY_PPAGE, KMT_KEY_PAGE_UP },
		{ KEY_NPAGE, KMT_KEY_PAGE_DOWN }, { KEY_HOME, KMT_KEY_HOME },
		{ KEY_END, KMT_KEY_END }, { KEY_ENTER, KMT_KEY_ENTER }, { '\r', KMT_KEY_ENTER },
		{ '\n', KMT_KEY_ENTER }, { 27, KMT_KEY_ESCAPE },
		{ KEY_BACKSPACE, KMT_KEY_BACKSPACE }, { 127, KMT_KEY_BACKSPACE },
		{ '\b', KMT_KEY_BACKSPACE }, { KEY_RESIZE, KMT_KEY_RESIZE },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == c)
			return keys[i].ours;
	return c == '\t' || (c >= ' ' && c < 127) ? c : KMT_KEY_OTHER;
}

/* A terminal that went away is always readable and has nothing. */
static bool is_gone(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static int term_key(struct kmt_term *t)
{
	int c = wgetch(((struct curses_term *)t)->keys);

	if (c != ERR)
		return translate(c);
	return is_gone() ? KMT_KEY_GONE : KMT_KEY_NONE;
}

static void term_close(struct kmt_term *t)
{
	struct curses_term *ct = (struct curses_term *)t;

	if (!ct)
		return;
	curs_set(1);
	endwin();
	delwin(ct->keys);
	delscreen(ct->screen);
	uncatch_fatal();
	tcsetattr(STDOUT_FILENO, TCSANOW, &before.termios);
	free(ct);
}

static const struct kmt_term_ops ops = {
	.size = term_size,
	.clear = term_clear,
	.put = term_put,
	.cursor = term_cursor,
	.show = term_show,
	.key = term_key,
	.close = term_close,
};

/* https://no-color.org: set and not empty */
static bool start_colors(void)
{
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !has_colors() || start_color() == ERR || use_default_colors() == ERR)
		return false;
	for (size_t i = 0; i < N_COLORS; i++)
		init_pair((short)(i + 1), colors[i].color, -1);
	return true;
}

static void set_modes(WINDOW *keys)
{
	cbreak();	/* ^C stays a signal */
	noecho();
	nonl();
	set_escdelay(ESCAPE_MS);
	keypad(keys, TRUE);
	nodelay(keys, TRUE);
	curs_set(0);
}

/* ncurses opens one that cannot move its cursor too, and what it shows there is a mess. */
static int check_type(void)
{
	_cleanup_buf_ struct kmt_buf shown = { 0 };
	const char *name = getenv("TERM"), *cup;
	int why;

	if (!name || !*name)
		return kmt_err(-ENXIO, "TERM is not set, so the terminal's type is not known");
	kmt_buf_escape(&shown, name, 40);
	if (setupterm(name, STDOUT_FILENO, &why) == ERR)
		return kmt_err(-ENXIO, "the terminal type '%s' is not known or can do too little",
			       kmt_buf_str(&shown));
	cup = tigetstr("cup");
	del_curterm(cur_term);
	if (!cup || cup == (char *)-1)
		return kmt_err(-ENXIO, "a terminal of type '%s' cannot move its cursor",
			       kmt_buf_str(&shown));
	return 0;
}

int kmt_term_open(struct kmt_term **ret)
{
	struct curses_term *ct;
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDOUT_FILENO, &before.termios))
		return kmt_err(-ENOTTY, "standard input and output are no terminal");
	err = check_type();
	if (err)
		return err;
	ct = calloc(1, sizeof(*ct));
	if (!ct)
		return kmt_err(-ENOMEM, "out of memory");
	ct->screen = newterm(NULL, stdout, stdin);
	ct->keys = ct->screen ? newpad(1, 1) : NULL;
	if (!ct->keys) {
		if (ct->screen) {
			endwin();
			delscreen(ct->screen);
		}
		free(ct);
		return kmt_err(-ENXIO, "the terminal cannot be used");
	}
	set_modes(ct->keys);
	ct->has_colors = start_colors();
	catch_fatal();
	ct->term = (struct kmt_term){ .ops = &ops,
				      .utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8") };
	*ret = &ct->term;
	return 0;
}
