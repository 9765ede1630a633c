/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of one CPU in a trace.dat: pages of the kernel's ring buffer as
 * they were, in a row or in compressed chunks. A record is a word of type and
 * time delta, then its data; times of a page count from the page's own.
 */
#ifndef KMT_SOURCE_TRACE_DAT_PAGES_H
#define KMT_SOURCE_TRACE_DAT_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/trace_dat_file.h"

struct kmt_tdat_pages {
	const struct kmt_tdat_file *file;
	const struct kmt_tdat_buffer *buffer;
	uint64_t at, left;	/* in the file */
	uint32_t chunks;	/* compressed: still to come */
	uint64_t max_chunk;
	bool	 started, ended;
	unsigned char *block;	/* some pages */
	size_t	 block_cap, block_len, block_at;
	unsigned char *packed;
	size_t	 packed_cap;
	/* the page at hand */
	const unsigned char *page;	/* NULL: none */
	size_t	 pos, end;
	uint64_t time;
	uint64_t n_pages;
	bool	 is_cut;	/* part of the page is missing */
	bool	 has_gap;	/* before the next record */
	uint64_t missed;
};

struct kmt_tdat_record {
	const unsigned char *data;	/* borrowed until the next call */
	size_t	 len;
	uint64_t ts_ns;
	bool	 has_gap;	/* records are missing before this one, */
	uint64_t missed;	/* so many; 0 unknown */
};

/* n_cpus: how many are read side by side; it bounds their memory. Borrows the rest. */
void kmt_tdat_pages_init(struct kmt_tdat_pages *p, const struct kmt_tdat_file *file,
			 const struct kmt_tdat_buffer *buffer, const struct kmt_tdat_cpu *cpu,
			 size_t n_cpus);
void kmt_tdat_pages_done(struct kmt_tdat_pages *p);
/*
 * 1: a record; 0: the end; -EBADMSG: something cannot be read and was skipped,
 * go on; -ENOMEM, or another error of reading the file.
 */
int kmt_tdat_pages_next(struct kmt_tdat_pages *p, struct kmt_tdat_record *ret);

#endif
