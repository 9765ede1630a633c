// SPDX-License-Identifier: GPL-2.0-only
#include "source/legacy_line.h"

#include <stdio.h>
#include <string.h>

#include "symbol/symbols.h"

#define MAX_WORDS	48
#define NSEC		1000000000ULL

struct word {
	const char *p;
	size_t len;
};

struct words {
	struct word v[MAX_WORDS];
	unsigned n;
};

/* The extra columns: their keys in the default text, their titles in the table. */
enum column { COL_CACHE, COL_REAL_NODE, COL_TIME, COL_TASK, COL_CPU, COL_GFP, COL_MAX };
static const struct {
	const char *key, *title;
} columns[COL_MAX] = {
	[COL_CACHE]	= { "cache",	 "CACHE" },
	[COL_REAL_NODE]	= { "real_node", "RNODE" },
	[COL_TIME]	= { "time",	 "TIME" },
	[COL_TASK]	= { "task",	 "TASK" },
	[COL_CPU]	= { "cpu",	 "CPU" },
	[COL_GFP]	= { "gfp",	 "GFP" },
};
_Static_assert(COL_MAX == KMT_LEGACY_COLUMNS, "one place per column");

static enum kmt_legacy_kind bad(struct kmt_legacy_line *l, const char *why)
{
	l->why = why;
	return KMT_LEGACY_BAD;
}

static bool is(struct word w, const char *s)
{
	return w.len == strlen(s) && !memcmp(w.p, s, w.len);
}

static bool starts(struct word w, const char *s)
{
	return w.len >= strlen(s) && !memcmp(w.p, s, strlen(s));
}

static struct word rest(struct word w, size_t skip)
{
	return (struct word){ w.p + skip, w.len - skip };
}

/* False when there are more words than any line of ours has. */
static bool split(struct word line, struct words *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < line.len;) {
		size_t start;

		while (i < line.len && (line.p[i] == ' ' || line.p[i] == '\t'))
			i++;
		start = i;
		while (i < line.len && line.p[i] != ' ' && line.p[i] != '\t')
			i++;
		if (i == start)
			break;
		if (ret->n == MAX_WORDS)
			return false;
		ret->v[ret->n++] = (struct word){ line.p + start, i - start };
	}
	return true;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* The whole word is a number of this base and fits. */
static bool number(struct word w, unsigned base, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;

	if (!w.len)
		return false;
	for (size_t i = 0; i < w.len; i++) {
		int d = digit(w.p[i]);

		if (d >= (int)base || v > (max - (uint64_t)d) / base || (uint64_t)d > max)
			return false;
		v = v * base + (uint64_t)d;
	}
	*ret = v;
	return true;
}

static bool hex_0x(struct word w, uint64_t *ret)
{
	return starts(w, "0x") && number(rest(w, 2), 16, UINT64_MAX, ret);
}

static bool node(struct word w, int16_t *ret)
{
	bool negative = starts(w, "-");
	uint64_t v;

	if (!number(rest(w, negative), 10, INT16_MAX, &v))
		return false;
	*ret = (int16_t)(negative ? -(int)v : (int)v);
	return true;
}

/* "12.345678901", or with microseconds only */
static bool time_ns(struct word w, uint64_t *ret)
{
	const char *dot = memchr(w.p, '.', w.len);
	uint64_t sec, frac;

	if (!dot)
		return false;

	struct word left = { w.p, (size_t)(dot - w.p) }, right = rest(w, left.len + 1);

	if ((right.len != 6 && right.len != 9) ||
	    !number(left, 10, UINT64_MAX / NSEC - 1, &sec) || !number(right, 10, NSEC, &frac))
		return false;
	*ret = sec * (uint64_t)NSEC + (right.len == 6 ? frac * 1000 : frac);
	return true;
}

