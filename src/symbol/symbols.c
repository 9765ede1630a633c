// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fmt.h"
#include "symbol/kallsyms.h"

#define MAX_FILE	(512u << 20)	/* offsets are 32 bit; a real file has 20 MiB */
#define LAST_SIZE	(64u << 10)	/* most that the last function before a gap can be long */
#define BUILTIN_SIZE	(4u << 10)	/* ... of the kernel's pages of trampolines and probes */
#define NONE		UINT32_MAX

struct sym {
	uint64_t start;
	uint64_t end;
	uint32_t name;		/* offset in text */
	uint32_t module;	/* offset in text, 0 = vmlinux */
	uint32_t next;		/* same hash of the name; NONE ends the chain */
	uint16_t is_text;	/* else only a border: where the one before ends */
	uint16_t no_start;	/* 'start' is just before what is known of it */
};

/* A table that is still being read. */
struct later {
	pthread_t thread;
	struct kmt_symbols *table;
	bool is_running;	/* only its owner looks: from the start to the join */
	int err;
	char text[256];		/* why: each thread has an error slot of its own */
};

struct kmt_symbols {
	char *text;		/* the file, its names NUL-terminated in place */
	size_t text_len, text_cap;	/* text_cap: of tables that grow */
	struct sym *v;		/* by address, then by place in the file */
	size_t n, cap;
	uint32_t *buckets;	/* by name */
	uint32_t n_buckets;	/* power of two */
	struct later *later;	/* NULL: it was there at once */
};

/* Until the table is there. */
static void ready(const struct kmt_symbols *s)
{
	if (!s || !s->later || !s->later->is_running)
		return;
	pthread_join(s->later->thread, NULL);
	s->later->is_running = false;
}

void kmt_symbols_free(struct kmt_symbols *s)
{
	if (!s)
		return;
	ready(s);
	free(s->later);
	free(s->text);
	free(s->v);
	free(s->buckets);
	free(s);
}

static void cleanup_symbols(struct kmt_symbols **s)
{
	kmt_symbols_free(*s);
}

/* The whole file, plus a NUL; /proc files have no size, so it grows by doubling. */
static int read_file(const char *path, struct kmt_symbols *s)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t cap = 0;

	if (fd < 0)
		return kmt_err_errno(-errno, "cannot open '%s'", path);
	for (;;) {
		if (s->text_len + 1 >= cap) {
			size_t more = cap ? cap * 2 : 1u << 20;
			char *text = realloc(s->text, more);

			if (!text)
				return kmt_err(-ENOMEM, "out of memory for kernel symbols");
			s->text = text;
			cap = more;
		}

		ssize_t got = read(fd, s->text + s->text_len, cap - 1 - s->text_len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return kmt_err_errno(-errno, "cannot read '%s'", path);
		if (!got)
			break;
		s->text_len += (size_t)got;
		if (s->text_len > MAX_FILE)
			return kmt_err(-EFBIG, "'%s' is larger than %u MiB", path, MAX_FILE >> 20);
	}
	s->text[s->text_len] = '\0';
	return 0;
}

