// SPDX-License-Identifier: GPL-2.0-only
#include "source/ftrace_line.h"

#include <string.h>

#include "source/lines.h"
#include "source/tp_fields.h"

#define HASH_BITS	32
#define PERCPU_FIRST	24	/* per-CPU pointers may be small: offsets into the first chunk */
#define PREFIX_MAX	256	/* no prefix is longer: a bound for lines of nothing but colons */

static enum kmt_ftrace_kind bad(struct kmt_ftrace_line *l, const char *why)
{
	l->why = why;
	return KMT_FTRACE_BAD;
}

static struct kmt_word first_word(struct kmt_word w)
{
	size_t n = 0;

	while (n < w.len && w.p[n] != ' ' && w.p[n] != '\t')
		n++;
	return (struct kmt_word){ w.p, n };
}

/* ---- "key=value key=value" ---- */

enum key {
	SITE, PTR, NAME, REQ, GIVEN, GFP, NODE, ACCOUNTED,
	N_SLAB_KEYS,
	PAGE = N_SLAB_KEYS, PFN, ORDER, MIGRATE, SIZE, START, START_COLON, ADDR, FAILED,
	N_KEYS
};

/*
 * As in the kernel's TP_printk, or (ADDR) with the option 'fields'. The further
 * ones are none in the lines of slabs, where names of caches may hold anything.
 */
static const char *const keys[N_KEYS] = {
	[SITE] = "call_site=", [PTR] = "ptr=", [NAME] = "name=", [REQ] = "bytes_req=",
	[GIVEN] = "bytes_alloc=", [GFP] = "gfp_flags=", [NODE] = "node=",
	[ACCOUNTED] = "accounted=",
	[PAGE] = "page=", [PFN] = "pfn=", [ORDER] = "order=", [MIGRATE] = "migratetype=",
	[SIZE] = "size=", [START] = "va_start=", [START_COLON] = "va_start: ", [ADDR] = "addr=",
	[FAILED] = "failed=",
};

/* n if there is none of the first n. */
static unsigned key_at(struct kmt_word w, unsigned n)
{
	unsigned k = 0;

	while (k < n && !kmt_word_starts(w, keys[k]))
		k++;
	return k;
}

/* A value goes on up to the next key: names of caches and modules come with blanks. */
static void split_values(struct kmt_word text, unsigned n, struct kmt_word v[N_KEYS])
{
	struct kmt_word *open = NULL;

	memset(v, 0, N_KEYS * sizeof(*v));
	for (size_t i = 0; i < text.len; i++) {
		unsigned k;

		if (i && text.p[i - 1] != ' ' && text.p[i - 1] != '\t')
			continue;
		k = key_at(kmt_word_rest(text, i), n);
		if (k == n || v[k].p)
			continue;
		if (open)
			open->len = (size_t)(text.p + i - open->p);
		open = &v[k];
		*open = kmt_word_rest(text, i + strlen(keys[k]));
	}
	for (unsigned i = 0; i < N_KEYS; i++)
		v[i] = kmt_word_trim(v[i]);
}

/* "12", or "0xc (12)" with the option 'fields' */
static bool number(struct kmt_word w, uint64_t *ret)
{
	w = first_word(w);
	return kmt_word_hex_0x(w, ret) || kmt_word_number(w, 10, UINT64_MAX, ret);
}

static bool node(struct kmt_word w, int16_t *ret)
{
	uint64_t v;

	w = first_word(w);
	if (kmt_word_node(w, ret))
		return true;
	if (!kmt_word_hex_0x(w, &v) || v > UINT32_MAX)
		return false;
	*ret = (int16_t)(int32_t)v;
	return *ret == (int32_t)v;
}

/*
 * %p: the address until v4.14, since ad67b74d2469 ("printk: hash addresses
 * printed with %p", in v4.15) 32 bits of a hash, in as many digits. Of a 32-bit
 * kernel only those can be told that no allocator returns.
 */
