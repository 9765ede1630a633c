// SPDX-License-Identifier: GPL-2.0-only
#include "store/text.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/fmt.h"
#include "core/facts.h"
#include "core/quality.h"
#include "store/writer.h"
#include "symbol/symbols.h"

/* ---- lines "key value" ---- */

void kmt_text_put_str(struct kmt_buf *out, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	kmt_buf_printf(out, "%s ", key);
	kmt_buf_escape(out, value, SIZE_MAX);
	kmt_buf_puts(out, "\n");
}

void kmt_text_put_u64(struct kmt_buf *out, const char *key, uint64_t value)
{
	kmt_buf_printf(out, "%s %" PRIu64 "\n", key, value);
}

/* A recording made of a recording: what was left out before is missing as well. */
static void put_options(const char *before, const char *now, struct kmt_buf *out)
{
	_cleanup_buf_ struct kmt_buf both = { 0 };

	if (before && now)
		kmt_buf_printf(&both, "%s %s", before, now);
	if (both.error)
		out->error = both.error;
	kmt_text_put_str(out, "options", both.len ? kmt_buf_str(&both) : before ? before : now);
}

void kmt_text_meta(const struct kmt_writer_opts *opts, struct kmt_buf *out)
{
	static const struct kmt_facts unknown;
	const struct kmt_facts *f = opts->facts ? opts->facts : &unknown;

	kmt_text_put_str(out, "source", opts->source);
	put_options(f->filters, opts->options, out);
	kmt_text_put_str(out, "kernel", f->kernel);
	kmt_text_put_str(out, "build_id", f->build_id);
	kmt_text_put_str(out, "machine", f->machine);
	kmt_text_put_str(out, "command", f->command);
	kmt_text_put_str(out, "clock", f->clock);
	kmt_text_put_u64(out, "start_realtime_ns", f->start_realtime_ns);
	kmt_text_put_u64(out, "start_ns", f->start_ns);
	kmt_text_put_u64(out, "temporary_ns", f->temporary_ns);
	kmt_text_put_u64(out, "page_size", f->page_size);
	kmt_text_put_u64(out, "n_cpus", f->n_cpus);
}

/* Numbers of a quality: key and place. */
static const struct {
	const char *key;
	size_t at;
} numbers[] = {
#define ROW(field) { #field, offsetof(struct kmt_quality, field) }
	ROW(window_ns), ROW(events),
#define QUALITY_COUNT(field, title, text, how) ROW(field),
#include "core/quality.def"
#undef QUALITY_COUNT
	ROW(sample_bytes), ROW(table_bytes), ROW(objects_capacity), ROW(clock_resolution_ns),
#undef ROW
};

static uint64_t *number_at(struct kmt_quality *q, size_t i)
{
	return (uint64_t *)((char *)q + numbers[i].at);
}

void kmt_text_quality(const struct kmt_quality *q, const struct kmt_facts *facts,
		      struct kmt_buf *out)
{
	struct kmt_quality copy = *q;

	kmt_text_put_str(out, "source", q->source);
	kmt_text_put_str(out, "mode", q->mode);
	kmt_text_put_str(out, "kernel", q->kernel);
	kmt_text_put_str(out, "functions", *q->functions ? q->functions : NULL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		kmt_text_put_u64(out, numbers[i].key, *number_at(&copy, i));
	for (int i = 0; i < KMT_LOSS_MAX; i++)
		kmt_text_put_u64(out, kmt_loss_key(i), q->lost[i]);
	kmt_text_put_u64(out, "lost_unknown", q->lost_unknown);
	kmt_text_put_u64(out, "hashed_addresses", q->hashed_addresses);
	kmt_text_put_str(out, "first_bad", *q->first_bad ? q->first_bad : NULL);
	if (facts)
		kmt_text_put_u64(out, "end_ns", facts->end_ns);
}

/* What kmt_buf_escape() made; what does not fit is cut off. */
static void unescape(const char *s, size_t len, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++) {
		if (s[i] == '\\' && len - i >= 4 && s[i + 1] == 'x' &&
		    kmt_hex_digit(s[i + 2]) >= 0 && kmt_hex_digit(s[i + 3]) >= 0) {
			to[n++] = (char)(kmt_hex_digit(s[i + 2]) << 4 | kmt_hex_digit(s[i + 3]));
			i += 3;
		} else {
			to[n++] = s[i];
		}
	}
	to[n] = '\0';
}