/* Is it a name that only says where something begins or ends? */
static bool is_border_name(const char *name)
{
	static const char *const names[] = {
		"_text", "_stext", "_etext", "_sinittext", "_einittext",
	};

	if (name[0] != '_')
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * "ffffffff81000000 T name" or "... t name\t[module]". NULs go behind the names.
 * 1: a symbol; 0: none that is of use; -EINVAL: no such line.
 */
/* No functions, but asked for by name: where x86 keeps its direct mapping and its pages. */
static bool is_memory_base(const char *name)
{
	return !strcmp(name, KMT_SYMBOL_LINEAR) || !strcmp(name, KMT_SYMBOL_VMEMMAP);
}

static int parse_line(char *line, const char *text, struct sym *ret)
{
	char *p = line;
	uint64_t addr = 0;
	int d;

	for (; (d = kmt_hex_digit(*p)) >= 0; p++) {
		if (p - line >= 16)
			return -EINVAL;
		addr = addr << 4 | (uint64_t)d;
	}
	if (p == line || p[0] != ' ' || !p[1] || p[2] != ' ' || !p[3])
		return -EINVAL;

	char type = p[1], *name = p + 3;
	char *end = name + strcspn(name, " \t\r"), *module = NULL;

	if (end == name)
		return -EINVAL;
	if (*end) {
		module = end + 1 + strspn(end + 1, " \t");
		*end = '\0';
		if (*module == '[') {
			module++;
			module[strcspn(module, "]")] = '\0';
		} else {
			module = NULL;
		}
	}
	/* arm64's and riscv's mapping symbols stand inside of functions */
	if (name[0] == '$' || (name[0] == '.' && name[1] == 'L'))
		return 0;
	*ret = (struct sym){
		.start = addr,
		.name = (uint32_t)(name - text),
		.module = module && *module ? (uint32_t)(module - text) : 0,
		.is_text = strchr("tTwW", type) ? !is_border_name(name) : is_memory_base(name),
	};
	return 1;
}

static int append(struct kmt_symbols *s, const struct sym *sym)
{
	if (s->n == s->cap) {
		/* a line has 40 to 50 bytes: mostly one allocation is enough */
		size_t cap = s->cap ? s->cap * 2 : s->text_len / 32 + 64;
		struct sym *v = reallocarray(s->v, cap, sizeof(*v));

		if (!v)
			return kmt_err(-ENOMEM, "out of memory for kernel symbols");
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = *sym;
	return 0;
}

static int parse_text(struct kmt_symbols *s, const char *path)
{
	size_t line_no = 0;
	uint64_t any = 0;

	for (char *line = s->text, *end = s->text + s->text_len; line < end;) {
		char *nl = memchr(line, '\n', (size_t)(end - line));
		struct sym sym;
		int err;

		if (nl)
			*nl = '\0';
		line_no++;
		err = *line ? parse_line(line, s->text, &sym) : 0;
		if (err < 0)
			return kmt_err(err, "'%s': line %zu is no kernel symbol", path, line_no);
		if (err > 0) {
			any |= sym.start;
			err = append(s, &sym);
			if (err)
				return err;
		}
		line = nl ? nl + 1 : end;
	}
	if (!s->n)
		return kmt_err(-EINVAL, "'%s' has no symbols", path);
	if (!any)
		return kmt_err(-EACCES, "every address in '%s' is 0: kernel symbols need root "
			       "(CAP_SYSLOG) and kernel.kptr_restrict below 2", path);
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void sort(struct kmt_symbols *s)
{
	for (size_t i = 1; i < s->n; i++) {
		if (by_address(&s->v[i - 1], &s->v[i]) > 0) {
			qsort(s->v, s->n, sizeof(*s->v), by_address);
			return;
		}
	}
}

static bool same_module(const struct kmt_symbols *s, const struct sym *a, const struct sym *b)
{
	return a->module == b->module ||
	       (a->module && b->module && !strcmp(s->text + a->module, s->text + b->module));
}

/*
 * How long a symbol can be at most, where nothing of its own module follows. The
 * kernel names its trampolines' pages as of modules "__builtin__ftrace" and
 * "__builtin__kprobes" (kernel/kallsyms.c since 5.8): real modules come and go
 * right behind them.
 */
static uint64_t size_limit(const struct kmt_symbols *s, const struct sym *sym)
{
	static const char builtin[] = "__builtin__";

	return sym->module && !strncmp(s->text + sym->module, builtin, sizeof(builtin) - 1) ?
	       BUILTIN_SIZE : LAST_SIZE;
}

/* A symbol ends where the next one of any kind begins; then the borders can go. */
static void find_ends(struct kmt_symbols *s)
{
	size_t next = s->n, kept = 0;

	for (size_t i = s->n; i-- > 0;) {
		struct sym *sym = &s->v[i];
		uint64_t most = sym->start + size_limit(s, sym);

		if (i + 1 < s->n && s->v[i + 1].start != sym->start)
			next = i + 1;
		if (most < sym->start)
			most = UINT64_MAX;
		sym->end = next < s->n ? s->v[next].start : most;
		if (sym->end > most && (next == s->n || !same_module(s, sym, &s->v[next])))
			sym->end = most;
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].is_text && s->v[i].start)
			s->v[kept++] = s->v[i];
	s->n = kept;
}

static uint32_t hash(const char *name)
{
	uint32_t h = 2166136261u;	/* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h;
}

static int index_names(struct kmt_symbols *s)
{
	uint32_t size = 64;

	while (size < s->n * 2)
		size *= 2;
	s->buckets = malloc(size * sizeof(*s->buckets));
	if (!s->buckets)
		return kmt_err(-ENOMEM, "out of memory for kernel symbols");
	memset(s->buckets, 0xff, size * sizeof(*s->buckets));
	s->n_buckets = size;
	for (size_t i = 0; i < s->n; i++) {
		uint32_t *b = &s->buckets[hash(s->text + s->v[i].name) & (size - 1)];

		s->v[i].next = *b;
		*b = (uint32_t)i;
	}
	return 0;
}

/* From the text to a table that can be searched. */
static int finish(struct kmt_symbols *s, const char *what)
{
	int err = parse_text(s, what);

	if (err)
		return err;
	sort(s);
	find_ends(s);
	return index_names(s);
}

int kmt_symbols_load(const char *path, struct kmt_symbols **ret)
{
	_cleanup_(cleanup_symbols) struct kmt_symbols *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return kmt_err(-ENOMEM, "out of memory for kernel symbols");
	if (!path)
		path = KMT_KALLSYMS;
	err = read_file(path, s);
	if (!err)
		err = finish(s, path);
	if (err)
		return err;
	*ret = take_ptr(s);
	return 0;
}

/* ---- read by a thread ---- */

static void *read_later(void *arg)
{
	struct later *l = arg;
	struct kmt_symbols *s = l->table;

	l->err = read_file(KMT_KALLSYMS, s);
	if (!l->err)
		l->err = finish(s, KMT_KALLSYMS);
	if (!l->err)
		return NULL;
	snprintf(l->text, sizeof(l->text), "%s", kmt_err_text());
	s->n = s->n_buckets = 0;
	return NULL;
}

/* Signals are for the one who waits for events. */
static int start_thread(struct later *l)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&l->thread, NULL, read_later, l);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

int kmt_symbols_load_later(struct kmt_symbols **ret)
{
	_cleanup_(cleanup_symbols) struct kmt_symbols *s = calloc(1, sizeof(*s));

	if (s)
		s->later = calloc(1, sizeof(*s->later));
	if (!s || !s->later)
		return kmt_err(-ENOMEM, "out of memory for kernel symbols");
	s->later->table = s;
	if (start_thread(s->later))
		read_later(s->later);
	else
		s->later->is_running = true;
	*ret = take_ptr(s);
	return 0;
}

int kmt_symbols_wait(const struct kmt_symbols *s)
{
	ready(s);
	return s && s->later && s->later->err ? kmt_err(s->later->err, "%s", s->later->text) : 0;
}

int kmt_symbols_take(char *text, size_t len, const char *what, struct kmt_symbols **ret)
{
	_cleanup_(cleanup_symbols) struct kmt_symbols *s = calloc(1, sizeof(*s));
	int err;

	if (!s) {
		free(text);
		return kmt_err(-ENOMEM, "out of memory for kernel symbols");
	}
	s->text = text;
	s->text_len = len;
	if (len > MAX_FILE)
		return kmt_err(-EFBIG, "'%s' is larger than %u MiB", what, MAX_FILE >> 20);
	err = finish(s, what);
	if (err)
		return err;
	*ret = take_ptr(s);
	return 0;
}

int kmt_symbols_parse(const char *text, size_t len, const char *what, struct kmt_symbols **ret)
{
	char *copy;

	if (len > MAX_FILE)
		return kmt_err(-EFBIG, "'%s' is larger than %u MiB", what, MAX_FILE >> 20);
	copy = malloc(len + 1);
	if (!copy)
		return kmt_err(-ENOMEM, "out of memory for kernel symbols");
	memcpy(copy, text, len);
	copy[len] = '\0';
	return kmt_symbols_take(copy, len, what, ret);
}

/* ---- tables that grow; they have no index of names ---- */

#define MAX_ADDED (1u << 17)

int kmt_symbols_new(struct kmt_symbols **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : kmt_err(-ENOMEM, "out of memory for kernel symbols");
}

/* Append a name to the text; the first byte is no name's, as offset 0 means none. */
static int add_text(struct kmt_symbols *s, const char *name, uint32_t *ret)
{
	size_t len = strlen(name) + 1;
	char *text;

	*ret = 0;
	if (len == 1)
		return 0;
	if (s->text_len + len > MAX_FILE)
		return -ENOSPC;
	if (s->text_len + len + 1 > s->text_cap) {
		size_t cap = (s->text_len + len + 1) * 2;

		text = realloc(s->text, cap);
		if (!text)
			return kmt_err(-ENOMEM, "out of memory for kernel symbols");
		s->text = text;
		s->text_cap = cap;
	}
	if (!s->text_len)
		s->text[s->text_len++] = '\0';
	memcpy(s->text + s->text_len, name, len);
	*ret = (uint32_t)s->text_len;
	s->text_len += len;
	return 0;
}

/* The first that starts behind addr. */
static size_t behind(const struct kmt_symbols *s, uint64_t addr)
{
	size_t lo = 0, hi;

	ready(s);
	hi = s ? s->n : 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int kmt_symbols_add(struct kmt_symbols *s, const struct kmt_symbol *sym)
{
	uint64_t end = sym->start + sym->size < sym->start ? UINT64_MAX : sym->start + sym->size;
	struct sym new = { .start = sym->start, .end = end, .next = NONE, .is_text = true,
			   .no_start = sym->no_start };
	size_t at = behind(s, sym->start);
	int err;

	for (size_t i = at; i-- > 0 && s->v[i].start == sym->start;) {
		if (strcmp(s->text + s->v[i].name, sym->name))
			continue;
		if (s->v[i].end < end)
			s->v[i].end = end;
		return 0;
	}
	if (s->n == MAX_ADDED)
		return -ENOSPC;
	err = add_text(s, sym->name, &new.name);
	if (!err)
		err = add_text(s, sym->module ? sym->module : "", &new.module);
	if (!err)
		err = append(s, &new);
	if (err)
		return err;
	memmove(&s->v[at + 1], &s->v[at], (s->n - 1 - at) * sizeof(new));
	s->v[at] = new;
	return 0;
}

static void fill(const struct kmt_symbols *s, const struct sym *sym, struct kmt_symbol *ret)
{
	*ret = (struct kmt_symbol){
		.name = s->text + sym->name,
		.module = sym->module ? s->text + sym->module : NULL,
		.start = sym->start,
		.size = sym->end - sym->start,
		.no_start = sym->no_start,
	};
}

/* The first entry that begins at 'start', or behind it. */
static size_t first_at(const struct kmt_symbols *s, uint64_t start)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Those that begin from start to end leave. */
static void drop(struct kmt_symbols *s, uint64_t start, uint64_t end)
{
	size_t from = first_at(s, start), to = first_at(s, end);

	memmove(&s->v[from], &s->v[to], (s->n - to) * sizeof(*s->v));
	s->n -= to - from;
}

int kmt_symbols_replace(struct kmt_symbols *s, const struct kmt_symbols *by, uint64_t start,
			uint64_t end)
{
	bool has_index;
	int err = 0;

	ready(s);
	ready(by);
	has_index = s->n_buckets;
	drop(s, start, end);
	for (size_t i = first_at(by, start); !err && i < by->n && by->v[i].start < end; i++) {
		const struct sym *from = &by->v[i];
		struct sym new = *from;

		err = add_text(s, by->text + from->name, &new.name);
		if (!err)
			err = add_text(s, from->module ? by->text + from->module : "", &new.module);
		if (!err)
			err = append(s, &new);
	}
	sort(s);
	if (!has_index)
		return err;
	free(s->buckets);
	s->buckets = NULL;
	s->n_buckets = 0;
	return err ? err : index_names(s);
}

bool kmt_symbols_find(const struct kmt_symbols *s, uint64_t addr, struct kmt_symbol *ret)
{
	size_t at = behind(s, addr);

	if (!at || addr >= s->v[at - 1].end)
		return false;
	/* of several names for one address the kernel, too, takes the first */
	for (at--; at && s->v[at - 1].start == s->v[at].start; at--)
		;
	fill(s, &s->v[at], ret);
	return true;
}

bool kmt_symbols_find_ret(const struct kmt_symbols *s, uint64_t addr, struct kmt_symbol *ret)
{
	return addr && kmt_symbols_find(s, addr - 1, ret);
}

bool kmt_symbols_find_any(const struct kmt_symbols *s, uint64_t addr, struct kmt_symbol *ret)
{
	return kmt_symbols_find_ret(s, addr, ret) || kmt_symbols_find(s, addr, ret);
}

bool kmt_symbols_by_name(const struct kmt_symbols *s, const char *name, const char *module,
			 struct kmt_symbol *ret)
{
	const struct sym *best = NULL;

	ready(s);
	if (!s || !s->n_buckets)
		return false;
	for (uint32_t i = s->buckets[hash(name) & (s->n_buckets - 1)]; i != NONE;
	     i = s->v[i].next) {
		const struct sym *sym = &s->v[i];

		if (strcmp(s->text + sym->name, name))
			continue;
		if (module && (!sym->module || strcmp(s->text + sym->module, module)))
			continue;
		/* first in the file: vmlinux before modules */
		if (!best || sym->name < best->name)
			best = sym;
	}
	if (best)
		fill(s, best, ret);
	return best;
}

int kmt_symbols_match(const struct kmt_symbols *s, const char *glob,
		      int (*cb)(void *ctx, const struct kmt_symbol *sym), void *ctx)
{
	ready(s);
	for (size_t i = 0; s && i < s->n; i++) {
		struct kmt_symbol sym;
		int err;

		if (fnmatch(glob, s->text + s->v[i].name, 0))
			continue;
		fill(s, &s->v[i], &sym);
		err = cb(ctx, &sym);
		if (err)
			return err;
	}
	return 0;
}

bool kmt_symbols_module_range(const struct kmt_symbols *s, const char *module,
			      uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = UINT64_MAX, end = 0;

	ready(s);
	for (size_t i = 0; s && i < s->n; i++) {
		const struct sym *sym = &s->v[i];

		if (!sym->module || strcmp(s->text + sym->module, module))
			continue;
		if (sym->start < start)
			start = sym->start;
		if (sym->end > end)
			end = sym->end;
	}
	if (start >= end)
		return false;
	*ret_start = start;
	*ret_end = end;
	return true;
}

/* One function and its end, in kallsyms' form; a symbol that is no text only ends one. */
static void put_function(const struct kmt_symbol *sym, struct kmt_buf *out)
{
	const char *open = sym->module ? "\t[" : "", *close = sym->module ? "]" : "";
	const char *module = sym->module ? sym->module : "";

	kmt_buf_printf(out, "%016" PRIx64 " t %s%s%s%s\n%016" PRIx64 " d .end%s%s%s\n", sym->start,
		       sym->name, open, module, close, sym->start + sym->size, open, module, close);
}

int kmt_symbols_subset(const struct kmt_symbols *s, const uint64_t *addrs, size_t n,
		       struct kmt_symbols **ret)
{
	_cleanup_(kmt_buf_done) struct kmt_buf text = { 0 };
	_cleanup_free_ bool *taken = NULL;

	ready(s);
	taken = calloc(s ? s->n + 1 : 1, sizeof(*taken));
	if (!taken)
		return kmt_err(-ENOMEM, "out of memory for kernel symbols");
	for (size_t i = 0; i < n; i++) {
		struct kmt_symbol sym;
		size_t at;

		if (!kmt_symbols_find_any(s, addrs[i], &sym))
			continue;
		at = first_at(s, sym.start);
		if (!taken[at])
			put_function(&sym, &text);
		taken[at] = true;
	}
	if (text.error)
		return kmt_err(-ENOMEM, "out of memory for kernel symbols");
	if (!text.len)
		return kmt_symbols_new(ret);
	return kmt_symbols_parse(kmt_buf_str(&text), text.len, "the symbols in use", ret);
}

void kmt_symbols_print(const struct kmt_symbols *s, uint64_t addr, bool offset,
		       struct kmt_buf *out)
{
	struct kmt_symbol sym;

	/* a function's own start is no return address of the one before it, unless nothing else */
	if (!kmt_symbols_find_any(s, addr, &sym)) {
		kmt_buf_printf(out, "0x%" PRIx64, addr);
		return;
	}
	kmt_buf_escape(out, sym.name, SIZE_MAX);
	if (!offset)
		return;
	if (!sym.no_start)
		kmt_buf_printf(out, "+0x%" PRIx64, addr - sym.start);
	if (sym.module) {
		kmt_buf_puts(out, " [");
		kmt_buf_escape(out, sym.module, SIZE_MAX);
		kmt_buf_puts(out, "]");
	}
}