static bool pointer(struct kmt_ftrace_line *l, struct kmt_word w)
{
	size_t digits;

	w = first_word(w);
	if (kmt_word_is(w, "(null)") || kmt_word_is(w, "(nil)"))	/* perf's */
		return true;
	if (kmt_word_starts(w, "0x"))
		return kmt_word_hex_0x(w, &l->ev.addr);
	digits = w.len;
	if (!kmt_word_number(w, 16, UINT64_MAX, &l->ev.addr))
		return false;
	l->is_hashed = (digits == 16 && l->ev.addr && !(l->ev.addr >> HASH_BITS)) ||
		       (digits == 8 && l->ev.addr & 3);
	if (l->ev.type == KMT_TYPE_PERCPU && !(l->ev.addr >> PERCPU_FIRST))
		l->is_hashed = false;
	return true;
}

/* "ffffffff8118a3c4" (%lx, until v5.3), "func+0x1c/0x90 [mod]" (%pS), trace-cmd's "0x..." */
static bool call_site(struct kmt_ftrace_line *l, struct kmt_word w)
{
	struct kmt_word site = first_word(w), module;

	if (kmt_word_hex_0x(site, &l->ev.call_site) || kmt_word_is(site, "0") ||
	    (site.len >= 6 && kmt_word_number(site, 16, UINT64_MAX, &l->ev.call_site)))
		return true;
	module = first_word(kmt_word_trim(kmt_word_rest(w, site.len)));
	if (!kmt_word_in_brackets(module))
		module.len = 0;
	if (!site.len || kmt_word_digit(site.p[0]) < 10 ||
	    !kmt_symbol_text_parse(site, module, &l->name) ||
	    !kmt_symbol_text_print(&l->name, l->call_site_name, sizeof(l->call_site_name)))
		return false;
	l->has_name = true;
	l->ev.call_site = kmt_symbol_text_address(&l->name, l->symbols);
	l->ev.call_site_name = l->call_site_name;
	return true;
}

static bool cache_name(struct kmt_ftrace_line *l, struct kmt_word w)
{
	if (!w.len || kmt_word_is(w, "(null)"))
		return true;
	l->ev.cache = l->cache;
	return kmt_word_text(w, l->cache, sizeof(l->cache));
}

static enum kmt_ftrace_kind parse_event(struct kmt_ftrace_line *l, struct kmt_word text)
{
	struct kmt_event *ev = &l->ev;
	struct kmt_word v[N_KEYS];

	split_values(text, N_SLAB_KEYS, v);
	if (!v[SITE].p || !v[PTR].p)
		return bad(l, "event without call_site or ptr");
	if (!call_site(l, v[SITE]))
		return bad(l, "bad call_site");
	if (kmt_word_starts(v[PTR], "(____ptr") || kmt_word_starts(v[PTR], "(ptrval"))
		return bad(l, "the kernel did not print the pointer");
	if (!pointer(l, v[PTR]))
		return bad(l, "bad ptr");
	if (!cache_name(l, v[NAME]))
		return bad(l, "bad name");
	if (ev->op == KMT_OP_FREE)
		return KMT_FTRACE_EVENT;
	if (!v[REQ].p || !v[GIVEN].p || !v[GFP].p)
		return bad(l, "allocation without bytes_req, bytes_alloc or gfp_flags");
	if (!number(v[REQ], &ev->bytes_req))
		return bad(l, "bad bytes_req");
	if (!number(v[GIVEN], &ev->bytes_alloc))
		return bad(l, "bad bytes_alloc");
	if (!kmt_ftrace_gfp_parse(first_word(v[GFP]), &l->gfp))
		return bad(l, "bad gfp_flags");
	if (v[NODE].p && !node(v[NODE], &ev->node))
		return bad(l, "bad node");
	ev->gfp = l->gfp.bits;
	return KMT_FTRACE_EVENT;
}

/* ---- the other layers ---- */

/* What of these lines is a plain number. */
static const struct {
	uint8_t key, role;
	const char *why;
} numbers[] = {
	{ GIVEN,	KMT_TP_ALLOC,	"bad bytes_alloc" },
	{ PFN,		KMT_TP_PFN,	"bad pfn" },
	{ ORDER,	KMT_TP_ORDER,	"bad order" },
	{ MIGRATE,	KMT_TP_MIGRATE,	"bad migratetype" },
	{ SIZE,		KMT_TP_REQ,	"bad size" },
	{ START,	KMT_TP_PTR,	"bad va_start" },
	{ START_COLON,	KMT_TP_PTR,	"bad va_start" },
	{ ADDR,		KMT_TP_PTR,	"bad addr" },
	{ FAILED,	KMT_TP_FAILED,	"bad failed" },
};

