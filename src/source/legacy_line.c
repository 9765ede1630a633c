// SPDX-License-Identifier: GPL-2.0-only
#include "source/legacy_line.h"

#include <stdio.h>
#include <string.h>

#include "source/ftrace_prefix.h"
#include "source/lines.h"
#include "source/symbol_text.h"
#include "source/words.h"

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

/* "comm-123" */
static bool task(struct kmt_legacy_line *l, struct kmt_word w)
{
	const char *dash = memrchr(w.p, '-', w.len);
	uint64_t pid;

	if (!dash)
		return false;

	size_t len = (size_t)(dash - w.p);

	if (!kmt_word_number(kmt_word_rest(w, len + 1), 10, INT32_MAX, &pid) ||
	    !kmt_word_text((struct kmt_word){ w.p, len }, l->comm, sizeof(l->comm)))
		return false;
	l->ev.pid = (uint32_t)pid;
	l->ev.comm = strcmp(l->comm, "<...>") ? l->comm : NULL;
	l->ev.has_task = true;
	return true;
}

static bool set_extra(struct kmt_legacy_line *l, enum column col, struct kmt_word w)
{
	uint64_t v;

	if (kmt_word_is(w, "-"))		/* unknown */
		return true;
	switch (col) {
	case COL_CACHE:
		l->ev.cache = l->cache;
		return kmt_word_text(w, l->cache, sizeof(l->cache));
	case COL_REAL_NODE:
		return kmt_word_node(w, &l->ev.real_node);
	case COL_TIME:
		l->ev.has_time = true;
		return kmt_word_time(w, &l->ev.ts_ns);
	case COL_TASK:
		return task(l, w);
	case COL_CPU:
		if (!kmt_word_number(w, 10, UINT32_MAX, &v))
			return false;
		l->ev.cpu = (uint32_t)v;
		return true;
	case COL_GFP:		/* the number stands before it */
	default:
		return true;
	}
}

static bool symbol(struct kmt_legacy_line *l, struct kmt_word w, struct kmt_word module)
{
	struct kmt_symbol_text t;

	if (!kmt_symbol_text_parse(w, module, &t) ||
	    !kmt_symbol_text_print(&t, l->call_site_name, sizeof(l->call_site_name)))
		return false;
	l->ev.call_site = kmt_symbol_text_address(&t, l->symbols);
	l->ev.call_site_name = l->call_site_name;
	return true;
}

/* A call site: decimal, 0x..., or a symbol */
static bool call_site(struct kmt_legacy_line *l, struct kmt_word w, struct kmt_word module)
{
	if (!module.len && (kmt_word_number(w, 10, UINT64_MAX, &l->ev.call_site) ||
			    kmt_word_hex_0x(w, &l->ev.call_site)))
		return true;
	if (!w.len || kmt_word_digit(w.p[0]) < 10)
		return false;
	return symbol(l, w, module);
}

/* Is word i 'key', and i + 1 there? Then *ret is its value and i moves on. */
static bool pair(const struct kmt_words *w, unsigned *i, const char *key, struct kmt_word *ret)
{
	if (*i + 1 >= w->n || !kmt_word_is(w->v[*i], key))
		return false;
	*ret = w->v[*i + 1];
	*i += 2;
	return true;
}

static bool pair_u64(const struct kmt_words *w, unsigned *i, const char *key, uint64_t max,
		     uint64_t *ret)
{
	struct kmt_word v;

	return pair(w, i, key, &v) && kmt_word_number(v, 10, max, ret);
}