bool kmt_text_next(const char **at, const char *end, struct kmt_text_line *l)
{
	while (*at < end) {
		const char *p = *at, *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		const char *space = memchr(p, ' ', (size_t)(stop - p));

		*at = nl ? nl + 1 : end;
		if (!space)
			continue;
		*l = (struct kmt_text_line){ .key = p, .key_len = (size_t)(space - p), .value = space + 1,
				    .value_len = (size_t)(stop - space - 1) };
		return true;
	}
	return false;
}

bool kmt_text_is_key(const struct kmt_text_line *l, const char *key)
{
	return strlen(key) == l->key_len && !memcmp(key, l->key, l->key_len);
}

bool kmt_text_take(const struct kmt_text_line *l, const char *key, char *to, size_t size)
{
	if (!kmt_text_is_key(l, key))
		return false;
	unescape(l->value, l->value_len, to, size);
	return true;
}

uint64_t kmt_text_number(const struct kmt_text_line *l)
{
	uint64_t v = 0;

	for (size_t i = 0; i < l->value_len && l->value[i] >= '0' && l->value[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(l->value[i] - '0');
	return v;
}

#define TAKE(field) kmt_text_take(&l, #field, names->field, sizeof(names->field))

void kmt_text_parse_meta(const char *text, size_t len, struct kmt_text_names *names,
			 struct kmt_facts *facts)
{
	const char *at = text, *end = text + len;
	struct kmt_text_line l;

	while (kmt_text_next(&at, end, &l)) {
		if (TAKE(kernel) || TAKE(build_id) || TAKE(machine) || TAKE(clock) ||
		    TAKE(source) || TAKE(command) || TAKE(options))
			continue;
		if (kmt_text_is_key(&l, "start_realtime_ns"))
			facts->start_realtime_ns = kmt_text_number(&l);
		else if (kmt_text_is_key(&l, "start_ns"))
			facts->start_ns = kmt_text_number(&l);
		else if (kmt_text_is_key(&l, "temporary_ns"))
			facts->temporary_ns = kmt_text_number(&l);
		else if (kmt_text_is_key(&l, "page_size"))
			facts->page_size = (uint32_t)kmt_text_number(&l);
		else if (kmt_text_is_key(&l, "n_cpus"))
			facts->n_cpus = (uint32_t)kmt_text_number(&l);
	}
	facts->kernel = names->kernel[0] ? names->kernel : NULL;
	facts->build_id = names->build_id[0] ? names->build_id : NULL;
	facts->machine = names->machine[0] ? names->machine : NULL;
	facts->clock = names->clock[0] ? names->clock : NULL;
	facts->command = names->command[0] ? names->command : NULL;
	facts->filters = names->options[0] ? names->options : NULL;
}

void kmt_text_parse_quality(const char *text, size_t len, struct kmt_quality *q,
			    struct kmt_facts *facts)
{
	const char *at = text, *end = text + len;
	struct kmt_text_line l;

	while (kmt_text_next(&at, end, &l)) {
		if (kmt_text_take(&l, "source", q->source, sizeof(q->source)) ||
		    kmt_text_take(&l, "mode", q->mode, sizeof(q->mode)) ||
		    kmt_text_take(&l, "kernel", q->kernel, sizeof(q->kernel)) ||
		    kmt_text_take(&l, "functions", q->functions, sizeof(q->functions)) ||
		    kmt_text_take(&l, "first_bad", q->first_bad, sizeof(q->first_bad)))
			continue;
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			if (kmt_text_is_key(&l, numbers[i].key))
				*number_at(q, i) = kmt_text_number(&l);
		for (int i = 0; i < KMT_LOSS_MAX; i++)
			if (kmt_text_is_key(&l, kmt_loss_key(i)))
				q->lost[i] = kmt_text_number(&l);
		if (kmt_text_is_key(&l, "lost_unknown"))
			q->lost_unknown = kmt_text_number(&l);
		else if (kmt_text_is_key(&l, "hashed_addresses"))
			q->hashed_addresses = kmt_text_number(&l);
		else if (kmt_text_is_key(&l, "end_ns"))
			facts->end_ns = kmt_text_number(&l);
	}
}

/* ---- symbols ---- */

#define SYMBOLS_MAX (4u << 20)	/* bytes of one block, and a line */

struct symbols_out {
	struct kmt_buf *out;
	uint64_t last;		/* address of the line before */
	uint64_t end;		/* of the function before */
	const char *module;	/* its module */
	bool modules;		/* this is the second round */
	int (*put)(void *ctx, struct kmt_buf *text);
	void *ctx;
};

/* Hex without leading zeros; there are too many of them for printf. */
static size_t put_hex(char to[16], uint64_t v)
{
	static const char digits[] = "0123456789abcdef";
	unsigned n = v ? (67 - (unsigned)__builtin_clzll(v)) / 4 : 1;

	for (unsigned i = n; i-- > 0; v >>= 4)
		to[i] = digits[v & 15];
	return n;
}

static void put_symbol(struct symbols_out *so, uint64_t addr, const char *name,
		       const char *module)
{
	char distance[17];
	size_t n = put_hex(distance, addr - so->last);

	distance[n++] = ' ';
	kmt_buf_add(so->out, distance, n);
	kmt_buf_puts(so->out, name);
	if (module) {
		kmt_buf_puts(so->out, "\t");
		kmt_buf_puts(so->out, module);
	}
	kmt_buf_puts(so->out, "\n");
	so->last = addr;
}

static int on_symbol(void *ctx, const struct kmt_symbol *sym)
{
	struct symbols_out *so = ctx;

	if (so->modules != (sym->module != NULL))
		return 0;
	if (so->out->len > SYMBOLS_MAX) {
		int err = so->put(so->ctx, so->out);

		if (err)
			return err;
		kmt_buf_clear(so->out);
		so->last = 0;
	}
	if (so->end && so->end < sym->start)
		put_symbol(so, so->end, "", so->module);
	put_symbol(so, sym->start, sym->name, sym->module);
	so->end = sym->start + sym->size;
	so->module = sym->module;
	return 0;
}

/* The kernel's own first, as in kallsyms: of two of one name that one is found. */
int kmt_text_symbols(const struct kmt_symbols *s, struct kmt_buf *out,
		     int (*put)(void *ctx, struct kmt_buf *text), void *ctx)
{
	struct symbols_out so = { .out = out, .put = put, .ctx = ctx };
	int err = 0;

	for (int round = 0; !err && round < 2; round++) {
		so.modules = round;
		err = kmt_symbols_match(s, "*", on_symbol, &so);
		if (!err && so.end > so.last)
			put_symbol(&so, so.end, "", so.module);
		so.end = 0;
	}
	return err || !out->len ? err : put(ctx, out);
}

bool kmt_text_parse_symbols(const char *text, size_t len, struct kmt_buf *out)
{
	const char *at = text, *end = text + len;
	uint64_t addr = 0;
	struct kmt_text_line l;

	while (kmt_text_next(&at, end, &l)) {
		const char *tab = memchr(l.value, '\t', l.value_len);
		size_t name_len = tab ? (size_t)(tab - l.value) : l.value_len, n;
		char head[20];
		uint64_t step = 0;

		for (size_t i = 0; i < l.key_len; i++) {
			if (kmt_hex_digit(l.key[i]) < 0 || i == 16)
				return false;
			step = step << 4 | (uint64_t)kmt_hex_digit(l.key[i]);
		}
		addr += step;
		n = put_hex(head, addr);
		/* a border says where the function before it ends */
		memcpy(head + n, name_len ? " t " : " a ", 3);
		kmt_buf_add(out, head, n + 3);
		kmt_buf_add(out, name_len ? l.value : ".", name_len ? name_len : 1);
		if (tab) {
			kmt_buf_puts(out, "\t[");
			kmt_buf_add(out, tab + 1, l.value_len - name_len - 1);
			kmt_buf_puts(out, "]");
		}
		kmt_buf_puts(out, "\n");
	}
	return true;
}