static const char *take_numbers(const struct kmt_word words[N_KEYS], struct kmt_tp_layout *t,
				uint64_t v[KMT_TP_NAME])
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (!words[numbers[i].key].p)
			continue;
		if (!number(words[numbers[i].key], &v[numbers[i].role]))
			return numbers[i].why;
		t->has[numbers[i].role] = true;
	}
	return NULL;
}

/* An address, where no number is: of per-CPU memory, or a struct page's. */
static bool take_pointer(struct kmt_ftrace_line *l, struct kmt_word w, bool *ret_has, uint64_t *ret)
{
	if (!w.p)
		return true;
	l->ev.addr = 0;
	*ret_has = true;
	if (!pointer(l, w))
		return false;
	*ret = l->ev.addr;
	return true;
}

/*
 * A failure is told by page=NULL, and with it pfn=0. What libtraceevent prints
 * for the page is no address: it does not know where the kernel has them.
 */
static const char *take_pages(struct kmt_ftrace_line *l, const struct kmt_word words[N_KEYS],
			      struct kmt_tp_layout *t, uint64_t v[KMT_TP_NAME])
{
	if (!take_pointer(l, words[PAGE], &t->has[KMT_TP_PAGE], &v[KMT_TP_PAGE])) {
		/* "(____ptrval____)": there is one */
		if (!t->has[KMT_TP_PFN])
			return "bad page";
		v[KMT_TP_PAGE] = 1;
	}
	if (t->has[KMT_TP_PFN])
		l->is_hashed = false;	/* the number does not depend on it */
	if (t->has[KMT_TP_PAGE] && !v[KMT_TP_PAGE] && !v[KMT_TP_PFN])
		v[KMT_TP_PFN] = UINT64_MAX;
	return NULL;
}

/* Pages, per-CPU memory, vmalloc areas: what the numbers mean is in tp_fields.c. */
static enum kmt_ftrace_kind parse_layer(struct kmt_ftrace_line *l, struct kmt_word text)
{
	struct kmt_tp_layout t = {
		.op = l->ev.op, .type = l->ev.type, .no_address = l->is_failure,
		.n_cpus = l->n_cpus,
	};
	struct kmt_word words[N_KEYS];
	uint64_t v[KMT_TP_NAME] = { 0 };
	const char *why;

	split_values(text, N_KEYS, words);
	why = take_numbers(words, &t, v);
	if (!why && t.type == KMT_TYPE_PAGES)
		why = take_pages(l, words, &t, v);
	else if (!why && !take_pointer(l, words[PTR], &t.has[KMT_TP_PTR], &v[KMT_TP_PTR]))
		why = "bad ptr";
	if (!why && words[SITE].p && !call_site(l, words[SITE]))
		why = "bad call_site";
	if (!why && words[GFP].p && !kmt_ftrace_gfp_parse(first_word(words[GFP]), &l->gfp))
		why = "bad gfp_flags";
	v[KMT_TP_SITE] = l->ev.call_site;
	v[KMT_TP_GFP] = l->gfp.bits;
	t.has[KMT_TP_GFP] = words[GFP].p;
	if (!why && !kmt_tp_is_complete(&t))
		why = "event without a field that all of its kind have";
	if (why)
		return bad(l, why);
	kmt_tp_fill(&t, v, &l->ev);
	return KMT_FTRACE_EVENT;
}

/* ---- events ---- */

/* The word before the colon; perf puts the subsystem, and may put a period, in front. */
static bool event_name(struct kmt_word *body, struct kmt_word *ret)
{
	static const char *const systems[] = { "kmem:", "percpu:", "vmalloc:" };
	struct kmt_word w = first_word(*body);
	uint64_t period;

	if (kmt_word_number(w, 10, UINT64_MAX, &period)) {
		*body = kmt_word_trim(kmt_word_rest(*body, w.len));
		w = first_word(*body);
	}
	if (w.len < 2 || w.p[w.len - 1] != ':')
		return false;
	*body = kmt_word_trim(kmt_word_rest(*body, w.len));
	w.len--;
	*ret = w;
	for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if (kmt_word_starts(w, systems[i]))
			*ret = kmt_word_rest(w, strlen(systems[i]));
	return true;
}

