/* SPDX-License-Identifier: GPL-2.0-only */
/* Inside source/ only: an address as %pS prints it. */
#ifndef KMT_SOURCE_SYMBOL_TEXT_H
#define KMT_SOURCE_SYMBOL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/words.h"

struct kmt_symbols;

#define KMT_SYMBOL_TEXT	600	/* KSYM_NAME_LEN is 512 at most */

struct kmt_symbol_text {
	uint64_t off;		/* 0 unless has_off */
	uint64_t size;		/* of the function, 0 unknown */
	bool	 has_off;
	char	 func[KMT_SYMBOL_TEXT];
	char	 module[64];	/* "" = vmlinux, or not said */
};

/* "name", "name+0x1d", "name+0x1d/0x90"; 'module' is "[mod]" or has no length. */
bool kmt_symbol_text_parse(struct kmt_word w, struct kmt_word module, struct kmt_symbol_text *ret);
/* As kmt_event.call_site_name has it: "name+0x1d [mod]". False if it does not fit. */
bool kmt_symbol_text_print(const struct kmt_symbol_text *t, char *out, size_t size);
/* As kmt_event.call_site has it; 0 where 'symbols' (may be NULL) does not know it. */
uint64_t kmt_symbol_text_address(const struct kmt_symbol_text *t,
				 const struct kmt_symbols *symbols);

#endif
