/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_SYMBOL_SYMBOLS_H
#define KMT_SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmt_buf;
struct kmt_symbols;

/*
 * Kernel symbols from a kallsyms file: sorted by address, with modules.
 * 'path' NULL = the running kernel's /proc/kallsyms. -EACCES with a clear text
 * when every address is zero (kptr_restrict, no privilege).
 */
int kmt_symbols_load(const char *path, struct kmt_symbols **ret);
/*
 * The running kernel's, read by a thread meanwhile: takes as long as the rest of the
 * start. Whoever looks something up waits for it; -EACCES and the like are told by
 * kmt_symbols_wait(), and the table is empty then. One thread may use it until then.
 */
int kmt_symbols_load_later(struct kmt_symbols **ret);
/* 0, or why there are none, with text; as often as one likes. NULL allowed. */
int kmt_symbols_wait(const struct kmt_symbols *s);
/* The same from a text in memory, which is copied; 'what' names it in errors. */
int kmt_symbols_parse(const char *text, size_t len, const char *what, struct kmt_symbols **ret);
/* The same of malloc()ed memory with a NUL behind it, which is taken over also on error. */
int kmt_symbols_take(char *text, size_t len, const char *what, struct kmt_symbols **ret);
/*
 * A table that grows as names become known, for recordings that spell each
 * address out. What a look-up borrowed is valid until the next _add().
 */
int kmt_symbols_new(struct kmt_symbols **ret);
/*
 * A table that knows only the functions around n addresses (of functions or
 * behind calls), and where each of them ends; other addresses are unknown to it.
 */
int kmt_symbols_subset(const struct kmt_symbols *s, const uint64_t *addrs, size_t n,
		       struct kmt_symbols **ret);
void kmt_symbols_free(struct kmt_symbols *s);

/* The only variables in a table; on kernels that have them, and show data in kallsyms. */
#define KMT_SYMBOL_LINEAR	"page_offset_base"
#define KMT_SYMBOL_VMEMMAP	"vmemmap_base"

struct kmt_symbol {
	const char *name;	/* borrowed from the table */
	const char *module;	/* NULL = vmlinux */
	uint64_t start;
	uint64_t size;		/* up to the next symbol */
	bool	 no_start;	/* it begins somewhere before: offsets are not shown */
};

/*
 * To a table of kmt_symbols_new(): sym, or more bytes of it if it is there.
 * Copies its strings. -ENOSPC when the table is full (no error text).
 */
int kmt_symbols_add(struct kmt_symbols *s, const struct kmt_symbol *sym);

/*
 * What s has from start to end gives way to what 'by' has there: another module
 * lies there now. What a look-up in s borrowed is valid no more.
 */
int kmt_symbols_replace(struct kmt_symbols *s, const struct kmt_symbols *by, uint64_t start,
			uint64_t end);

/* The symbol that covers an address; false if none (NULL table included). */
bool kmt_symbols_find(const struct kmt_symbols *s, uint64_t addr, struct kmt_symbol *ret);
/* The symbol of a return address: looks up addr - 1. */
bool kmt_symbols_find_ret(const struct kmt_symbols *s, uint64_t addr, struct kmt_symbol *ret);
/* That, or where there is none the symbol of the address itself. */
bool kmt_symbols_find_any(const struct kmt_symbols *s, uint64_t addr, struct kmt_symbol *ret);

/* First symbol with this name (module may be NULL = any); false if none. */
bool kmt_symbols_by_name(const struct kmt_symbols *s, const char *name, const char *module,
			 struct kmt_symbol *ret);

/* Call 'cb' for each function symbol whose name matches the glob; stops when cb returns nonzero. */
int kmt_symbols_match(const struct kmt_symbols *s, const char *glob,
		      int (*cb)(void *ctx, const struct kmt_symbol *sym), void *ctx);
/* Address range covered by a module's symbols; false if unknown. */
bool kmt_symbols_module_range(const struct kmt_symbols *s, const char *module,
			      uint64_t *ret_start, uint64_t *ret_end);

/*
 * "name+0x1c [module]", or hex when unknown; escaped. offset false: plain name.
 * addr is a return address (looked up as kmt_symbols_find_ret()); where only
 * the address itself is a function's, "name+0x0".
 */
void kmt_symbols_print(const struct kmt_symbols *s, uint64_t addr, bool offset,
		       struct kmt_buf *out);

#endif