static bool is_ours(struct kmt_ftrace_line *l, struct kmt_word body, struct kmt_word *ret_values)
{
	struct kmt_word name;

	if (!event_name(&body, &name) ||
	    !kmt_tp_kind(name.p, name.len, &l->ev.op, &l->ev.type))
		return false;
	l->is_failure = kmt_word_is(name, "percpu_alloc_percpu_fail");
	*ret_values = body;
	return true;
}

static enum kmt_ftrace_kind take_event(struct kmt_ftrace_line *l, struct kmt_word values)
{
	struct kmt_event *ev = &l->ev;

	l->in_user_stack = false;
	ev->comm = kmt_ftrace_comm(&l->pre, l->comm, sizeof(l->comm));
	ev->has_task = l->pre.has_task;
	ev->has_time = l->pre.has_time;
	ev->ts_ns = l->pre.ts_ns;
	ev->cpu = l->pre.cpu;
	ev->pid = l->pre.pid;
	ev->tgid = l->pre.tgid;
	return ev->type > KMT_TYPE_CACHE ? parse_layer(l, values) : parse_event(l, values);
}

static enum kmt_ftrace_kind parse_arrow(struct kmt_ftrace_line *l, struct kmt_word w);

/* "<stack trace>"; trace-cmd's "kernel_stack:  <stack trace >", or with -N its first frame there */
static enum kmt_ftrace_kind take_stack(struct kmt_ftrace_line *l, struct kmt_word body)
{
	struct kmt_word first = kmt_word_trim(kmt_word_rest(body, first_word(body).len));

	if (kmt_word_starts(first, "=> "))
		parse_arrow(l, kmt_word_trim(kmt_word_rest(first, 3)));
	return KMT_FTRACE_STACK;
}

static enum kmt_ftrace_kind take_other(struct kmt_ftrace_line *l, struct kmt_word body)
{
	static const char perf_lost[] = "PERF_RECORD_LOST lost ";
	struct kmt_word name;

	if (kmt_word_starts(body, perf_lost)) {
		l->lost = (struct kmt_lost){
			.reason = KMT_LOSS_RING, .ts_ns = l->pre.ts_ns,
			.cpu = l->pre.has_cpu ? l->pre.cpu : UINT32_MAX,
		};
		body = first_word(kmt_word_rest(body, sizeof(perf_lost) - 1));
		return kmt_word_number(body, 10, UINT64_MAX, &l->lost.events) ? KMT_FTRACE_LOST :
		       bad(l, "bad number of lost events");
	}
	l->in_user_stack = kmt_word_starts(body, "<user stack trace") ||
			   kmt_word_starts(body, "user_stack:");
	if (kmt_word_starts(body, "<stack trace") || kmt_word_starts(body, "kernel_stack:"))
		return take_stack(l, body);
	if (l->in_user_stack)
		return KMT_FTRACE_NOTHING;
	return event_name(&body, &name) || kmt_word_starts(body, "PERF_RECORD_") ?
	       KMT_FTRACE_OTHER : bad(l, "no event");
}

/*
 * A task may be called like a prefix: of all places where a prefix could end,
 * that before an event of ours is the right one.
 */
static enum kmt_ftrace_kind parse_prefixed(struct kmt_ftrace_line *l, struct kmt_word line)
{
	struct kmt_ftrace_prefix first = { 0 };
	struct kmt_word other = { 0 }, values;

	l->pre = first;
	if (is_ours(l, line, &values))		/* no context-info */
		return take_event(l, values);
	for (size_t i = 0; i + 1 < line.len && i < PREFIX_MAX; i++) {
		struct kmt_word body;

		if (line.p[i] != ':' || (line.p[i + 1] != ' ' && line.p[i + 1] != '\t') ||
		    !kmt_ftrace_prefix_parse((struct kmt_word){ line.p, i }, &l->pre))
			continue;
		body = kmt_word_trim(kmt_word_rest(line, i + 1));
		if (is_ours(l, body, &values))
			return take_event(l, values);
		if (!other.p) {
			other = body;
			first = l->pre;
		}
	}
	l->pre = first;
	if (!other.p && kmt_word_starts(line, "<"))	/* no context-info */
		other = line;
	return other.p ? take_other(l, other) : bad(l, "no event");
}

/* ---- stacks ---- */

/* "func+0x1c/0x90 [mod]", with the address in <> or () behind it */
static enum kmt_ftrace_kind parse_arrow(struct kmt_ftrace_line *l, struct kmt_word w)
{
	struct kmt_word left = w, last = kmt_word_pop(&left), func, module = { 0 };

