/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside source/ only: one line of ftrace's text ('trace', 'trace_pipe'), of
 * 'trace-cmd report' or of 'perf script', from 2.6.31 on.
 *
 *	PREFIX: kmalloc: call_site=func+0x1c/0x90 [mod] ptr=00000000a7b07dcf ...
 *	PREFIX: mm_page_alloc: page=000000005ab0d2f7 pfn=0x1ab0b4 order=0 ...
 *	PREFIX: alloc_vmap_area: va_start: 18446683600616505344 size=20480 ...
 *	PREFIX: <stack trace>		or	PREFIX: kernel_stack: <stack trace >
 *	 => func			or	=> func (ffffffff81649f33)
 *	<TAB>ffffffff81649f33 func+0x1c ([kernel.kallsyms])
 *
 * Fields are found by name, whatever their order.
 */
#ifndef KMT_SOURCE_FTRACE_LINE_H
#define KMT_SOURCE_FTRACE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/event.h"
#include "source/ftrace_gfp.h"
#include "source/ftrace_prefix.h"
#include "source/symbol_text.h"
#include "source/words.h"

struct kmt_symbols;

enum kmt_ftrace_kind {
	KMT_FTRACE_NOTHING,	/* blank, comment, frame of a user stack */
	KMT_FTRACE_HEADER,	/* says that such text follows */
	KMT_FTRACE_OTHER,	/* an event that is not ours; pre is filled in */
	KMT_FTRACE_EVENT,
	KMT_FTRACE_STACK,	/* the frames of pre's event follow; the first may be here */
	KMT_FTRACE_FRAME,
	KMT_FTRACE_LOST,
	KMT_FTRACE_BAD,		/* why says what is wrong */
};

struct kmt_ftrace_line {
	const struct kmt_symbols *symbols;	/* resolves names to addresses; may be NULL */
	struct kmt_event ev;			/* points into this struct */
	struct kmt_lost lost;
	const char *why;
	struct kmt_ftrace_prefix pre;		/* points into the line; all 0 without context-info */
	struct kmt_ftrace_gfp gfp;
	bool is_hashed;				/* EVENT: ev.addr is no address but %p's hash of it */
	bool has_name;				/* 'name' is filled in: EVENT's call site, a frame */
	bool is_failure;			/* EVENT: of a failure alone, without an address */
	uint64_t frame_addr;			/* FRAME, STACK: 0 not printed */
	struct kmt_symbol_text name;
	/* kept from line to line */
	char kernel[72];			/* release, if a header named it */
	uint32_t n_cpus;			/* if a header said it, else 0 */
	bool in_user_stack;			/* its frames are none of the kernel's */
	char call_site_name[KMT_SYMBOL_TEXT + 80];
	char comm[KMT_FTRACE_COMM];
	char cache[256];
};

enum kmt_ftrace_kind kmt_ftrace_line_parse(struct kmt_ftrace_line *l, struct kmt_word line);

#endif
