/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef KMT_EVENTFMT_COLUMNS_H
#define KMT_EVENTFMT_COLUMNS_H

#include "eventfmt/eventfmt.h"

/*
 * What both text forms share: the columns the original lacked (always after
 * its own, gfp names last), the caller, the stack and the overflow record.
 * Every string that comes from the kernel or a file is one white-space free
 * word in the output: control characters and blanks are printed as \xNN.
 */

/* " key value" for each extra column that is switched on and known. */
void kmt_columns_pairs(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		       struct kmt_buf *out);

/*
 * The extra columns as cells, '-' where unknown. 'caller_len' is how much of
 * the CALLER column the line has used already: it is padded here, and only if
 * something follows, so that lines without extras stay as the original's.
 */
void kmt_columns_cells(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		       size_t caller_len, struct kmt_buf *out);
/* The same for the header: titles, or (titles false) a '|' under each. */
void kmt_columns_titles(const struct kmt_eventfmt_opts *opts, bool titles, size_t caller_len,
			struct kmt_buf *out);

/* Append 's' (at most 'max' bytes) as one word. */
void kmt_columns_word(struct kmt_buf *out, const char *s, size_t max);

/* "\t=> func+0x1c [module]" for each frame, if stacks are asked for. */
void kmt_columns_stack(const struct kmt_eventfmt_opts *opts, const struct kmt_event *ev,
		       struct kmt_buf *out);

/* "# overflow: events lost: 17 (ring buffer full), cpu 3, time 12.000000001" */
void kmt_columns_lost(const struct kmt_eventfmt_opts *opts, const struct kmt_lost *lost,
		      struct kmt_buf *out);

#endif