	if (last.len > 2 && (last.p[0] == '<' || last.p[0] == '(') &&
	    kmt_word_number((struct kmt_word){ last.p + 1, last.len - 2 }, 16, UINT64_MAX,
			    &l->frame_addr))
		w = kmt_word_trim(left);
	func = first_word(w);
	module = first_word(kmt_word_trim(kmt_word_rest(w, func.len)));
	if (!kmt_word_in_brackets(module))
		module.len = 0;
	if (l->in_user_stack)
		return KMT_FTRACE_NOTHING;
	/* a symbol that nobody knew */
	if (kmt_word_hex_0x(func, &l->frame_addr) ||
	    (func.len >= 8 && kmt_word_number(func, 16, UINT64_MAX, &l->frame_addr)))
		return KMT_FTRACE_FRAME;
	l->has_name = kmt_symbol_text_parse(func, module, &l->name);
	return l->has_name || l->frame_addr ? KMT_FTRACE_FRAME : bad(l, "bad stack frame");
}

/* What perf calls the kernel's and its modules' objects; not "[vdso]", "[unknown]". */
static bool is_kernel_object(struct kmt_word dso)
{
	static const char *const user[] = { "[vdso", "[unknown]", "[vsyscall]", "[heap]",
					    "[stack", "[anon]" };

	for (size_t i = 0; i < sizeof(user) / sizeof(user[0]); i++)
		if (kmt_word_starts(dso, user[i]))
			return false;
	return kmt_word_in_brackets(dso) || memmem(dso.p, dso.len, "vmlinux", 7) ||
	       memmem(dso.p, dso.len, ".ko", 3);
}

/* perf's "ffffffff81649f33 func+0x1c ([kernel.kallsyms])"; NOTHING if it is no frame at all */
static enum kmt_ftrace_kind parse_perf_frame(struct kmt_ftrace_line *l, struct kmt_word w)
{
	struct kmt_word left = w, dso = kmt_word_pop(&left), addr, func, module = { 0 };
	uint64_t v;

	if (dso.len < 3 || dso.p[0] != '(' || dso.p[dso.len - 1] != ')')
		return KMT_FTRACE_NOTHING;
	dso = (struct kmt_word){ dso.p + 1, dso.len - 2 };
	addr = first_word(left);
	func = kmt_word_trim(kmt_word_rest(left, addr.len));
	if (!func.len || !kmt_word_number(addr, 16, UINT64_MAX, &v))
		return KMT_FTRACE_NOTHING;
	l->frame_addr = v;
	if (!is_kernel_object(dso) && !(kmt_word_is(dso, "[unknown]") && v >> 63))
		l->in_user_stack = true;
	if (kmt_word_in_brackets(dso) && !kmt_word_starts(dso, "[kernel") &&
	    !kmt_word_starts(dso, "[guest.kernel"))
		module = dso;
	l->has_name = !kmt_word_is(func, "[unknown]") &&
		      kmt_symbol_text_parse(func, module, &l->name);
	return KMT_FTRACE_FRAME;
}

/* ---- all lines ---- */

/* Where a header names the kernel: ftrace's latency format, perf script --header. */
static void take_kernel(struct kmt_ftrace_line *l, struct kmt_word w)
{
	static const char *const leads[] = { " latency trace v1.1.5 on ", "# os release : " };

	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
		size_t len = strlen(leads[i]);
		const char *at = memmem(w.p, w.len, leads[i], len);
		struct kmt_word rest;

		if (!at)
			continue;
		rest = first_word(kmt_word_rest(w, (size_t)(at - w.p) + len));
		if (!kmt_word_text(rest, l->kernel, sizeof(l->kernel)))
			l->kernel[0] = '\0';
	}
}

/* "#P:2", "cpus=2", "# nrcpus online : 2" */
static void take_cpus(struct kmt_ftrace_line *l, struct kmt_word w)
{
	static const char *const leads[] = { "#P:", "cpus=", "# nrcpus online : " };

	for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
		size_t len = strlen(leads[i]), n = 0;
		const char *at = memmem(w.p, w.len, leads[i], len);
		struct kmt_word rest;
		uint64_t v;

		if (!at)
			continue;
		rest = kmt_word_rest(w, (size_t)(at - w.p) + len);
		while (n < rest.len && kmt_word_digit(rest.p[n]) < 10)
			n++;
		if (kmt_word_number((struct kmt_word){ rest.p, n }, 10, UINT16_MAX, &v))
			l->n_cpus = (uint32_t)v;
	}
}