/* A printable word of ours, with \xNN undone. */
static bool text(struct word w, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < w.len; i++) {
		unsigned char c = (unsigned char)w.p[i];

		if (c < 0x20 || c > 0x7e)
			return false;
		if (c == '\\' && w.len - i >= 4 && w.p[i + 1] == 'x' && digit(w.p[i + 2]) < 16 &&
		    digit(w.p[i + 3]) < 16) {
			c = (unsigned char)(digit(w.p[i + 2]) << 4 | digit(w.p[i + 3]));
			i += 3;
			if (!c)
				return false;
		}
		if (n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return n;
}

/* "comm-123" */
static bool task(struct kmt_legacy_line *l, struct word w)
{
	const char *dash = memrchr(w.p, '-', w.len);
	uint64_t pid;

	if (!dash)
		return false;

	size_t len = (size_t)(dash - w.p);

	if (!number(rest(w, len + 1), 10, INT32_MAX, &pid) ||
	    !text((struct word){ w.p, len }, l->comm, sizeof(l->comm)))
		return false;
	l->ev.pid = (uint32_t)pid;
	l->ev.comm = strcmp(l->comm, "<...>") ? l->comm : NULL;
	l->ev.has_task = true;
	return true;
}

static bool set_extra(struct kmt_legacy_line *l, enum column col, struct word w)
{
	uint64_t v;

	if (is(w, "-"))		/* unknown */
		return true;
	switch (col) {
	case COL_CACHE:
		l->ev.cache = l->cache;
		return text(w, l->cache, sizeof(l->cache));
	case COL_REAL_NODE:
		return node(w, &l->ev.real_node);
	case COL_TIME:
		l->ev.has_time = true;
		return time_ns(w, &l->ev.ts_ns);
	case COL_TASK:
		return task(l, w);
	case COL_CPU:
		if (!number(w, 10, UINT32_MAX, &v))
			return false;
		l->ev.cpu = (uint32_t)v;
		return true;
	case COL_GFP:		/* the number stands before it */
	default:
		return true;
	}
}

/* "name", "name+0x1d/0x90" with "[module]" as the next word or none */
static bool symbol(struct kmt_legacy_line *l, struct word w, struct word module)
{
	const char *plus = memchr(w.p, '+', w.len);
	struct word name = { w.p, plus ? (size_t)(plus - w.p) : w.len };
	char mod[64] = "", *out = l->call_site_name;
	struct kmt_symbol sym;
	uint64_t off = 0;
	size_t size = sizeof(l->call_site_name), len;

	if (!text(name, out, size))
		return false;
	if (plus) {
		struct word tail = rest(w, name.len + 1);
		const char *slash = memchr(tail.p, '/', tail.len);
		uint64_t total;

		if (slash && !hex_0x(rest(tail, (size_t)(slash - tail.p) + 1), &total))
			return false;
		if (slash)
			tail.len = (size_t)(slash - tail.p);
		if (!hex_0x(tail, &off))
			return false;
	}
	if (module.len && !text((struct word){ module.p + 1, module.len - 2 }, mod, sizeof(mod)))
		return false;
	/* a bare name: its start would be taken for a return address of the function before */
	if (kmt_symbols_by_name(l->symbols, out, module.len ? mod : NULL, &sym) &&
	    off < UINT64_MAX - sym.start)
		l->ev.call_site = sym.start + off + !plus;
	l->ev.call_site_name = out;
	len = strlen(out);
	if (plus)
		len += (size_t)snprintf(out + len, size - len, "+0x%llx", (unsigned long long)off);
	if (module.len && len < size)
		len += (size_t)snprintf(out + len, size - len, " [%s]", mod);
	return len < size;
}

/* A call site: decimal, 0x..., or a symbol */
static bool call_site(struct kmt_legacy_line *l, struct word w, struct word module)
{
	if (!module.len && (number(w, 10, UINT64_MAX, &l->ev.call_site) ||
			    hex_0x(w, &l->ev.call_site)))
		return true;
	if (!w.len || digit(w.p[0]) < 10)
		return false;
	return symbol(l, w, module);
}

static bool is_module(struct word w)
{
	return w.len > 2 && w.p[0] == '[' && w.p[w.len - 1] == ']';
}

/* Is word i 'key', and i + 1 there? Then *ret is its value and i moves on. */
static bool pair(const struct words *w, unsigned *i, const char *key, struct word *ret)
{
	if (*i + 1 >= w->n || !is(w->v[*i], key))
		return false;
	*ret = w->v[*i + 1];
	*i += 2;
	return true;
}

static bool pair_u64(const struct words *w, unsigned *i, const char *key, uint64_t max,
		     uint64_t *ret)
{
	struct word v;

	return pair(w, i, key, &v) && number(v, 10, max, ret);
}

static enum kmt_legacy_kind parse_pairs(struct kmt_legacy_line *l, const struct words *w,
					unsigned i)
{
	while (i < w->n) {
		struct word v;
		enum column col = 0;

		while (col < COL_MAX && !pair(w, &i, columns[col].key, &v))
			col++;
		if (col == COL_MAX)
			return bad(l, "something unknown at the end");
		if (!set_extra(l, col, v))
			return bad(l, "bad value in an extra column");
	}
	return KMT_LEGACY_EVENT;
}

/* "type_id 0 call_site 1 ptr 2 bytes_req 3 bytes_alloc 4 gfp_flags 5 node -1" */
static enum kmt_legacy_kind parse_default(struct kmt_legacy_line *l, struct word line)
{
	struct kmt_event *ev = &l->ev;
	struct word site, module = { 0 }, v;
	struct words w;
	uint64_t type;
	unsigned i = 0;

	if (!split(line, &w))
		return bad(l, "too many words");
	if (!pair_u64(&w, &i, "type_id", UINT8_MAX, &type))
		return bad(l, "bad type_id");
	ev->type = (uint8_t)type;
	if (!pair(&w, &i, "call_site", &site))
		return bad(l, "no call_site");
	if (i < w.n && is_module(w.v[i]))
		module = w.v[i++];
	if (!call_site(l, site, module))
		return bad(l, "bad call_site");
	if (!pair_u64(&w, &i, "ptr", UINT64_MAX, &ev->addr))
		return bad(l, "bad ptr");
	if (i == w.n || !is(w.v[i], "bytes_req")) {
		ev->op = KMT_OP_FREE;
		return parse_pairs(l, &w, i);
	}
	if (!pair_u64(&w, &i, "bytes_req", UINT64_MAX, &ev->bytes_req))
		return bad(l, "bad bytes_req");
	if (!pair_u64(&w, &i, "bytes_alloc", UINT64_MAX, &ev->bytes_alloc))
		return bad(l, "bad bytes_alloc");
	if (!pair_u64(&w, &i, "gfp_flags", UINT64_MAX, &ev->gfp))
		return bad(l, "bad gfp_flags");
	if (!pair(&w, &i, "node", &v) || !node(v, &ev->node))
		return bad(l, "bad node");
	return parse_pairs(l, &w, i);
}

/* Cut the last word off a prefix. */
static struct word pop(struct word *line)
{
	size_t end = line->len, start;

	while (end && line->p[end - 1] == ' ')
		end--;
	start = end;
	while (start && line->p[start - 1] != ' ')
		start--;
	line->len = start;
	return (struct word){ line->p + start, end - start };
}

/*
 * ftrace's "%16s-%-5d [%03d] %5lu.%06lu" before the text since v2.6.32, taken
 * from the right because comm may hold anything. Later ftrace has a word of
 * irq flags before the time.
 */
static bool parse_prefix(struct kmt_legacy_line *l, struct word prefix)
{
	struct kmt_event *ev = &l->ev;
	struct word when = pop(&prefix), cpu = pop(&prefix), who;
	uint64_t v;
	size_t len;

	if (!is_module(cpu))
		cpu = pop(&prefix);
	if (!is_module(cpu) ||
	    !number((struct word){ cpu.p + 1, cpu.len - 2 }, 10, UINT32_MAX, &v) ||
	    !time_ns(when, &ev->ts_ns))
		return false;
	ev->cpu = (uint32_t)v;
	while (prefix.len && prefix.p[prefix.len - 1] == ' ')
		prefix.len--;
	while (prefix.len && prefix.p[0] == ' ')
		prefix = rest(prefix, 1);
	who = prefix;

	const char *dash = who.len ? memrchr(who.p, '-', who.len) : NULL;

	if (!dash)
		return false;
	len = (size_t)(dash - who.p);
	if (!len || len >= sizeof(l->comm) || memchr(who.p, '\0', len) ||
	    !number(rest(who, len + 1), 10, INT32_MAX, &v))
		return false;
	memcpy(l->comm, who.p, len);
	l->comm[len] = '\0';
	ev->comm = strcmp(l->comm, "<...>") ? l->comm : NULL;
	ev->pid = (uint32_t)v;
	ev->has_task = true;
	ev->has_time = true;
	return true;
}

static enum kmt_legacy_kind parse_prefixed(struct kmt_legacy_line *l, struct word line)
{
	static const char mark[] = ": type_id ";
	size_t from = 0;
	const char *at;

	while ((at = memmem(line.p + from, line.len - from, mark, sizeof(mark) - 1))) {
		size_t len = (size_t)(at - line.p);

		if (parse_prefix(l, (struct word){ line.p, len }))
			return parse_default(l, rest(line, len + 2));
		from = len + 1;		/* the task was called like this */
	}
	return bad(l, "no kmemtrace event");
}

static enum kmt_legacy_kind parse_cells(struct kmt_legacy_line *l, const struct words *w,
					unsigned i)
{
	if (!l->n_columns)
		return KMT_LEGACY_EVENT;	/* no header said what they are */
	if (w->n - i != l->n_columns)
		return bad(l, "not as many columns as in the header");
	for (unsigned k = 0; k < l->n_columns; k++)
		if (!set_extra(l, l->columns[k], w->v[i + k]))
			return bad(l, "bad value in an extra column");
	return KMT_LEGACY_EVENT;
}

/* "+ K 4096 4096 000000d0 0xffff88007cad6000 -1 getname", "- C 0x... putname" */
static enum kmt_legacy_kind parse_table(struct kmt_legacy_line *l, struct word line)
{
	static const char letters[] = "KCPUV";
	struct kmt_event *ev = &l->ev;
	struct words w;
	const char *letter;
	unsigned i = 2;

	if (!split(line, &w))
		return bad(l, "too many words");
	ev->op = is(w.v[0], "+") ? KMT_OP_ALLOC : KMT_OP_FREE;
	if (w.n < (ev->op == KMT_OP_ALLOC ? 8U : 4U))
		return bad(l, "too few columns");
	if (w.v[1].len != 1)
		return bad(l, "bad TYPE");
	letter = memchr(letters, w.v[1].p[0], sizeof(letters) - 1);
	if (!letter && w.v[1].p[0] != '?')
		return bad(l, "bad TYPE");
	ev->type = letter ? (uint8_t)(letter - letters) : UINT8_MAX;
	if (ev->op == KMT_OP_ALLOC) {
		if (!number(w.v[i++], 10, UINT64_MAX, &ev->bytes_req) ||
		    !number(w.v[i++], 10, UINT64_MAX, &ev->bytes_alloc))
			return bad(l, "bad REQ or GIVEN");
		if (!number(w.v[i++], 16, UINT64_MAX, &ev->gfp))
			return bad(l, "bad FLAGS");
	}
	if (!hex_0x(w.v[i++], &ev->addr))
		return bad(l, "bad POINTER");
	if (ev->op == KMT_OP_ALLOC && !node(w.v[i++], &ev->node))
		return bad(l, "bad NODE");
	if (!call_site(l, w.v[i++], (struct word){ 0 }))
		return bad(l, "bad CALLER");
	return parse_cells(l, &w, i);
}

/* The titles behind CALLER say which extra columns the lines below have. */
static enum kmt_legacy_kind parse_titles(struct kmt_legacy_line *l, struct word line)
{
	struct words w;
	unsigned i = 0;

	l->n_columns = 0;
	if (!split(line, &w))
		return KMT_LEGACY_HEADER;
	while (i < w.n && !is(w.v[i], "CALLER"))
		i++;
	for (i++; i < w.n; i++) {
		enum column col = 0;

		while (col < COL_MAX && !is(w.v[i], columns[col].title))
			col++;
		if (col == COL_MAX || l->n_columns == COL_MAX) {
			l->n_columns = 0;
			break;
		}
		l->columns[l->n_columns++] = (unsigned char)col;
	}
	return KMT_LEGACY_HEADER;
}

/* "events lost: 17 (ring buffer full), cpu 3, time 12.000000001" */
static enum kmt_legacy_kind parse_overflow(struct kmt_legacy_line *l, struct word line)
{
	static const char lead[] = "events lost: ";
	const char *open = memchr(line.p, '(', line.len), *close = memchr(line.p, ')', line.len);
	struct kmt_lost lost = { .cpu = UINT32_MAX };
	struct words w;
	uint64_t cpu;

	if (!starts(line, lead) || !open || !close || close < open ||
	    open - line.p < (ptrdiff_t)sizeof(lead))
		return KMT_LEGACY_NOTHING;

	struct word count = { line.p + sizeof(lead) - 1, (size_t)(open - line.p) - sizeof(lead) };
	struct word text_ = { open + 1, (size_t)(close - open - 1) };

	if (!is(count, "unknown") && !number(count, 10, UINT64_MAX, &lost.events))
		return KMT_LEGACY_NOTHING;
	while (lost.reason < KMT_LOSS_MAX && !is(text_, kmt_loss_text(lost.reason)))
		lost.reason++;
	if (lost.reason == KMT_LOSS_MAX || !split(rest(line, (size_t)(close - line.p) + 1), &w))
		return KMT_LEGACY_NOTHING;
	for (unsigned i = 1; i + 1 < w.n; i += 2) {
		struct word v = w.v[i + 1];

		v.len -= v.p[v.len - 1] == ',';
		if (is(w.v[i], "cpu") && number(v, 10, UINT32_MAX, &cpu))
			lost.cpu = (uint32_t)cpu;
		else if (!is(w.v[i], "time") || !time_ns(v, &lost.ts_ns))
			return KMT_LEGACY_NOTHING;
	}
	l->lost = lost;
	return KMT_LEGACY_LOST;
}

static enum kmt_legacy_kind parse_comment(struct kmt_legacy_line *l, struct word line)
{
	static const char overflow[] = "# overflow: ";

	if (is(line, "# tracer: kmemtrace"))
		return KMT_LEGACY_HEADER;
	if (starts(line, "# ALLOC  TYPE"))
		return parse_titles(l, line);
	if (starts(line, overflow))
		return parse_overflow(l, rest(line, sizeof(overflow) - 1));
	return KMT_LEGACY_NOTHING;
}

/* ftrace's "CPU:3 [LOST 17 EVENTS]", "CPU:3 [LOST EVENTS]" */
static bool parse_ftrace_lost(struct kmt_legacy_line *l, struct word line)
{
	struct words w;
	uint64_t cpu, events = 0;

	if (!split(line, &w) || w.n < 3 || w.n > 4 || !starts(w.v[0], "CPU:") ||
	    !number(rest(w.v[0], 4), 10, UINT32_MAX - 1, &cpu) || !is(w.v[1], "[LOST") ||
	    !is(w.v[w.n - 1], "EVENTS]") ||
	    (w.n == 4 && !number(w.v[2], 10, UINT64_MAX, &events)))
		return false;
	l->lost = (struct kmt_lost){
		.reason = KMT_LOSS_RING, .cpu = (uint32_t)cpu, .events = events,
	};
	return true;
}

enum kmt_legacy_kind kmt_legacy_line_parse(struct kmt_legacy_line *l, const char *p, size_t len)
{
	struct word line = { p, len }, trimmed;

	if (len > KMT_LEGACY_LINE_MAX)
		return bad(l, "longer than 4096 bytes");
	while (line.len && strchr(" \t\r\n", line.p[line.len - 1]) && line.p[line.len - 1])
		line.len--;
	trimmed = line;
	while (trimmed.len && (trimmed.p[0] == ' ' || trimmed.p[0] == '\t'))
		trimmed = rest(trimmed, 1);
	if (!trimmed.len || starts(trimmed, "=> "))
		return KMT_LEGACY_NOTHING;
	if (trimmed.p[0] == '#')
		return parse_comment(l, trimmed);
	l->ev = (struct kmt_event){ .node = -1, .real_node = -1 };
	if (starts(trimmed, "type_id "))
		return parse_default(l, trimmed);
	if ((trimmed.p[0] == '+' || trimmed.p[0] == '-') && trimmed.len > 1 &&
	    (trimmed.p[1] == ' ' || trimmed.p[1] == '\t'))
		return parse_table(l, trimmed);
	if (parse_ftrace_lost(l, trimmed))
		return KMT_LEGACY_LOST;
	return parse_prefixed(l, line);
}
