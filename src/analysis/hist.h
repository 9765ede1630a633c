/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inside analysis/ only: histograms of lifetimes, buckets of core/site.h.
 *
 *   [0] < 2.048 us   [1] < 4.096 us   ...   [30] < 2199 s   [31] the rest
 */
#ifndef KMT_ANALYSIS_HIST_H
#define KMT_ANALYSIS_HIST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/site.h"

struct kmt_buf;

/* Where a bucket begins and ends; false: it has no end (the last). */
uint64_t kmt_hist_from(unsigned bucket);
bool kmt_hist_to(unsigned bucket, uint64_t *ret_ns);

void kmt_hist_add(uint64_t to[KMT_LIFETIMES], const uint64_t v[KMT_LIFETIMES]);
uint64_t kmt_hist_total(const uint64_t v[KMT_LIFETIMES]);
/*
 * The time below which at least so many percent ended: the end of a bucket, of
 * the last one its beginning. false: nothing ended.
 */
bool kmt_hist_percentile(const uint64_t v[KMT_LIFETIMES], unsigned percent, uint64_t *ret_ns);

/*
 * 32 characters, one a bucket: '.' is none, a digit the whole tenths of all
 * that ended that did so there.
 */
void kmt_hist_strip(const uint64_t v[KMT_LIFETIMES], struct kmt_buf *out);
/* The scale above it, as a column's title. */
#define KMT_HIST_SCALE "2us  65us 2ms  67ms 2s   69s  36m"

/* A bar of at most 'width' cells for v of max; what is not 0 has one at least. */
void kmt_hist_bar(uint64_t v, uint64_t max, unsigned width, struct kmt_buf *out);

#endif