/* "1596/29553   #P:2": what was written and is not in the text was overwritten. */
static enum kmt_ftrace_kind parse_entries(struct kmt_ftrace_line *l, struct kmt_word w)
{
	struct kmt_word both = first_word(kmt_word_trim(w));
	const char *slash;
	uint64_t in, written;

	both.len -= both.len && both.p[both.len - 1] == ',';
	slash = memchr(both.p, '/', both.len);
	if (!slash || !kmt_word_number((struct kmt_word){ both.p, (size_t)(slash - both.p) }, 10,
				       UINT64_MAX, &in) ||
	    !kmt_word_number(kmt_word_rest(both, (size_t)(slash - both.p) + 1), 10, UINT64_MAX,
			     &written) || written <= in)
		return KMT_FTRACE_HEADER;
	l->lost = (struct kmt_lost){
		.reason = KMT_LOSS_RING, .cpu = UINT32_MAX, .events = written - in,
	};
	return KMT_FTRACE_LOST;
}

static enum kmt_ftrace_kind parse_comment(struct kmt_ftrace_line *l, struct kmt_word w)
{
	static const char entries[] = "# entries-in-buffer/entries-written:";
	static const char latency[] = "# latency: ", us[] = " us, #";
	const char *at;

	take_kernel(l, w);
	take_cpus(l, w);
	if (kmt_word_starts(w, entries))
		return parse_entries(l, kmt_word_rest(w, sizeof(entries) - 1));
	at = kmt_word_starts(w, latency) ? memmem(w.p, w.len, us, sizeof(us) - 1) : NULL;
	if (at)
		return parse_entries(l, kmt_word_rest(w, (size_t)(at - w.p) + sizeof(us) - 1));
	if (kmt_word_starts(w, "# tracer: ") && !kmt_word_is(w, "# tracer: kmemtrace"))
		return KMT_FTRACE_HEADER;
	return KMT_FTRACE_NOTHING;
}

/* "cpus=2", "CPU 1 is empty": trace-cmd's own */
static bool is_trace_cmd(struct kmt_word w)
{
	uint64_t v;

	if (kmt_word_starts(w, "cpus="))
		return kmt_word_number(kmt_word_rest(w, 5), 10, UINT32_MAX, &v);
	return kmt_word_starts(w, "CPU ") && w.len > 13 &&
	       !memcmp(w.p + w.len - 9, " is empty", 9);
}

enum kmt_ftrace_kind kmt_ftrace_line_parse(struct kmt_ftrace_line *l, struct kmt_word line)
{
	struct kmt_word w;

	if (line.len > KMT_LINE_MAX)
		return bad(l, "longer than 4096 bytes");
	while (line.len && line.p[line.len - 1] == '\r')
		line.len--;
	w = kmt_word_trim(line);
	l->ev = (struct kmt_event){ .node = -1, .real_node = -1, .order = -1,
				       .migratetype = -1 };
	l->gfp = (struct kmt_ftrace_gfp){ 0 };
	l->is_hashed = l->has_name = l->is_failure = false;
	l->frame_addr = 0;
	if (!w.len) {
		l->in_user_stack = false;
		return KMT_FTRACE_NOTHING;
	}
	if (w.p[0] == '#')
		return parse_comment(l, w);
	if (kmt_word_starts(w, "=> "))
		return parse_arrow(l, kmt_word_trim(kmt_word_rest(w, 3)));
	if (kmt_word_is(w, "=>"))	/* of a user stack: an address that nobody knew */
		return KMT_FTRACE_NOTHING;
	if (kmt_ftrace_lost_parse(w, &l->lost))
		return KMT_FTRACE_LOST;
	if (is_trace_cmd(w)) {
		take_cpus(l, w);
		return KMT_FTRACE_HEADER;
	}
	if (line.p[0] == ' ' || line.p[0] == '\t') {
		enum kmt_ftrace_kind kind = parse_perf_frame(l, w);

		if (kind != KMT_FTRACE_NOTHING)
			return l->in_user_stack ? KMT_FTRACE_NOTHING : kind;
	}
	return parse_prefixed(l, line);
}
