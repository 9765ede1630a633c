// SPDX-License-Identifier: GPL-2.0-only
#include "source/symbol_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "symbol/symbols.h"

/* "0x1d" or "0x1d/0x90" */
static bool parse_offset(struct kmt_word w, struct kmt_symbol_text *ret)
{
	const char *slash = memchr(w.p, '/', w.len);

	ret->has_off = true;
	if (slash) {
		size_t len = (size_t)(slash - w.p);

		if (!kmt_word_hex_0x(kmt_word_rest(w, len + 1), &ret->size))
			return false;
		w.len = len;
	}
	return kmt_word_hex_0x(w, &ret->off);
}

bool kmt_symbol_text_parse(struct kmt_word w, struct kmt_word module, struct kmt_symbol_text *ret)
{
	const char *plus = memchr(w.p, '+', w.len);
	struct kmt_word func = { w.p, plus ? (size_t)(plus - w.p) : w.len };

	ret->off = 0;
	ret->size = 0;
	ret->has_off = false;
	ret->module[0] = '\0';
	if (!kmt_word_text(func, ret->func, sizeof(ret->func)))
		return false;
	if (plus && !parse_offset(kmt_word_rest(w, func.len + 1), ret))
		return false;
	if (!module.len)
		return true;
	module = (struct kmt_word){ module.p + 1, module.len - 2 };
	return kmt_word_text(module, ret->module, sizeof(ret->module));
}

bool kmt_symbol_text_print(const struct kmt_symbol_text *t, char *out, size_t size)
{
	size_t len = (size_t)snprintf(out, size, "%s", t->func);

	if (t->has_off && len < size)
		len += (size_t)snprintf(out + len, size - len, "+0x%" PRIx64, t->off);
	if (t->module[0] && len < size)
		len += (size_t)snprintf(out + len, size - len, " [%s]", t->module);
	return len < size;
}

uint64_t kmt_symbol_text_address(const struct kmt_symbol_text *t,
				 const struct kmt_symbols *symbols)
{
	struct kmt_symbol sym;

	if (!kmt_symbols_by_name(symbols, t->func, t->module[0] ? t->module : NULL, &sym) ||
	    t->off >= UINT64_MAX - sym.start)
		return 0;
	/* a bare name: its start would be taken for a return address of the function before */
	return sym.start + t->off + !t->has_off;
}