static enum kmt_legacy_kind parse_pairs(struct kmt_legacy_line *l, const struct kmt_words *w,
					unsigned i)
{
	while (i < w->n) {
		struct kmt_word v;
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
static enum kmt_legacy_kind parse_default(struct kmt_legacy_line *l, struct kmt_word line)
{
	struct kmt_event *ev = &l->ev;
	struct kmt_word site, module = { 0 }, v;
	struct kmt_words w;
	uint64_t type;
	unsigned i = 0;

	if (!kmt_words_split(line, &w))
		return bad(l, "too many words");
	if (!pair_u64(&w, &i, "type_id", UINT8_MAX, &type))
		return bad(l, "bad type_id");
	ev->type = (uint8_t)type;
	if (!pair(&w, &i, "call_site", &site))
		return bad(l, "no call_site");
	if (i < w.n && kmt_word_in_brackets(w.v[i]))
		module = w.v[i++];
	if (!call_site(l, site, module))
		return bad(l, "bad call_site");
	if (!pair_u64(&w, &i, "ptr", UINT64_MAX, &ev->addr))
		return bad(l, "bad ptr");
	if (i == w.n || !kmt_word_is(w.v[i], "bytes_req")) {
		ev->op = KMT_OP_FREE;
		if (pair(&w, &i, "given_up", &v)) {
			if (!kmt_word_is(v, "rcu"))
				return bad(l, "given up to something unknown");
			ev->op = KMT_OP_GIVE_UP;
		}
		return parse_pairs(l, &w, i);
	}
	if (!pair_u64(&w, &i, "bytes_req", UINT64_MAX, &ev->bytes_req))
		return bad(l, "bad bytes_req");
	if (!pair_u64(&w, &i, "bytes_alloc", UINT64_MAX, &ev->bytes_alloc))
		return bad(l, "bad bytes_alloc");
	if (!pair_u64(&w, &i, "gfp_flags", UINT64_MAX, &ev->gfp))
		return bad(l, "bad gfp_flags");
	if (!pair(&w, &i, "node", &v) || !kmt_word_node(v, &ev->node))
		return bad(l, "bad node");
	return parse_pairs(l, &w, i);
}

/* What ftrace prints before the text since v2.6.32. */
static bool parse_prefix(struct kmt_legacy_line *l, struct kmt_word prefix)
{
	struct kmt_event *ev = &l->ev;
	struct kmt_ftrace_prefix pre;

	if (!kmt_ftrace_prefix_parse(prefix, &pre) || !pre.has_cpu || !pre.has_time ||
	    !pre.comm.len)
		return false;
	ev->comm = kmt_ftrace_comm(&pre, l->comm, sizeof(l->comm));
	ev->cpu = pre.cpu;
	ev->pid = pre.pid;
	ev->ts_ns = pre.ts_ns;
	ev->has_task = true;
	ev->has_time = true;
	return true;
}

static enum kmt_legacy_kind parse_prefixed(struct kmt_legacy_line *l, struct kmt_word line)
{
	static const char mark[] = ": type_id ";
	size_t from = 0;
	const char *at;

	while ((at = memmem(line.p + from, line.len - from, mark, sizeof(mark) - 1))) {
		size_t len = (size_t)(at - line.p);

		if (parse_prefix(l, (struct kmt_word){ line.p, len }))
			return parse_default(l, kmt_word_rest(line, len + 2));
		from = len + 1;		/* the task was called like this */
	}
	return bad(l, "no kmemtrace event");
}

static enum kmt_legacy_kind parse_cells(struct kmt_legacy_line *l, const struct kmt_words *w,
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

/* "+ K 4096 4096 000000d0 0xffff88007cad6000 -1 getname", "- C 0x... putname", "~ C 0x... ..." */
static enum kmt_legacy_kind parse_table(struct kmt_legacy_line *l, struct kmt_word line)
{
	static const char letters[] = "KCPUV";
	struct kmt_event *ev = &l->ev;
	struct kmt_words w;
	const char *letter;
	unsigned i = 2;

	if (!kmt_words_split(line, &w))
		return bad(l, "too many words");
	ev->op = kmt_word_is(w.v[0], "+") ? KMT_OP_ALLOC :
		 kmt_word_is(w.v[0], "-") ? KMT_OP_FREE : KMT_OP_GIVE_UP;
	if (w.n < (ev->op == KMT_OP_ALLOC ? 8U : 4U))
		return bad(l, "too few columns");
	if (w.v[1].len != 1)
		return bad(l, "bad TYPE");
	letter = memchr(letters, w.v[1].p[0], sizeof(letters) - 1);
	if (!letter && w.v[1].p[0] != '?')
		return bad(l, "bad TYPE");
	ev->type = letter ? (uint8_t)(letter - letters) : UINT8_MAX;
	if (ev->op == KMT_OP_ALLOC) {
		if (!kmt_word_number(w.v[i++], 10, UINT64_MAX, &ev->bytes_req) ||
		    !kmt_word_number(w.v[i++], 10, UINT64_MAX, &ev->bytes_alloc))
			return bad(l, "bad REQ or GIVEN");
		if (!kmt_word_number(w.v[i++], 16, UINT64_MAX, &ev->gfp))
			return bad(l, "bad FLAGS");
	}
	if (!kmt_word_hex_0x(w.v[i++], &ev->addr))
		return bad(l, "bad POINTER");
	if (ev->op == KMT_OP_ALLOC && !kmt_word_node(w.v[i++], &ev->node))
		return bad(l, "bad NODE");
	if (!call_site(l, w.v[i++], (struct kmt_word){ 0 }))
		return bad(l, "bad CALLER");
	return parse_cells(l, &w, i);
}

/* The titles behind CALLER say which extra columns the lines below have. */
static enum kmt_legacy_kind parse_titles(struct kmt_legacy_line *l, struct kmt_word line)
{
	struct kmt_words w;
	unsigned i = 0;

	l->n_columns = 0;
	if (!kmt_words_split(line, &w))
		return KMT_LEGACY_HEADER;
	while (i < w.n && !kmt_word_is(w.v[i], "CALLER"))
		i++;
	for (i++; i < w.n; i++) {
		enum column col = 0;

		while (col < COL_MAX && !kmt_word_is(w.v[i], columns[col].title))
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
static enum kmt_legacy_kind parse_overflow(struct kmt_legacy_line *l, struct kmt_word line)
{
	static const char lead[] = "events lost: ";
	const char *open = memchr(line.p, '(', line.len), *close = memchr(line.p, ')', line.len);
	struct kmt_lost lost = { .cpu = UINT32_MAX };
	struct kmt_words w;
	uint64_t cpu;

	if (!kmt_word_starts(line, lead) || !open || !close || close < open ||
	    open - line.p < (ptrdiff_t)sizeof(lead))
		return KMT_LEGACY_NOTHING;

	struct kmt_word count = { line.p + sizeof(lead) - 1, (size_t)(open - line.p) - sizeof(lead) };
	struct kmt_word text_ = { open + 1, (size_t)(close - open - 1) };

	if (!kmt_word_is(count, "unknown") && !kmt_word_number(count, 10, UINT64_MAX, &lost.events))
		return KMT_LEGACY_NOTHING;
	while (lost.reason < KMT_LOSS_MAX && !kmt_word_is(text_, kmt_loss_text(lost.reason)))
		lost.reason++;
	if (lost.reason == KMT_LOSS_MAX ||
	    !kmt_words_split(kmt_word_rest(line, (size_t)(close - line.p) + 1), &w))
		return KMT_LEGACY_NOTHING;
	for (unsigned i = 1; i + 1 < w.n; i += 2) {
		struct kmt_word v = w.v[i + 1];

		v.len -= v.p[v.len - 1] == ',';
		if (kmt_word_is(w.v[i], "cpu") && kmt_word_number(v, 10, UINT32_MAX, &cpu))
			lost.cpu = (uint32_t)cpu;
		else if (!kmt_word_is(w.v[i], "time") || !kmt_word_time(v, &lost.ts_ns))
			return KMT_LEGACY_NOTHING;
	}
	l->lost = lost;
	return KMT_LEGACY_LOST;
}

static enum kmt_legacy_kind parse_comment(struct kmt_legacy_line *l, struct kmt_word line)
{
	static const char overflow[] = "# overflow: ";

	if (kmt_word_is(line, "# tracer: kmemtrace"))
		return KMT_LEGACY_HEADER;
	if (kmt_word_starts(line, "# ALLOC  TYPE"))
		return parse_titles(l, line);
	if (kmt_word_starts(line, overflow))
		return parse_overflow(l, kmt_word_rest(line, sizeof(overflow) - 1));
	return KMT_LEGACY_NOTHING;
}

enum kmt_legacy_kind kmt_legacy_line_parse(struct kmt_legacy_line *l, const char *p, size_t len)
{
	struct kmt_word line = { p, len }, trimmed;

	if (len > KMT_LINE_MAX)
		return bad(l, "longer than 4096 bytes");
	while (line.len && strchr(" \t\r\n", line.p[line.len - 1]) && line.p[line.len - 1])
		line.len--;
	trimmed = line;
	while (trimmed.len && (trimmed.p[0] == ' ' || trimmed.p[0] == '\t'))
		trimmed = kmt_word_rest(trimmed, 1);
	if (!trimmed.len || kmt_word_starts(trimmed, "=> "))
		return KMT_LEGACY_NOTHING;
	if (trimmed.p[0] == '#')
		return parse_comment(l, trimmed);
	l->ev = (struct kmt_event){ .node = -1, .real_node = -1, .order = -1,
				       .migratetype = -1 };
	if (kmt_word_starts(trimmed, "type_id "))
		return parse_default(l, trimmed);
	if (strchr("+-~", trimmed.p[0]) && trimmed.p[0] && trimmed.len > 1 &&
	    (trimmed.p[1] == ' ' || trimmed.p[1] == '\t'))
		return parse_table(l, trimmed);
	if (kmt_ftrace_lost_parse(trimmed, &l->lost))
		return KMT_LEGACY_LOST;
	return parse_prefixed(l, line);
}
